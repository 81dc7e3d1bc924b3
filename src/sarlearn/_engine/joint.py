"""Two logistic models at once, by penalised maximum likelihood: what tests and intervals refit.

    P(s=1|x) = f e,   f = sigmoid(theta . x + theta_0),   e = sigmoid(phi . x_e + phi_0)

The maximum is that of SAR-EM with ``decay=1``. Newton's method reaches it in a handful of passes
from a good start, which EM does not: on 5,000 x 20 a refit took 5 passes instead of 60. Parameters
are kept as one vector: theta, theta_0, phi, phi_0.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.special import logit

from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.logistic import Curvature, Sums, fit_logistic, ridge_of

# Label frequencies from which a fit starts that has nothing better.
STARTS = (0.15, 0.3, 0.6, 0.9)
# Label frequencies above which a nested climb starts again lower, and from where.
SATURATED, LOWERED = 0.9, 0.3
# With more columns than this a Hessian each step costs more than it saves.
NEWTON_COLUMNS = 64
# Steps after which the curvature of many columns is computed anew.
RENEWAL = 25
# Share of EM's curvature that a step must meet to teach anything.
LEAST_SHARE = 0.01
# Negative or vanishing curvature counts as this, where the diagonal is near one.
LEAST_CURVATURE = 1e-3
_LIMIT = 36.0  # logits beyond it are 0 or 1 in double precision


@dataclass
class _Sums(Sums):
    log_likelihood: float
    gradient: np.ndarray
    complete: np.ndarray | None = None
    observed: np.ndarray | None = None


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
        if extra is not None:
            X = _append(X, extra)
        Xe = X[:, columns]
        Xe = Xe.toarray() if sparse.issparse(Xe) else np.asarray(Xe)
        ones = np.ones((self.n_rows, 1))
        self._Xe = np.hstack([Xe, ones])
        #: ``[X 1]`` and ``[X_e 1]``.
        self.design = _append(X, ones), self._Xe
        self._blocks, self._plain = RowBlocks(self.design[0]), RowBlocks(X)
        self.n_theta = X.shape[1] + 1
        ridge = ridge_of(C, X.shape[1], float(self.n_rows))
        ridge[self.n_columns : -1] = 1e-6
        self.ridge = np.append(ridge, ridge_of(propensity_C, len(columns), float(self.n_rows)))

    # -- the likelihood ----------------------------------------------------------------------

    def probabilities(self, parameters) -> tuple[np.ndarray, np.ndarray]:
        """``f`` and ``e`` of every row."""
        eta = self._blocks.matvec(parameters[: self.n_theta])
        return sigmoids(eta)[0], sigmoids(self._Xe @ parameters[self.n_theta :])[0]

    def class_prior(self, parameters, weight=None) -> float:
        return float(np.average(self.probabilities(parameters)[0], weights=weight))

    def value(self, parameters, labelled, weight=None) -> float:
        """The penalised log-likelihood."""
        sums = self._sums(parameters, labelled, weight, ())
        return sums.log_likelihood - self._penalty(parameters)

    def log_likelihood(self, parameters, labelled, weight=None) -> float:
        return self._sums(parameters, labelled, weight, ()).log_likelihood

    def information(self, parameters, labelled, weight=None, *, penalised=True) -> np.ndarray:
        """Observed information: minus the second derivatives."""
        found = self._sums(parameters, labelled, weight, ("observed",)).observed
        assert found is not None
        if penalised:
            found.flat[:: len(found) + 1] += self.ridge
        return found

    def scores(self, parameters, labelled) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of each row's log-likelihood by its two logits."""
        f, e = self.probabilities(parameters)
        odds = f * e / ((1 - f) + f * (1 - e))
        push = np.where(labelled, 1.0, -odds)
        return push * (1 - f), push * (1 - e)

    def times_rows(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``[X 1]' r`` and ``[X_e 1]' r``."""
        return self._blocks.sum(lambda X, rows: X.T @ r[rows]), self._Xe.T @ r

    def along(self, direction, by_f: np.ndarray, by_e: np.ndarray) -> np.ndarray:
        """Each row's derivative along a direction of parameters, from those by its logits."""
        on_f = self._blocks.matvec(direction[: self.n_theta])
        return by_f * on_f + by_e * (self._Xe @ direction[self.n_theta :])

    def _penalty(self, parameters) -> float:
        return float(self.ridge @ parameters**2) / 2

    def _sums(self, parameters, labelled, weight, wanted) -> _Sums:
        theta, phi = parameters[: self.n_theta], parameters[self.n_theta :]

        def block(X, rows):
            s, Xe = labelled[rows], self._Xe[rows]
            f, not_f = sigmoids(X @ theta)
            e, not_e = sigmoids(Xe @ phi)
            P, unlabelled = f * e, not_f + f * not_e
            odds = P / unlabelled
            log_likelihood = np.log(np.where(s, P, unlabelled))
            push = np.where(s, 1.0, -odds)
            w = None if weight is None else weight[rows]
            if w is not None:
                log_likelihood *= w
                push *= w
            gradient = np.concatenate([X.T @ (push * not_f), Xe.T @ (push * not_e)])
            sums = _Sums(float(log_likelihood.sum()), gradient)
            if "complete" in wanted:
                q = np.where(s, 1.0, f * not_e / unlabelled)
                tt, ee = f * not_f, q * e * not_e
                if w is not None:
                    tt, ee = tt * w, ee * w
                sums.complete = _curvature(X, Xe, tt, None, ee)
            if "observed" in wanted:
                # -log(f e) where labelled, -log(1 - f e) elsewhere, twice by the logits.
                both = np.where(s, 0.0, odds * (1 + odds) * not_f * not_e)
                tt = np.where(s, f * not_f, odds * not_f * (not_f * (1 + odds) - f))
                ee = np.where(s, e * not_e, odds * not_e * (not_e * (1 + odds) - e))
                if w is not None:
                    both, tt, ee = both * w, tt * w, ee * w
                sums.observed = _curvature(X, Xe, tt, both, ee)
            return sums

        return self._blocks.sum(block)

    # -- its maximum -------------------------------------------------------------------------

    def climb(
        self, start, labelled, weight=None, *, tol: float = 1e-7, max_iter: int = 200
    ) -> JointFit:
        """The maximum next to a start.

        Few columns: Newton's method, which turns negative curvature round. Many: EM's curvature,
        renewed now and then, mended by what the steps teach (BFGS); on 4,300 x 200 twenty times
        faster. Ends when one more step would add less than ``tol`` to the log-likelihood.
        """
        newton = self.n_theta <= NEWTON_COLUMNS
        wanted = ("observed",) if newton else ()
        parameters = np.array(start, dtype=np.float64)
        sums = self._sums(parameters, labelled, weight, wanted)
        value = sums.log_likelihood - self._penalty(parameters)
        taught = _Taught()
        for iteration in range(max_iter):
            gradient = sums.gradient - self.ridge * parameters
            if newton:
                step = self._newton_step(sums.observed, gradient)
            else:
                if taught.age % RENEWAL == 0:
                    taught = _Taught(self._complete(parameters, labelled, weight), self.ridge)
                step = taught.solve(gradient)
            promise = float(gradient @ step)
            if promise < tol:
                return JointFit(parameters, value, True, iteration)
            size = min(1.0, 10.0 / float(np.abs(step).max()))
            while size > 1e-8:
                trial = parameters + size * step
                trial_sums = self._sums(trial, labelled, weight, wanted)
                trial_value = trial_sums.log_likelihood - self._penalty(trial)
                if trial_value >= value + 1e-4 * size * promise:
                    break
                size /= 2
            else:
                if taught.age:  # what the steps taught misleads: EM's curvature alone
                    taught = _Taught()
                    continue
                # Rounding: no step gains anything.
                return JointFit(parameters, value, promise < 1e-3, iteration)
            if not newton:
                change = sums.gradient - trial_sums.gradient + self.ridge * size * step
                taught.learn(size * step, change)
            parameters, value, sums = trial, trial_value, trial_sums
        return JointFit(parameters, value, False, max_iter)

    def _complete(self, parameters, labelled, weight) -> np.ndarray:
        """The curvature EM would use, as if the classes were known: never less than the true."""
        found = self._sums(parameters, labelled, weight, ("complete",)).complete
        assert found is not None
        return found

    def _newton_step(self, curvature, gradient) -> np.ndarray:
        """Newton's step; where the curvature is negative, away from the saddle instead of to it.

        Curvature by its absolute value (Dauphin et al., 2014): EM's, which is always positive,
        took up to 200 steps where this takes ten.
        """
        H = curvature.copy()
        H.flat[:: len(H) + 1] += self.ridge
        # Brought to a diagonal near ones: columns may differ by orders of magnitude.
        scale = 1.0 / np.sqrt(np.maximum(np.abs(H.diagonal()), 1e-12))
        H *= scale
        H *= scale[:, None]
        lower, failed = dpotrf(H, lower=1, clean=0)
        if not failed:
            return scale * dpotrs(lower, scale * gradient, lower=1)[0]
        values, vectors = np.linalg.eigh(H)
        return scale * (
            vectors
            @ ((vectors.T @ (scale * gradient)) / np.maximum(np.abs(values), LEAST_CURVATURE))
        )

    def naive(self, labelled, weight=None) -> np.ndarray:
        """Logistic regression of the labels: the class model of SCAR's starts."""
        C = 1 / self.ridge[0]
        return fit_logistic(self._plain, labelled.astype(float), weight, C, tol=1e-3).theta

    def start(self, naive: np.ndarray, label_frequency: float, labelled, weight=None):
        """The naive model with as many positives as a label frequency says."""
        share = float(np.average(labelled, weights=weight))
        prior = min(share / label_frequency, 0.95)
        parameters = np.zeros(len(self.ridge))
        parameters[: self.n_theta] = naive
        eta = self._blocks.matvec(naive)
        shift = 0.0
        for _ in range(30):  # Newton for the intercept that gives this prior
            f, not_f = sigmoids(eta + shift)
            slope = float(np.average(f * not_f, weights=weight))
            move = (prior - float(np.average(f, weights=weight))) / max(slope, 1e-3)
            shift += float(np.clip(move, -2, 2))
            if abs(move) < 1e-3:
                break
        parameters[self.n_theta - 1] += shift
        parameters[-1] = logit(min(max(label_frequency, 1e-6), 1 - 1e-6))
        return parameters

    def fit(self, labelled, weight=None, *, starts=()) -> JointFit:
        """The best maximum from several label frequencies, and from further ``starts``."""
        naive = self.naive(labelled, weight)
        points = [self.start(naive, c, labelled, weight) for c in STARTS]
        found = [self.climb(point, labelled, weight) for point in (*points, *starts)]
        return max(found, key=lambda fit: fit.value)


class _Taught:
    """EM's curvature, mended by what steps teach (BFGS).

    A step along which the likelihood hardly curves teaches nothing: its share of EM's curvature,
    which is at least the true one, would be next to none and the next step boundless. With such
    steps 8 of 10 climbs from e = 1 broke off below their maximum.
    """

    def __init__(self, complete: np.ndarray | None = None, ridge: np.ndarray | None = None):
        self.age = 0
        if complete is not None and ridge is not None:
            self._complete = complete + np.diag(ridge)
            self._curvature = Curvature(complete, np.maximum(ridge, 1e-8))

    def solve(self, gradient: np.ndarray) -> np.ndarray:
        return self._curvature.solve(gradient)

    def learn(self, step: np.ndarray, change: np.ndarray) -> None:
        self.age += 1
        if step @ change > LEAST_SHARE * float(step @ self._complete @ step):
            self._curvature.learn(step, change)


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


def sigmoids(eta) -> tuple[np.ndarray, np.ndarray]:
    """``sigmoid(eta)`` and ``sigmoid(-eta)``, neither by a difference."""
    E = np.exp(-np.clip(eta, -_LIMIT, _LIMIT))
    f = 1.0 / (1.0 + E)
    return f, E * f


def _curvature(X, Xe, tt, te, ee) -> np.ndarray:
    n_theta = X.shape[1]
    out = np.empty((n_theta + Xe.shape[1],) * 2)
    product = X.T @ _scaled(X, tt)
    out[:n_theta, :n_theta] = product.toarray() if sparse.issparse(product) else product
    out[n_theta:, n_theta:] = Xe.T @ (Xe * ee[:, None])
    cross = X.T @ (Xe * te[:, None]) if te is not None else np.zeros((n_theta, Xe.shape[1]))
    out[:n_theta, n_theta:], out[n_theta:, :n_theta] = cross, cross.T
    return out


def _scaled(X, h):
    if not sparse.issparse(X):
        return X * h[:, None]
    data = X.data * np.repeat(h, np.diff(X.indptr))
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


def _append(X, columns):
    if sparse.issparse(X):
        return sparse.csr_array(sparse.hstack([X, sparse.csr_array(columns)], format="csr"))
    return np.hstack([X, columns])
