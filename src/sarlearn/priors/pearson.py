"""Pearson-divergence partial matching of the labelled density to that of all rows."""

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_random_state

from sarlearn.priors._base import Estimate
from sarlearn.priors._kernels import (
    at_most,
    distance_blocks,
    median_distance,
    scale_columns,
    squared_distances,
    subsample,
)
from sarlearn.priors._scores import FoldPriorEstimator, fold_numbers

WIDTH_FACTORS = np.linspace(1 / 5, 5, 10)
RIDGES = np.logspace(-3, 1, 9)
MEDIAN_ROWS = 1000
MAX_CENTRES = 200


class PearsonDivergence(FoldPriorEstimator):
    """Partial matching (PE): scale the density of labelled rows until it fits that of all rows.

    The fit is by the Pearson divergence [1]_::

        PE(theta) = theta^2/2 * E_P[r] - theta + 1/2,   r = p(x | y=1) / p(x)

    so that ``alpha = 1 / E_P[r]``. The ratio is a least-squares fit with Gaussian bases at labelled
    rows, its width and ridge chosen by cross-validation. ``E_P[r] <= 1/alpha``, with equality only
    where the classes do not overlap: overlap makes the estimate too high.

    Parameters
    ----------
    cv : int >= 2, splitter or iterable, default=5
        Folds of the cross-validation.
    single_sample : bool, default=True
        False for case-control data, the unlabelled rows drawn from the whole population: the
        density to match is then that of the unlabelled rows, and `class_prior_` is the share of
        positives among them.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds, draws the centres and the rows of the median distance.

    Attributes
    ----------
    class_prior_ : float
        ``P(y=1)``, in [P(s=1), 1].
    label_frequency_ : float
        ``P(s=1 | y=1)`` among the rows given.
    unlabelled_prior_ : float
        ``P(y=1 | s=0)``.
    clipped_ : bool
        Whether the estimate is at the boundary of its range.
    width_, ridge_ : float
        The kernel width (in scaled units) and the ridge chosen.

    See Also
    --------
    compare_priors : Several estimators side by side.
    PenalizedL1 : Partial matching under a penalised L1 distance.

    References
    ----------
    .. [1] M. C. du Plessis and M. Sugiyama, "Class prior estimation from positive and unlabeled
       data", IEICE Transactions on Information and Systems, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.priors import PearsonDivergence
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> y = target == 0  # malignant: 0.37 of the rows
    >>> s = y & (np.random.default_rng(0).random(len(y)) < 0.5)
    >>> round(PearsonDivergence(random_state=0).fit(X, s).class_prior_, 1)
    0.4
    """

    def _estimate(self, X, labelled: np.ndarray, groups=None) -> Estimate:
        rng = check_random_state(self.random_state)
        folds = fold_numbers(X, labelled, self.cv, rng, groups)
        X = scale_columns(X)
        centres = at_most(MAX_CENTRES, np.flatnonzero(labelled), rng)
        some = X[subsample(labelled, MEDIAN_ROWS, rng)]
        widths = WIDTH_FACTORS * median_distance(squared_distances(some, some))
        # The weight of P in the density matched: its share of a single sample, none of U's.
        share = float(labelled.mean()) if self.single_sample else 0.0
        moments = _FoldMoments(X, labelled, folds, centres, widths, share)
        width, ridge = moments.choose()
        H, h = moments.all_rows(width)
        a = np.linalg.solve(H + RIDGES[ridge] * np.eye(len(h)), h)
        self.width_, self.ridge_ = float(widths[width]), float(RIDGES[ridge])
        ratio_mean = 2 * a @ h - a @ H @ a
        theta = 1.0 / max(ratio_mean, 1e-12)
        return Estimate(float((theta - share) / (1.0 - share)))


class _FoldMoments:
    """Means of the bases and of their products, by fold: all the least-squares fit needs."""

    def __init__(self, X, labelled, folds, centres, widths, share: float):
        self.centre_folds, self.share = folds[centres], share
        self.n_folds, n_centres, n_widths = folds.max() + 1, len(centres), len(widths)
        # Group g holds fold g % n_folds; labelled rows come first.
        groups = folds + np.where(labelled, 0, self.n_folds)
        self.counts = np.bincount(groups, minlength=2 * self.n_folds)
        self.first = np.zeros((n_widths, self.n_folds, n_centres))
        self.second = np.zeros((n_widths, 2 * self.n_folds, n_centres, n_centres))
        for group, _, distances in distance_blocks(X, X[centres], groups):
            for w, width in enumerate(widths):
                phi = np.exp(distances / (-2.0 * width**2))
                self.second[w, group] += phi.T @ phi
                if group < self.n_folds:
                    self.first[w, group] += phi.sum(axis=0)

    def _means(self, width: int, folds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """H and h over the rows of the given folds."""
        n_labelled = self.counts[folds].sum()
        n_unlabelled = self.counts[folds + self.n_folds].sum()
        h = self.first[width, folds].sum(axis=0) / n_labelled
        H = (1 - self.share) * self.second[width, folds + self.n_folds].sum(axis=0) / n_unlabelled
        if self.share:
            H += self.share * self.second[width, folds].sum(axis=0) / n_labelled
        return H, h

    def all_rows(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        return self._means(width, np.arange(self.n_folds))

    def choose(self) -> tuple[int, int]:
        """The width and ridge with the least held-out ``a'Ha/2 - a'h``, summed over folds."""
        score = np.zeros((len(self.first), len(RIDGES)))
        for fold in range(self.n_folds):
            # Bases at held-out rows would see the test fold; a fold may hold all centres.
            keep = self.centre_folds != fold
            keep = keep if keep.any() else np.ones_like(keep)
            others = np.flatnonzero(np.arange(self.n_folds) != fold)
            for width in range(len(score)):
                H_train, h_train = self._means(width, others)
                H_test, h_test = self._means(width, np.array([fold]))
                values, vectors = eigh(H_train[np.ix_(keep, keep)], driver="evd")
                # One decomposition serves every ridge: a = V (V'h / (values + ridge)).
                rotated = vectors.T @ h_train[keep]
                a = vectors @ (rotated[:, None] / (np.maximum(values, 0)[:, None] + RIDGES))
                H_a = H_test[np.ix_(keep, keep)] @ a
                score[width] += 0.5 * np.sum(a * H_a, axis=0) - h_test[keep] @ a
        best = np.unravel_index(np.argmin(score), score.shape)
        return int(best[0]), int(best[1])
