"""What write-ups of studies share: tracked tables, means, markdown, paired differences."""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

Row = dict[str, str]
Cells = dict[tuple[str, ...], float]


def read_table(path: Path) -> list[Row]:
    """Every row of a tracked table, as it was written."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def sections(
    folder: Path, titles: Mapping[str, str], score: str, body: Callable[[str, list[Row]], str]
) -> str:
    """A section for each table named, of its rows that have the score; none before it has any."""
    text = ""
    for name, title in titles.items():
        path = folder / f"{name}.csv"
        rows = [row for row in read_table(path) if row.get(score)] if path.exists() else []
        if rows:
            text += f"\n## {title}\n" + body(name, rows)
    return text


def grouped(rows: Iterable[Row], name: str) -> dict[str, list[Row]]:
    """Rows by what a column holds; no row for what it does not hold."""
    found = defaultdict(list)
    for row in rows:
        found[row[name]].append(row)
    return found


def cell_values(
    rows: Iterable[Row], key: Sequence[str], score: str, *, absolute: bool = False
) -> Cells:
    """``{cell: value}`` for rows that have the score; the columns of the key tell cells apart."""
    found = {tuple(row[name] for name in key): float(row[score]) for row in rows if row.get(score)}
    return {cell: abs(value) for cell, value in found.items()} if absolute else found


def by_method(
    rows: Iterable[Row], key: Sequence[str], score: str, *, absolute: bool = False
) -> dict[str, Cells]:
    """``{method: {cell: value}}`` for rows that have the score; other methods have no cells."""
    there = [row for row in rows if row.get(score)]
    found: dict[str, Cells] = defaultdict(dict)
    for method, chosen in grouped(there, "method").items():
        found[method] = cell_values(chosen, key, score, absolute=absolute)
    return found


def differences(own: Cells, base: Cells) -> list[float]:
    """Paired, in the cells that both have."""
    return [value - base[cell] for cell, value in own.items() if cell in base]


def mean(numbers: Iterable[float], none: str = "-", digits: int = 3) -> str:
    """``mean (standard error)``; a single one has none, and what to say of no numbers is given."""
    found = np.asarray(list(numbers))
    if not len(found):
        return none
    if len(found) == 1:
        return f"{found[0]:.{digits}f}"
    return f"{found.mean():.{digits}f} ({standard_error(found):.{digits}f})"


def standard_error(numbers) -> float:
    """Of the mean of independent numbers."""
    return float(np.std(numbers, ddof=1) / len(numbers) ** 0.5)


def table(head: list[str], lines: list[list[str]]) -> str:
    """In markdown."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n" + "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"
