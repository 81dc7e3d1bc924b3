"""A matrix as row blocks, and sums over them: the border between solvers and where rows live.

A solver hands over a function of one block, ``stats(X, rows) -> Stats``, and gets the sum over
all blocks. Whether the block is dense or sparse, float32 or float64, is known only here.
"""

import copy
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from scipy import sparse

from sarlearn._compat import n_threads

# Elements a dense block holds (2 MB of float64). Measured on 54 columns: blocks of 1,000 to 8,000
# rows run equally fast, 32,000 rows a third slower (they leave the second-level cache).
BLOCK_ELEMENTS = 2**18
# Below this many elements a thread costs more than it saves.
THREAD_ELEMENTS = 2**21

T = TypeVar("T")


class CSRBlock(sparse.csr_array):
    """Rows of a CSR matrix whose transpose is made once: every pass wants it."""

    @functools.cached_property
    def T(self):
        return self.transpose()


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
        self.n_total = X.shape[0]
        self.is_sparse = sparse.issparse(X)
        n_rows, n_columns = X.shape
        elements = X.nnz if self.is_sparse else X.size
        self.threads = n_threads() if elements >= THREAD_ELEMENTS else 1
        if block_rows is None:
            if self.is_sparse:  # a sparse product gains nothing from small blocks
                block_rows = -(-n_rows // self.threads)
            else:
                block_rows = max(512, BLOCK_ELEMENTS // max(n_columns, 1))
        starts = range(0, n_rows, block_rows)
        self.rows = [slice(start, min(start + block_rows, n_rows)) for start in starts]
        if self.is_sparse or len(self.rows) > 1:
            self._X = [_rows_of(X, rows) for rows in self.rows]
        else:
            self._X = [X]

    def part(self, n_rows: int) -> "RowBlocks | None":
        """About ``n_rows`` rows, in blocks spread evenly; None where that is most of them.

        Row slices still count from the whole matrix, so that vectors need no cutting.
        """
        every = self.n_total // n_rows
        if every < 3:
            return None
        share = copy.copy(self)
        if len(self.rows) < 2 * every:  # few large blocks: take the head of each
            share.rows = [slice(r.start, r.start + (r.stop - r.start) // every) for r in self.rows]
            share._X = [
                _rows_of(X, slice(0, r.stop - r.start))
                for X, r in zip(self._X, share.rows, strict=True)
            ]
        else:
            share.rows, share._X = self.rows[::every], self._X[::every]
        share.shape = (sum(r.stop - r.start for r in share.rows), self.shape[1])
        share.threads = 1
        return share

    def blocks(self):
        """Yield ``(X, rows)`` for each block, X in float64 when dense."""
        for X, rows in zip(self._X, self.rows, strict=True):
            yield _double(X), rows

    def sum(self, stats: Callable[..., T]) -> T:
        """Sum of ``stats(X, rows)`` over the blocks, always in the same order.

        ``stats`` returns an object that can be added in place (``+=``).
        """
        if self.threads == 1 or len(self.rows) < self.threads:
            return self._sum_of(stats, range(len(self.rows)))
        # Each thread sums a run of neighbouring blocks, the runs are added in order: the result
        # does not depend on timing.
        runs = np.array_split(np.arange(len(self.rows)), self.threads)
        with ThreadPoolExecutor(self.threads) as pool:
            partial = list(pool.map(lambda run: self._sum_of(stats, run), runs))
        total = partial[0]
        for part in partial[1:]:
            total += part  # type: ignore[operator]
        return total

    def _sum_of(self, stats, indices):
        total = None
        for i in indices:
            part = stats(_double(self._X[i]), self.rows[i])
            if total is None:
                total = part
            else:
                total += part
        return total

    def take(self, rows: np.ndarray):
        """Some rows, by their ascending numbers, as one matrix."""
        cuts = np.searchsorted(rows, [r.start for r in self.rows[1:]])
        parts = [
            X[numbers - r.start]
            for X, r, numbers in zip(self._X, self.rows, np.split(rows, cuts), strict=True)
        ]
        return sparse.vstack(parts, format="csr") if self.is_sparse else np.concatenate(parts)

    def matvec(self, vector: np.ndarray) -> np.ndarray:
        """``X @ vector`` in float64, for one vector or a matrix of columns."""
        out = np.empty((self.shape[0], *vector.shape[1:]))
        for X, rows in self.blocks():
            out[rows] = X @ vector
        return out


def gram(X, h: np.ndarray) -> np.ndarray:
    """``X' diag(h) X`` of one block, for weights ``h >= 0``.

    Scaling by ``sqrt(h)`` makes it a symmetric product, for which BLAS does half the work:
    142 against 221 ns a row at 54 columns.
    """
    root = np.sqrt(h)
    if not sparse.issparse(X):
        scaled = X * root[:, None]
        return scaled.T @ scaled
    data = X.data * np.repeat(root, np.diff(X.indptr))
    scaled = sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
    return (scaled.T @ scaled).toarray()


def gram_diagonal(X, h: np.ndarray) -> np.ndarray:
    """The diagonal of ``X' diag(h) X``."""
    if not sparse.issparse(X):
        return h @ (X * X)
    squared = sparse.csr_array((X.data * X.data, X.indices, X.indptr), shape=X.shape)
    return squared.T @ h


def _double(X):
    # float32 rows are widened block by block: the data keep their size, the sums their digits.
    if sparse.issparse(X) or X.dtype == np.float64:
        return X
    return X.astype(np.float64)


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
