"""What tables are warned of."""

from collections.abc import Mapping
from dataclasses import dataclass

from sarlearn.exceptions._base import SarlearnWarning


class TableWarning(SarlearnWarning):
    """Something is odd about a table: its encoding, its lines, its identifiers.

    See Also
    --------
    StrayCellsWarning : Some cells of a column of numbers or dates are none; they count as missing.
    SarlearnWarning : Base of all warnings of this package.
    """


@dataclass(eq=False)
class StrayCellsWarning(TableWarning):
    """Some cells of a column of numbers or dates are none; they count as missing.

    Parameters
    ----------
    column : str
        Its name.
    what : str
        What the column holds: "numbers" or "dates".
    cells : mapping of str to int
        The cells that are none, and how often each occurs.
    n_rows : int
        Number of rows.

    See Also
    --------
    MostlyNumbersWarning :
        A column of words holds many numbers: perhaps it should be one of numbers.
    TableWarning : Something is odd about a table: its encoding, its lines, its identifiers.
    """

    column: str
    what: str
    cells: Mapping[str, int]
    n_rows: int

    def __str__(self) -> str:
        shown = ", ".join(repr(cell) for cell in list(self.cells)[:5])
        more = ", ..." if len(self.cells) > 5 else ""
        n = sum(self.cells.values())
        return (
            f"Column {self.column!r} holds {self.what}, except in {n} of {self.n_rows} rows, which "
            f"were taken as missing: {shown}{more}."
        )


@dataclass(eq=False)
class MostlyNumbersWarning(TableWarning):
    """A column of words holds many numbers: perhaps it should be one of numbers.

    Parameters
    ----------
    column : str
        Its name.
    share : float
        Share of its cells that are numbers.
    cells : mapping of str to int
        The cells that are none, and how often each occurs.

    See Also
    --------
    StrayCellsWarning : Some cells of a column of numbers or dates are none; they count as missing.
    TableWarning : Something is odd about a table: its encoding, its lines, its identifiers.
    """

    column: str
    share: float
    cells: Mapping[str, int]

    def __str__(self) -> str:
        shown = ", ".join(repr(cell) for cell in list(self.cells)[:3])
        return (
            f"Column {self.column!r} was read as words, though {self.share:.0%} of its cells are "
            f"numbers; the others hold {shown}{', ...' if len(self.cells) > 3 else ''}. If they "
            "mean that the number is missing, make them empty (--na on the command line)."
        )


@dataclass(eq=False)
class ManyLevelsWarning(TableWarning):
    """A column of words has thousands of levels, most of them with few rows.

    Parameters
    ----------
    column : str
        Its name.
    n_levels, n_kept : int
        Number of levels, and how many of them keep a column of their own.
    share_pooled : float
        Share of the rows in the other levels, which count as one.

    See Also
    --------
    IdentifierColumnWarning : A column has so many different values that it may identify rows.
    TableWarning : Something is odd about a table: its encoding, its lines, its identifiers.
    """

    column: str
    n_levels: int
    n_kept: int
    share_pooled: float

    def __str__(self) -> str:
        return (
            f"Column {self.column!r} has {self.n_levels} levels. {self.n_kept} of them count; the "
            f"others, with {self.share_pooled:.0%} of the rows, are one level '(other)'. As a "
            "propensity column it says little that way: group its levels first, by region or kind."
        )
