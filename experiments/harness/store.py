"""Where results are kept: an append-only log of cells, and the tracked tables made from it."""

import csv
import fcntl
import hashlib
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .cells import Cell

ERROR = "error"


class Log:
    """Finished cells, one JSON object a line, appended and flushed as they finish.

    A process killed while it wrote leaves half a line; it is cut off when the log is opened again,
    and that cell runs again.
    """

    def __init__(self, directory: Path):
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / "cells.jsonl"
        self._lock = (directory / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise RuntimeError(
                f"Another run is writing to {directory}: wait for it, or choose another --runs."
            ) from None
        self.entries: dict[str, dict[str, Any]] = {}
        self._stream = self.path.open("a+b")
        self._read()

    def _read(self) -> None:
        self._stream.seek(0)
        whole = 0
        for line in self._stream:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            entry = json.loads(line)
            self.entries[entry["cell"]] = entry
        self._stream.truncate(whole)

    def append(
        self, cell: Cell, result: Mapping[str, Any], *, sync: bool = True, **about: Any
    ) -> None:
        """Add a finished cell; ``sync`` waits until it is on the disk."""
        entry = {"cell": cell.name, "result": dict(result), **about}
        self.entries[cell.name] = entry
        self._stream.write(json.dumps(entry).encode() + b"\n")
        if sync:
            self._stream.flush()
            os.fsync(self._stream.fileno())

    def __contains__(self, cell: Cell) -> bool:
        return cell.name in self.entries

    def failed(self, cell: Cell) -> bool:
        return ERROR in self.entries.get(cell.name, {}).get("result", {})

    def result(self, cell: Cell) -> dict[str, Any]:
        return self.entries[cell.name]["result"]

    def close(self) -> None:
        self._stream.close()
        self._lock.close()

    def __enter__(self) -> "Log":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def table_text(cells: Sequence[Cell], log: Log) -> str:
    """The finished cells as CSV: fields, results, error; sorted, so the order of running is gone.

    Numbers are written with every digit.
    """
    done = [cell for cell in cells if cell in log]
    columns = list(dict.fromkeys(key for cell in done for key in cell.fields))
    results = list(dict.fromkeys(key for cell in done for key in log.result(cell) if key != ERROR))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*columns, *sorted(results), ERROR])
    rows = (
        [_text(cell.fields.get(key)) for key in columns]
        + [_text(log.result(cell).get(key)) for key in (*sorted(results), ERROR)]
        for cell in done
    )
    writer.writerows(sorted(rows))
    return buffer.getvalue()


def adopt(cells: Sequence[Cell], path: Path, log: Log) -> int:
    """Take finished cells from a tracked table into the log; the number taken.

    Of the time that the table's cells took, ``coverage.csv`` knows the sum: each gets its share.
    """
    if not path.exists():
        return 0
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    taken, (seconds, timed) = 0, _time_of(path)
    fields = list(dict.fromkeys(key for cell in cells for key in cell.fields))
    known = {tuple(row.get(key, "") for key in fields): row for row in rows}
    for cell in cells:
        row = known.get(tuple(_text(cell.fields.get(key)) for key in fields))
        if row is None or cell in log or row[ERROR]:
            continue
        result = {
            key: json.loads(value)
            for key, value in row.items()
            if key not in fields and key != ERROR and value
        }
        about = {"seconds": seconds / timed} if taken < timed else {}
        log.append(cell, result, sync=False, adopted=path.name, **about)
        taken += 1
    return taken


def _time_of(table: Path) -> tuple[float, int]:
    """Core seconds of the cells of a table, and of how many of them."""
    path = table.with_name("coverage.csv")
    if path.exists():
        with path.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                if row["experiment"] == table.stem:
                    return float(row["core_seconds"]), int(row.get("timed") or row["finished"])
    return 0.0, 0


def update_coverage(path: Path, plan: Mapping[str, Sequence[Cell]], log: Log) -> None:
    """What of each experiment is planned, finished and failed, and the time its cells took.

    ``timed`` counts the cells whose time is known. Experiments that this run did not look at keep
    their line.
    """
    columns = ["experiment", "planned", "finished", "failed", "core_seconds", "timed"]
    lines: dict[str, list[Any]] = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as stream:
            lines = {row[0]: row for row in list(csv.reader(stream))[1:]}
    for name, cells in plan.items():
        done = [cell for cell in cells if cell in log]
        failed = sum(log.failed(cell) for cell in done)
        seconds = [log.entries[cell.name].get("seconds") for cell in done]
        timed = [number for number in seconds if number is not None]
        lines[name] = [name, len(cells), len(done), failed, round(sum(timed)), len(timed)]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([columns, *lines.values()])
    write_atomically(path, buffer.getvalue())


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write beside the file, then rename: at no time is there half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if isinstance(content, str):
            content = content.encode()
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_all(files: Mapping[Path, str]) -> None:
    """Write the files that a report has made, each by its path."""
    for path, text in files.items():
        write_atomically(path, text)


def code_digest(directories: Iterable[Path]) -> str:
    """A short fingerprint of the code that measures, kept with each cell."""
    digest = hashlib.sha256()
    for directory in directories:
        for path in sorted(directory.rglob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]
