"""The write-up of ideas for the cross-fit: ``python -m experiments.crossfit_ideas_report``.

Every number comes from the tracked tables; only the order of events is told in words.
"""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from .crossfit_report import _mean, _table
from .store import write_atomically

HERE = Path(__file__).parent / "results" / "crossfit_ideas"
CELL = ("dataset", "max_rows", "label_frequency", "repeat")

EVENTS = """\
# Ideas to improve the cross-fit

- **annealed**: the first step's decay rises from 0.9 to 1 over 50 EM iterations, after SAR-EM has
  settled at 0.9; **rising**: the same from the first iteration on. Then EM runs to its end at 1.
- **Firth**: the label model's likelihood times the root of the determinant of its information.
- **entropy**: so many times the entropy of the class probabilities is added to the label model's
  loss, for local certainty.
- **C growing with n**: is the best penalty of the first step another one with more rows?

Rule: an idea that beats the library's way on the design seeds by two standard errors of the paired
difference goes to fresh seeds; one that does not is dropped. What gains as much there, and worsens
neither propensity nor log loss by as much, goes into the library. Rows, labels and folds are the same
for all methods of a cell. Differences below zero are gains; standard errors in brackets.
"""


def main() -> None:
    text = EVENTS
    for name, title in (
        ("design_prior", "Design: class prior under SCAR, mean absolute error"),
        ("design_three_attributes", "Design: three propensity attributes"),
        ("design_rows_words", "Design: penalty of the first step by number of rows, newsgroups"),
        ("design_rows", "Design: penalty of the first step by number of rows, tables"),
        ("verdict_prior", "Verdict on fresh seeds: class prior under SCAR, mean absolute error"),
        ("verdict_three_attributes", "Verdict on fresh seeds: three propensity attributes"),
    ):
        rows = [row for row in _read(name) if row.get("prior_error")]
        if rows:
            text += f"\n## {title}\n"
            text += _by_rows(rows) if "rows" in name else _against(rows)
    write_atomically(HERE / "REPORT.md", text)
    print(text)


def _read(name: str) -> list[dict[str, str]]:
    path = HERE / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _methods(rows, name: str) -> dict[str, dict[tuple, float]]:
    found: dict[str, dict[tuple, float]] = defaultdict(dict)
    for row in rows:
        if row.get(name):
            value = float(row[name])
            found[row["method"]][tuple(row[key] for key in CELL)] = abs(value)
    return found


def _against(rows) -> str:
    """Each method's mean, and its paired difference to the one it would replace."""
    names = {
        "prior_error": "prior error",
        "propensity_error": "error of e",
        "log_loss": "log loss",
        "cpu_seconds": "CPU s",
    }
    tables = {name: _methods(rows, name) for name in names}
    used = [name for name in names if tables[name]]
    lines = []
    for method, cells in tables["prior_error"].items():
        line = [method, str(len(cells))]
        base = "cross-fit" if method.startswith("cross-fit") else "SAR-EM, C=10"
        for name in used:
            values = tables[name][method]
            line.append(f"{np.mean(list(values.values())):.4f}")
            against = tables[name][base]
            both = [cell for cell in values if cell in against]
            if name != "cpu_seconds":
                same = method == base or len(both) < 2
                line.append("" if same else _mean(values[c] - against[c] for c in both))
        lines.append(line)
    head = ["method", "cells"]
    for name in used:
        head += [names[name]] + (["difference"] if name != "cpu_seconds" else [])
    return _table(head, lines)


def _by_rows(rows) -> str:
    """Mean absolute error of the class prior for each penalty and number of rows."""
    error = _methods(rows, "prior_error")
    sizes = sorted({cell[1] for cells in error.values() for cell in cells}, key=int)
    lines = [
        [method] + [_mean(v for cell, v in cells.items() if cell[1] == size) for size in sizes]
        for method, cells in error.items()
    ]
    return _table(["method", *(f"{int(size):,} rows" for size in sizes)], lines)


if __name__ == "__main__":
    main()
