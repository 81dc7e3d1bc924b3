"""What the commands share: checked columns and files, progress, and text for the terminal."""

import contextlib
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sarlearn.tables.columns import as_frame, numbers, values_of, words
from sarlearn.tables.formats import nearest
from sarlearn.tables.labels import Labels, parse_labels
from sarlearn.tables.read import read_table

MIN_LABELLED = 10


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


@dataclass(frozen=True)
class Roles:
    """What columns of a table are for."""

    label: str
    positive: str | None = None
    propensity: tuple[str, ...] = ()
    id_column: str | None = None
    drop: tuple[str, ...] = ()
    weight: str | None = None
    groups: str | None = None
    propensity_only: tuple[str, ...] = ()
    audits: tuple[str, ...] = ()
    propensity_option: str = "--propensity"

    @property
    def left_out(self) -> list[str]:
        """Columns that are not learned from."""
        named = (self.label, self.id_column, self.weight, self.groups, *self.drop, *self.audits)
        return list(dict.fromkeys(name for name in named if name is not None))

    def in_table(self, frame) -> "Roles":
        """The same with lists (a,b) taken apart, and every column that was named checked."""
        propensity = split_names(frame, self.propensity)
        only = split_names(frame, self.propensity_only)
        drop = split_names(frame, self.drop)
        check_columns(frame, "--label", [self.label])
        check_columns(frame, self.propensity_option, propensity)
        check_columns(frame, "--propensity-only", only)
        check_columns(frame, "--id", [self.id_column])
        check_columns(frame, "--drop", drop)
        check_columns(frame, "--weight", [self.weight])
        check_columns(frame, "--groups", [self.groups])
        check_roles(
            label=[self.label],
            propensity=(*propensity, *only),
            id=[self.id_column],
            drop=drop,
            weight=[self.weight],
            groups=[self.groups] if self.groups != self.id_column else [],
        )
        return replace(self, propensity=propensity, propensity_only=only, drop=drop)


def split_names(frame, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, with lists such as ``a,b`` taken apart; a name may hold a comma itself."""
    columns = set(frame.columns)
    found: list[str] = []
    for name in names:
        parts = [part.strip() for part in name.split(",")]
        listed = name not in columns and len(parts) > 1
        found += [part for part in parts if part] if listed else [name]
    return tuple(found)


@dataclass(frozen=True)
class Rows:
    """A table with its labels."""

    frame: Any
    labels: Labels
    roles: Roles

    @property
    def s(self) -> np.ndarray:
        return self.labels.labelled.astype(int)

    @property
    def weight(self) -> np.ndarray | None:
        """How many rows each row stands for, where the table says so."""
        name = self.roles.weight
        if name is None:
            return None
        weight = numbers(as_frame(self.frame), [name])[:, 0]
        bad = ~(weight >= 0)  # also true for a gap
        if bad.any():
            row = int(np.argmax(bad))
            value = "missing" if np.isnan(weight[row]) else f"{weight[row]:g}"
            raise ValueError(f"--weight: {name!r} is {value} in row {row}; weights are 0 or more.")
        return weight

    @property
    def groups(self) -> np.ndarray | None:
        """The group of each row, where the table says so."""
        name = self.roles.groups
        return None if name is None else words(as_frame(self.frame), [name])[:, 0]


def read_labelled(table: str, roles: Roles, reading: dict[str, Any]) -> Rows:
    """The table and its labels, with every column that was named checked."""
    id_column = roles.id_column
    frame = read_table(table, text_columns=[id_column] if id_column else [], **reading)
    roles = roles.in_table(frame)
    labels = parse_labels(frame[roles.label], roles.label, positive=roles.positive)
    check_enough(int(labels.labelled.sum()), len(labels.labelled), roles.label)
    warn_of_share(labels, roles.label)
    if id_column is not None:
        warn_of_repeats(frame, id_column)
    return Rows(frame, labels, roles)


def warn_of_share(labels: Labels, label: str) -> None:
    """Tell of a label column that calls more than half of the rows labelled."""
    n_labelled, n_rows = int(labels.labelled.sum()), len(labels.labelled)
    if 2 * n_labelled > n_rows:
        _warn(
            f"More than half of the rows are labelled: {n_labelled} of {n_rows} in {label!r}, "
            "which is rare among positive and unlabelled rows. Say with --positive which value "
            "means labelled, if it is another one."
        )


def warn_of_repeats(frame, id_column: str) -> None:
    """Tell of rows that share an identifier, with the first of them."""
    rows: dict[Any, list[int]] = {}
    for row, value in enumerate(values_of(as_frame(frame)[id_column])):
        rows.setdefault(value, []).append(row)
    repeated = {value: found for value, found in rows.items() if len(found) > 1}
    if repeated:
        value, found = next(iter(repeated.items()))
        what = "is empty" if value is None else f"is {value!r}"
        more = f" {len(repeated)} identifiers occur more than once." if len(repeated) > 1 else ""
        _warn(
            f"--id: {id_column!r} {what} in {len(found)} rows, first in rows {found[0] + 1} and "
            f"{found[1] + 1} after the header.{more}"
        )


def _warn(note: str) -> None:
    from sarlearn.exceptions import TableWarning, warn

    warn(TableWarning(note))


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


@contextlib.contextmanager
def table_warnings_said() -> Iterator[None]:
    """Say nothing of the table that was said when it was read."""
    from sarlearn.exceptions import TableWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        yield


def print_warnings(sentences: Sequence[str], said: Sequence[Warning]) -> None:
    """Print warnings of a summary to stderr, but for those that were printed before."""
    printed = {" ".join(str(warning).split()) for warning in said}
    for sentence in sentences:
        if sentence not in printed:
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
