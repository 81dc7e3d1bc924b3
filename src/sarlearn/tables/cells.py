"""Numbers and dates as people write them in cells: decimal commas, thousands, money, percent."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache
from itertools import islice

# A column of text is a column of numbers (or dates) with gaps where at least this share of its
# known cells are. Below it the other cells mean something, as in codes such as "12" and "12B".
NEARLY_ALL = 0.95
# Of a column of text so many different cells are tried before all of them.
_TRIED = 500

_SPACES = " \u00a0\u202f"
_SIGN = "[%€$£¥₹₽₩]"
# A code such as 007, or 038.9: as a number it would lose its zeros.
PADDED = re.compile(r"0\d+(?:[.,]\d+)?")
# Of the cells of a column of codes of several lengths so many begin with a zero.
_OFTEN_PADDED = 0.1
_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[ T].*)?")
_DAY_OR_MONTH_FIRST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})[-/.](\d{4})(?:[ T].*)?")


@dataclass(frozen=True)
class NumberStyle:
    """How the numbers of a column are written.

    ``unit`` is a percent or currency sign that some of its cells carry; numbers are taken as they
    stand, so 12% is 12.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    def number(self, cell: str) -> float | None:
        """The number a cell holds; None where it holds something else."""
        text = _around(self.unit).sub(r"\1", cell.strip()).replace("−", "-")
        if not _shape(self.decimal, self.thousands).fullmatch(text):
            return None
        for mark in self.thousands:
            text = text.replace(mark, "")
        return float(text.replace(self.decimal, "."))

    def words(self) -> list[str]:
        """What is unusual about it, in words."""
        said = ["decimal comma"] if self.decimal == "," else []
        if self.thousands:
            mark = "a space" if self.thousands == _SPACES else repr(self.thousands[0])
            said.append(f"thousands separated by {mark}")
        return said + ([f"in {self.unit}"] if self.unit else [])


# In the order of preference where several explain all cells: "1,234" is 1234 unless a comma is
# known to be the decimal sign; "1.234" is a little more than 1 unless it cannot be.
STYLES = [NumberStyle(".", mark) for mark in ("", ",", _SPACES, "'’")]
STYLES += [NumberStyle(",", mark) for mark in ("", ".", _SPACES, "'’")]


@cache
def _around(unit: str) -> re.Pattern:
    """A unit before a number, perhaps behind a minus, or after it."""
    sign = re.escape(unit)
    return re.compile(rf"^([+\-−]?)\s*{sign}\s*|\s*{sign}$")


@cache
def _shape(decimal: str, thousands: str) -> re.Pattern:
    point = re.escape(decimal)
    whole = r"\d+"
    if thousands:
        whole = rf"(?:[1-9]\d{{0,2}}(?:[{re.escape(thousands)}]\d{{3}})+|\d+)"
    return re.compile(rf"[+-]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Numbers:
    """The cells of a column of text read as numbers, and those that are none."""

    style: NumberStyle
    values: dict[str, float]
    strays: Counter
    n_numbers: int

    @property
    def share(self) -> float:
        """Share of the cells that are numbers."""
        return self.n_numbers / max(self.n_numbers + self.strays.total(), 1)


def read_numbers(cells: Counter) -> Numbers | None:
    """Cells of text, with their counts, as numbers in the style that explains most of them.

    None where hardly any is a number.
    """
    some = Counter(dict(islice(cells.items(), _TRIED)))
    units = Counter(re.findall(_SIGN, " ".join(some)))
    unit = max(units, key=lambda sign: units[sign], default="")
    styles = [replace(style, unit=unit) for style in STYLES]
    found = _best(some, styles)
    if found.share >= 0.5 and len(some) < len(cells):
        found = _best(cells, styles)
    return found if found.share >= 0.5 else None


def _best(cells: Counter, styles: list[NumberStyle]) -> Numbers:
    """Cells in the first style that explains most of them."""
    best = _read(cells, styles[0])
    for style in styles[1:]:
        if best.share == 1:
            break
        found = _read(cells, style)
        best = found if found.share > best.share else best
    return best


def _read(cells: Counter, style: NumberStyle) -> Numbers:
    values: dict[str, float] = {}
    strays: Counter = Counter()
    n_numbers = 0
    for cell, count in cells.items():
        number = style.number(cell)
        if number is None:
            strays[cell] += count
        else:
            values[cell] = number
            n_numbers += count
    return Numbers(style, values, strays, n_numbers)


def are_codes(cells: Counter) -> bool:
    """Whether cells are codes padded with zeros: post codes, diagnoses, identifiers.

    All of them have at least as many digits as the padded ones (before the point), or many are
    padded. A 05 among ages is none.
    """
    digits = {cell: re.match(r"\d*", cell.strip()).end() for cell in cells}  # type: ignore[union-attr]
    padded = [cell for cell in cells if PADDED.fullmatch(cell.strip())]
    if not padded:
        return False
    widest = max(digits[cell] for cell in padded)
    if all(n >= widest for n in digits.values() if n):
        return True
    return sum(cells[cell] for cell in padded) >= _OFTEN_PADDED * cells.total()


def is_numeric(numbers: Numbers | None) -> bool:
    """Whether a column of text is one of numbers, with gaps where its other cells stand."""
    if numbers is None or numbers.share < NEARLY_ALL:
        return False
    # Two numbers beside a word are three levels of something, not a scale with a gap.
    return not numbers.strays or len(set(numbers.values.values())) > 2


def is_month_first(cells: Iterable[str]) -> bool:
    """Whether 03/04/2020 is the fourth of March: where another cell excludes the third of April,
    which it is in most of the world."""
    found = (_DAY_OR_MONTH_FIRST.fullmatch(cell.strip()) for cell in cells)
    return any(int(parts[3]) > 12 for parts in found if parts)


def read_dates(cells: Counter, month_first: bool) -> tuple[dict[str, date], Counter] | None:
    """Cells of text as dates, and those that are none; None where the column is not of dates."""
    dates: dict[str, date] = {}
    strays: Counter = Counter()
    for cell, count in cells.items():
        try:
            dates[cell] = _date(cell.strip(), month_first)
        except ValueError:
            strays[cell] += count
    known = cells.total()
    if not known or (known - strays.total()) / known < NEARLY_ALL:
        return None
    return dates, strays


def _date(cell: str, month_first: bool) -> date:
    if found := _DATE.fullmatch(cell):
        return date(*map(int, found.groups()))
    if found := _DAY_OR_MONTH_FIRST.fullmatch(cell):
        first, second, year = int(found[1]), int(found[3]), int(found[4])
        return date(year, first, second) if month_first else date(year, second, first)
    raise ValueError(cell)


def as_date(value) -> date:
    """The day of a date or a time stamp."""
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else value.date()
