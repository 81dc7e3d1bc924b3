"""The user's units of columns that a solver sees centred and scaled."""

from dataclasses import dataclass

import numpy as np

# The free intercept has this penalty per row: far below any tolerance, and enough to keep it
# finite where every target is 1.
INTERCEPT_RIDGE = 1e-14


@dataclass
class Units:
    """What was taken from each column, and what it was divided by."""

    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def plain(cls, n_columns: int) -> "Units":
        return cls(np.zeros(n_columns), np.ones(n_columns))

    @property
    def is_plain(self) -> bool:
        return not self.center.any() and bool((self.scale == 1).all())

    def of(self, columns: np.ndarray) -> "Units":
        return Units(self.center[columns], self.scale[columns])

    def ridge(self, C: float, total_weight: float) -> np.ndarray:
        """Strength of ``ridge @ theta**2 / 2`` on each parameter: ``1 / C`` in the user's units."""
        with np.errstate(over="ignore", divide="ignore", under="ignore"):
            slopes = np.minimum(1.0 / C / self.scale / self.scale, 1e250)
        return np.append(slopes, INTERCEPT_RIDGE * total_weight)

    def to_user(self, theta: np.ndarray) -> np.ndarray:
        """Coefficients and intercept for the columns as they were."""
        coef = theta[:-1] / self.scale
        return np.append(coef, theta[-1] - coef @ self.center)

    def from_user(self, theta: np.ndarray) -> np.ndarray:
        return np.append(theta[:-1] * self.scale, theta[-1] + theta[:-1] @ self.center)
