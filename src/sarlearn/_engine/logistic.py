"""Logistic regression with fractional targets: statistics of a row block, and Newton's method.

The loss of a row with logit ``eta`` and target ``t`` is ``log(1 + exp(eta)) - t * eta``: for
``t`` in [0, 1] the cross-entropy. Storing a row twice, with weights ``t`` and ``1 - t``, gives
the same loss; no row is stored twice here. The objective is

    sum_i w_i loss_i + |coef|^2 / (2 C)

with an intercept that is not penalised. A parameter vector holds the coefficients, then the
intercept.
"""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from scipy.sparse.linalg import LinearOperator, cg

from sarlearn._engine.blocks import Block, RowBlocks
from sarlearn._engine.kernels import (
    gram_diagonal,
    hessian,
    hessian_product,
    logistic_terms,
    logits,
    with_intercept,
)

# With more columns than this a Cholesky factor costs more than the products CG needs.
DENSE_COLUMNS = 3000
# Starting a large fit on a twentieth of its rows saves most Newton steps on the whole.
SUBSAMPLE_ROWS = 20_000
SECANT_PAIRS = 5
# Sizes of a step, tried one after the other.
HALVINGS = [2.0**-k for k in range(35)]


class Sums:
    """Statistics that add up over row blocks: every field that is set is added in place."""

    def __iadd__(self, other):
        for name, value in vars(other).items():
            if value is not None:
                setattr(self, name, getattr(self, name) + value)
        return self


@dataclass
class LogisticSums(Sums):
    """Value, gradient and Hessian of the loss over some rows (without the penalty); their weight.

    With the weight here a fit needs no pass of its own for it: rows that are read anew each time
    cost the same for a count as for a Hessian.
    """

    value: float
    gradient: np.ndarray
    hessian: np.ndarray | None = None
    weight: float = 0.0


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
        return math.sqrt(white @ white)

    def whiten(self, gradient: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _solve(self, gradient: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class Curvature(_Secant):
    """The penalised Hessian at some point, factorised."""

    def __init__(self, hessian: np.ndarray, ridge: np.ndarray):
        super().__init__()
        self._lower = cholesky(hessian, ridge)

    def _solve(self, gradient: np.ndarray) -> np.ndarray:
        return dpotrs(self._lower, gradient, lower=1)[0]

    def whiten(self, gradient: np.ndarray) -> np.ndarray:
        """``L^-1 gradient`` for the Cholesky factor L."""
        return dtrtrs(self._lower, gradient, lower=1)[0]


def cholesky(hessian: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """The factor of ``hessian + diag(ridge)``, with a trifle more on the diagonal where it must be.

    Columns may differ by many orders of magnitude: the factor's digits do not depend on their
    scales (Demmel, 1989). LAPACK directly: SciPy's wrappers took a third of a small fit's time.
    """
    jitter = 0.0
    while True:
        H = hessian.copy()
        diagonal = H.ravel()[:: len(H) + 1]
        diagonal += ridge
        diagonal *= 1.0 + jitter
        if not math.isfinite(diagonal.sum()):
            raise ValueError(
                "The data are too large to compute with: the sum of squares of a column is not "
                "finite. Scale the columns of X."
            )
        lower, failed = dpotrf(H.T, lower=1, clean=0, overwrite_a=1)  # symmetric: in place
        if not failed:
            return lower
        jitter = max(10 * jitter, 1e-13)  # rounding has made the smallest eigenvalue negative


class WideCurvature(_Secant):
    """The penalised Hessian of many columns, known by its products; solved by PCG.

    ``h`` is the curvature of each row, as an array or as a function of a block. The
    preconditioner is the diagonal, of the absolute values.
    """

    def __init__(
        self, blocks: RowBlocks, h: np.ndarray | Callable, ridge: np.ndarray, rtol: float = 0.1
    ):
        super().__init__()
        if not callable(h):
            blocks, h = blocks.attach(h=h), attrgetter("h")
        self._blocks, self._h, self._ridge, self._rtol = blocks, h, ridge, rtol
        self.diagonal = blocks.total(_diagonal, h) + self._ridge

    def product(self, v: np.ndarray) -> np.ndarray:
        return self._blocks.total(row_product, self._h, v) + self._ridge * v

    def _solve(self, gradient: np.ndarray) -> np.ndarray:
        n = len(gradient)
        root = np.sqrt(self.diagonal)
        # Solved for root * x, where the diagonal is 1 and |residual| is the norm used below.
        scaled = LinearOperator((n, n), matvec=lambda v: self.product(v / root) / root)
        x, _ = cg(scaled, gradient / root, rtol=self._rtol, maxiter=500)
        return x / root

    def whiten(self, gradient: np.ndarray) -> np.ndarray:
        return gradient / np.sqrt(self.diagonal)


def _diagonal(block: Block, curvature) -> np.ndarray:
    h = np.abs(curvature(block))
    return np.append(gram_diagonal(block.X, h), h.sum())


def row_product(block: Block, curvature, v: np.ndarray) -> np.ndarray:
    return hessian_product(block.X_for_kernels, curvature(block), v)


class RowCurvature:
    """``w f (1 - f)`` of each row of a block: kept by the pass at ``theta``, or made again."""

    def __init__(self, theta: np.ndarray):
        self.theta = theta
        self._key: Any = theta.tobytes()

    def keep(self, block: Block, h: np.ndarray) -> None:
        block.kept["curvature"] = self._key, h

    def __call__(self, block: Block) -> np.ndarray:
        return block.remember("curvature", self._key, lambda: self._of(block))

    def _of(self, block: Block) -> np.ndarray:
        small = np.exp(-np.abs(logits(block.X, self.theta)))
        h = small / (1.0 + small) ** 2
        return h if block.weight is None else h * block.weight


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
    target: np.ndarray | Callable,
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
    and ``curvature`` may come from another fit. ``target`` is an array, or a function that gives
    the targets of a block; ``weight`` None means the blocks' own.
    """
    p = blocks.shape[1]
    if not callable(target):
        blocks, target = blocks.attach(target=target), attrgetter("target")
    blocks = blocks.attach(weight=weight)
    if start is None:
        start = np.zeros(p + 1)
        part = blocks.part(SUBSAMPLE_ROWS)
        if part is not None:
            start = fit_logistic(part, target, None, C, start=start, tol=1e-2).theta
    theta = start
    wide = p > DENSE_COLUMNS
    bent = curvature is None
    sums = blocks.total(logistic_pass, target, theta, bent, wide)
    total = sums.weight
    ridge = ridge_of(C, p, total)
    value, gradient = sums.value + ridge @ theta**2 / 2, sums.gradient + ridge * theta
    renew = True
    for iteration in range(max_iter):
        if bent or curvature is None:
            curvature = curvature_at(blocks, RowCurvature(theta), sums.hessian, ridge)
        step = -curvature.solve(gradient)
        slope = float(gradient @ step)
        done = -slope <= tol**2 * total
        # Below this a decrease drowns in the rounding of the sum.
        noise = 1e-14 * abs(value)
        bent = renew and not done
        tries = ((target, theta + size * step, bent, wide) for size in HALVINGS)
        passes = blocks.totals(logistic_pass, tries)
        for size, ((_, trial, *_), sums) in zip(HALVINGS, passes, strict=True):
            trial_value = sums.value + ridge @ trial**2 / 2
            if trial_value <= value + 1e-4 * size * slope + noise:
                break
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


def curvature_at(blocks, of_rows, hessian, ridge) -> Curvature | WideCurvature:
    """From the Hessian of a pass; where it made none, from the curvature ``of_rows``."""
    if hessian is None:
        return WideCurvature(blocks, of_rows, ridge)
    return Curvature(hessian, ridge)


def logistic_pass(block: Block, target, theta, bend: bool, wide: bool) -> LogisticSums:
    """Value and gradient; with ``bend`` the Hessian, or where wide the curvature of each row."""
    X, t, weight = block.X_for_kernels, target(block), block.weight
    value, r, h = logistic_terms(logits(X, theta), t, weight, bend)
    sums = LogisticSums(value, with_intercept(X, r), weight=weight_of(block))
    if h is not None:
        if wide:
            RowCurvature(theta).keep(block, h)
        else:
            sums.hessian = hessian(X, h)
    return sums


def weight_of(block: Block) -> float:
    return float(block.n_rows if block.weight is None else block.weight.sum())


def _evaluate(blocks, target, weight, theta, bend: bool) -> LogisticSums:
    """One pass over an array of targets."""
    rows = blocks.attach(target=target, weight=weight)
    return rows.total(logistic_pass, attrgetter("target"), theta, bend, False)
