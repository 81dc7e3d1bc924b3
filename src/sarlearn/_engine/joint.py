"""Two logistic models at once, by penalised maximum likelihood: what tests and intervals refit.

    P(s=1|x) = f e,   f = sigmoid(theta . x + theta_0),   e = sigmoid(phi . x_e + phi_0)

This is one chance to be labelled per row (``chances.py``). The maximum is that of SAR-EM with
``decay=1``. Newton's method reaches it in a handful of passes from a good start, which EM does not.
Parameters are kept as one vector: theta, theta_0, phi, phi_0, for columns as
``columns.conditioned`` makes them; ``to_user`` converts.
"""

from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from scipy import sparse
from scipy.special import logit

from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.chances import ChanceProblem
from sarlearn._engine.columns import conditioned
from sarlearn._engine.kernels import logits
from sarlearn._engine.likelihood import (
    mean_of_sigmoids,
    shift_for_mean,
    sigmoids,
)
from sarlearn._engine.logistic import fit_logistic
from sarlearn._engine.newton import climb
from sarlearn._engine.rows import Rows, Units, stack

# Label frequencies from which a fit starts that has nothing better.
STARTS = (0.15, 0.3, 0.6, 0.9)
# Label frequencies above which a nested climb starts again lower, and from where.
SATURATED, LOWERED = 0.9, 0.3
# No parameter moves by more than this in a step.
MAX_STEP = 10.0


@dataclass
class JointFit:
    """A maximum: parameters, value of the penalised log-likelihood, and whether it was reached."""

    parameters: np.ndarray
    value: float
    converged: bool
    n_iter: int


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
        self._X, self._Xe = X, Xe
        self._rows = RowBlocks(X).attach(chances=Xe[:, None, :])
        self.n_theta = X.shape[1] + 1
        self._C, self._units = C, (units, units_e)
        ridge = units.ridge(C, float(self.n_rows))
        ridge[self.n_columns : -1] = 1e-6
        self.ridge = np.append(ridge, units_e.ridge(propensity_C, float(self.n_rows)))

    def to_user(self, parameters) -> np.ndarray:
        """Parameters for the columns as they were given."""
        parts = zip(self._units, np.split(parameters, [self.n_theta]), strict=True)
        return np.concatenate([units.to_user(part) for units, part in parts])

    def _labelled(self, labelled, weight) -> Rows:
        visits = np.asarray(labelled, dtype=np.float64)[:, None]
        return self._rows.attach(visits=visits, weight=weight)

    # -- the likelihood ----------------------------------------------------------------------

    def probabilities(self, parameters) -> tuple[np.ndarray, np.ndarray]:
        """``f`` and ``e`` of every row."""
        theta, phi = np.split(parameters, [self.n_theta])
        return sigmoids(logits(self._X, theta))[0], sigmoids(logits(self._Xe, phi))[0]

    def class_prior(self, parameters, weight=None) -> float:
        return float(np.average(self.probabilities(parameters)[0], weights=weight))

    # -- its maximum -------------------------------------------------------------------------

    def climb(
        self, start, labelled, weight=None, *, tol: float = 1e-7, max_iter: int = 200
    ) -> JointFit:
        """The maximum next to a start.

        Ends when one more step would add less than ``tol`` to the log-likelihood.
        """
        problem = ChanceProblem(self._labelled(labelled, weight), self.ridge, tol)
        start = np.array(start, dtype=np.float64)
        # There may be several maxima: steps follow the curvature closely, so as not to skip one.
        found = climb(problem, start, max_iter=max_iter, max_step=MAX_STEP, refresh=0.0)
        return JointFit(found.theta, -found.value, found.converged, found.passes)

    def naive(self, labelled, weight=None) -> np.ndarray:
        """Logistic regression of the labels: the class model of SCAR's starts."""
        return fit_logistic(self._rows, labelled.astype(float), weight, self._C, tol=1e-3).theta

    def start(self, naive: np.ndarray, label_frequency: float, labelled, weight=None):
        """The naive model with as many positives as a label frequency says."""
        share = float(np.average(labelled, weights=weight))
        prior = min(share / label_frequency, 0.95)
        parameters = np.zeros(len(self.ridge))
        parameters[: self.n_theta] = naive
        parameters[self.n_theta - 1] += shift_for_mean(
            mean_of_sigmoids(logits(self._X, naive), weight), prior, tol=1e-4, max_iter=30
        )
        parameters[-1] = logit(min(max(label_frequency, 1e-6), 1 - 1e-6))
        return parameters

    def fit(self, labelled, weight=None, *, starts=()) -> JointFit:
        """The best maximum from several label frequencies, and from further ``starts``."""
        naive = self.naive(labelled, weight)
        points = [self.start(naive, c, labelled, weight) for c in STARTS]
        found = [self.climb(point, labelled, weight) for point in (*points, *starts)]
        return max(found, key=lambda fit: fit.value)


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
