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


def leaking(X, labelled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns that all but determine the label, the worst first, and their areas."""
    area = column_auc(X, labelled)
    order = np.argsort(-area, kind="stable")
    found = order[area[order] > LEAK]
    return found, area[found]
