"""A matrix as row blocks, and sums over them: the border between solvers and where rows live.

A solver hands over a function of one block, ``function(block, *arguments) -> Stats``, and gets the
sum over all blocks. The function is a module's own and its arguments are small, so that it runs
wherever the block lies. Whether the block is dense or sparse, float32 or float64, is known only
here.
"""

import copy
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import sparse

from sarlearn._compat import n_threads
from sarlearn._engine.on_demand import compiled_for

# Elements a dense block holds (2 MB of float64). Measured on 54 columns: blocks of 1,000 to 8,000
# rows run equally fast, 32,000 rows a third slower (they leave the second-level cache).
BLOCK_ELEMENTS = 2**18
# Compiled passes see to the cache themselves; larger blocks save calls: 87 against 110 ns a row and
# iteration at 54 columns.
COMPILED_BLOCK_ELEMENTS = 2**20
# Below this many elements a thread costs more than it saves.
THREAD_ELEMENTS = 2**21
# A part of the rows is taken in this many runs, spread evenly.
PART_RUNS = 16


class CSRBlock(sparse.csr_array):
    """Rows of a CSR matrix whose transpose is made once: every pass wants it."""

    @functools.cached_property
    def T(self):
        return self.transpose()


@dataclasses.dataclass
class Block:
    """Neighbouring rows: their matrix, what is known of each row, and what passes left here.

    ``kept`` saves work and nothing else: each entry is under a key that says from which
    parameters it was computed, and who does not find it there computes it again.
    """

    rows: slice
    matrix: Any
    labelled: Any = None
    weight: Any = None
    target: Any = None
    # The propensity's own: its value and complement, or the row's group, or attributes.
    e: Any = None
    not_e: Any = None
    codes: Any = None
    Xe: Any = None
    h: Any = None
    kept: dict = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @property
    def X(self):
        # float32 rows are widened block by block: the data keep their size, the sums their digits.
        if self.matrix.dtype == np.float64 or sparse.issparse(self.matrix):
            return self.matrix
        return self.matrix.astype(np.float64)

    @property
    def X_for_kernels(self):
        # Compiled functions take float32 as it is.
        return self.matrix if compiled_for(self.matrix) else self.X

    @property
    def n_rows(self) -> int:
        return self.rows.stop - self.rows.start

    def remember(self, name: str, key, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """What was kept under this name and key, else ``compute()``, which is kept then."""
        found = self.kept.get(name)
        if found is None or found[0] != key:
            found = self.kept[name] = key, compute()
        return found[1]

    def with_columns(self, **columns) -> "Block":
        return dataclasses.replace(self, kept={}, **columns)

    def cut(self, rows: slice) -> "Block":
        """Some of its rows, counted from its first."""
        first = self.rows.start
        columns = {
            field.name: _rows_of(getattr(self, field.name), rows)
            for field in dataclasses.fields(self)
            if field.name not in ("rows", "kept") and getattr(self, field.name) is not None
        }
        return Block(slice(first + rows.start, first + rows.stop), **columns)

    def __getstate__(self):
        return vars(self) | {"kept": {}}  # cheaper to compute than to send

    def __setstate__(self, state):
        vars(self).update((name, aligned(value)) for name, value in state.items())


class RowBlocks:
    """Row blocks of an in-memory matrix, dense or CSR, never copied.

    Parameters
    ----------
    X : ndarray or CSR array/matrix of shape (n_rows, n_columns)
    block_rows : int, default=None
        Rows a block; by default as many as fit the cache. Results do not depend on it.
    """

    def __init__(self, X, *, block_rows: int | None = None):
        self.shape = X.shape
        self.is_sparse = sparse.issparse(X)
        n_rows, n_columns = X.shape
        elements = X.nnz if self.is_sparse else X.size
        self.threads = n_threads() if elements >= THREAD_ELEMENTS else 1
        if block_rows is None:
            if self.is_sparse:  # a sparse product gains nothing from small blocks
                block_rows = -(-n_rows // self.threads)
            else:
                most = COMPILED_BLOCK_ELEMENTS if compiled_for(X) else BLOCK_ELEMENTS
                block_rows = min(max(512, most // max(n_columns, 1)), -(-n_rows // self.threads))
        starts = range(0, n_rows, block_rows)
        cuts = [slice(start, min(start + block_rows, n_rows)) for start in starts]
        self._blocks = [Block(rows, _rows_of(X, rows)) for rows in cuts]

    @classmethod
    def of(cls, blocks: list[Block], like) -> "RowBlocks":
        """Of blocks cut elsewhere; ``like`` has their columns."""
        out = cls.__new__(cls)
        out._blocks, out.is_sparse, out.threads = blocks, like.is_sparse, 1
        out.shape = (sum(block.n_rows for block in blocks), like.shape[1])
        return out

    @property
    def rows(self) -> list[slice]:
        return [block.rows for block in self._blocks]

    def attach(self, **columns) -> "RowBlocks":
        """The same rows, knowing more of each; a column that is None stays as it is."""
        given = {name: column for name, column in columns.items() if column is not None}
        if not given:
            return self
        out = copy.copy(self)
        out._blocks = [
            block.with_columns(**{k: _rows_of(column, block.rows) for k, column in given.items()})
            for block in self._blocks
        ]
        return out

    def map(self, function: Callable, *arguments) -> "RowBlocks":
        """The same rows with each block replaced by ``function(block, *arguments)``."""
        out = copy.copy(self)
        out._blocks = [function(block, *arguments) for block in self._blocks]
        return out

    def part(self, n_rows: int) -> "RowBlocks | None":
        """About ``n_rows`` rows in runs spread evenly; None where that is most of them.

        Which rows depends on their number alone, not on how they are cut.
        """
        if self.shape[0] // n_rows < 3:
            return None
        pieces = runs_of(self.rows, self.shape[0], n_rows)
        return RowBlocks.of([cut for cuts in self.each(cut_out, own=pieces) for cut in cuts], self)

    def blocks(self):
        """Yield ``(X, rows)`` for each block, X in float64 when dense."""
        for block in self._blocks:
            yield block.X, block.rows

    def sum(self, stats: Callable):
        """Sum of ``stats(X, rows)`` over the blocks: for functions that stay on this machine."""
        return self.total(_local, stats)

    def total(self, function: Callable, *arguments):
        """Sum of ``function(block, *arguments)`` over the blocks, always in the same order.

        The function returns an object that can be added in place (``+=``).
        """
        if self.threads == 1 or len(self._blocks) < self.threads:
            return add_up(function(block, *arguments) for block in self._blocks)
        # Each thread sums a run of neighbouring blocks, the runs are added in order: the result
        # does not depend on timing.
        runs = np.array_split(np.arange(len(self._blocks)), self.threads)

        def sum_of(run):
            return add_up(function(self._blocks[i], *arguments) for i in run)

        with ThreadPoolExecutor(self.threads) as pool:
            return add_up(list(pool.map(sum_of, runs)))

    def totals(self, function: Callable, requests: Iterable[tuple]) -> Iterator[tuple]:
        """``request, total(function, *request)`` of one after the other, as they are asked for."""
        return ((request, self.total(function, *request)) for request in requests)

    def each(self, function: Callable, *arguments, own: list | None = None) -> list:
        """``function(block, *arguments)`` of every block; with ``own`` one more argument each."""
        if own is None:
            return [function(block, *arguments) for block in self._blocks]
        pairs = zip(self._blocks, own, strict=True)
        return [function(block, *arguments, extra) for block, extra in pairs]

    def take(self, rows: np.ndarray):
        """Some rows, by their ascending numbers, as one matrix."""
        cuts = np.split(rows, np.searchsorted(rows, [r.start for r in self.rows[1:]]))
        return stack(self.each(_take, own=cuts))

    def matvec(self, vector: np.ndarray) -> np.ndarray:
        """``X @ vector`` in float64, for one vector or a matrix of columns."""
        out = np.empty((self.shape[0], *vector.shape[1:]))
        for X, rows in self.blocks():
            out[rows] = X @ vector
        return out


def add_up(parts):
    """The sum of an iterable of things that add in place; the first of them takes it."""
    parts = iter(parts)
    total = next(parts)
    for part in parts:
        total += part
    return total


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


def aligned(column):
    """The same values where numbers begin at their own multiples, as messages do not keep them.

    Sums over others are slower, and not the same to the last bit.
    """
    if isinstance(column, np.ndarray):
        return np.require(column, requirements="A")
    if sparse.issparse(column):
        for part in ("data", "indices", "indptr"):
            setattr(column, part, aligned(getattr(column, part)))
    return column


def cut_out(block: Block, pieces: list[slice]) -> list[Block]:
    return [block.cut(piece) for piece in pieces]


def stack(parts: list):
    return (
        sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    )


def _take(block: Block, numbers: np.ndarray):
    return block.matrix[numbers - block.rows.start]


def _local(block: Block, stats):
    return stats(block.X, block.rows)


def _rows_of(X, rows: slice):
    """Some rows, sharing the matrix's memory (slicing a CSR matrix in SciPy copies)."""
    if not sparse.issparse(X):
        return X[rows]
    first, last = X.indptr[rows.start], X.indptr[rows.stop]
    out = CSRBlock((rows.stop - rows.start, X.shape[1]), dtype=X.dtype)
    # Set one by one: the constructor copies an array that is a small part of another.
    out.data, out.indices = X.data[first:last], X.indices[first:last]
    out.indptr = X.indptr[rows.start : rows.stop + 1] - first
    return out
