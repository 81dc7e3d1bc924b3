"""Results for people: tables in the terminal, README.md and the figure, all from the CSVs.

``python -m benchmarks.report`` writes them again without running anything.
"""

from pathlib import Path

from rich.console import Console
from rich.table import Table as TerminalTable

from benchmarks import plot, store
from benchmarks.dask_tables import dask_tables
from benchmarks.tables import Table, tables

INTRODUCTION = """# Benchmarks

Written by `python -m benchmarks.run` (`make bench`) from the files in `results/`; do not edit.
`make bench QUICK=1` takes under three minutes, writes to `results/quick` and prints;
`python -m benchmarks.run --only c small` runs parts alone; real data sets take part where
`SARLEARN_DATA` names a folder with them.

Contestants, all in one run: **naive** works the way the published code does (liblinear, data
stacked twice, cold start in every M-step; the paper's start, decay and stop rule); **pysarpu**
0.1.0 from PyPI; **sarlearn** with `stop="slope"`, the paper's rule, and with `stop="fixed_point"`,
which runs until EM stands still. The published code takes dense arrays only, so the naive way
unpacks sparse data where they fit; beside it the same with the data kept sparse.

The machine was shared while this ran: CPU seconds of the process, the best of several runs, are
compared; wall seconds say less. Every measurement is a process of its own.

![Times faster than the naive way by workload, and CPU seconds against rows](results/benchmarks.png)
"""


def show(folder: Path, console: Console) -> None:
    """Print the tables that fit a terminal."""
    for table in [*tables(folder), *dask_tables(folder)]:
        if len(table.header) > 10:
            continue
        out = TerminalTable(*table.header, title=table.title, title_justify="left")
        for row in table.rows:
            out.add_row(*(cell.replace("**", "") for cell in row))
        console.print(out)


def write(folder: Path) -> None:
    """Write README.md and the figure."""
    plot.draw(folder)
    text = "\n".join([INTRODUCTION, *map(_markdown, [*tables(folder), *dask_tables(folder)])])
    store.write_text(store.HERE / "README.md", text)


def _markdown(table: Table) -> str:
    lines = [f"## {table.title}", ""]
    if table.note:
        lines += [table.note, ""]
    lines += [_line(table.header), _line(["---"] * len(table.header))]
    lines += [_line(row) for row in table.rows]
    return "\n".join(lines) + "\n"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


if __name__ == "__main__":
    write(store.RESULTS)
