"""Rows in memory: a matrix as row blocks, and sums over them.

Whether a block is dense or sparse, float32 or float64, is known only here and in the kernels.
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
from sarlearn._engine.rows import Rows, Units, rows_of

# Elements a dense block holds: 2 MB of float64, which stay in the second-level cache.
BLOCK_ELEMENTS = 2**18
# Below this many elements a thread costs more than it saves.
THREAD_ELEMENTS = 2**21


class CSRBlock(sparse.csr_array):
    """Rows of a CSR matrix whose transpose is made once: every pass wants it."""

    @functools.cached_property
    def T(self):
        return self.transpose()


@dataclasses.dataclass
class Block:
    """Neighbouring rows: their matrix, what is known of each row, and what passes left here.

    ``cache`` saves work and nothing else: each entry is under a key that says from which
    parameters it was computed, and who does not find it there computes it again.
    """

    rows: slice
    matrix: Any
    labelled: Any = None
    # The class that an audit has found, 1 or 0, and NaN elsewhere; None where nobody has looked.
    audited: Any = None
    weight: Any = None
    target: Any = None
    # Of the propensity: its value and complement, or the row's group, or attributes.
    e: Any = None
    not_e: Any = None
    codes: Any = None
    Xe: Any = None
    # Of several chances: labels of each (NaN is a gap), and attributes of each.
    visits: Any = None
    chances: Any = None
    # Of held-out fits: the fold of the row, and its scores then.
    folds: Any = None
    score: Any = None
    cache: dict = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @property
    def X(self):
        # float32 rows are widened block by block: the data keep their size, the sums their digits.
        if self.matrix.dtype == np.float64 or sparse.issparse(self.matrix):
            return self.matrix
        return self.matrix.astype(np.float64)

    @property
    def n_rows(self) -> int:
        return self.rows.stop - self.rows.start

    @property
    def weights(self) -> np.ndarray:
        """What each row counts: 1 where no weights were given."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    @property
    def total_weight(self) -> float:
        return float(self.n_rows if self.weight is None else self.weight.sum())

    @property
    def label_weights(self) -> np.ndarray:
        """Weight of the labelled rows, and of all."""
        return np.array([(self.labelled * self.weights).sum(), self.total_weight])

    @property
    def audits(self) -> np.ndarray:
        """The classes that audits have found; NaN also where nobody has looked at any row."""
        return np.full(self.n_rows, np.nan) if self.audited is None else self.audited

    def remember(self, name: str, key, compute: Callable[[], Any]) -> Any:
        """What was kept under this name and key, else ``compute()``, which is kept then."""
        found = self.cache.get(name)
        if found is None or found[0] != key:
            found = self.cache[name] = key, compute()
        return found[1]

    def with_columns(self, **columns) -> "Block":
        return dataclasses.replace(self, cache={}, **columns)

    def cut(self, rows: slice) -> "Block":
        """Some of its rows, counted from its first."""
        first = self.rows.start
        return Block(slice(first + rows.start, first + rows.stop), **self._columns(rows_of, rows))

    def pieces(self, most: int) -> list["Block"]:
        """All of its rows, in blocks of so many at most."""
        ends = range(0, self.n_rows, most)
        return [self.cut(slice(first, min(first + most, self.n_rows))) for first in ends]

    def _columns(self, function: Callable, *arguments) -> dict:
        """What the function makes of the matrix, and of each column that is there."""
        return {
            field.name: function(getattr(self, field.name), *arguments)
            for field in dataclasses.fields(self)
            if field.name not in ("rows", "cache") and getattr(self, field.name) is not None
        }

    def __getstate__(self):
        return vars(self) | {"cache": {}}  # cheaper to compute than to send

    def __setstate__(self, state):
        vars(self).update((name, aligned(value)) for name, value in state.items())


class RowBlocks(Rows):
    """Row blocks of an in-memory matrix, dense or CSR, never copied.

    Parameters
    ----------
    X : ndarray or CSR array/matrix of shape (n_rows, n_columns)
    block_rows : int, default=None
        Rows per block; by default as many as fit the cache. Results do not depend on it.
    """

    def __init__(self, X, *, block_rows: int | None = None):
        self.shape = X.shape
        self.is_sparse = sparse.issparse(X)
        n_rows, n_columns = X.shape
        self.nnz, self.units = _n_stored(X), Units.plain(n_columns)
        self.threads = n_threads() if self.nnz >= THREAD_ELEMENTS else 1
        if block_rows is None:
            if self.is_sparse:  # a sparse product gains nothing from small blocks
                block_rows = -(-n_rows // self.threads)
            else:
                block_rows = min(rows_per_block(n_columns), -(-n_rows // self.threads))
        starts = range(0, n_rows, block_rows)
        cuts = [slice(start, min(start + block_rows, n_rows)) for start in starts]
        self._blocks = [Block(rows, rows_of(X, rows)) for rows in cuts]

    @classmethod
    def of(cls, blocks: list[Block], like) -> "RowBlocks":
        """Of blocks cut elsewhere; ``like`` has their columns."""
        out = cls.__new__(cls)
        out._blocks, out.is_sparse, out.threads, out.units = blocks, like.is_sparse, 1, like.units
        out.shape = (sum(block.n_rows for block in blocks), like.shape[1])
        out.nnz = sum(_n_stored(block.matrix) for block in blocks)
        return out

    @property
    def slices(self) -> list[slice]:
        return [block.rows for block in self._blocks]

    def map(self, function: Callable, *arguments, per_block: list | None = None) -> "RowBlocks":
        out = copy.copy(self)
        out._blocks = self.each(function, *arguments, per_block=per_block)
        return out

    def total(self, function: Callable, *arguments):
        if len(self._blocks) == 1:
            return function(self._blocks[0], *arguments)
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
        return ((request, self.total(function, *request)) for request in requests)

    def each(self, function: Callable, *arguments, per_block: list | None = None) -> list:
        if per_block is None:
            return [function(block, *arguments) for block in self._blocks]
        pairs = zip(self._blocks, per_block, strict=True)
        return [function(block, *arguments, extra) for block, extra in pairs]


def rows_per_block(n_columns: int) -> int:
    """Rows of a dense block that fits the cache."""
    return max(512, BLOCK_ELEMENTS // max(n_columns, 1))


def add_up(parts):
    """The sum of an iterable of things that add in place; the first of them takes it."""
    parts = iter(parts)
    total = next(parts)
    for part in parts:
        total += part
    return total


def _n_stored(matrix) -> int:
    return matrix.nnz if sparse.issparse(matrix) else matrix.size


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
