"""Rows on a Dask cluster: the same blocks and sums as in memory, on other machines.

A partition becomes a :class:`RowBlocks` on the worker that holds it. A pass sends one value, the
request, to every partition; the sums come back through a tree of a fixed shape, so that timing
changes no bit. The only file that imports Dask.
"""

import asyncio
import concurrent.futures
import contextlib
import copy
import ctypes
import functools
import itertools
import math
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import dask
import dask.optimization
import dask.threaded
from dask.sizeof import sizeof
from scipy import sparse

from sarlearn._compat import one_blas_thread
from sarlearn._engine.blocks import RowBlocks, add_up
from sarlearn._engine.rows import Rows, Units
from sarlearn.backends.memory import free_memory

# Sums are added eight at a time: few messages at the top, few levels.
FAN_IN = 8
# Smaller parts of a step are tried this many at a time: a pass costs more than they do.
TRIES = 4


# -- the cluster --------------------------------------------------------------------------------


def _client():
    """The user's client where there is one; otherwise Dask's own scheduler runs the tasks."""
    owner = getattr(dask.base.get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "scheduler_info") else None


def compute(graph: dict, keys: list) -> list:
    """Some results of a graph; what was begun is cancelled where they do not come."""
    client, graph = _client(), dask.optimization.cull(graph, keys)[0]
    if client is None:
        return list(_local_get()(graph, keys))
    futures: list = []
    try:
        futures = client.get(graph, keys, sync=False)
        return client.gather(futures)
    except BaseException as error:
        cancelled = concurrent.futures.CancelledError, asyncio.CancelledError
        if client.status != "running" or isinstance(error, cancelled):
            raise RuntimeError(
                "The Dask cluster was closed, or cancelled the work, before the fit was done."
            ) from error
        client.cancel(futures)
        raise


def persist(graph: dict, keys: list, places: list[str]) -> dict:
    """A graph in which these keys are at hand: on the workers, or here where there are none.

    Each is made at its place, the address of a worker; should that one be gone, elsewhere.
    """
    client = _client()
    if client is None:
        return dict(zip(keys, _local_get()(graph, keys), strict=True))
    found: dict = {}
    for place in dict.fromkeys(places):
        own = [key for key, its in zip(keys, places, strict=True) if its == place]
        part = dask.optimization.cull(graph, own)[0]
        futures = client.get(part, own, sync=False, workers=[place], allow_other_workers=True)
        found |= zip(own, futures, strict=True)
    return found


def threads() -> list[str]:
    """The worker of every thread that can run a task, in a fixed order."""
    client = _client()
    if client is None:
        return ["here"] * (os.cpu_count() or 1)
    found = [worker for worker, n in sorted(client.nthreads().items()) for _ in range(n)]
    if not found:
        raise RuntimeError("The Dask cluster has no worker.")
    return found


def _local_get() -> Callable:
    return dask.base.get_scheduler() or dask.threaded.get


def memory() -> float:
    """Bytes the workers may use, or this machine has free."""
    client = _client()
    if client is not None:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        return sum(worker["memory_limit"] or math.inf for worker in workers)
    return free_memory()


# -- rows ---------------------------------------------------------------------------------------


class DaskRows(Rows):
    """Rows in partitions: what solvers ask of rows, done where they lie.

    Parameters
    ----------
    graph, keys : dict and list
        A Dask graph, and its keys that give a ``RowBlocks`` each.
    slices : list of list of slice
        Which rows their blocks hold, counted over all.
    places : list of str, or None
        The workers that hold them; None makes them anew each pass.
    """

    def __init__(self, graph, keys, slices, shape, *, is_sparse: bool, nnz: int, places):
        self._slices, self.shape = slices, shape
        self.is_sparse, self.nnz, self._places = is_sparse, nnz, places
        self.units = Units.plain(shape[1])
        self._keep(graph, keys)

    def _keep(self, graph: dict, keys: list) -> None:
        kept = self._places is not None
        self._graph, self._keys = persist(graph, keys, self._places) if kept else graph, keys

    @property
    def slices(self) -> list[slice]:
        return flat(self._slices)

    def map(self, function: Callable, *arguments, per_block: list | None = None) -> "DaskRows":
        graph, keys = self._tasks(_mapped, Request(function, arguments), per_block)
        out = copy.copy(self)
        out._keep(graph, keys)
        return out

    def total(self, function: Callable, *arguments):
        """One pass, one answer."""
        return self._sums(function, [arguments])[0]

    def totals(self, function: Callable, requests: Iterable[tuple]) -> Iterator[tuple]:
        """The first alone, then several in one pass.

        One by one where rows are kept: each costs as much there as the first.
        """
        requests, size = iter(requests), 1
        while batch := list(itertools.islice(requests, size)):
            yield from zip(batch, self._sums(function, batch), strict=True)
            size = TRIES if self._places is None else 1

    def _sums(self, function, requests: list[tuple]) -> list:
        graph, parts = self._tasks(_sums, Request(function, requests))
        while len(parts) > FAN_IN:
            groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
            parts = names("sarlearn-add", len(groups))
            graph |= {key: (_added, group) for key, group in zip(parts, groups, strict=True)}
        return _added(compute(graph, parts))

    def each(self, function: Callable, *arguments, per_block: list | None = None) -> list:
        return flat(compute(*self._tasks(_each, Request(function, arguments), per_block)))

    def _tasks(
        self, function, request: "Request", per_block: list | None = None
    ) -> tuple[dict, list]:
        """A graph with ``function(piece, request)`` for every piece, and the keys of these.

        The request is one value for all pieces. Those that are kept are few and get it with their
        task, which saves fetching it from another worker.
        """
        keys, graph = names("sarlearn-pass", len(self._keys)), dict(self._graph)
        asked: Any = request
        if self._places is None:
            (asked,) = names("sarlearn-request", 1)
            graph[asked] = request
        further: list[tuple] = [()] * len(keys)
        if per_block is not None:
            left = iter(per_block)
            further = [(PerBlock(list(itertools.islice(left, len(s)))),) for s in self._slices]
        for key, piece, extra in zip(keys, self._keys, further, strict=True):
            graph[key] = (function, piece, asked, *extra)
        return graph, keys


@dataclass
class Request:
    """One value for all partitions: a function, and its arguments."""

    function: Callable
    arguments: Any


@dataclass
class PerBlock:
    """One more argument for each block of a partition."""

    values: list


def names(prefix: str, n: int) -> list[str]:
    token = uuid.uuid4().hex
    return [f"{prefix}-{token}-{k}" for k in range(n)]


def flat(lists: Iterable[list]) -> list:
    return list(itertools.chain.from_iterable(lists))


@functools.cache
def _keep_heap() -> None:
    """Let the C library keep up to 64 MB between the passes of a worker.

    Dask's nannies set MALLOC_TRIM_THRESHOLD_ to 64 kB, and every temporary array of a block then
    comes fresh from the system, which costs more than the pass.
    """
    if "MALLOC_TRIM_THRESHOLD_" in os.environ:
        with contextlib.suppress(OSError, AttributeError, TypeError):  # glibc only
            library = ctypes.CDLL(None)
            library.mallopt(-1, 2**26)  # M_TRIM_THRESHOLD
            library.mallopt(-3, 2**25)  # M_MMAP_THRESHOLD


def _sums(piece: RowBlocks, asked: Request) -> list:
    _keep_heap()
    with one_blas_thread():
        return [piece.total(asked.function, *request) for request in asked.arguments]


def _each(piece: RowBlocks, asked: Request, further: PerBlock | None = None) -> list:
    with one_blas_thread():
        values = None if further is None else further.values
        return piece.each(asked.function, *asked.arguments, per_block=values)


def _mapped(piece: RowBlocks, asked: Request, further: PerBlock | None = None) -> RowBlocks:
    values = None if further is None else further.values
    return piece.map(asked.function, *asked.arguments, per_block=values)


def _added(parts: list[list]) -> list:
    # The first of them takes the sum: not the result of another task, but a copy.
    return [add_up(map(copy.copy, column)) for column in zip(*parts, strict=True)]


@sizeof.register(RowBlocks)
def _(piece: RowBlocks) -> int:
    return sum(_bytes(block) for block in piece._blocks)


def _bytes(block) -> int:
    columns = (value for name, value in vars(block).items() if name != "cache")
    return 16 * block.n_rows + sum(nbytes(column) for column in columns)


def nbytes(column) -> int:
    if sparse.issparse(column):
        return column.data.nbytes + column.indices.nbytes + column.indptr.nbytes
    return getattr(column, "nbytes", 0)


def is_frame(X) -> bool:
    return hasattr(X, "npartitions") and hasattr(X, "columns")


def whole_rows(X):
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
