"""Read tables from files as people have them, and say what was odd about them.

Formats are told by names, and refused, before anything heavy is imported.
"""

import codecs
import csv
import glob
import gzip
import io
import itertools
import os
import re
import sys
from collections import defaultdict, deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sarlearn._words import counted, no_file
from sarlearn.tables.cells import PADDED

_KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "xlsx",
}
_ACCEPTED = ".csv, .tsv (also with .gz), .parquet, .arrow, .feather"
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Lines that are looked at to find the separator.
_LOOK = 500
_BLOCK = 2**20
# Rows that are looked at together.
_CHUNK = 2**16
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")


def table_kind(path: str | os.PathLike) -> str:
    """``csv``, ``parquet``, ``arrow`` or ``xlsx``, by the file's name."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes[-1:] == [".gz"] and _KINDS.get(suffixes[-2] if len(suffixes) > 1 else "") == "csv":
        return "csv"
    kind = _KINDS.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise ValueError(
            f"{path}: the ending {suffixes[-1] if suffixes else '(none)'!r} names no known table "
            f"format; accepted are {_ACCEPTED}, and .xlsx to read."
        )
    return kind


def is_several(path: str | os.PathLike) -> bool:
    """Whether a path names a folder, or is a pattern: several files that are one table."""
    return os.path.isdir(path) or (glob.has_magic(str(path)) and not os.path.exists(path))


def read_table(
    path: str | os.PathLike,
    *,
    text_columns: Sequence[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
):
    """Read a CSV (also gzipped), Parquet, Arrow/Feather or Excel file into a data frame.

    What is odd about a file, such as an encoding that had to be guessed, is warned of.

    Parameters
    ----------
    path : path
        The ending decides the format. ``-`` is standard input: CSV, Parquet, Arrow or Excel. A
        folder of Parquet or Arrow files, or a pattern such as ``data/*.parquet``, is one table.
    text_columns : sequence of str
        Columns of a text file to keep as text. Those with cells such as ``007`` are kept so anyway.
    separator : str, optional
        Of a text file; by default comma, semicolon, tab or bar, by its first line.
    decimal : {".", ","}, optional
        Decimal sign of a text file. Without it a column such as ``31,5`` stays text, which
        :class:`~sarlearn.TableEncoder` reads as numbers.
    encoding : str, optional
        Of a text file; by default UTF-8, or what its byte order mark says, else Latin-1.
    missing : sequence of str
        Words that stand for missing cells of a text file, besides NA, NaN, null and the like.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sarlearn.tables.read import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "patients.csv"
    ...     _ = path.write_text("id;age\\n007;31.5\\n008;NA\\n")
    ...     read_table(path)
        id   age
    0  007  31.5
    1  008   NaN
    """
    given = {"text_columns": text_columns, "separator": separator, "decimal": decimal}
    return next(read_parts(path, None, **given, encoding=encoding, missing=missing))


def read_parts(path: str | os.PathLike, n_rows: int | None, **options) -> Iterator:
    """The same; a text file in data frames of so many rows, of which one is in memory at a time.

    Columns have the same kind in all parts, that of the file read at once.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("Tables need pandas: pip install pandas pyarrow narwhals.") from error
    if is_several(path):
        yield _read_several(str(path))
        return
    source, kind = _find(path)
    n_found = 0
    try:
        if kind == "csv":
            parts = _read_csv(source, n_rows, **options)
        elif kind == "xlsx":
            parts = iter([_read_xlsx(source)])
        else:
            read = pd.read_parquet if kind == "parquet" else pd.read_feather
            parts = iter([read(source.handle)])
        for part in parts:
            n_found += len(part)
            if len(part):
                yield part
    except PermissionError as error:
        raise PermissionError(f"{path} may not be read by this user.") from error
    except (ValueError, ImportError) as error:
        if str(error).startswith(source.name) or isinstance(error, ImportError):
            raise
        raise _unreadable(source.name, kind, error) from error
    except Exception as error:  # each library has its own hierarchy of parse errors
        raise _unreadable(source.name, kind, error) from error
    if not n_found:
        raise ValueError(f"{source.name} has a header but no rows.")


@dataclass
class Source:
    """Where a table comes from: a file, or the bytes of standard input."""

    name: str
    path: Path | None = None
    data: bytes = b""

    def open(self):
        """Its bytes, unpacked."""
        if self.path is None:
            return io.BytesIO(self.data)
        packed = self.path.suffix.lower() == ".gz"
        return gzip.open(self.path, "rb") if packed else self.path.open("rb")

    def text(self, encoding: str) -> io.TextIOWrapper:
        return io.TextIOWrapper(self.open(), encoding=encoding, newline="")

    @property
    def handle(self):
        """What pandas can read."""
        return str(self.path) if self.path is not None else io.BytesIO(self.data)


def _read_several(path: str):
    """The Parquet or Arrow files of a folder or pattern, one after the other."""
    from sarlearn.backends.batch_source import dataset_of

    data = dataset_of(path)
    if type(data.format).__name__ == "CsvFileFormat":
        raise ValueError(f"{path}: several CSV files are read with --dask only; name one of them.")
    table = data.to_table()
    if not len(table):
        raise ValueError(f"{path} has no rows.")
    return table.to_pandas()


def _find(path: str | os.PathLike) -> tuple[Source, str]:
    """What to read, and its format."""
    if str(path) == "-":
        data = sys.stdin.buffer.read()
        if not data:
            raise ValueError("Standard input is empty.")
        kinds = {b"PAR1": "parquet", b"ARRO": "arrow", b"PK\x03\x04": "xlsx"}
        return Source("Standard input", data=data), kinds.get(data[:4], "csv")
    path = Path(path)
    kind = table_kind(path)
    if not path.exists():
        raise FileNotFoundError(no_file(path))
    if not path.is_file():  # a pipe can be read once
        return Source(str(path), data=path.read_bytes()), kind
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty.")
    return Source(str(path), path), kind


def _unreadable(name: str, kind: str, error: Exception) -> ValueError:
    if isinstance(error, UnicodeError | LookupError):
        return ValueError(f"{name} cannot be decoded: {error}. Name its encoding with --encoding.")
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return ValueError(f"{name} cannot be read as {kind}: {lines[0].rstrip('.')}.")


def _read_csv(
    source: Source,
    n_rows: int | None,
    text_columns: Sequence[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
) -> Iterator:
    import pandas as pd

    dialect = find_dialect(source, separator=separator, encoding=encoding)
    header = dialect.header
    if repeated := sorted({name for name in header if name.strip() and header.count(name) > 1}):
        raise ValueError(
            f"{source.name} has more than one column named {repeated[0]!r}; rename one."
        )
    kinds: dict[str, type] = {name: str for name in text_columns if name in header}
    settings = _gaps(missing) | {"decimal": decimal or ".", "low_memory": False}
    # pandas 2 loses the last digits unless told not to; from 3 on it does not, and the word is old.
    if pd.__version__.startswith("2."):
        settings["float_precision"] = "round_trip"
    if _has_padded(source, dialect):
        kinds |= dict.fromkeys(padded_columns(source, dialect, **_gaps(missing)), str)
    settings |= {"sep": dialect.separator, "encoding": dialect.encoding}
    if n_rows is None:
        whole = pd.read_csv(source.handle, dtype=kinds, **settings)
        seen: dict[str, set[str]]
        parts, seen = [whole], {name: set() for name in whole if whole[name].notna().any()}
    else:
        settings["chunksize"] = n_rows
        seen = _kinds_of_parts(pd.read_csv(source.handle, dtype=kinds, **settings))
        for name, found in seen.items():
            if len(found) > 1:
                kinds.setdefault(name, float if found <= {"integer", "floating"} else str)
        parts = pd.read_csv(source.handle, dtype=kinds, **settings)
    last = None
    for part in parts:
        if last is not None:
            yield _without_cleared(last, source, dialect, seen)
        last = part
    yield _without_cleared(_without_cut_line(last, source, dialect), source, dialect, seen)


def _kinds_of_parts(parts: Iterable) -> dict[str, set[str]]:
    """The kinds of values of each column that has any: text in a part is text in all of them."""
    from pandas.api.types import infer_dtype

    seen: dict[str, set[str]] = defaultdict(set)
    for part in parts:
        for name in part:
            if len(known := part[name].dropna()):
                seen[name].add(infer_dtype(known))
    return seen


def _gaps(words: Sequence[str] = ()) -> dict[str, Any]:
    from sarlearn._labels import MISSING_WORDS

    return {"keep_default_na": False, "na_values": [*MISSING_WORDS, *words]}


def _without_cut_line(frame, source: Source, dialect: "Dialect"):
    """Leave out a last line that was cut off, as where a download was stopped."""
    width = len(dialect.header)
    if width < 2 or not frame.iloc[-1:, -1].isna().any():
        return frame
    with source.text(dialect.encoding) as stream:
        ((number, line),) = deque(enumerate(stream, 1), maxlen=1)
    n_fields = len(next(csv.reader([line], delimiter=dialect.separator), []))
    if n_fields >= width or line.endswith(("\n", "\r")):
        return frame
    _warn(
        f"{source.name}: the last line ({number}) has {n_fields} of {width} fields and no end; it "
        "was left out. The file may have been cut off."
    )
    return frame.iloc[:-1]


def _without_cleared(frame, source: Source, dialect: "Dialect", seen: Container[str]):
    """Leave out rows and nameless columns without a value: spreadsheets write what was cleared.

    ``seen`` are the columns that have one somewhere in the file.
    """
    names = zip(dialect.header, frame.columns, strict=True)
    frame = frame.loc[:, [bool(name.strip()) or column in seen for name, column in names]]
    gone = frame.isna().all(axis=1)
    if frame.shape[1] < 2 or not gone.any():
        return frame.reset_index(drop=True)
    n, first = int(gone.sum()), int(gone.idxmax()) + 1
    _warn(
        f"{source.name}: {counted(n, 'row')} without any value, the first of them row {first}, "
        f"{'were' if n > 1 else 'was'} left out."
    )
    return frame[~gone].reset_index(drop=True)


def _read_xlsx(source: Source):
    import pandas as pd

    try:
        book = pd.ExcelFile(source.handle, engine="openpyxl")
    except ImportError as error:
        raise ImportError(
            f"{source.name}: Excel files need openpyxl: pip install openpyxl."
        ) from error
    with book:
        sheets = book.sheet_names
        frame = pd.read_excel(book, dtype=object, **_gaps())
    if len(sheets) > 1:
        _warn(f"{source.name} has {len(sheets)} sheets; {sheets[0]!r} was read.")
    return frame.rename(columns=str).dropna(how="all").reset_index(drop=True).infer_objects()


# -- how a text file is written --------------------------------------------------------------------


@dataclass
class Dialect:
    """How a text file is written."""

    header: list[str]
    separator: str
    encoding: str


def find_dialect(
    source: Source, *, separator: str | None = None, encoding: str | None = None
) -> Dialect:
    """How a text file is written; what is given is not looked for."""
    encoding = encoding or _encoding_of(source)
    with source.text(encoding) as stream:
        lines = list(itertools.islice(stream, _LOOK))
    if not lines:
        raise ValueError(f"{source.name} is empty.")
    separator = separator or _separator_of(lines)
    records = csv.reader(lines, delimiter=separator)
    header = [name.removeprefix("\ufeff") for name in next(records, [])]
    if any(_CONTROL.search(name) for name in header):
        raise ValueError(
            f"{source.name} holds bytes that are no text. If it is a table in another encoding, "
            "such as utf-16, name it with --encoding."
        )
    if not any(name.strip() for name in header):
        raise ValueError(f"{source.name} has no header line with column names.")
    # Of such a line pandas would take the first fields for an index.
    if wide := next((fields for fields in records if len(fields) > len(header)), None):
        raise ValueError(
            f"{source.name}: line {records.line_num} has {len(wide)} fields, and the header "
            f"has {counted(len(header), 'name')}; quote cells that hold the separator "
            f"{separator!r}, and remove what stands above the column names."
        )
    return Dialect(header, separator, encoding)


def _encoding_of(source: Source) -> str:
    """UTF-8, or what a byte order mark says; else the encoding of western Windows, with a note."""
    with source.open() as stream:
        start = stream.read(4)
    for mark, name in _BYTE_ORDER_MARKS:
        if start.startswith(mark):
            return name
    with source.open() as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                _warn(
                    f"{source.name} is not UTF-8 text (line {number}) and was read as Windows-1252 "
                    "(Latin-1); name another encoding with --encoding if its letters come out "
                    "wrong."
                )
                return "cp1252"
    return "utf-8"


def _separator_of(lines: list[str]) -> str:
    """The mark that makes most fields of the first line, or, where none does, of another."""

    def widths(mark: str) -> tuple[int, int]:
        found = [len(fields) for fields in csv.reader(lines, delimiter=mark)]
        return found[0], max(found)

    return max(",;\t|", key=widths)  # the first, a comma, wins a tie


def padded_columns(source: Source, dialect: Dialect, n_rows: int | None = None, **settings) -> set:
    """The columns with a cell such as 007, in so many rows at the beginning or in all."""
    import pandas as pd

    settings = {"sep": dialect.separator, "encoding": dialect.encoding} | settings
    settings |= {"nrows": n_rows, "chunksize": _CHUNK, "dtype": str}
    cell, found = rf"\s*{PADDED.pattern}\s*", set()
    for part in pd.read_csv(source.handle, **settings):
        found |= {n for n in part if part[n].str.fullmatch(cell, na=False).any()}
    return found


def _has_padded(source: Source, dialect: Dialect) -> bool:
    """Whether a cell may begin with a zero and another digit."""
    start = re.compile(rf'[{re.escape(dialect.separator)}"\s]0\d')
    with source.text(dialect.encoding) as stream:
        return any(map(start.search, iter(lambda: stream.read(_BLOCK), "")))


def _warn(note: str) -> None:
    from sarlearn.exceptions import DataWarning, warn

    warn(DataWarning("file", note))
