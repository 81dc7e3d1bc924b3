"""How each column of a table was read: told in the terminal, in reports and as data."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from sarlearn.tables.cells import NumberStyle

_KINDS = {"numeric": "number", "category": "words", "date": "date", "time": "time"}
# Of the cells that are no numbers so many are kept to be shown.
_SHOWN = 10


@dataclass
class ColumnReading:
    """One column: what it holds, what is missing, what was made of it.

    Attributes
    ----------
    name : str
    kind : {"numeric", "category", "date", "time"}
    n_rows, n_gaps, n_levels : int
        Number of rows, of empty cells, and of different values.
    example : str
        The first value.
    n_strays : int
        Cells that are no number, or no date, and count as missing.
    strays : dict of str to int
        Some of them, the most frequent first.
    style : NumberStyle or None
        How numbers in text are written.
    number_share : float or None
        Of words: the share that are numbers, where that is worth knowing.
    scale : {"linear", "log"}
        How a number enters the model.
    n_pooled : int
        Levels that share one, because each has few rows.
    dropped : str
        Why the column is not used; empty where it is.
    notes : list of str
        What else is worth saying.
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
            shown = ", ".join(repr(cell) for cell in list(self.strays)[:3])
            more = ", ..." if len(self.strays) > 3 else ""
            cells = "1 cell" if self.n_strays == 1 else f"{self.n_strays} cells"
            said.append(f"{cells} taken as missing ({shown}{more})")
        if not self.dropped:
            said += self.notes
            if self.scale == "log":
                said.append("strongly skewed: enters on a logarithmic scale")
            if self.n_pooled:
                said.append(f"{self.n_pooled} rare levels count as one")
        return "; ".join(said)
