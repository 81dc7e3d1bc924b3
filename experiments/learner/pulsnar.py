"""PULSNAR, written from its paper (Kumar and Lambert, PeerJ Computer Science 10:e2451, 2024).

Labelled rows are clustered, by a mixture of normal distributions on the more important half of the
columns, each times its importance; the number of clusters is the one with the least BIC. Of each
cluster PULSCAR says what share of the unlabelled rows is like it, and the shares are added up.
Trees are LightGBM's instead of XGBoost's, and columns are standardised before they are scaled.
"""

import numpy as np
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from ..outside.pulscar import share_of_positives

MOST_CLUSTERS = 10
# The smallest cluster that can be told apart from other rows in five folds.
LEAST_ROWS = 10
TREES = {"max_depth": 4, "num_leaves": 15, "n_jobs": 1, "verbose": -1, "random_state": 101}


def pulsnar(X: np.ndarray, s: np.ndarray) -> float:
    """The class prior: share of positives among all rows."""
    cluster = clusters(X, s)
    labelled, unlabelled = np.flatnonzero(s), np.flatnonzero(~s)
    alpha = 0.0
    for k in np.unique(cluster):
        rows = np.concatenate([labelled[cluster == k], unlabelled])
        of_cluster = s[rows]
        folds = StratifiedKFold(5, shuffle=True, random_state=101)
        scores = cross_val_predict(_trees(), X[rows], of_cluster, cv=folds, method="predict_proba")[
            :, 1
        ]
        alpha += share_of_positives(scores[~of_cluster], scores[of_cluster])
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
