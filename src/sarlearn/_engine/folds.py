"""Rows by what they hold: a hash of each, equal rows as one, and folds that depend on nothing else.

Copies of a row must lie in one fold, or held-out scores have seen what they score. Folds are dealt
by a hash of the row, so that neither the order of rows, nor how they are cut into parts, nor
whether zeros are stored changes the answer.
"""

import numpy as np
from scipy import sparse

# Constants of SplitMix64 (G. Steele, D. Lea and C. Flood, Fast splittable pseudorandom number
# generators, OOPSLA 2014).
_STEP, _FIRST, _SECOND = (
    np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)

# Near copies: a neighbour more than so many times as far as the one before, among so many, of so
# many rows. In ordinary tables few rows have such a gap; beyond this share they warn.
GAP, NEIGHBOURS, LOOKED_AT, MOST_GAPS = 5.0, 30, 100, 0.5


def mixed(numbers: np.ndarray) -> np.ndarray:
    """Each 64-bit number as another one that looks drawn at random."""
    out = numbers + _STEP
    out = (out ^ (out >> np.uint64(30))) * _FIRST
    out = (out ^ (out >> np.uint64(27))) * _SECOND
    return out ^ (out >> np.uint64(31))


def hash_rows(X) -> np.ndarray:
    """A 64-bit number per row, equal for rows with equal values; zeros may be stored or not."""
    keys = mixed(np.arange(1, X.shape[1] + 1, dtype=np.uint64))
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_cells(X.data, keys[X.indices]))])
        return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    out = np.zeros(X.shape[0], np.uint64)
    for column, key in zip(X.T, keys, strict=True):
        out += _cells(column, key)
    return out


def _cells(values: np.ndarray, key) -> np.ndarray:
    """What each value adds to the hash of its row; a zero adds nothing."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    bits = np.where(np.isnan(values), np.nan, values).view(np.uint64)
    return np.where(values == 0, np.uint64(0), mixed(bits ^ key))


def joined(hashes: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Hashes that are equal for rows of one group, too, and along chains of copies and groups."""
    if groups is None:
        return hashes
    from scipy.sparse.csgraph import connected_components

    _, row = np.unique(hashes, return_inverse=True)
    _, group = np.unique(groups, return_inverse=True)
    n_rows = int(row.max()) + 1
    shape = (n_rows + int(group.max()) + 1,) * 2
    graph = sparse.coo_array((np.ones(len(row)), (row, n_rows + group)), shape=shape)
    _, part = connected_components(graph, directed=False)
    least = np.full(part.max() + 1, np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(least, part[row], hashes)
    return least[part[row]]


def deal_folds(hashes: np.ndarray, labelled: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """The fold of each row: one for equal hashes; labelled rows are spread evenly over them."""
    keys = mixed(hashes ^ mixed(np.uint64(seed) + np.arange(1, dtype=np.uint64)))
    different, which = np.unique(keys, return_inverse=True)
    has_label = np.zeros(len(different), bool)
    has_label[which[labelled]] = True
    fold, first_fold = np.zeros(len(different), np.int8), 0
    for stratum in (has_label, ~has_label):  # in the order of the keys, which is random
        size = int(stratum.sum())
        fold[stratum] = (first_fold + np.arange(size)) % n_folds
        first_fold += size
    return fold[which]


def fold_of(hashes: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """The fold of each row where rows cannot be counted first, since they lie in many parts."""
    keys = mixed(hashes ^ mixed(np.uint64(seed) + np.arange(1, dtype=np.uint64)))
    return ((keys >> np.uint64(11)) % np.uint64(n_folds)).astype(np.int8)


def near_copies(Z, hashes: np.ndarray) -> float:
    """The share of rows, looked at some, that have a few neighbours far nearer than all others.

    Visits of one patient have. Rows of equal ``hashes`` share a fold and are no neighbours. Without
    groups, distances to the nearest rows grow smoothly, the more so the more columns there are.
    """
    n_rows = Z.shape[0]
    if n_rows < 2 * NEIGHBOURS or not Z.shape[1]:
        return 0.0
    some = np.arange(0, n_rows, max(n_rows // LOOKED_AT, 1))[:LOOKED_AT]
    products = Z[some] @ Z.T
    products = products.toarray() if sparse.issparse(products) else products
    squares = np.asarray((Z.multiply(Z) if sparse.issparse(Z) else Z * Z).sum(axis=1)).ravel()
    distance = squares[some, None] + squares - 2 * products
    np.maximum(distance, 1e-13 * squares.mean() + 1e-300, out=distance)  # rounding
    distance[hashes[some, None] == hashes] = np.inf
    nearest = np.sort(np.partition(distance, NEIGHBOURS, axis=1)[:, :NEIGHBOURS], axis=1)
    with np.errstate(invalid="ignore"):
        gaps = nearest[:, 1:] / nearest[:, :-1]
    return float(np.mean((np.isfinite(gaps) & (gaps > GAP**2)).any(axis=1)))
