"""The write-up of the benchmark of SAR learners: ``python -m experiments report sar_learners``.

Every number comes from the tracked tables, with the number of cells it rests on.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ..harness.report_tools import (
    Cells,
    Row,
    cell_values,
    differences,
    grouped,
    mean,
    read_table,
    table,
)
from ..harness.store import write_all
from .learners import ATTRIBUTES, METHODS
from .peers import TIME_LIMIT

HERE = Path(__file__).parent
TABLES = HERE / "results" / "benchmark"
MECHANISMS = {
    "weak": "the attribute that says least about the class",
    "along": "the attribute that says most, along the class",
    "against": "the same, against the class",
    "rising": "rising with P(y=1|x): all attributes",
    "scar": "the same for all",
    "three": "three attributes, as in the paper",
}
SCORES = {
    "accuracy": "accuracy",
    "f1_at_half": "F1 at 0.5",
    "f1": "prob. F1",
    "auc": "AUC",
    "log_loss": "log loss",
    "brier": "Brier",
    "prior_error": "prior error",
    "propensity_error": "error of e",
    "cpu_seconds": "CPU s",
}
HEAD = """\
# Learners from biased labels against each other

At most {max_rows:,} rows, four fifths to learn from, scores on the rest with the true classes.
Only SAR-e is told the propensity; SAR-EM, the cross-fit, joint and pysarpu are told which
attributes it depends on; the others need not know. Errors of prior and propensity are absolute.
Standard errors, over data sets and labellings, in brackets: they tell cells apart, so methods are
compared by paired differences. Rows, labels and the split are the same for all methods.
`weighting` is inverse-propensity weighting with SAR-EM's propensity; `joint` is maximum likelihood
(decay 1). A fit of another package fails when it raises, or takes more than {limit:g} s.
"""

CELL = ("dataset", "mechanism", "repeat")


def main(tables: Path = TABLES, output: Path = HERE) -> str:
    """Write REPORT.md and the figures; the text."""
    from .plot import draw

    found = texts(tables, output)
    write_all(found)
    draw(read(tables), output / "figures")
    return found[output / "REPORT.md"]


def texts(tables: Path = TABLES, output: Path = HERE) -> dict[Path, str]:
    """What the report writes: the text of each file."""
    rows = read(tables)
    mechanisms = [row for row in rows if row["told"] == "true" and row["mechanism"] != "three"]
    three = [row for row in rows if row["told"] == "true" and row["mechanism"] == "three"]
    most = max(int(row["max_rows"]) for row in rows)
    text = HEAD.format(max_rows=most, limit=TIME_LIMIT) + coverage(rows)
    text += "\n## By mechanism\n"
    for name in MECHANISMS:
        chosen = [row for row in mechanisms if row["mechanism"] == name]
        if chosen:
            text += f"\n### {name}: {MECHANISMS[name]}\n" + by_method(chosen)
    if mechanisms:
        text += "\n## All five mechanisms: accuracy by data set\n" + by_dataset(mechanisms)
        text += "\n![Accuracy against SAR-e](figures/accuracy.png)\n"
    if three:
        text += "\n## Three propensity attributes, pairs of newsgroups\n" + by_method(three)
    text += "\n## Paired differences\n" + paired(mechanisms, three)
    wrong = [row for row in rows if row["mechanism"] == "three"]
    if any(row["told"] != "true" for row in wrong):
        text += "\n## What wrong attributes cost\n" + wrong_attributes(wrong)
        text += "\n![The cost of wrong attributes](figures/wrong_attributes.png)\n"
    return {output / "REPORT.md": text}


def read(folder: Path) -> list[Row]:
    """Every measured cell once, in the order of METHODS."""
    found: dict[tuple, Row] = {}
    for path in sorted(folder.glob("*.csv")):
        for row in read_table(path):
            if "method" in row and "told" in row:
                found[tuple(row[name] for name in (*CELL, "told", "method"))] = row
    if not found:
        raise FileNotFoundError(f"There are no tables in {folder.name}; run the grid first.")
    return sorted(found.values(), key=lambda row: METHODS.index(row["method"]))


def values(rows: Iterable[Row], score: str) -> Cells:
    """By cell; errors without their sign."""
    return cell_values(rows, CELL, score, absolute=True)


def coverage(rows: list[Row]) -> str:
    """Cells and failures of each method, with the first failure in its words."""
    lines = []
    for method, chosen in grouped(rows, "method").items():
        failed = [row for row in chosen if row["error"]]
        if failed:
            words = " ".join(failed[0]["error"].split())[:120].replace("|", "/")
            lines.append([method, str(len(chosen)), str(len(failed)), words])
    text = f"\n{len(rows)} cells were measured, {sum(bool(row['error']) for row in rows)} failed.\n"
    return text + (table(["method", "cells", "failed", "first failure"], lines) if lines else "")


def by_method(rows: list[Row]) -> str:
    lines = []
    for method, chosen in grouped(rows, "method").items():
        done = [row for row in chosen if not row["error"]]
        lines.append(
            [method, str(len(done))]
            + [mean(values(done, score).values()) for score in list(SCORES)[:-1]]
            + [f"{np.mean(list(values(done, 'cpu_seconds').values())):.2f}" if done else "-"]
        )
    return table(["method", "cells", *SCORES.values()], lines)


def by_dataset(rows: list[Row]) -> str:
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    lines = []
    for method, chosen in grouped(rows, "method").items():
        by_name = grouped(chosen, "dataset")
        lines.append(
            [method, *(mean(values(by_name[name], "accuracy").values()) for name in names)]
        )
    return table(["method", *names], lines)


def paired(mechanisms: list[Row], three: list[Row]) -> str:
    """Each method minus SAR-EM in the cells that both have."""
    lines = []
    for method in METHODS:
        line = [method]
        for rows in (mechanisms, three):
            by_name = grouped(rows, "method")
            for score in ("accuracy", "log_loss", "prior_error"):
                own, base = values(by_name[method], score), values(by_name["SAR-EM"], score)
                line.append(mean(differences(own, base)))
        if method != "SAR-EM" and set(line[1:]) != {"-"}:
            lines.append(line)
    scores = ["accuracy", "log loss", "prior error"]
    head = ["minus SAR-EM", *(f"five mechanisms: {name}" for name in scores)]
    return table(head + [f"three attributes: {name}" for name in scores], lines)


def wrong_attributes(rows: list[Row]) -> str:
    """By what the learner is told; and the paired difference from the truth."""
    scores = ("accuracy", "f1_at_half", "f1", "prior_error", "propensity_error")
    lines = []
    told_by_method = {
        method: grouped(chosen, "told") for method, chosen in grouped(rows, "method").items()
    }
    for method, by_told in told_by_method.items():
        if len(by_told) < 2:
            continue
        for told in (name for name in ATTRIBUTES if name in by_told):
            line = [method, told, str(len(by_told[told]))]
            line += [mean(values(by_told[told], score).values()) for score in scores]
            own, truth = values(by_told[told], "accuracy"), values(by_told["true"], "accuracy")
            lines.append([*line, "" if told == "true" else mean(differences(own, truth))])
    head = ["method", "told", "cells", *(SCORES[score] for score in scores)]
    return table([*head, "accuracy minus that of the truth"], lines)
