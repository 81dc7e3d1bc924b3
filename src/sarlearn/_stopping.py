"""When SAR-EM stops, and what it leaves on record."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from sarlearn._blocks import RowBlocks
from sarlearn._kernels import sigmoids

# The slope is followed on this many rows; the verdict uses all of them.
SAMPLE_ROWS = 2048


class SlopeRule:
    """The paper's rule: mean absolute least-squares slope of predictions over a window < tol.

    Parameters
    ----------
    weight : ndarray
        What each watched row counts.
    window, tol : the paper's n and epsilon.
    """

    def __init__(self, weight: np.ndarray, window: int, tol: float):
        self._weight, self._tol = weight / weight.sum(), tol
        self._seen: deque[np.ndarray] = deque(maxlen=window)
        steps = np.arange(window) - (window - 1) / 2
        self._line = steps / (steps @ steps)  # least-squares slope = line . predictions
        self.slope = np.nan

    def update(self, predictions: np.ndarray) -> bool:
        """Take the predictions of one more iteration; True when the rule is met."""
        self._seen.append(predictions)
        if len(self._seen) < len(self._line):
            return False
        self.slope = float(self._weight @ np.abs(self._line @ np.array(self._seen)))
        return self.slope < self._tol


class ModelSlopeRule(SlopeRule):
    """The rule for predictions ``sigmoid(X theta)``, given the parameters of each iteration.

    Parameters are kept, not predictions, so memory does not grow with the rows. On large data
    the slope is followed on an even sample; only when that comes near ``tol`` is it computed on
    every row.

    Parameters
    ----------
    blocks : RowBlocks
        Attributes of the watched model.
    weight : ndarray
        What each row counts; 0 for labelled rows.
    """

    def __init__(self, blocks: RowBlocks, weight: np.ndarray, window: int, tol: float):
        counted = np.flatnonzero(weight)
        self._sampled = len(counted) > SAMPLE_ROWS
        if self._sampled:
            counted = counted[:: -(-len(counted) // SAMPLE_ROWS)]
        super().__init__(weight[counted], window, tol)
        self._sample = blocks.take(counted)
        self._blocks, self._row_weight = blocks, weight / weight.sum()
        self._thetas: deque[np.ndarray] = deque(maxlen=window)

    def follow(self, theta: np.ndarray) -> bool:
        """Take the parameters of one more iteration; True when the rule is met."""
        self._thetas.append(theta)
        met = self.update(expit(self._sample @ theta[:-1] + theta[-1]))
        if not self._sampled or not self.slope < 1.1 * self._tol:
            return met
        self.slope = self._slope_of_all_rows()
        return self.slope < self._tol

    def _slope_of_all_rows(self) -> float:
        thetas = np.array(self._thetas).T

        def block(X, rows):
            slope = sigmoids(X @ thetas[:-1] + thetas[-1])[0] @ self._line
            return float(self._row_weight[rows] @ np.abs(slope))

        return self._blocks.sum(block)


class History:
    """One record an iteration; as arrays under their names in the end."""

    NAMES = ("log_likelihood", "penalized_log_likelihood", "slope", "class_prior")

    def __init__(self, report: Callable[[], None] = lambda: None):
        """``report`` is called after each record."""
        self._records: list[tuple[float, ...]] = []
        self._report = report

    def add(self, em, slope: float) -> None:
        record = (em.log_likelihood, em.penalized_log_likelihood, slope, em.class_prior)
        self._records.append(record)
        self._report()

    def __len__(self) -> int:
        return len(self._records)

    def as_dict(self) -> dict[str, np.ndarray]:
        table = np.array(self._records).reshape(-1, len(self.NAMES)).T
        return dict(zip(self.NAMES, table, strict=True))


@dataclass
class EMResult:
    n_iter: int
    converged: bool
    history: dict[str, np.ndarray]
