"""PULSCAR and PULSNAR, written from their paper (Kumar and Lambert, PeerJ Computer Science, 2024).

*PULSCAR* takes labels as random. Held-out scores of boosted trees; beta kernel densities (Chen,
1999) of those of the labelled and of the unlabelled rows, with the bandwidth that is nearest to a
histogram of all; and the share alpha at which the least of ``f_U - alpha f_P`` above one half
changes its logarithm most abruptly.

*PULSNAR* lets labelling follow hidden subtypes. Labelled rows are clustered, by a mixture of normal
distributions on the more important half of the columns, each times its importance; the number of
clusters is the one with the least BIC. Of each cluster PULSCAR says what share of the unlabelled
rows is like it, and the shares are added up. Trees are LightGBM's instead of XGBoost's there, and
columns are standardised before they are scaled.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betaln
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold, cross_val_predict

BANDWIDTHS = 0.01, 0.5
MOST_BINS = 512
SHARES = np.arange(10_000) / 10_000
# Scores are counted on a grid: the kernels then cost the same for any number of rows.
GRID = 4_000
MOST_CLUSTERS = 10
# The smallest cluster that can be told apart from other rows in five folds.
LEAST_ROWS = 10
TREES = {"max_depth": 4, "num_leaves": 15, "n_jobs": 1, "verbose": -1, "random_state": 101}


def pulscar(X: np.ndarray, s: np.ndarray, seed: int) -> float:
    """The class prior: share of positives among all rows."""
    alpha = _share_by(HistGradientBoostingClassifier(random_state=seed), X, s, seed)
    return float(s.mean() + (1 - s.mean()) * alpha)


def pulsnar(X: np.ndarray, s: np.ndarray) -> float:
    """The class prior: share of positives among all rows."""
    cluster = clusters(X, s)
    labelled, unlabelled = np.flatnonzero(s), np.flatnonzero(~s)
    alpha = 0.0
    for k in np.unique(cluster):
        rows = np.concatenate([labelled[cluster == k], unlabelled])
        alpha += _share_by(_trees(), X[rows], s[rows], 101)
    return float(s.mean() + (1 - s.mean()) * min(alpha, 1.0))


def clusters(X: np.ndarray, s: np.ndarray) -> np.ndarray:
    """The cluster of each labelled row; small ones go to the nearest that is not."""
    importance = _trees().fit(X, s).feature_importances_.astype(float)
    chosen = np.argsort(-importance, kind="stable")[: max(1, X.shape[1] // 2)]
    scaled = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    Z = (scaled * importance / max(importance.max(), 1e-12))[s][:, chosen]
    most = max(1, min(MOST_CLUSTERS, len(Z) // LEAST_ROWS))
    found = [_mixture(k).fit(Z) for k in range(1, most + 1)]
    best = min(found, key=lambda mixture: mixture.bic(Z))
    chance = best.predict_proba(Z)
    large = np.bincount(chance.argmax(axis=1), minlength=best.n_components) >= LEAST_ROWS
    return chance[:, large].argmax(axis=1) if large.any() else np.zeros(len(Z), dtype=int)


def _mixture(k: int) -> GaussianMixture:
    return GaussianMixture(k, covariance_type="full", reg_covar=1e-4, random_state=101)


def _trees():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(importance_type="gain", is_unbalance=True, **TREES)


def _share_by(trees, X: np.ndarray, s: np.ndarray, seed: int) -> float:
    """Alpha of the unlabelled rows, by held-out scores."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    scores = cross_val_predict(trees, X, s, cv=folds, method="predict_proba")[:, 1]
    return share_of_positives(scores[~s], scores[s])


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
