"""The write-up of ideas for the cross-fit: part of ``python -m experiments report crossfit``.

Every number comes from the tracked tables; only the order of events is told in words.
"""

from pathlib import Path

import numpy as np

from ..harness.report_tools import (
    Row,
    by_method,
    differences,
    mean,
    read_table,
    sections,
    standard_error,
    table,
)

HERE = Path(__file__).parent
TABLES = HERE / "results" / "ideas"
CELL = ("dataset", "max_rows", "label_frequency", "repeat")
TITLES = {
    "design_prior": "Design: class prior under SCAR, mean absolute error",
    "design_three_attributes": "Design: three propensity attributes",
    "design_rows_words": "Design: penalty of the first step by number of rows, newsgroups",
    "design_rows": "Design: penalty of the first step by number of rows, tables",
    "verdict_prior": "Verdict on fresh seeds: class prior under SCAR, mean absolute error",
    "verdict_three_attributes": "Verdict on fresh seeds: three propensity attributes",
}

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
neither propensity nor log loss by as much, goes into the library. Rows, labels and folds are the
same for all methods of a cell. Differences below zero are gains; standard errors in brackets.
All of it was measured before the cross-fit's class prior became an average over scores: `cross-fit`
is the library's way of that time.
"""
# What decides, and where: the first must fall, the others must not rise.
DECIDES = (
    ("prior_error", "verdict_prior", "the class prior"),
    ("propensity_error", "verdict_three_attributes", "the propensity"),
    ("log_loss", "verdict_three_attributes", "the log loss"),
)


def report() -> str:
    """The text of IDEAS.md."""
    text = EVENTS + sections(TABLES, TITLES, "prior_error", _section) + _judged()
    return text


def _section(name: str, rows: list[Row]) -> str:
    return _by_rows(rows) if "rows" in name else _against(rows)


def _against(rows: list[Row]) -> str:
    """Each method's mean, and its paired difference to the one it would replace."""
    names = {
        "prior_error": "prior error",
        "propensity_error": "error of e",
        "log_loss": "log loss",
        "cpu_seconds": "CPU s",
    }
    tables = {name: by_method(rows, CELL, name, absolute=True) for name in names}
    used = [name for name in names if tables[name]]
    lines = []
    for method, cells in tables["prior_error"].items():
        line = [method, str(len(cells))]
        base = "cross-fit" if method.startswith("cross-fit") else "SAR-EM, C=10"
        for name in used:
            values = tables[name][method]
            line.append(f"{np.mean(list(values.values())):.4f}")
            if name != "cpu_seconds":
                gaps = differences(values, tables[name][base])
                same = method == base or len(gaps) < 2
                line.append("" if same else mean(gaps, digits=4))
        lines.append(line)
    head = ["method", "cells"]
    for name in used:
        head += [names[name]] + (["difference"] if name != "cpu_seconds" else [])
    return table(head, lines)


def _judged() -> str:
    """The rule, applied to the fresh seeds."""
    text = "\n## Judged by the rule\n"
    for idea in ("cross-fit, Firth", "cross-fit, annealed"):
        found, moves = [], []
        for score, name, what in DECIDES:
            methods = by_method(read_table(TABLES / f"{name}.csv"), CELL, score, absolute=True)
            gaps = differences(methods[idea], methods["cross-fit"])
            moves.append(np.mean(gaps) / standard_error(gaps))
            found.append(f"{what} {mean(gaps, digits=4)}, {moves[-1]:+.1f} standard errors")
        taken = moves[0] <= -2 and max(moves[1:]) < 2
        verdict = "goes into the library" if taken else "stays out"
        text += f"\n- **{idea}** {verdict}: {'; '.join(found)}."
    return text + "\n"


def _by_rows(rows: list[Row]) -> str:
    """Mean absolute error of the class prior for each penalty and number of rows."""
    error = by_method(rows, CELL, "prior_error", absolute=True)
    sizes = sorted({cell[1] for cells in error.values() for cell in cells}, key=int)
    lines = [
        [method]
        + [
            mean((v for cell, v in cells.items() if cell[1] == size), none="nan (nan)")
            for size in sizes
        ]
        for method, cells in error.items()
    ]
    return table(["method", *(f"{int(size):,} rows" for size in sizes)], lines)
