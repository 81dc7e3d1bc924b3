"""Folds for cross-fitting: which rows train, and which are held out."""

from collections.abc import Iterable, Sequence
from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

from sarlearn._engine.held_out import HELD_OUT, TRAINS
from sarlearn._validation import fewer_folds


class Folds(Sequence):
    """``(train, test)`` pairs of row numbers, each made when it is asked for.

    Parameters
    ----------
    flags : ndarray of int8 of shape (n_rows, n_folds)
        Whether a row trains in a fold, is held out, or neither.
    """

    def __init__(self, flags: np.ndarray):
        self.flags = flags

    @classmethod
    def of(cls, pairs: Iterable, n_rows: int) -> "Folds":
        """From row numbers, or masks, of ``n_rows`` rows."""
        columns = []
        for train, test in pairs:
            column = np.zeros(n_rows, dtype=np.int8)
            column[train], column[test] = TRAINS, HELD_OUT
            columns.append(column)
        return cls(np.column_stack(columns))

    def take(self, rows: np.ndarray) -> "Folds":
        """The same of some rows."""
        return Folds(self.flags[rows])

    def __len__(self) -> int:
        return self.flags.shape[1]

    def __getitem__(self, fold):
        if not -len(self) <= fold < len(self):
            raise IndexError(fold)
        of_fold = self.flags[:, fold]
        return np.flatnonzero(of_fold == TRAINS), np.flatnonzero(of_fold == HELD_OUT)


def make_folds(X, labelled: np.ndarray, kept, cv, random_state, groups=None) -> Folds:
    """Folds in which every row is held out at least once.

    A number is that many shuffled folds, stratified by label: rows often come sorted. ``kept`` says
    which rows of the input are left, for folds that count from the input. Rows of one of ``groups``
    are held out together.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    cv = 5 if cv is None else cv
    groups = _checked_groups(groups, kept, len(labelled), cv)
    if isinstance(cv, Integral):
        n_folds = fewer_folds(int(cv), labelled)
        if groups is None:
            return Folds(_stratified(labelled, n_folds, random_state))
        cv = StratifiedGroupKFold(n_folds, shuffle=True, random_state=random_state)
    if hasattr(cv, "split"):
        folds = Folds.of(cv.split(X, labelled.astype(int), groups), len(labelled))
    else:
        pairs = ((_among(kept, train), _among(kept, test)) for train, test in cv)
        folds = Folds.of(pairs, len(labelled))
    for train, _ in folds:
        if labelled[train].all() or not labelled[train].any():
            raise ValueError(
                f"A training fold of cv={cv!r} holds only {'' if labelled[train].any() else 'un'}"
                "labelled rows; every fold needs both. Use stratified folds, or fewer."
            )
    never = int(np.sum(~(folds.flags == HELD_OUT).any(axis=1)))
    if never:
        raise ValueError(
            f"cv={cv!r} leaves {never} rows in no test fold; each row needs a score from a model "
            "that did not see it."
        )
    return folds


def _stratified(labelled: np.ndarray, n_folds: int, random_state) -> np.ndarray:
    """Flags of scikit-learn's ``StratifiedKFold(n_folds, shuffle=True)``.

    The same folds with a byte per row and fold: there, 20 million rows take more than a gigabyte.
    """
    rng = check_random_state(random_state)
    fold_of = np.empty(len(labelled), dtype=np.int8)
    first = 0  # of the class, were all rows in the order of their classes
    for value in (labelled[0], not labelled[0]):
        of_class = labelled == value
        last = first + int(of_class.sum())
        starts = [first + (fold - first) % n_folds for fold in range(n_folds)]
        sizes = [len(range(start, last, n_folds)) for start in starts]
        folds = np.repeat(np.arange(n_folds, dtype=np.int8), sizes)
        rng.shuffle(folds)
        fold_of[of_class] = folds
        first = last
    flags = np.full((len(labelled), n_folds), TRAINS, dtype=np.int8)
    for fold in range(n_folds):
        flags[fold_of == fold, fold] = HELD_OUT
    return flags


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


def times_held_out(folds: Folds) -> np.ndarray:
    return (folds.flags == HELD_OUT).sum(axis=1).astype(float)


def _among(kept: np.ndarray | None, rows) -> np.ndarray:
    """Row numbers of the input, or a mask, as numbers among the rows that were kept."""
    rows = np.asarray(rows)
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    if kept is None:
        return rows
    return (np.cumsum(kept) - 1)[rows[kept[rows]]]
