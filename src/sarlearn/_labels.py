"""Label values: which of them means labelled. Words people use are known the right way round.

Light on purpose: the command line reads label columns without waiting for scikit-learn.
"""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sarlearn._words import quoted

# A cell with such a text is a gap, in tables and in arrays of text alike: np.where(s, "yes", nan)
# makes the text "nan".
MISSING_WORDS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>")
# Answers to a question in several languages, and what their spreadsheets write for TRUE and FALSE.
YES_WORDS = frozenset(
    ("1", "true", "t", "yes", "y", "ja", "j", "oui", "si", "sí", "sì", "sim", "da", "tak")
    + ("ano", "igen", "evet", "kyllä", "да", "ναι", "はい", "是")
    + ("wahr", "vrai", "vero", "verdadero", "verdadeiro", "waar", "sant", "prawda")
    + ("positive", "pos", "p", "+", "on", "checked")
)
NO_WORDS = frozenset(
    ("0", "false", "f", "no", "n", "nein", "non", "nao", "não", "nee", "nej", "net", "ne", "nie")
    + ("nem", "hayır", "ei", "нет", "όχι", "いいえ", "否")
    + ("falsch", "faux", "falso", "onwaar", "falskt", "fałsz")
    + ("negative", "neg", "-", "off", "unchecked")
)
# In a label column these mean labelled and unlabelled, too.
LABELLED_WORDS = YES_WORDS | {"labelled", "labeled", "case"}
UNLABELLED_WORDS = (
    NO_WORDS
    | {"-1", "unlabelled", "unlabeled", "unlab", "u", "unknown", "control"}
    | {"not labelled", "not labeled", "not_labelled", "not_labeled", "non-labelled", "non-labeled"}
)


def meaning(value) -> bool | str | None:
    """True (labelled), False (unlabelled), None (a gap), or the text of any other value."""
    if is_gap(value):
        return None
    word = folded(value)
    if word in LABELLED_WORDS:
        return True
    if word in UNLABELLED_WORDS:
        return False
    return str(value).strip()


def folded(value) -> str:
    """The same text for all spellings of one answer: no, No; 0, 0.0."""
    text = str(value).strip().casefold()
    with contextlib.suppress(ValueError, OverflowError):
        number = float(text)
        return str(int(number)) if number.is_integer() else text
    return text


def is_gap(value) -> bool:
    """Whether a single label is missing: None, NaN, NA, NaT, or a text that says so."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return value.strip() in MISSING_WORDS
    return bool(value != value)


@dataclass(frozen=True)
class Choice:
    """The value that means unlabelled, the one that means labelled, and whether that is sure."""

    unlabelled: Any
    labelled: Any
    sure: bool

    @property
    def classes(self) -> np.ndarray:
        return np.array([self.unlabelled, self.labelled])


def choose(values: Iterable, *, gaps: bool, pos_label=None) -> Choice | None:
    """Which of one or two different label values means labelled; None where they cannot say.

    Parameters
    ----------
    values : the different values that occur, gaps apart
    gaps : bool
        Whether some rows have no value. They are unlabelled.
    pos_label : value, optional
        The one that means labelled.
    """
    values = list(values)
    if pos_label is not None:
        if pos_label not in values:
            raise ValueError(
                f"pos_label={pos_label!r} is none of the labels, which are {quoted(values, 5)}."
            )
        others = [value for value in values if value != pos_label]
        if len(others) == 1:
            return Choice(others[0], pos_label, True)
        return Choice(_absent(pos_label), pos_label, True) if gaps and not others else None
    if len(values) == 1 and gaps:
        only = values[0]
        return None if meaning(only) is False else Choice(_absent(only), only, True)
    if len(values) != 2:
        return None
    low, high = sorted(values)  # a bare guess takes the greater one, as scikit-learn would
    if _rank(low) > _rank(high):
        low, high = high, low
    beside_nothing = is_gap(low) or (not isinstance(low, str) and low == 0 < high)
    return Choice(low, high, beside_nothing or (meaning(low), meaning(high)) == (False, True))


def _rank(value) -> int:
    """How much a value looks like labelled: 2 if it says so, 0 if it says unlabelled or nothing."""
    return {True: 2, False: 0, None: 0}.get(meaning(value), 1)  # type: ignore[arg-type]


def _absent(labelled):
    """The value that stands for unlabelled where it was left empty."""
    if isinstance(labelled, str):
        return ""
    return type(labelled)(0)


def gap_mask(s: np.ndarray) -> np.ndarray | None:
    """Which labels are missing; None where none is."""
    if s.dtype.kind == "f":
        mask = np.isnan(s)
    elif s.dtype.kind in "OUST":
        values = s.tolist()
        try:
            empty = {value: is_gap(value) for value in set(values)}
        except TypeError:  # lists are told of elsewhere
            return None
        mask = np.array([empty[value] for value in values], dtype=bool)
    else:
        return None
    return mask if mask.any() else None


def fill_labels(s, *, pos_label=None):
    """Labels with every gap (None, NaN, NA, an empty text) replaced by the unlabelled value.

    Labels that cannot be understood come back as they are.
    """
    if s is None:
        return s
    values = np.asarray(s)
    gaps = gap_mask(values) if values.ndim == 1 else None
    if gaps is None:
        return s
    known = list(dict.fromkeys(values[~gaps].tolist()))
    choice = choose(known, gaps=True, pos_label=pos_label) if known else None
    if choice is None:
        if not known or len(known) == 1:
            raise ValueError(
                f"No row is labelled: {int(gaps.sum())} of {len(values)} labels are missing (NaN)"
                + (f" and the others are {known[0]!r}." if known else ".")
                + " Learning needs labelled rows (1) and unlabelled rows (0 or missing)."
            )
        return s
    filled = np.where(gaps, choice.unlabelled, values)
    return filled.astype(choice.classes.dtype) if filled.dtype.kind == "O" else filled


def warn_of_labels(choice: Choice, n_labelled: int, n_rows: int, *, given: bool) -> None:
    """Warn where the meaning of the labels was guessed, or most rows are labelled."""
    from sarlearn.exceptions import DataWarning, warn

    taken, other = choice.labelled, choice.unlabelled
    if not choice.sure:
        text = (
            f"The label {taken!r} was taken to mean labelled, and {other!r} unlabelled: "
            f"{n_labelled} of {n_rows} rows are labelled. If that is wrong, pass "
            f"pos_label={other!r} or the labels s == {other!r}; if it is right, {taken!r} says so."
        )
        warn(DataWarning("guessed-label", text))
    if 2 * n_labelled > n_rows and not given:
        text = (
            f"More than half of the rows are labelled: {n_labelled} of {n_rows} hold {taken!r}, "
            f"which is rare among positive and unlabelled rows. If {taken!r} means unlabelled, "
            f"pass pos_label={other!r} or the labels s == {other!r}."
        )
        warn(DataWarning("mostly-labelled", text))
