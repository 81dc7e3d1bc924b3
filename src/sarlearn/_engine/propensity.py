"""The propensity side of SAR-EM: known, one value per group of equal rows, or one per row.

A pass asks each kind, at its parameters, for the propensity of a block's rows (``of_rows``). EM
asks for the M-step (``solve`` where that is exact, else Newton steps with ``gradient`` and
``curvature``) and for the step of the map, also scaled: in units in which 1 is a change of a logit
by 1 on one row of full curvature. ``here`` is the kind at its current parameters.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpotrs
from scipy.special import expit, logit

from sarlearn._engine.blocks import Block, RowBlocks
from sarlearn._engine.kernels import Propensities
from sarlearn._engine.likelihood import sigmoids
from sarlearn._engine.newton import Curvature, cholesky
from sarlearn._engine.rows import Rows, Units

# More distinct rows than this, and grouping saves nothing.
MAX_GROUPS = 4096
MAX_VALUES = 64
MAX_COMBINATIONS = 2**20
# Sparse propensity columns with fewer elements than this are used as a dense matrix.
DENSE_ELEMENTS = 2**24
# The M-step of groups ends with a step that moves no logit by more than this: it is a few per cent
# off the solution then, and the next EM iteration starts with what is left.
LAST_STEP = 0.1
# A propensity of exactly 0 or 1 has no logit.
MIN_PROBABILITY = 1e-12


class KnownAt:
    """A propensity that the rows have."""

    theta, key, has_columns = np.empty(0), b"", False

    def of_rows(self, block: Block) -> Propensities:
        return Propensities(block.e, block.not_e)


class GroupsAt:
    """The propensity of each group, and its complement."""

    has_columns = False

    def __init__(self, values: np.ndarray, theta: np.ndarray):
        self.theta, self.key = theta, theta.tobytes()
        self.e, self.not_e = sigmoids(values @ theta[:-1] + theta[-1])

    def of_rows(self, block: Block) -> Propensities:
        return Propensities(self.e, self.not_e, block.codes)


class ColumnsAt:
    """The propensity of each row from its attributes."""

    has_columns = True

    def __init__(self, theta: np.ndarray):
        self.theta, self.key = theta, theta.tobytes()

    def of_rows(self, block: Block) -> Propensities:
        return Propensities(X=block.Xe, theta=self.theta)


class Kind:
    """A propensity at its current parameters, ``here``."""

    newton = False
    here: Any
    _ridge = np.empty(0)

    @property
    def theta(self) -> np.ndarray:
        return self.here.theta

    def penalty(self) -> float:
        return float(self._ridge @ self.theta**2) / 2


class KnownPropensity(Kind):
    """A propensity that the rows have: nothing to learn."""

    here = KnownAt()

    def at(self, theta: np.ndarray) -> KnownAt:
        return self.here

    def solve(self, sums) -> KnownAt:
        return self.here

    def map_step(self, sums):
        return self.theta, self.theta


class GroupedPropensity(Kind):
    """Rows that agree in every propensity attribute share one propensity.

    The M-step sees one row per group and is solved exactly, at no cost beside a pass over the data.
    Rows know their group by ``codes``; with one group (SCAR) they need not.

    Parameters
    ----------
    values : ndarray of shape (n_groups, n_attributes)
    labelled_weight, unlabelled_weight : ndarray of shape (n_groups,)
    units : Units of the attributes
    """

    def __init__(self, values, labelled_weight, unlabelled_weight, units: Units, C: float):
        self.values = values
        self._design = np.column_stack([values, np.ones(len(values))])
        self._ridge = units.ridge(C, float(labelled_weight.sum()))
        self.labelled_weight, self.unlabelled_weight = labelled_weight, unlabelled_weight
        self.here = self.at(np.zeros(values.shape[1] + 1))

    def at(self, theta: np.ndarray) -> GroupsAt:
        return GroupsAt(self.values, theta)

    def solve(self, sums) -> GroupsAt:
        """The propensity that solves the M-step (Algorithm 1, lines 13-16)."""
        positives = self._positives(sums)
        if self.values.shape[1] == 0:
            share = self.labelled_weight.sum() / positives.sum()
            theta = np.array([logit(np.clip(share, MIN_PROBABILITY, 1 - MIN_PROBABILITY))])
        else:
            theta = self._solve(positives)
        return self.at(theta)

    def _positives(self, sums) -> np.ndarray:
        """Expected positives of each group, by weight: at least those that are labelled."""
        return np.maximum(sums.positives, self.labelled_weight)

    def map_step(self, sums):
        change = self.solve(sums).theta - self.theta
        size = np.sqrt(self._positives(sums) * self.here.e * self.here.not_e)
        return change, size * (self._design @ change)

    def _solve(self, positives):
        """Newton's method on one row per group; near the solution one step does."""
        theta = self.theta
        for _ in range(50):
            gradient, H = self._local(theta, positives)
            step = -dpotrs(cholesky(H, self._ridge), gradient, lower=1)[0]
            change = float(np.abs(self._design @ step).max())
            if change > 1.0:  # far off, Newton's step may overshoot
                step *= self._damping(theta, step, positives, float(gradient @ step))
            theta = theta + step
            if change < LAST_STEP:
                break
        return theta

    def _local(self, theta, positives):
        """Gradient and Hessian, without the penalty, of the M-step: one row per group."""
        e = expit(self._design @ theta)
        expected = positives * e
        gradient = (expected - self.labelled_weight) @ self._design + self._ridge * theta
        H = (self._design.T * (expected * (1.0 - e))) @ self._design
        return gradient, H

    def _damping(self, theta, step, positives, slope: float) -> float:
        """The largest of 1, 1/2, 1/4, ... that decreases the objective."""

        def objective(theta):
            zeta = self.values @ theta[:-1] + theta[-1]
            loss = positives * np.logaddexp(0.0, zeta) - self.labelled_weight * zeta
            return float(loss.sum()) + float(self._ridge @ theta**2) / 2

        here, size = objective(theta), 1.0
        while objective(theta + size * step) > here + 1e-4 * size * slope and size > 1e-10:
            size /= 2
        return size


class ColumnPropensity(Kind):
    """One propensity per row, for attributes that take too many values to group.

    Its M-step is one Newton step, taken and checked together with the classifier's. Rows have the
    attributes as ``Xe``.
    """

    newton = True

    def __init__(self, labelled_weight: float, columns: np.ndarray, units: Units, C: float):
        self.columns = columns
        self._ridge = units.ridge(C, labelled_weight)
        self.here = ColumnsAt(np.zeros(len(self._ridge)))
        self.curvature: Curvature

    def at(self, theta: np.ndarray) -> ColumnsAt:
        return ColumnsAt(theta)

    def gradient(self, raw: np.ndarray) -> np.ndarray:
        return raw + self._ridge * self.theta

    def renew_curvature(self, sums) -> None:
        """Take over the curvature of this pass."""
        self.curvature = Curvature(sums.propensity_hessian, self._ridge)

    def map_step(self, sums):
        gradient = self.gradient(sums.next_propensity_gradient)
        return -self.curvature.solve(gradient), self.curvature.scaled_step(gradient)


def choose_propensity(rows: Rows, columns: np.ndarray, C: float):
    """The cheapest kind that serves, and rows that serve it.

    Groups where the attributes are discrete, else columns; ``rows`` know their labels and weights.
    """
    units = rows.units.of(columns)
    as_sparse = rows.is_sparse and rows.shape[0] * len(columns) > max(DENSE_ELEMENTS, rows.nnz)
    grouped = None if as_sparse else group_rows(rows, columns)
    if grouped is not None:
        values, rows = grouped
        known, total = rows.total(_group_weights, len(values))
        return GroupedPropensity(values, known, total - known, units, C), rows
    rows = rows.map(_with_attributes, columns, as_sparse)
    known, _ = rows.total(_group_weights, 1)
    return ColumnPropensity(float(known[0]), columns, units, C), rows


def group_rows(rows: Rows, columns: np.ndarray) -> tuple[np.ndarray, Rows] | None:
    """Distinct rows of some columns, and rows that know theirs by ``codes``; None where too many.

    Columns are coded one by one from the few values they have, which is linear in the rows;
    sorting whole rows took longer than the fit.
    """
    if not len(columns):
        return np.empty((1, 0)), rows
    levels = _merged(rows.each(_levels, columns), len(columns))
    if levels is None:
        return None
    coded = rows.map(_with_codes, columns, levels)
    present = np.flatnonzero(coded.total(_occurs, int(np.prod([len(v) for v in levels]))))
    if len(present) > min(MAX_GROUPS, max(rows.shape[0] // 4, 16)):
        return None
    return _values(levels, present), coded.map(_with_ranks, present)


def _group_weights(block: Block, n_groups: int) -> np.ndarray:
    """Weight of the labelled rows and of all rows in each group."""
    if block.codes is None or n_groups == 1:
        return block.label_weights[:, None]
    weights = block.weights
    known = np.bincount(block.codes, weights=block.labelled * weights, minlength=n_groups)
    total = np.bincount(block.codes, weights=weights, minlength=n_groups)
    return np.array([known, total])


def attributes(block: Block, columns: np.ndarray):
    """Some columns of a block, dense."""
    if sparse.issparse(block.matrix):
        return np.ascontiguousarray(block.matrix[:, columns].toarray())
    return np.take(block.matrix, columns, axis=1)  # a sixth of the time of indexing


def _levels(block: Block, columns: np.ndarray) -> list[np.ndarray] | None:
    """The values of each column; None where one has too many."""
    found = []
    for column in attributes(block, columns).T:
        values = np.unique(column[:: max(1, len(column) // 1000)])
        if len(values) <= MAX_VALUES:  # rows that the sample does not show are still found
            place = np.minimum(np.searchsorted(values, column), len(values) - 1)
            missed = values[place] != column
            if missed.any():
                values = np.union1d(values, column[missed])
        if len(values) > MAX_VALUES:
            return None
        found.append(values)
    return found


def _merged(found: list[list[np.ndarray] | None], n_columns: int) -> list[np.ndarray] | None:
    levels = [np.empty(0)] * n_columns
    for block in found:
        if block is None:
            return None
        levels = [np.union1d(a, b) for a, b in zip(levels, block, strict=True)]
        sizes = [len(values) for values in levels]
        if max(sizes) > MAX_VALUES or np.prod(sizes, dtype=float) > MAX_COMBINATIONS:
            return None
    return levels


def _with_codes(block: Block, columns, levels) -> Block:
    codes = np.zeros(block.n_rows, dtype=np.intp)
    for column, values in zip(attributes(block, columns).T, levels, strict=True):
        codes *= len(values)
        codes += np.searchsorted(values, column)
    return block.with_columns(codes=codes)


def _occurs(block: Block, n_codes: int) -> np.ndarray:
    return np.bincount(block.codes, minlength=n_codes)


def _with_ranks(block: Block, present: np.ndarray) -> Block:
    return block.with_columns(codes=np.searchsorted(present, block.codes))


def _with_attributes(block: Block, columns, as_sparse: bool) -> Block:
    Xe = block.matrix[:, columns] if as_sparse else attributes(block, columns)
    return block.with_columns(Xe=Xe)


def _values(levels: list[np.ndarray], present: np.ndarray) -> np.ndarray:
    """The distinct rows that codes stand for."""
    places = np.unravel_index(present, [len(level) for level in levels])
    columns = [level[place] for level, place in zip(levels, places, strict=True)]
    return np.column_stack(columns).astype(float)


def watch(rows: Rows, propensity) -> tuple[Rows, str]:
    """What the slope rule looks at: rows, and where in a block the watched model's attributes are.

    That model is the propensity, or the classifier where the propensity is known. Equal rows are
    one row here, with the weight of the unlabelled ones among them.
    """
    if isinstance(propensity, GroupedPropensity):
        bare = np.zeros(len(propensity.values), dtype=bool)
        groups = RowBlocks(propensity.values)
        return groups.attach(labelled=bare, weight=propensity.unlabelled_weight), "X"
    return rows, "Xe" if isinstance(propensity, ColumnPropensity) else "X"
