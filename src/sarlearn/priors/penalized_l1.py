"""Penalised L1 matching of the labelled density to the unlabelled one."""

import numpy as np
from sklearn.utils import check_random_state

from sarlearn.priors._base import Estimate
from sarlearn.priors._kernels import (
    at_most,
    distance_blocks,
    gaussian,
    median_distance,
    scale_columns,
    squared_distances,
)
from sarlearn.priors._scores import FoldPriorEstimator, fold_numbers

WIDTH_FACTORS = np.logspace(-2, 1, 10)
THETA_GRID = np.linspace(0.01, 1.0, 100)
MAX_CENTRES = 1000  # bases, and rows of the median distance
# Weight of the ridge. It cannot be tuned: the held-out value is proportional to its inverse and
# would always take the smallest. Larger values bias the estimate upwards.
PENALTY = 1e-3


def exact_minimizer(m: np.ndarray, u: np.ndarray, penalty: float) -> float:
    """The theta minimising ``sum_l max(0, theta m_l - u_l)^2 / penalty - theta``.

    The function is convex and quadratic between the breakpoints ``u_l / m_l``. With A the bases
    whose breakpoint lies below theta, the slope vanishes at
    ``(penalty/2 + sum_A u m) / sum_A m^2``; the right A is the first for which that theta comes
    before the next breakpoint.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.priors.penalized_l1 import exact_minimizer
    >>> exact_minimizer(np.array([1.0, 0.5]), np.array([0.3, 0.4]), 0.02)
    0.31
    """
    seen = m > 1e-12  # far from every labelled row a basis says nothing
    if not seen.any():
        return 1.0
    m, u = m[seen], u[seen]
    order = np.argsort(u / m)
    m, u = m[order], u[order]
    theta = (penalty / 2 + np.cumsum(u * m)) / np.cumsum(m * m)
    following = np.append((u / m)[1:], np.inf)
    return float(theta[np.argmax(theta <= following)])


class PenalizedL1(FoldPriorEstimator):
    """Partial matching (pen-L1) under a distance that penalises an excess of labelled density.

    The labelled density is scaled until it would exceed the unlabelled one [1]_. With Gaussian
    bases ``phi_l``, and ``m_l`` and ``u_l`` their means over labelled and unlabelled rows::

        penL1(theta) = sum_l max(0, theta m_l - u_l)^2 / penalty - theta + 1,
        kappa = argmin penL1

    For each theta the width is the one with the best held-out value; the minimum is sought among a
    grid of step 0.01 and the exact minimiser of every width. As the penalty goes to zero the
    estimate goes to ``min u_l/m_l``, a smoothed infimum of the density ratio. The smallest of many
    noisy ratios decides, so the estimate can come out too low.

    The bases sit at unlabelled rows, and one more is the labelled density itself, since otherwise
    labelled rows far from every unlabelled one would not count.

    Parameters
    ----------
    cv : int >= 2, splitter or iterable, default=5
        Folds of the cross-validation.
    single_sample : bool, default=True
        False for case-control data, the unlabelled rows drawn from the whole population: then
        `class_prior_` is the share of positives among them.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds and draws the centres.

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
    width_ : float
        The kernel width (in scaled units) at the minimum.

    See Also
    --------
    compare_priors : Several estimators side by side.
    PearsonDivergence : Partial matching under the Pearson divergence.

    References
    ----------
    .. [1] M. C. du Plessis, G. Niu and M. Sugiyama, "Class-prior estimation for learning from
       positive and unlabeled data", ACML 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.priors import PenalizedL1
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> y = target == 0  # malignant: 0.37 of the rows
    >>> s = y & (np.random.default_rng(0).random(len(y)) < 0.5)
    >>> PenalizedL1(random_state=0).fit(X, s).class_prior_
    0.4...
    """

    def _estimate(self, X, labelled: np.ndarray, groups=None) -> Estimate:
        rng = check_random_state(self.random_state)
        folds = fold_numbers(X, labelled, self.cv, rng, groups)
        X = scale_columns(X)
        centres, positives, some = (
            at_most(MAX_CENTRES, np.flatnonzero(rows), rng)
            for rows in (~labelled, labelled, ~labelled)
        )
        widths = WIDTH_FACTORS * median_distance(squared_distances(X[some], X[centres]))
        m, u = _fold_sums(X, labelled, folds, centres, positives, widths)
        full, test, train = [], [], []
        for total, rows in ((m, labelled), (u, ~labelled)):
            n, whole = np.bincount(folds[rows])[:, None], total.sum(axis=1, keepdims=True)
            full.append(whole[:, 0] / n.sum())
            test.append(total / n)
            train.append((whole - total) / (n.sum() - n))
        exact = [exact_minimizer(a, b, PENALTY) for a, b in zip(*full, strict=True)]
        theta = np.unique(np.append(THETA_GRID, np.clip(exact, 0.0, 1.0)))
        chosen = np.array([np.argmax(_held_out(t, train, test)) for t in theta])
        excess = np.maximum(0, theta[:, None] * full[0][chosen] - full[1][chosen])
        value = np.sum(excess**2, axis=1) / PENALTY - theta + 1
        best = int(np.argmin(value))
        self.width_ = float(widths[chosen[best]])
        return Estimate(float(theta[best]))


def _fold_sums(X, labelled, folds, centres, positives, widths) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the bases over labelled and unlabelled rows, each (widths, folds, bases).

    The last basis is the density of the labelled rows, a row's own kernel left out.
    """
    n_folds = folds.max() + 1
    sums = np.zeros((len(widths), 2 * n_folds, len(centres) + 1))
    groups = folds + np.where(labelled, 0, n_folds)
    own = np.zeros(len(labelled))
    own[positives] = 1.0
    for group, _, distances in distance_blocks(X, X[centres], groups):
        for w, width in enumerate(widths):
            sums[w, group, :-1] += gaussian(distances, width).sum(axis=0)
    for group, rows, distances in distance_blocks(X, X[positives], groups):
        others = np.maximum(len(positives) - own[rows], 1.0)
        for w, width in enumerate(widths):
            total = gaussian(distances, width).sum(axis=1) - own[rows]
            sums[w, group, -1] += np.sum(np.maximum(total, 0.0) / others)
    return sums[:, :n_folds], sums[:, n_folds:]


def _held_out(theta: float, train: list, test: list) -> np.ndarray:
    """For each width, the dual value on the test folds of the coefficients of the training ones."""
    coefficients = np.maximum(0, theta * train[0] - train[1])
    return np.mean(np.sum(coefficients * (theta * test[0] - test[1]), axis=2), axis=1)
