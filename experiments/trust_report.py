"""The write-up and figures of the simulations: ``python -m experiments.trust_report``.

Every number comes from the tracked tables, with the number of runs it rests on.
"""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from .store import write_atomically

HERE = Path(__file__).parent / "results" / "trust"
SCORES = ["recall", "precision", "f1", "accuracy", "brier", "roc_auc", "average_precision"]


def main(folder: Path = HERE) -> str:
    parts = ["# Can the checks be trusted?\n"]
    parts += [_coverage(folder)]
    parts += [
        _rejections(folder, "size_500", "Size of the SCAR test, n = 500"),
        _rejections(folder, "size_5000", "Size of the SCAR test, n = 5,000"),
        _rejections(folder, "power", "Power of the SCAR test"),
        _rejections(folder, "misspecified", "SCAR data whose class model is wrong, or separated"),
        _selection(
            folder, "selection", "Selection on newsgroups, three attributes drive labelling"
        ),
        _selection(folder, "selection_tables", "Selection on tables, flexible class model"),
        _intervals(folder, "intervals", "Intervals, decay 1"),
        _intervals(folder, "intervals_decayed", "Intervals, decay 0.9"),
        _scores(folder),
    ]
    text = "\n".join(part for part in parts if part)
    write_atomically(folder / "REPORT.md", text)
    return text


def _read(folder: Path, name: str) -> list[dict[str, str]]:
    path = folder / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return [row for row in csv.DictReader(stream) if not row.get("error")]


def _table(title: str, header: list[str], rows: list[list[str]]) -> str:
    if not rows:
        return f"## {title}\n\nNot measured yet.\n"
    lines = [" | ".join(header), " | ".join("---" for _ in header)]
    lines += [" | ".join(row) for row in rows]
    return f"## {title}\n\n" + "\n".join(f"| {line} |" for line in lines) + "\n"


def _coverage(folder: Path) -> str:
    path = folder / "coverage.csv"
    if not path.exists():
        return ""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))[1:]
    header = ["experiment", "cells planned", "finished", "failed", "core seconds"]
    return _table("What was run", header, rows)


def _share(count: float, total: float) -> str:
    """A share with its binomial standard error, and the number of data sets."""
    p = count / total
    return f"{p:.1%} ± {np.sqrt(p * (1 - p) / total):.1%}"


def _rejections(folder: Path, name: str, title: str) -> str:
    counts: dict[tuple, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in _read(folder, name):
        key = (row["generator"], int(row["n_rows"]), row["label_frequency"], row["attributes"])
        counts[key][0] += float(row["rejected"])
        counts[key][1] += float(row["tested"])
    rows = [
        [generator, f"{n:,}", c, attributes, _share(*counts[key]), f"{counts[key][1]:.0f}"]
        for key in sorted(counts)
        for generator, n, c, attributes in [key]
    ]
    header = ["generator", "n", "label frequency", "attributes", "rejected at 5 %", "data sets"]
    return _table(title, header, rows)


def _selection(folder: Path, name: str, title: str) -> str:
    groups: dict[str, list[dict[str, str]]] = defaultdict(list)
    found = _read(folder, name)
    for row in found:
        kind = "none drives labelling" if row["n_true"] == "0" else "some do"
        groups[f"{row['dataset']}, {kind}" if name == "selection_tables" else "all pairs"].append(
            row
        )
    rows = []
    for group, cells in sorted(groups.items()):
        true, false = (np.mean([float(c[k]) for c in cells]) for k in ("true_found", "false_found"))
        exact = sum(c["exact"] == "true" for c in cells)
        rows.append(
            [group, f"{true:.2f}", f"{false:.2f}", _share(exact, len(cells)), str(len(cells))]
        )
    return _table(title, ["data", "true found", "false", "exact set", "runs"], rows)


def _intervals(folder: Path, name: str, title: str) -> str:
    found = _read(folder, name)
    total = sum(float(row["tested"]) for row in found)
    rows = []
    for quantity in ("class_prior", "label_frequency"):
        for method in ("bca", "percentile", "information"):
            key = f"{quantity}_{method}"
            cells = [row for row in found if row.get(key)]
            if not cells:
                continue
            hits = sum(float(row[key]) for row in cells)
            width = np.mean([float(row[f"{key}_width"]) for row in cells])
            error = np.mean([float(row[f"{quantity}_error"]) for row in cells])
            rows.append(
                [
                    quantity.replace("_", " "),
                    method,
                    _share(hits, total),
                    f"{width:.3f}",
                    f"{error:+.4f}",
                    f"{total:.0f}",
                ]
            )
    header = ["quantity", "interval", "coverage of 95 %", "mean width", "mean error", "data sets"]
    return _table(title, header, rows)


def _scores(folder: Path) -> str:
    found = _read(folder, "scores")
    rows = []
    for score in SCORES if found else []:
        line = [score.replace("_", " ")]
        for kind in ("true", "estimated"):
            n = np.array([float(row["tested"]) for row in found])
            mean = np.array([float(row[f"{kind}_{score}_mean"]) for row in found])
            inside = np.array([float(row[f"{kind}_{score}_variance"]) for row in found])
            total = n.sum()
            bias = float(n @ mean / total)
            variance = ((n - 1) @ inside + n @ (mean - bias) ** 2) / (total - 1)
            line += [f"{bias:+.4f}", f"{bias / np.sqrt(variance / total):+.1f}"]
            line += [f"{np.sqrt(variance):.4f}"]
        rows.append([*line, f"{n.sum():.0f}"])
    header = ["score"]
    for kind in ("true e", "estimated e"):
        header += [f"bias, {kind}", "in standard errors", "spread"]
    return _table("Scores without true classes, minus those with", [*header, "data sets"], rows)


if __name__ == "__main__":
    print(main())
