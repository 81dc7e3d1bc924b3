"""The page to check rows on: a small web server on this machine, for this user.

It listens on the loopback interface only. Its addresses begin with a token that nobody can guess,
and requests under another host name are refused, so other pages in the browser cannot reach it.
The table's cells travel as JSON and are shown as text. After every answer the file of answers is
written anew, whole, before the page goes on: killing the process at any moment loses none.
"""

import contextlib
import hmac
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sarlearn._engine.survey import rows_needed, strata_of

HOST = "127.0.0.1"
ANSWERS = {"yes": 1.0, "no": 0.0, "unsure": np.nan}
# No answer is longer than this.
MOST_BYTES = 10_000
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Question:
    """What the page asks, and how it shows a row.

    ``first`` and ``folded`` give the names of the columns shown at once and on demand; ``cells``
    the text of a row's cells by column; ``name`` what to call a row.
    """

    text: str
    source: str
    first: Sequence[str]
    folded: Sequence[str]
    cells: Callable[[int], dict[str, str]]
    name: Callable[[int], str]

    def row(self, row: int) -> dict[str, Any]:
        cells = self.cells(row)
        return {
            "row": row,
            "name": self.name(row),
            "first": [[column, cells[column]] for column in self.first],
            "folded": [[column, cells[column]] for column in self.folded],
        }


class Answers:
    """Which rows are asked, what was answered, and what follows from it.

    Parameters
    ----------
    rows : sequence of int
        Rows to ask about, in this order.
    labelled : boolean ndarray
    given : dict of str to ndarray
        ``audited``, ``audit_probability`` and ``audit_round``, without answers about ``rows``.
    words : dict of int to str
        Answers about ``rows`` that are in the file already.
    write : callable
        Gets all answers (row to word) after each, and writes them where the user wants them.
    """

    def __init__(
        self,
        rows: Sequence[int],
        labelled: np.ndarray,
        given: dict[str, np.ndarray],
        words: dict[int, str],
        write: Callable[[dict[int, str]], object],
    ):
        self.rows, self._labelled, self._given, self._write = list(rows), labelled, given, write
        self._lock = threading.Lock()
        self.words = {row: words[row] for row in self.rows if row in words}

    def answer(self, row: int, word: str) -> None:
        """Keep an answer: in the file first, then in mind. The last answer about a row counts."""
        with self._lock:
            self._write({**self.words, row: word})
            self.words[row] = word

    def next_row(self) -> int | None:
        """The first row without an answer; None when all are done."""
        return next((row for row in self.rows if row not in self.words), None)

    def design(self) -> dict[str, np.ndarray]:
        """All answers so far, in the form that ``fit`` takes."""
        audited = self._given["audited"].copy()
        audited[list(self.words)] = [ANSWERS[word] for word in self.words.values()]
        return {**self._given, "audited": audited}

    def summary(self) -> dict[str, Any]:
        """All that the page shows beside the row."""
        with self._lock:
            words, found = list(self.words.values()), self.design()
        strata = strata_of(
            self._labelled, found["audited"], found["audit_probability"], found["audit_round"]
        )
        low, high = (None, None) if strata is None else strata.interval()
        return {
            "done": len(words),
            "total": len(self.rows),
            "known": int(np.sum(~np.isnan(found["audited"]) & ~self._labelled)),
            "counts": {word: words.count(word) for word in ANSWERS},
            "class_prior": None if strata is None else strata.estimate,
            "low": low,
            "high": high,
            "needed": None if strata is None else rows_needed(strata, 0.05),
        }


def make_app(answers: Answers, question: Question, token: str):
    """The application; every address begins with ``token``."""
    flask = _needed("flask")
    app = flask.Flask("sarlearn.cli.audit_page", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MOST_BYTES
    folder = str(Path(__file__).parent / "page")

    @app.before_request
    def refuse_strangers():
        given = (flask.request.view_args or {}).get("token", "").encode()
        # Flask's own host is that of the server where the header is empty.
        host = flask.request.headers.get("Host", "").rsplit(":", 1)[0]
        if host not in (HOST, "localhost") or not hmac.compare_digest(given, token.encode()):
            flask.abort(404)

    @app.after_request
    def add_headers(response):
        response.headers.update(_HEADERS)
        return response

    @app.get("/<token>/")
    def page(token):
        return flask.send_from_directory(folder, "audit.html")

    @app.get("/<token>/<any('audit.js', 'audit.css', 'icon.svg'):name>")
    def part(token, name):
        return flask.send_from_directory(folder, name)

    @app.get("/<token>/state")
    def state(token):
        return _state(flask.request.args.get("row", type=int))

    @app.post("/<token>/answer")
    def answer(token):
        sent = flask.request.get_json(silent=True)
        if not isinstance(sent, dict):
            return _refusal("an answer is a JSON object with row and answer")
        row, word = sent.get("row"), sent.get("answer")
        if type(row) is not int or row not in answers.rows:
            return _refusal(f"row {row!r} is not among the rows to check")
        if not isinstance(word, str) or word not in ANSWERS:
            return _refusal(f"the answer must be yes, no or unsure; got {word!r}")
        try:
            answers.answer(row, word)
        except OSError as error:
            reason = error.strerror or str(error)
            return {"error": f"The file of answers cannot be written: {reason}."}, 500
        return _state(None)

    def _refusal(what: str):
        return {"error": f"{what[0].upper()}{what[1:]}."}, 400

    def _state(wanted: int | None) -> dict[str, Any]:
        row = wanted if wanted in answers.rows else answers.next_row()
        return {
            "question": question.text,
            "source": question.source,
            "row": None if row is None else question.row(row),
            "answer": None if row is None else answers.words.get(row),
            **answers.summary(),
        }

    return app


def serve(answers: Answers, question: Question, announce: Callable[[str], None]) -> None:
    """Serve the page until interrupted; ``announce`` gets its address once it can be opened."""
    token = secrets.token_urlsafe(24)
    app, waitress = make_app(answers, question, token), _needed("waitress")
    server = waitress.create_server(app, host=HOST, port=0, threads=4, ident=None)
    announce(f"http://{HOST}:{server.effective_port}/{token}/")
    server.run()


@contextlib.contextmanager
def only_page(path: Path) -> Iterator[None]:
    """Refuse a second page that would write the same file; a kill frees it."""
    lock = path.with_name(f".{path.name}.lock")
    with open(lock, "wb") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # no such locks on Windows
            pass
        except OSError:
            raise ValueError(f"{path} is open in another audit page; go on there.") from None
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def flush_to_disk(path: Path) -> None:
    """When this returns, the file outlasts a power cut, too."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _needed(package: str):
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as error:
        message = f"The audit page needs {package}: pip install flask waitress."
        raise ImportError(message) from error
