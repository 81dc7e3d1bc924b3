"""Columns whose scale would cost digits: centred and scaled before a solver sees them.

A day counted from far away, ``2_460_000 + day``, differs from row to row by a millionth of its
value: what a Hessian could say about it drowns in rounding, and an intercept far outside the data
has to make up for it. Such a column is replaced by ``(x - center) / scale``, and the coefficients,
the penalty and all results stay those of the column as it was. Other columns are left alone:
moderate scales do no harm, and the data need no copy.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sarlearn._engine.blocks import Block
from sarlearn._engine.rows import LARGE, SMALL, Rows, Units

# A column is centred whose mean is more than so many standard deviations from zero.
FAR = 10.0


@dataclass
class _Extent:
    """Of each column of some rows: ends, mean, and mean square about it, in units of ``size``."""

    n_rows: int
    size: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


def conditioned(rows: Rows) -> Rows:
    """Rows whose columns a solver can work with, and whose ``units`` say what was done to them.

    Rows to which that was done already stay as they are.
    """
    if not rows.units.is_plain:
        return rows
    units = _units(rows.each(_extent))
    if units.is_plain:
        return rows
    far = np.flatnonzero(units.center)
    # Not the mean, which a single zero among days counted from far away would move away from them.
    units.center[far] = np.median(np.concatenate(rows.each(_medians, far)), axis=0)
    units.excluded = rows.units.excluded
    rows = rows.map(_converted, units)
    rows.units = units
    return rows


def _units(extents: list[_Extent]) -> Units:
    extents = [extent for extent in extents if extent.n_rows]
    size = np.max([extent.size for extent in extents], axis=0)
    n_rows = np.array([extent.n_rows for extent in extents], dtype=float)[:, None]
    share = np.array([extent.size for extent in extents]) / np.where(size > 0, size, 1.0)
    means = share * [extent.mean for extent in extents]
    mean = (n_rows * means).sum(axis=0) / n_rows.sum()
    squares = share**2 * [extent.variance for extent in extents] + (means - mean) ** 2
    deviation = np.sqrt((n_rows * squares).sum(axis=0) / n_rows.sum())
    far = np.abs(mean) > FAR * deviation
    spread = np.where(far & (deviation > 1e-14 * np.abs(mean)), deviation, 1.0) * size
    rescaled = (size > 0) & ((spread > LARGE) | (spread < SMALL))
    scale = np.where(rescaled, spread, 1.0)
    return Units(np.where(far, mean * size, 0.0), scale, rescaled)


def _extent(block: Block) -> _Extent:
    X, n = block.X, block.n_rows
    if sparse.issparse(X):
        return _sparse_extent(X, n)
    size = np.abs(X).max(axis=0, initial=0.0)
    unit = np.where(size > 0, size, 1.0)
    if (unit <= LARGE).all() and (unit >= SMALL).all():
        # The usual case, without a copy of the block for each step.
        mean = X.mean(axis=0)
        variance = np.einsum("ij,ij->j", X, X) / n - mean**2
        if (mean**2 <= FAR**2 * variance).all():
            return _Extent(n, size, mean / unit, variance / unit**2)
    Z = X / unit
    mean = Z.mean(axis=0)
    return _Extent(n, size, mean, ((Z - mean) ** 2).mean(axis=0))


def _sparse_extent(X, n: int) -> _Extent:
    p = X.shape[1]
    size = np.zeros(p)
    np.maximum.at(size, X.indices, np.abs(X.data))
    with np.errstate(invalid="ignore"):
        data = X.data / np.where(size > 0, size, 1.0)[X.indices]
    mean = np.bincount(X.indices, weights=data, minlength=p) / n
    apart = np.bincount(X.indices, weights=(data - mean[X.indices]) ** 2, minlength=p)
    stored = np.bincount(X.indices, minlength=p)
    variance = (apart + (n - stored) * mean**2) / n
    return _Extent(n, size, mean, variance)


def _medians(block: Block, columns: np.ndarray) -> np.ndarray:
    """Of some columns, as one row; no row where the block has none."""
    values = block.X[:, columns]
    values = values.toarray() if sparse.issparse(values) else values
    return np.median(values, axis=0)[None] if block.n_rows else values


def _converted(block: Block, units: Units) -> Block:
    X = block.X
    if sparse.issparse(X):
        X = _full(X, units.center != 0)
        data = (X.data - units.center[X.indices]) / units.scale[X.indices]
        matrix = type(X)((data, X.indices, X.indptr), shape=X.shape)
    else:
        matrix = (X - units.center) / units.scale
    return block.with_columns(matrix=matrix)


def _full(X, far: np.ndarray):
    """The same sparse rows, in which columns far from zero have every element stored.

    Hardly an element of such a column is zero, so that little is added.
    """
    columns = np.flatnonzero(far)
    stored = np.bincount(X.indices, minlength=X.shape[1])[columns]
    if X.has_canonical_format and (stored == X.shape[0]).all():
        return X
    n, others = X.shape[0], ~far[X.indices]
    rows = np.repeat(np.arange(n), np.diff(X.indptr))[others]
    places = np.append(rows, np.repeat(np.arange(n), len(columns)))
    indices = np.append(X.indices[others], np.tile(columns, n))
    data = np.append(X.data[others], X[:, columns].toarray())
    return type(X)(sparse.csr_array((data, (places, indices)), shape=X.shape))
