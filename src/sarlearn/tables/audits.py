"""Audits in tables: a column of answers, or the file of rows to check, filled in."""

import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from sarlearn._labels import NO_WORDS, YES_WORDS, folded, is_gap
from sarlearn.tables.columns import as_frame, numbers, values_of

# The answer first, where people write; then what the design needs. The posterior is left out: who
# checks a row should not know what the model expects.
AUDIT_COLUMNS = ("audited", "audit_row", "audit_round", "audit_probability")
_VALUES = {"yes": 1.0, "no": 0.0, "unsure": np.nan, None: np.nan}


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
    return np.array([_VALUES[word] for word in _words(column, name)], dtype=np.float64)


def answer_words(answers) -> dict[int, str]:
    """The answers of a file of rows to check, by row: yes, no or unsure."""
    filled = as_frame(answers)
    words = _words(filled["audited"].to_native(), "audited")
    rows = _numbers(filled, "audit_row")
    return {int(row): word for row, word in zip(rows, words, strict=True) if word is not None}


def _words(column, name: str) -> list[str | None]:
    import narwhals as nw

    values = values_of(nw.from_native(column, series_only=True))
    return [_word(value, name, row) for row, value in enumerate(values)]


def _word(value: Any, name: str, row: int) -> str | None:
    if is_gap(value):
        return None
    for meaning, known in (("yes", YES_WORDS), ("no", NO_WORDS), ("unsure", {"unsure"})):
        if folded(value) in known:
            return meaning
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
    kept = [name for name in table.columns if name not in set(leave_out)]
    if clash := sorted(set(AUDIT_COLUMNS) & set(kept)):
        raise ValueError(f"The table has a column {clash[0]!r} already; rename it first.")
    values: dict[str, tuple[Any, Any]] = {
        "audited": (nw.String, [words.get(int(row)) for row in rows]),
        "audit_row": (nw.Int64, rows),
        "audit_round": (nw.Int64, design["audit_round"][rows].astype(np.int64)),
        "audit_probability": (nw.Float64, design["audit_probability"][rows]),
    }
    backend = table.implementation
    columns = {n: nw.new_series(n, v, kind, backend=backend) for n, (kind, v) in values.items()}
    chosen = table.select(kept)[rows.tolist()]
    columns |= {series.name: series for series in chosen.iter_columns()}
    return nw.from_dict(columns).to_native()


def read_answers(answers, frame, id_column: str | None = None) -> dict[str, np.ndarray]:
    """A filled-in file of rows to check, spread over the rows of the table it was made from.

    Parameters
    ----------
    answers : data frame
        As written by ``sarlearn audit``; or by ``sarlearn predict --top``, without a design.
    frame : data frame
        The table.
    id_column : str, optional
        Where both have it, the identifiers must agree; without one, some column must.

    Returns
    -------
    dict
        ``audited``, and ``audit_probability`` and ``audit_round`` of rows drawn, for ``fit``.
    """
    table = as_frame(frame)
    return spread_answers(answers, len(table), lambda rows: table[rows.tolist()], id_column)


def spread_answers(
    answers, n_rows: int, take: Callable[[np.ndarray], Any], id_column: str | None = None
) -> dict[str, np.ndarray]:
    """The same for a table of ``n_rows`` rows, wherever they lie: ``take`` gives some of them."""
    filled = as_frame(answers)
    design = [name for name in AUDIT_COLUMNS[2:] if name in filled.columns]
    for name in AUDIT_COLUMNS[: 4 if design else 2]:
        if name not in filled.columns:
            raise ValueError(
                f"The file of audits has no column {name!r}; 'sarlearn audit' writes such files."
            )
    rows = _positions(filled, n_rows)
    _refuse_another_table(filled, as_frame(take(rows)), rows, id_column)
    out = {name: np.full(n_rows, np.nan) for name in ("audited", *design)}
    out["audited"][rows] = parse_audited(filled["audited"].to_native())
    for name in design:
        out[name][rows] = _numbers(filled, name)
    return out


def _refuse_another_table(filled, found, rows: np.ndarray, id_column: str | None) -> None:
    """Refuse rows of the table, at the places that the file names, which are not those of the file.

    They agree in their identifiers or, without those, in some column at least.
    A spreadsheet may have written a column in its own way, but not all of them.
    """
    shared = [name for name in filled.columns if name in found.columns]
    shared, differs = [id_column] if id_column in shared else shared, None
    for name in shared:
        here, there = filled[name].to_list(), found[name].to_list()
        if name != id_column and len(set(map(str, there))) < 2:
            continue
        other = [k for k, value in enumerate(here) if not _same(value, there[k])]
        if not other:
            return
        differs = differs or (name, rows[other[0]], here[other[0]], there[other[0]])
    if differs is not None:
        name, row, value, own = differs
        raise ValueError(
            f"The file of audits does not match the table: in row {row}, {name!r} is {value!r} in "
            f"the file and {own!r} in the table. The table has been changed or sorted since the "
            "rows were suggested."
        )


def _same(value: Any, own: Any) -> bool:
    # 'sarlearn audit' puts an apostrophe before what a spreadsheet would run.
    return str(value) in (str(own), f"'{own}") or (value != value and own != own)


def _numbers(filled, name: str) -> np.ndarray:
    """A column of the design, also as a spreadsheet in another language has saved it."""
    strays: Counter = Counter()
    with contextlib.suppress(ValueError):
        found = numbers(filled[name], strays=strays)
        if not strays:
            return found
    raise ValueError(
        f"The column {name!r} of the file of audits must hold finite numbers; it holds "
        f"{next(iter(strays), 'inf')!r}."
    )


def _positions(filled, n_rows: int) -> np.ndarray:
    rows = _numbers(filled, "audit_row")
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
