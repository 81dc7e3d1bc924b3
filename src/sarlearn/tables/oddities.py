"""Columns of numbers that may not mean what they say: codes for missing values, row numbers."""

import re

import numpy as np

from sarlearn.exceptions import TableWarning, warn

# What people write where a number is missing: 99, -999, and so on. One of them is told of where it
# lies further from the other values than these from each other.
_CODES = [sign * (10**digits - 1) for digits in range(1, 7) for sign in (-1.0, 1.0)]
# Names of row numbers, as data frames and databases write them; others may be a time.
_ROW_NUMBER = re.compile(
    r"(unnamed: 0|index|level_0|rownames|(row|record|case|.*_)?[ _]?(id|nr|no|number))",
    re.IGNORECASE,
)
# With fewer values, or rows, nothing of the kind can be told.
_LEAST_VALUES = 10
_LEAST_ROWS = 50


def tell_oddities(name: str, values: np.ndarray, weights: np.ndarray | None = None) -> None:
    """Warn of a code for missing values, and of a column that numbers the rows.

    Parameters
    ----------
    name : str
        Of the column.
    values : ndarray
        Its values, in the order of the rows unless they have weights.
    weights : ndarray, optional
        How many rows each value stands for, where it is not one.
    """
    code = missing_code(values[~np.isnan(values)])
    if code is not None:
        rows = values == code
        count = int(rows.sum() if weights is None else weights[rows].sum())
        others = values[~rows & ~np.isnan(values)]
        warn(
            TableWarning(
                f"Column {name!r} holds {code:g} in {count:,} rows, far from its other values "
                f"({others.min():g} to {others.max():g}). If it stands for a missing value, make "
                f"it empty (--na {code:g} on the command line)."
            )
        )
    elif weights is None and _ROW_NUMBER.fullmatch(name) and _numbers_rows(values):
        warn(
            TableWarning(
                f"Column {name!r} numbers the rows ({values[0]:g}, {values[1]:g}, "
                f"{values[2]:g}, ...). It says nothing about them: leave it out."
            )
        )


def missing_code(known: np.ndarray) -> float | None:
    """The value that looks like a code for missing ones; None where none does."""
    if not len(known):
        return None
    for code in (float(known.min()), float(known.max())):
        rows = known == code
        others = known[~rows]
        if code not in _CODES or rows.sum() < 2 or len(np.unique(others)) < _LEAST_VALUES:
            continue
        low, high = float(others.min()), float(others.max())
        if max(low - code, code - high) > high - low:
            return code
    return None


def _numbers_rows(values: np.ndarray) -> bool:
    if len(values) < _LEAST_ROWS or values[0] not in (0, 1):
        return False
    return bool(np.array_equal(values, np.arange(len(values)) + values[0]))
