"""Compiled functions when they are worth their compiler: in the cache, or repaid by the fit.

Compiling what a fit of dense rows needs takes about 9 CPU seconds, once per installation: numba
keeps the result in its cache. A fit says what it is about to do (:func:`expect_fit`). Compiled
functions are used where the cache holds them, or where the fit repays compiling them; otherwise
the arithmetic runs in NumPy. SARLEARN_COMPILED=0 turns them off, SARLEARN_COMPILED=1 compiles at
once.
"""

import functools
import glob
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType

import numpy as np
from scipy import sparse

# CPU seconds saved by a SAR-EM fit, per row and per stored element of dense and of sparse rows, and
# the seconds that compiling takes on the same machine, with a margin of a third.
SAVED_PER_ROW = {False: 5e-6, True: 11e-6}
SAVED_PER_ELEMENT = {False: 1e-7, True: 5e-8}
COMPILE_SECONDS = 12.0
# A process that has lost this many compilations to NumPy goes on fitting, most likely.
LOST_COMPILATIONS = 2.0

FLOATS = ("float64", "float32")
NAMES = {np.dtype(name): name for name in FLOATS}  # NumPy makes a type's name anew each time
MAIN = {False: "em_sums", True: "csr_em_sums"}  # the longest to compile, of dense and sparse rows

_lock = threading.RLock()
_open: dict[tuple[bool, str], "Compiled"] = {}
_lost = 0.0


class Compiled:
    """The compiled functions for rows of one type; each is compiled, or loaded, when first used."""

    def __init__(self, float_type: str):
        self._float_type = float_type

    def __getattr__(self, name: str):
        with _lock:
            function = _module().ready(name, self._float_type)
        setattr(self, name, function)
        return function


def compiled_for(X) -> Compiled | None:
    """The compiled functions for rows like X, where they are in use."""
    if not _open:
        return None
    is_sparse = sparse.issparse(X)
    if is_sparse:
        fits = X.indices.dtype == X.indptr.dtype == np.int32
    else:
        fits = X.flags.c_contiguous
    return _open.get((is_sparse, NAMES.get(X.dtype, ""))) if fits else None


def compiled() -> Compiled | None:
    """Any of those in use, for functions that take no rows."""
    return next(iter(_open.values()), None)


def in_use(is_sparse: bool, float_type: str) -> bool:
    """Whether compiled functions are used for such rows."""
    return (is_sparse, float_type) in _open


def expect_fit(X, fits: float = 1.0) -> None:
    """Say that ``fits`` SAR-EM fits of X, or as much work, are about to start.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_columns)
    fits : float
    """
    elements = X.nnz if sparse.issparse(X) else X.shape[0] * X.shape[1]
    expect(X.shape[0], elements, sparse.issparse(X), X.dtype.name, fits)


def expect(
    n_rows: int, n_elements: int, is_sparse: bool, float_type: str, fits: float = 1.0
) -> None:
    """The same from the size of the rows, wherever they are."""
    global _lost
    kind = is_sparse, float_type
    if kind in _open or float_type not in FLOATS:
        return
    saved = fits * (n_rows * SAVED_PER_ROW[is_sparse] + n_elements * SAVED_PER_ELEMENT[is_sparse])
    with _lock:
        if _wanted(kind, saved):
            _open[kind] = Compiled(float_type)
        else:
            _lost += saved


def _wanted(kind: tuple[bool, str], saved: float) -> bool:
    switch = os.environ.get("SARLEARN_COMPILED", "")
    if switch == "0" or importlib.util.find_spec("numba") is None:
        return False
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):  # numba would compile nothing
        return False
    repaid = saved >= COMPILE_SECONDS or _lost >= LOST_COMPILATIONS * COMPILE_SECONDS
    return _module() is not None if switch == "1" or repaid else is_cached(*kind)


def is_cached(is_sparse: bool, float_type: str) -> bool:
    """Whether numba's cache holds the functions for these rows.

    Importing numba takes half a second: only where there are files that might be its cache.
    """
    name = MAIN[is_sparse]
    if "numba" not in sys.modules and not any(_cache_files(name)):
        return False
    return _module() is not None and _module().in_cache(name, float_type)


def _cache_files(name: str) -> Iterator[str]:
    """Files that numba may have written for a function: in its folder, or beside the source."""
    here = os.path.join(os.path.dirname(__file__), "__pycache__")
    homes = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    given = os.environ.get("NUMBA_CACHE_DIR")
    folders = [os.path.join(given, "*")] if given else [here, os.path.join(homes, "numba", "*")]
    if sys.platform in ("win32", "darwin"):  # user folders have other names there
        yield "unknown"
    for folder in folders:
        yield from glob.iglob(os.path.join(folder, f"compiled.{name}-*.nbi"))


@functools.cache
def _module() -> ModuleType:
    from sarlearn._engine import compiled

    return compiled


def compile_all(show: Callable[[int, int], None] = lambda done, total: None) -> int:
    """Compile every function for every kind of rows; how many were not in the cache before.

    Parameters
    ----------
    show : callable
        Called before each with the number that are done, and that of all.
    """
    module = _module()
    with _lock:
        pairs = [(name, kind) for name in module.KERNELS for kind in FLOATS]
        missing = [pair for pair in pairs if not module.in_cache(*pair)]
        for done, pair in enumerate(missing):
            show(done, len(missing))
            module.ready(*pair)
    return len({_signature(module, *pair) for pair in missing})


def _signature(module, name: str, kind: str) -> tuple:
    return name, module.KERNELS[name].signatures[kind]


def cache_folder() -> str | None:
    """Where numba keeps what it compiled; None where it finds no folder."""
    return _module().KERNELS[MAIN[False]].function._cache.cache_path
