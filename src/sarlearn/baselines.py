"""Other people's learners from biased labels, for comparison: baselines, not recommendations.

None of them uses the propensity attributes that :class:`~sarlearn.SAREMClassifier` is told, and
where such attributes decide who is labelled, none comes near it. All models are this package's
logistic regression with an L2 penalty. Sample weights are not supported: the methods are published
without, and three of the four use ranks or counts of rows.

LBE (Gong et al. 2021) is left out on purpose. In its published objective the propensity's term is
``s log e + (1-s) log(1-e)``, so the propensity is the naive ``P(s=1|x)`` and the best classifier
calls every row positive; its scores measure when the optimiser was stopped.
"""

from numbers import Integral, Real

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, expit, logit

from sarlearn._compat import HasMethods, Interval, fit_context, one_blas_thread
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.logistic import fit_logistic
from sarlearn._validation import resolve_features
from sarlearn.classifiers.base import POS_LABEL, PUClassifier, SARClassifier
from sarlearn.exceptions import warn

__all__ = [
    "PUSBClassifier",
    "SquareRootPropensityClassifier",
    "ThresholdClassifier",
    "TwoModelsClassifier",
]

_C = [Interval(Real, 0, None, closed="neither")]
_SMALLEST = 1e-12


class _Baseline(PUClassifier):
    """What the baselines share: labels in, a linear model, the class prior from its mean."""

    C: float

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Learn from labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The observed labels s: 1 labelled, 0 or missing unlabelled (or other values, see
            ``pos_label``).

        Returns
        -------
        self
        """
        X, labelled, _, _ = self._check_fit(X, y, None)
        with one_blas_thread():
            self._learn(X, labelled)
        self.class_prior_ = float(self._class_probability(X).mean())
        self.label_frequency_ = min(float(labelled.mean()) / max(self.class_prior_, 1e-300), 1.0)
        return self

    def _learn(self, X, labelled) -> None:
        raise NotImplementedError

    def _linear(self, X, target, start=None) -> np.ndarray:
        """Logistic regression on fractional targets; sets ``coef_`` and ``intercept_``."""
        theta = fit_logistic(RowBlocks(X), target, None, self.C, start=start).theta
        self.coef_, self.intercept_ = theta[None, :-1], theta[-1:]
        return theta

    def _score(self, X) -> np.ndarray:
        return RowBlocks(X).matvec(self.coef_[0]) + self.intercept_[0]


class TwoModelsClassifier(_Baseline, SARClassifier):
    r"""TM: classifier and propensity by turns, the latter on rows that look positive.

    Starting from the naive :math:`s(x) = P(s=1|x)` and :math:`e = (s + 1)/2`, repeat:

    - fit :math:`f` with targets 1 where labelled, else :math:`\frac{1-e}{e}\frac{s(x)}{1-s(x)}`;
    - fit :math:`e` to the labels of the labelled rows and of those with :math:`f` above the
      :math:`P(s=1)` quantile of :math:`f` among the labelled;
    - :math:`e \leftarrow \max(e, s(x))`, :math:`s(x) \leftarrow e f`.

    Parameters
    ----------
    propensity_features : names, indices, mask, callable on the names, or "all", default="all"
        Columns of the propensity model. ``"all"`` is as published: the method claims to need no
        such knowledge, but is better with it. Empty is none: one propensity for all rows.
    C : float > 0, default=1.0
        Inverse strength of the L2 penalty of both models.
    n_iter : int >= 1, default=100
        Rounds, the published number.
    pos_label : see :class:`sarlearn.SAREMClassifier`

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_propensity_features) and (1,)
    propensity_features_ : ndarray of int
    class_prior_, label_frequency_ : float

    References
    ----------
    K. Furmańczyk, J. Mielniczuk, W. Rejchel and P. Teisseyre, Double logistic regression approach
    to biased positive-unlabeled data, ECAI 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.baselines import TwoModelsClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = 3 * X[:, 0] + X[:, 1] > 0
    >>> s = y & (rng.random(2000) < 1 / (1 + np.exp(-2 * X[:, 2])))
    >>> model = TwoModelsClassifier().fit(X, s)
    >>> round(float(np.mean(model.predict(X) == y)), 2)
    0.92
    """

    _parameter_constraints: dict = POS_LABEL | {
        "propensity_features": "no_validation",
        "C": _C,
        "n_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, propensity_features="all", *, C=1.0, n_iter=100, pos_label=None):
        self.pos_label = pos_label
        self.propensity_features = propensity_features
        self.C = C
        self.n_iter = n_iter

    def _learn(self, X, labelled) -> None:
        chosen = self.propensity_features
        if chosen is None:
            message = "propensity_features=None will mean none in the next release; write 'all'."
            warn(FutureWarning(message))
            chosen = "all"
        names = getattr(self, "feature_names_in_", None)
        columns = resolve_features(chosen, names, X.shape[1])
        self.propensity_features_ = columns
        Xe = X[:, columns]
        theta = self._linear(X, labelled.astype(float))
        s = expit(self._score(X))
        e, theta_e = (s + 1) / 2, None
        for _ in range(self.n_iter):
            theta = self._linear(X, self._target(labelled, e, s), theta)
            f = expit(self._score(X))
            bar = np.quantile(f[labelled], labelled.mean())
            chosen = np.flatnonzero((f > bar) | labelled)
            theta_e = fit_logistic(
                RowBlocks(Xe[chosen]), labelled[chosen].astype(float), None, self.C, start=theta_e
            ).theta
            self.propensity_coef_, self.propensity_intercept_ = theta_e[None, :-1], theta_e[-1:]
            e = np.maximum(self._propensity(X), s)
            s = e * f
        self._linear(X, self._target(labelled, e, s), theta)

    @staticmethod
    def _target(labelled, e, s) -> np.ndarray:
        e, s = np.maximum(e, _SMALLEST), np.minimum(s, 1 - _SMALLEST)
        return np.where(labelled, 1.0, np.minimum((1 - e) / e * s / (1 - s), 1.0))

    def _propensity(self, X) -> np.ndarray:
        Xe = RowBlocks(X[:, self.propensity_features_])
        return expit(Xe.matvec(self.propensity_coef_[0]) + self.propensity_intercept_[0])


class PUSBClassifier(_Baseline):
    r"""PUSB: a score that is only trusted to rank, cut where the class prior says.

    Assumes that the propensity grows with the class probability. The score :math:`g` minimises

    .. math::

        \frac1n \sum_i \log(1 + e^{g(x_i)}) - \frac{\pi}{n P(s=1)} \sum_{i: s_i=1} g(x_i)
        + \text{penalty},

    which is logistic regression on the targets :math:`s\,\pi / P(s=1)`; rows above the
    :math:`1 - \pi` quantile of :math:`g` are positive.

    Parameters
    ----------
    class_prior : float in (0, 1), class-prior estimator or None, default=None
        ``P(y=1)``. The method needs it; None asks
        :class:`~sarlearn.priors.BestBinEstimator`, which assumes SCAR.
    C : float > 0, default=1.0
    pos_label : see :class:`sarlearn.SAREMClassifier`

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Of the score ``g``.
    threshold_ : float
        The score above which a row is positive. ``decision_function`` is relative to it;
        ``predict_proba`` is its sigmoid, in the right order and not calibrated.
    class_prior_, label_frequency_ : float
        The prior used, and ``P(s=1) / class_prior_``.

    References
    ----------
    M. Kato, T. Teshima and J. Honda, Learning from positive and unlabeled data with a selection
    bias, ICLR 2019. There for two samples; here for one.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.baselines import PUSBClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> f = 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> y = rng.random(2000) < f
    >>> s = y & (rng.random(2000) < 0.8 * f)      # labelled more often where surely positive
    >>> model = PUSBClassifier(class_prior=0.5).fit(X, s)
    >>> round(float(np.mean(model.predict(X) == (f > 0.5))), 2)
    0.97
    """

    _parameter_constraints: dict = POS_LABEL | {
        "class_prior": [Interval(Real, 0, 1, closed="neither"), HasMethods(["fit"]), None],
        "C": _C,
    }

    def __init__(self, class_prior=None, *, C=1.0, pos_label=None):
        self.pos_label = pos_label
        self.class_prior = class_prior
        self.C = C

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Learn from labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The observed labels s: 1 labelled, 0 or missing unlabelled (or other values, see
            ``pos_label``).

        Returns
        -------
        self
        """
        X, labelled, _, _ = self._check_fit(X, y, None)
        share = float(labelled.mean())
        prior = self._prior(X, labelled)
        if prior < share:
            raise ValueError(
                f"class_prior={prior!r} is below the share of labelled rows, {share:.4g}: there "
                "are at least as many positives as labels."
            )
        with one_blas_thread():
            # A prior of 1 has no finite score; one row short of it has.
            scale = min(prior, 1 - 0.5 / len(labelled)) / share
            self._linear(X, labelled * scale)
        self.threshold_ = float(np.quantile(self._score(X), 1 - prior))
        self.class_prior_, self.label_frequency_ = prior, share / prior
        return self

    def _prior(self, X, labelled) -> float:
        if isinstance(self.class_prior, Real):
            return float(self.class_prior)
        from sklearn.base import clone

        from sarlearn.priors import BestBinEstimator

        if self.class_prior is None:
            estimator = BestBinEstimator(random_state=0)
        else:
            estimator = clone(self.class_prior)
        return float(estimator.fit(X, labelled).class_prior_)

    def _logit(self, X) -> np.ndarray:
        return self._score(X) - self.threshold_


class SquareRootPropensityClassifier(_Baseline, SARClassifier):
    r"""PGlin: the naive probability, split evenly between class and propensity.

    Assumes that the propensity is linear in the class probability, and that the surest row is
    certainly positive. With the naive :math:`s(x) = P(s=1|x)` and its maximum :math:`m` over the
    training rows,

    .. math:: e(x) = \sqrt{m\,s(x)},\qquad f(x) = \sqrt{s(x) / m}.

    Parameters
    ----------
    C : float > 0, default=1.0
    pos_label : see :class:`sarlearn.SAREMClassifier`

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Of the naive model.
    highest_ : float
        ``m``.
    class_prior_, label_frequency_ : float

    References
    ----------
    W. Gerych, T. Hartvigsen, L. Buquicchio, E. Agu and E. Rundensteiner, Recovering the propensity
    score from biased positive unlabeled data, AAAI 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.baselines import SquareRootPropensityClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 1))
    >>> f = 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> s = rng.random(5000) < f * f               # a positive is labelled with probability f
    >>> model = SquareRootPropensityClassifier().fit(X, s)
    >>> bool(np.abs(model.predict_proba(X)[:, 1] - f).mean() < 0.05)
    True
    """

    _parameter_constraints: dict = POS_LABEL | {"C": _C}

    def __init__(self, *, C=1.0, pos_label=None):
        self.pos_label = pos_label
        self.C = C

    def _learn(self, X, labelled) -> None:
        self._linear(X, labelled.astype(float))
        self.highest_ = float(expit(self._score(X)).max())

    def _class_probability(self, X) -> np.ndarray:
        return np.sqrt(np.minimum(expit(self._score(X)) / self.highest_, 1.0))

    def _logit(self, X) -> np.ndarray:
        return logit(np.clip(self._class_probability(X), _SMALLEST, 1 - _SMALLEST))

    def _propensity(self, X) -> np.ndarray:
        s = expit(self._score(X))
        return np.sqrt(np.maximum(self.highest_, s) * s)


class ThresholdClassifier(_Baseline):
    r"""NTC-tMI: the naive logit, shifted to the threshold that says most about the unlabelled.

    Assumes that the propensity grows with the class probability, so that the naive logit
    :math:`z(x)` ranks rows rightly. Among ``n_thresholds`` values the :math:`t` is taken for which
    :math:`z` and :math:`1[z > t]` share the most information over the unlabelled rows, by
    Ross's nearest-neighbour estimate; then :math:`f = \sigma(z - t)`.

    Parameters
    ----------
    C : float > 0, default=1.0
    n_neighbors : int >= 1, default=3
    n_thresholds : int >= 2, default=100
        Values tried, evenly spaced over the range that can hold the maximum.
    pos_label : see :class:`sarlearn.SAREMClassifier`

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Of ``z``.
    threshold_ : float
        ``t``.
    class_prior_, label_frequency_ : float

    References
    ----------
    P. Teisseyre, T. Martens, J. Bekker and J. Davis, Learning from biased positive-unlabeled data
    via threshold calibration, AISTATS 2025.
    B. Ross, Mutual information between discrete and continuous data sets, PLoS ONE 9 (2014).

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.baselines import ThresholdClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.5
    >>> X = (rng.normal(size=2000) + 6 * y)[:, None]
    >>> s = y & (rng.random(2000) < 0.2)
    >>> model = ThresholdClassifier().fit(X, s)
    >>> round(float(np.mean(model.predict(X) == y)), 2)
    0.96
    """

    _parameter_constraints: dict = POS_LABEL | {
        "C": _C,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_thresholds": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(self, *, C=1.0, n_neighbors=3, n_thresholds=100, pos_label=None):
        self.pos_label = pos_label
        self.C = C
        self.n_neighbors = n_neighbors
        self.n_thresholds = n_thresholds

    def _learn(self, X, labelled) -> None:
        self._linear(X, labelled.astype(float))
        z = np.sort(self._score(X)[~labelled])
        low, high = candidate_range(len(z), self.n_neighbors)
        candidates = np.linspace(z[low], z[high], self.n_thresholds)
        shared = np.array([shared_information(z, t, self.n_neighbors) for t in candidates])
        # Too few rows, or all alike, give no estimate: then the middle.
        known = np.isfinite(shared).any()
        self.threshold_ = float(candidates[np.nanargmax(shared)] if known else np.median(z))

    def _logit(self, X) -> np.ndarray:
        return self._score(X) - self.threshold_


def candidate_range(n_rows: int, k: int) -> tuple[int, int]:
    """Ranks between which the best threshold lies: where the estimate's upper bound exceeds the
    lower bound that the median reaches."""

    def above(share):
        left, right = share * n_rows, (1 - share) * n_rows
        upper = digamma(n_rows) - share * digamma(left) - (1 - share) * digamma(right)
        return upper - at_median

    half = n_rows / 2
    at_median = digamma(n_rows) - digamma(half)
    at_median += 2 * k / n_rows * (digamma(k) - digamma(half + k))
    least = 1e-10
    if above(least) >= 0:
        return 0, n_rows - 1
    low = int(n_rows * brentq(above, least, 0.5))
    return low, min(n_rows - low, n_rows - 1)


def shared_information(z: np.ndarray, t: float, k: int) -> float:
    """Ross's estimate of the information between sorted ``z`` and ``z > t``, up to a constant.

    Rows whose k nearest neighbours lie on their own side count k; only the k rows on either side
    of the threshold need looking at.
    """
    n, left = len(z), int(np.searchsorted(z, t, side="right"))
    if left <= k or n - left <= k:
        return np.nan
    correction = 0.0
    for i in range(left - k, left + k):
        start, stop = (0, left) if i < left else (left, n)
        own_side = z[max(start, i - k) : min(stop, i + k + 1)]
        # Widened by rounding only: the k-th neighbour itself must count.
        radius = np.sort(np.abs(own_side - z[i]))[k] * (1 + 1e-12)
        inside = np.searchsorted(z, z[i] + radius, "right") - np.searchsorted(z, z[i] - radius)
        correction += digamma(inside - 1) - digamma(k)
    sizes = left * digamma(left) + (n - left) * digamma(n - left)
    return float(-(sizes + correction) / n - digamma(k))
