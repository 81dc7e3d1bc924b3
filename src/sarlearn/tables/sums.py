"""The columns of a table in partitions: what an encoder learns, from one pass over them.

Each partition gives counts, sums and a sorted sketch of every column; together they say what the
whole table would. Medians are exact up to :data:`SKETCH` values per partition, and beyond that off
by at most one part in as many.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from sarlearn.tables.columns import (
    MISSING,
    as_frame,
    cell_counts,
    numbers,
    read_column,
    read_counts,
    text_numbers,
    word,
)
from sarlearn.tables.readings import ColumnReading
from sarlearn.tables.skew import quantiles, to_log

SKETCH = 4096
# Sketches of so many partitions are kept as they are; more become one of half as many values.
SKETCHES = 64


@dataclass
class ColumnSums:
    """One column of some rows."""

    reading: ColumnReading
    n_known: int = 0
    mean: float = 0.0
    squares: float = 0.0  # of distances from the mean
    low: float = np.inf
    high: float = -np.inf
    sketch: list[tuple[np.ndarray, float]] = field(default_factory=list)
    cells: Counter = field(default_factory=Counter)  # of values, where not of a numeric type

    @property
    def n_rows(self) -> int:
        return self.reading.n_rows

    def __iadd__(self, other: "ColumnSums"):
        n = self.n_known + other.n_known
        if other.n_known:
            apart = other.mean - self.mean
            self.squares += other.squares + apart**2 * self.n_known * other.n_known / n
            self.mean += apart * other.n_known / n
        self.n_known = n
        self.reading.n_rows += other.reading.n_rows
        self.reading.n_gaps += other.reading.n_gaps
        self.reading.example = self.reading.example or other.reading.example
        if other.reading.kind != self.reading.kind and not (self.cells or other.cells):
            self.reading.kind = other.reading.kind
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.sketch = _thinned(self.sketch + other.sketch)
        self.cells = self.cells + other.cells
        return self

    def is_constant(self, min_rows: int) -> bool:
        """Whether a number has one value; a value and gaps that are marked are two."""
        n_gaps = self.n_rows - self.n_known
        return self.n_known == 0 or (self.low == self.high and n_gaps < min_rows)

    @property
    def levels(self) -> Counter:
        """How often each word occurs."""
        found: Counter = Counter()
        for value, count in self.cells.items():
            found[word(value)] += count
        if self.reading.n_gaps:
            found[MISSING] += self.reading.n_gaps
        return found

    @property
    def spread(self) -> tuple[np.ndarray, np.ndarray]:
        """Known values, or evenly spaced ones of them, and how many rows each stands for."""
        values = np.concatenate([values for values, _ in self.sketch])
        return values, np.concatenate([np.full(len(v), weight) for v, weight in self.sketch])

    @property
    def median(self) -> float:
        values, weights = self.spread
        if np.all(weights == 1):
            return float(np.median(values))
        return float(quantiles(values, weights, (0.5,))[0])

    def filled(self, unit: float | None) -> tuple[float, float]:
        """Mean and variance once the gaps hold the median, on the column's scale."""
        mean, squares, median = self.mean, self.squares, self.median
        if unit is not None:
            values, weights = self.spread
            values, median = to_log(values, unit), float(to_log(np.array(median), unit))
            mean = float(np.average(values, weights=weights))
            squares = float(weights @ (values - mean) ** 2) * self.n_known / weights.sum()
        gaps = self.n_rows - self.n_known
        apart = median - mean
        squares += apart**2 * self.n_known * gaps / self.n_rows
        return mean + apart * gaps / self.n_rows, squares / self.n_rows


def column_sums(table, drop: tuple[str, ...]) -> dict[str, ColumnSums]:
    """The sums of one partition, by column."""
    frame = as_frame(table)
    return {name: _sums_of(frame, name) for name in frame.columns if name not in drop}


def _sums_of(frame, name: str) -> ColumnSums:
    series = frame[name]
    if not series.dtype.is_numeric():
        if series.dtype.is_temporal() or series.dtype.is_nested():
            return ColumnSums(read_column(series, name))
        cells = cell_counts(series, name)
        n_gaps = cells.pop(None, 0)
        return ColumnSums(ColumnReading(name, "category", len(series), n_gaps), cells=cells)
    out = ColumnSums(read_column(series, name))
    _add_numbers(out, numbers(frame, [name])[:, 0])
    return out


def _add_numbers(out: ColumnSums, values: np.ndarray) -> None:
    values = np.sort(values[~np.isnan(values)])
    out.n_known = len(values)
    if len(values):
        out.mean, out.low, out.high = float(values.mean()), values[0], values[-1]
        out.squares = float(((values - out.mean) ** 2).sum())
        out.sketch = [_sketch(values)]


def _sketch(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Sorted values, or evenly spaced ones of them, and how many each stands for."""
    if len(values) <= SKETCH:
        return values, 1.0
    places = (np.arange(SKETCH) + 0.5) * len(values) / SKETCH
    return values[places.astype(int)], len(values) / SKETCH


def _thinned(sketches: list[tuple[np.ndarray, float]]) -> list[tuple[np.ndarray, float]]:
    """The same, or values of them that are evenly spaced by weight, where there are many."""
    if sum(len(values) for values, _ in sketches) <= SKETCHES * SKETCH:
        return sketches
    values = np.concatenate([values for values, _ in sketches])
    weights = np.concatenate([np.full(len(values), weight) for values, weight in sketches])
    order = np.argsort(values, kind="stable")
    ends, n_values = np.cumsum(weights[order]), SKETCHES * SKETCH // 2
    places = np.searchsorted(ends, (np.arange(n_values) + 0.5) * ends[-1] / n_values)
    return [(values[order[places]], ends[-1] / n_values)]


def merged(parts: Iterable[dict[str, ColumnSums]]) -> dict[str, ColumnSums]:
    """The sums of the whole table. What cells of text mean is decided here, over all of them."""
    left = iter(parts)
    total = next(left)
    for part in left:
        for name, sums in part.items():
            total[name] += sums
    for name, sums in total.items():
        if sums.cells:
            _read_cells(name, sums)
        elif sums.reading.kind == "numeric":
            sums.reading.n_levels = len(np.unique(sums.spread[0])) if sums.sketch else 0
    return total


def _read_cells(name: str, sums: ColumnSums) -> None:
    """Read cells of text, or of objects, by how often each occurs in the whole table."""
    if sums.n_known:  # numbers in some partitions and text in others
        values, weights = sums.spread
        sums.cells.update(dict(zip(values.tolist(), weights.astype(int).tolist(), strict=True)))
    cells = Counter(sums.cells)
    if sums.reading.n_gaps:
        cells[None] = sums.reading.n_gaps
    sums.reading = read_counts(cells, name, sums.n_rows)
    if sums.reading.kind == "numeric":
        found = text_numbers(list(sums.cells), sums.reading.style)
        counts = [sums.cells[value] for value in found]
        _add_numbers(sums, np.repeat(np.array(list(found.values())), counts))


def imputer_of(columns: list[ColumnSums], imputer: SimpleImputer) -> SimpleImputer:
    """The imputer fitted to a row that has these medians."""
    medians = np.array([column.median for column in columns])
    return imputer.fit(medians[None, :])


def scaler_of(columns: list[ColumnSums], units: list[float | None]) -> StandardScaler:
    """A scaler with the means and variances of the filled columns, each on its scale."""
    pairs = zip(columns, units, strict=True)
    mean, variance = np.array([column.filled(unit) for column, unit in pairs]).T
    spread = np.sqrt(variance)
    scaler = StandardScaler().fit(np.array([mean - spread, mean + spread]))
    scaler.mean_, scaler.var_, scaler.scale_ = mean, variance, np.where(spread > 0, spread, 1.0)
    scaler.n_samples_seen_ = columns[0].n_rows
    return scaler
