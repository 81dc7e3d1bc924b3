"""What the commands share: checked columns and files, progress, and text for the terminal."""

import contextlib
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sarlearn.tables.files import Labels, nearest, parse_labels, read_table

MIN_LABELLED = 10


def check_outputs(*paths: str | None, force: bool, inputs: Sequence[str] = ()) -> None:
    """Refuse before the work what could not be written after it."""
    for path in (Path(path) for path in paths if path is not None):
        if not path.parent.is_dir():
            raise ValueError(f"There is no folder {path.parent} to write {path.name} to.")
        if path.is_dir():
            raise ValueError(f"{path} is a folder; name a file to write.")
        if path.exists():
            if any(os.path.exists(name) and path.samefile(name) for name in inputs):
                raise ValueError(f"{path} is an input of this command; name another output.")
            if not force:
                raise ValueError(f"{path} exists; use --force to replace it.")
        if not os.access(path.parent, os.W_OK):
            raise ValueError(f"The folder {path.parent} may not be written to by this user.")
    given = [os.path.abspath(path) for path in paths if path is not None]
    if len(set(given)) < len(given):
        raise ValueError(f"Two outputs have the same name, {given[0]}.")


def check_columns(frame, option: str, names: Sequence[str | None]) -> None:
    """Refuse columns that the table does not have, with the nearest that it has."""
    columns = list(frame.columns)
    seen: set[str] = set()
    for name in names:
        if name is None:
            continue
        if name not in columns:
            hint = nearest(name, columns)
            if not hint:
                hint = f" Columns: {', '.join(columns[:10])}{', ...' if len(columns) > 10 else ''}."
            raise ValueError(f"{option}: the table has no column {name!r}.{hint}")
        if name in seen:
            raise ValueError(f"{option} names the column {name!r} twice.")
        seen.add(name)


def check_roles(**roles: Sequence[str | None]) -> None:
    """Refuse a column that is to be two things at once."""
    taken: dict[str, str] = {}
    for role, names in roles.items():
        for name in names:
            if name is not None and taken.setdefault(name, role) != role:
                raise ValueError(f"The column {name!r} cannot be both {taken[name]} and {role}.")


def read_labelled(
    table: str, label: str, propensity: Sequence[str], id_column: str | None, drop: Sequence[str]
) -> tuple[Any, Labels]:
    """The table and its labels, with every column that was named checked."""
    frame = read_table(table, text_columns=[id_column] if id_column else [])
    check_columns(frame, "--label", [label])
    check_columns(frame, "--propensity", propensity)
    check_columns(frame, "--id", [id_column])
    check_columns(frame, "--drop", drop)
    check_roles(label=[label], propensity=propensity, id=[id_column], drop=drop)
    labels = parse_labels(frame[label], label)
    check_enough(int(labels.labelled.sum()), len(labels.labelled), label)
    return frame, labels


def check_enough(n_labelled: int, n_rows: int, label: str) -> None:
    if n_labelled == n_rows:
        raise ValueError(f"All {n_rows} rows are labelled in {label!r}; some must be unlabelled.")
    if n_labelled < MIN_LABELLED:
        raise ValueError(
            f"Only {n_labelled} of {n_rows} rows are labelled in {label!r}; at least "
            f"{MIN_LABELLED} are needed, and 30 or more to rely on the result."
        )


@contextlib.contextmanager
def collected_warnings() -> Iterator[list[Warning]]:
    """Gather the warnings of a block, each once, and print them to stderr in the end."""
    found: list[Warning] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    said = {" ".join(str(w.message).split()): w.message for w in caught}
    found.extend(message for message in said.values() if isinstance(message, Warning))
    for text in said:
        print(f"Warning: {text}", file=sys.stderr)


def print_warnings(sentences: Sequence[str], said: Sequence[Warning]) -> None:
    """Print warnings of a summary to stderr, but for those that were printed before."""
    told = {" ".join(str(warning).split()) for warning in said}
    for sentence in sentences:
        if sentence not in told:
            print(f"Warning: {sentence}", file=sys.stderr)


def command_line() -> str | None:
    """The command as it was typed, for the record."""
    import click

    context = click.get_current_context(silent=True)
    return None if context is None else context.obj


def print_json(content: dict[str, Any]) -> None:
    print(json.dumps(content, indent=2))


def print_text(text: str) -> None:
    """Print text as it is: what users name is not markup."""
    print(text)


def print_rows(rows: Sequence[Sequence[str]], *, header: Sequence[str] = ()) -> None:
    """Print aligned columns: the first to the left, the others to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=bool(header), header_style="bold", pad_edge=False)
    for index, _ in enumerate(rows[0]):
        table.add_column(
            Text(header[index]) if header else "",
            justify="right" if index else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 100
    console.print(table)
