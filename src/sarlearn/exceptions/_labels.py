"""What the labels themselves are warned of."""

from dataclasses import dataclass
from typing import Any

from sarlearn.exceptions._base import SarlearnWarning


@dataclass(eq=False)
class GuessedLabelWarning(SarlearnWarning):
    """Which of two label values means labelled was guessed.

    Parameters
    ----------
    taken, other : label values
        The one that was taken to mean labelled, and the other one.
    n_labelled, n_rows : int
        Number of rows with the value that was taken, and of all rows.
    has_pos_label : bool, default=True
        Whether what was called has a parameter ``pos_label``.

    See Also
    --------
    MostlyLabelledWarning :
        More than half of the rows are labelled, which may mean that the labels were mixed up.
    """

    taken: Any
    other: Any
    n_labelled: int
    n_rows: int
    has_pos_label: bool = True

    def __str__(self) -> str:
        return (
            f"The label {self.taken!r} was taken to mean labelled, and {self.other!r} unlabelled: "
            f"{self.n_labelled} of {self.n_rows} rows are labelled. If that is wrong, pass "
            f"{_remedy(self.other, self.has_pos_label)}; if it is right, "
            f"{_remedy(self.taken, self.has_pos_label)} says so."
        )


@dataclass(eq=False)
class MostlyLabelledWarning(SarlearnWarning):
    """More than half of the rows are labelled, which may mean that the labels were mixed up.

    Parameters
    ----------
    taken, other : label values
        The one that means labelled, and the other one.
    n_labelled, n_rows : int
        Number of labelled rows, and of all rows.
    has_pos_label : bool, default=True
        Whether what was called has a parameter ``pos_label``.

    See Also
    --------
    GuessedLabelWarning : Which of two label values means labelled was guessed.
    """

    taken: Any
    other: Any
    n_labelled: int
    n_rows: int
    has_pos_label: bool = True

    def __str__(self) -> str:
        return (
            f"More than half of the rows are labelled: {self.n_labelled} of {self.n_rows} hold "
            f"{self.taken!r}, which is rare among positive and unlabelled rows. If "
            f"{self.taken!r} means unlabelled, pass {_remedy(self.other, self.has_pos_label)}."
        )


def _remedy(value, has_pos_label: bool) -> str:
    return f"pos_label={value!r}" if has_pos_label else f"s == {value!r}"
