"""The columns of a table in partitions: what an encoder learns, from one pass over them.

Each partition gives counts, sums and a sorted sketch of every column; together they say what the
whole table would. Quantiles are exact up to :data:`SKETCH` values per partition, and beyond that
off by at most one part in as many.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from sarlearn._engine.terms import LEVEL, MAX_LEVELS, VALUE, Terms
from sarlearn._engine.terms import MISSING as GAP
from sarlearn.tables.columns import (
    ColumnReading,
    as_frame,
    cell_counts,
    day_numbers,
    days,
    is_categorical,
    numbers,
    read_column,
    read_counts,
    read_words,
    text_numbers,
    word,
)
from sarlearn.tables.scales import to_log

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
    as_words: bool = False  # whatever the cells look like

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

    @property
    def n_gaps(self) -> int:
        return self.reading.n_gaps + self.reading.n_strays

    @property
    def levels(self) -> Counter:
        """How often each word occurs."""
        found: Counter = Counter()
        for value, count in self.cells.items():
            found[word(value)] += count
        return found

    @property
    def spread(self) -> tuple[np.ndarray, np.ndarray]:
        """Known values, or evenly spaced ones of them, and how many rows each stands for."""
        if not self.sketch:
            return np.empty(0), np.empty(0)
        values = np.concatenate([values for values, _ in self.sketch])
        return values, np.concatenate([np.full(len(v), weight) for v, weight in self.sketch])

    def moments(self, unit: float | None) -> tuple[float, float]:
        """Mean and standard deviation of what is known, on the column's scale."""
        if unit is None:
            return self.mean, float(np.sqrt(self.squares / max(self.n_known, 1)))
        values, weights = self.spread
        values = to_log(values, unit)
        mean = float(np.average(values, weights=weights))
        return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))


def column_sums(table, drop: tuple[str, ...], as_words: tuple[str, ...]) -> dict[str, ColumnSums]:
    """The sums of one partition, by column."""
    frame = as_frame(table)
    return {n: _sums_of(frame, n, n in as_words) for n in frame.columns if n not in drop}


def _sums_of(frame, name: str, as_words: bool) -> ColumnSums:
    series = frame[name]
    as_words = as_words or is_categorical(series)
    if as_words or not series.dtype.is_numeric():
        if series.dtype.is_temporal() or series.dtype.is_nested():
            out = ColumnSums(read_column(series, name))
            if out.reading.kind == "date":
                _add_numbers(out, days(series, name))
            return out
        cells = cell_counts(series, name)
        n_gaps = cells.pop(None, 0)
        reading = ColumnReading(name, "category", len(series), n_gaps)
        return ColumnSums(reading, cells=cells, as_words=as_words)
    out = ColumnSums(read_column(series, name))
    _add_numbers(out, numbers(frame, [name])[:, 0])
    return out


def _add_numbers(out: ColumnSums, values: np.ndarray) -> None:
    values = np.sort(values[~np.isnan(values)])
    out.n_known = len(values)
    if len(values):
        out.mean, out.low, out.high = float(values.mean()), values[0], values[-1]
        with np.errstate(over="ignore"):  # a spread without end is told from the mean
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
        elif sums.sketch:
            sums.reading.n_levels = len(np.unique(sums.spread[0]))
    return total


def _read_cells(name: str, sums: ColumnSums) -> None:
    """Read cells of text, or of objects, by how often each occurs in the whole table."""
    if sums.n_known:  # numbers in some partitions and text in others
        values, weights = sums.spread
        sums.cells.update(dict(zip(values.tolist(), weights.astype(int).tolist(), strict=True)))
    cells = Counter(sums.cells)
    if sums.reading.n_gaps:
        cells[None] = sums.reading.n_gaps
    read = read_words if sums.as_words else read_counts
    sums.reading = read(cells, name, sums.n_rows)
    if sums.reading.kind == "date":
        found = day_numbers(sums.cells, name, sums.reading.month_first)
    elif sums.reading.kind == "numeric":
        found = text_numbers(list(sums.cells), sums.reading.style)
    else:
        return
    counts = [sums.cells[value] for value in found]
    _add_numbers(sums, np.repeat(np.array(list(found.values())), counts))


def terms_of(
    columns: list[ColumnSums],
    units: list[float | None],
    codes: list[dict[str, float]],
    chosen: np.ndarray,
) -> Terms:
    """What :meth:`Terms.learn` would make of the columns, from their sums.

    ``units`` are those of logarithmic scales, ``codes`` of words by column.
    """
    found = []
    for j in chosen.tolist():
        sums = columns[j]
        if codes[j]:
            found += [(j, LEVEL, code, *_of_share(p)) for code, p in _shares(sums, codes[j])]
        else:
            mean, spread = sums.moments(units[j])
            found.append((j, VALUE, np.nan, mean, spread if spread > 1e-12 * abs(mean) else 1.0))
        if sums.n_gaps:
            found.append((j, GAP, np.nan, *_of_share(sums.n_gaps / sums.n_rows)))
    column, kind, level, center, scale = (np.array(each) for each in zip(*found, strict=True))
    return Terms(column, kind.astype(np.int8), level.astype(float), center, scale)


def _shares(sums: ColumnSums, codes: dict[str, float]) -> list[tuple[float, float]]:
    """The codes that get a term, and the share of rows with each."""
    counts: Counter = Counter()
    for level, count in sums.levels.items():
        counts[codes[level]] += count
    if len(counts) == 2:
        counts.pop(min(counts))
    kept = sorted(counts, key=lambda code: (-counts[code], code))[:MAX_LEVELS]
    return [(code, counts[code] / sums.n_rows) for code in sorted(kept)]


def _of_share(share: float) -> tuple[float, float]:
    """Mean and standard deviation of a mark that a share of the rows carries."""
    spread = float(np.sqrt(share * (1 - share)))
    return share, spread if spread > 1e-12 * share else 1.0
