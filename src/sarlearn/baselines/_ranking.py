"""Baselines that trust the naive score to rank rows, and look for where to cut it: PUSB and NTC."""

from numbers import Integral, Real

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma
from sklearn.utils.validation import has_fit_parameter

from sarlearn._compat import HasMethods, Interval, fit_context, one_blas_thread
from sarlearn.baselines._base import POSITIVE, Baseline, quantile, solvable
from sarlearn.classifiers.base import POS_LABEL


class PUSBClassifier(Baseline):
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
        Inverse strength of the L2 penalty; the intercept is not penalised.
    pos_label : int, str or None, default=None
        The label value that means labelled, as in :class:`~sarlearn.SAREMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two label values; the second one means labelled.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Of the score ``g``.
    threshold_ : float
        The score above which a row is positive. ``decision_function`` is relative to it;
        ``predict_proba`` is its sigmoid, in the right order and not calibrated.
    class_prior_, label_frequency_ : float
        The prior used, and ``P(s=1) / class_prior_``.

    See Also
    --------
    sarlearn.SAREMClassifier :
        Classifier and propensity learned together from biased labels (SAR-EM).
    ThresholdClassifier :
        The naive logit, shifted to the threshold that says most about the unlabelled.

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
        "C": POSITIVE,
    }

    def __init__(self, class_prior=None, *, C=1.0, pos_label=None):
        self.pos_label = pos_label
        self.class_prior = class_prior
        self.C = C

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn from labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows, labelled and unlabelled together.
        y : array-like of shape (n_rows,)
            The observed labels s: 1 labelled, 0 or missing unlabelled (or other values, see
            ``pos_label``).
        sample_weight : array-like of shape (n_rows,), default=None
            How many rows each row counts for. A ``class_prior`` that is an estimator must take
            them, too.

        Returns
        -------
        self
        """
        X, labelled, weight, _ = self._check_fit(X, y, sample_weight)
        share = float(np.average(labelled, weights=weight))
        prior = self._prior(X, labelled, weight)
        if prior < share:
            raise ValueError(
                f"class_prior={prior!r} is below the share of labelled rows, {share:.4g}: there "
                "are at least as many positives as labels."
            )
        with one_blas_thread():
            # A prior of 1 has no finite score; one row short of it has.
            n_rows = len(labelled) if weight is None else max(float(weight.sum()), 1.0)
            scale = max(min(prior, 1 - 0.5 / n_rows) / share, 1.0)
            self._linear(solvable(X, weight), labelled * scale)
        self.threshold_ = quantile(self._score(X), 1 - prior, weight)
        self.class_prior_, self.label_frequency_ = prior, share / prior
        return self

    def _prior(self, X, labelled, weight) -> float:
        if isinstance(self.class_prior, Real):
            return float(self.class_prior)
        from sklearn.base import clone

        from sarlearn.priors import BestBinEstimator

        if self.class_prior is None:
            estimator = BestBinEstimator(random_state=0)
        else:
            estimator = clone(self.class_prior)
        if weight is None:
            return float(estimator.fit(X, labelled).class_prior_)
        if not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"sample_weight was given, and class_prior={estimator!r} does not take it; "
                "BestBinEstimator does, and so does a number."
            )
        return float(estimator.fit(X, labelled, sample_weight=weight).class_prior_)

    def _logit(self, X) -> np.ndarray:
        return self._score(X) - self.threshold_


class ThresholdClassifier(Baseline):
    r"""NTC-tMI: the naive logit, shifted to the threshold that says most about the unlabelled.

    Assumes that the propensity grows with the class probability, so that the naive logit
    :math:`z(x)` ranks rows rightly. Among ``n_thresholds`` values the :math:`t` is taken for which
    :math:`z` and :math:`1[z > t]` share the most information over the unlabelled rows, by
    Ross's nearest-neighbour estimate; then :math:`f = \sigma(z - t)`.

    Parameters
    ----------
    C : float > 0, default=1.0
        Inverse strength of the L2 penalty; the intercept is not penalised.
    n_neighbors : int >= 1, default=3
        Neighbours on either side that Ross's estimate looks at.
    n_thresholds : int >= 2, default=100
        Values tried, evenly spaced over the range that can hold the maximum.
    pos_label : int, str or None, default=None
        The label value that means labelled, as in :class:`~sarlearn.SAREMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two label values; the second one means labelled.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Of ``z``.
    threshold_ : float
        ``t``.
    class_prior_, label_frequency_ : float
        Mean class probability over the rows of ``fit``, and ``P(s=1) / class_prior_``.

    See Also
    --------
    sarlearn.SAREMClassifier :
        Classifier and propensity learned together from biased labels (SAR-EM).
    PUSBClassifier : A score that is only trusted to rank, cut where the class prior says.

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
        "C": POSITIVE,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_thresholds": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(self, *, C=1.0, n_neighbors=3, n_thresholds=100, pos_label=None):
        self.pos_label = pos_label
        self.C = C
        self.n_neighbors = n_neighbors
        self.n_thresholds = n_thresholds

    def _learn(self, X, labelled, weight) -> None:
        self._linear(solvable(X, weight), labelled.astype(float))
        z = self._score(X)[~labelled]
        order = np.argsort(z, kind="stable")
        z, of_row = z[order], np.ones(len(z)) if weight is None else weight[~labelled][order]
        up_to = np.cumsum(of_row)
        ranks = candidate_range(float(up_to[-1]), self.n_neighbors)
        low, high = z[np.minimum(np.searchsorted(up_to, ranks, side="right"), len(z) - 1)]
        candidates = np.linspace(low, high, self.n_thresholds)
        shared = np.array([shared_information(z, t, self.n_neighbors, up_to) for t in candidates])
        # Too few rows, or all alike, give no estimate: then the middle.
        known = np.isfinite(shared).any()
        found = candidates[np.nanargmax(shared)] if known else quantile(z, 0.5, of_row)
        # A row at the threshold is not above it, whatever the rounding of its score.
        found += 1e-9 * float(np.abs(z).max())
        # Without a shift there are as many positives as labels, and there cannot be fewer.
        self.threshold_ = min(float(found), 0.0)

    def _logit(self, X) -> np.ndarray:
        return self._score(X) - self.threshold_


def candidate_range(n_rows: float, k: int) -> tuple[int, int]:
    """Ranks between which the best threshold lies: where the estimate's upper bound exceeds the
    lower bound that the median reaches."""

    def above(share):
        left, right = share * n_rows, (1 - share) * n_rows
        upper = digamma(n_rows) - share * digamma(left) - (1 - share) * digamma(right)
        return upper - at_median

    half = n_rows / 2
    at_median = digamma(n_rows) - digamma(half)
    at_median += 2 * k / n_rows * (digamma(k) - digamma(half + k))
    least, last = 1e-10, max(int(np.ceil(n_rows)) - 1, 0)
    if above(least) >= 0:
        return 0, last
    low = int(n_rows * brentq(above, least, 0.5))
    return low, min(int(n_rows) - low, last)


def shared_information(z: np.ndarray, t: float, k: int, up_to: np.ndarray | None = None) -> float:
    """Ross's estimate of the information between sorted ``z`` and ``z > t``, up to a constant.

    ``up_to`` counts the rows up to each, by their weights; None counts each once. Rows whose k
    nearest neighbours lie on their own side count k; only the k rows on either side of the
    threshold need looking at.
    """
    up_to = np.arange(1.0, len(z) + 1) if up_to is None else up_to
    before = np.append(0.0, up_to)  # the count of rows before each, and of all
    cut = int(np.searchsorted(z, t, side="right"))
    n, left = before[-1], before[cut]
    if left < k + 1 or n - left < k + 1:
        return np.nan
    correction = 0.0
    near = np.searchsorted(up_to, left - k, "right"), np.searchsorted(before[:-1], left + k)
    for i in range(*near):
        start, stop = (0, cut) if i < cut else (cut, len(z))
        # Its neighbours on its own side, and how many rows are no farther than each.
        first = max(start, int(np.searchsorted(up_to, before[i] - k, "right")) - 1)
        after = min(stop, int(np.searchsorted(before[:-1], up_to[i] + k)) + 1)
        distance = np.abs(z[first:after] - z[i])
        nearest = np.argsort(distance, kind="stable")
        counted = np.cumsum(np.diff(before[first : after + 1])[nearest])
        enough = min(int(np.searchsorted(counted, k + 1)), len(nearest) - 1)
        # Widened by rounding only: the k-th neighbour itself must count.
        radius = distance[nearest[enough]] * (1 + 1e-12)
        ends = np.searchsorted(z, z[i] + radius, "right"), np.searchsorted(z, z[i] - radius)
        inside = max(before[ends[0]] - before[ends[1]], k + 1)
        of_row = min(up_to[i], left + k) - max(before[i], left - k)
        correction += of_row * (digamma(inside - 1) - digamma(k))
    sizes = left * digamma(left) + (n - left) * digamma(n - left)
    return float(-(sizes + correction) / n - digamma(k))
