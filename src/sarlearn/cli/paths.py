"""Files of a command, checked before anything heavy is imported."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from sarlearn.tables.formats import is_several, nearest, table_kind

STANDARD = "-"  # standard input or output

_MODEL = (".skops",)
_REPORT = (".html", ".htm")


def check_outputs(*paths: str | None, force: bool, inputs: Sequence[str] = ()) -> None:
    """Refuse before the work what could not be written after it."""
    given = [os.path.abspath(path) for path in paths if path is not None]
    if len(set(given)) < len(given):
        raise ValueError(f"Two outputs have the same name, {given[0]}.")
    for path in (Path(path) for path in paths if path not in (None, STANDARD)):
        if not path.parent.is_dir():
            raise ValueError(f"There is no folder {path.parent} to write {path.name} to.")
        if path.is_dir():
            raise ValueError(f"{path} is a folder; name a file to write.")
        if path.exists():
            if any(os.path.exists(name) and path.samefile(name) for name in inputs):
                raise ValueError(f"{path} is an input of this command; name another output.")
            if not force and path.is_file():
                raise ValueError(f"{path} exists; use --force to replace it.")
        if not os.access(path.resolve().parent if path.is_symlink() else path.parent, os.W_OK):
            raise ValueError(f"The folder {path.parent} may not be written to by this user.")


def check_input(path: str, *, table: bool = True) -> None:
    """Refuse a file that is not there, or a table whose ending names no format."""
    if path == STANDARD:
        return
    if table and is_several(path):
        if not os.path.isdir(path) and not glob.glob(path):
            raise FileNotFoundError(f"No file is named like {path}.")
        return
    if table:
        table_kind(path)
    if not os.path.exists(path):
        beside = [other.name for other in Path(path).parent.glob("*")]
        what = "file" if table else "model file"
        raise FileNotFoundError(f"There is no {what} {path}.{nearest(Path(path).name, beside)}")


def check_pattern(path: str) -> None:
    """Refuse a pattern of files, of any kind, that matches none."""
    if not glob.glob(path):
        raise FileNotFoundError(f"There is no file {path}.")


def check_table_output(path: str) -> None:
    """Refuse a table to be written in a format that is not written."""
    if path != STANDARD and table_kind(path) == "xlsx":
        raise ValueError(f"{path}: tables are written as .csv, .tsv, .parquet or .arrow.")


def check_audit_output(path: str) -> None:
    """Refuse what is no table of rows to check, to be filled in."""
    if path == STANDARD:
        raise ValueError("An audit needs a file for the answers; name one, such as to_check.csv.")
    check_table_output(path)


def check_model_output(path: str) -> None:
    """Refuse a model under a name that says it is something else."""
    if path == STANDARD:
        raise ValueError("A model is not written to standard output; name a file, model.skops.")
    _check_ending(path, _MODEL, "models are saved as .skops, which opens without running code")


def check_report_output(path: str | None) -> None:
    """Refuse a report under a name that says it is something else."""
    if path is not None and path != STANDARD:
        reason = "reports are written as .html; a browser prints them as PDF"
        _check_ending(path, _REPORT, reason)


def _check_ending(path: str, accepted: tuple[str, ...], reason: str) -> None:
    ending = Path(path).suffix.lower()
    if ending not in accepted and os.path.exists(path) and not os.path.isfile(path):
        return  # a pipe or a device has any name
    if ending not in accepted:
        raise ValueError(f"{path}: {reason}; use the ending {accepted[0]}.")
