"""Scaled distances, Gaussian features and subsamples, dense and sparse alike."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from sarlearn._engine.rows import moderate
from sarlearn.priors._base import column_ends

BLOCK_ROWS = 4096
SMALLEST_EXPONENT = -700.0


def scale_columns(X):
    """Divide each column by its range.

    Distances do not see shifts, so nothing is subtracted and sparse input stays sparse. Columns
    that do not vary are left alone: they add nothing to a distance.
    """
    X = moderate(X)
    size = np.subtract(*column_ends(X))
    inverse = 1.0 / np.where(size > 0, size, 1.0)
    if sp.issparse(X):
        return (X @ sp.diags_array(inverse)).tocsr()
    # Distances between rows far from the origin lose digits; dense rows are centred for free.
    return (X - X.mean(axis=0)) * inverse


def squared_distances(A, B) -> np.ndarray:
    """Squared Euclidean distances of all pairs of rows."""
    return euclidean_distances(A, B, squared=True)


def gaussian(squared: np.ndarray, width: float) -> np.ndarray:
    """``exp(-squared / (2 width^2))``.

    Processors take four times as long over results below the smallest normal number, which narrow
    widths have in plenty; here those are 1e-304.
    """
    kernel = squared * (-1.0 / (2.0 * width**2))
    np.maximum(kernel, SMALLEST_EXPONENT, out=kernel)
    return np.exp(kernel, out=kernel)


def median_distance(squared: np.ndarray) -> float:
    """Square root of the median of squared distances: the unit of the kernel widths."""
    median = float(np.median(squared))
    if median == 0.0:
        raise ValueError(
            "More than half of the pairs of rows of X are identical, or too close to tell apart, "
            "so the kernel has no width. Remove repeated rows, or use a method on scores such as "
            "BestBinEstimator."
        )
    return float(np.sqrt(median))


def at_most(most: int, rows: np.ndarray, rng) -> np.ndarray:
    """The rows, or so many of them drawn at random."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, size=most, replace=False))


def subsample(labelled: np.ndarray, max_rows: int, rng, least: float = 0.0) -> np.ndarray:
    """At most `max_rows` row numbers, ascending, with the labelled share of the whole.

    Of either group a share of `least` at least, as far as it has the rows, and one row.
    """
    n_rows, n_labelled = len(labelled), int(labelled.sum())
    if n_rows <= max_rows:
        return np.arange(n_rows)
    share = min(max(n_labelled / n_rows, least), 1 - least)
    take = max(round(max_rows * share), max_rows - (n_rows - n_labelled), 1)
    take = min(take, n_labelled, max_rows - 1)
    chosen = [
        rng.choice(np.flatnonzero(group), size=size, replace=False)
        for group, size in ((labelled, take), (~labelled, max_rows - take))
    ]
    return np.sort(np.concatenate(chosen))


def distance_blocks(X, centres, groups: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Group, row numbers and squared distances to the centres, a block of one group at a time.

    Memory stays at a block times the centres, however many rows there are.
    """
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        for start in range(0, len(members), BLOCK_ROWS):
            rows = members[start : start + BLOCK_ROWS]
            yield int(group), rows, squared_distances(X[rows], centres)
