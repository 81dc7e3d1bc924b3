"""Results on disk: one CSV per part, rows replaced by key, written whole or not at all."""

import csv
import os
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"
KEYS = {
    "workloads": ("workload", "method"),
    "scaling": ("rows", "method", "dtype"),
    "startup": ("what",),
    "machine": ("what",),
    "dask": ("case", "rows", "workers"),
    "users": ("case", "step", "rows", "columns"),
    "learner": ("case",),
}


def load(part: str, folder: Path) -> list[dict[str, str]]:
    """Rows of a part as text; none where it was never run."""
    path = folder / f"{part}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def merge(part: str, rows: list[dict], folder: Path) -> None:
    """Put rows in the place of those with the same key, keep the others."""
    table = {_key(part, row): row for row in load(part, folder)}
    table |= {_key(part, row): {n: _text(v) for n, v in row.items()} for row in rows}
    names = list(dict.fromkeys(name for row in table.values() for name in row))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{part}.csv"
    partial = path.with_suffix(".partial")
    with partial.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(table.values())
    os.replace(partial, path)


def write_text(path: Path, text: str) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    os.replace(partial, path)


def number(row: dict | None, name: str) -> float | None:
    """A field as a number, or None where there is none."""
    text = (row or {}).get(name, "")
    return float(text) if text not in ("", None) else None


def _key(part: str, row: dict) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in KEYS[part])


def _text(value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
