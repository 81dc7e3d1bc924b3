"""Write tables and other files: whole or not at all, and never over what is no file."""

import contextlib
import errno
import gzip
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sarlearn.tables.read import table_kind

# A spreadsheet takes a cell that begins so for a formula, and may run it.
_FORMULA = re.compile(r"[=+\-@\t\r]")


def write_table(frame, path: str | os.PathLike, *, neutralise: bool = False) -> int:
    """Write a data frame in the format the file's ending names, whole or not at all.

    Parameters
    ----------
    frame : DataFrame of pandas or polars, or Arrow table
    path : path
        ``-`` is standard output, as CSV.
    neutralise : bool, default=False
        Put an apostrophe before words in a text file that a spreadsheet would run as a formula.

    Returns
    -------
    int
        How many cells were neutralised.
    """
    with table_writer(path, neutralise=neutralise) as writer:
        writer.write(frame)
    return writer.n_neutral


class TableWriter:
    """Writes the parts of a table, data frames with the same columns, one after the other.

    Parameters
    ----------
    kind : {"csv", "parquet", "arrow"}
    path : Path or None
        None is standard output, for ``csv``.
    name : str
        Of the file that it will be, for what its ending says besides the kind.
    neutralise : bool

    Attributes
    ----------
    n_neutral : int
        Cells that were neutralised.
    """

    def __init__(self, kind: str, path: Path | None, name: str, neutralise: bool):
        self._kind, self._path, self._neutralise = kind, path, neutralise
        endings = [ending.lower() for ending in Path(name).suffixes]
        self._separator = "\t" if ".tsv" in endings[-2:] else ","
        self._compressed = endings[-1:] == [".gz"]
        self._out: Any = None
        self.n_neutral = 0

    def write(self, frame) -> None:
        import narwhals as nw

        table = nw.from_native(frame, eager_only=True)
        if self._kind != "csv":
            self._write_arrow(table.to_arrow())
            return
        if self._neutralise:
            table, n_cells = _neutral(table)
            self.n_neutral += n_cells
        text = _csv(table, self._separator, header=self._out is None)
        if self._out is None:
            self._out = sys.stdout if self._path is None else self._open_text()
        self._out.write(text)

    def _open_text(self):
        assert self._path is not None
        opener: Any = gzip.open if self._compressed else open
        return opener(self._path, "wt", encoding="utf-8", newline="")

    def _write_arrow(self, table) -> None:
        import pyarrow as pa

        if self._out is None:
            self._schema = table.schema
            if self._kind == "parquet":
                import pyarrow.parquet as pq

                self._out = pq.ParquetWriter(self._path, self._schema)
            else:
                self._out = pa.ipc.new_file(self._path, self._schema)
        self._out.write_table(table.cast(self._schema))

    def close(self) -> None:
        if self._out is not None and self._out is not sys.stdout:
            self._out.close()


@contextlib.contextmanager
def table_writer(path: str | os.PathLike, *, neutralise: bool = False) -> Iterator[TableWriter]:
    """A writer of a table's parts; the file is there, whole, when the block has succeeded."""
    if str(path) == "-":
        yield TableWriter("csv", None, "-", neutralise)
        return
    kind = table_kind(path)
    if kind == "xlsx":
        raise ValueError(f"{path}: tables are written as .csv, .tsv, .parquet or .arrow.")
    with write_atomically(path) as temporary:
        writer = TableWriter(kind, temporary, str(path), neutralise)
        with contextlib.closing(writer):
            yield writer


def _csv(table, separator: str, *, header: bool) -> str:
    native = table.to_native()
    if not table.implementation.is_pandas():  # with whole numbers as such, also beside gaps
        import pandas as pd

        native = table.to_arrow().to_pandas(types_mapper=pd.ArrowDtype)
    return native.to_csv(sep=separator, index=False, header=header)


def _neutral(table):
    """The table with an apostrophe before each word that begins like a formula, and how many."""
    import narwhals as nw

    columns, n_cells = [], 0
    for series in table.iter_columns():
        if series.dtype.is_numeric() or series.dtype.is_temporal():
            columns.append(series)
            continue
        values = series.to_list()
        bad = [isinstance(v, str) and _FORMULA.match(v) and not _is_number(v) for v in values]
        if any(bad):
            n_cells += sum(map(bool, bad))
            values = [f"'{v}" if b else v for v, b in zip(values, bad, strict=True)]
            series = nw.new_series(series.name, values, backend=table.implementation)
        columns.append(series)
    named = {_safe(series.name): series for series in columns}
    return nw.from_dict(named), n_cells


def _safe(name: str) -> str:
    return f"'{name}" if _FORMULA.match(name) else name


def _is_number(text: str) -> bool:
    with contextlib.suppress(ValueError):
        float(text)
        return True
    return False


@contextlib.contextmanager
def write_atomically(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary path beside ``path``; rename it to ``path`` when the block succeeds.

    Renaming within a folder is atomic, so a reader, or a kill at any moment, finds the old file
    whole or the new one whole. A link is followed and the file it names replaced, with the mode
    that it had. What is no file, a device or a pipe, is refused.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no file, and is not written to; - is standard output.")
    target = path.resolve() if path.is_symlink() else path
    unique = f".{target.name[:80]}.{os.getpid()}.{secrets.token_hex(4)}.tmp"
    temporary = target.with_name(unique + target.suffix)
    try:
        yield temporary
        if target.exists():
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            kept = "the file that was there is as it was" if target.exists() else "it is not there"
            raise OSError(f"There is no space left to write {target}; {kept}.") from error
        raise
    finally:
        temporary.unlink(missing_ok=True)
