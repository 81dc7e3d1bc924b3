"""Logistic regression with fractional targets: statistics of a row block, and Newton's method.

The loss of a row with logit ``eta`` and target ``t`` is ``log(1 + exp(eta)) - t * eta``: for
``t`` in [0, 1] the cross-entropy. Storing a row twice, with weights ``t`` and ``1 - t``, gives
the same loss; no row is stored twice here. The objective is

    sum_i w_i loss_i + |coef|^2 / (2 C)

with an intercept that is not penalised. A parameter vector holds the coefficients, then the
intercept.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from scipy.sparse.linalg import LinearOperator, cg

from sarlearn._blocks import RowBlocks, gram, gram_diagonal

# With more columns than this a Cholesky factor costs more than the products CG needs.
DENSE_COLUMNS = 3000
# Starting a large fit on a twentieth of its rows saves most Newton steps on the whole.
SUBSAMPLE_ROWS = 20_000
SECANT_PAIRS = 5


class Sums:
    """Statistics that add up over row blocks: every field that is set is added in place."""

    def __iadd__(self, other):
        for name, value in vars(other).items():
            if value is not None:
                setattr(self, name, getattr(self, name) + value)
        return self


@dataclass
class LogisticSums(Sums):
    """Value, gradient and Hessian of the loss over some rows (without the penalty)."""

    value: float
    gradient: np.ndarray
    hessian: np.ndarray | None = None
    bent = False  # whether the pass has seen to the curvature


def with_intercept(X, r: np.ndarray) -> np.ndarray:
    """``[X 1]' r``: the gradient of the loss for row residuals ``r``."""
    out = np.empty(X.shape[1] + 1)
    out[:-1] = X.T @ r
    out[-1] = r.sum()
    return out


def hessian(X, h: np.ndarray) -> np.ndarray:
    """``[X 1]' diag(h) [X 1]``."""
    p = X.shape[1]
    out = np.empty((p + 1, p + 1))
    out[:p, :p] = gram(X, h)
    out[p, :p] = out[:p, p] = X.T @ h
    out[p, p] = h.sum()
    return out


def ridge_of(C: float, n_columns: int, total_weight: float) -> np.ndarray:
    """Strength of the penalty ``ridge @ theta**2 / 2`` on each parameter.

    The intercept is free but for 1e-10 a row: far below any tolerance, and enough to keep the
    optimum finite where every target is 1.
    """
    return np.append(np.full(n_columns, 1.0 / C), 1e-10 * total_weight)


class _Secant:
    """An inverse Hessian of some point, kept good by what later steps taught (BFGS updates).

    A step and the change of the gradient it made say how the Hessian has moved along it. EM
    walks the same way for long, so a handful of them replaces most new Hessians: on 3,000 x 6,
    4 to 9 in 65 iterations where 20 were needed without.
    """

    def __init__(self) -> None:
        self._pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=SECANT_PAIRS)

    def learn(self, step: np.ndarray, change: np.ndarray) -> None:
        """Take in that ``step`` changed the gradient by ``change``."""
        curve = float(step @ change)
        if curve > 1e-10 * np.sqrt((step @ step) * (change @ change)):
            self._pairs.append((step, change, 1.0 / curve))

    def solve(self, gradient: np.ndarray) -> np.ndarray:
        """The Newton direction, up to its sign."""
        if not self._pairs:
            return self._solve(gradient)
        rest, shares = gradient.copy(), []
        for step, change, scale in reversed(self._pairs):
            shares.append(scale * float(step @ rest))
            rest -= shares[-1] * change
        x = self._solve(rest)
        for (step, change, scale), share in zip(self._pairs, reversed(shares), strict=True):
            x += (share - scale * float(change @ x)) * step
        return x

    def norm(self, gradient: np.ndarray) -> float:
        """The Newton decrement: the size of a gradient, whatever the columns' scale."""
        white = self.whiten(gradient)
        return float(np.sqrt(white @ white))

    def whiten(self, gradient: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _solve(self, gradient: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class Curvature(_Secant):
    """The penalised Hessian at some point, factorised."""

    def __init__(self, hessian: np.ndarray, ridge: np.ndarray):
        super().__init__()
        H = hessian.copy()
        H.flat[:: len(H) + 1] += ridge
        # Brought to a diagonal of ones first: columns may differ by many orders of magnitude.
        self._scale = 1.0 / np.sqrt(H.diagonal())
        if not self._scale.min() > 0:
            raise ValueError(
                "The data are too large to compute with: the sum of squares of a column is not "
                "finite. Scale the columns of X."
            )
        H *= self._scale
        H *= self._scale[:, None]
        # LAPACK directly: SciPy's wrappers took a third of the time of a small fit.
        self._lower, failed = dpotrf(H, lower=1, clean=0)
        jitter = 1e-14
        while failed:  # rounding has made the smallest eigenvalue negative
            jitter *= 10
            H.flat[:: len(H) + 1] = 1.0 + jitter
            self._lower, failed = dpotrf(H, lower=1, clean=0)

    def _solve(self, gradient: np.ndarray) -> np.ndarray:
        return self._scale * dpotrs(self._lower, self._scale * gradient, lower=1)[0]

    def whiten(self, gradient: np.ndarray) -> np.ndarray:
        """``L^-1 gradient`` for the Cholesky factor L."""
        return dtrtrs(self._lower, self._scale * gradient, lower=1)[0]


class WideCurvature(_Secant):
    """The penalised Hessian of many columns, known by its products; solved by PCG.

    ``h`` is the curvature of each row. The preconditioner is the diagonal.
    """

    def __init__(self, blocks: RowBlocks, h: np.ndarray, ridge: np.ndarray, rtol: float = 0.1):
        super().__init__()
        self._blocks, self._h, self._ridge, self._rtol = blocks, h, ridge, rtol
        diagonal = blocks.sum(lambda X, rows: np.append(gram_diagonal(X, h[rows]), h[rows].sum()))
        self._diagonal = diagonal + self._ridge

    def product(self, v: np.ndarray) -> np.ndarray:
        def block(X, rows):
            return with_intercept(X, self._h[rows] * (X @ v[:-1] + v[-1]))

        return self._blocks.sum(block) + self._ridge * v

    def _solve(self, gradient: np.ndarray) -> np.ndarray:
        n = len(gradient)
        root = np.sqrt(self._diagonal)
        # Solved for root * x, where the diagonal is 1 and |residual| is the norm used below.
        scaled = LinearOperator((n, n), matvec=lambda v: self.product(v / root) / root)
        x, _ = cg(scaled, gradient / root, rtol=self._rtol, maxiter=500)
        return x / root

    def whiten(self, gradient: np.ndarray) -> np.ndarray:
        return gradient / np.sqrt(self._diagonal)


@dataclass
class LogisticFit:
    """``theta`` (coefficients, then intercept), Newton steps taken, and whether they converged.

    ``curvature`` is the last one used; it does not depend on the targets and serves another fit.
    """

    theta: np.ndarray
    n_iter: int
    converged: bool
    curvature: Curvature | WideCurvature


def fit_logistic(
    blocks: RowBlocks,
    target: np.ndarray,
    weight: np.ndarray | None,
    C: float,
    *,
    start: np.ndarray | None = None,
    curvature: Curvature | WideCurvature | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> LogisticFit:
    """Minimise the penalised loss by damped Newton steps.

    Stops when the Newton decrement, the root mean square change of the logits that one more step
    would make (weighted by ``f (1 - f)``), is below ``tol``; that step is still taken. ``start``
    and ``curvature`` may come from another fit.
    """
    p = blocks.shape[1]
    if start is None:
        start = np.zeros(p + 1)
        part = blocks.part(SUBSAMPLE_ROWS)
        if part is not None:
            start = fit_logistic(part, target, weight, C, start=start, tol=1e-2).theta
    theta = start
    total = float(blocks.sum(lambda X, rows: _weight_of(weight, rows)))
    ridge = ridge_of(C, p, total)
    row_curvature = np.empty(blocks.n_total) if p > DENSE_COLUMNS else None
    sums = _evaluate(blocks, target, weight, theta, curvature is None, row_curvature)
    value, gradient = sums.value + ridge @ theta**2 / 2, sums.gradient + ridge * theta
    renew = True
    for iteration in range(max_iter):
        if curvature is None or sums.bent:
            curvature = _curvature(blocks, sums, row_curvature, ridge)
        step = -curvature.solve(gradient)
        slope = float(gradient @ step)
        done = -slope <= tol**2 * total
        # Below this a decrease drowns in the rounding of the sum.
        noise = 1e-14 * abs(value)
        size = 1.0
        while True:
            trial = theta + size * step
            sums = _evaluate(blocks, target, weight, trial, renew and not done, row_curvature)
            trial_value = sums.value + ridge @ trial**2 / 2
            if trial_value <= value + 1e-4 * size * slope + noise or size < 1e-10:
                break
            size /= 2
        if trial_value > value + noise:  # no step of any size helps: rounding is all that is left
            return LogisticFit(theta, iteration + 1, done, curvature)
        found, gradient = gradient, sums.gradient + ridge * trial
        # A step that left a tenth of the gradient or more calls for a new Hessian in the next
        # pass; otherwise the old one, and what the step taught, will do.
        renew = curvature.norm(gradient) > 0.1 * curvature.norm(found)
        curvature.learn(trial - theta, gradient - found)
        theta, value = trial, trial_value
        if done or size < 1e-10:
            return LogisticFit(theta, iteration + 1, done, curvature)
    assert curvature is not None
    return LogisticFit(theta, max_iter, False, curvature)


def _curvature(blocks, sums, row_curvature, ridge) -> Curvature | WideCurvature:
    if row_curvature is None:
        return Curvature(sums.hessian, ridge)
    return WideCurvature(blocks, row_curvature.copy(), ridge)


def _evaluate(blocks, target, weight, theta, bend: bool, row_curvature=None) -> LogisticSums:
    """Value and gradient; with ``bend`` the Hessian, or where wide the curvature of each row."""

    def block(X, rows):
        eta = X @ theta[:-1] + theta[-1]
        t = target[rows]
        small = np.exp(-np.abs(eta))
        loss = np.maximum(eta, 0.0) + np.log1p(small) - t * eta
        minor = small / (1.0 + small)  # the smaller of f and 1 - f
        r = np.where(eta >= 0, (1.0 - t) - minor, minor - t)  # f - t without cancellation
        if weight is not None:
            loss *= weight[rows]
            r *= weight[rows]
        sums = LogisticSums(float(loss.sum()), with_intercept(X, r))
        if bend:
            h = minor / (1.0 + small)
            if weight is not None:
                h *= weight[rows]
            if row_curvature is None:
                sums.hessian = hessian(X, h)
            else:
                row_curvature[rows] = h
        return sums

    sums = blocks.sum(block)
    sums.bent = bend
    return sums


def _weight_of(weight, rows: slice) -> float:
    return float(rows.stop - rows.start) if weight is None else float(weight[rows].sum())
