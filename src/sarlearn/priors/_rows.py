"""What class-prior estimators do with rows that lie elsewhere: all of it sums over blocks."""

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils import check_random_state

from sarlearn._engine.blocks import Block
from sarlearn._engine.em import labels_of
from sarlearn._engine.kernels import logits
from sarlearn._engine.logistic import fit_logistic

# Scores of at most this many rows, spread evenly, are brought together.
MAX_SCORES = 2_000_000


def column_scales(blocks, scaling: str) -> tuple[np.ndarray, np.ndarray]:
    """Centre and size of each column: the size its range or standard deviation, 1 if constant."""
    ends = blocks.each(_ends)
    low, high = np.min([e[0] for e in ends], axis=0), np.max([e[1] for e in ends], axis=0)
    if not np.any(high > low):
        raise ValueError(
            f"All {blocks.shape[1]} features of X are constant over its {blocks.shape[0]} rows: "
            "nothing tells positive rows from the others. Pass at least one feature that varies."
        )
    mean = blocks.total(_column_sums) / blocks.shape[0]
    if scaling == "minmax":
        size = high - low
    else:
        size = np.sqrt(blocks.total(_squares, mean) / blocks.shape[0])
    # Sparse rows stay sparse: they are not centred.
    return np.zeros_like(mean) if blocks.is_sparse else mean, np.where(size > 0, size, 1.0)


def scaled(block: Block, center: np.ndarray, size: np.ndarray) -> Block:
    """The block with its columns centred and divided by their size."""
    if sparse.issparse(block.matrix):
        X = type(block.matrix)(block.matrix @ sparse.diags_array(1.0 / size))
    else:
        X = (block.X - center) * (1.0 / size)
    return block.with_columns(matrix=X)


def out_of_fold(blocks, n_folds: int, random_state) -> tuple[np.ndarray, np.ndarray]:
    """Held-out ``P(s=1|x)`` of logistic regression, and whether the row is labelled.

    Which fold a row is in follows from its number alone, so no list of rows is kept anywhere.
    """
    seed = int(check_random_state(random_state).randint(2**31))
    thetas, start = [], None
    for fold in range(n_folds):
        fit = fit_logistic(
            blocks.map(_without, fold, n_folds, seed), labels_of, None, 1.0, start=start
        )
        thetas.append(fit.theta)
        start = fit.theta
    every = -(-blocks.shape[0] // MAX_SCORES)
    found = blocks.each(_scores, np.array(thetas).T, seed, every)
    return np.concatenate([f for f, _ in found]), np.concatenate([s for _, s in found])


def folds(block: Block, n_folds: int, seed: int) -> np.ndarray:
    """The fold of each row: its number and the seed, well mixed (splitmix64; Steele, 2014)."""
    x = np.arange(block.rows.start, block.rows.stop, dtype=np.uint64)
    x = (x + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) % np.uint64(n_folds)).astype(int)


def _without(block: Block, fold: int, n_folds: int, seed: int) -> Block:
    return block.with_columns(weight=(folds(block, n_folds, seed) != fold).astype(float))


def _scores(block: Block, thetas: np.ndarray, seed: int, every: int):
    eta = logits(block.X, thetas)
    own = expit(eta[np.arange(len(eta)), folds(block, thetas.shape[1], seed)])
    chosen = slice(-block.rows.start % every, None, every)
    return own[chosen], block.labelled[chosen]


def _ends(block: Block) -> tuple[np.ndarray, np.ndarray]:
    low, high = block.matrix.min(axis=0), block.matrix.max(axis=0)
    if sparse.issparse(block.matrix):
        low, high = low.toarray(), high.toarray()
    return np.ravel(low).astype(float), np.ravel(high).astype(float)


def _column_sums(block: Block) -> np.ndarray:
    return block.X.T @ np.ones(block.n_rows)


def _squares(block: Block, mean: np.ndarray) -> np.ndarray:
    if not sparse.issparse(block.matrix):
        return ((block.X - mean) ** 2).sum(axis=0)
    X = block.matrix
    stored = np.bincount(X.indices, minlength=X.shape[1])
    away = np.bincount(X.indices, weights=(X.data - mean[X.indices]) ** 2, minlength=X.shape[1])
    return away + (block.n_rows - stored) * mean**2
