"""Arrays that are kept on disk and read back as they are, in a file that leaves nothing behind."""

import errno
import tempfile
import threading
import weakref
from typing import NamedTuple

import numpy as np


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
