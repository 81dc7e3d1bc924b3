"""The columns of a table in partitions: what an encoder learns, from one pass over them.

Each partition gives counts, sums and a sorted sketch of every column; together they say what the
whole table would. Medians are exact up to :data:`SKETCH` values per partition, and beyond that off
by at most one part in as many.
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sarlearn.tables.columns import as_frame, kind_of, known_values, numbers, words

SKETCH = 4096


@dataclass
class ColumnSums:
    """One column of some rows."""

    n_rows: int = 0
    kind: str | None = None  # None where every value is missing
    n_known: int = 0
    mean: float = 0.0
    squares: float = 0.0  # of distances from the mean
    low: float = np.inf
    high: float = -np.inf
    sketch: list[tuple[np.ndarray, float]] = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)  # of words, where not of a numeric type

    def __iadd__(self, other: "ColumnSums"):
        n = self.n_known + other.n_known
        if other.n_known:
            apart = other.mean - self.mean
            self.squares += other.squares + apart**2 * self.n_known * other.n_known / n
            self.mean += apart * other.n_known / n
        self.n_rows, self.n_known = self.n_rows + other.n_rows, n
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.sketch = self.sketch + other.sketch
        self.counts = self.counts + other.counts
        if other.kind is not None:
            self.kind = other.kind if self.kind in (None, other.kind) else "category"
        return self

    @property
    def is_constant(self) -> bool:
        if self.kind == "category":
            return len(self.counts) < 2
        return self.n_known == 0 or (self.low == self.high and self.n_known == self.n_rows)

    @property
    def median(self) -> float:
        values = np.concatenate([values for values, _ in self.sketch])
        if all(weight == 1 for _, weight in self.sketch):
            return float(np.median(values))
        weights = np.concatenate([np.full(len(v), weight) for v, weight in self.sketch])
        order = np.argsort(values, kind="stable")
        below = np.cumsum(weights[order])
        return float(values[order][np.searchsorted(below, below[-1] / 2)])

    @property
    def filled(self) -> tuple[float, float]:
        """Mean and variance once the gaps hold the median."""
        gaps = self.n_rows - self.n_known
        apart = self.median - self.mean
        mean = self.mean + apart * gaps / self.n_rows
        squares = self.squares + apart**2 * self.n_known * gaps / self.n_rows
        return mean, squares / self.n_rows


def column_sums(table, drop: tuple[str, ...]) -> dict[str, ColumnSums]:
    """The sums of one partition, by column."""
    frame = as_frame(table)
    return {name: _sums_of(frame, name) for name in frame.columns if name not in drop}


def _sums_of(frame, name: str) -> ColumnSums:
    series = frame[name]
    is_number = series.dtype.is_numeric()
    out = ColumnSums(len(series), "numeric" if is_number else None)
    if not is_number:
        out.counts.update(words(frame, [name])[:, 0].tolist())
        if known_values(series, name):
            out.kind = kind_of(series, name)
        elif series.dtype.is_temporal():
            kind_of(series, name)
    if out.kind == "numeric":
        values = numbers(frame, [name])[:, 0]
        values = np.sort(values[~np.isnan(values)])
        out.n_known = len(values)
        if len(values):
            out.mean, out.low, out.high = float(values.mean()), values[0], values[-1]
            out.squares = float(((values - out.mean) ** 2).sum())
            out.sketch = [_sketch(values)]
    return out


def _sketch(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Sorted values, or evenly spaced ones of them, and how many each stands for."""
    if len(values) <= SKETCH:
        return values, 1.0
    places = (np.arange(SKETCH) + 0.5) * len(values) / SKETCH
    return values[places.astype(int)], len(values) / SKETCH


def merged(parts: list[dict[str, ColumnSums]]) -> dict[str, ColumnSums]:
    """The sums of the whole table."""
    total = {name: ColumnSums() for name in parts[0]}
    for part in parts:
        for name, sums in part.items():
            total[name] += sums
    for sums in total.values():
        sums.kind = sums.kind or "category"
    return total


def imputer_of(columns: list[ColumnSums], imputer: SimpleImputer) -> SimpleImputer:
    """The imputer fitted to two rows that have these medians and gaps."""
    medians = np.array([column.median for column in columns])
    gaps = [column.n_known < column.n_rows for column in columns]
    return imputer.fit(np.array([medians, np.where(gaps, np.nan, medians)]))


def scaler_of(columns: list[ColumnSums]) -> StandardScaler:
    """A scaler with the means and variances of the filled columns."""
    mean, variance = np.array([column.filled for column in columns]).T
    spread = np.sqrt(variance)
    scaler = StandardScaler().fit(np.array([mean - spread, mean + spread]))
    scaler.mean_, scaler.var_, scaler.scale_ = mean, variance, np.where(spread > 0, spread, 1.0)
    scaler.n_samples_seen_ = columns[0].n_rows
    return scaler


def one_hot_of(columns: list[ColumnSums], encoder: OneHotEncoder) -> OneHotEncoder:
    """The encoder fitted to a few rows in which each column's words rank as in the whole table.

    Only the order of the counts decides which words are rare, so ranks do instead of counts.
    """
    texts = [_ranked(column.counts, encoder.max_categories) for column in columns]
    length = max(map(len, texts))
    # The last word is the most frequent one, which more of it leaves so.
    padded = [text + text[-1:] * (length - len(text)) for text in texts]
    return encoder.fit(np.array(padded, dtype=object).T)


def _ranked(counts: Counter, most: int) -> list[str]:
    ordered = sorted(counts, key=lambda word: (counts[word], word))
    ordered_counts = [counts[word] for word in ordered]
    edge = ordered_counts[-most] if len(ordered) > most else 0  # below it, all are rare alike
    levels = sorted({max(count, edge - 1) for count in ordered_counts})
    ranks = {count: rank for rank, count in enumerate(levels, 1)}
    return [word for word in ordered for _ in range(ranks[max(counts[word], edge - 1)])]
