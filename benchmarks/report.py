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
`make bench QUICK=1` takes under three minutes, writes to `results/quick` and prints the table of
limits; `python -m benchmarks.run --only c startup` runs parts alone; real data sets take part where
`SARLEARN_DATA` names a folder with them.

`SARClassifier` is measured in default fits of scikit-learn's learners. The paper's learner has
contestants, all in one run: **naive** works the way the published code does (liblinear, data
stacked twice, cold start in every M-step; the paper's start, decay and stop rule); **pysarpu**
0.1.0 from PyPI; **sarlearn** with `stop="slope"`, the paper's rule, and with `stop="fixed_point"`,
which runs until EM stands still. The published code takes dense arrays only, so the naive way
unpacks sparse data where they fit; beside it the same with the data kept sparse.

The machine was shared while this ran: CPU seconds of the process, the best of several runs, are
compared; wall seconds say less. Every measurement is a process of its own.

numba compiles SAR-EM's pass where a dense matrix has some eight million values: c and e. The
figures of a, b, d and f are of a time when it did so at any size, and of sparse ones; today those
take what stands under NumPy alone.

![Times faster than the naive way by workload, and CPU seconds against rows](results/benchmarks.png)
"""

# What profiles showed, without figures: those that are measured are in the tables.
SHORTFALLS = """## What is missed, what was tried, what it would take

- **SARClassifier.** From 10,000 rows on the unit stops early, which makes 20,000 rows the dearest
  size. A fit of a few hundred rows grows trees nearly all of the time, most of it spent on finding
  splits among bins. Of the memory added to sparse text about half are steps that L-BFGS keeps for
  every fold, and a third copies of the rows. A bootstrap costs up to twice as many fits where both
  boostings count in the average.
- **Against the naive way (a to d).** With the paper's stop every EM iteration has to be gone
  through, one pass each; nothing may be skipped. A pass spends its time on fetching rows from
  memory, then on the E-step, the logits and two gradients. Tried and kept: one fused loop,
  unsigned indices for sparse rows, the propensity's side in the same loop, factors without
  scaling. Tried and dropped, no faster: blocks of four by four in
  registers, sixteen values per logarithm, gradients by columns of a sparse copy. More would take
  fewer passes, and that is `stop="fixed_point"`, which ends nearer the solution in fewer of
  them.
- **Time against rows.** With the paper's stop the exponent is a little above 1, because that
  stop takes more iterations on more rows, and because of the step out of the cache.
- **Two threads, and the bound.** The two cores share their memory's bandwidth with each other
  and with other tenants of the machine, so the same fit takes longer in one hour than in the
  next.
"""


def show(folder: Path, console: Console) -> None:
    """Print the limits, and what came out."""
    for table in _all_tables(folder)[:1]:
        out = TerminalTable(*table.header, title=table.title, title_justify="left")
        for row in table.rows:
            out.add_row(*(cell.replace("**", "") for cell in row))
        console.print(out)


def write(folder: Path) -> None:
    """Write README.md and the figure."""
    plot.draw(folder)
    store.write_text(store.HERE / "README.md", text(folder))


def text(folder: Path) -> str:
    """What README.md says of the tables in a folder."""
    found = _all_tables(folder)
    return "\n".join(
        [INTRODUCTION, *map(_markdown, found[:1]), SHORTFALLS, *map(_markdown, found[1:])]
    )


def _all_tables(folder: Path) -> list[Table]:
    return [*tables(folder), *dask_tables(folder)]


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
