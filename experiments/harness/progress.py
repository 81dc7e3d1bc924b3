"""How far a run is, and the time left, on a terminal or as lines in a log file."""

import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from .cells import Cell
from .store import ERROR, Log

SECONDS_BETWEEN_LINES = 30.0
SECONDS_BETWEEN_ESTIMATES = 2.0


class TimeLeft:
    """Predicts the time of the cells to come from that of cells of the same kind.

    A cell of Cover Type takes a hundred times one of Breast Cancer, so a mean over all would be
    wrong for most of the run. Kinds are compared from special to general: the same data set and
    method, the same method, the same module, any.
    """

    def __init__(self) -> None:
        self._sums: dict[tuple, list[float]] = defaultdict(lambda: [0.0, 0.0])

    @staticmethod
    def _kinds(cell: Cell) -> list[tuple]:
        method, data = cell.fields.get("method"), cell.fields.get("dataset")
        return [(cell.module, method, data), (cell.module, method), (cell.module,), ()]

    def add(self, cell: Cell, seconds: float) -> None:
        for kind in self._kinds(cell):
            self._sums[kind][0] += seconds
            self._sums[kind][1] += 1

    def predict(self, cell: Cell) -> float:
        for kind in self._kinds(cell):
            total, count = self._sums.get(kind, (0.0, 0.0))
            if count:
                return total / count
        return float("nan")


class Progress:
    """A bar with the time left; without a terminal, a line every half minute."""

    def __init__(
        self, wanted: Sequence[Cell], missing: Sequence[Cell], log: Log, *, earlier_code: int = 0
    ):
        self.n_wanted, self.n_finished, self.n_failed = len(wanted), 0, 0
        self._done_before = len(wanted) - len(missing)
        self._time_left = TimeLeft()
        for cell in wanted:
            if cell in log and "seconds" in log.entries[cell.name]:
                self._time_left.add(cell, log.entries[cell.name]["seconds"])
        self._todo = {cell.name: cell for cell in missing}
        self._began = self._last_line = time.monotonic()
        self._busy = 0.0
        self._bar: Any = None
        self._note = (
            f"{earlier_code} of {self._done_before} finished cells were measured with an earlier "
            "state of the library; --fresh measures them again."
            if earlier_code
            else ""
        )

    def __enter__(self) -> "Progress":
        if self._note:
            print(self._note, file=sys.stderr)
        if sys.stderr.isatty():
            self._bar = _bar()
            self._bar.start()
            self._task = self._bar.add_task(
                "", total=self.n_wanted, completed=self._done_before, left="", now=""
            )
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self.n_finished:
            self._print_line()

    def start(self, cell: Cell) -> None:
        if self._bar is not None:
            shown = [str(cell.fields[key]) for key in ("dataset", "method") if key in cell.fields]
            self._bar.update(self._task, now=" ".join([cell.module, *shown]))

    def finish(self, cell: Cell, result: Mapping[str, Any], seconds: float) -> None:
        self.n_finished += 1
        self.n_failed += ERROR in result
        self._busy += seconds
        self._time_left.add(cell, seconds)
        self._todo.pop(cell.name, None)
        if self._bar is not None:
            self._bar.update(self._task, advance=1)
            if time.monotonic() - self._last_line >= SECONDS_BETWEEN_ESTIMATES:
                self._last_line = time.monotonic()
                self._bar.update(self._task, left=self._left())
        elif time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._print_line()

    def _left(self) -> str:
        elapsed = time.monotonic() - self._began
        # Processor seconds per second: the workers, less what other programs take from them.
        at_once = max(self._busy / max(elapsed, 1e-9), 1e-3)
        seconds = sum(self._time_left.predict(cell) for cell in self._todo.values()) / at_once
        return f"{duration(seconds)} left" if seconds == seconds else ""

    def _print_line(self) -> None:
        self._last_line = time.monotonic()
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        done = self._done_before + self.n_finished
        elapsed = duration(self._last_line - self._began)
        print(
            f"{done} of {self.n_wanted} cells{failed}, {elapsed}, {self._left()}",
            file=sys.stderr,
            flush=True,
        )


def _bar():
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("{task.fields[left]}"),
        progress.TextColumn("[dim]{task.fields[now]}"),
        console=Console(stderr=True),
    )


def duration(seconds: float) -> str:
    """Seconds as people say them: ``1 h 05 min``, ``3 min 20 s``, ``12 s``.

    Examples
    --------
    >>> [duration(seconds) for seconds in (12.3, 200, 3900)]
    ['12 s', '3 min 20 s', '1 h 05 min']
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
