"""The state behind the page: which rows are asked, what was answered, what follows from it.

Every answer is a line appended to a log and flushed to the disk before it counts, so that killing
the process at any moment loses none. The table of answers is written anew after each; it can always
be made again from the log.
"""

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sarlearn._engine.survey import rows_needed, strata_of

__all__ = ["ANSWERS", "AuditLog", "AuditSession"]

ANSWERS = {"yes": 1.0, "no": 0.0, "unsure": np.nan}
# A row that another tab shows is left to it for so many seconds.
LEASE = 120.0


class AuditLog:
    """Answers in the order in which they came, one line of JSON each.

    Parameters
    ----------
    path : path
        The log. A last line that a crash cut short is left out when it is read, and cut off.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        self._file = open(self.path, "a+b")  # noqa: SIM115 - open as long as the page
        self._only_writer()
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            self._file.truncate(len(whole))
        self.entries: list[dict[str, Any]] = [json.loads(line) for line in whole.splitlines()]

    def _only_writer(self) -> None:
        try:
            import fcntl
        except ImportError:  # no such locks on Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise ValueError(f"{self.path} is open in another audit page; go on there.") from None

    def append(self, entry: dict[str, Any]) -> None:
        """Write an entry; when this returns, it is on the disk."""
        self._file.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.entries.append(entry)

    def close(self) -> None:
        self._file.close()


@dataclass
class Estimate:
    """What is known after some answers."""

    n: int
    class_prior: float
    low: float
    high: float


class AuditSession:
    """An audit under way.

    Parameters
    ----------
    log : AuditLog
        Its entries are taken up where they end.
    rows : sequence of int
        Rows to ask about, in this order.
    labelled : boolean ndarray
    given : dict of str to ndarray
        ``audited``, ``audit_probability`` and ``audit_round`` before the page was opened, with the
        chances of the rows to ask filled in.
    write : callable
        Gets the answers (row to word) after each, and writes them where the user wants them.
    refit : callable or None
        Gets ``audited`` and its design, and gives ``(class_prior, low, high)`` of the model; called
        in the background.
    """

    def __init__(
        self,
        log: AuditLog,
        rows: Sequence[int],
        labelled: np.ndarray,
        given: dict[str, np.ndarray],
        write: Callable[[dict[int, str]], object] = lambda answers: None,
        refit: Callable[..., tuple[float, float, float]] | None = None,
    ):
        self._log, self.rows = log, [int(row) for row in rows]
        self._labelled, self._given = labelled, given
        self._write, self._refit = write, refit
        self._lock, self._changed = threading.Lock(), threading.Event()
        self._leases: dict[int, tuple[str, float]] = {}
        self.answers: dict[int, str] = {}
        self.history: list[Estimate] = []
        self.model: Estimate | None = None
        self.trouble: str | None = None
        self._stopped = False
        asked = set(self.rows)
        for entry in log.entries:
            if entry["row"] in asked:
                self._take(entry["row"], entry["answer"])
        if self.answers:
            write(dict(self.answers))

    # -- answers ------------------------------------------------------------------------------

    def answer(self, row: int, answer: str, tab: str = "") -> None:
        """Keep an answer: on the disk first, then in mind. The last answer about a row counts."""
        if answer not in ANSWERS:
            raise ValueError(f"The answer must be yes, no or unsure; got {answer!r}.")
        if row not in set(self.rows):
            raise ValueError(f"Row {row} is not among the rows to check.")
        with self._lock:
            self._log.append({"row": row, "answer": answer, "tab": tab, "time": time.time()})
            self._take(row, answer)
            self._leases.pop(row, None)
            self._write(dict(self.answers))
        self._changed.set()

    def _take(self, row: int, answer: str) -> None:
        self.answers[row] = answer
        estimate = self._estimate()
        if estimate is not None:
            self.history.append(estimate)

    def next_row(self, tab: str) -> int | None:
        """The first row without an answer that no other tab shows; None when all are done."""
        with self._lock:
            now = time.monotonic()
            waiting = [row for row in self.rows if row not in self.answers]
            free = [
                row
                for row in waiting
                if self._leases.get(row, (tab, 0.0))[0] == tab or now - self._leases[row][1] > LEASE
            ]
            row = next(iter(free or waiting), None)
            if row is not None:
                self._leases = {r: lease for r, lease in self._leases.items() if lease[0] != tab}
                self._leases[row] = (tab, now)
            return row

    # -- what follows -------------------------------------------------------------------------

    def design(self) -> dict[str, np.ndarray]:
        """All answers so far, in the form that ``fit`` takes."""
        audited = self._given["audited"].copy()
        for row, answer in self.answers.items():
            audited[row] = ANSWERS[answer]
        return {**self._given, "audited": audited}

    def _strata(self):
        found = self.design()
        return strata_of(
            self._labelled, found["audited"], found["audit_probability"], found["audit_round"]
        )

    def _estimate(self) -> Estimate | None:
        strata = self._strata()
        if strata is None:
            return None
        low, high = strata.interval()
        return Estimate(self.n_known, strata.estimate, low, high)

    @property
    def n_known(self) -> int:
        """Rows whose class is known by now, those of earlier rounds included."""
        return int(np.sum(~np.isnan(self.design()["audited"]) & ~self._labelled))

    def summary(self) -> dict[str, Any]:
        """All that the page shows beside the row."""
        with self._lock:
            strata = self._strata()
            return {
                "done": len(self.answers),
                "total": len(self.rows),
                "known": self.n_known,
                "counts": {a: sum(v == a for v in self.answers.values()) for a in ANSWERS},
                "history": [vars(step) for step in self.history],
                "needed": None if strata is None else rows_needed(strata, 0.05),
                "model": None if self.model is None else vars(self.model),
                "refits": self._refit is not None,
                "trouble": self.trouble,
            }

    # -- the model, in the background ---------------------------------------------------------

    @contextlib.contextmanager
    def refitting(self) -> Iterator[None]:
        """Refit the model after answers, in a thread, as long as the block runs."""
        if self._refit is None:
            yield
            return
        worker = threading.Thread(target=self._work, daemon=True)
        worker.start()
        self._changed.set()
        try:
            yield
        finally:
            self._stopped = True
            self._changed.set()

    def _work(self) -> None:
        assert self._refit is not None
        while True:
            self._changed.wait()
            self._changed.clear()
            if self._stopped:
                return
            with self._lock:
                found, n = self.design(), self.n_known
            if not n:
                continue
            try:
                # Answers that come in meanwhile set the event again: only the latest is fitted.
                self.model = Estimate(n, *self._refit(**found))
                self.trouble = None
            except Exception as error:  # shown on the page; the answers are safe
                self.trouble = f"The model could not be refitted: {error}"
