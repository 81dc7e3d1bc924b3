"""Rows that solvers read chunk by chunk, of a table that memory does not hold.

The source is read once: its columns, encoded, go to a file (:class:`Spool`) from which every pass
reads them, ahead of computing in a thread. In memory stay a few chunks, and of each row its label,
folds and weight.
"""

import copy
import errno
import itertools
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from sarlearn._engine.blocks import Block, add_up
from sarlearn._engine.rows import Rows, Units
from sarlearn._validation import check_part_weights, check_propensity, encode_labels
from sarlearn._words import listed
from sarlearn.backends import batch_source
from sarlearn.backends.batch_source import Batches, ahead, column_of, to_matrix

# Smaller parts of a step are tried this many at a time: reading costs more than they do.
TRIES = 4
# Elements of a block: each of them is read at once, so it is larger than one in memory.
BLOCK_ELEMENTS = 2**20
_NO_COLUMNS = ("rows", "cache")  # of a block


class Stored(NamedTuple):
    """Where an array lies in the file."""

    start: int
    shape: tuple[int, ...]
    dtype: np.dtype


class Spool:
    """A temporary file of arrays, in the folder that ``TMPDIR`` names.

    It has no name, so that the system takes it back however the process ends. What was read of it
    lies in the system's cache, not in this process.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="sarlearn-", buffering=0)  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # with the last rows that need it
        self._end, self._lock = 0, threading.Lock()

    def put(self, values: np.ndarray) -> Stored:
        """Write an array at the end."""
        array = np.ascontiguousarray(values)
        left = memoryview(array).cast("B") if array.size else memoryview(b"")
        with self._lock:
            start = self._end
            self._file.seek(start)
            try:
                while left:
                    left = left[self._file.write(left) :]
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise OSError(
                        f"There is no space left in {tempfile.gettempdir()} for the rows, of which "
                        f"{start / 1e9:.1f} GB were written; name a larger folder with TMPDIR."
                    ) from error
                raise
            self._end = start + array.nbytes
        return Stored(start, array.shape, array.dtype)

    def get(self, stored: Stored) -> np.ndarray:
        """Read one back."""
        array = np.empty(stored.shape, dtype=stored.dtype)
        left = memoryview(array).cast("B") if array.size else memoryview(b"")
        with self._lock:
            self._file.seek(stored.start)
            while left:
                left = left[self._file.readinto(left) :]
        return array


class BatchRows(Rows):
    """Rows in a file: blocks are made anew in every pass.

    Parameters
    ----------
    spool : Spool
    pieces : list of dict
        Of each block, in order, the columns that lie in the file: ``matrix`` at least.
    dtype : of the matrix, float32 or float64
    """

    def __init__(self, spool: Spool, pieces: list[dict], dtype):
        self._spool, self._pieces, self._dtype = spool, pieces, dtype
        self._steps: list[tuple] = []
        stored = [piece["matrix"] for piece in pieces]
        ends = np.cumsum([matrix.shape[0] for matrix in stored]).tolist()
        self._slices = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        self.shape = (ends[-1], stored[0].shape[1])
        self.is_sparse, self.nnz = False, self.shape[0] * self.shape[1]
        self.units = Units.plain(self.shape[1])

    @property
    def slices(self) -> list[slice]:
        return self._slices

    def map(self, function: Callable, *arguments, per_block: list | None = None) -> "BatchRows":
        out = copy.copy(self)
        out._steps = [*self._steps, (function, arguments, per_block)]
        return out

    def settled(self) -> "BatchRows":
        """What the steps made of each block goes to the file; columns in memory stay there."""
        pieces: list[dict] = []
        dtype = self._dtype
        for block, read in self._blocks():
            columns = {name: value for name, value in vars(block).items() if value is not None}
            pieces.append(
                {
                    name: self._pieces[len(pieces)][name]
                    if value is read.get(name)
                    else self._spool.put(value)
                    for name, value in columns.items()
                    if name not in _NO_COLUMNS
                }
            )
            dtype = block.matrix.dtype
        out = BatchRows(self._spool, pieces, dtype)
        out.units = self.units
        return out

    def total(self, function: Callable, *arguments):
        return add_up(function(block, *arguments) for block, _ in self._blocks())

    def totals(self, function: Callable, requests: Iterable[tuple]) -> Iterator[tuple]:
        """The first alone, then several in one pass."""
        requests, size = iter(requests), 1
        while some := list(itertools.islice(requests, size)):
            found = ([function(block, *request) for request in some] for block, _ in self._blocks())
            sums = next(found)
            for parts in found:
                sums = [add_up(pair) for pair in zip(sums, parts, strict=True)]
            yield from zip(some, sums, strict=True)
            size = TRIES

    def each(self, function: Callable, *arguments, per_block: list | None = None) -> list:
        if per_block is None:
            return [function(block, *arguments) for block, _ in self._blocks()]
        pairs = zip(self._blocks(), per_block, strict=True)
        return [function(block, *arguments, extra) for (block, _), extra in pairs]

    def _blocks(self) -> Iterator[tuple[Block, dict]]:
        """One pass: every block as the steps make it, and the columns that were read for it."""
        for number, columns in enumerate(ahead(self._read())):
            block = Block(self._slices[number], **columns)
            for function, arguments, per_block in self._steps:
                extra = () if per_block is None else (per_block[number],)
                block = function(block, *arguments, *extra)
            yield block, columns

    def _read(self) -> Iterator[dict]:
        for piece in self._pieces:
            columns = {name: self._spool.get(stored) for name, stored in piece.items()}
            columns["matrix"] = columns["matrix"].astype(self._dtype, copy=False)
            yield columns


def read_rows(
    batches: Batches, label, weight=None, propensity=None, *, pos_label=None, allow_nan=False
) -> tuple[Rows, np.ndarray]:
    """Checked rows that know their labels and weights, and the two label values: one pass.

    Parameters
    ----------
    label, weight : str
        Columns of the source. Rows of weight zero are left out.
    propensity : float or array of shape (n_rows,), default=None
    """
    _check_name("y", label, batches)
    if weight is not None:
        _check_name("sample_weight", weight, batches)
    spool, pieces, labels, weights = Spool(), [], [], []
    n_read, dtype = 0, np.dtype(np.float32)
    n_columns = len(batches.features(label, weight))
    block_rows = min(max(512, BLOCK_ELEMENTS // max(n_columns, 1)), batch_source.CHUNK_ROWS)
    for frame, further in ahead(batches.frames(block_rows, label, weight)):
        X, s = to_matrix(frame, n_read, None, allow_nan), column_of(further, label)
        n_read += len(X)
        if weight is not None:
            values = check_part_weights(column_of(further, weight), repr(weight), n_read - len(X))
            X, s, values = X[values > 0], s[values > 0], values[values > 0]
            weights.append(values)
        if not len(X):
            continue
        dtype = np.promote_types(dtype, X.dtype)
        pieces.append({"matrix": spool.put(X)})
        labels.append(_narrow(s))
    if not pieces:
        raise ValueError(f"{batches!r} has no rows" + (" that count." if n_read else "."))
    labelled, classes = encode_labels(np.concatenate(labels), pos_label=pos_label)
    del labels
    rows = BatchRows(spool, pieces, dtype)
    e = None if propensity is None else check_propensity(propensity, labelled)
    known = {"weight": np.concatenate(weights) if weights else None, "e": e}
    known["not_e"] = None if e is None else 1.0 - e
    return rows.attach(labelled=labelled, **known), classes.astype(s.dtype, copy=False)


def _narrow(labels: np.ndarray) -> np.ndarray:
    """Whole numbers in one byte each, where they fit."""
    if labels.dtype.kind in "iu" and labels.min() >= -128 and labels.max() < 128:
        return labels.astype(np.int8)
    return labels


def _check_name(what: str, name, batches: Batches) -> None:
    if not isinstance(name, str):
        raise TypeError(
            f"With batches {what} is the name of a column of theirs, which is read with the other "
            f"columns; got {type(name).__name__}. Columns: {listed(batches.names, 10)}."
        )
