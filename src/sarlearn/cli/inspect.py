"""``sarlearn inspect``: how each column of a table is read."""

import warnings
from typing import Any

from sarlearn.cli.common import check_columns, print_json, print_rows, print_text, split_names
from sarlearn.cli.paths import STANDARD
from sarlearn.cli.progress import progress
from sarlearn.tables.encoder import TableEncoder
from sarlearn.tables.read import read_table


def inspect(
    table: str,
    drop: tuple[str, ...],
    raw: bool,
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Read a table as a fit would, and tell of each column."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with progress(f"Reading {table}"):
            frame = read_table(table, **reading)
            drop = split_names(frame, drop)
            check_columns(frame, "--drop", drop)
            encoder = TableEncoder(drop=drop, skewed="raw" if raw else "log", dates="days")
            encoder.fit(frame)
    notes = list(dict.fromkeys(" ".join(str(w.message).split()) for w in caught))
    found = [column.to_dict() for column in encoder.readings_]
    if as_json:
        print_json({"rows": len(frame), "columns": found, "notes": notes})
        return
    shown = "standard input" if table == STANDARD else table
    print_text(f"{len(frame):,} rows, {len(found)} columns in {shown}.\n")
    header = ("column", "read as", "missing", "values", "example", "remarks")
    rows = [
        (
            column["name"],
            column["kind"],
            _count(column["missing"] + column["not_read"]),
            _count(column["levels"]),
            _short(column["example"]),
            _remark(column),
        )
        for column in found
    ]
    print_rows(rows, header=header, left=(0, 1, 4, 5))
    for note in notes:
        print_text(f"\n{note}")


def _remark(column: dict[str, Any]) -> str:
    if column["kind"] == "date" and not column["dropped"]:
        return f"{column['note']}; needs --dates days in a fit"
    return f"not used: {column['note']}" if column["dropped"] else column["note"]


def _count(n: int) -> str:
    return f"{n:,}" if n else "-"


def _short(text: str, most: int = 24) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."
