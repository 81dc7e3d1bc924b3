"""Checks of labels that are given at several chances, and of what is known of the chances."""

import numpy as np

from sarlearn._validation import number_column

__all__ = ["check_chances", "check_offset", "check_visits"]


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
    columns = [number_column(column, f"chance {j}", n_rows) for j, column in enumerate(visits.T)]
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
