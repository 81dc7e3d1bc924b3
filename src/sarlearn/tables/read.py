"""Read tables from files as people have them, and say what was odd about them."""

import importlib
import importlib.util
import itertools
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sarlearn._labels import MISSING_WORDS
from sarlearn._words import counted
from sarlearn.tables.cells import NEARLY_ALL, read_numbers
from sarlearn.tables.columns import values_of
from sarlearn.tables.dialect import Dialect, Source, ends_in_newline, find_dialect, lines_of
from sarlearn.tables.formats import is_several, nearest, table_kind


def table_backend() -> str:
    """The data frame library tables are read with: pandas, or polars where pandas is absent."""
    for name in ("pandas", "polars"):
        if importlib.util.find_spec(name) is not None:
            return name
    raise ImportError(
        "Tables need pandas or polars: pip install 'sarlearn[tables]' (or pip install polars)."
    )


def read_table(
    path: str | os.PathLike,
    *,
    text_columns: Sequence[str] = (),
    backend: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
):
    """Read a CSV (also gzipped), Parquet, Arrow/Feather or Excel file into a data frame.

    What is odd about a file, lines of unequal length or an encoding that had to be guessed, is
    warned of with the line.

    Parameters
    ----------
    path : path
        The ending decides the format. ``-`` is standard input: CSV, Parquet, Arrow or Excel. A
        folder of Parquet or Arrow files, or a pattern such as ``data/*.parquet``, is one table.
    text_columns : sequence of str
        Columns of a text file to keep as text, so that an identifier ``007`` stays as it is.
    backend : {"pandas", "polars"}, optional
        The library of the result; by default the one that is installed, pandas first.
    separator : str, optional
        Of a text file; by default comma, semicolon, tab or bar, by its first line.
    decimal : {".", ","}, optional
        Decimal sign of a text file; by default a comma where the cells of a file that is not
        separated by commas show it.
    encoding : str, optional
        Of a text file; by default UTF-8, or what its byte order mark says, else Latin-1.
    missing : sequence of str
        Words that stand for missing cells of a text file, besides NA, NaN, null and the like.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sarlearn.tables.read import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "patients.csv"
    ...     _ = path.write_text("id;age\\n007;31,5\\n008;NA\\n")
    ...     read_table(path, text_columns=["id"])
        id   age
    0  007  31.5
    1  008   NaN
    """
    backend = backend or table_backend()
    if is_several(path):
        return _read_several(str(path), backend)
    source, kind = _find(path)
    options = {"separator": separator, "decimal": decimal, "encoding": encoding}
    try:
        if kind == "csv":
            frame = _read_csv(source, backend, text_columns, missing, options)
        else:
            frame = _READERS[kind](source, backend)
    except PermissionError as error:
        raise PermissionError(f"{path} may not be read by this user.") from error
    except (ValueError, ImportError) as error:
        if str(error).startswith(source.name) or isinstance(error, ImportError):
            raise
        raise _unreadable(source.name, kind, error) from error
    except Exception as error:  # each library has its own hierarchy of parse errors
        raise _unreadable(source.name, kind, error) from error
    if len(frame) == 0:
        raise ValueError(f"{source.name} has a header but no rows.")
    return frame


def _read_several(path: str, backend: str):
    """The Parquet or Arrow files of a folder or pattern, one after the other."""
    from sarlearn.backends.batches.source import dataset_of

    data = dataset_of(path)
    if type(data.format).__name__ == "CsvFileFormat":
        raise ValueError(f"{path}: several CSV files are read with --dask only; name one of them.")
    table = data.to_table()
    if not len(table):
        raise ValueError(f"{path} has no rows.")
    if backend == "pandas":
        return table.to_pandas()
    import polars as pl

    return pl.from_arrow(table)


def _find(path: str | os.PathLike) -> tuple[Source, str]:
    """What to read, and its format."""
    if str(path) == "-":
        data = sys.stdin.buffer.read()
        if not data:
            raise ValueError("Standard input is empty.")
        kinds = {b"PAR1": "parquet", b"ARRO": "arrow", b"PK\x03\x04": "xlsx"}
        kind = kinds.get(data[:4], "csv")
        return Source("Standard input", data=data), kind
    path = Path(path)
    kind = table_kind(path)
    if not path.exists():
        beside = [other.name for other in path.parent.glob("*")]
        raise FileNotFoundError(f"There is no file {path}.{nearest(path.name, beside)}")
    if not path.is_file():  # a pipe can be read once
        return Source(str(path), data=path.read_bytes()), kind
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty.")
    return Source(str(path), path), kind


def _unreadable(name: str, kind: str, error: Exception) -> ValueError:
    if isinstance(error, UnicodeDecodeError | UnicodeError | LookupError):
        return ValueError(f"{name} cannot be decoded: {error}. Name its encoding with --encoding.")
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return ValueError(f"{name} cannot be read as {kind}: {lines[0].rstrip('.')}.")


def _read_csv(source: Source, backend: str, text_columns, missing, options):
    import narwhals as nw

    dialect = find_dialect(source, **options)
    header = dialect.header
    repeated = sorted({name for name in header if name.strip() and header.count(name) > 1})
    if repeated:
        raise ValueError(
            f"{source.name} has more than one column named {repeated[0]!r}; rename one."
        )
    as_text = [name for name in text_columns if name in header]
    settings = _pandas_settings if backend == "pandas" else _polars_settings
    try:
        # Not by narwhals, whose older versions read no streams.
        frame = nw.from_native(
            importlib.import_module(backend).read_csv(
                source.handle, **settings(source, dialect, as_text, [*MISSING_WORDS, *missing])
            )
        )
    except Exception as error:  # each library has its own hierarchy of parse errors
        _refuse_long_lines(source, dialect, error)
        raise
    frame = _check_names(_check_lines(frame, source, dialect), source, dialect)
    if dialect.decimal == ",":
        frame = _plain_numbers(frame, as_text)
    _warn_of(dialect.notes)
    return frame.to_native()


def _pandas_settings(source: Source, dialect: Dialect, as_text, missing) -> dict[str, Any]:
    import pandas as pd

    _refuse_long_lines(source, dialect)
    # pandas 2 loses the last digits unless told not to; from 3 on it does not, and the word is old.
    exact = {"float_precision": "round_trip"} if pd.__version__.startswith("2.") else {}
    return exact | {
        "sep": dialect.separator,
        "dtype": dict.fromkeys(as_text, str),
        "na_values": missing,
        "keep_default_na": False,
        "low_memory": False,
        "encoding": dialect.encoding,
        "decimal": dialect.decimal or ".",
        "skiprows": dialect.skip,
    }


def _polars_settings(source: Source, dialect: Dialect, as_text, missing) -> dict[str, Any]:
    import polars as pl

    return {
        "separator": dialect.separator,
        "schema_overrides": dict.fromkeys(as_text, pl.String),
        "null_values": missing,
        "infer_schema_length": None,
        "encoding": "utf8" if dialect.encoding.startswith("utf-8") else dialect.encoding,
        "decimal_comma": dialect.decimal == ",",
        "skip_rows": dialect.skip,
    }


def _refuse_long_lines(source: Source, dialect: Dialect, error: Exception | None = None) -> None:
    """Name the first line with more fields than the header, if there is one."""
    width = len(dialect.header)
    # Without an error only the first line matters: pandas would take its fields for an index.
    for line, fields in itertools.islice(lines_of(source, dialect), 1 if error is None else None):
        if len(fields) > width:
            raise ValueError(
                f"{source.name}: line {line} has {len(fields)} fields, and the header has "
                f"{counted(width, 'name')}; quote cells that hold the separator "
                f"{dialect.separator!r}."
            ) from error


def _check_lines(frame, source: Source, dialect: Dialect):
    """Tell of lines that are too short, and leave out a last one that was cut off.

    Only a file with a gap in its last column can have any, so few files are read twice.
    """
    width = len(dialect.header)
    if width < 2 or not frame[frame.columns[-1]].is_null().any():
        return frame
    short, last = [], (0, width)
    for line, fields in lines_of(source, dialect):
        last = line, len(fields)
        if len(fields) < width:
            short.append(line)
    if last[1] < width and not ends_in_newline(source):
        dialect.notes.append(
            f"{source.name}: the last line ({last[0]}) has {last[1]} of {width} fields and no end; "
            "it was left out. The file may have been cut off."
        )
        frame, short = frame.head(len(frame) - 1), short[:-1]
    if short:
        shown = ", ".join(map(str, short[:5])) + (", ..." if len(short) > 5 else "")
        dialect.notes.append(
            f"{source.name}: {len(short)} line{'s have' if len(short) > 1 else ' has'} fewer than "
            f"{width} fields (line {shown}); their last cells were taken as missing."
        )
    return frame


def _check_names(frame, source: Source, dialect: Dialect):
    """Leave out rows and nameless columns without a value: spreadsheets write what was cleared."""
    nameless = [i for i, name in enumerate(dialect.header) if not name.strip()]
    empty = [i for i in nameless if frame[frame.columns[i]].is_null().all()]
    if nameless:
        names = dict(zip(frame.columns, dialect.header, strict=True))
        names |= {frame.columns[i]: f"Unnamed: {i}" for i in nameless}
        kept = [name for i, name in enumerate(frame.columns) if i not in empty]
        frame = frame.select(kept).rename({name: names[name] for name in kept})
    if len(frame.columns) > 1 and frame[frame.columns[-1]].is_null().any():
        gone = np.ones(len(frame), dtype=bool)
        for series in frame.iter_columns():
            gone &= series.is_null().to_numpy()
        if gone.any():  # or such rows say NA in every cell
            blank = [not any(map(str.strip, cells)) for _, cells in lines_of(source, dialect)]
            gone &= np.array(blank[: len(frame)])
        if gone.any():
            n = int(gone.sum())
            dialect.notes.append(
                f"{source.name}: {n} line{'s hold' if n > 1 else ' holds'} nothing but separators "
                f"(the first is row {int(np.argmax(gone)) + 1}) and {'were' if n > 1 else 'was'} "
                "left out."
            )
            frame = frame.filter((~gone).tolist())
    return frame


def _plain_numbers(frame, as_text: Sequence[str]):
    """Columns of text that are numbers with a decimal comma, written as 1234.5."""
    import narwhals as nw

    changed = []
    for series in frame.iter_columns():
        if series.dtype.is_numeric() or series.name in as_text:
            continue
        values = values_of(series)
        found = read_numbers(Counter(v for v in values if isinstance(v, str)), decimal=",")
        if found is None or found.share < NEARLY_ALL or found.style.unit:
            continue
        plain = {cell: repr(number) for cell, number in found.values.items()}
        changed.append(
            nw.new_series(
                series.name, [plain.get(v, v) for v in values], backend=frame.implementation
            )
        )
    return frame.with_columns(*changed) if changed else frame


def _read_parquet(source: Source, backend: str):
    return importlib.import_module(backend).read_parquet(source.handle)


def _read_arrow(source: Source, backend: Any):
    if backend == "polars":
        import polars as pl

        return pl.read_ipc(source.handle)
    import pandas as pd

    return pd.read_feather(source.handle)


def _read_xlsx(source: Source, backend: Any):
    try:
        import openpyxl
    except ImportError as error:
        raise ImportError(
            f"{source.name}: Excel files need openpyxl: pip install 'sarlearn[excel]'."
        ) from error
    import narwhals as nw

    with source.open() as stream:
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        rows = [list(row) for row in sheet.iter_rows(values_only=True)]
        book.close()
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if len(book.worksheets) > 1:
        _warn_of([f"{source.name} has {len(book.worksheets)} sheets; {sheet.title!r} was read."])
    if not rows:
        raise ValueError(f"{source.name} is empty.")
    header = ["" if name is None else str(name) for name in rows[0]]
    width = max((i + 1 for i, name in enumerate(header) if name), default=0)
    if not width or "" in header[:width] or len(set(header[:width])) < width:
        raise ValueError(f"{source.name}: the first row must hold a different name per column.")
    if len(rows) > 1 and any(cell is not None for row in rows[1:] for cell in row[width:]):
        raise ValueError(
            f"{source.name}: some cells stand in columns without a name; the first row has "
            f"{counted(width, 'name')}. Remove a title above the names, or name every column."
        )
    columns = {name: [_cell(row, i) for row in rows[1:]] for i, name in enumerate(header[:width])}
    if backend == "polars":
        import polars as pl

        return pl.DataFrame(columns, strict=False, infer_schema_length=None)
    return nw.from_dict(columns, backend=backend).to_native()


def _cell(row: list, index: int):
    value = row[index] if index < len(row) else None
    return None if isinstance(value, str) and value.strip() in MISSING_WORDS else value


_READERS = {"parquet": _read_parquet, "arrow": _read_arrow, "xlsx": _read_xlsx}


def _warn_of(notes: Sequence[str]) -> None:
    if not notes:
        return
    from sarlearn.exceptions import TableWarning, warn

    for note in notes:
        warn(TableWarning(note))
