"""Kernel mean embedding: how far can the labelled part be taken out of the mixture."""

from numbers import Integral

import numpy as np
from scipy.linalg.lapack import dpstrf
from scipy.optimize import nnls
from scipy.stats import gamma
from sklearn.utils import check_random_state

from sarlearn._compat import Interval, StrOptions
from sarlearn.exceptions import TrustWarning, warn
from sarlearn.priors._base import Estimate, PriorEstimator
from sarlearn.priors._kernels import (
    median_distance,
    scale_columns,
    squared_distances,
    subsample,
)

WIDTH_FACTORS = np.logspace(-1, 1, 5)
FIRST_STEP = 0.05  # KM1 reads the slope of the distance near lambda = 1 over this step
SEARCH_END = 8.0  # the authors' bracket of lambda is [1, 8]; beyond it the search goes on in kappa
MAX_KAPPA = 0.98
LAMBDA_TOL = 0.04
KAPPA_TOL = 0.005
# The authors take the slope as a difference over [m, m + 0.02]; the derivative at the middle of
# that interval decides alike with one problem solved instead of two.
MIDPOINT_SHIFT = 0.01
SAME_LEVEL = 0.01
FACTOR_TOL = 1e-6  # what the factor of the kernel leaves of any row's square
HEAVY = 1e3  # the row that makes weights add up to one
NO_DISTANCE = 1e-9  # below it, the solver's rounding


class KernelMean(PriorEstimator):
    """Kernel mean embedding (KM1, KM2): how far labelled rows can be taken out of all.

    ``lambda`` times the mixture U minus ``lambda - 1`` times the component P is a distribution up
    to ``lambda = 1/(1 - kappa)`` [1]_. In the embedding of a Gaussian kernel::

        d(lambda) = min over distributions w of | lambda phi(U) + (1 - lambda) phi(P) - phi(w) |

    is about zero up to there and then rises. The estimate is where its slope crosses a threshold:
    KM1 takes ``0.8 d(1.05)/0.05 + 0.2 R``, with R the distance of the two means; KM2
    ``1/sqrt(min(n_U, n_P))``, or KM1's where that exceeds ``0.9 R``. KM1 is the better one with few
    labelled rows.

    Where the two means are no further apart than chance puts two samples of one distribution (a
    test of level 0.01), the slopes are mostly noise; a warning says so, and ``separated_`` is
    false. The estimate is the method's all the same: such a test does not show that all unlabelled
    rows are positive.

    Parameters
    ----------
    variant : {"KM1", "KM2"}, default="KM1"
        Which threshold.
    max_rows : int >= 10, default=2000
        Larger data is subsampled to this many rows, a third of them at least labelled, if there
        are so many, and a third unlabelled: the error depends on the smaller of the two samples,
        and their proportion says nothing about kappa. At 2000 rows the whole kernel takes some
        seconds, and eight times as long at twice the rows.
    single_sample : bool, default=True
        False for case-control data, the unlabelled rows drawn from the whole population: then
        `class_prior_` is the share of positives among them.
    random_state : int, RandomState instance or None, default=None
        Draws the subsample; without one the method is deterministic.

    Attributes
    ----------
    class_prior_ : float
        ``P(y=1)``, in [P(s=1), 1].
    label_frequency_ : float
        ``P(s=1 | y=1)`` among the rows given.
    unlabelled_prior_ : float
        ``P(y=1 | s=0)``.
    clipped_ : bool
        Whether the estimate is at the boundary of its range, 0 or 0.98; the authors stop at 0.875.
    separated_ : bool
        Whether the means of labelled and unlabelled rows are further apart than chance.
    width_ : float
        The kernel width (in scaled units), that with the largest distance R of the two means.
    n_rows_used_ : int
        Rows after subsampling.

    See Also
    --------
    compare_priors : Several estimators side by side.
    PenalizedL1 : Partial matching under a penalised L1 distance.

    References
    ----------
    .. [1] H. Ramaswamy, C. Scott and A. Tewari, "Mixture proportion estimation via kernel
       embeddings of distributions", ICML 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.priors import KernelMean
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> y = target == 0  # malignant: 0.37 of the rows
    >>> s = y & (np.random.default_rng(0).random(len(y)) < 0.5)
    >>> round(KernelMean("KM2").fit(X, s).class_prior_, 1)
    0.4
    """

    _parameter_constraints: dict = {
        **PriorEstimator._parameter_constraints,
        "variant": [StrOptions({"KM1", "KM2"})],
        "max_rows": [Interval(Integral, 10, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, variant="KM1", *, max_rows=2000, single_sample=True, random_state=None):
        self.variant = variant
        self.max_rows = max_rows
        self.single_sample = single_sample
        self.random_state = random_state

    def _estimate(self, X, labelled: np.ndarray) -> Estimate:
        rng = check_random_state(self.random_state)
        rows = subsample(labelled, self.max_rows, rng, least=1 / 3)
        self.n_rows_used_ = len(rows)
        X = scale_columns(X)[rows]
        embedding = _Embedding(X, labelled[rows])
        self.width_ = embedding.width
        self.separated_ = not embedding.same_distribution
        kappa, at_boundary = _search(embedding, embedding.threshold(self.variant))
        if not self.separated_:
            used = f" ({len(rows)} of {len(labelled)} rows were used)"
            more = f", raise max_rows{used}" if len(rows) < len(labelled) else ""
            text = (
                f"KernelMean: the {embedding.n_labelled} labelled and {embedding.n_unlabelled} "
                "unlabelled rows look like samples of one distribution (their kernel means are no "
                "further apart than chance puts them, a test of level 0.01), so the share of "
                f"positives among the unlabelled, {kappa:.3g}, is mostly noise, and larger ones up "
                f"to 1 agree with the rows too. Label more rows{more}, drop columns that have "
                "nothing to do with the class, or compare with estimators on scores "
                "(compare_priors)."
            )
            warn(TrustWarning("not-separated", text))
        return Estimate(kappa, at_boundary)


def _search(embedding: "_Embedding", threshold: float) -> tuple[float, bool]:
    """Bisect for the kappa where the slope crosses the threshold; is it at an end of the range?"""
    low, high = 1.0, SEARCH_END
    while high - low > LAMBDA_TOL:
        middle = (low + high) / 2
        exceeds = embedding.slope(middle + MIDPOINT_SHIFT) > threshold
        low, high = (low, middle) if exceeds else (middle, high)
    if high < SEARCH_END:
        center = (low + high) / 2
        return (center - 1) / center, low == 1.0
    low, high = 1 - 1 / SEARCH_END, MAX_KAPPA
    while high - low > KAPPA_TOL:
        middle = (low + high) / 2
        exceeds = embedding.slope(1 / (1 - middle)) > threshold
        low, high = (low, middle) if exceeds else (middle, high)
    return (low + high) / 2, high == MAX_KAPPA


class _Embedding:
    """The two samples in the kernel's space: distances d(lambda) and their slopes."""

    def __init__(self, X, labelled: np.ndarray):
        self.n_unlabelled, self.n_labelled = int((~labelled).sum()), int(labelled.sum())
        squared = squared_distances(X, X)
        np.fill_diagonal(squared, 0.0)
        # From the mean of P to that of U, as weights of the rows.
        self.delta = np.where(labelled, -1.0 / self.n_labelled, 1.0 / self.n_unlabelled)
        widths = WIDTH_FACTORS * median_distance(squared)
        mmd = [
            np.sqrt(max(self.delta @ np.exp(squared / (-2 * width**2)) @ self.delta, 0.0))
            for width in widths
        ]
        self.R, self.width = float(max(mmd)), float(widths[int(np.argmax(mmd))])
        kernel = np.exp(squared / (-2 * self.width**2))
        by_chance = _chance_distance(kernel, self.n_unlabelled, self.n_labelled)
        self.same_distribution = by_chance >= self.R**2
        # Coordinates of each row, in columns: their products are the kernel.
        factor, pivots, rank, _ = dpstrf(kernel, tol=FACTOR_TOL)
        self.rows = np.empty((rank, len(labelled)))
        self.rows[:, pivots - 1] = np.triu(factor)[:rank]
        self.direction = self.rows @ self.delta
        self.component = np.where(labelled, 1.0 / self.n_labelled, 0.0)
        ones = np.full((1, len(labelled)), HEAVY)
        self._weighted = np.vstack([self.rows, ones])

    def threshold(self, variant: str) -> float:
        """The slope that KM1 or KM2 looks for."""
        by_size = min(self.n_unlabelled, self.n_labelled) ** -0.5
        if variant == "KM2" and by_size <= 0.9 * self.R:
            return by_size
        first = np.linalg.norm(self.difference(1 + FIRST_STEP))
        return float(0.8 * first / FIRST_STEP + 0.2 * self.R)

    def slope(self, lambda_: float) -> float:
        """``d'(lambda)``: what of `direction` points away from the nearest distribution."""
        difference = self.difference(lambda_)
        distance = float(np.linalg.norm(difference))
        return float(difference @ self.direction) / distance if distance > NO_DISTANCE else 0.0

    def difference(self, lambda_: float) -> np.ndarray:
        """From the nearest distribution over the rows to ``lambda U + (1 - lambda) P``."""
        target = self.rows @ (self.component + lambda_ * self.delta)
        weights, _ = nnls(self._weighted, np.append(target, HEAVY), maxiter=10 * len(self.delta))
        return target - self.rows @ (weights / weights.sum())


def _chance_distance(kernel: np.ndarray, n_first: int, n_second: int) -> float:
    """The squared distance of two sample means that one distribution exceeds one time in 100.

    Under one distribution its mean is ``(1/N + 1/M) (1 - mean k)`` and its variance
    ``2 (1/N + 1/M)^2`` times the mean square of the centred kernel; in between, a gamma law
    (Gretton et al., "A kernel two-sample test", JMLR 2012).
    """
    n_rows = len(kernel)
    rate = 1 / n_first + 1 / n_second
    row_means = kernel.mean(axis=0)
    mean = rate * (1 - row_means.mean())
    centred_square = (kernel * kernel).mean() - 2 * (row_means**2).mean() + row_means.mean() ** 2
    # The diagonal is no pair of two rows; without it small samples would look too noisy.
    diagonal = np.mean((1 - 2 * row_means + row_means.mean()) ** 2) / n_rows
    variance = 2 * rate**2 * max(centred_square - diagonal, 1e-12)
    return float(gamma.isf(SAME_LEVEL, a=mean**2 / variance, scale=variance / mean))
