"""Run the missing cells of a grid on all cores, one fit a core, and merge them into tables."""

import importlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

import sarlearn

from . import store
from .cells import Cell, Configuration
from .progress import Progress
from .store import Log

# Read by the numerical libraries when a worker imports them: one fit a core.
THREAD_VARIABLES = [
    f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "BLIS")
]
ONE_THREAD = dict.fromkeys(THREAD_VARIABLES, "1")


class Stopped(Exception):
    """The run was asked to end; what it finished is in the log."""


def run(
    configuration: Configuration,
    *,
    runs: Path,
    results: Path,
    workers: int | None = None,
    time_limit: float | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
    adopt: bool = False,
    stop: threading.Event | None = None,
) -> dict[str, int]:
    """Run what is missing of a grid, then write its tables; counts of what became of the cells.

    Parameters
    ----------
    configuration : Configuration
    runs : Path
        Directory of the log of finished cells, shared by all grids.
    results : Path
        Directory of the tables: ``results/GRID/EXPERIMENT.csv``, and the configuration beside them.
    workers : int, default=None
        Processes; None is one per core.
    time_limit : float, default=None
        Seconds after which no further cell is started. What is missing runs the next time.
    fresh : bool, default=False
        Whether to measure again what the log already holds.
    retry_failed : bool, default=False
        Whether to measure again the cells recorded with an error.
    adopt : bool, default=False
        Whether cells in the tables under ``results`` count as finished: to go on in a new clone.
    stop : threading.Event, default=None
        Once set, by a signal's handler say, the run ends at once with ``Stopped``.
    """
    plan = {experiment.name: experiment.cells() for experiment in configuration.experiments}
    wanted = list({cell.name: cell for cells in plan.values() for cell in cells}.values())
    folder = results / configuration.name
    with Log(runs) as log:
        if adopt:
            for name, cells in plan.items():
                store.adopt(cells, folder / f"{name}.csv", log)
        missing = [
            cell
            for cell in wanted
            if fresh or cell not in log or (retry_failed and log.failed(cell))
        ]
        code = store.code_digest([Path(sarlearn.__file__).parent])
        kept = {cell.name for cell in wanted} - {cell.name for cell in missing}
        earlier = sum(log.entries[name].get("code") != code for name in kept)
        with Progress(wanted, missing, log, earlier_code=earlier) as progress:
            for cell, result, seconds in measure_all(
                missing, workers or core_count(), time_limit, progress.start, stop
            ):
                log.append(cell, result, seconds=seconds, code=code)
                progress.finish(cell, result, seconds)
        for name, cells in plan.items():
            store.write_atomically(folder / f"{name}.csv", store.table_text(cells, log))
        store.write_atomically(folder / "configuration.toml", configuration.text)
        store.update_coverage(folder / "coverage.csv", plan, log)
        done = [cell for cell in wanted if cell in log]
        return {
            "planned": len(wanted),
            "finished": len(done),
            "failed": sum(log.failed(cell) for cell in done),
            "measured_now": progress.n_finished,
        }


def core_count() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def measure_all(
    cells: Sequence[Cell],
    workers: int,
    time_limit: float | None = None,
    started: Callable[[Cell], None] = lambda cell: None,
    stop: threading.Event | None = None,
) -> Iterator[tuple[Cell, dict[str, Any], float]]:
    """Results as they come. A cell that raises, or takes its process down, gives its error."""
    stop = stop or threading.Event()
    deadline = time.monotonic() + time_limit if time_limit is not None else None
    waiting = deque(cells)
    while waiting and not _passed(deadline):
        running: dict[Future, Cell] = {}
        with _pool(workers) as pool:
            try:
                while waiting or running:
                    while waiting and len(running) < workers and not _passed(deadline):
                        running[pool.submit(measure, waiting[0])] = waiting[0]
                        started(waiting.popleft())
                    if not running:
                        break
                    finished, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                    if stop.is_set():
                        raise Stopped
                    for future in finished:
                        result, seconds = future.result()
                        yield running.pop(future), result, seconds
            except BrokenProcessPool:
                pass
        # Any of the cells that ran when a process died may be the cause: each on its own tells.
        for cell in running.values():
            yield cell, *_measure_alone(cell)


def _measure_alone(cell: Cell) -> tuple[dict[str, Any], float]:
    with _pool(1) as pool:
        try:
            return pool.submit(measure, cell).result()
        except BrokenProcessPool:
            message = "BrokenProcessPool: the process measuring this cell died (out of memory?)"
            return {store.ERROR: message}, 0.0


def measure(cell: Cell) -> tuple[dict[str, Any], float]:
    """Measure one cell: its result, or its error, and the processor seconds it took.

    Processor time does not grow when other programs use the machine, so it tells what a run costs.
    """
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            # What a learner warns of in thousands of fits is in the results: converged, n_iter.
            warnings.simplefilter("ignore")
            result = _plain(importlib.import_module(cell.module).measure(**cell.fields))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        message = " ".join(str(error).split())
        place = f"{Path(where.filename).name}:{where.lineno}"
        result = {store.ERROR: f"{type(error).__name__}: {message} ({place})"}
    return result, time.process_time() - began


def _plain(result: Mapping[str, Any]) -> dict[str, Any]:
    """Python's own numbers, which JSON writes with every digit; None is left out."""
    plain: dict[str, Any] = {}
    for key, value in result.items():
        if key == store.ERROR:
            raise ValueError(f"{key!r} is the column of failures; give the result another name.")
        if isinstance(value, bool | np.bool_):
            plain[key] = bool(value)
        elif isinstance(value, Integral):
            plain[key] = int(value)
        elif isinstance(value, Real):
            plain[key] = float(value)
        elif value is not None:
            raise TypeError(f"Results are numbers; {key!r} is {value!r}.")
    return plain


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_end_with_parent,
    )
    try:
        yield pool
    except BaseException:
        # Stopped: no wait for the cells at work, which may take minutes and will run again.
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _end_with_parent() -> None:
    """Leave no worker behind when the runner is killed outright."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner hears it, and ends them
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _passed(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline
