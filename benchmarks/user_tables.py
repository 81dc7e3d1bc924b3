"""Tables of what users wait for, from ``results/users.csv``."""

from pathlib import Path

import numpy as np

from benchmarks.store import load, number
from benchmarks.tables import Table, short

PEAK_MB, MANY_ROWS = 1000, 20_000_000
NOTE = (
    "Written by `python -m benchmarks.users`. CPU and wall seconds, and the largest resident set, "
    "of a process of its own. Cross-fit: CPU in SAR-EM fits of the same rows with C=10. First fit: "
    "CPU seconds by which it is slower than the next, with an empty cache of compiled functions. "
    "SQL: how many times the CPU Python takes for the same scores. Batches: 20 columns of float32 "
    "in Parquet, through the command line."
)

AGAINST_NOTE = (
    "Written by `python -m benchmarks.against TREE/src`, where TREE is a checkout of any earlier "
    "commit; here the last one before the engine was rebuilt. CPU seconds of one fit, the best of "
    "six, both trees by turns in one run; a ratio above 1 is a fit that has become slower. Second "
    "looks are left out, which the earlier tree did not have. The cross-fit is there as it "
    "comes and without the two flexible scores that its estimate is averaged with, which it did "
    "not have either; its own label model has a stronger ridge and pseudo-counts, so its results "
    "differ on purpose, and with fewer than 200 rows per column each fold is fitted from two "
    "starts instead of one. Coefficients: the largest difference, relative to the largest of them."
)


def user_tables(folder: Path) -> list[Table]:
    rows = load("users", folder)
    if not rows:
        return []
    header = ["case", "step", "rows", "columns", "CPU s", "wall s", "peak MB", "ratio", "load"]
    names = ("cpu", "wall", "peak_mb", "ratio", "load")
    lines = [
        [
            row["case"],
            row["step"],
            f"{number(row, 'rows'):,.0f}",
            f"{number(row, 'columns'):,.0f}",
            *("" if number(row, name) is None else short(number(row, name)) for name in names),
        ]
        for row in rows
    ]
    return [Table("What users wait for", header, lines, NOTE), _targets(rows)]


def against_table(folder: Path) -> list[Table]:
    """Fits of this tree beside those of an earlier one, from ``results/against.csv``."""
    header = ["problem", "way", "fit", "CPU s before", "CPU s now", "ratio"]
    header += ["class prior before", "now", "coefficients"]
    lines = [list(row.values()) for row in load("against", folder)]
    return [Table("Against an earlier tree", header, lines, AGAINST_NOTE)] if lines else []


def _targets(rows: list[dict]) -> Table:
    def of(case: str) -> list[dict]:
        return [row for row in rows if row["case"] == case]

    ratios = [number(row, "ratio") for row in of("cross-fit")]
    first = [number(row, "ratio") for row in of("first fit, no cache")]
    peaks = [number(row, "peak_mb") for row in of("batches") if number(row, "rows") >= MANY_ROWS]
    command = [number(row, "cpu") for row in of("command line, Adult")]
    found = [
        (
            "command line, fit and score 100,000 rows of Adult, CPU s",
            10.0,
            command and sum(command),
        ),
        ("cross-fit in SAR-EM fits, mean", 3.0, ratios and float(np.mean(ratios))),
        ("first small fit over the next, CPU s", 1.0, first and max(first)),
        ("20,000,000 x 20 in batches, fit and score, peak MB", PEAK_MB, peaks and max(peaks)),
    ]
    lines = [
        [what, f"<= {goal:g}", short(seen), "met" if seen <= goal else "**missed**"]
        for what, goal, seen in found
        if seen
    ]
    return Table("Targets of what users wait for", ["what", "target", "seen", ""], lines)
