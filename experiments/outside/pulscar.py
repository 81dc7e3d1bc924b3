"""PULSCAR, the part of PULSNAR that takes labels as random, written from its paper.

Held-out scores of boosted trees; beta kernel densities (Chen, 1999) of those of the labelled and of
the unlabelled rows, with the bandwidth that is nearest to a histogram of all; and the share alpha
at which the least of ``f_U - alpha f_P`` above one half changes its logarithm most abruptly.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betaln
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

BANDWIDTHS = 0.01, 0.5
MOST_BINS = 512
SHARES = np.arange(10_000) / 10_000
# Scores are counted on a grid: the kernels then cost the same for any number of rows.
GRID = 4_000


def pulscar(X: np.ndarray, s: np.ndarray, seed: int) -> float:
    """The class prior: share of positives among all rows."""
    trees = HistGradientBoostingClassifier(random_state=seed)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    scores = cross_val_predict(trees, X, s, cv=folds, method="predict_proba")[:, 1]
    alpha = share_of_positives(scores[~s], scores[s])
    return float(s.mean() + (1 - s.mean()) * alpha)


def share_of_positives(unlabelled: np.ndarray, labelled: np.ndarray) -> float:
    """Alpha, from scores in [0, 1]."""
    scores = np.concatenate([unlabelled, labelled])
    points = np.linspace(0, 1, bin_count(scores))
    width = bandwidth(scores, points)
    f_u, f_p = density(unlabelled, points, width), density(labelled, points, width)
    above = points > 0.5
    least = (f_u[above] - SHARES[:, None] * f_p[above]).min(axis=1)
    slopes = np.diff(np.log10(np.abs(least) + (f_p.min() or 1e-10)))
    return float(SHARES[1 + np.abs(np.diff(slopes)).argmax()])


def bin_count(scores: np.ndarray) -> int:
    """Scott's rule, to the nearer power of two."""
    width = 3.5 * scores.std() / len(scores) ** (1 / 3)
    wanted = np.ptp(scores) / width
    low, high = 2 ** np.floor(np.log2(wanted)), 2 ** np.ceil(np.log2(wanted))
    return int(min(MOST_BINS, low if wanted - low < high - wanted else high))


def bandwidth(scores: np.ndarray, points: np.ndarray) -> float:
    """Of the kernel density that is nearest to a histogram, in mean square."""
    histogram = np.histogram(scores, bins=len(points), range=(0, 1))[0] / len(scores)

    def distance(width: float) -> float:
        return float(np.mean((density(scores, points, width) - histogram) ** 2))

    return float(minimize_scalar(distance, bounds=BANDWIDTHS, method="bounded").x)


def density(scores: np.ndarray, points: np.ndarray, width: float) -> np.ndarray:
    """Beta kernel densities at points, adding up to one."""
    counts, edges = np.histogram(scores, bins=GRID, range=(0, 1))
    filled = counts > 0
    t = ((edges[:-1] + edges[1:]) / 2)[filled]
    a, b = points / width, (1 - points) / width
    kernels = np.outer(a, np.log(t)) + np.outer(b, np.log1p(-t)) - betaln(a + 1, b + 1)[:, None]
    found = np.exp(kernels) @ counts[filled]
    return found / found.sum()
