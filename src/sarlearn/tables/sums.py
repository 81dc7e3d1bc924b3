"""What an encoder learns of each column, from one pass over the rows, whole or in partitions.

Each partition gives counts, moments and a sorted sketch of every column; together they say what the
whole table would. Quantiles are exact up to :data:`SKETCH` values per partition, and beyond that
off by at most one part in as many; those of a table in memory are exact.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from sarlearn._engine.rows import sizes, unit_of
from sarlearn._engine.terms import LEVEL, MAX_LEVELS, VALUE
from sarlearn._engine.terms import MISSING as GAP
from sarlearn.exceptions import DataWarning, warn
from sarlearn.tables.columns import (
    ColumnReading,
    as_frame,
    cell_counts,
    cell_days,
    cell_numbers,
    days,
    is_categorical,
    numbers,
    read_cells,
    word,
)

SKETCH = 4096
# Sketches of so many partitions are kept as they are; more become one of half as many values.
SKETCHES = 64
# A column is strongly skewed where its upper tail (from the median to the 99th percentile) is more
# than this many times as long as its lower one. It is 1 for a normal, 6 for an exponential, 10 for
# a lognormal distribution with a standard deviation of 1 in logarithms.
TAILS = 10.0
# With fewer different values there is no scale with a tail, and nothing odd can be told.
LEAST_VALUES = 10
# Rows from which on numbers one after the other are taken to number them.
LEAST_NUMBERED = 200
# What people write where a number is missing: 99, -999, and so on. One of them is told of where it
# lies further from the other values than these from each other.
_CODES = [sign * (10**digits - 1) for digits in range(1, 7) for sign in (-1.0, 1.0)]


@dataclass
class ColumnSums:
    """One column of some rows: numbers and days by their moments and values, others by cells."""

    reading: ColumnReading
    n_known: int = 0
    mean: float = 0.0
    deviation: float = 0.0
    low: float = np.inf
    # Of what is known, or evenly spaced ones of it, and how many rows each stands for.
    values: np.ndarray = field(default_factory=lambda: np.empty(0))
    weights: np.ndarray = field(default_factory=lambda: np.empty(0))
    cells: Counter = field(default_factory=Counter)  # of values, where not of a numeric type
    as_words: bool = False  # whatever the cells look like

    def __iadd__(self, other: "ColumnSums"):
        n = self.n_known + other.n_known
        if other.n_known:
            here, there = self.n_known / n, other.n_known / n
            apart = other.mean - self.mean
            self.mean += apart * there
            # hypot, since squares of very large and very small numbers are infinite or 0.
            parts = (self.deviation, here), (other.deviation, there), (apart, here * there)
            self.deviation = math.hypot(*(size * math.sqrt(share) for size, share in parts))
        self.n_known = n
        self.reading.n_rows += other.reading.n_rows
        self.reading.n_gaps += other.reading.n_gaps
        self.reading.example = self.reading.example or other.reading.example
        if other.reading.kind != self.reading.kind and not (self.cells or other.cells):
            self.reading.kind = other.reading.kind
        self.low = min(self.low, other.low)
        self.values = np.append(self.values, other.values)
        self.weights = np.append(self.weights, other.weights)
        if len(self.values) > SKETCHES * SKETCH:
            self._thin(SKETCHES * SKETCH // 2)
        self.cells = self.cells + other.cells
        return self

    def add_numbers(self, values: np.ndarray, most: float) -> None:
        """Numbers, of which at most so many are kept, NaN for gaps."""
        values = values[~np.isnan(values)]
        self.n_known, self.values, self.weights = len(values), values, np.ones(len(values))
        if len(values):
            unit = float(unit_of(sizes(values)))
            self.low, self.mean = values.min(), unit * float((values / unit).mean())
            self.deviation = unit * float(np.std(values / unit))
        if len(values) > most:
            self._thin(int(most))

    def _thin(self, most: int) -> None:
        """Keep so many values, evenly spaced by weight."""
        order = np.argsort(self.values, kind="stable")
        ends = np.cumsum(self.weights[order])
        places = np.searchsorted(ends, (np.arange(most) + 0.5) * ends[-1] / most)
        self.values, self.weights = self.values[order[places]], np.full(most, ends[-1] / most)

    def decided(self, most: float = math.inf) -> "ColumnSums":
        """With what the cells mean, and how many values there are: all rows have been seen."""
        if not self.cells:
            self.reading.n_levels = len(np.unique(self.values))
            return self
        # Numbers in some partitions, where there is text in others.
        for value, weight in zip(self.values.tolist(), self.weights.tolist(), strict=True):
            self.cells[value] += round(weight)
        name, gaps = self.reading.name, Counter({None: self.reading.n_gaps})
        self.reading = read_cells(self.cells + gaps, name, as_words=self.as_words)
        if self.reading.kind == "date":
            found = cell_days(list(self.cells), name, self.reading.month_first)
        elif self.reading.kind == "numeric":
            found = cell_numbers(list(self.cells), self.reading.style)
        else:
            return self
        counts = [self.cells[value] for value in found]
        self.add_numbers(np.repeat(np.array(list(found.values())), counts), most)
        return self

    @property
    def levels(self) -> Counter:
        """How often each word occurs."""
        found: Counter = Counter()
        for value, count in self.cells.items():
            found[word(value)] += count
        return found

    def moments(self, unit: float | None) -> tuple[float, float]:
        """Mean and standard deviation of what is known, on the column's scale."""
        if unit is None:
            return self.mean, self.deviation
        values = to_log(self.values, unit)
        mean = float(np.average(values, weights=self.weights))
        return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=self.weights)))


def sums_of(series, as_words: bool = False, most: float = math.inf) -> ColumnSums:
    """Of a column, whose values are all kept, or at most so many."""
    name, dtype, n_rows = series.name, series.dtype, len(series)
    as_words = as_words or is_categorical(series)
    if dtype.is_nested():
        raise ValueError(f"Column {name!r} holds lists or records ({dtype}); leave it out.")
    if as_words or not (dtype.is_numeric() or dtype.is_temporal()):
        cells = cell_counts(series)
        n_gaps = cells.pop(None, 0)
        return ColumnSums(
            ColumnReading(name, "category", n_rows, n_gaps), cells=cells, as_words=as_words
        )
    known = series.head(100).drop_nulls()
    example = word(known[0]) if len(known) else ""
    if str(dtype).startswith(("Duration", "Time")):
        return ColumnSums(ColumnReading(name, "time", n_rows, example=example))
    values = numbers(series) if dtype.is_numeric() else days(series)
    kind, n_gaps = "numeric" if dtype.is_numeric() else "date", int(np.isnan(values).sum())
    out = ColumnSums(ColumnReading(name, kind, n_rows, n_gaps, example=example))
    out.add_numbers(values, most)
    return out


def column_sums(table, drop: tuple[str, ...], as_words: tuple[str, ...]) -> dict[str, ColumnSums]:
    """The sums of one partition, by column."""
    frame = as_frame(table)
    return {n: sums_of(frame[n], n in as_words, SKETCH) for n in frame.columns if n not in drop}


def merged(parts: Iterable[dict[str, ColumnSums]]) -> dict[str, ColumnSums]:
    """The sums of the whole table. What cells of text mean is decided here, over all of them."""
    left = iter(parts)
    total = next(left)
    for part in left:
        for name, sums in part.items():
            total[name] += sums
    return {name: sums.decided(SKETCH) for name, sums in total.items()}


# -- linear terms ----------------------------------------------------------------------------------


def terms_of(j: int, sums: ColumnSums, unit: float | None, codes: dict[str, float]) -> list[tuple]:
    """The terms of one column, as :meth:`Terms.of` takes them.

    ``unit`` is that of a logarithmic scale, ``codes`` those of words.
    """
    if codes:
        found = [(j, LEVEL, code, *_of_share(share)) for code, share in _shares(sums, codes)]
    else:
        mean, spread = sums.moments(unit)
        found = [(j, VALUE, np.nan, mean, spread if spread > 1e-12 * abs(mean) else 1.0)]
    if n_gaps := sums.reading.n_gaps + sums.reading.n_strays:
        found.append((j, GAP, np.nan, *_of_share(n_gaps / sums.reading.n_rows)))
    return found


def _shares(sums: ColumnSums, codes: dict[str, float]) -> list[tuple[float, float]]:
    """The codes that get a term, and the share of rows with each."""
    counts: Counter = Counter()
    for level, count in sums.levels.items():
        counts[codes[level]] += count
    if len(counts) == 2:
        counts.pop(min(counts))
    kept = sorted(counts, key=lambda code: (-counts[code], code))[:MAX_LEVELS]
    return [(code, counts[code] / sums.reading.n_rows) for code in sorted(kept)]


def _of_share(share: float) -> tuple[float, float]:
    """Mean and standard deviation of a mark that a share of the rows carries."""
    return share, math.sqrt(share * (1 - share)) or 1.0


# -- scales: sums of money and codes for missing values, told from the numbers alone ---------------


def log_unit(values: np.ndarray, weights: np.ndarray) -> float | None:
    """The unit ``m`` of ``log(1 + x / m)`` for a strongly skewed column, None for any other.

    It is the median of the values above zero, so no single value decides it. Columns with
    negative numbers are none of these. ``weights`` say how many rows each value stands for.
    """
    if not len(values) or values.min() < 0 or len(np.unique(values)) <= LEAST_VALUES:
        return None
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


def tell_oddities(sums: ColumnSums) -> None:
    """Warn of a code for missing values, and of numbers of the rows."""
    name, code = sums.reading.name, missing_code(sums.values)
    if numbers_rows(sums):
        text = (
            f"Column {name!r} numbers the rows, and tells nothing of them. Name it as their "
            "identifier (--id on the command line), or leave it out."
        )
        warn(DataWarning("identifier-column", text))
    if code is not None:
        others, n_rows = sums.values[sums.values != code], sums.weights[sums.values == code].sum()
        text = (
            f"Column {name!r} holds {code:g} in {int(n_rows):,} rows, far "
            f"from its other values ({others.min():g} to {others.max():g}). If it stands for a "
            f"missing value, make it empty (--na {code:g} on the command line)."
        )
        warn(DataWarning("missing-code", text))


def numbers_rows(sums: ColumnSums) -> bool:
    """Whether a column holds whole numbers one after the other, a different one in each row."""
    n, values = sums.n_known, sums.values
    if n < LEAST_NUMBERED or len(values) < n or n < sums.reading.n_rows:
        return False
    return bool(np.ptp(values) == n - 1 and (np.diff(np.sort(values)) == 1).all())


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
