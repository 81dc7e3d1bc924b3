"""``sarlearn inspect``, ``sarlearn sql`` and ``sarlearn demo``."""

import warnings
from typing import Any

from sarlearn.cli.terminal import STANDARD, print_json, print_rows, progress


def inspect(
    table: str,
    drop: tuple[str, ...],
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Read a table as a fit would, and tell of each column."""
    from sarlearn.cli.table import check_columns, split_names
    from sarlearn.tables.encoder import TableEncoder
    from sarlearn.tables.read import read_table

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with progress(f"Reading {table}"):
            frame = read_table(table, **reading)
            drop = split_names(frame, drop)
            check_columns(frame, drop=drop)
            encoder = TableEncoder(drop=drop)
            encoder.fit(frame)
    notes = list(dict.fromkeys(" ".join(str(w.message).split()) for w in caught))
    found = [column.to_dict() for column in encoder.readings_]
    if as_json:
        print_json({"rows": len(frame), "columns": found, "notes": notes})
        return
    shown = "standard input" if table == STANDARD else table
    print(f"{len(frame):,} rows, {len(found)} columns in {shown}.\n")
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
        print(f"\n{note}")


def _remark(column: dict[str, Any]) -> str:
    return f"not used: {column['note']}" if column["dropped"] else column["note"]


def _count(n: int) -> str:
    return f"{n:,}" if n else "-"


def _short(text: str, most: int = 24) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."


def sql(model: str, table: str, dialect: str, labelled: str | None, output: str | None) -> None:
    """Print or write a query that scores every row of a table."""
    from sarlearn.saving import load_file
    from sarlearn.sql import to_sql
    from sarlearn.tables.write import write_atomically

    scores = to_sql(load_file(model).model, dialect, labelled=labelled)
    query = scores.select(table.split("."))
    if output is None:
        print(query)
        return
    with write_atomically(output) as unfinished:
        unfinished.write_text(query + "\n", encoding="utf-8")
    print(f"Wrote {output}.")


def demo(report_path: str) -> None:
    """Run the demonstration and write its report."""
    from rich.console import Console

    from sarlearn.demo import run_demo
    from sarlearn.reporting import report

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 100
    result = run_demo(console=console)
    page = report(
        result["model"],
        result["X"],
        result["s"],
        feature_names=result["feature_names"],
        source="handwritten digits",
        label="even",
    )
    page.save(report_path)
    print(f"Wrote {report_path}.")
