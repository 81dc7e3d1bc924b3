"""Columns that follow from the label: each alone, by its area under the ROC curve."""

import numpy as np
from scipy import sparse
from scipy.stats import rankdata

# Above the largest area of a column in the tables without a leak that this was chosen on, below the
# smallest of exact leaks.
LEAK = 0.97
# Columns ranked at a time.
CHUNK = 64


def column_auc(X, labelled: np.ndarray) -> np.ndarray:
    """How well each column alone tells labelled from unlabelled rows, whichever way it points."""
    n_labelled = int(labelled.sum())
    n_pairs = n_labelled * (len(labelled) - n_labelled)
    areas = []
    for start in range(0, X.shape[1], CHUNK):
        part = X[:, start : start + CHUNK]
        part = part.toarray() if sparse.issparse(part) else np.asarray(part)
        ranks = rankdata(part, axis=0)[labelled].sum(axis=0)
        areas.append((ranks - n_labelled * (n_labelled + 1) / 2) / n_pairs)
    area = np.concatenate(areas) if areas else np.empty(0)
    return np.maximum(area, 1 - area)


def leaking(X, labelled: np.ndarray) -> list[tuple[int, float]]:
    """Columns that all but determine the label, the worst first, with their areas.

    Looked for among those with the largest correlations.
    """
    s = labelled - labelled.mean()
    spread = X.power(2).mean(axis=0) if sparse.issparse(X) else (X**2).mean(axis=0)
    size = np.abs(X.T @ s) / np.sqrt(np.maximum(np.asarray(spread).ravel(), 1e-12))
    likely = np.argsort(-size, kind="stable")[:CHUNK]
    area = column_auc(X[:, likely], labelled)
    order = np.argsort(-area, kind="stable")
    return [(int(likely[j]), float(area[j])) for j in order if area[j] > LEAK]
