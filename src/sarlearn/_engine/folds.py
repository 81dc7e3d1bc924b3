"""Folds for cross-fitting: which rows train, and which are held out."""

from numbers import Integral

import numpy as np

from sarlearn._engine.crossfit import HELD_OUT, TRAINS
from sarlearn._validation import fewer_folds

Folds = list[tuple[np.ndarray, np.ndarray]]


def make_folds(X, labelled: np.ndarray, kept, cv, random_state, groups=None) -> Folds:
    """``(train, test)`` pairs of row numbers; every row held out at least once.

    A number is that many shuffled folds, stratified by label: rows often come sorted. ``kept`` says
    which rows of the input are left, for folds that count from the input. Rows of one of ``groups``
    are held out together.
    """
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    target = labelled.astype(int)
    cv = 5 if cv is None else cv
    groups = _checked_groups(groups, kept, len(labelled), cv)
    if isinstance(cv, Integral):
        n_folds = fewer_folds(int(cv), labelled)
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        cv = kind(n_folds, shuffle=True, random_state=random_state)
    if hasattr(cv, "split"):
        folds = [(np.asarray(a), np.asarray(b)) for a, b in cv.split(X, target, groups)]
    else:
        folds = [(_among(kept, train), _among(kept, test)) for train, test in cv]
    for train, _ in folds:
        if labelled[train].all() or not labelled[train].any():
            raise ValueError(
                f"A training fold of cv={cv!r} holds only {'' if labelled[train].any() else 'un'}"
                "labelled rows; every fold needs both. Use stratified folds, or fewer."
            )
    never = int(np.sum(times_held_out(folds, len(labelled)) == 0))
    if never:
        raise ValueError(
            f"cv={cv!r} leaves {never} rows in no test fold; each row needs a score from a model "
            "that did not see it."
        )
    return folds


def _checked_groups(groups, kept: np.ndarray | None, n_rows: int, cv) -> np.ndarray | None:
    """One group per row that was kept."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    n_given = n_rows if kept is None else len(kept)
    if groups.ndim != 1 or len(groups) != n_given:
        raise ValueError(f"groups must hold one value per row, {n_given}; got {groups.shape}.")
    groups = groups if kept is None else groups[kept]
    n_groups = len(set(groups.tolist()))
    if isinstance(cv, Integral) and n_groups < int(cv):
        raise ValueError(f"cv={cv} folds need as many groups; there are {n_groups}. Lower cv.")
    return groups


def fold_flags(folds: Folds, n_rows: int) -> np.ndarray:
    """One column per fold: whether a row trains in it, is held out, or neither."""
    flags = np.zeros((n_rows, len(folds)), dtype=np.int8)
    for k, (train, test) in enumerate(folds):
        flags[train, k] = TRAINS
        flags[test, k] = HELD_OUT
    return flags


def times_held_out(folds: Folds, n_rows: int) -> np.ndarray:
    times = np.zeros(n_rows)
    for _, test in folds:
        times[test] += 1
    return times


def _among(kept: np.ndarray | None, rows) -> np.ndarray:
    """Row numbers of the input, or a mask, as numbers among the rows that were kept."""
    rows = np.asarray(rows)
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    if kept is None:
        return rows
    return (np.cumsum(kept) - 1)[rows[kept[rows]]]
