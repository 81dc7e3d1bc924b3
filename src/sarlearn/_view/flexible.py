"""A class score without a fixed form: boosted trees, every row scored out of fold."""

import numpy as np
from scipy import sparse
from scipy.special import logit
from sklearn.model_selection import StratifiedKFold

N_FOLDS = 5
# Where P(s|x) saturates, every row is positive and its height is the label frequency.
SATURATION = 0.99


def flexible_score(X, labelled: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Held-out logits of ``f`` as they would be under SCAR, ``P(s=1|x) / c``: one column.

    With it the class model has first claim on what the labels show; a propensity attribute has to
    explain more. Linear terms stay beside it, so where labelling does follow an attribute, the
    right pair of models is still among those compared.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    dense = X.toarray() if sparse.issparse(X) else X
    seed = int(rng.integers(2**31))
    n_folds = int(min(N_FOLDS, labelled.sum(), (~labelled).sum()))
    if n_folds < 2:
        raise ValueError("A flexible class model needs two rows of each label at least.")
    trees = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, learning_rate=0.1, early_stopping=False, random_state=seed
    )
    chance = np.empty(len(labelled))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for train, test in folds.split(dense, labelled):
        chance[test] = trees.fit(dense[train], labelled[train]).predict_proba(dense[test])[:, 1]
    height = float(np.quantile(chance, SATURATION))
    score = logit(np.clip(chance / max(height, 1e-9), 1e-3, 0.995))
    return ((score - score.mean()) / max(float(score.std()), 1e-12))[:, None]
