"""The columns of a data frame, of any library: what they hold, as numbers or as words."""

import re
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np

MISSING = "(missing)"
_DATE_LIKE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}")


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
    odd = [name for name in frame.columns if not isinstance(name, str)]
    if odd:
        raise ValueError(f"Column names must be text; {odd[0]!r} is {type(odd[0]).__name__}.")
    return frame


def kind_of(series, name: str) -> str:
    """``numeric`` or ``category``; other contents are refused with advice."""
    dtype = series.dtype
    advice = (
        f"Turn it into a number first (days since an event, month, hour), or leave {name!r} out."
    )
    if dtype.is_temporal():
        raise ValueError(f"Column {name!r} holds dates or times ({dtype}). {advice}")
    if dtype.is_numeric():
        return "numeric"
    if dtype.is_nested():
        raise ValueError(f"Column {name!r} holds lists or records ({dtype}); leave it out.")
    values = known_values(series, name)
    if any(isinstance(value, date | time | timedelta) for value in values):
        raise ValueError(f"Column {name!r} holds dates or times. {advice}")
    texts = [value for value in values if isinstance(value, str)]
    if texts and len(texts) == len(values) and all(map(_DATE_LIKE.fullmatch, texts)):
        raise ValueError(f"Column {name!r} holds dates, such as {min(texts)!r}. {advice}")
    numbers = [v for v in values if isinstance(v, Number | Decimal) and not isinstance(v, bool)]
    return "numeric" if values and len(numbers) == len(values) else "category"


def values_of(series) -> list[Any]:
    """The values of a narwhals series as Python objects, every kind of gap as None."""
    gaps = series.is_null().to_list()
    pairs = zip(gaps, series.to_list(), strict=True)
    return [None if gap or value != value else value for gap, value in pairs]


def known_values(series, name: str) -> set[Any]:
    """The different values of a column, gaps apart."""
    try:
        return set(values_of(series)) - {None}
    except TypeError as error:
        raise ValueError(f"Column {name!r} holds lists or records; leave it out.") from error


def is_constant(series) -> bool:
    """Whether a column holds one value, or none: a value and a gap are two."""
    values = values_of(series)
    return all(value == values[0] for value in values)


def numbers(frame, names: list[str]) -> np.ndarray:
    """Columns as float64, gaps as NaN; text in a numeric column and infinities are refused."""
    result = np.empty((len(frame), len(names)))
    for index, name in enumerate(names):
        series = frame[name]
        try:
            result[:, index] = _floats(series)
        except (TypeError, ValueError):
            text = next(v for v in values_of(series) if not _is_number(v))
            raise ValueError(
                f"Column {name!r} held numbers when the model was fitted; now it holds {text!r}."
            ) from None
        if np.isinf(result[:, index]).any():
            row = int(np.argmax(np.isinf(result[:, index])))
            raise ValueError(f"Column {name!r} holds an infinite number, in row {row}.")
    return result


def _floats(series) -> np.ndarray:
    if series.dtype.is_float() or series.dtype.is_integer():
        return np.asarray(series.to_numpy(), dtype=np.float64)
    return np.array([np.nan if v is None else float(v) for v in values_of(series)])


def _is_number(value) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return value is None
    return True


def words(frame, names: list[str]) -> np.ndarray:
    """Columns as text, gaps as ``(missing)``; 3.0 and 3 are the same word."""
    result = np.empty((len(frame), len(names)), dtype=object)
    for index, name in enumerate(names):
        values = values_of(frame[name])
        spelling = {value: _word(value) for value in set(values)}
        result[:, index] = [spelling[value] for value in values]
    return result


def _word(value) -> str:
    if value is None:
        return MISSING
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
