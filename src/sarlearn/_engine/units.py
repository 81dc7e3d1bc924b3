"""The user's units of columns that a solver sees centred and scaled."""

import copy
from dataclasses import dataclass, replace

import numpy as np

# The free intercept has this penalty per row: enough to keep it finite where every target is 1, and
# far below any tolerance also where a column that is not centred makes it a few hundred. So has the
# coefficient of a column whose values are so large that the user's penalty on it vanishes.
LEAST_RIDGE = 1e-11
# A penalty beyond which a coefficient is 0 for every purpose.
BARRING_RIDGE = 1e250


@dataclass
class Units:
    """What was taken from each column, and what it was divided by.

    ``rescaled`` columns were beyond all bounds. ``excluded`` columns have no coefficient in the
    class model. None is no such column.
    """

    center: np.ndarray
    scale: np.ndarray
    rescaled: np.ndarray | None = None
    excluded: np.ndarray | None = None

    @classmethod
    def plain(cls, n_columns: int) -> "Units":
        return cls(np.zeros(n_columns), np.ones(n_columns))

    @property
    def is_plain(self) -> bool:
        return not self.center.any() and bool((self.scale == 1).all())

    def of(self, columns: np.ndarray) -> "Units":
        rescaled = None if self.rescaled is None else self.rescaled[columns]
        return Units(self.center[columns], self.scale[columns], rescaled)

    def ridge(self, C: float, total_weight: float) -> np.ndarray:
        """Strength of ``ridge @ theta**2 / 2`` on each parameter: ``1 / C`` in the user's units."""
        least = LEAST_RIDGE * total_weight
        with np.errstate(over="ignore", divide="ignore", under="ignore"):
            slopes = np.minimum(1.0 / C / self.scale / self.scale, BARRING_RIDGE)
        if self.rescaled is not None:
            slopes = np.where(self.rescaled, np.maximum(slopes, least), slopes)
        if self.excluded is not None:
            slopes[self.excluded] = BARRING_RIDGE
        return np.append(slopes, least)

    def to_user(self, theta: np.ndarray) -> np.ndarray:
        """Coefficients and intercept for the columns as they were."""
        coef = in_units(theta[:-1], self.scale)
        if self.excluded is not None:
            coef[self.excluded] = 0.0
        return np.append(coef, theta[-1] - coef @ self.center)


def in_units(coef: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Coefficients for columns as they were, from those for columns divided by ``scale``."""
    with np.errstate(over="ignore"):
        found = coef / scale
    lost = np.isinf(found) & np.isfinite(coef)
    if lost.any():
        raise ValueError(
            f"A column has values of about {scale[lost][0]:.3g}: its coefficient is too large for "
            "a number. Multiply the column by a power of ten."
        )
    return found


def excluding(rows, columns: np.ndarray):
    """The same rows, where the class model has no coefficients for some columns."""
    if not len(columns):
        return rows
    excluded = np.zeros(rows.shape[1], dtype=bool)
    excluded[columns] = True
    out = copy.copy(rows)
    out.units = replace(rows.units, excluded=excluded)
    return out
