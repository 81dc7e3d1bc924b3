"""Words as marks: a column per level, one column where there are two."""

from collections.abc import Sequence

import numpy as np

OTHER = "(other)"


def n_marks(known: Sequence[str]) -> int:
    """How many columns the known levels become."""
    return 1 if len(known) == 2 else len(known)


def mark_words(
    codes: np.ndarray,
    words: Sequence[str],
    known: Sequence[str],
    out: np.ndarray,
    *,
    pooled: bool,
) -> None:
    """Mark each row's word in its column of ``out``, which holds zeros.

    What scikit-learn's ``OneHotEncoder(drop="if_binary", handle_unknown="ignore")`` does, but once
    per word, not once per row.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        The place of each row's word in ``words``.
    words : sequence of str
    known : sequence of str
        The levels that have columns; of two the first has none.
    out : ndarray of shape (n_rows, n_marks(known))
    pooled : bool
        Whether words that are not known count as ``(other)``.
    """
    places = {word: place - (len(known) == 2) for place, word in enumerate(known)}
    other = places[OTHER] if pooled else -1
    columns = np.array([places.get(word, other) for word in words], dtype=np.intp)[codes]
    marked = np.flatnonzero(columns >= 0)
    out[marked, columns[marked]] = 1.0
