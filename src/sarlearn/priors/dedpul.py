"""DEDPUL: the ratio of two densities of the score, made monotone, then EM for the mixture."""

from bisect import insort

import numpy as np
from scipy.ndimage import median_filter
from scipy.special import logit

from sarlearn.priors._base import Estimate
from sarlearn.priors._scores import ScorePriorEstimator

FACTOR_UNLABELLED, FACTOR_LABELLED = 0.05, 0.1  # kernel widths in standard deviations of the scores
RATIO_CAP = 50.0
MAX_GRID = 2**16


class DEDPUL(ScorePriorEstimator):
    """DEDPUL: compare the densities of the scores of labelled and unlabelled rows.

    From the densities take ``r = f_P/f_U`` at every unlabelled row, smoothed and made monotone
    [1]_. With ``nu = 1 - kappa`` the share of negatives among the unlabelled, each is negative with
    probability ``max(0, 1 - r (1 - nu))``, so::

        e(nu) = mean of max(0, 1 - r (1 - nu)) - nu

    is zero at the truth. It is also zero at ``nu = 1``, and EM from ``nu = 0`` drifts there where
    the mean of ``r`` is below 1; the estimate is then where ``e``, among ``e < 0.05``, has its
    largest curvature.

    Parameters
    ----------
    scorer : classifier with ``predict_proba``, default=None
        None is logistic regression on standardised columns.
    cv : int >= 2, splitter or iterable, default=5
        Folds of the held-out scores.
    single_sample : bool, default=True
        False for case-control data, the unlabelled rows drawn from the whole population: then
        `class_prior_` is the share of positives among them.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds.

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

    See Also
    --------
    compare_priors : Several estimators side by side.
    BestBinEstimator : The share of labels among the highest scores.

    References
    ----------
    .. [1] D. Ivanov, "DEDPUL: difference-of-estimated-densities-based positive-unlabeled
       learning", ICMLA 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.priors import DEDPUL
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> y = target == 0  # malignant: 0.37 of the rows
    >>> s = y & (np.random.default_rng(0).random(len(y)) < 0.5)
    >>> round(DEDPUL(random_state=0).fit(X, s).class_prior_, 1)
    0.4
    """

    def _estimate_from_scores(self, scores: np.ndarray, labelled: np.ndarray) -> Estimate:
        ratio = density_ratio(scores, labelled)
        grid = np.arange(1000) / 1000
        excess = _mean_negative(ratio, grid) - grid
        from_em = _expectation_maximization(ratio)
        from_curvature = _largest_curvature(grid, excess)
        trust_em = from_curvature >= from_em or (np.sum(excess < 0) > 1 and from_em < 0.999)
        nu = from_em if trust_em else from_curvature
        if ratio[0] < 1:  # every row looks negative at any nu: the positives are elsewhere
            nu = 1.0 - float(ratio.mean())
        return Estimate(1.0 - nu)


def density_ratio(scores: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """``f_P/f_U`` at the unlabelled rows, in decreasing order: smoothed, then made monotone."""
    if np.ptp(scores) == 0:
        return np.ones(int((~labelled).sum()))
    # P(s=0 | x) were both groups as large, from g = P(s=1 | x) in the sizes there are.
    balance = np.log(labelled.sum() / (~labelled).sum())
    value = -logit(np.clip(scores, 1e-6, 1 - 1e-6)) + balance
    value = np.clip(value, *logit([1e-6, 1 - 1e-6]))
    unlabelled_share = 1 / (1 + np.exp(-value))
    middle = (unlabelled_share[labelled].mean() + unlabelled_share[~labelled].mean()) / 2
    value = np.log(unlabelled_share / (1 - unlabelled_share + 1e-5))
    positive, mixture = spread_ties(value[labelled], value[~labelled])
    at = np.sort(mixture)
    ratio = _density(positive, FACTOR_LABELLED, at) / (
        _density(mixture, FACTOR_UNLABELLED, at) + 1e-5
    )
    ratio = rolling_median(np.minimum(ratio, RATIO_CAP), 5)
    n_below = int(np.sum(np.sort(unlabelled_share[~labelled]) < middle))
    ratio[:n_below] = np.maximum.accumulate(ratio[:n_below][::-1])[::-1]
    return np.sort(rolling_median(ratio, len(at) // 20))[::-1]


def spread_ties(positive: np.ndarray, mixture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Spread tied scores over the cell around their value, each group evenly.

    A forest of few trees gives few distinct scores. At such an atom the two densities have kernels
    of different widths and their ratio is wrong by the ratio of the widths; spread, it is right.
    """
    both = np.concatenate([positive, mixture])
    distinct = np.unique(both)
    if len(distinct) > len(both) / 2 or len(distinct) == 1:
        return positive, mixture
    gaps = np.diff(distinct) / 2
    left = distinct - np.concatenate([gaps[:1], gaps])
    right = distinct + np.concatenate([gaps, gaps[-1:]])
    spread = []
    for values in (positive, mixture):
        values = np.sort(values)
        cell = np.searchsorted(distinct, values)
        count = np.bincount(cell, minlength=len(distinct))
        rank = np.arange(len(values)) - (np.cumsum(count) - count)[cell]
        spread.append(left[cell] + (right - left)[cell] * (rank + 0.5) / count[cell])
    return spread[0], spread[1]


def _density(sample: np.ndarray, factor: float, at: np.ndarray) -> np.ndarray:
    """Gaussian kernel density at sorted points: linear binning, then one convolution.

    Ten grid cells a kernel width keep the error below 0.2% of the peak. The kernel has some 120
    cells, so the cost is that of sorting the rows into G cells, and 120 G.
    """
    width = factor * max(float(np.std(sample, ddof=1)) if len(sample) > 1 else 0.0, 1e-3)
    low, high = min(sample.min(), at[0]) - 5 * width, max(sample.max(), at[-1]) + 5 * width
    n_grid = min(int(np.ceil(10 * (high - low) / width)) + 1, MAX_GRID)
    step = (high - low) / (n_grid - 1)
    place = (sample - low) / step
    cell = np.minimum(place.astype(int), n_grid - 2)
    weight = np.bincount(cell, 1 - (place - cell), minlength=n_grid)
    weight += np.bincount(cell + 1, place - cell, minlength=n_grid)
    reach = min(int(np.ceil(6 * width / step)), (n_grid - 1) // 2)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / width) ** 2)
    kernel /= width * np.sqrt(2 * np.pi) * len(sample)
    density = np.convolve(weight, kernel, mode="same")
    return np.interp(at, low + step * np.arange(n_grid), density)


def rolling_median(values: np.ndarray, half: int) -> np.ndarray:
    """Median over ``2 half + 1`` neighbours; towards the ends the window shrinks on both sides."""
    n_values = len(values)
    half = min(half, (n_values - 1) // 2)
    if half == 0:
        return values.copy()
    smooth = median_filter(values, size=2 * half + 1, mode="nearest")
    smooth[:half] = _expanding_median(values[: 2 * half - 1])
    smooth[n_values - half :] = _expanding_median(values[::-1][: 2 * half - 1])[::-1]
    return smooth


def _expanding_median(values: np.ndarray) -> np.ndarray:
    """Median of the first 1, 3, 5, ... values."""
    seen: list[float] = []
    medians = []
    for i, value in enumerate(values):
        insort(seen, float(value))
        if i % 2 == 0:
            medians.append(seen[i // 2])
    return np.array(medians)


def _mean_negative(ratio: np.ndarray, nu: np.ndarray) -> np.ndarray:
    """Mean of ``max(0, 1 - r (1 - nu))`` at each nu; r in decreasing order."""
    rising = ratio[::-1]
    total = np.concatenate([[0.0], np.cumsum(rising)])
    with np.errstate(divide="ignore"):
        n_active = np.searchsorted(rising, 1 / (1 - nu), side="left")
    return (n_active - (1 - nu) * total[n_active]) / len(ratio)


def _expectation_maximization(ratio: np.ndarray) -> float:
    nu = 0.0
    for _ in range(1000):
        previous, nu = nu, float(_mean_negative(ratio, np.array([nu]))[0])
        # With every posterior positive the map is linear and would run on to nu = 1.
        if abs(nu - previous) < 1e-5 or ratio[0] * (1 - previous) < 1:
            break
    return nu


def _largest_curvature(grid: np.ndarray, excess: np.ndarray) -> float:
    """The grid point with ``e < 0.05`` where the slope of e changes most."""
    curvature = np.full(len(grid), -np.inf)
    curvature[1:-1] = np.diff(excess, n=2)
    curvature[excess >= 0.05] = -np.inf
    return float(grid[np.argmax(curvature)]) if np.isfinite(curvature).any() else 0.0
