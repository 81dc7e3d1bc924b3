"""When SAR-EM stops, and what it leaves on record."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from sarlearn._engine.blocks import Block
from sarlearn._engine.kernels import logits, sigmoids
from sarlearn._engine.rows import Rows, stack

#: The stop rules by name, and where each ends by default.
TOLERANCE = {"slope": 1e-4, "fixed_point": 1e-8}
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
    rows : Rows
        With their labels and weights; unlabelled ones count.
    watched : {"X", "Xe"}
        Where a block has the attributes of the watched model.
    """

    def __init__(self, rows: Rows, watched: str, window: int, tol: float):
        self._rows, self._watched = rows, watched
        extents = rows.each(_extent)
        ends = np.cumsum([number for number, _ in extents])
        n_counted, self._total = int(ends[-1]), sum(weight for _, weight in extents)
        self._sampled = n_counted > SAMPLE_ROWS
        ranks = np.arange(0, n_counted, -(-n_counted // SAMPLE_ROWS))
        starts = ends - [number for number, _ in extents]
        chosen = np.split(ranks, np.searchsorted(ranks, starts[1:]))
        within = [ranks - start for ranks, start in zip(chosen, starts, strict=True)]
        sample = rows.each(_sample, watched, per_block=within)
        super().__init__(np.concatenate([weight for _, weight in sample]), window, tol)
        self._sample = stack([X for X, _ in sample])
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
        return self._rows.total(_slope, self._watched, thetas, self._line) / self._total


def _counts(block: Block) -> np.ndarray:
    """What each row counts: labelled ones nothing."""
    return ~block.labelled * block.weights


def _extent(block: Block) -> tuple[int, float]:
    counts = _counts(block)
    return int(np.count_nonzero(counts)), float(counts.sum())


def _sample(block: Block, watched: str, ranks: np.ndarray):
    """Attributes and weights of some of the rows that count, by their ranks among these."""
    counts = _counts(block)
    numbers = np.flatnonzero(counts)[ranks]
    return getattr(block, watched)[numbers], counts[numbers]


def _slope(block: Block, watched: str, thetas: np.ndarray, line: np.ndarray) -> float:
    slopes = sigmoids(logits(getattr(block, watched), thetas))[0] @ line
    return float(_counts(block) @ np.abs(slopes))


class History:
    """One record per iteration; as arrays under their names in the end."""

    NAMES = ("log_likelihood", "penalized_log_likelihood", "slope", "class_prior")

    def __init__(self, report: Callable[[], None] = lambda: None):
        """``report`` is called after each record."""
        self._records: list[tuple[float, ...]] = []
        self._report = report

    def add(self, em, slope: float) -> None:
        self.record(em.log_likelihood, em.penalized_log_likelihood, slope, em.class_prior)

    def record(self, *values: float) -> None:
        """One value for each of the names."""
        self._records.append(values)
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
