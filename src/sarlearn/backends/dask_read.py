"""Dask Arrays and DataFrames as rows to learn from: every check, where the partitions lie.

Each partition is checked on its worker; what the client must know of it comes back as a few
numbers. The first partition that is not as it should be is named, whatever the timing.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from sarlearn._engine.blocks import RowBlocks, aligned, rows_per_block
from sarlearn._labels import choose, gap_mask, warn_of_labels
from sarlearn._validation import (
    check_array,
    check_part_weights,
    check_propensity,
    encode_labels,
    warn_few_labels,
)
from sarlearn.backends import is_dask
from sarlearn.backends.dask_rows import (
    DaskRows,
    PerBlock,
    compute,
    flat,
    is_frame,
    memory,
    names,
    nbytes,
    persist,
    threads,
    whole_rows,
)

# Data are kept on the cluster if they take at most this share of its memory.
SHARE = 0.5
# Partitions are worked on together, up to so many bytes: streamed ones, and those that are kept.
BUNDLE_BYTES, KEPT_BYTES = 2**24, 2**33
# A pass over so many bytes takes a thread about as long as a task costs the scheduler.
TASK_BYTES = 2**22


@dataclass
class _Partition:
    """Checked contents of a partition, or what is wrong with them."""

    X: Any = None
    s: Any = None
    weight: Any = None
    e: Any = None
    problem: str | None = None


@dataclass
class _Extent:
    """What the client must know of a partition."""

    n_rows: int
    n_bytes: int
    is_sparse: bool
    nnz: int
    values: dict  # label values, gaps apart, and how many rows hold each
    n_gaps: int
    impossible: list
    problem: str | None


def read_rows(
    X,
    s,
    sample_weight=None,
    propensity=None,
    *,
    pos_label=None,
    allow_nan: bool = False,
) -> tuple[DaskRows, np.ndarray]:
    """Checked rows on the cluster, and the two label values.

    Parameters
    ----------
    X : Dask Array or DataFrame
    s, sample_weight, propensity : Dask or in-memory, one value per row; propensity also a number
    pos_label : see :func:`~sarlearn._validation.encode_labels`
    allow_nan : whether X may have gaps
    """
    graph, parts, lengths, n_columns = _partitions(X)
    columns = {"s": s, "sample_weight": sample_weight, "propensity": propensity}
    cut = [_cut(column, name, graph, parts, lengths) for name, column in columns.items()]
    checked = names("sarlearn-check", len(parts))
    for key, x, *own in zip(checked, parts, *cut, strict=True):
        graph[key] = (_check, x, n_columns, allow_nan, *own)
    n_bytes, workers = _n_bytes(graph, checked), threads()
    kept, most, shares = n_bytes <= SHARE * memory(), BUNDLE_BYTES, [0] * len(parts)
    if kept:
        most, workers = KEPT_BYTES, _chosen(workers, n_bytes)
        shares = _shares(lengths or [1] * len(parts), len(workers))
        graph = persist(graph, checked, [workers[share] for share in shares])
    extents = _examined(graph, checked)
    classes = _agree(extents, pos_label)
    starts = np.cumsum([0, *(extent.n_rows for extent in extents)]).tolist()
    bundles = _bundles(extents, shares, most)
    is_sparse = any(extent.is_sparse for extent in extents)
    block_rows = None if is_sparse else rows_per_block(n_columns)
    pieces = names("sarlearn-rows", len(bundles))
    for key, bundle in zip(pieces, bundles, strict=True):
        about = (
            PerBlock([starts[k] for k in bundle]),
            PerBlock(classes.tolist()),
            block_rows,
        )
        graph[key] = (_piece, [checked[k] for k in bundle], *about)
    rows = [
        flat(_cuts(starts[k], extents[k].n_rows, block_rows) for k in bundle) for bundle in bundles
    ]
    places = [workers[shares[bundle[0]]] for bundle in bundles] if kept else None
    shape, nnz = (starts[-1], n_columns), sum(extent.nnz for extent in extents)
    held = DaskRows(graph, pieces, rows, shape, is_sparse=is_sparse, nnz=nnz, places=places)
    return held, classes


def each_partition(X, function: Callable, *arguments) -> list:
    """``function(partition, *arguments)`` of every partition of a Dask DataFrame, in order."""
    graph, parts, _, _ = _partitions(X)
    keys = names("sarlearn-partition", len(parts))
    asked = PerBlock([function, arguments])
    graph |= {key: (_apply, part, asked) for key, part in zip(keys, parts, strict=True)}
    return compute(graph, keys)


def _apply(part, asked: PerBlock):
    function, arguments = asked.values
    return function(part, *arguments)


def _chosen(workers: list[str], n_bytes: int) -> list[str]:
    """As many threads as pay, spread evenly: one more saves computing and costs scheduling."""
    n = min(max(math.isqrt(n_bytes // TASK_BYTES), 1), len(workers))
    return [workers[k * len(workers) // n] for k in range(n)]


def _shares(lengths: list[int], n: int) -> list[int]:
    """For each partition which of ``n`` threads it is for: neighbours, and as many rows each."""
    ends = np.cumsum(lengths)
    middles = ends - np.asarray(lengths) / 2
    return np.minimum(middles * n // max(ends[-1], 1), n - 1).astype(int).tolist()


def _bundles(extents: list[_Extent], shares: list[int], most: int) -> list[list[int]]:
    """Neighbouring partitions of a share that are worked on together, up to so many bytes."""
    bundles: list[list[int]] = []
    size, last = most, 0
    for number, (extent, share) in enumerate(zip(extents, shares, strict=True)):
        if not extent.n_rows:
            continue
        if size + extent.n_bytes > most or share != last:
            bundles.append([])
            size, last = 0, share
        bundles[-1].append(number)
        size += extent.n_bytes
    return bundles


def _examined(graph: dict, checked: list) -> list[_Extent]:
    keys = names("sarlearn-examine", len(checked))
    tasks = {key: (_examine, part) for key, part in zip(keys, checked, strict=True)}
    return compute(graph | tasks, keys)


def _partitions(X) -> tuple[dict, list, list[int] | None, int]:
    """The graph of a Dask Array or DataFrame, its keys, their lengths where known, the columns."""
    lengths = None
    if is_frame(X):
        n_columns = len(X.columns)
    elif X.ndim != 2:
        raise ValueError(f"X must have two dimensions; got a Dask Array of shape {X.shape}.")
    else:
        X, n_columns = whole_rows(X), X.shape[1]
        if not any(math.isnan(n) for n in X.chunks[0]):
            lengths = list(X.chunks[0])
    graph: dict = {}
    return graph, _keys_of(X, graph), lengths, n_columns


def _keys_of(collection, graph: dict) -> list:
    """The keys of a collection's partitions, whose tasks are added to the graph."""
    # Optimised, columns of the same files would be read on their own, in other partitions.
    parts = np.asarray(collection.to_delayed(optimize_graph=False), dtype=object).ravel().tolist()
    for part in parts:
        graph.update(part.dask)
    return [part.key for part in parts]


def _cut(column, name: str, graph: dict, parts: list, lengths) -> list:
    """A column's share of each partition of X: keys of the graph, or values."""
    if column is None or (not is_dask(column) and np.ndim(column) == 0):
        return [column] * len(parts)
    if is_dask(column):
        shares = _keys_of(column, graph)
        if len(shares) != len(parts):
            raise ValueError(
                f"{name} has {len(shares)} partitions and X has {len(parts)}: partition "
                f"{min(len(shares), len(parts))} has no counterpart. Cut both alike: "
                f"{name}.rechunk(X.chunks[0]), or a column of the same DataFrame."
            )
        return shares
    values = np.asarray(column)
    if lengths is None:
        keys = names("sarlearn-length", len(parts))
        tasks = {key: (_length, part) for key, part in zip(keys, parts, strict=True)}
        lengths = compute(graph | tasks, keys)
    if len(values) != sum(lengths):
        raise ValueError(f"{name} has {len(values)} values, X has {sum(lengths)} rows.")
    shares = names(f"sarlearn-{name}", len(parts))
    graph.update(zip(shares, np.split(values, np.cumsum(lengths)[:-1]), strict=True))
    return shares


def _length(part) -> int:
    return part.shape[0]


def _check(X, n_columns: int, allow_nan: bool, s, weight, e) -> _Partition:
    """One partition's arrays, without rows of weight zero."""
    try:
        if hasattr(X, "tocsr") and not sparse.issparse(X):
            X = X.tocsr()
        if X.shape[1] != n_columns:
            raise ValueError(f"X has {X.shape[1]} columns, and {n_columns} elsewhere.")
        if X.shape[0] == 0:
            X = np.empty((0, n_columns))
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",  # compiled passes want rows in one piece
            ensure_min_samples=0,
            ensure_all_finite="allow-nan" if allow_nan else True,
            input_name="X",
        )
        s = column_or_1d(np.asarray(s))
        if len(s) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows, and s has {len(s)}.")
        gaps = gap_mask(s)
        if gaps is not None and s.dtype.kind != "f":
            s = np.where(gaps, None, s)  # NA would spread into every comparison
        if weight is not None:
            weight = np.full(len(s), weight) if np.ndim(weight) == 0 else np.asarray(weight)
            if len(weight) != len(s):
                raise ValueError(f"X has {len(s)} rows, and sample_weight has {len(weight)}.")
            weight = check_part_weights(weight)
        if e is not None:
            e = check_propensity(np.asarray(e), np.zeros(len(s), dtype=bool))
    except (TypeError, ValueError) as error:
        return _Partition(problem=str(error))
    if weight is not None and not np.all(weight):
        rows = weight > 0
        X, s, weight = X[rows], s[rows], weight[rows]
        e = e if e is None else e[rows]
    return _Partition(*map(aligned, (X, s, weight, e)))


def _examine(part: _Partition) -> _Extent:
    if part.problem is not None:
        return _Extent(0, 0, False, 0, {}, 0, [], part.problem)
    known = _known(part.s)
    values, counts = np.unique(known, return_counts=True)
    size = sum(map(nbytes, (part.X, part.s, part.weight, part.e)))
    is_sparse = sparse.issparse(part.X)
    impossible = [] if part.e is None else np.unique(_known(part.s[part.e == 0]))[:3].tolist()
    return _Extent(
        len(part.s),
        size + 24 * len(part.s),  # targets, and codes or attributes of the propensity
        is_sparse,
        part.X.nnz if is_sparse else part.X.size,
        dict(zip(values[-6:].tolist(), counts[-6:].tolist(), strict=True)),
        len(part.s) - len(known),
        impossible,
        None,
    )


def _known(s: np.ndarray) -> np.ndarray:
    """Labels without the missing ones."""
    gaps = gap_mask(s)
    return s if gaps is None else s[~gaps]


def _agree(extents: list[_Extent], pos_label) -> np.ndarray:
    """The two label values of all partitions; or an error that names the partition."""
    for number, extent in enumerate(extents):
        if extent.problem is not None:
            raise ValueError(f"Partition {number}: {extent.problem}")
    seen: Counter = Counter()
    for number, extent in enumerate(extents):
        seen.update(extent.values)
        if len(seen) > 2 or any(isinstance(v, float) and v % 1 for v in extent.values):
            try:
                encode_labels(np.array(sorted(seen)), warn_few=False)
            except ValueError as error:
                raise ValueError(f"Partition {number}: {error}") from None
    n_rows, n_gaps = sum(x.n_rows for x in extents), sum(x.n_gaps for x in extents)
    if not n_rows:
        raise ValueError("X has no rows (of weight above zero) in any partition.")
    choice = choose(list(seen), gaps=n_gaps > 0, pos_label=pos_label)
    if choice is None:  # labels of one kind: the error says so
        return encode_labels([*seen, *[None] * min(n_gaps, 1)], warn_few=False)[1]
    classes = choice.classes
    n_labelled = seen[choice.labelled]
    warn_of_labels(choice, n_labelled, n_rows, given=pos_label is not None)
    for number, extent in enumerate(extents):
        if classes[1] in extent.impossible:
            raise ValueError(
                f"Partition {number}: propensity is 0 on a labelled row; a row that was labelled "
                "had a positive chance."
            )
    warn_few_labels(n_labelled)
    return classes


def _piece(
    parts: list[_Partition],
    starts: PerBlock,
    classes: PerBlock,
    block_rows: int | None,
) -> RowBlocks:
    """Checked partitions as blocks that know their rows; sparse ones, None rows, stay whole."""
    blocks = []
    for part, first in zip(parts, starts.values, strict=True):
        X = sparse.csr_array(part.X) if block_rows is None else part.X
        rows = RowBlocks(X, block_rows=block_rows or X.shape[0]).attach(
            labelled=part.s == classes.values[1],
            weight=part.weight,
            e=part.e,
            not_e=None if part.e is None else 1.0 - part.e,
        )
        assert isinstance(rows, RowBlocks)
        for block in rows._blocks:
            block.rows = slice(block.rows.start + first, block.rows.stop + first)
        blocks += rows._blocks
    return RowBlocks.of(blocks, rows)


def _cuts(first: int, n_rows: int, block_rows: int | None) -> list[slice]:
    step = block_rows or n_rows
    return [slice(first + k, first + min(k + step, n_rows)) for k in range(0, n_rows, step)]


def _n_bytes(graph: dict, checked: list) -> int:
    """The size of all partitions, judged by the largest of a few."""
    few = [checked[k] for k in sorted({0, len(checked) // 2, len(checked) - 1})]
    return len(checked) * max(extent.n_bytes for extent in _examined(graph, few))
