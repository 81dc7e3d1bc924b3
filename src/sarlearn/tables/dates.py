"""Columns of dates: refused with advice, or turned into days, year and weekday."""

import re
from collections.abc import Sequence
from datetime import date

import numpy as np

from sarlearn.tables.columns import days
from sarlearn.tables.readings import ColumnReading

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PART = re.compile(r"(.*) \((?:days since \d{4}-\d\d-\d\d|year|weekday)\)", re.DOTALL)


def refuse_dates(names: Sequence[str], dates: str) -> None:
    """Name every column of dates in one error, unless they are to become numbers."""
    if names and dates == "refuse":
        listed = ", ".join(map(repr, names))
        columns = f"Columns {listed} hold" if len(names) > 1 else f"Column {listed} holds"
        raise ValueError(
            f"{columns} dates or times. Turn them into numbers with --dates days (in Python "
            "dates='days'): days since the first date, year and weekday. Or compute what matters "
            "(age, time since an event), or leave them out with --drop."
        )


def date_columns(frame, readings: list[ColumnReading]) -> dict[str, int]:
    """The first day, as a number, of each column of dates in use."""
    first = {}
    for reading in readings:
        if reading.kind == "date" and not reading.dropped:
            found, _ = days(frame[reading.name], reading.name)
            first[reading.name] = int(np.nanmin(found)) if not np.isnan(found).all() else 1
    return first


def date_parts(column: str, first: int) -> tuple[str, str, str]:
    """What a column of dates becomes."""
    since = date.fromordinal(first).isoformat()
    return f"{column} (days since {since})", f"{column} (year)", f"{column} (weekday)"


def date_source(name: str) -> str:
    """The column of dates that a part came from, or the name itself."""
    found = _PART.fullmatch(name)
    return found[1] if found else name


def expand(frame, first: dict[str, int]):
    """The table with days since the first date, year and weekday of its columns of dates."""
    import narwhals as nw

    new = []
    for column, start in first.items():
        ordinals, _ = days(frame[column], column)
        known = ~np.isnan(ordinals)
        dates = [
            date.fromordinal(int(o)) if k else None for o, k in zip(ordinals, known, strict=True)
        ]
        years = np.array([np.nan if d is None else float(d.year) for d in dates])
        weekdays = [None if d is None else WEEKDAYS[d.weekday()] for d in dates]
        values = (ordinals - start, years, weekdays)
        for name, content in zip(date_parts(column, start), values, strict=True):
            new.append(nw.new_series(name, content, backend=frame.implementation))
    return frame.with_columns(*new) if new else frame
