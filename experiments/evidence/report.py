"""The write-up of the study of evidence: ``python -m experiments report evidence``."""

from pathlib import Path

import numpy as np

from ..harness.report_tools import Row, grouped, read_table, table
from ..harness.store import write_all

HERE = Path(__file__).parent
TABLES = HERE / "results" / "audits"
TARGET_EACH, TARGET_MEAN, TARGET_ROWS = 0.035, 0.025, 100

HEAD = """# What a little more evidence is worth

Written by `python -m experiments report evidence` from the tracked tables. Labels alone often
cannot say how many positives are hidden; a few rows that someone checks can.

Every cell draws an audit many times from one labelling of one data set (at most 8,000 rows; three
attributes drive labelling) and compares the class prior with the truth. *Plain share* is a uniform
draw with Wilson's interval; *suggested* is the draw of `suggest_audit` along the posteriors of
`SARClassifier` from labels alone; *top-ranked* takes the rows of highest posterior, for which only
the model can speak. The data sets for the choice of the design and those for the verdict were
written down before the verdict was measured (`audits.toml`); it was measured again when
`SARClassifier` took the place of the learners that gave the posteriors before.
"""


def main() -> None:
    """Write REPORT.md from the tracked tables."""
    write_all(texts())


def texts() -> dict[Path, str]:
    """What the report writes: the text of each file."""
    text = HEAD
    for name, section in (("design", _design), ("verdict", _verdict)):
        path = TABLES / f"{name}.csv"
        rows = [row for row in read_table(path) if row.get("rmse")] if path.exists() else []
        if rows:
            text += section(rows)
    path = HERE / "results" / "chances" / "chances.csv"
    if path.exists():
        text += _chances([row for row in read_table(path) if row.get("deviation")])
    return {HERE / "REPORT.md": text}


def _design(rows: list[Row]) -> str:
    text = "\n## The choice of the design\n\n"
    text += "Root mean squared error over data sets, labellings and draws; coverage of the 95 % "
    text += (
        "interval. *mixed k* is half Neyman allocation, half uniform, in k strata; the rule that "
    )
    text += "was kept (*suggested*) takes a tenth of the rows as strata, at most ten.\n\n"
    lines = []
    for design, own in grouped(rows, "design").items():
        line = [design]
        for n in _sizes(rows):
            part = [row for row in own if row["rows"] == n]
            line += [f"{_rmse(part):.4f}", f"{_mean(part, 'coverage'):.1%}"]
        lines.append(line)
    head = ["design"]
    for n in _sizes(rows):
        head += [f"error, {n} rows", "coverage"]
    return text + table(head, lines)


def _verdict(rows: list[Row]) -> str:
    text = "\n## The verdict\n\n### Root mean squared error of the class prior\n\n"
    only = _root([abs(float(r["labels_only_error"])) for r in _once(rows)])
    text += f"From labels alone the error is {only:.3f}.\n\n"
    head = ["design", *(f"{n} rows" for n in _sizes(rows))]
    lines = [
        [design, *(f"{_rmse([r for r in own if r['rows'] == n]):.3f}" for n in _sizes(rows))]
        for design, own in grouped(rows, "design").items()
    ]
    text += table(head, lines)
    text += "\n### Coverage of the 95 % interval, and its width\n\n"
    lines = []
    for design, own in grouped(rows, "design").items():
        if design == "top-ranked":
            continue
        line = [design]
        for n in _sizes(rows):
            part = [r for r in own if r["rows"] == n and r.get("coverage")]
            line.append(f"{_mean(part, 'coverage'):.1%}, {_mean(part, 'width'):.3f}")
        lines.append(line)
    text += table(head, lines)
    return text + _by_dataset(rows) + _targets(rows)


def _by_dataset(rows: list[Row]) -> str:
    n = str(TARGET_ROWS)
    text = f"\n### By data set, {n} rows\n\n"
    lines = []
    for dataset, own in grouped(rows, "dataset").items():
        at = [row for row in own if row["rows"] == n]
        plain = _rmse([r for r in at if r["design"] == "uniform"])
        good = [r for r in at if r["design"] == "suggested"]
        lines.append(
            [
                dataset,
                f"{float(at[0]['class_prior']):.3f}",
                f"{_root([float(r['labels_only_error']) for r in _once(own)]):.3f}",
                f"{plain:.3f}",
                f"{_rmse([r for r in at if r['design'] == 'top-ranked']):.3f}",
                f"{_rmse(good):.3f}",
                f"{_mean([r for r in good if r.get('coverage')], 'coverage'):.1%}",
                f"{_saving(own):.2f}",
            ]
        )
    head = ["data set", "class prior", "labels alone", "plain share", "top-ranked", "suggested"]
    head += ["coverage", "rows needed, of the plain share's"]
    return text + table(head, lines)


def _targets(rows: list[Row]) -> str:
    n = str(TARGET_ROWS)
    good = [r for r in rows if r["design"] == "suggested" and r["rows"] == n]
    by_set = {d: _rmse(own) for d, own in grouped(good, "dataset").items()}
    missed = [f"{d} ({v:.3f})" for d, v in by_set.items() if v > TARGET_EACH]
    covered = [r for r in rows if r["design"] == "suggested" and r.get("coverage")]
    shares = {s: _mean([r for r in covered if r["rows"] == s], "coverage") for s in _sizes(rows)}
    savings = {d: _saving(own) for d, own in grouped(rows, "dataset").items()}
    half = sum(value <= 0.5 for value in savings.values())
    ranges = ", ".join(f"{share:.1%} ({size})" for size, share in shares.items())
    lines = [
        [
            f"error at most {TARGET_EACH} on every data set",
            "reached" if not missed else f"missed on {', '.join(missed)}",
        ],
        [
            f"error at most {TARGET_MEAN} on average",
            f"{np.mean(list(by_set.values())):.4f}",
        ],
        ["the 95 % interval covers 93 to 97 %", ranges],
        [
            "half as many rows as the plain share on half of the data sets",
            f"{half} of {len(savings)}",
        ],
    ]
    text = "\n### Targets, with 100 suggested rows\n\n" + table(["target", "found"], lines)
    bounds = {
        dataset: _root([float(r["least_error"]) for r in own if r["least_error"]])
        for dataset, own in grouped(good, "dataset").items()
        if own[0].get("least_error")
    }
    for dataset, bound in bounds.items():
        text += (
            f"\nOn {dataset}, whose true posteriors are known because its rows are simulated, no "
            f"unbiased estimate from {n} rows of any design has an error below {bound:.4f} on "
            "average over the classes (Godambe and Joshi 1965): only an estimate that trusts a "
            "model can do better.\n"
        )
    return text


def _chances(rows: list[Row]) -> str:
    text = "\n## Several chances to be labelled\n\n"
    text += (
        "`RepeatedSARClassifier` on real rows and classes with simulated labels; its class model "
    )
    text += "is logistic, so it is wrong to some extent. Root mean squared error of the class "
    text += "prior, and in how many cells its 95 % range holds the truth.\n\n"
    numbers = sorted({row["chances"] for row in rows}, key=int)
    lines = []
    for dataset, own in [*grouped(rows, "dataset").items(), ("all", rows)]:
        line = [dataset]
        for number in numbers:
            part = [row for row in own if row["chances"] == number]
            error, held = _root([float(r["deviation"]) for r in part]), _mean(part, "covers")
            line.append(f"{error:.3f}, {held:.0%} of {len(part)}")
        lines.append(line)
    head = [f"{number} chance" + "s" * (number != "1") for number in numbers]
    return text + table(["data set", *head], lines)


def _saving(rows: list[Row]) -> float:
    """Suggested rows that are needed for the plain share's error, by the ratio of variances."""
    found = []
    for n in ("50", "100", "200"):
        at = [r for r in rows if r["rows"] == n]
        plain = _rmse([r for r in at if r["design"] == "uniform"])
        good = _rmse([r for r in at if r["design"] == "suggested"])
        found.append((good / plain) ** 2 if plain > 0 else np.nan)
    return float(np.nanmean(found))


def _sizes(rows: list[Row]) -> list[str]:
    return sorted({row["rows"] for row in rows}, key=int)


def _once(rows: list[Row]) -> list[Row]:
    """One row per labelling."""
    return list({(row["dataset"], row["labelling"]): row for row in rows}.values())


def _rmse(rows: list[Row]) -> float:
    return _root([float(row["rmse"]) for row in rows])


def _root(values) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if len(values) else np.nan


def _mean(rows: list[Row], name: str) -> float:
    return float(np.mean([float(row[name]) for row in rows])) if rows else np.nan
