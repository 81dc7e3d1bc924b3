"""The scales of columns; strongly skewed ones, such as sums of money, on a logarithmic scale."""

import numpy as np
from sklearn.preprocessing import StandardScaler

from sarlearn._engine.magnitudes import moderate, sizes, unit_of

# A column is strongly skewed where its upper tail (from the median to the 99th percentile) is more
# than this many times as long as its lower one. It is 1 for a normal, 6 for an exponential, 10 for
# a lognormal distribution with a standard deviation of 1 in logarithms.
TAILS = 10.0
# Fewer different values are levels, not a scale with a tail.
MIN_VALUES = 10


def log_unit(values: np.ndarray, weights: np.ndarray | None = None) -> float | None:
    """The unit ``m`` of ``log(1 + x / m)`` for a strongly skewed column, None for any other.

    It is the median of the values above zero, so no single value decides it. Columns with
    negative numbers are none of these. ``weights`` say how many rows each value stands for.
    """
    known = ~np.isnan(values)
    values = values[known]
    if not len(values) or values.min() < 0 or len(np.unique(values)) <= MIN_VALUES:
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


def scaler_to(values: np.ndarray) -> StandardScaler:
    """A scaler fitted to columns, also to those whose squares are too large or too small."""
    scaler, unit = StandardScaler().fit(moderate(values)), unit_of(sizes(values))
    scaler.mean_, scaler.scale_ = scaler.mean_ * unit, scaler.scale_ * unit
    with np.errstate(over="ignore"):
        scaler.var_ = scaler.var_ * unit * unit
    return scaler
