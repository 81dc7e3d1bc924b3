"""Two published learners from biased labels that the studies compare with.

Neither uses the attributes that :class:`~sarlearn.SARClassifier` is told. Models are the library's
logistic regression with an L2 penalty. As published, they take no sample weights.

LBE (Gong et al. 2021) is left out on purpose. In its published objective the propensity's term is
``s log e + (1-s) log(1-e)``, so the propensity is the naive ``P(s=1|x)`` and the best classifier
calls every row positive; its scores measure when the optimiser was stopped.
"""

from numbers import Integral, Real

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, expit

from sarlearn._compat import Interval, fit_context, one_blas_thread
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.columns import conditioned
from sarlearn._engine.logistic import fit_logistic
from sarlearn._engine.rows import Rows
from sarlearn._validation import resolve_features
from sarlearn.classifiers._store import store_prior
from sarlearn.classifiers.base import POS_LABEL, LearnsPropensity, PUClassifier

_SMALLEST = 1e-12
# The loop of two models has come to rest where a round moves no probability by more than this.
_SETTLED = 1e-4


class _Baseline(PUClassifier):
    """Labels in, a linear model, the class prior from its mean."""

    C: float
    _parameter_constraints: dict = POS_LABEL | {"C": [Interval(Real, 0, None, closed="neither")]}

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Learn from labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows, labelled and unlabelled together.
        y : array-like of shape (n_rows,)
            The observed labels s: 1 labelled, 0 or missing unlabelled (or other values, see
            ``pos_label``).

        Returns
        -------
        self
        """
        given = self._check_fit(X, y)
        X, labelled = given.X, given.rows.column("labelled")
        with one_blas_thread():
            self._learn(X, labelled)
        prior = float(self._class_probability(X).mean())
        store_prior(self, prior, float(labelled.mean()))
        return self

    def _learn(self, X, labelled) -> None:
        raise NotImplementedError

    def _linear(self, rows: Rows, target, start=None) -> np.ndarray:
        """Logistic regression on fractional targets; sets ``coef_`` and ``intercept_``.

        Returns the parameters in the units of the rows: where the next fit may start.
        """
        theta = fit_logistic(rows, target, None, self.C, start=start).theta
        in_user_units = rows.units.to_user(theta)
        self.coef_, self.intercept_ = in_user_units[None, :-1], in_user_units[-1:]
        return theta

    def _score(self, X) -> np.ndarray:
        return RowBlocks(X).matvec(self.coef_[0]) + self.intercept_[0]


def _solvable(X) -> Rows:
    """Rows whose columns a solver can work with."""
    return conditioned(RowBlocks(X).attach())


class TwoModelsClassifier(_Baseline, LearnsPropensity):
    r"""TM: fit classifier and propensity in turn, the latter on rows that look positive.

    Starting from :math:`s(x) = P(s=1|x)` and :math:`e = (s + 1)/2`, repeat:

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
        Rounds, the published number. All are made, whether or not the loop comes to rest before.
    pos_label : int, str or None, default=None
        The label value that means labelled, as in :class:`~sarlearn.SAREMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two label values; the second one means labelled.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Of the classifier, in logits.
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_propensity_features) and (1,)
        Of the propensity model, in logits.
    propensity_features_ : ndarray of int
        Indices of the propensity columns.
    converged_ : bool
        Whether the last round moved no class probability and no propensity by 0.0001 or more.
    class_prior_, label_frequency_ : float
        Mean class probability over the rows of ``fit``, and ``P(s=1) / class_prior_``.

    References
    ----------
    K. Furmańczyk, J. Mielniczuk, W. Rejchel and P. Teisseyre, Double logistic regression approach
    to biased positive-unlabeled data, ECAI 2023.
    """

    _parameter_constraints: dict = _Baseline._parameter_constraints | {
        "propensity_features": "no_validation",
        "n_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, propensity_features="all", *, C=1.0, n_iter=100, pos_label=None):
        self.pos_label = pos_label
        self.propensity_features = propensity_features
        self.C = C
        self.n_iter = n_iter

    def _learn(self, X, labelled) -> None:
        names = getattr(self, "feature_names_in_", None)
        columns = resolve_features(self.propensity_features, names, X.shape[1])
        self.propensity_features_ = columns
        rows, rows_e = _solvable(X), _solvable(X[:, columns])
        labels = labelled.astype(float)
        theta, theta_e = self._linear(rows, labels), None
        s = expit(self._score(X))
        e, found = (s + 1) / 2, (s, s)
        for _ in range(self.n_iter):
            theta = self._linear(rows, self._target(labelled, e, s), theta)
            f = expit(self._score(X))
            chosen = (f > np.quantile(f[labelled], labelled.mean())) | labelled
            near = chosen.astype(float)
            theta_e = fit_logistic(rows_e, labels, near, self.C, start=theta_e).theta
            in_user_units = rows_e.units.to_user(theta_e)
            self.propensity_coef_ = in_user_units[None, :-1]
            self.propensity_intercept_ = in_user_units[-1:]
            before, found = found, (f, self._propensity(X))
            e = np.maximum(found[1], s)
            s = e * f
        moved = max(np.abs(a - b).max() for a, b in zip(found, before, strict=True))
        self.converged_ = bool(moved < _SETTLED)
        self._linear(rows, self._target(labelled, e, s), theta)

    @staticmethod
    def _target(labelled, e, s) -> np.ndarray:
        e, s = np.maximum(e, _SMALLEST), np.minimum(s, 1 - _SMALLEST)
        return np.where(labelled, 1.0, np.minimum((1 - e) / e * s / (1 - s), 1.0))

    def _propensity(self, X) -> np.ndarray:
        Xe = RowBlocks(X[:, self.propensity_features_])
        return expit(Xe.matvec(self.propensity_coef_[0]) + self.propensity_intercept_[0])


class ThresholdClassifier(_Baseline):
    r"""NTC-tMI: shift the logit of a label to the threshold that divides the unlabelled rows best.

    Assumes that the propensity grows with the class probability, so that the logit :math:`z(x)` of
    :math:`P(s=1|x)` ranks rows correctly. Among ``n_thresholds`` values, :math:`t` is the one for
    which :math:`z` and :math:`1[z > t]` share most information over the unlabelled rows, by Ross's
    nearest-neighbour estimate; then :math:`f = \sigma(z - t)`.

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

    References
    ----------
    P. Teisseyre, T. Martens, J. Bekker and J. Davis, Learning from biased positive-unlabeled data
    via threshold calibration, AISTATS 2025.
    B. Ross, Mutual information between discrete and continuous data sets, PLoS ONE 9 (2014).
    """

    _parameter_constraints: dict = _Baseline._parameter_constraints | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_thresholds": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(self, *, C=1.0, n_neighbors=3, n_thresholds=100, pos_label=None):
        self.pos_label = pos_label
        self.C = C
        self.n_neighbors = n_neighbors
        self.n_thresholds = n_thresholds

    def _learn(self, X, labelled) -> None:
        self._linear(_solvable(X), labelled.astype(float))
        z = np.sort(self._score(X)[~labelled])
        low, high = candidate_range(len(z), self.n_neighbors)
        candidates = np.linspace(z[low], z[high], self.n_thresholds)
        shared = np.array([shared_information(z, t, self.n_neighbors) for t in candidates])
        # Too few rows, or all alike, give no estimate: then the middle.
        known = np.isfinite(shared).any()
        found = candidates[np.nanargmax(shared)] if known else np.median(z)
        # A row at the threshold is not above it, whatever the rounding of its score.
        found += 1e-9 * float(np.abs(z).max())
        # Without a shift there are as many positives as labels, and there cannot be fewer.
        self.threshold_ = min(float(found), 0.0)

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
    n, cut = len(z), int(np.searchsorted(z, t, side="right"))
    if min(cut, n - cut) < k + 1:
        return np.nan
    correction = 0.0
    for i in range(cut - k, cut + k):
        start, stop = (0, cut) if i < cut else (cut, n)
        distance = np.sort(np.abs(z[max(start, i - k) : min(stop, i + k + 1)] - z[i]))
        # Widened by rounding only: the k-th neighbour itself must count.
        radius = distance[k] * (1 + 1e-12)
        inside = np.searchsorted(z, z[i] + radius, "right") - np.searchsorted(z, z[i] - radius)
        correction += digamma(max(inside - 1, k)) - digamma(k)
    sizes = cut * digamma(cut) + (n - cut) * digamma(n - cut)
    return float(-(sizes + correction) / n - digamma(k))
