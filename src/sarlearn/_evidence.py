"""Checks of evidence beyond labels: audited classes, and the draw that they come from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sarlearn._words import counted

__all__ = ["Audit", "check_audit", "check_audited", "check_class_prior"]


@dataclass(frozen=True)
class Audit:
    """Checked rows: the class found, and, where known, how they were drawn.

    ``known`` is 1, 0, or NaN per row; ``probability`` and ``round_of`` are None where the draw is
    not known.
    """

    known: np.ndarray
    probability: np.ndarray | None = None
    round_of: np.ndarray | None = None

    @property
    def rows(self) -> np.ndarray:
        return np.flatnonzero(~np.isnan(self.known))

    def __getitem__(self, rows) -> "Audit":
        probability = None if self.probability is None else self.probability[rows]
        round_of = None if self.round_of is None else self.round_of[rows]
        return Audit(self.known[rows], probability, round_of)


def check_audit(audited, probability, round_of, labelled: np.ndarray) -> Audit | None:
    """What ``fit`` was told about audits, checked; None where it was told nothing."""
    if audited is None:
        for name, value in (("audit_probability", probability), ("audit_round", round_of)):
            if value is not None:
                raise ValueError(f"{name} is given without audited, which it belongs to.")
        return None
    known = check_audited(audited, labelled)
    if probability is None:
        if round_of is not None:
            raise ValueError("audit_round is given without audit_probability.")
        return Audit(known)
    chance = _column(probability, "audit_probability", len(labelled))
    drawn = ~np.isnan(chance)
    outside = drawn & ~((chance > 0) & (chance <= 1))
    if outside.any():
        row = int(np.argmax(outside))
        raise ValueError(
            f"audit_probability must lie in (0, 1], or be missing where a row was not drawn; row "
            f"{row} has {chance[row]:g} ({counted(int(outside.sum()), 'such row')})."
        )
    free = ~np.isnan(known) & ~drawn & ~labelled
    if free.any():
        raise ValueError(
            f"Row {int(np.argmax(free))} is audited and has no audit_probability "
            f"({counted(int(free.sum()), 'such row')}). Rows that were checked outside of the draw "
            "have no known chance: leave their class out, or leave audit_probability out."
        )
    rounds = None
    if round_of is not None:
        rounds = _column(round_of, "audit_round", len(labelled))
        lost = drawn & ~labelled & np.isnan(rounds)
        if lost.any():
            row = int(np.argmax(lost))
            raise ValueError(f"Row {row} has an audit_probability and no audit_round.")
    return Audit(known, chance, rounds)


def check_audited(audited, labelled: np.ndarray) -> np.ndarray:
    """Audited classes as 1.0, 0.0 or NaN per row, and consistent with the labels."""
    known = _column(audited, "audited", len(labelled))
    odd = ~(np.isnan(known) | (known == 0) | (known == 1))
    if odd.any():
        row = int(np.argmax(odd))
        raise ValueError(
            "audited must hold 1 (found positive), 0 (found negative), or a missing value where "
            f"nobody looked; row {row} has {known[row]:g} ({counted(int(odd.sum()), 'such row')})."
        )
    wrong = labelled & (known == 0)
    if wrong.any():
        raise ValueError(
            f"Row {int(np.argmax(wrong))} is labelled and was audited as negative "
            f"({counted(int(wrong.sum()), 'such row')}). A label means positive here: take the "
            "label off such rows, or leave the rows out."
        )
    if np.isnan(known[~labelled]).all():
        n_audited = int(np.sum(~np.isnan(known)))
        raise ValueError(
            f"No unlabelled row is audited ({n_audited} labelled rows are, which says nothing "
            "new). Give 1 or 0 for unlabelled rows that someone has checked."
        )
    return known


def _column(values: Sequence, name: str, n_rows: int) -> np.ndarray:
    """One float64 per row; None, NaN and pandas' NA are missing."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    array = np.asarray(values)
    if array.ndim != 1 or len(array) != n_rows:
        raise ValueError(
            f"{name} must have one value for each of {n_rows} rows; got {array.shape}."
        )
    if array.dtype.kind in "OUS":
        array = np.array([np.nan if _is_gap(value) else value for value in array], dtype=object)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        bad = next(value for value in array if not _is_number(value))
        raise ValueError(f"{name} must hold numbers and missing values; got {bad!r}.") from None


def _is_gap(value) -> bool:
    return value is None or value != value or str(value) in ("<NA>", "NaT")


def _is_number(value) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def check_class_prior(class_prior, label_share: float) -> tuple[float, float, float] | None:
    """What is known of the class prior: its bounds and its standard error; None where nothing is.

    Accepted are a number, bounds ``(low, high)``, and ``{"mean": ..., "standard_error": ...}``.
    """
    if class_prior is None:
        return None
    if isinstance(class_prior, dict):
        if set(class_prior) != {"mean", "standard_error"}:
            raise ValueError(
                "class_prior as a dict has the keys 'mean' and 'standard_error'; got "
                f"{sorted(map(str, class_prior))}."
            )
        mean, error = (float(class_prior[key]) for key in ("mean", "standard_error"))
        if not 0 < mean < 1 or not 0 < error < 1:
            raise ValueError(
                "class_prior needs a mean and a standard_error between 0 and 1; got "
                f"{mean!r} and {error!r}."
            )
        return mean, mean, error
    if np.ndim(class_prior) == 0:
        low = high = float(class_prior)
    elif np.ndim(class_prior) == 1 and len(class_prior) == 2:
        low, high = (float(end) for end in class_prior)
    else:
        raise ValueError(
            f"class_prior must be a number, (low, high), or a dict; got {class_prior!r}."
        )
    if not 0 < low <= high < 1:
        raise ValueError(
            f"class_prior must lie between 0 and 1, its lower end first; got {class_prior!r}."
        )
    if high <= label_share:
        raise ValueError(
            f"class_prior={class_prior!r} is below the share of labelled rows, {label_share:.4g}, "
            "which are all positive."
        )
    return max(low, label_share * (1 + 1e-9)), high, 0.0


def check_visits(s, n_rows: int, *, needs_label: bool = True) -> np.ndarray:
    """Labels of several chances as float64 of shape (n_rows, n_chances), gaps as NaN."""
    if hasattr(s, "to_numpy"):
        s = s.to_numpy()
    visits = np.asarray(s)
    if visits.ndim != 2 or len(visits) != n_rows:
        raise ValueError(
            f"The labels of several chances form a table of {n_rows} rows, one column per chance; "
            f"got shape {visits.shape}."
        )
    columns = [_column(column, f"chance {j}", n_rows) for j, column in enumerate(visits.T)]
    visits = np.column_stack(columns)
    odd = ~(np.isnan(visits) | (visits == 0) | (visits == 1))
    if odd.any():
        row, chance = np.argwhere(odd)[0]
        raise ValueError(
            "Labels of chances must be 1 (labelled), 0 (not labelled) or missing; row "
            f"{row}, chance {chance} has {visits[row, chance]:g}."
        )
    if needs_label:
        empty = np.isnan(visits).all(axis=0)
        if empty.any():
            raise ValueError(f"Chance {int(np.argmax(empty))} is missing in every row.")
        if not (visits == 1).any():
            raise ValueError(
                f"No row is labelled at any of the {visits.shape[1]} chances: nothing can be "
                "learned about the positives."
            )
    return visits


def check_chances(chances, visits: np.ndarray) -> np.ndarray:
    """Attributes of chances as float64 of shape (n_rows, n_chances, n_attributes)."""
    if chances is None:
        return np.empty((*visits.shape, 0))
    values = np.asarray(chances, dtype=np.float64)
    values = values[:, :, None] if values.ndim == 2 else values
    if values.ndim != 3 or values.shape[:2] != visits.shape:
        raise ValueError(
            f"chances must have the shape {visits.shape} of the labels, and one more axis for "
            f"several attributes; got {np.shape(chances)}."
        )
    bad = ~np.isfinite(values) & ~np.isnan(visits)[:, :, None]
    if bad.any():
        row, chance, attribute = np.argwhere(bad)[0]
        raise ValueError(
            f"chances holds {values[row, chance, attribute]!s} in row {row}, chance {chance}, "
            f"attribute {attribute}, where there is a label."
        )
    return np.where(np.isnan(visits)[:, :, None], 0.0, values)


def check_offset(offset, shape: tuple[int, ...], name: str) -> np.ndarray | None:
    """An offset of that shape; one value per row serves for all its chances."""
    if offset is None:
        return None
    values = np.asarray(offset, dtype=np.float64)
    if values.ndim == 1 and len(shape) == 2 and len(values) == shape[0]:
        values = np.repeat(values[:, None], shape[1], axis=1)
    if values.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}; got {values.shape}.")
    if not np.isfinite(values).all():
        where = np.argwhere(~np.isfinite(values))[0].tolist()
        raise ValueError(f"{name} must be finite; it is {values[tuple(where)]!s} at {where}.")
    return values
