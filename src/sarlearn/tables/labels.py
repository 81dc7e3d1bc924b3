"""The label column of a table: which rows it calls labelled, and which checked and negative."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sarlearn._labels import NO_WORDS, UNLABELLED_WORDS, folded, meaning
from sarlearn._words import listed
from sarlearn.tables.columns import values_of, word


@dataclass(frozen=True)
class Labels:
    """A label column understood: which rows are labelled, and the word that says so.

    ``negative`` are the rows that were checked and found negative.
    """

    labelled: np.ndarray
    word: str
    negative: np.ndarray


def parse_labels(
    column,
    name: str,
    *,
    word: str | None = None,
    positive: str | None = None,
    negative: Sequence[str] = (),
    unlabelled: Sequence[str] = (),
    must_occur: bool = True,
) -> Labels:
    """Which rows a label column calls labelled.

    Accepted are 0/1, -1/1, and words in any case that say yes or no, labelled or unlabelled,
    positive or unlabelled. An empty cell is unlabelled; one single value beside empty cells means
    labelled, whatever it is. Of other values ``positive`` says which one means labelled. Where
    there are three values or more, some rows may have been checked and found negative, so that
    ``negative`` or ``unlabelled`` must say what the others mean.

    Parameters
    ----------
    column : Series of pandas or polars, or narwhals Series
    name : str
        The column's name, for messages.
    word : str, optional
        A further value that means labelled, as found in an earlier table.
    positive : str, optional
        The value that means labelled.
    negative, unlabelled : sequence of str
        Values, or lists of them (a,b), of rows that were checked and are negative, and of rows of
        which nothing is known. With ``negative`` alone the others are unlabelled.
    must_occur : bool, default=True
        Whether values that are named must be found in the column, and all values be understood.

    Examples
    --------
    >>> import pandas as pd
    >>> from sarlearn.tables.labels import parse_labels
    >>> parse_labels(pd.Series(["yes", None, "no"]), "diagnosed").labelled
    array([ True, False, False])
    """
    import narwhals as nw

    values = values_of(nw.from_native(column, series_only=True).alias(name))
    different = set(values)
    options: dict[str, Sequence[str]] = {"--positive": () if positive is None else (positive,)}
    options |= {"--negative": negative, "--unlabelled": unlabelled}
    taken, checked, unknown = (
        _named(option, words, different, name, must_occur) for option, words in options.items()
    )
    for value in (taken & checked) | (taken & unknown) | (checked & unknown):
        raise ValueError(f"{value!r} of {name!r} is named twice in {', '.join(options)}.")
    rest = different - taken - checked - unknown
    if positive is None:
        taken, word = _meaning_labelled(rest, name, word, bool(checked | unknown))
        rest -= taken
    if must_occur:
        _refuse_unclear(rest, taken, name, checked, unknown)
    return Labels(
        np.array([value in taken for value in values], dtype=bool),
        positive or word or "1",
        np.array([value in checked for value in values], dtype=bool),
    )


def _named(option: str, words: Sequence[str], different: set, name: str, must_occur: bool) -> set:
    """The values that an option names, with lists such as ``a,b`` taken apart."""
    spelled = {word(value): value for value in different if value is not None}
    found = set()
    for text in words:
        whole = text in spelled or option == "--positive"
        for one in [text] if whole else map(str.strip, text.split(",")):
            if one in spelled:
                found.add(spelled[one])
            elif must_occur:
                held = _listed(different) or "nothing"
                raise ValueError(f"{option}: no row of {name!r} holds {one!r}; it holds {held}.")
    return found


def _meaning_labelled(
    different: set, name: str, word: str | None, others: bool
) -> tuple[set, str | None]:
    """Values that mean labelled by themselves, or as the only ones; and their word, if any."""
    meanings = {value: meaning(value) for value in different}
    words = sorted({text for text in meanings.values() if isinstance(text, str)})
    known = {m for m in meanings.values() if isinstance(m, bool)}
    alone = others or None in meanings.values()
    if words and words != [word] and (len(words) > 1 or known or not alone):
        shown = {value for value in different if meanings[value] is not None}
        raise ValueError(
            f"The label column {name!r} holds {len(words) + len(known)} values that are not "
            f"a yes and a no ({_listed(shown)}); accepted are 0/1, true/false, yes/no, "
            "labelled/unlabelled or one value and empty cells. Say with --positive which value "
            "means labelled."
        )
    taken = {value for value, meant in meanings.items() if meant not in (None, False)}
    return taken, words[0] if words else None


def _refuse_unclear(rest: set, taken: set, name: str, checked: set, unknown: set) -> None:
    """Ask what the other values mean, where some may stand for rows that are surely negative."""
    gaps = {value for value in rest if meaning(value) is None}
    others = {folded(value): value for value in rest - gaps}
    if unknown and others:
        raise ValueError(
            f"--unlabelled: {name!r} also holds {_listed(others.values())}; name all values that "
            "mean unlabelled, or with --negative those of rows that are known to be negative."
        )
    words = any(isinstance(meaning(value), str) for value in others.values())
    if checked or unknown or len(others) + (bool(gaps) and words) < 2:
        return
    likely = [value for key, value in others.items() if key not in UNLABELLED_WORDS - NO_WORDS]
    first = min(map(word, likely or others.values()))
    every = ",".join(sorted(map(word, others.values())))
    held = _listed(taken | rest - gaps, *(["empty cells"] if gaps else []))
    raise ValueError(
        f"The label column {name!r} holds {held}: besides the labelled rows there are several "
        f"kinds. Say --negative {first} if these rows were checked and are negative, or "
        f"--unlabelled {every} if nobody knows."
    )


def _listed(values, *more: str) -> str:
    shown = sorted(word(value) for value in values if value is not None)
    return listed([*shown, *more], 5)
