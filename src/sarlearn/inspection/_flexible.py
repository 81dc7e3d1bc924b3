"""A class score without a fixed form: boosted trees inside EM, every row scored out of fold."""

import numpy as np
from scipy import sparse
from scipy.special import expit, logit
from sklearn.model_selection import StratifiedKFold

from .._blocks import RowBlocks
from .._joint import JointLogistic
from .._logistic import fit_logistic

N_FOLDS = 5
# EM iterations with boosting. It starts at the linear solution, and only its shape is used.
N_ROUNDS = 4


def flexible_score(X, labelled: np.ndarray, columns: list[int], rng) -> np.ndarray:
    """Held-out logits of ``f`` from boosted trees, with a propensity on ``columns``: one column.

    E-step: ``q = f (1-e) / (1 - f e)`` where unlabelled. M-step: trees on the targets ``q``
    outside each fold score its rows; the propensity is logistic, weighted by ``q``.
    """
    joint = JointLogistic(X, np.array(columns, dtype=np.intp), C=100.0, propensity_C=100.0)
    f, e = joint.probabilities(joint.fit(labelled).parameters)
    # Boosting starts from propensities that leave room: at e = 1 there are no hidden positives.
    e = np.clip(e, 0.02, 0.9)
    dense = X.toarray() if sparse.issparse(X) else X
    seed = int(rng.integers(2**31))
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(dense, labelled))
    attributes = RowBlocks(np.ascontiguousarray(dense[:, columns]))
    for _ in range(N_ROUNDS):
        q = np.where(labelled, 1.0, f * (1 - e) / (1 - f * e))
        f = _held_out(dense, q, folds, seed)
        theta = fit_logistic(attributes, labelled / np.maximum(q, 1e-12), q, 100.0, tol=1e-4).theta
        e = np.clip(expit(attributes.matvec(theta[:-1]) + theta[-1]), 0.02, 0.98)
    score = logit(np.clip(f, 1e-4, 1 - 1e-4))
    return ((score - score.mean()) / max(float(score.std()), 1e-12))[:, None]


def _held_out(X, q: np.ndarray, folds, seed: int) -> np.ndarray:
    from sklearn.ensemble import HistGradientBoostingClassifier

    f = np.empty(len(q))
    for train, test in folds:
        trees = HistGradientBoostingClassifier(
            max_iter=50,
            max_leaf_nodes=8,
            learning_rate=0.15,
            early_stopping=False,
            random_state=seed,
        )
        # Each row as a positive with weight q, and as a negative with the rest.
        twice = np.concatenate([train, train])
        target = np.repeat([1, 0], len(train))
        weight = np.concatenate([q[train], 1 - q[train]])
        trees.fit(X[twice], target, sample_weight=weight)
        f[test] = trees.predict_proba(X[test])[:, 1]
    return np.clip(f, 1e-6, 1 - 1e-6)
