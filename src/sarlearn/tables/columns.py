"""The columns of a data frame, of any library: what they hold, as numbers, words or dates."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np

from sarlearn._words import counted, quoted
from sarlearn.tables.cells import (
    NumberStyle,
    are_codes,
    as_date,
    is_month_first,
    is_numeric,
    read_dates,
    read_numbers,
)

MISSING = "(missing)"
_KINDS = {"numeric": "number", "category": "words", "date": "date", "time": "time"}
# Of the cells that are no numbers so many are kept to be shown.
_SHOWN = 10


@dataclass
class ColumnReading:
    """One column: what it holds, what is missing, what was made of it.

    Attributes
    ----------
    kind : {"numeric", "category", "date", "time"}
    n_rows, n_gaps, n_levels : int
        Number of rows, of empty cells, and of different values.
    n_strays, strays : int and dict of str to int
        Cells that are no number, or no date, and count as missing; some of them, the most frequent
        first.
    style, month_first : NumberStyle or None, and bool
        How numbers in text are written, and dates.
    number_share : float or None
        Of words: the share that are numbers, where that is worth knowing.
    n_pooled : int
        Levels that share one, because each has few rows.
    dropped : str
        Why the column is not used; empty where it is.
    """

    name: str
    kind: str
    n_rows: int
    n_gaps: int = 0
    n_levels: int = 0
    example: str = ""
    n_strays: int = 0
    strays: dict[str, int] = field(default_factory=dict)
    style: NumberStyle | None = None
    month_first: bool = False
    number_share: float | None = None
    scale: str = "linear"
    n_pooled: int = 0
    dropped: str = ""
    notes: list[str] = field(default_factory=list)

    def set_strays(self, strays: Counter) -> None:
        self.n_strays = strays.total()
        self.strays = dict(strays.most_common(_SHOWN))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and for reports."""
        return {
            "name": self.name,
            "kind": _KINDS[self.kind],
            "rows": self.n_rows,
            "missing": self.n_gaps,
            "not_read": self.n_strays,
            "cells_not_read": dict(self.strays) if self.n_strays else {},
            "levels": self.n_levels,
            "pooled_levels": self.n_pooled,
            "example": self.example,
            "scale": self.scale,
            "dropped": self.dropped,
            "note": self.sentence(),
        }

    def sentence(self) -> str:
        """What stands out, in words."""
        said = [self.dropped] if self.dropped else []
        if self.n_strays:
            shown = quoted(self.strays, 3)
            said.append(f"{counted(self.n_strays, 'cell')} taken as missing ({shown})")
        if not self.dropped:
            said += self.notes
            if self.scale == "log":
                said.append("strongly skewed: enters on a logarithmic scale")
            if self.n_pooled:
                said.append(f"{self.n_pooled} rare levels count as one")
        return "; ".join(said)


def is_table(X) -> bool:
    """Whether rows come with names of columns, all text: a data frame, in memory or on Dask, or
    batches. Told without importing a library."""
    names = column_names(X)
    return bool(names) and all(isinstance(name, str) for name in names)


def column_names(X) -> list:
    """The names of the columns; none of a matrix."""
    if hasattr(type(X), "features"):  # batches
        return X.features()
    if not hasattr(X, "shape") or isinstance(X, np.ndarray):
        return []
    return list(X.column_names if hasattr(type(X), "column_names") else getattr(X, "columns", ()))


def as_frame(X):
    """A narwhals view of a data frame whose columns are named in text."""
    import narwhals as nw

    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError as error:
        raise TypeError(
            f"A table is a data frame of pandas, polars or pyarrow; got {type(X).__name__}."
        ) from error
    except nw.exceptions.DuplicateError:
        names = [str(name) for name in X.columns]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"The table has more than one column named {repeated!r}; rename one."
        ) from None
    odd = [name for name in frame.columns if not isinstance(name, str)]
    if odd:
        raise ValueError(f"Column names must be text; {odd[0]!r} is {type(odd[0]).__name__}.")
    return frame


def is_categorical(series) -> bool:
    """Whether the type of a column says that it holds categories."""
    import narwhals as nw

    return isinstance(series.dtype, nw.Categorical | nw.Enum)


# -- cells, each different one once ----------------------------------------------------------------


def coded(series) -> tuple[np.ndarray, list]:
    """The place of each row's value among the different ones of a column, and these.

    They come in the order of the rows, every kind of gap as None; a text of nothing but spaces is
    one, too. Work on a value is then done once, not once per row.
    """
    import narwhals as nw

    if series.dtype == nw.String:
        column = series.to_arrow()
        column = column.combine_chunks() if hasattr(column, "chunks") else column
        found = column.dictionary_encode(null_encoding="encode")
        codes, distinct = found.indices.to_numpy(zero_copy_only=False), found.dictionary.to_pylist()
    else:
        gaps = series.is_null().to_list()
        pairs = zip(gaps, series.to_list(), strict=True)
        values = [None if gap or value != value else value for gap, value in pairs]
        try:
            place = {value: code for code, value in enumerate(dict.fromkeys(values))}
        except TypeError as error:
            raise ValueError(
                f"Column {series.name!r} holds lists or records; leave it out."
            ) from error
        codes = np.fromiter(map(place.__getitem__, values), dtype=np.intp, count=len(values))
        distinct = list(place)
    return codes, [None if isinstance(v, str) and not v.strip(" ") else v for v in distinct]


def _spread(distinct: list, codes: np.ndarray) -> np.ndarray:
    """One of the values per code."""
    values = np.empty(len(distinct), dtype=object)
    values[:] = distinct
    return values[codes]


def values_of(series) -> list[Any]:
    """The values of a narwhals series as Python objects, every kind of gap as None."""
    codes, distinct = coded(series)
    return _spread(distinct, codes).tolist()


def words(series) -> np.ndarray:
    """A column as text, gaps as ``(missing)``; 3.0 and 3 are the same word."""
    codes, distinct = coded(series)
    return _spread([word(value) for value in distinct], codes)


def cell_counts(series) -> Counter:
    """How often each value of a column occurs, gaps as None."""
    codes, distinct = coded(series)
    counts: Counter = Counter()
    for value, count in zip(distinct, np.bincount(codes, minlength=len(distinct)), strict=True):
        counts[value] += int(count)
    return +counts


def word(value) -> str:
    """A value as text, without spaces around it: 3 for 3.0, ``(missing)`` for a gap."""
    if value is None:
        return MISSING
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip(" ")


# -- what a column is read as ----------------------------------------------------------------------


def read_cells(counts: Counter, name: str, *, as_words: bool = False) -> ColumnReading:
    """How a column of text or objects is read, from how often each value occurs."""
    n_gaps, n_rows = counts[None], counts.total()
    counts = Counter({value: count for value, count in counts.items() if value is not None})
    example = next((word(value) for value in counts), "")
    reading = ColumnReading(name, "category", n_rows, n_gaps, len(counts), example)
    if as_words or not counts:
        return reading
    if all(isinstance(value, date) for value in counts):
        reading.kind = "date"
    elif any(isinstance(value, time | timedelta | date) for value in counts):
        reading.kind = "time"
    elif all(_is_plain_number(value) for value in counts):
        reading.kind = "numeric"
    elif not all(isinstance(value, bool) for value in counts):
        cells: Counter = Counter()
        for value, count in counts.items():
            cells[word(value)] += count
        _read_text(cells, reading)
    return reading


def _read_text(cells: Counter, reading: ColumnReading) -> None:
    """Whether text cells are numbers or dates, nearly all of them."""
    found = read_numbers(cells)
    if found is not None and is_numeric(found):
        if are_codes(cells):
            reading.notes.append("codes with leading zeros, kept as words")
            return
        reading.kind, reading.style = "numeric", found.style
        reading.n_levels = len(set(found.values.values()))
        reading.set_strays(found.strays)
        reading.notes += found.style.words()
        return
    month_first = is_month_first(cells)
    dates = read_dates(cells, month_first)
    if dates is not None:
        reading.kind, reading.month_first = "date", month_first
        reading.set_strays(dates[1])
    elif found is not None and len(found.values) > 10 and found.strays:
        reading.number_share = found.share
        reading.set_strays(found.strays)
        reading.n_strays = 0  # they are words like the others


def _is_plain_number(value) -> bool:
    return isinstance(value, Number | Decimal) and not isinstance(value, bool)


# -- columns as numbers ----------------------------------------------------------------------------


def numbers(series, style: NumberStyle | None = None, strays: Counter | None = None) -> np.ndarray:
    """A column as float64, gaps as NaN. Text is read in the given style, or the one it shows.

    Cells that are no numbers are gaps, and counted in ``strays``; a column of which most are none,
    and infinities, are refused.
    """
    if series.dtype.is_float() or series.dtype.is_integer():
        values = np.asarray(series.to_numpy(), dtype=np.float64)
    elif series.dtype.is_temporal():
        raise ValueError(
            f"Column {series.name!r} held numbers when the model was fitted; now it holds dates."
        )
    else:
        values = _numbers_in_cells(series, style, Counter() if strays is None else strays)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise ValueError(f"Column {series.name!r} holds an infinite number, in row {row}.")
    return values


def _numbers_in_cells(series, style: NumberStyle | None, strays: Counter) -> np.ndarray:
    codes, distinct = coded(series)
    found = cell_numbers(distinct, style)
    counts = np.bincount(codes, minlength=len(distinct)).tolist()
    for value, count in zip(distinct, counts, strict=True):
        if value is not None and value not in found:
            strays[str(value)] += count
    known = len(codes) - sum(n for value, n in zip(distinct, counts, strict=True) if value is None)
    if 2 * strays.total() > known:
        raise ValueError(
            f"Column {series.name!r} held numbers when the model was fitted; now it holds "
            f"{next(iter(strays))!r}."
        )
    return np.array([found.get(value, np.nan) for value in distinct], dtype=np.float64)[codes]


def cell_numbers(values: list, style: NumberStyle | None) -> dict[Any, float]:
    """The number of each different value that is one."""
    different = [value for value in dict.fromkeys(values) if value is not None]
    found = {value: float(value) for value in different if not isinstance(value, str)}
    cells = Counter(value for value in different if isinstance(value, str))
    if style is None and cells:
        guessed = read_numbers(cells)
        style = guessed.style if guessed is not None else NumberStyle()
    for cell in cells:
        number = style.number(cell) if style is not None else None
        if number is not None:
            found[cell] = number
    return found


def days(series, month_first: bool = False) -> np.ndarray:
    """Day numbers of a column of dates, NaN for gaps and for cells that are no dates."""
    codes, distinct = coded(series)
    found = cell_days(distinct, series.name, month_first)
    return np.array([found.get(value, np.nan) for value in distinct], dtype=np.float64)[codes]


def cell_days(values: list, name: str, month_first: bool) -> dict[Any, float]:
    """The day number of each value that is a date."""
    values = [value for value in values if value is not None]
    found = {value: as_date(value) for value in values if not isinstance(value, str)}
    cells = Counter(value for value in values if isinstance(value, str))
    if cells:
        read = read_dates(cells, month_first)
        if read is None:
            raise ValueError(
                f"Column {name!r} held dates when the model was fitted; now it holds "
                f"{next(iter(cells))!r}."
            )
        found.update(read[0])
    return {value: float(day.toordinal()) for value, day in found.items()}
