"""Audits in tables: a column of answers, or the file of rows to check, filled in."""

import contextlib
from typing import Any

import numpy as np

from sarlearn._labels import MISSING_WORDS, NO_WORDS, YES_WORDS
from sarlearn.tables.columns import as_frame, values_of

__all__ = ["AUDIT_COLUMNS", "audit_table", "parse_audited", "read_answers"]

# The answer first, where people write; then what the design needs. The posterior is left out: who
# checks a row should not know what the model expects.
AUDIT_COLUMNS = ("audited", "audit_row", "audit_round", "audit_probability")
_UNSURE = frozenset({"unsure", "?", "unknown", "maybe", "don't know"})


def parse_audited(column, name: str = "audited") -> np.ndarray:
    """Answers as 1.0, 0.0, or NaN where the cell is empty or says ``unsure``.

    Parameters
    ----------
    column : Series of pandas or polars
    name : str
        Of the column, for messages.

    Examples
    --------
    >>> import pandas as pd
    >>> from sarlearn.tables.audits import parse_audited
    >>> parse_audited(pd.Series(["yes", "no", None, "unsure"]))
    array([ 1.,  0., nan, nan])
    """
    import narwhals as nw

    values = values_of(nw.from_native(column, series_only=True))
    return np.array([_answer(value, name, row) for row, value in enumerate(values)])


def _answer(value: Any, name: str, row: int) -> float:
    if value is None or str(value).strip() in MISSING_WORDS:
        return np.nan
    word = str(value).strip().casefold()
    with contextlib.suppress(ValueError):
        number = float(word)
        word = str(int(number)) if number.is_integer() else word
    if word in YES_WORDS:
        return 1.0
    if word in NO_WORDS:
        return 0.0
    if word in _UNSURE:
        return np.nan
    raise ValueError(
        f"The column {name!r} holds {value!r} in row {row}; accepted are yes/no, 1/0, true/false, "
        "unsure, or an empty cell where nobody looked."
    )


def audit_table(frame, design: dict[str, np.ndarray], rows, words, leave_out=()):
    """The rows to check as a table: answers, what the design needs, then the rows' own columns.

    Parameters
    ----------
    frame : data frame
        The table that the rows are of.
    design : dict of str to ndarray
        ``audit_probability`` and ``audit_round``, one value per row of ``frame``.
    rows : sequence of int
        In the order in which to check them.
    words : dict of int to str
        Answers so far.
    leave_out : sequence of str
        Columns of ``frame`` not to show.
    """
    import narwhals as nw

    table = as_frame(frame)
    rows = np.asarray(rows, dtype=np.intp)
    clash = sorted(set(AUDIT_COLUMNS) & set(table.columns) - set(leave_out))
    if clash:
        raise ValueError(f"The table has a column {clash[0]!r} already; rename it first.")
    backend = table.implementation
    made = [
        nw.new_series("audited", [words.get(int(row)) for row in rows], nw.String, backend=backend),
        nw.new_series("audit_row", rows, nw.Int64, backend=backend),
        nw.new_series(
            "audit_round", design["audit_round"][rows].astype(np.int64), nw.Int64, backend=backend
        ),
        nw.new_series(
            "audit_probability", design["audit_probability"][rows], nw.Float64, backend=backend
        ),
    ]
    kept = table.select([name for name in table.columns if name not in set(leave_out)])
    chosen = kept[rows.tolist()]
    columns = {series.name: series for series in [*made, *chosen.iter_columns()]}
    return nw.from_dict(columns, backend=backend).to_native()


def read_answers(answers, frame, id_column: str | None = None) -> dict[str, np.ndarray]:
    """A filled-in file of rows to check, spread over the rows of the table it was made from.

    Parameters
    ----------
    answers : data frame
        As written by ``sarlearn audit``.
    frame : data frame
        The table.
    id_column : str, optional
        Where both have it, the identifiers must agree.

    Returns
    -------
    dict
        ``audited``, ``audit_probability`` and ``audit_round`` for ``fit``.
    """
    filled, table = as_frame(answers), as_frame(frame)
    for name in ("audited", "audit_row", "audit_round", "audit_probability"):
        if name not in filled.columns:
            raise ValueError(
                f"The file of audits has no column {name!r}; 'sarlearn audit' writes such files."
            )
    rows = _positions(filled, len(table))
    if id_column is not None and id_column in filled.columns and id_column in table.columns:
        here, there = filled[id_column].to_list(), table[id_column].to_list()
        for row, name in zip(rows, here, strict=True):
            if str(there[row]) != str(name):
                raise ValueError(
                    f"Row {row} is {there[row]!r} in the table and {name!r} in the file of audits: "
                    "the table has changed since the rows were suggested."
                )
    out = {name: np.full(len(table), np.nan) for name in ("audited", *AUDIT_COLUMNS[2:])}
    out["audited"][rows] = parse_audited(filled["audited"].to_native())
    for name in ("audit_round", "audit_probability"):
        out[name][rows] = np.asarray(filled[name].to_numpy(), dtype=np.float64)
    return out


def _positions(filled, n_rows: int) -> np.ndarray:
    rows = np.asarray(filled["audit_row"].to_numpy(), dtype=np.float64)
    bad = ~((rows >= 0) & (rows < n_rows) & (rows == np.floor(rows)))
    if bad.any():
        value = rows[np.argmax(bad)]
        raise ValueError(
            f"audit_row {value:g} is no row of the table, whose rows run from 0 to {n_rows - 1}; "
            "is it the table the rows were suggested for?"
        )
    positions = rows.astype(np.intp)
    found, counts = np.unique(positions, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"audit_row {found[np.argmax(counts > 1)]} occurs twice in the file.")
    return positions
