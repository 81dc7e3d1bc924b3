"""The propensity side of SAR-EM: known, one value a group of equal rows, or one a row.

A pass asks each kind, at its parameters, for the propensity of a block's rows (``of_rows``). The
EM loop asks for the M-step (``improve``, with ``feel``, the size of that step in units in which 1
is a change of a logit by 1 on one row of full curvature). ``here`` is the kind at its current
parameters, ``columns`` what blocks must know of each row.
"""

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpotrs
from scipy.special import expit, logit

from sarlearn._engine.blocks import Block, RowBlocks
from sarlearn._engine.kernels import Propensities
from sarlearn._engine.logistic import Curvature, cholesky, ridge_of, weight_of

# More distinct rows than this, and grouping saves nothing.
MAX_GROUPS = 4096
MAX_VALUES = 64
MAX_COMBINATIONS = 2**20
# Sparse propensity columns with fewer elements than this are used as a dense matrix.
DENSE_ELEMENTS = 2**24
# A propensity of exactly 0 or 1 has no logit.
MIN_PROBABILITY = 1e-12


class KnownAt:
    """A propensity that the rows have."""

    theta, key = np.empty(0), b""

    def of_rows(self, block: Block) -> Propensities:
        return Propensities(block.e, block.not_e)


class GroupsAt:
    """The propensity of each group, and its complement."""

    def __init__(self, values: np.ndarray, theta: np.ndarray):
        self.theta, self.key = theta, theta.tobytes()
        zeta = values @ theta[:-1] + theta[-1]
        self.e, self.not_e = expit(zeta), expit(-zeta)

    def of_rows(self, block: Block) -> Propensities:
        return Propensities(self.e, self.not_e, block.codes)


class ColumnsAt:
    """The propensity of each row from its attributes."""

    def __init__(self, theta: np.ndarray):
        self.theta, self.key = theta, theta.tobytes()

    def of_rows(self, block: Block) -> Propensities:
        return Propensities(X=block.Xe, theta=self.theta)


class KnownPropensity:
    """A propensity that is given: nothing to learn."""

    newton = False
    here = KnownAt()
    theta = here.theta

    def __init__(self, propensity: np.ndarray | None):
        self.columns = {} if propensity is None else {"e": propensity, "not_e": 1.0 - propensity}

    def at(self, theta: np.ndarray) -> KnownAt:
        return self.here

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
        The group of each row; None where there is one group (SCAR), or where blocks have them.
    labelled_weight, unlabelled_weight : ndarray of shape (n_groups,)
    """

    newton = False

    def __init__(self, values, codes, labelled_weight, unlabelled_weight, C: float):
        self.values, self.columns = values, {"codes": codes}
        self._design = np.column_stack([values, np.ones(len(values))])
        self._ridge = ridge_of(C, values.shape[1], float(labelled_weight.sum()))
        self.labelled_weight, self.unlabelled_weight = labelled_weight, unlabelled_weight
        self.here = self.at(np.zeros(values.shape[1] + 1))

    @property
    def theta(self) -> np.ndarray:
        return self.here.theta

    def at(self, theta: np.ndarray) -> GroupsAt:
        return GroupsAt(self.values, theta)

    def improve(self, sums):
        """The change of parameters that solves the M-step (Algorithm 1, lines 13-16)."""
        positives = np.maximum(sums.positives, self.labelled_weight)
        if self.values.shape[1] == 0:
            share = self.labelled_weight.sum() / positives.sum()
            theta = np.array([logit(np.clip(share, MIN_PROBABILITY, 1 - MIN_PROBABILITY))])
        else:
            theta = self._solve(positives)
        change = theta - self.theta
        felt = np.sqrt(positives * self.here.e * self.here.not_e)
        return change, felt * (self._design @ change)

    def _solve(self, positives):
        """Newton's method on one row a group; near the solution one step does."""
        theta = self.theta
        for _ in range(50):
            gradient, H = self._local(theta, positives)
            step = -dpotrs(cholesky(H, self._ridge), gradient, lower=1)[0]
            change = float(np.abs(self._design @ step).max())
            if change > 1.0:  # far off, Newton's step may overshoot
                step *= self._damping(theta, step, positives, float(gradient @ step))
            theta = theta + step
            # A step that moves no logit by more than this is a few per cent off the solution;
            # the next EM iteration starts with what is left.
            if change < 0.1:
                break
        return theta

    def _local(self, theta, positives):
        """Gradient and Hessian, without the penalty, of the M-step's objective: one row a group."""
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

    def penalty(self) -> float:
        return float(self._ridge @ self.theta**2) / 2


class ColumnPropensity:
    """One propensity a row, for attributes that take too many values to group.

    Its M-step is one Newton step, taken and checked together with the classifier's. ``X`` has the
    attributes of every row, or is None where the blocks have them.
    """

    newton = True

    def __init__(self, X, n_columns: int, labelled_weight: float, C: float):
        self.X, self.columns = X, {"Xe": X}
        self._ridge = ridge_of(C, n_columns, labelled_weight)
        self.here = ColumnsAt(np.zeros(n_columns + 1))
        self.curvature: Curvature

    @property
    def theta(self) -> np.ndarray:
        return self.here.theta

    def at(self, theta: np.ndarray) -> ColumnsAt:
        return ColumnsAt(theta)

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
    if not sparse.issparse(Xe):
        Xe = np.ascontiguousarray(Xe)
    grouped = None if sparse.issparse(Xe) else group_rows(Xe)
    counted = _counted(labelled, weight)
    if grouped is None:
        return ColumnPropensity(Xe, len(columns), float(counted.sum()), C)
    values, codes = grouped
    groups = np.zeros(n_rows, dtype=np.intp) if codes is None else codes
    total = np.bincount(groups, weights=weight, minlength=len(values)).astype(float)
    known = np.bincount(groups, weights=counted, minlength=len(values))
    return GroupedPropensity(values, codes, known, total - known, C)


def choose_on_blocks(blocks, columns: np.ndarray, C: float):
    """The same choice for rows that lie elsewhere; gives the kind, and blocks that serve it."""
    n_rows, as_sparse = blocks.shape[0], False
    levels: list[np.ndarray] | None = None
    if blocks.is_sparse:
        as_sparse = n_rows * len(columns) > max(DENSE_ELEMENTS, blocks.nnz)
    if not as_sparse:
        levels = _merged(blocks.each(_levels, columns), len(columns))
    if levels is not None:
        present = np.unique(np.concatenate(blocks.each(_present, columns, levels)))
        if len(present) <= _max_groups(n_rows):
            values = _values(levels, present)
            if len(columns):
                blocks = blocks.map(_with_codes, columns, levels, present)
            known, total = blocks.total(group_weights, len(values))
            return GroupedPropensity(values, None, known, total - known, C), blocks
    blocks = blocks.map(_with_attributes, columns, as_sparse)
    known, _ = blocks.total(group_weights, 1)
    return ColumnPropensity(None, len(columns), float(known[0]), C), blocks


def label_share(blocks) -> float:
    """Labelled share of the rows, by weight."""
    known, total = blocks.total(_label_weights)
    return float(known / total)


def _label_weights(block: Block) -> np.ndarray:
    return np.array([_counted(block.labelled, block.weight).sum(), weight_of(block)])


def group_weights(block: Block, n_groups: int) -> np.ndarray:
    """Weight of the labelled rows and of all rows in each group."""
    codes = np.zeros(block.n_rows, dtype=np.intp) if block.codes is None else block.codes
    counted = _counted(block.labelled, block.weight)
    known = np.bincount(codes, weights=counted, minlength=n_groups)
    total = np.bincount(codes, weights=block.weight, minlength=n_groups)
    return np.array([known, total], dtype=float)


def _attributes(block: Block, columns: np.ndarray):
    Xe = block.matrix[:, columns]
    return np.ascontiguousarray(Xe.toarray() if sparse.issparse(Xe) else Xe)


def _levels(block: Block, columns: np.ndarray) -> list[np.ndarray] | None:
    """The values of each column; None where one has too many."""
    found = []
    for column in _attributes(block, columns).T:
        sample = column[:: max(1, len(column) // 1000)]
        if len(np.unique(sample)) > MAX_VALUES:  # known without sorting them all
            return None
        found.append(np.unique(column))
        if len(found[-1]) > MAX_VALUES:
            return None
    return found


def _merged(found: list[list[np.ndarray] | None], n_columns: int) -> list[np.ndarray] | None:
    levels = [np.empty(0)] * n_columns
    for block in found:
        if block is None:
            return None
        levels = [np.union1d(a, b) for a, b in zip(levels, block, strict=True)]
        if _too_many(levels):
            return None
    return levels


def _too_many(levels: list[np.ndarray]) -> bool:
    sizes = [len(values) for values in levels]
    return max(sizes, default=0) > MAX_VALUES or np.prod(sizes, dtype=float) > MAX_COMBINATIONS


def _codes(block: Block, columns, levels) -> np.ndarray:
    codes = np.zeros(block.n_rows, dtype=np.intp)
    for column, values in zip(_attributes(block, columns).T, levels, strict=True):
        codes *= len(values)
        codes += np.searchsorted(values, column)
    return codes


def _present(block: Block, columns, levels) -> np.ndarray:
    return np.unique(_codes(block, columns, levels))


def _with_codes(block: Block, columns, levels, present) -> Block:
    return block.with_columns(codes=np.searchsorted(present, _codes(block, columns, levels)))


def _with_attributes(block: Block, columns, as_sparse: bool) -> Block:
    Xe = block.matrix[:, columns] if as_sparse else _attributes(block, columns)
    return block.with_columns(Xe=Xe)


def _max_groups(n_rows: int) -> int:
    return min(MAX_GROUPS, max(n_rows // 4, 16))


def _values(levels: list[np.ndarray], present: np.ndarray) -> np.ndarray:
    """The distinct rows that codes stand for."""
    if not levels:
        return np.empty((1, 0))
    places = np.unravel_index(present, [len(level) for level in levels])
    columns = [level[place] for level, place in zip(levels, places, strict=True)]
    return np.column_stack(columns).astype(float)


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
        if np.prod([len(level) for level in levels], dtype=float) > MAX_COMBINATIONS:
            return None
    present, codes = _compress(codes, [len(level) for level in levels])
    if len(present) > _max_groups(n_rows):
        return None
    return _values(levels, present), codes


def _compress(codes, sizes):
    """Codes that occur, and each row's rank among them."""
    occurs = np.bincount(codes, minlength=int(np.prod(sizes))) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


def watch(blocks: RowBlocks, propensity) -> tuple[RowBlocks, str]:
    """What the slope rule looks at: rows, and where in a block the watched model's attributes are.

    That model is the propensity, or the classifier where the propensity is known. Equal rows are
    one row here, with the weight of the unlabelled ones among them.
    """
    if isinstance(propensity, GroupedPropensity):
        bare = np.zeros(len(propensity.values), dtype=bool)
        groups = RowBlocks(propensity.values)
        return groups.attach(labelled=bare, weight=propensity.unlabelled_weight), "X"
    return blocks, "Xe" if isinstance(propensity, ColumnPropensity) else "X"


def _counted(rows, weight) -> np.ndarray:
    return rows.astype(float) if weight is None else rows * weight
