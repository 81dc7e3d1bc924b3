"""Arrays that are kept on disk and read back as they are, in a file that leaves nothing behind."""

import errno
import tempfile
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse


class Stored(NamedTuple):
    """Where an array lies in the file."""

    start: int
    shape: tuple[int, ...]
    dtype: np.dtype


class StoredCSR(NamedTuple):
    """Where the three arrays of a CSR matrix lie."""

    data: Stored
    indices: Stored
    indptr: Stored
    shape: tuple[int, int]


class Spool:
    """A temporary file of arrays, in the folder that ``TMPDIR`` names.

    It has no name, so that the system takes it back however the process ends. What was read of it
    lies in the system's cache, not in this process.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="sarlearn-", buffering=0)  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # with the last rows that need it
        self._end, self._lock = 0, threading.Lock()

    def put(self, values) -> Stored | StoredCSR:
        """Write an array, or a CSR matrix, at the end."""
        if sparse.issparse(values):
            data, indices, indptr = map(self._put, (values.data, values.indices, values.indptr))
            return StoredCSR(data, indices, indptr, values.shape)
        return self._put(np.ascontiguousarray(values))

    def _put(self, array: np.ndarray) -> Stored:
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

    def get(self, stored: Stored | StoredCSR) -> Any:
        """Read one back."""
        if isinstance(stored, StoredCSR):
            parts = tuple(self.get(part) for part in stored[:3])
            return sparse.csr_array(parts, shape=stored.shape)
        array = np.empty(stored.shape, dtype=stored.dtype)
        left = memoryview(array).cast("B") if array.size else memoryview(b"")
        with self._lock:
            self._file.seek(stored.start)
            while left:
                left = left[self._file.readinto(left) :]
        return array


def n_elements(stored: Stored | StoredCSR) -> int:
    return int(np.prod((stored.data if isinstance(stored, StoredCSR) else stored).shape))
