"""Formats of tables by the names of files. Imports next to nothing: refusals come at once."""

import difflib
import glob
import os
from collections.abc import Sequence
from pathlib import Path

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


def nearest(name: str, candidates: Sequence[str]) -> str:
    """A sentence with the names most like ``name``, or nothing."""
    folded = {str(candidate).casefold(): str(candidate) for candidate in candidates}
    near = difflib.get_close_matches(str(name).casefold(), list(folded), n=3, cutoff=0.5)
    return f" Nearest names: {', '.join(folded[key] for key in near)}." if near else ""
