"""Two logistic models at once, by penalised maximum likelihood: what tests and intervals refit.

    P(s=1|x) = f e,   f = sigmoid(theta . x + theta_0),   e = sigmoid(phi . x_e + phi_0)

The maximum is that of SAR-EM with ``decay=1``. Newton's method reaches it in a handful of passes
from a good start, which EM does not. Parameters are kept as one vector: theta, theta_0, phi, phi_0,
for columns as ``columns.conditioned`` makes them; ``to_user`` converts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from scipy import sparse
from scipy.special import logit

from sarlearn._engine import likelihood
from sarlearn._engine.blocks import Block, RowBlocks
from sarlearn._engine.columns import conditioned
from sarlearn._engine.likelihood import (
    evidence_of_labels,
    mean_of_sigmoids,
    shift_for_mean,
    sigmoids,
)
from sarlearn._engine.logistic import fit_logistic
from sarlearn._engine.newton import Curvature, Iterate, Sums, climb
from sarlearn._engine.rows import Rows, Units, stack

# Label frequencies from which a fit starts that has nothing better.
STARTS = (0.15, 0.3, 0.6, 0.9)
# Label frequencies above which a nested climb starts again lower, and from where.
SATURATED, LOWERED = 0.9, 0.3
# No parameter moves by more than this in a step.
MAX_STEP = 10.0


@dataclass
class JointSums(Sums):
    loss: float
    gradient: np.ndarray
    hessian: np.ndarray | None = None


@dataclass
class JointFit:
    """A maximum: parameters, value of the penalised log-likelihood, and whether it was reached."""

    parameters: np.ndarray
    value: float
    converged: bool
    n_iter: int


def joint_pass(block: Block, parameters: np.ndarray, with_hessian: bool) -> JointSums:
    """Loss, gradient and, if asked, observed Hessian of a block that has ``Xe``.

    ``X`` and ``Xe`` end in a column of ones, for the intercepts.
    """
    X, Xe, s, weight = block.X, block.Xe, block.labelled, block.weight
    theta, phi = np.split(parameters, [X.shape[1]])
    f, not_f = sigmoids(X @ theta)
    e, not_e = sigmoids(Xe @ phi)
    found = likelihood.terms(f, not_f, evidence_of_labels(e, not_e, s))
    by_f = found.residual
    by_e = likelihood.propensity_residual(found.target, e, not_e, s)
    counted = 1.0 if weight is None else weight
    gradient = np.concatenate([X.T @ (counted * by_f), Xe.T @ (counted * by_e)])
    sums = JointSums(-likelihood.log_likelihood(found.chance, weight), gradient)
    if with_hessian:
        tt = likelihood.class_curvature(f, not_f, found, observed=True)
        te = likelihood.cross_curvature(found, e, not_e, s)
        ee = likelihood.observed_propensity_curvature(found, e, not_e, s)
        sums.hessian = _hessian(X, Xe, counted * tt, counted * te, counted * ee)
    return sums


class JointLogistic:
    """The likelihood of labels under two logistic models, on fixed rows.

    Labels and weights are given to each call, so that one object serves all the refits of a
    bootstrap.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_columns)
    columns : ndarray of int
        Columns of the propensity attributes; none is SCAR.
    C, propensity_C : float
        Inverse penalties, as in ``SAREMClassifier``.
    extra : ndarray of shape (n_rows, n_extra), default=None
        Further columns of the class model alone, a flexible score say, with no penalty.
    """

    def __init__(self, X, columns, *, C: float, propensity_C: float, extra=None):
        self.n_rows, self.n_columns = X.shape
        rows = conditioned(RowBlocks(X))
        units, units_e = rows.units, rows.units.of(columns)
        if not units.is_plain:
            X = stack(rows.each(attrgetter("X")))
        Xe = X[:, columns]
        Xe = np.asarray(Xe.toarray() if sparse.issparse(Xe) else Xe, dtype=np.float64)
        if extra is not None:
            X, units = _append(X, extra), _with_plain(units, extra.shape[1])
        ones = np.ones((self.n_rows, 1))
        self._X, self._Xe = _append(X, ones), np.hstack([Xe, ones])
        self._rows = RowBlocks(self._X).attach(Xe=self._Xe)
        self.n_theta = self._X.shape[1]
        self._C, self._units = C, (units, units_e)
        ridge = units.ridge(C, float(self.n_rows))
        ridge[self.n_columns : -1] = 1e-6
        self.ridge = np.append(ridge, units_e.ridge(propensity_C, float(self.n_rows)))

    def to_user(self, parameters) -> np.ndarray:
        """Parameters for the columns as they were given."""
        parts = zip(self._units, np.split(parameters, [self.n_theta]), strict=True)
        return np.concatenate([units.to_user(part) for units, part in parts])

    def _labelled(self, labelled, weight) -> Rows:
        return self._rows.attach(labelled=np.asarray(labelled), weight=weight)

    # -- the likelihood ----------------------------------------------------------------------

    def probabilities(self, parameters) -> tuple[np.ndarray, np.ndarray]:
        """``f`` and ``e`` of every row."""
        theta, phi = np.split(parameters, [self.n_theta])
        return sigmoids(self._X @ theta)[0], sigmoids(self._Xe @ phi)[0]

    def class_prior(self, parameters, weight=None) -> float:
        return float(np.average(self.probabilities(parameters)[0], weights=weight))

    # -- its maximum -------------------------------------------------------------------------

    def climb(
        self, start, labelled, weight=None, *, tol: float = 1e-7, max_iter: int = 200
    ) -> JointFit:
        """The maximum next to a start.

        Ends when one more step would add less than ``tol`` to the log-likelihood.
        """
        problem = _Problem(self._labelled(labelled, weight), self.ridge, tol)
        start = np.array(start, dtype=np.float64)
        # There may be several maxima: steps follow the curvature closely, so as not to skip one.
        found = climb(problem, start, max_iter=max_iter, max_step=MAX_STEP, refresh=0.0)
        return JointFit(found.theta, -found.value, found.converged, found.passes)

    def naive(self, labelled, weight=None) -> np.ndarray:
        """Logistic regression of the labels: the class model of SCAR's starts."""
        rows = RowBlocks(self._X[:, :-1])
        return fit_logistic(rows, labelled.astype(float), weight, self._C, tol=1e-3).theta

    def start(self, naive: np.ndarray, label_frequency: float, labelled, weight=None):
        """The naive model with as many positives as a label frequency says."""
        share = float(np.average(labelled, weights=weight))
        prior = min(share / label_frequency, 0.95)
        parameters = np.zeros(len(self.ridge))
        parameters[: self.n_theta] = naive
        parameters[self.n_theta - 1] += shift_for_mean(
            mean_of_sigmoids(self._X @ naive, weight), prior, tol=1e-4, max_iter=30
        )
        parameters[-1] = logit(min(max(label_frequency, 1e-6), 1 - 1e-6))
        return parameters

    def fit(self, labelled, weight=None, *, starts=()) -> JointFit:
        """The best maximum from several label frequencies, and from further ``starts``."""
        naive = self.naive(labelled, weight)
        points = [self.start(naive, c, labelled, weight) for c in STARTS]
        found = [self.climb(point, labelled, weight) for point in (*points, *starts)]
        return max(found, key=lambda fit: fit.value)


class _Problem:
    """The penalised loss of one set of labels, to climb."""

    def __init__(self, rows: Rows, ridge: np.ndarray, tol: float):
        self._rows, self._ridge, self.tol = rows, ridge, tol

    def passes(self, points: Iterable[np.ndarray], with_hessian: bool) -> Iterator[Iterate]:
        requests = ((point, with_hessian) for point in points)
        for (point, _), sums in self._rows.totals(joint_pass, requests):
            value = sums.loss + float(self._ridge @ point**2) / 2
            yield Iterate(point, value, sums.gradient + self._ridge * point, sums, with_hessian)

    def curvature(self, iterate: Iterate) -> Curvature:
        return Curvature(iterate.sums.hessian, self._ridge)


def climb_nested(model: JointLogistic, start, labelled, weight=None, *, tol=1e-7) -> JointFit:
    """The maximum of a model that has more propensity columns than the one ``start`` is from.

    At ``e = 1`` nothing moves: the likelihood's slope in the propensity is proportional to
    ``1 - e``. So where the smaller model says that (nearly) every positive is labelled, the
    climb also starts from a lower label frequency.
    """
    best = model.climb(start, labelled, weight, tol=tol)
    f, e = model.probabilities(start)
    if np.average(e, weights=f if weight is None else f * weight) > SATURATED:
        low = model.start(start[: model.n_theta], LOWERED, labelled, weight)
        best = max(best, model.climb(low, labelled, weight, tol=tol), key=lambda fit: fit.value)
    return best


def nest(parameters, n_theta: int, old: list[int], new: list[int]) -> np.ndarray:
    """Parameters of a model with propensity columns ``old`` in one with ``new``: zeros added."""
    out = np.zeros(n_theta + len(new) + 1)
    out[:n_theta] = parameters[:n_theta]
    out[-1] = parameters[-1]
    for j, column in enumerate(old):
        if column in new:
            out[n_theta + new.index(column)] = parameters[n_theta + j]
    return out


def _hessian(X, Xe, tt, te, ee) -> np.ndarray:
    """Of both models: ``X' diag(tt) X`` and so on."""
    across = _products(X, te, Xe)
    return np.block([[_products(X, tt, X), across], [across.T, _products(Xe, ee, Xe)]])


def _products(left, h: np.ndarray, right) -> np.ndarray:
    """``left' diag(h) right`` for weights of any sign."""
    if not sparse.issparse(right):
        return left.T @ (right * h[:, None])
    data = right.data * np.repeat(h, np.diff(right.indptr))
    weighted = sparse.csr_array((data, right.indices, right.indptr), shape=right.shape)
    return (left.T @ weighted).toarray()


def _with_plain(units: Units, n_more: int) -> Units:
    """Units of the same columns and of some more, to which nothing was done."""
    rescaled = None if units.rescaled is None else np.append(units.rescaled, np.zeros(n_more, bool))
    center, scale = (
        np.append(units.center, np.zeros(n_more)),
        np.append(units.scale, np.ones(n_more)),
    )
    return Units(center, scale, rescaled)


def _append(X, columns):
    if sparse.issparse(X):
        return sparse.csr_array(sparse.hstack([X, sparse.csr_array(columns)], format="csr"))
    return np.hstack([X, columns])
