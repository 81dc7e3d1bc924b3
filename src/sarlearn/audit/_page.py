"""The page to check rows on: a small web server on this machine, for this user.

It listens on the loopback interface only. Its addresses begin with a token that nobody can guess,
and requests under another host name are refused, so other pages in the browser cannot reach it.
The table's cells travel as JSON and are shown as text.
"""

import hmac
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sarlearn.audit._session import AuditSession

__all__ = ["Question", "make_app", "open_socket", "serve"]

HOST = "127.0.0.1"
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


def make_app(session: AuditSession, question: Question, token: str):
    """The application; every address begins with ``token``."""
    flask = _flask()
    app = flask.Flask("sarlearn.audit", static_folder=None)

    @app.before_request
    def refuse_strangers():
        given = (flask.request.view_args or {}).get("token", "")
        host = flask.request.host.rsplit(":", 1)[0]
        if host not in (HOST, "localhost") or not hmac.compare_digest(given, token):
            flask.abort(404)

    @app.after_request
    def add_headers(response):
        response.headers.update(_HEADERS)
        return response

    @app.get("/<token>/")
    def page(token):
        return flask.send_from_directory(_folder(), "audit.html")

    @app.get("/<token>/<any('audit.js', 'audit.css', 'icon.svg'):name>")
    def part(token, name):
        return flask.send_from_directory(_folder(), name)

    @app.get("/<token>/state")
    def state(token):
        return _state(flask.request.args.get("tab", ""), flask.request.args.get("row", type=int))

    @app.post("/<token>/answer")
    def answer(token):
        sent = flask.request.get_json()
        try:
            session.answer(sent["row"], sent["answer"], str(sent.get("tab", ""))[:64])
        except (KeyError, TypeError, ValueError) as error:
            return {"error": str(error)}, 400
        return _state(str(sent.get("tab", "")), None)

    def _state(tab: str, wanted: int | None) -> dict[str, Any]:
        row = wanted if wanted in session.rows else session.next_row(tab[:64])
        return {
            "question": question.text,
            "source": question.source,
            "row": None if row is None else question.row(row),
            "answer": None if row is None else session.answers.get(row),
            **session.summary(),
        }

    return app


def open_socket(port: int = 0) -> socket.socket:
    """A socket on the loopback interface; port 0 is any free one."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise ValueError(f"Port {port} cannot be used ({error.strerror}); name another.") from None
    return listener


def serve(
    session: AuditSession,
    question: Question,
    *,
    port: int = 0,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve the page until interrupted; ``announce`` gets its address once it can be opened."""
    token = secrets.token_urlsafe(24)
    app = make_app(session, question, token)
    waitress = _waitress()
    with open_socket(port) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}/{token}/"
        server = waitress.create_server(app, sockets=[listener], threads=4, ident=None)
        announce(address)
        with session.refitting():
            server.run()


def _folder() -> str:
    from importlib.resources import files

    return str(files("sarlearn.audit") / "page")


def _flask():
    try:
        import flask
    except ImportError as error:
        raise ImportError("The audit page needs Flask: pip install 'sarlearn[audit]'.") from error
    return flask


def _waitress():
    try:
        import waitress
    except ImportError as error:
        message = "The audit page needs waitress: pip install 'sarlearn[audit]'."
        raise ImportError(message) from error
    return waitress
