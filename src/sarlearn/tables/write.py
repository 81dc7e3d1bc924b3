"""Write tables and other files: whole or not at all, and never over what is no file."""

import contextlib
import errno
import gzip
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sarlearn.tables.formats import table_kind

# A spreadsheet takes a cell that begins so for a formula, and may run it.
_FORMULA = re.compile(r"[=+\-@\t\r]")


def write_table(frame, path: str | os.PathLike, *, neutralise: bool = False) -> int:
    """Write a data frame in the format the file's ending names, whole or not at all.

    Parameters
    ----------
    frame : DataFrame of pandas or polars
    path : path
        ``-`` is standard output, as CSV.
    neutralise : bool, default=False
        Put an apostrophe before words in a text file that a spreadsheet would run as a formula.

    Returns
    -------
    int
        How many cells were neutralised.
    """
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    kind = "csv" if str(path) == "-" else table_kind(path)
    n_neutral = 0
    if kind == "xlsx":
        raise ValueError(f"{path}: tables are written as .csv, .tsv, .parquet or .arrow.")
    if kind == "csv" and neutralise:
        table, n_neutral = _neutral(table)
    if str(path) == "-":
        sys.stdout.write(table.write_csv())
        return n_neutral
    with write_atomically(path) as temporary:
        if kind == "csv":
            _write_text(table, Path(path), temporary)
        elif kind == "parquet":
            table.write_parquet(str(temporary))
        elif table.implementation.is_polars():
            table.to_native().write_ipc(temporary)
        else:
            table.to_native().reset_index(drop=True).to_feather(temporary)
    return n_neutral


def _write_text(table, path: Path, temporary: Path) -> None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if ".tsv" in suffixes[-2:]:
        native = table.to_native()
        polars = table.implementation.is_polars()
        text = native.write_csv(separator="\t") if polars else native.to_csv(sep="\t", index=False)
    else:
        text = table.write_csv()
    opener = gzip.open if suffixes[-1] == ".gz" else open
    with opener(temporary, "wt", encoding="utf-8", newline="") as stream:
        stream.write(text)


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
    return nw.from_dict(named, backend=table.implementation), n_cells


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
    that it had. What is no file, a device or a pipe, is written to, never replaced.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        with _into_device(path) as temporary:
            yield temporary
        return
    target = path.resolve() if path.is_symlink() else path
    _clean(target)
    temporary = target.with_name(f"{_prefix(target)}{os.getpid()}.{secrets.token_hex(4)}.tmp")
    temporary = temporary.with_name(temporary.name + target.suffix)
    try:
        yield temporary
        if target.exists():
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _no_space(target) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _into_device(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / f"written{path.suffix}"
        yield temporary
        try:
            with temporary.open("rb") as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise _no_space(path) from error
            raise


def _no_space(path: Path) -> OSError:
    kept = "the file that was there is as it was" if path.is_file() else "nothing was written to it"
    return OSError(f"There is no space left to write {path}; {kept}.")


def _prefix(path: Path) -> str:
    """What the names of our temporary files for ``path`` begin with, on this machine."""
    machine = hashlib.sha1(platform.node().encode(), usedforsecurity=False).hexdigest()[:6]
    return f".{path.name[:80]}.{machine}."


def _clean(path: Path) -> None:
    """Remove temporary files for ``path`` of runs that were killed."""
    prefix = _prefix(path)
    with contextlib.suppress(OSError):
        for left in path.parent.iterdir():
            found = re.fullmatch(r"(\d+)\.[0-9a-f]{8}\.tmp.*", left.name.removeprefix(prefix))
            if left.name.startswith(prefix) and found and not _is_alive(int(found[1])):
                left.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    if os.name != "posix":  # elsewhere signal 0 is no question
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return True
