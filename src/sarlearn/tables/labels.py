"""The label column of a table: which rows it calls labelled."""

from dataclasses import dataclass

import numpy as np

from sarlearn._labels import meaning
from sarlearn.tables.columns import values_of


@dataclass(frozen=True)
class Labels:
    """A label column understood: which rows are labelled, and the word that says so."""

    labelled: np.ndarray
    word: str
    n_empty: int = 0


def parse_labels(
    column,
    name: str,
    *,
    word: str | None = None,
    positive: str | None = None,
    must_occur: bool = True,
) -> Labels:
    """Which rows a label column calls labelled.

    Accepted are 0/1, -1/1, and words in any case that say yes or no, labelled or unlabelled,
    positive or unlabelled. An empty cell is unlabelled; one single value beside empty cells means
    labelled, whatever it is. Of other values ``positive`` says which one means labelled.

    Parameters
    ----------
    column : Series of pandas or polars, or narwhals Series
    name : str
        The column's name, for messages.
    word : str, optional
        A further value that means labelled, as found in an earlier table.
    positive : str, optional
        The value that means labelled; all others mean unlabelled.
    must_occur : bool, default=True
        Whether ``positive`` must be found in the column.

    Examples
    --------
    >>> import pandas as pd
    >>> from sarlearn.tables.labels import parse_labels
    >>> parse_labels(pd.Series(["yes", None, "no"]), "diagnosed").labelled
    array([ True, False, False])
    """
    import narwhals as nw

    values = values_of(nw.from_native(column, series_only=True))
    try:
        different = set(values)
    except TypeError:
        raise ValueError(f"The label column {name!r} must hold single values, not lists.") from None
    if positive is not None:
        return _positive(values, different, name, positive, must_occur)
    meanings = {value: meaning(value) for value in different}
    words = sorted({text for text in meanings.values() if isinstance(text, str)})
    n_empty = sum(meanings[value] is None for value in values)
    known = {m for m in meanings.values() if isinstance(m, bool)}
    if words and words != [word] and (len(words) > 1 or known or not n_empty):
        shown = sorted(str(value) for value in meanings if meanings[value] is not None)
        listed = ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")
        raise ValueError(
            f"The label column {name!r} holds {len(words) + len(known)} values that are not "
            f"a yes and a no ({listed}); accepted are 0/1, true/false, yes/no, labelled/unlabelled "
            "or one value and empty cells. Say with --positive which value means labelled."
        )
    labelled = np.array([meanings[value] not in (None, False) for value in values], dtype=bool)
    return Labels(labelled, words[0] if words else "1", n_empty)


def _positive(values: list, different: set, name: str, positive: str, must_occur: bool) -> Labels:
    taken = {value for value in different if value is not None and _spelling(value) == positive}
    if not taken and must_occur:
        shown = sorted(_spelling(value) for value in different if value is not None)
        listed = ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")
        raise ValueError(
            f"--positive: no row of {name!r} holds {positive!r}; it holds {listed or 'nothing'}."
        )
    labelled = np.array([value in taken for value in values], dtype=bool)
    return Labels(labelled, positive, sum(value is None for value in values))


def _spelling(value) -> str:
    """A value as people type it: 3 for 3.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
