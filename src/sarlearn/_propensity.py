"""The propensity side of SAR-EM: known, one value a group of equal rows, or one a row.

The EM loop asks each kind the same things: the propensity of some rows (``of_rows``), what its
M-step needs from them (``row_sums``), and the M-step (``improve``, with ``feel``, the size of
that step in units in which 1 is a change of a logit by 1 on one row of full curvature).
"""

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from sarlearn._blocks import RowBlocks
from sarlearn._kernels import sigmoids
from sarlearn._logistic import Curvature, hessian, ridge_of, with_intercept

# More distinct rows than this, and grouping saves nothing.
MAX_GROUPS = 4096
MAX_VALUES = 64
# Sparse propensity columns with fewer elements than this are used as a dense matrix.
DENSE_ELEMENTS = 2**24
# A propensity of exactly 0 or 1 has no logit.
MIN_PROBABILITY = 1e-12


class KnownPropensity:
    """A propensity that is given: nothing to learn."""

    theta = np.empty(0)
    newton = False

    def __init__(self, propensity: np.ndarray):
        self._e = propensity
        self._not_e = 1.0 - propensity

    def of_rows(self, rows: slice):
        return self._e[rows], self._not_e[rows]

    def set(self, theta: np.ndarray) -> None:
        """There are no parameters."""

    def row_sums(self, rows, e, fresh, aim, with_hessian) -> dict:
        return {}

    def improve(self, sums):
        return self.theta, self.theta

    def penalty(self) -> float:
        return 0.0


class GroupedPropensity:
    """Rows that agree in every propensity attribute share one propensity.

    The M-step sees one row a group and is solved exactly, at no cost beside a pass over the data.

    Parameters
    ----------
    values : ndarray of shape (n_groups, n_attributes)
    codes : ndarray of shape (n_rows,) or None
        The group of each row; None where there is one group (SCAR).
    labelled_weight, unlabelled_weight : ndarray of shape (n_groups,)
    """

    newton = False

    def __init__(self, values, codes, labelled_weight, unlabelled_weight, C: float):
        self.values, self._codes = values, codes
        self._ridge = ridge_of(C, values.shape[1], float(labelled_weight.sum()))
        self.labelled_weight, self.unlabelled_weight = labelled_weight, unlabelled_weight
        self.theta = np.zeros(values.shape[1] + 1)

    def set(self, theta: np.ndarray) -> None:
        self.theta = theta
        zeta = self.values @ theta[:-1] + theta[-1]
        self._e, self._not_e = expit(zeta), expit(-zeta)

    def of_rows(self, rows: slice):
        if self._codes is None:
            return self._e, self._not_e
        codes = self._codes[rows]
        return self._e[codes], self._not_e[codes]

    def row_sums(self, rows, e, fresh, aim, with_hessian) -> dict:
        """Expected positives in each group: by label, else by target."""
        if self._codes is None:
            return {"positives": fresh.sum(keepdims=True)}
        counts = np.bincount(self._codes[rows], weights=fresh, minlength=len(self.values))
        return {"positives": counts}

    def improve(self, sums):
        """The change of parameters that solves the M-step (Algorithm 1, lines 13-16)."""
        positives = np.maximum(sums.positives, self.labelled_weight)
        if self.values.shape[1] == 0:
            share = self.labelled_weight.sum() / positives.sum()
            theta = np.array([logit(np.clip(share, MIN_PROBABILITY, 1 - MIN_PROBABILITY))])
        else:
            theta = self._solve(positives)
        change = theta - self.theta
        felt = np.sqrt(positives * self._e * self._not_e)
        return change, felt * (self.values @ change[:-1] + change[-1])

    def _solve(self, positives):
        """Newton's method on one row a group; near the solution one step does."""
        theta = self.theta
        for _ in range(50):
            gradient, curvature = self._local(theta, positives)
            step = -curvature.solve(gradient)
            change = float(np.abs(self.values @ step[:-1] + step[-1]).max())
            if change > 1.0:  # far off, Newton's step may overshoot
                step *= self._damping(theta, step, positives, float(gradient @ step))
            theta = theta + step
            # A step that moves no logit by more than this is a few per cent off the solution;
            # the next EM iteration starts with what is left.
            if change < 0.1:
                break
        return theta

    def _local(self, theta, positives):
        """Gradient and curvature of the M-step's objective, one row a group."""
        zeta = self.values @ theta[:-1] + theta[-1]
        e = expit(zeta)
        gradient = with_intercept(self.values, positives * e - self.labelled_weight)
        gradient += self._ridge * theta
        H = hessian(self.values, positives * e * (1.0 - e))
        return gradient, Curvature(H, self._ridge)

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

    def penalty(self) -> float:
        return float(self._ridge @ self.theta**2) / 2


class ColumnPropensity:
    """One propensity a row, for attributes that take too many values to group.

    Its M-step is one Newton step, taken and checked together with the classifier's.
    """

    newton = True

    def __init__(self, X, labelled: np.ndarray, labelled_weight: float, C: float):
        self.X, self._labelled = X, labelled
        self._cut: dict = {}
        self._ridge = ridge_of(C, X.shape[1], labelled_weight)
        self.theta = np.zeros(X.shape[1] + 1)
        self.curvature: Curvature

    def set(self, theta: np.ndarray) -> None:
        self.theta = theta

    def of_rows(self, rows: slice):
        zeta = self._rows(rows) @ self.theta[:-1]
        zeta += self.theta[-1]
        return sigmoids(zeta)

    def _rows(self, rows: slice):
        if not sparse.issparse(self.X):
            return self.X[rows]
        if rows.start not in self._cut:  # slicing a sparse matrix copies: once is enough
            self._cut[rows.start] = self.X[rows]
        return self._cut[rows.start]

    def row_sums(self, rows, e, fresh, aim, with_hessian) -> dict:
        X = self._rows(rows)
        surplus = e - self._labelled[rows]
        out = {
            "e_fresh": with_intercept(X, fresh * surplus),
            "e_aimed": with_intercept(X, aim * surplus),
        }
        if with_hessian:
            h = fresh * e
            h *= 1.0 - e
            out["e_hessian"] = hessian(X, h)
        return out

    def gradient(self, raw: np.ndarray) -> np.ndarray:
        return raw + self._ridge * self.theta

    def bend(self, sums) -> None:
        """Take over the curvature of this pass."""
        self.curvature = Curvature(sums.e_hessian, self._ridge)

    def improve(self, sums):
        gradient = self.gradient(sums.e_fresh)
        return -self.curvature.solve(gradient), self.curvature.whiten(gradient)

    def penalty(self) -> float:
        return float(self._ridge @ self.theta**2) / 2


def choose_propensity(X, columns: np.ndarray, labelled, weight, C: float):
    """The cheapest kind that serves: groups where the attributes are discrete, else columns."""
    n_rows = X.shape[0]
    Xe = X[:, columns]
    if sparse.issparse(Xe) and n_rows * len(columns) <= max(DENSE_ELEMENTS, X.nnz):
        Xe = Xe.toarray()
    grouped = None if sparse.issparse(Xe) else group_rows(Xe)
    counted = _counted(labelled, weight)
    if grouped is None:
        return ColumnPropensity(Xe, labelled, float(counted.sum()), C)
    values, codes = grouped
    groups = np.zeros(n_rows, dtype=np.intp) if codes is None else codes
    total = np.bincount(groups, weights=weight, minlength=len(values)).astype(float)
    known = np.bincount(groups, weights=counted, minlength=len(values))
    return GroupedPropensity(values, codes, known, total - known, C)


def group_rows(X: np.ndarray) -> tuple[np.ndarray, np.ndarray | None] | None:
    """Distinct rows, and for each row which it is; None where there are too many to gain.

    Columns are coded one by one from the few values a sample of them shows, which is linear in
    the rows; sorting whole rows took longer than the fit.
    """
    n_rows, n_columns = X.shape
    if n_columns == 0:
        return np.empty((1, 0)), None
    levels, codes = [], np.zeros(n_rows, dtype=np.intp)
    for column in X.T:
        values = np.unique(column[:: max(1, n_rows // 1000)])
        if len(values) <= MAX_VALUES:
            place = np.searchsorted(values, column)
            missed = values[np.minimum(place, len(values) - 1)] != column
            if missed.any():
                values = np.union1d(values, column[missed])
                place = np.searchsorted(values, column)
        if len(values) > MAX_VALUES:
            return None
        codes *= len(values)
        codes += place
        levels.append(values)
        if np.prod([len(level) for level in levels], dtype=float) > 2**20:
            return None
    present, codes = _compress(codes, [len(level) for level in levels])
    if len(present) > min(MAX_GROUPS, max(n_rows // 4, 16)):
        return None
    places = np.unravel_index(present, [len(level) for level in levels])
    values = np.column_stack([level[place] for level, place in zip(levels, places, strict=True)])
    return values.astype(float), codes


def _compress(codes, sizes):
    """Codes that occur, and each row's rank among them."""
    occurs = np.bincount(codes, minlength=int(np.prod(sizes))) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


def watch(X, propensity, labelled, weight) -> tuple[RowBlocks, np.ndarray]:
    """What the slope rule looks at: the attributes of the watched model, and each row's weight.

    That model is the propensity, or the classifier where the propensity is known.
    """
    if isinstance(propensity, GroupedPropensity):
        return RowBlocks(propensity.values), propensity.unlabelled_weight
    watched = propensity.X if isinstance(propensity, ColumnPropensity) else X
    return RowBlocks(watched), _counted(~labelled, weight)


def _counted(rows, weight) -> np.ndarray:
    return rows.astype(float) if weight is None else rows * weight
