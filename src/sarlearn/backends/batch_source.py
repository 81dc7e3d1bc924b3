"""Tables that are read in Arrow record batches, wherever these come from."""

import copy
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from sarlearn._words import listed, no_file

# Rows that are read at once; a few such chunks are in memory at any time.
CHUNK_ROWS = 2**16
AHEAD = 2

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
}

# What pandas calls an index that it writes into a file: the number of a row, not a column.
PANDAS_INDEX = re.compile(r"__index_level_\d+__")


class Batches:
    """A table that is read in batches, to learn from more rows than memory holds.

    Pass it as ``X``, and the name of the label column as ``y``, to
    :class:`~sarlearn.SARClassifier`, :class:`~sarlearn.SAREMClassifier`, or a pipeline that begins
    with a :class:`~sarlearn.TableEncoder`. The result is that of the same rows in memory. The
    encoded rows go to a temporary file, which every pass reads. The source itself is read once, or
    twice by a pipeline, and must yield the same rows each time.

    Parameters
    ----------
    source : path, pattern, pyarrow Dataset or Table, or callable
        A path is a Parquet, Arrow or CSV file, or a folder of them; a pattern such as
        ``"data/*.parquet"`` is several, in the order of their names. A callable is called for
        every reading, and returns an iterator of Arrow record batches or tables, or of data frames
        of pandas or polars: ``relation.to_arrow_reader`` of DuckDB, ``frame.collect_batches`` of a
        polars LazyFrame.
    columns : sequence of str, default=None
        Columns to learn from; by default all but those that are named as label and weight.

    Attributes
    ----------
    names : list of str
        All columns of the source.

    See Also
    --------
    sarlearn.to_sql : SQL that scores rows in a database.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from sarlearn import Batches, SAREMClassifier
    >>> rng = np.random.default_rng(0)
    >>> x, seen = rng.normal(size=(2, 1000))
    >>> s = (x > 0) & (rng.random(1000) < 1 / (1 + np.exp(-seen)))
    >>> table = pa.table({"x": x, "seen": seen, "labelled": s})
    >>> model = SAREMClassifier(["seen"]).fit(Batches(table), "labelled")
    >>> model.predict_proba(Batches(table)).shape
    (1000, 2)
    """

    def __init__(self, source, *, columns: Sequence[str] | None = None):
        self.source, self.columns = source, columns
        self._read, self.names = _reader(source)
        self._transforms: list[Callable] = []
        self._out: list[str] | None = None
        self._check(columns or ())

    def __repr__(self) -> str:
        return f"Batches({self.source!r})"

    def transformed(self, transform: Callable, names: Iterable[str]) -> "Batches":
        """The same rows after a transformation of each batch that gives the named columns."""
        out = copy.copy(self)
        out._transforms, out._out = [*self._transforms, transform], [str(name) for name in names]
        return out

    def features(self, *others: str | None) -> list[str]:
        """The columns to learn from, as they are after transformations."""
        return self._out if self._out is not None else self._inputs(*others)

    def _inputs(self, *others: str | None) -> list[str]:
        self._check(others)
        given = self.columns or [name for name in self.names if not PANDAS_INDEX.fullmatch(name)]
        return [name for name in given if name not in others]

    def _check(self, names: Iterable[str | None]) -> None:
        for name in names:
            if name is not None and name not in self.names:
                known = listed(self.names, 10)
                raise ValueError(f"The source has no column {name!r}; it has {known}.")

    def of(self, names: Iterable[str]) -> "Batches":
        """The same rows with only the named columns to look at; as they are once transformed."""
        if self._out is not None:
            return self
        out = copy.copy(self)
        out.columns = [str(name) for name in names]
        out._check(out.columns)
        return out

    def frames(self, n_rows: int = CHUNK_ROWS, *others: str | None) -> Iterator[tuple[Any, Any]]:
        """For each chunk the columns to learn from, transformed, and the other columns named."""
        inputs, further = self._inputs(*others), [name for name in others if name is not None]
        for table in rechunked(self._read([*inputs, *further]), n_rows):
            frame = table.select(inputs)
            for transform in self._transforms:
                frame = transform(frame)
            yield frame, table.select(further)

    def each(self, function: Callable, *arguments) -> Iterator:
        """``function(frame, *arguments)`` of every chunk, in order, as they are asked for."""
        return (function(frame, *arguments) for frame, _ in ahead(self.frames()))

    def predict(self, method: Callable, label: str | None = None) -> np.ndarray:
        """A prediction of every row."""
        found = []
        for frame, further in ahead(self.frames(CHUNK_ROWS, label)):
            labels = [] if label is None else [column_of(further, label)]
            found.append(method(_as_input(frame), *labels))
        return np.concatenate(found)


# -- from Arrow to NumPy ---------------------------------------------------------------------------


def to_matrix(frame, first: int = 0, dtype=None, allow_nan: bool = False) -> np.ndarray:
    """Columns of numbers as a matrix in C order: float32 where all are, float64 otherwise."""
    names = [str(name) for name in frame.columns] if not _is_arrow(frame) else frame.column_names
    columns = [column_of(frame, name) for name in names]
    if dtype is None:
        narrow = all(column.dtype == np.float32 for column in columns)
        dtype = np.float32 if narrow and columns else np.float64
    X = np.empty((len(frame), len(names)), dtype=dtype)
    for j, (name, column) in enumerate(zip(names, columns, strict=True)):
        if column.dtype.kind not in "fiub":
            raise ValueError(
                f"Column {name!r} holds {column.dtype}, not numbers. Leave it out with "
                "Batches(..., columns=[...]), or use SARClassifier, which reads it."
            )
        X[:, j] = column
        if not np.isfinite(X[:, j].sum()):
            fine = np.isfinite(X[:, j]) | (np.isnan(X[:, j]) & allow_nan)
            if not fine.all():
                raise ValueError(
                    f"Column {name!r} is missing or infinite in row {first + int(np.argmin(fine))}."
                    " Fill gaps before, or use SARClassifier, which takes them."
                )
    return X


def _is_arrow(frame) -> bool:
    return hasattr(frame, "column_names")


def column_of(frame, name: str) -> np.ndarray:
    if _is_arrow(frame):
        column = frame.column(name)
        return column.to_numpy() if hasattr(column, "chunks") else np.asarray(column)
    return np.asarray(frame[name])


def _as_input(frame):
    """What a learner checks: a data frame with its names."""
    return frame.to_pandas() if _is_arrow(frame) else frame


# -- sources -------------------------------------------------------------------------------------


def _reader(source) -> tuple[Callable[[list[str]], Iterator], list[str]]:
    """A function that reads some columns from the beginning, and the names of all."""
    try:
        import pyarrow as pa
        import pyarrow.dataset as ds
    except ImportError as error:
        raise ImportError("Batches need pyarrow: pip install pandas pyarrow narwhals.") from error

    if isinstance(source, str | os.PathLike):
        source = dataset_of(os.fspath(source))
    if isinstance(source, pa.Table):
        source = ds.dataset(source)
    if isinstance(source, ds.Dataset):
        dataset = source
        return lambda names: read_batches(dataset, names), dataset.schema.names
    if callable(source):
        first = next(iter(source()), None)
        if first is None:
            raise ValueError("The callable gave an iterator without batches.")
        return lambda names: iter(source()), _arrow(first).column_names
    raise TypeError(
        "Batches takes a path, a pyarrow Dataset or Table, or a callable that returns an iterator "
        f"of batches; got {type(source).__name__}."
        + (" An iterator can be read only once." if hasattr(source, "__next__") else "")
    )


def read_batches(dataset, names: list[str] | None = None) -> Iterator:
    """Record batches of a dataset, in the order of its files, one part of a file at a time.

    Arrow's own read-ahead has no limit: where a pass was slower than the disk, it took in the whole
    table (1.8 GB of 20 million rows).
    """
    options = {"batch_readahead": 0, "fragment_readahead": 0, "use_threads": False}
    try:
        fragments = dataset.get_fragments()
    except ValueError:  # a filtered one has none to give
        yield from dataset.to_batches(columns=names, **options)
        return
    for fragment in fragments:
        split = getattr(fragment, "split_by_row_group", lambda whole=fragment: [whole])
        for part in split():
            yield from part.to_batches(schema=dataset.schema, columns=names, **options)


def dataset_of(path: str):
    """The files of a path, a folder or a pattern, in the order of their names."""
    import glob

    import pyarrow.dataset as ds

    if os.path.isdir(path):
        files = sorted(str(f) for f in Path(path).rglob("*") if f.suffix.lower() in _FORMATS)
    else:
        files = sorted(glob.glob(path)) if glob.has_magic(path) else [path]
    if not files and os.path.isdir(path):
        raise FileNotFoundError(f"{path} is a folder without a table in {', '.join(_FORMATS)}.")
    if not files or not os.path.exists(files[0]):
        raise FileNotFoundError(no_file(path))
    kinds = {_FORMATS.get(Path(name).suffix.lower()) for name in files}
    if len(kinds) > 1 or None in kinds:
        raise ValueError(
            f"{path} must be files of one kind: {', '.join(_FORMATS)}; got "
            f"{listed(sorted({Path(name).suffix for name in files}))}."
        )
    kind = kinds.pop()
    try:
        return ds.dataset(files, format=kind)
    except (ValueError, OSError) as error:
        raise ValueError(
            f"{path} cannot be read as {kind}: {str(error).splitlines()[0].rstrip('.')}."
        ) from error


def _arrow(batch):
    """A batch of any kind as an Arrow table."""
    import pyarrow as pa

    if isinstance(batch, pa.Table):
        return batch
    if isinstance(batch, pa.RecordBatch):
        return pa.Table.from_batches([batch])
    if hasattr(batch, "to_arrow"):  # polars
        return batch.to_arrow()
    if type(batch).__module__.startswith("pandas"):
        return pa.Table.from_pandas(batch, preserve_index=False)
    raise TypeError(
        f"A batch must be an Arrow record batch or table, or a data frame; got "
        f"{type(batch).__name__}."
    )


def rechunked(batches: Iterable, n_rows: int) -> Iterator:
    """Tables of exactly so many rows, but for the last: however a source cuts them."""
    import pyarrow as pa

    waiting: list = []
    n_waiting = 0
    for batch in batches:
        table = _arrow(batch)
        while n_waiting + len(table) >= n_rows:
            head = table.slice(0, n_rows - n_waiting)
            yield pa.concat_tables([*waiting, head], promote_options="permissive").combine_chunks()
            table, waiting, n_waiting = table.slice(len(head)), [], 0
        if len(table):
            waiting.append(table)
            n_waiting += len(table)
    if waiting:
        yield pa.concat_tables(waiting, promote_options="permissive").combine_chunks()


def ahead(items: Iterator) -> Iterator:
    """The same items, made in a thread while earlier ones are worked on."""
    end = object()
    pool = ThreadPoolExecutor(1, thread_name_prefix="sarlearn-read-ahead")
    try:
        waiting = deque(pool.submit(next, items, end) for _ in range(AHEAD))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, items, end))
            yield item
    finally:
        pool.shutdown(cancel_futures=True)
