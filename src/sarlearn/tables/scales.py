"""Scales of columns: sums of money and codes for missing values, told from the numbers alone."""

import re

import numpy as np

from sarlearn.exceptions import DataWarning, warn

# A column is strongly skewed where its upper tail (from the median to the 99th percentile) is more
# than this many times as long as its lower one. It is 1 for a normal, 6 for an exponential, 10 for
# a lognormal distribution with a standard deviation of 1 in logarithms.
TAILS = 10.0
# With fewer different values there is no scale with a tail, and nothing odd can be told; nor with
# fewer rows.
LEAST_VALUES, LEAST_ROWS = 10, 50
# What people write where a number is missing: 99, -999, and so on. One of them is told of where it
# lies further from the other values than these from each other.
_CODES = [sign * (10**digits - 1) for digits in range(1, 7) for sign in (-1.0, 1.0)]
# Names of row numbers, as data frames and databases write them; others may be a time.
_ROW_NUMBER = re.compile(
    r"(unnamed: 0|index|level_0|rownames|(row|record|case|.*_)?[ _]?(id|nr|no|number))",
    re.IGNORECASE,
)


def log_unit(values: np.ndarray, weights: np.ndarray | None = None) -> float | None:
    """The unit ``m`` of ``log(1 + x / m)`` for a strongly skewed column, None for any other.

    It is the median of the values above zero, so no single value decides it. Columns with
    negative numbers are none of these. ``weights`` say how many rows each value stands for.
    """
    known = ~np.isnan(values)
    values = values[known]
    if not len(values) or values.min() < 0 or len(np.unique(values)) <= LEAST_VALUES:
        return None
    weights = np.ones(len(values)) if weights is None else weights[known]
    low, middle, high = quantiles(values, weights, (0.01, 0.5, 0.99))
    if high - middle <= TAILS * (middle - low):
        return None
    above = values > 0
    return float(quantiles(values[above], weights[above], (0.5,))[0])


def quantiles(values: np.ndarray, weights: np.ndarray, shares) -> np.ndarray:
    """Weighted quantiles: the first value below which, itself included, the share lies."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    places = np.searchsorted(below, np.asarray(shares) * below[-1])
    return values[order][np.minimum(places, len(values) - 1)]


def to_log(values: np.ndarray, unit: float) -> np.ndarray:
    """``log(1 + x / m)``; odd in x, so that it is monotone also below zero."""
    return np.sign(values) * np.log1p(np.abs(values) / unit)


def tell_oddities(name: str, values: np.ndarray, weights: np.ndarray | None = None) -> None:
    """Warn of a code for missing values, and of a column that numbers the rows.

    ``values`` are in the order of the rows, unless ``weights`` say how many rows each stands for.
    """
    code = missing_code(values[~np.isnan(values)])
    if code is not None:
        rows = values == code
        count = int(rows.sum() if weights is None else weights[rows].sum())
        others = values[~rows & ~np.isnan(values)]
        text = (
            f"Column {name!r} holds {code:g} in {count:,} rows, far from its other values "
            f"({others.min():g} to {others.max():g}). If it stands for a missing value, make it "
            f"empty (--na {code:g} on the command line)."
        )
        warn(DataWarning("missing-code", text))
    elif weights is None and _ROW_NUMBER.fullmatch(name) and _numbers_rows(values):
        text = (
            f"Column {name!r} numbers the rows ({values[0]:g}, {values[1]:g}, {values[2]:g}, ...). "
            "It says nothing about them: leave it out."
        )
        warn(DataWarning("row-numbers", text))


def missing_code(known: np.ndarray) -> float | None:
    """The value that looks like a code for missing ones; None where none does."""
    if not len(known):
        return None
    for code in (float(known.min()), float(known.max())):
        rows = known == code
        others = known[~rows]
        if code not in _CODES or rows.sum() < 2 or len(np.unique(others)) < LEAST_VALUES:
            continue
        low, high = float(others.min()), float(others.max())
        if max(low - code, code - high) > high - low:
            return code
    return None


def _numbers_rows(values: np.ndarray) -> bool:
    if len(values) < LEAST_ROWS or values[0] not in (0, 1):
        return False
    return bool(np.array_equal(values, np.arange(len(values)) + values[0]))
