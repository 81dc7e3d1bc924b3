"""Many refits side by side: processes of one BLAS thread each, and a count on terminals."""

import sys
from collections.abc import Callable, Iterable
from contextvars import ContextVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sarlearn._compat import one_blas_thread

# Told of ``done, total`` in place of the line on the terminal, where a caller has its own display.
WATCHER: ContextVar[Callable[[int, int], None] | None] = ContextVar("watcher", default=None)


def run_all(function: Callable, arguments: Iterable, n_jobs: int | None, progress: str) -> list:
    """``[function(a) for a in arguments]``, in order, with a count on a terminal.

    ``n_jobs`` is as in scikit-learn: None is 1, -1 is one per core. Arguments travel in a few
    bundles, since the data travel with each.
    """
    arguments = list(arguments)
    watcher = WATCHER.get()
    shown = watcher is None and (sys.stderr.isatty() or in_notebook())
    # Where someone watches also one process counts often.
    bundles = min(8 * effective_n_jobs(n_jobs), len(arguments))
    places = np.array_split(np.arange(len(arguments)), bundles) if bundles else []
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    jobs = (delayed(_bundle)(function, [arguments[i] for i in part]) for part in places)
    results: list = []
    for found in parallel(jobs):
        results += found
        if watcher is not None:
            watcher(len(results), len(arguments))
        if shown:
            print(f"\r{progress}: {len(results)} of {len(arguments)}", end="", file=sys.stderr)
    if shown:
        print(file=sys.stderr)
    return results


def in_notebook() -> bool:
    """Whether output goes to a notebook, which understands carriage returns as terminals do."""
    return type(sys.stderr).__module__.startswith("ipykernel")


def _bundle(function, arguments) -> list:
    with one_blas_thread():
        return [function(argument) for argument in arguments]
