"""Read and write tables, and understand their label column. Files are written whole or not."""

import contextlib
import csv
import difflib
import gzip
import importlib.util
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sarlearn.tables.columns import values_of

__all__ = [
    "Labels",
    "nearest",
    "parse_labels",
    "read_table",
    "write_atomically",
    "write_table",
]

# Read as missing in text files, by every back end alike.
MISSING_WORDS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>")
LABELLED_WORDS = frozenset({"1", "true", "yes", "y", "t"})
UNLABELLED_WORDS = frozenset({"0", "-1", "false", "no", "n", "f"})
_KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_ACCEPTED = ".csv, .tsv (also with .gz), .parquet, .arrow, .feather"


def table_kind(path: str | os.PathLike) -> str:
    """``csv``, ``parquet`` or ``arrow``, by the file's name."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes[-1:] == [".gz"] and _KINDS.get(suffixes[-2] if len(suffixes) > 1 else "") == "csv":
        return "csv"
    kind = _KINDS.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise ValueError(
            f"{path}: the ending {suffixes[-1] if suffixes else '(none)'!r} names no known table "
            f"format; accepted are {_ACCEPTED}."
        )
    return kind


def table_backend() -> str:
    """The data frame library tables are read with: pandas, or polars where pandas is absent."""
    for name in ("pandas", "polars"):
        if importlib.util.find_spec(name) is not None:
            return name
    raise ImportError(
        "Tables need pandas or polars: pip install 'sarlearn[tables]' (or pip install polars)."
    )


def read_table(
    path: str | os.PathLike, *, text_columns: Sequence[str] = (), backend: str | None = None
):
    """Read a CSV (also gzipped), Parquet or Arrow/Feather file into a data frame.

    Parameters
    ----------
    path : path
        The ending decides the format. The separator of a text file (comma, semicolon, tab or
        bar) is taken from its first line.
    text_columns : sequence of str
        Columns of a text file to keep as text, so that an identifier ``007`` stays as it is.
    backend : {"pandas", "polars"}, optional
        The library of the result; by default the one that is installed, pandas first.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sarlearn.tables.files import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "patients.csv"
    ...     _ = path.write_text("id;age\\n007;31\\n008;NA\\n")
    ...     read_table(path, text_columns=["id"])
        id   age
    0  007  31.0
    1  008   NaN
    """
    path = Path(path)
    kind = table_kind(path)
    backend = backend or table_backend()
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a table.")
    if not path.exists():
        beside = [other.name for other in path.parent.glob("*")]
        raise FileNotFoundError(f"There is no file {path}.{nearest(path.name, beside)}")
    try:
        if path.stat().st_size == 0:
            raise ValueError(f"{path} is empty.")
        frame = _READERS[kind](path, backend, tuple(text_columns))
    except PermissionError as error:
        raise PermissionError(f"{path} may not be read by this user.") from error
    except (ValueError, ImportError) as error:
        if str(error).startswith(str(path)) or isinstance(error, ImportError):
            raise
        raise _unreadable(path, kind, error) from error
    except Exception as error:  # each library has its own hierarchy of parse errors
        raise _unreadable(path, kind, error) from error
    if len(frame) == 0:
        raise ValueError(f"{path} has a header but no rows.")
    return frame


def _unreadable(path: Path, kind: str, error: Exception) -> ValueError:
    if isinstance(error, UnicodeDecodeError) or "utf-8" in str(error).lower():
        return ValueError(f"{path} is not UTF-8 text; save it as UTF-8 and try again.")
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return ValueError(f"{path} cannot be read as {kind}: {lines[0].rstrip('.')}.")


def _read_csv(path: Path, backend: Any, text_columns: tuple[str, ...]):
    import narwhals as nw

    header, separator = _read_header(path)
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise ValueError(f"{path} has more than one column named {repeated[0]!r}; rename one.")
    as_text = [name for name in text_columns if name in header]
    if backend == "pandas":
        options: dict[str, Any] = {
            "dtype": dict.fromkeys(as_text, str),
            "na_values": list(MISSING_WORDS),
            "keep_default_na": False,
            "low_memory": False,
        }
    else:
        import polars as pl

        options = {
            "schema_overrides": dict.fromkeys(as_text, pl.String),
            "null_values": list(MISSING_WORDS),
            "infer_schema_length": None,
        }
    return nw.read_csv(str(path), backend=backend, separator=separator, **options).to_native()


def _read_header(path: Path) -> tuple[list[str], str]:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as stream:
        line = stream.readline()
        counts = {mark: len(next(csv.reader([line], delimiter=mark), [])) for mark in ",;\t|"}
        separator = max(counts, key=lambda mark: counts[mark])  # the first, a comma, wins a tie
        stream.seek(0)
        records = csv.reader(stream, delimiter=separator)
        header, first = next(records, []), next(records, [])
    if not any(name.strip() for name in header):
        raise ValueError(f"{path} has no header line with column names.")
    if len(first) > len(header):  # pandas would take the first fields for an index, silently
        raise ValueError(f"{path} has rows with more fields than its header has names.")
    return header, separator


def _read_parquet(path: Path, backend: Any, text_columns: tuple[str, ...]):
    import narwhals as nw

    return nw.read_parquet(str(path), backend=backend).to_native()


def _read_arrow(path: Path, backend: Any, text_columns: tuple[str, ...]):
    if backend == "polars":
        import polars as pl

        return pl.read_ipc(path)
    import pandas as pd

    return pd.read_feather(path)


_READERS = {"csv": _read_csv, "parquet": _read_parquet, "arrow": _read_arrow}


def write_table(frame, path: str | os.PathLike) -> None:
    """Write a data frame in the format the file's ending names, whole or not at all."""
    import narwhals as nw

    kind = table_kind(path)
    table = nw.from_native(frame, eager_only=True)
    with write_atomically(path) as temporary:
        if kind == "csv":
            text = table.write_csv()
            if Path(path).suffix.lower() == ".tsv":
                raise ValueError(f"{path}: tables are written as .csv, .parquet or .arrow.")
            opener = gzip.open if Path(path).suffix.lower() == ".gz" else open
            with opener(temporary, "wt", encoding="utf-8", newline="") as stream:
                stream.write(text)
        elif kind == "parquet":
            table.write_parquet(str(temporary))
        elif table.implementation.is_polars():
            table.to_native().write_ipc(temporary)
        else:
            table.to_native().reset_index(drop=True).to_feather(temporary)


@contextlib.contextmanager
def write_atomically(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary path beside ``path``; rename it to ``path`` when the block succeeds.

    Renaming within a folder is atomic, so a reader, or a kill at any moment, finds the old
    file whole or the new one whole.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name[:80]}.{secrets.token_hex(4)}.tmp{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def nearest(name: str, candidates: Sequence[str]) -> str:
    """A sentence with the names most like ``name``, or nothing."""
    folded = {str(candidate).casefold(): str(candidate) for candidate in candidates}
    near = difflib.get_close_matches(str(name).casefold(), list(folded), n=3, cutoff=0.5)
    return f" Nearest names: {', '.join(folded[key] for key in near)}." if near else ""


@dataclass(frozen=True)
class Labels:
    """A label column understood: which rows are labelled, and the word that says so."""

    labelled: np.ndarray
    word: str
    n_empty: int = 0


def parse_labels(column, name: str, *, word: str | None = None) -> Labels:
    """Which rows a label column calls labelled.

    Accepted are 0/1, -1/1, false/true, no/yes, n/y, f/t in any case. An empty cell is
    unlabelled; one single value beside empty cells means labelled, whatever it is.

    Parameters
    ----------
    column : Series of pandas or polars, or narwhals Series
    name : str
        The column's name, for messages.
    word : str, optional
        A further value that means labelled, as found in an earlier table.

    Examples
    --------
    >>> import pandas as pd
    >>> from sarlearn.tables.files import parse_labels
    >>> parse_labels(pd.Series(["yes", None, "no"]), "diagnosed").labelled
    array([ True, False, False])
    """
    import narwhals as nw

    values = values_of(nw.from_native(column, series_only=True))
    try:
        meanings = {value: _label_meaning(value) for value in set(values)}
    except TypeError:
        raise ValueError(f"The label column {name!r} must hold single values, not lists.") from None
    words = sorted({str(meaning) for meaning in meanings.values() if isinstance(meaning, str)})
    n_empty = sum(meanings[value] is None for value in values)
    known = {True, False} & {m for m in meanings.values() if isinstance(m, bool)}
    if words:
        alone = len(words) == 1 and not known and n_empty > 0
        if words != [word] and not alone:
            shown = [str(value) for value in meanings if meanings[value] is not None]
            shown = sorted(shown)[:5] + (["..."] if len(shown) > 5 else [])
            raise ValueError(
                f"The label column {name!r} holds {len(words) + len(known)} values that are not "
                f"a yes and a no ({', '.join(shown)}); accepted are 0/1, true/false, yes/no, or "
                "one value and empty cells."
            )
    labelled = np.array([meanings[value] not in (None, False) for value in values], dtype=bool)
    return Labels(labelled, words[0] if words else "1", n_empty)


def _label_meaning(value) -> bool | str | None:
    """True, False, None (empty), or the value's text where it is none of these."""
    if value is None:
        return None
    text = str(value).strip()
    if text in MISSING_WORDS:
        return None
    folded = text.casefold()
    with contextlib.suppress(ValueError):
        number = float(folded)
        folded = str(int(number)) if number.is_integer() else folded
    if folded in LABELLED_WORDS:
        return True
    if folded in UNLABELLED_WORDS:
        return False
    return text
