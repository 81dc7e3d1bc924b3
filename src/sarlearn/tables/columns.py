"""The columns of a data frame, of any library: what they hold, as numbers, words or dates."""

from collections import Counter
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np

from sarlearn.tables.cells import (
    NumberStyle,
    are_codes,
    as_date,
    is_numeric,
    read_dates,
    read_numbers,
)
from sarlearn.tables.readings import ColumnReading

MISSING = "(missing)"


def as_frame(X):
    """A narwhals view of a data frame whose columns are named in text."""
    import narwhals as nw

    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError as error:
        raise TypeError(
            f"A table classifier needs a data frame of pandas, polars or pyarrow, and got "
            f"{type(X).__name__}. For arrays use SAREMClassifier."
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


def read_column(series, name: str, *, dropped: str = "") -> ColumnReading:
    """How a column is read: as numbers, words or dates, with its gaps and what stands out.

    One that is not used, for the reason given, is only looked at.
    """
    dtype, n_rows = series.dtype, len(series)
    if dropped:
        n_gaps = int(series.is_null().sum())
        kind = "numeric" if dtype.is_numeric() else "category"
        known = series.head(100).drop_nulls()
        example = str(known[0]) if len(known) else ""
        return ColumnReading(name, kind, n_rows, n_gaps, example=example, dropped=dropped)
    if dtype.is_nested():
        raise ValueError(f"Column {name!r} holds lists or records ({dtype}); leave it out.")
    if dtype.is_numeric():
        n_gaps = int(np.isnan(_floats(series, name, None)).sum())
        first = next((value for value in values_of(series.head(100)) if value is not None), None)
        return ColumnReading(
            name,
            "numeric",
            n_rows,
            n_gaps=n_gaps,
            n_levels=int(series.n_unique()) - (n_gaps > 0),
            example=word(first) if first is not None else "",
        )
    if dtype.is_temporal():
        known = series.drop_nulls()
        kind = "time" if str(dtype).startswith(("Duration", "Time")) else "date"
        example = str(known[0]) if len(known) else ""
        return ColumnReading(
            name, kind, n_rows, n_rows - len(known), int(known.n_unique()), example
        )
    return read_counts(cell_counts(series, name), name, n_rows)


def cell_counts(series, name: str) -> Counter:
    """How often each value of a column of objects occurs, gaps as None."""
    if _is_text(series):
        codes, distinct = _coded(series)
        counts: Counter = Counter()
        for value, count in zip(distinct, np.bincount(codes, minlength=len(distinct)), strict=True):
            counts[value] += int(count)
        return +counts
    try:
        return Counter(values_of(series))
    except TypeError as error:
        raise ValueError(f"Column {name!r} holds lists or records; leave it out.") from error


def read_counts(counts: Counter, name: str, n_rows: int) -> ColumnReading:
    """How a column of text or objects is read, from how often each value occurs."""
    n_gaps = counts.pop(None, 0)
    first = next(iter(counts), None)
    reading = ColumnReading(
        name, "category", n_rows, n_gaps, len(counts), "" if first is None else word(first)
    )
    if not counts:
        return reading
    if all(isinstance(value, date) for value in counts):
        reading.kind = "date"
        return reading
    if any(isinstance(value, time | timedelta | date) for value in counts):
        reading.kind = "time"
        return reading
    if all(_is_plain_number(value) for value in counts):
        reading.kind = "numeric"
        return reading
    if all(isinstance(value, bool) for value in counts):
        return reading
    cells: Counter = Counter()
    for value, count in counts.items():
        cells[word(value)] += count
    _read_cells(cells, reading)
    return reading


def _read_cells(cells: Counter, reading: ColumnReading) -> None:
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
    dates = read_dates(cells)
    if dates is not None:
        reading.kind = "date"
        reading.set_strays(dates[1])
        return
    if found is not None and len(found.values) > 10 and found.strays:
        reading.number_share = found.share
        reading.set_strays(found.strays)
        reading.n_strays = 0  # they are words like the others


def _is_plain_number(value) -> bool:
    return isinstance(value, Number | Decimal) and not isinstance(value, bool)


def values_of(series) -> list[Any]:
    """The values of a narwhals series as Python objects, every kind of gap as None.

    A text of nothing but spaces is a gap, too.
    """
    if _is_text(series):
        codes, distinct = _coded(series)
        return _spread(distinct, codes).tolist()
    gaps = series.is_null().to_list()
    pairs = zip(gaps, series.to_list(), strict=True)
    values = [None if gap or value != value else value for gap, value in pairs]
    if series.dtype.is_numeric() or series.dtype.is_temporal():
        return values
    return [None if isinstance(v, str) and not v.strip(" ") else v for v in values]


def _is_text(series) -> bool:
    import narwhals as nw

    return series.dtype == nw.String


def _coded(series) -> tuple[np.ndarray, list[str | None]]:
    """The place of each value of a column of text among its different ones, and these.

    They come in the order of the rows, gaps as None. Work on a value is then done once, not once
    per row.
    """
    column = series.to_arrow()
    coded = (column.combine_chunks() if hasattr(column, "chunks") else column).dictionary_encode(
        null_encoding="encode"
    )
    texts = coded.dictionary.to_pylist()
    codes = coded.indices.to_numpy(zero_copy_only=False)
    return codes, [None if text is None or not text.strip(" ") else text for text in texts]


def _spread(distinct: list, codes: np.ndarray) -> np.ndarray:
    """One of the values per code."""
    values = np.empty(len(distinct), dtype=object)
    values[:] = distinct
    return values[codes]


def is_constant(series) -> bool:
    """Whether a column holds one value, or none: a value and a gap are two."""
    values = values_of(series)
    return all(value == values[0] for value in values)


def numbers(frame, names: list[str], styles: dict[str, NumberStyle] | None = None) -> np.ndarray:
    """Columns as float64, gaps as NaN. Text is read in the given style, or the one it shows.

    Cells that are no numbers are gaps; a column of which most are none, and infinities, are
    refused.
    """
    result = np.empty((len(frame), len(names)))
    for index, name in enumerate(names):
        result[:, index] = _floats(frame[name], name, (styles or {}).get(name))
        if np.isinf(result[:, index]).any():
            row = int(np.argmax(np.isinf(result[:, index])))
            raise ValueError(f"Column {name!r} holds an infinite number, in row {row}.")
    return result


def _floats(series, name: str, style: NumberStyle | None) -> np.ndarray:
    if series.dtype.is_float() or series.dtype.is_integer():
        return np.asarray(series.to_numpy(), dtype=np.float64)
    values = values_of(series)
    found = text_numbers(values, style)
    known = sum(value is not None for value in values)
    n_numbers = sum(value in found for value in values if value is not None)
    if 2 * n_numbers < known:
        text = next(value for value in values if value is not None and value not in found)
        raise ValueError(
            f"Column {name!r} held numbers when the model was fitted; now it holds {text!r}."
        )
    return np.array([found.get(value, np.nan) for value in values], dtype=np.float64)


def text_numbers(values: list, style: NumberStyle | None) -> dict[Any, float]:
    """The number of each different value that is one."""
    different = set(values) - {None}
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


def days(series, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Day numbers of a column of dates, NaN for gaps; and which cells are no dates."""
    values = values_of(series)
    different = set(values) - {None}
    found = {value: as_date(value) for value in different if not isinstance(value, str)}
    cells = Counter(value for value in values if isinstance(value, str))
    if cells:
        read = read_dates(cells)
        if read is None:
            raise ValueError(
                f"Column {name!r} held dates when the model was fitted; now it holds "
                f"{next(iter(cells))!r}."
            )
        found.update(read[0])
    ordinals = {value: float(day.toordinal()) for value, day in found.items()}
    result = np.array([ordinals.get(value, np.nan) for value in values], dtype=np.float64)
    stray = np.array([value is not None and value not in ordinals for value in values], dtype=bool)
    return result, stray


def words(frame, names: list[str]) -> np.ndarray:
    """Columns as text, gaps as ``(missing)``; 3.0 and 3 are the same word."""
    result = np.empty((len(frame), len(names)), dtype=object)
    for index, name in enumerate(names):
        codes, distinct = coded_words(frame[name])
        result[:, index] = _spread(distinct, codes)
    return result


def coded_words(series) -> tuple[np.ndarray, list[str]]:
    """The place of each row's word among those of a column, and these, in the order of the rows.

    One word may stand there twice: for 3 and for 3.0.
    """
    if _is_text(series):
        codes, distinct = _coded(series)
        return codes, [word(value) for value in distinct]
    values = values_of(series)
    place = {value: code for code, value in enumerate(dict.fromkeys(values))}
    codes = np.fromiter(map(place.__getitem__, values), dtype=np.intp, count=len(values))
    return codes, [word(value) for value in place]


def word(value) -> str:
    """A value as text, without spaces around it: 3 for 3.0, ``(missing)`` for a gap."""
    if value is None:
        return MISSING
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip(" ")
