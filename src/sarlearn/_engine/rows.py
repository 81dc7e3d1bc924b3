"""Rows: what every solver may ask of data, wherever they lie.

In memory rows are a handful of blocks, on Dask partitions, out of core a stream of batches. A
solver hands over a function of one block and gets the sum over all of them, or what it gives for
each. The function is defined in a module and its arguments are small, so that it runs where the
block lies.
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse

# The free intercept has this penalty per row: enough to keep it finite where every target is 1, and
# far below any tolerance also where a column that is not centred makes it a few hundred. So has the
# coefficient of a column whose values are so large that the user's penalty on it vanishes.
LEAST_RIDGE = 1e-11
# A penalty beyond which a coefficient is 0 for every purpose.
BARRING_RIDGE = 1e250
# Largest and smallest size of values that squares and sums of them can bear.
LARGE, SMALL = 1e50, 1e-50


@dataclass
class Units:
    """What was taken from each column, and what it was divided by.

    ``rescaled`` columns were beyond all bounds. ``excluded`` columns have no coefficient in the
    class model. None is no such column.
    """

    center: np.ndarray
    scale: np.ndarray
    rescaled: np.ndarray | None = None
    excluded: np.ndarray | None = None

    @classmethod
    def plain(cls, n_columns: int) -> "Units":
        return cls(np.zeros(n_columns), np.ones(n_columns))

    @property
    def is_plain(self) -> bool:
        return not self.center.any() and bool((self.scale == 1).all())

    def of(self, columns: np.ndarray) -> "Units":
        rescaled = None if self.rescaled is None else self.rescaled[columns]
        return Units(self.center[columns], self.scale[columns], rescaled)

    def ridge(self, C: float, total_weight: float) -> np.ndarray:
        """Strength of ``ridge @ theta**2 / 2`` on each parameter: ``1 / C`` in the user's units."""
        least = LEAST_RIDGE * total_weight
        with np.errstate(over="ignore", divide="ignore", under="ignore"):
            slopes = np.minimum(1.0 / C / self.scale / self.scale, BARRING_RIDGE)
        if self.rescaled is not None:
            slopes = np.where(self.rescaled, np.maximum(slopes, least), slopes)
        if self.excluded is not None:
            slopes[self.excluded] = BARRING_RIDGE
        return np.append(slopes, least)

    def to_user(self, theta: np.ndarray) -> np.ndarray:
        """Coefficients and intercept for the columns as they were."""
        coef = in_units(theta[:-1], self.scale)
        if self.excluded is not None:
            coef[self.excluded] = 0.0
        return np.append(coef, theta[-1] - coef @ self.center)


def in_units(coef: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Coefficients for columns as they were, from those for columns divided by ``scale``."""
    with np.errstate(over="ignore"):
        found = coef / scale
    lost = np.isinf(found) & np.isfinite(coef)
    if lost.any():
        raise ValueError(
            f"A column has values of about {scale[lost][0]:.3g}: its coefficient is too large for "
            "a number. Multiply the column by a power of ten."
        )
    return found


def excluding(rows, columns: np.ndarray):
    """The same rows, where the class model has no coefficients for some columns."""
    if not len(columns):
        return rows
    excluded = np.zeros(rows.shape[1], dtype=bool)
    excluded[columns] = True
    out = copy.copy(rows)
    out.units = replace(rows.units, excluded=excluded)
    return out


def moderate(X):
    """The matrix with columns of extreme sizes brought to about 1: itself, where there are none.

    They are divided by a power of two, which costs no digit.
    """
    unit = unit_of(sizes(X))
    if (unit == 1).all():
        return X
    if not sparse.issparse(X):
        return X / unit
    out = X.copy()
    out.data = X.data / unit[X.indices]
    return out


def sizes(X) -> np.ndarray:
    """The largest absolute value of each column; gaps (NaN) do not count."""
    if sparse.issparse(X):
        return np.asarray(abs(X).max(axis=0).toarray().ravel(), dtype=np.float64)
    return np.asarray(np.fmax.reduce(np.abs(X), axis=0, initial=0.0), dtype=np.float64)


def unit_of(size: np.ndarray) -> np.ndarray:
    """What to divide values of such a size by: 1 where they are neither too large nor too small."""
    extreme = (size > LARGE) | ((size > 0) & (size < SMALL))
    return np.where(extreme, np.ldexp(1.0, np.frexp(size)[1] - 1), 1.0)


if TYPE_CHECKING:
    from sarlearn._engine.blocks import Block, RowBlocks

# A part of the rows is taken in this many runs, spread evenly.
PART_RUNS = 16


class Rows(Protocol):
    """Rows of a matrix, in blocks, with what is known of each row.

    A kind of rows defines the first half; the second half follows from it. A test of conformance
    (``tests/engine/test_rows.py``) runs on every kind.

    Attributes
    ----------
    shape : (int, int)
    is_sparse : bool
    nnz : int
        Elements that are stored.
    units : Units
        What was done to the columns before; see ``columns.py``.
    slices : list of slice
        Which rows each block holds, counted over all.
    """

    shape: tuple[int, int]
    is_sparse: bool
    nnz: int
    units: Units

    @property
    def slices(self) -> list[slice]: ...

    def total(self, function: Callable, *arguments) -> Any:
        """Sum of ``function(block, *arguments)`` over the blocks, always in the same order.

        The function returns an object that can be added in place (``+=``).
        """
        ...

    def totals(self, function: Callable, requests: Iterable[tuple]) -> Iterator[tuple]:
        """``request, total(function, *request)`` of one after the other, as they are asked for."""
        ...

    def each(self, function: Callable, *arguments, per_block: list | None = None) -> list:
        """``function(block, *arguments)`` of every block, in order.

        With ``per_block`` the function gets one more argument, a block's own.
        """
        ...

    def map(self, function: Callable, *arguments, per_block: list | None = None) -> "Rows":
        """The same rows with each block replaced by what the function gives for it."""
        ...

    # -- what follows from these -------------------------------------------------------------

    def attach(self, **columns: np.ndarray | None) -> "Rows":
        """The same rows, knowing more of each: one value, or one row of values, per row.

        A column that is None stays as it is.
        """
        given = {name: column for name, column in columns.items() if column is not None}
        if not given:
            return self
        pieces = [{k: rows_of(v, rows) for k, v in given.items()} for rows in self.slices]
        return self.map(_with_columns, per_block=pieces)

    def gather(self, function: Callable, *arguments) -> np.ndarray:
        """``function(block, *arguments)`` of every block, end to end: an array per row."""
        return np.concatenate(self.each(function, *arguments))

    def column(self, name: str) -> np.ndarray:
        """What blocks know of each row by this name, end to end."""
        return self.gather(attrgetter(name))

    def audited(self) -> np.ndarray | None:
        """Classes that audits have found, NaN elsewhere; None where nobody has looked."""
        found = self.column("audits")
        return None if np.isnan(found).all() else found

    def total_weight(self) -> float:
        return float(self.total(attrgetter("total_weight")))

    def label_share(self) -> float:
        """Labelled share of the rows, by weight."""
        labelled, total = self.total(attrgetter("label_weights"))
        return float(labelled / total)

    def sizes(self) -> np.ndarray:
        """The largest absolute value of each column; gaps (NaN) do not count."""
        return np.max(self.each(_sizes), axis=0)

    def matvec(self, vector: np.ndarray) -> np.ndarray:
        """``X @ vector`` in float64, for one vector or a matrix of columns."""
        return self.gather(_matvec, vector)

    def take(self, numbers: np.ndarray):
        """Some rows, by their ascending numbers, as one matrix."""
        ends = [rows.stop for rows in self.slices]
        cuts = np.split(numbers, np.searchsorted(numbers, ends[:-1]))
        return stack(self.each(_take, per_block=cuts))

    def settled(self) -> "Rows":
        """The same rows; where every pass makes blocks anew, what was made of them is kept."""
        return self

    def part(self, n_rows: int) -> "RowBlocks | None":
        """About ``n_rows`` rows in runs spread evenly, in memory; None where that is most of them.

        Which rows depends on their number alone, not on how they are cut.
        """
        from sarlearn._engine.blocks import RowBlocks

        if self.shape[0] // n_rows < 3:
            return None
        found = self.each(_cut_out, per_block=runs_of(self.slices, self.shape[0], n_rows))
        return RowBlocks.of([cut for cuts in found for cut in cuts], self)


def runs_of(blocks: list[slice], n_total: int, n_rows: int) -> list[list[slice]]:
    """For each block the pieces of ``n_rows`` rows of ``n_total`` that lie in it."""
    length = max(n_rows // PART_RUNS, 1)
    starts = [k * n_total // PART_RUNS for k in range(PART_RUNS)]
    return [
        [
            slice(max(start, rows.start) - rows.start, min(start + length, rows.stop) - rows.start)
            for start in starts
            if start < rows.stop and start + length > rows.start
        ]
        for rows in blocks
    ]


def rows_of(X, rows: slice):
    """Some rows, sharing the matrix's memory (slicing a CSR matrix in SciPy copies)."""
    if not sparse.issparse(X):
        return X[rows]
    from sarlearn._engine.blocks import CSRBlock

    first, last = X.indptr[rows.start], X.indptr[rows.stop]
    out = CSRBlock((rows.stop - rows.start, X.shape[1]), dtype=X.dtype)
    # Set one by one: the constructor copies an array that is a small part of another.
    out.data, out.indices = X.data[first:last], X.indices[first:last]
    out.indptr = X.indptr[rows.start : rows.stop + 1] - first
    return out


def stack(parts: list):
    return (
        sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    )


def _with_columns(block: "Block", columns: dict) -> "Block":
    return block.with_columns(**columns)


def _sizes(block: "Block") -> np.ndarray:
    return sizes(block.matrix)


def _matvec(block: "Block", vector: np.ndarray) -> np.ndarray:
    return block.X @ vector


def _take(block: "Block", numbers: np.ndarray):
    return block.matrix[numbers - block.rows.start]


def _cut_out(block: "Block", pieces: list[slice]) -> list["Block"]:
    return [block.cut(piece) for piece in pieces]
