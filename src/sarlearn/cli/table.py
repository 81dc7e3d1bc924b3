"""Which columns of a table are for what, its labels, and what is known beside them."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sarlearn._words import no_column
from sarlearn.tables.audits import parse_audited, read_answers
from sarlearn.tables.columns import as_frame, numbers, values_of, words
from sarlearn.tables.labels import Labels, parse_labels
from sarlearn.tables.read import read_table

MIN_LABELLED = 10


def check_columns(frame, **named: Sequence[str | None]) -> None:
    """Refuse columns that the table does not have, all at once; ``id=`` are those of ``--id``."""
    columns, wrong = list(frame.columns), []
    for option, names in named.items():
        option = f"--{option.replace('_', '-')}"
        given = [name for name in names if name is not None]
        if unknown := [name for name in given if name not in columns]:
            wrong.append(f"{option}: {no_column(unknown, columns, 'the table')}")
        for name in {name for name in given if given.count(name) > 1}:
            wrong.append(f"{option} names the column {name!r} twice.")
    if wrong:
        raise ValueError(" ".join(wrong))


def check_roles(**roles: Sequence[str | None]) -> None:
    """Refuse a column that is to be two things at once."""
    taken: dict[str, str] = {}
    for role, names in roles.items():
        for name in names:
            if name is not None and taken.setdefault(name, role) != role:
                raise ValueError(f"The column {name!r} cannot be both {taken[name]} and {role}.")


# In the place of a column that decides who gets labelled.
WORDS = ("auto", "none")


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
    negative: tuple[str, ...] = ()
    unlabelled: tuple[str, ...] = ()
    propensity_option: str = "propensity"
    auto: bool = False
    at_random: bool = False

    def labels(self, column, *, word: str | None = None, must_occur: bool = True) -> Labels:
        """The label column, understood."""
        return parse_labels(
            column,
            self.label,
            word=word,
            positive=self.positive,
            negative=self.negative,
            unlabelled=self.unlabelled,
            must_occur=must_occur,
        )

    @property
    def left_out(self) -> list[str]:
        """Columns that are not learned from."""
        named = (self.label, self.id_column, self.weight, self.groups, *self.drop, *self.audits)
        return list(dict.fromkeys(name for name in named if name is not None))

    def learned_from(self, columns) -> list[str]:
        """Of the columns of a table those to learn from."""
        found = [str(name) for name in columns if name not in self.left_out]
        if not found:
            raise ValueError("The table has no column to learn from.")
        return found

    def in_table(self, frame) -> "Roles":
        """The same with lists (a,b) taken apart, and every column that was named checked."""
        propensity = split_names(frame, self.propensity)
        only = split_names(frame, self.propensity_only)
        (word,) = propensity if len(propensity) == 1 and propensity[0] in WORDS else ("",)
        word = "" if word in frame.columns else word
        if word and only:
            raise ValueError(f"--propensity {word} cannot be combined with named columns.")
        propensity = () if word else propensity
        drop = split_names(frame, self.drop)
        check_columns(
            frame,
            label=[self.label],
            **{self.propensity_option: propensity},
            propensity_only=only,
            id=[self.id_column],
            drop=drop,
            weight=[self.weight],
            groups=[self.groups],
        )
        check_roles(
            label=[self.label],
            propensity=(*propensity, *only),
            id=[self.id_column],
            drop=drop,
            weight=[self.weight],
            groups=[self.groups] if self.groups != self.id_column else [],
        )
        named = replace(self, propensity=propensity, propensity_only=only, drop=drop)
        return replace(named, auto=word == "auto", at_random=word == "none")


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
class LabelledTable:
    """A table with its labels."""

    frame: Any
    labels: Labels
    roles: Roles
    audits: dict[str, np.ndarray]

    @property
    def s(self) -> np.ndarray:
        return self.labels.labelled.astype(int)

    @property
    def n_rows(self) -> int:
        return len(self.s)

    @property
    def n_labelled(self) -> int:
        return int(self.s.sum())

    @property
    def columns(self) -> list[str]:
        """The columns to learn from."""
        return self.roles.learned_from(self.frame.columns)

    def learned_from(self) -> tuple[Any, np.ndarray]:
        """The columns to learn from, and the labels."""
        return self.frame[self.columns], self.s

    def sample(self) -> tuple[Any, np.ndarray]:
        """What a report looks at: all rows."""
        return self.frame, self.s

    def known(self) -> dict[str, Any]:
        """What ``fit`` is told beside the labels."""
        given = {"sample_weight": self.weight, "groups": self.groups}
        return {name: values for name, values in given.items() if values is not None} | self.audits

    @property
    def weight(self) -> np.ndarray | None:
        """How many rows each row stands for, where the table says so."""
        return None if self.roles.weight is None else weights_of(self.frame, self.roles.weight)

    @property
    def groups(self) -> np.ndarray | None:
        """The group of each row, where the table says so."""
        name = self.roles.groups
        return None if name is None else words(as_frame(self.frame)[name])


def weights_of(frame, name: str) -> np.ndarray:
    """How many rows each row stands for; refuses gaps and negative numbers."""
    check_columns(frame, weight=[name])
    try:
        weight = numbers(as_frame(frame)[name])
    except ValueError:
        raise ValueError(f"--weight: the column {name!r} must hold numbers.") from None
    bad = ~(weight >= 0)  # also true for a gap
    if bad.any():
        row = int(np.argmax(bad))
        value = "missing" if np.isnan(weight[row]) else f"{weight[row]:g}"
        raise ValueError(f"--weight: {name!r} is {value} in row {row}; weights are 0 or more.")
    return weight


def read_labelled(
    table: str,
    roles: Roles,
    reading: dict[str, Any],
    audited: str | None = None,
    audit_probability: str | None = None,
) -> LabelledTable:
    """The table and its labels, with every column that was named checked."""
    id_column = roles.id_column
    frame = read_table(table, text_columns=[id_column] if id_column else [], **reading)
    roles = roles.in_table(frame)
    labels = roles.labels(frame[roles.label])
    check_enough(int(labels.labelled.sum()), len(labels.labelled), roles.label)
    warn_of_share(labels, roles.label)
    if id_column is not None:
        warn_of_repeats(frame, id_column)
    audits = read_audits(audited, audit_probability, frame, id_column)
    return LabelledTable(frame, labels, roles, with_negatives(audits, labels.negative))


def warn_of_share(labels: Labels, label: str) -> None:
    """Tell of a label column that calls more than half of the rows labelled."""
    n_labelled, n_rows = int(labels.labelled.sum()), len(labels.labelled)
    if 2 * n_labelled > n_rows:
        _warn(
            f"More than half of the rows are labelled: {n_labelled} of {n_rows} in {label!r}, "
            "which is unusual. If another value means labelled, name it with --positive."
        )


def warn_of_repeats(frame, id_column: str) -> None:
    """Tell of rows that share an identifier."""
    counts = Counter(values_of(as_frame(frame)[id_column]))
    repeated = [value for value, n in counts.items() if n > 1]
    if repeated:
        first = "An empty cell" if repeated[0] is None else repr(repeated[0])
        more = f", and so do {len(repeated) - 1:,} other identifiers" if len(repeated) > 1 else ""
        _warn(
            f"--id: {first} stands in {counts[repeated[0]]} rows of {id_column!r}{more}. Which "
            "row is meant cannot be told from it."
        )


def _warn(note: str) -> None:
    from sarlearn.exceptions import DataWarning, warn

    warn(DataWarning("identifiers", note))


def check_enough(n_labelled: int, n_rows: int, label: str) -> None:
    if n_labelled == n_rows:
        raise ValueError(f"All {n_rows} rows are labelled in {label!r}; some must be unlabelled.")
    if n_labelled < MIN_LABELLED:
        raise ValueError(
            f"Only {n_labelled} of {n_rows} rows are labelled in {label!r}; at least "
            f"{MIN_LABELLED} are needed, and 30 or more to rely on the result."
        )


def audit_columns(audited: str | None, probability: str | None) -> list[str]:
    """Columns of the table that hold audits, and are not to be learned from."""
    if audited is None and probability is not None:
        raise ValueError("--audit-probability needs --audited.")
    if audited is None or is_file(audited):
        if probability is not None:
            raise ValueError(
                "--audit-probability is for --audited COLUMN; a file of 'sarlearn audit' has its "
                "own."
            )
        return []
    return [audited, *([probability] if probability else [])]


def is_file(audited: str) -> bool:
    return Path(audited).is_file()


def read_audits(
    audited: str | None, probability: str | None, frame, id_column: str | None
) -> dict[str, np.ndarray]:
    """What ``fit`` takes about audits: from a file, or from columns of the table."""
    if audited is None:
        return {}
    if is_file(audited):
        found = read_answers(read_filled(audited, id_column), frame, id_column)
    else:
        check_audit_columns(frame, audited, probability)
        found = {"audited": parse_audited(frame[audited], audited)}
    if np.isnan(found["audited"]).all():
        raise ValueError(f"--audited: {audited} holds no answer yet; fill in yes or no.")
    if probability is not None:
        found["audit_probability"] = numbers(as_frame(frame)[probability])
    return found


def with_negatives(audits: dict[str, np.ndarray], negative: np.ndarray) -> dict[str, np.ndarray]:
    """Audits, and rows that the label column says were checked and are negative."""
    if not negative.any():
        return audits
    if set(audits) > {"audited"}:
        raise ValueError(
            "--negative cannot be combined with an audit of rows drawn at random (--audited with "
            "probabilities): how the negative rows were chosen is not known. Name their value in "
            "--unlabelled."
        )
    found = audits.get("audited", np.full(len(negative), np.nan))
    return {"audited": np.where(negative & np.isnan(found), 0.0, found)}


def read_filled(audited: str, id_column: str | None):
    """A file of rows to check, with answers."""
    return read_table(audited, text_columns=[id_column] if id_column else [])


def check_audit_columns(frame, audited: str, probability: str | None) -> None:
    if Path(audited).suffix and audited not in list(frame.columns):
        raise ValueError(f"--audited {audited!r} is neither a file nor a column of the table.")
    check_columns(frame, audited=[audited], audit_probability=[probability])


def parse_class_prior(text: str | None):
    """``0.12``, ``0.08,0.15`` or ``0.12+-0.02`` as the learners take it."""
    if text is None:
        return None
    number = r"\s*(\d*\.?\d+(?:[eE][-+]?\d+)?)\s*(%?)\s*"
    found = re.fullmatch(rf"{number}(?:(,|\+-|±){number})?", text)
    shares = (
        []
        if found is None
        else [
            float(value) / (100 if percent else 1)
            for value, percent in (found.group(1, 2), found.group(4, 5))
            if value is not None
        ]
    )
    if found is None or not all(0 <= share <= 1 for share in shares):
        raise ValueError(
            f"--class-prior {text!r} is not understood; accepted are a share (0.12 or 12%), bounds "
            "(0.08,0.15), or a mean and its standard error (0.12+-0.02)."
        )
    if len(shares) == 1:
        return shares[0]
    low, high = shares
    return (low, high) if found[3] == "," else {"mean": low, "standard_error": high}
