"""What a command shows while it works and prints in the end; and its files, before the work.

Nothing heavy is imported at once: what cannot be read or written is refused without a wait.
"""

import contextlib
import glob
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sarlearn._words import no_file
from sarlearn.cli import in_command_words
from sarlearn.tables.read import is_several, table_kind

STANDARD = "-"  # standard input or output
Show = Callable[[int, int | None], None]

# What each kind of output may be called, and why; the first ending is suggested.
_ENDINGS = {
    "model": ((".skops",), "models are saved as .skops, which opens without running code"),
    "report": ((".html", ".htm"), "reports are written as .html; a browser prints them as PDF"),
}

# -- files -----------------------------------------------------------------------------------------


def check_outputs(*, force: bool, inputs: Sequence[str] = (), **outputs: str | None) -> None:
    """Refuse before the work what could not be written after it; outputs go by their kind."""
    given = {kind: path for kind, path in outputs.items() if path is not None}
    if len({os.path.abspath(path) for path in given.values()}) < len(given):
        raise ValueError(f"Two outputs have the same name, {next(iter(given.values()))}.")
    for kind, name in given.items():
        _check_kind(name, kind)
        path = Path(name)
        if name == STANDARD:
            continue
        if not path.parent.is_dir():
            raise ValueError(f"There is no folder {path.parent} to write {path.name} to.")
        if path.is_dir():
            raise ValueError(f"{path} is a folder; name a file to write.")
        if path.exists():
            if any(os.path.exists(other) and path.samefile(other) for other in inputs):
                raise ValueError(f"{path} is an input of this command; name another output.")
            if not force and path.is_file():
                raise ValueError(f"{path} exists; use --force to replace it.")
        if not os.access(path.resolve().parent if path.is_symlink() else path.parent, os.W_OK):
            raise ValueError(f"You may not write to the folder {path.parent}.")


def check_input(path: str, *, table: bool = True) -> None:
    """Refuse a file that is not there, or a table whose ending names no format."""
    if path == STANDARD:
        return
    if table and is_several(path):
        if not os.path.isdir(path) and not glob.glob(path):
            raise FileNotFoundError(no_file(path))
        return
    if table:
        table_kind(path)
    if not os.path.exists(path):
        raise FileNotFoundError(no_file(path, "file" if table else "model file"))


def _check_kind(path: str, kind: str) -> None:
    """Refuse an output under a name that says it is something else."""
    if path == STANDARD and kind in ("model", "audit"):
        what = "A model" if kind == "model" else "An audit"
        raise ValueError(f"{what} needs a file; it is not written to standard output.")
    if kind in ("table", "audit") and path != STANDARD and table_kind(path) == "xlsx":
        raise ValueError(f"{path}: tables are written as .csv, .tsv, .parquet or .arrow.")
    accepted, reason = _ENDINGS.get(kind, ((), ""))
    special = os.path.exists(path) and not os.path.isfile(path)  # a pipe or device has any name
    wrong = accepted and Path(path).suffix.lower() not in accepted
    if wrong and path != STANDARD and not special:
        raise ValueError(f"{path}: {reason}; use the ending {accepted[0]}.")


# -- progress --------------------------------------------------------------------------------------


@contextlib.contextmanager
def progress(what: str) -> Iterator[Show]:
    """Show what is being done and for how long.

    The block is given ``show(done, total)``: a bar where the total is known, else a count. Many
    refits (:func:`~sarlearn._view.refits.run_all`) show themselves.
    """
    if not sys.stderr.isatty():
        yield _nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from sarlearn._view.refits import WATCHER

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=28),
        TextColumn("{task.fields[count]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task(what, total=None, count="")

        def show(done: int, total: int | None) -> None:
            count = f"{done:,} rows" if total is None else f"{done} of {total}"
            display.update(task, completed=done, total=total, count=count)

        token = WATCHER.set(show)
        try:
            yield show
        finally:
            WATCHER.reset(token)


def _nothing(done: int, total: int | None) -> None:
    """Nobody watches."""


# -- text ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def collected_warnings(*, printed_later: bool = False) -> Iterator[list[Warning]]:
    """Gather the warnings of a block, each once; print them, unless they are printed later."""
    from sarlearn.exceptions import SarlearnWarning

    found: list[Warning] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    said: dict[str, Warning] = {}
    for message in (each.message for each in caught):
        text = in_command_words(" ".join(str(message).split()))
        if isinstance(message, SarlearnWarning):
            message = type(message)(message.code, text)
        said.setdefault(text, message if isinstance(message, Warning) else UserWarning(text))
    found.extend(said.values())
    for text in [] if printed_later else said:
        print(f"Warning: {text}", file=sys.stderr)


@contextlib.contextmanager
def table_warnings_said() -> Iterator[None]:
    """Say nothing of the table that was said when it was read."""
    from sarlearn.exceptions import DataWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        yield


def print_summary(summary: dict[str, Any], *, as_json: bool, verbose: bool = False) -> None:
    """Warnings to stderr; then all as JSON, or the few lines that matter, and more where asked."""
    from sarlearn.reporting.words import brief, details

    for sentence in summary["warnings"]:
        print(f"Warning: {sentence}", file=sys.stderr)
    if as_json:
        print_json(summary)
        return
    for sentence in [*brief(summary), *(details(summary) if verbose else [])]:
        print(sentence)


def command_line() -> str | None:
    """The command as it was typed, for the record."""
    import click

    context = click.get_current_context(silent=True)
    return None if context is None else context.obj


def print_json(content: dict[str, Any]) -> None:
    print(json.dumps(content, indent=2))


def print_rows(
    rows: Sequence[Sequence[str]], *, header: Sequence[str] = (), left: Sequence[int] = (0,)
) -> None:
    """Print aligned columns: those in ``left`` to the left, the others to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=bool(header), header_style="bold", pad_edge=False)
    for index, _ in enumerate(rows[0]):
        table.add_column(
            Text(header[index]) if header else "",
            justify="left" if index in left else "right",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 100
    console.print(table)
