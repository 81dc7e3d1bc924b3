"""Newton's method with a memory: the one climb of every smooth problem here.

A problem has parameters, a penalty ``ridge @ theta**2 / 2`` and a pass over its rows that gives
value, gradient and, if asked, curvature (:class:`Problem`). The climb goes down the objective:

1. curvature: that of the last pass that made one, mended by the steps since (:class:`Memory`);
2. step: minus the inverse curvature times the gradient;
3. convergence: the decrease that the quadratic model predicts is below ``tol``;
4. line search: the largest of 1, 1/2, 1/4, ... that decreases enough;
5. a new curvature is asked of the next pass if the step left a good part of the gradient.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg.blas import daxpy, ddot, dtrmv
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from scipy.sparse.linalg import LinearOperator, cg

from sarlearn._engine.blocks import Block
from sarlearn._engine.kernels import gram_diagonal, hessian_product
from sarlearn._engine.likelihood import LIMIT

# With more columns than this a Cholesky factor costs more than the products CG needs.
DENSE_COLUMNS = 3000
# Steps that are remembered.
MEMORY = 5
# Share of its curvature that a step must meet for the memory to take it in: with less the next
# step would be boundless, and climbs from e = 1 break off below the maximum.
LEAST_SHARE = 0.01
# A new curvature is asked for when a step left more than this share of the gradient. A smaller
# share saves few passes and takes more Hessians, each of which costs more than a pass unless
# columns are few.
REFRESH = 0.5
# A step of the right curvature gains half of ``gradient @ step``. A curvature of another problem is
# trusted after a step that gained at least this share of it and left at least this share: along
# that step it is then wrong by half at most. Without, fits of few rows ended at their first pass,
# some nats above their optimum.
AGREEMENT = 0.25
# Sizes of a step, tried one after the other.
HALVINGS = [2.0**-k for k in range(35)]
# Negative or vanishing curvature counts as this, where the diagonal is near one.
LEAST_CURVATURE = 1e-3
# What the diagonal is raised by, one after the other, where rounding made a Hessian indefinite.
JITTERS = (0.0, 1e-13, 1e-12, 1e-11, 1e-10)
# No step changes logits by more than this, root mean square by their curvature: where nearly all
# rows are surely of one class, Newton's step leads to where they are surely of the other.
LARGEST_CHANGE = 10.0
# Rounding of a sum, relative to it: a smaller decrease cannot be seen.
NOISE = 1e-14


class Sums:
    """Statistics that add up over row blocks: every field that is set is added in place."""

    def __iadd__(self, other):
        for name, value in vars(other).items():
            if value is not None:
                setattr(self, name, getattr(self, name) + value)
        return self


def reach_of(sizes: np.ndarray) -> np.ndarray:
    """How far a step may move each parameter, by the sizes of its columns, and the intercept.

    No parameter alone moves a logit by more than the range in which probabilities differ from 0
    and 1.
    """
    return np.append(LIMIT / np.where(sizes > 0, sizes, 1.0), LIMIT)


# -- curvature ---------------------------------------------------------------------------------


class Memory:
    """An inverse Hessian of some point, kept good by the steps taken since (BFGS updates).

    A step and the change of the gradient it made say how the Hessian has moved along it. EM
    walks the same way for long, so a handful of them replaces most new Hessians.
    """

    def __init__(self) -> None:
        self._pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=MEMORY)

    def learn(self, step: np.ndarray, change: np.ndarray) -> None:
        """Take in that ``step`` changed the gradient by ``change``."""
        curvature = float(step @ change)
        if curvature > self.least(step):
            self._pairs.append((step, change, 1.0 / curvature))

    def solve(self, gradient: np.ndarray) -> np.ndarray:
        """The Newton direction, up to its sign."""
        if not self._pairs:
            return self._solve(gradient)
        # BLAS directly: on few columns NumPy's calls take four times as long.
        rest, shares = gradient.copy(), []
        for step, change, scale in reversed(self._pairs):
            shares.append(scale * ddot(step, rest))
            rest = daxpy(change, rest, a=-shares[-1])
        x = self._solve(rest)
        for (step, change, scale), share in zip(self._pairs, reversed(shares), strict=True):
            x = daxpy(step, x, a=share - scale * ddot(change, x))
        return x

    def step(self, gradient: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Newton's step, shortened where it would change logits by more than they mean.

        Where a column tells some rows apart, hardly any curvature is left along it, and an old
        Hessian's step went 1e10 logits far: there nothing but rounding decides where EM goes on.
        """
        step = -self.solve(gradient)
        change = math.sqrt(max(-float(gradient @ step), 0.0) / self.total)
        step = step if change <= LARGEST_CHANGE else step * (LARGEST_CHANGE / change)
        return np.clip(step, -reach, reach)

    def norm(self, gradient: np.ndarray) -> float:
        """The Newton decrement: the size of a gradient, whatever the scale of the columns."""
        scaled = self.scaled_step(gradient)
        return math.sqrt(scaled @ scaled)

    def scaled_step(self, gradient: np.ndarray) -> np.ndarray:
        """The step in units in which its length is the Newton decrement."""
        raise NotImplementedError

    @property
    def total(self) -> float:
        """The curvatures of all rows, added up: the intercept's entry of the Hessian."""
        raise NotImplementedError

    def least(self, step: np.ndarray) -> float:
        """Curvature along a step below which the memory does not take it in."""
        raise NotImplementedError

    def _solve(self, gradient: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class Curvature(Memory):
    """The penalised Hessian at some point, factorised.

    One that is not positive is taken by the absolute values of its eigenvalues: a step then leads
    away from a saddle instead of to it (Dauphin et al., 2014). EM's curvature, which is
    always positive, takes many more steps on the joint likelihood.

    Eigenvalues depend on where columns have their zero, unless there is a ``metric``: the factor of
    some positive curvature, in whose units they are taken.
    """

    def __init__(self, hessian: np.ndarray, ridge: np.ndarray, metric: np.ndarray | None = None):
        super().__init__()
        self.lower = cholesky(hessian, ridge, metric)

    def _solve(self, gradient: np.ndarray) -> np.ndarray:
        return dpotrs(self.lower, gradient, lower=1)[0]

    def scaled_step(self, gradient: np.ndarray) -> np.ndarray:
        return dtrtrs(self.lower, gradient, lower=1)[0]

    @property
    def total(self) -> float:
        return float(self.lower[-1] @ self.lower[-1])

    def least(self, step: np.ndarray) -> float:
        # The curvature along it, as it was factorised.
        root = dtrmv(self.lower, step, lower=1, trans=1)
        return LEAST_SHARE * float(root @ root)


def cholesky(
    hessian: np.ndarray, ridge: np.ndarray, metric: np.ndarray | None = None
) -> np.ndarray:
    """The factor of ``hessian + diag(ridge)``, made positive where it is not.

    Columns may differ by many orders of magnitude: the factor's digits do not depend on their
    scales (Demmel, 1989). LAPACK directly: SciPy's wrappers took a third of a small fit's time.
    """
    H = hessian.copy()
    diagonal = H.ravel()[:: len(H) + 1]
    diagonal += ridge
    if not math.isfinite(diagonal.sum()):
        raise ValueError(
            "The curvature is not finite: values of columns, or weights, are too large or span too "
            "many magnitudes. Divide columns by their largest value, and weights by their mean."
        )
    for jitter in JITTERS:
        diagonal *= 1.0 + jitter
        lower, failed = dpotrf(H.T, lower=1, clean=0)  # symmetric: LAPACK's order
        if not failed:
            return lower
    return _factor_of_absolute(H, metric)


def _factor_of_absolute(H: np.ndarray, metric: np.ndarray | None) -> np.ndarray:
    """The factor of the matrix with absolute eigenvalues, in units in which the metric is one.

    Without a metric, in units in which the diagonal is near one.
    """
    if metric is None:
        metric = np.diag(np.sqrt(np.maximum(np.abs(H.diagonal()), np.finfo(float).tiny)))
    half = dtrtrs(metric, H, lower=1)[0]
    values, vectors = np.linalg.eigh(dtrtrs(metric, half.T, lower=1)[0])
    root = vectors * np.sqrt(np.maximum(np.abs(values), LEAST_CURVATURE))
    lower = np.asarray(np.linalg.qr(root.T, mode="r")).T
    return np.asfortranarray(np.tril(metric) @ (lower * np.sign(lower.diagonal())))


class WideCurvature(Memory):
    """The penalised Hessian of many columns, known by its products; solved by conjugate gradients.

    ``of_rows`` gives the curvature of each row of a block. The preconditioner is the diagonal, of
    the absolute values.
    """

    def __init__(self, rows, of_rows: Callable, ridge: np.ndarray, rtol: float = 0.1):
        super().__init__()
        self._rows, self._of_rows, self._ridge, self._rtol = rows, of_rows, ridge, rtol
        self.diagonal = rows.total(_diagonal, of_rows) + self._ridge

    def product(self, v: np.ndarray) -> np.ndarray:
        return self._rows.total(row_product, self._of_rows, v) + self._ridge * v

    def _solve(self, gradient: np.ndarray) -> np.ndarray:
        n = len(gradient)
        root = np.sqrt(self.diagonal)
        # Solved for root * x, where the diagonal is 1 and |residual| is the norm used below.
        scaled = LinearOperator((n, n), matvec=lambda v: self.product(v / root) / root)
        x, _ = cg(scaled, gradient / root, rtol=self._rtol, maxiter=500)
        return x / root

    def scaled_step(self, gradient: np.ndarray) -> np.ndarray:
        return gradient / np.sqrt(self.diagonal)

    @property
    def total(self) -> float:
        return float(self.diagonal[-1])

    def least(self, step: np.ndarray) -> float:
        # By the diagonal: the curvature along the step itself would cost a pass.
        return 1e-8 * float(self.diagonal @ step**2)


def _diagonal(block: Block, of_rows) -> np.ndarray:
    h = np.abs(of_rows(block))
    return np.append(gram_diagonal(block.X, h), h.sum())


def row_product(block: Block, of_rows, v: np.ndarray) -> np.ndarray:
    return hessian_product(block.X, of_rows(block), v)


def curvature_at(
    rows, of_rows, hessian, ridge, rtol: float = 0.1, metric: np.ndarray | None = None
) -> Curvature | WideCurvature:
    """From the Hessian of a pass; where it made none, from the curvature of each row."""
    if hessian is None:
        return WideCurvature(rows, of_rows, ridge, rtol)
    return Curvature(hessian, ridge, metric)


# -- the climb ---------------------------------------------------------------------------------


@dataclass
class Iterate:
    """Parameters with the value and gradient there, penalty included, and the sums they are of."""

    theta: np.ndarray
    value: float
    gradient: np.ndarray
    sums: Any
    with_hessian: bool


class Problem(Protocol):
    """What the climb asks of a problem.

    Attributes
    ----------
    tol : float
        The decrease below which a climb ends, in nats. Known after the first pass at the latest.
    """

    tol: float

    def passes(self, points: Iterable[np.ndarray], with_hessian: bool) -> Iterator[Iterate]:
        """A pass at each point, as they are asked for, with the curvature there if asked."""
        ...

    def curvature(self, iterate: Iterate) -> Curvature | WideCurvature:
        """The curvature that the pass at an iterate has made."""
        ...


@dataclass
class Climb:
    """Where a climb ended, the passes it took, whether it converged, and its last curvature.

    ``iterate`` is that of the last pass.
    """

    theta: np.ndarray
    iterate: Iterate
    passes: int
    converged: bool
    curvature: Curvature | WideCurvature

    @property
    def value(self) -> float:
        return self.iterate.value


def climb(
    problem: Problem,
    start: np.ndarray | Iterate,
    *,
    max_iter: int,
    curvature: Curvature | WideCurvature | None = None,
    max_step: float = math.inf,
    refresh: float = REFRESH,
    last_step: bool = False,
    report: Callable[[Iterate], None] = lambda iterate: None,
) -> Climb:
    """Go down from ``start`` until one more step promises less than the problem's ``tol``.

    Parameters
    ----------
    start : ndarray or Iterate
        An iterate that is known already spares its pass.
    max_iter : int
        Passes at most.
    curvature : Curvature or WideCurvature, default=None
        Of a problem like this one, to begin with; None makes one. It is not trusted in saying that
        the climb is over until a step has gained what it promised.
    max_step : float, default=inf
        Limit on the change of any parameter in a step. Far from the optimum of a likelihood that
        is not convex a step may be boundless.
    refresh : float, default=0.5
        A new curvature is asked for when a step left more than this share of the gradient; 0 asks
        for one with each step.
    last_step : bool, default=False
        Whether the step that promises less than ``tol`` is still taken, without a pass at its end.
        On a convex problem it doubles the digits; elsewhere it may be long where nothing curves.
    report : callable
        Called with each iterate that is reached.
    """
    if isinstance(start, Iterate):
        here, passes = start, 0
    else:
        (here,), passes = problem.passes([start], curvature is None), 1
    report(here)
    renew, trusted = refresh == 0, False
    while True:
        if here.with_hessian or curvature is None:
            curvature, trusted = problem.curvature(here), True
        step = -curvature.solve(here.gradient)
        predicted_decrease = -float(here.gradient @ step)
        arrived = predicted_decrease <= 2 * problem.tol
        if arrived and trusted:
            theta = here.theta + step if last_step else here.theta
            return Climb(theta, here, passes, True, curvature)
        if passes >= max_iter:
            return Climb(here.theta, here, passes, False, curvature)
        found = None
        if not arrived:
            found, tries = line_search(problem, here, step, predicted_decrease, renew, max_step)
            passes += tries
        if found is None:
            if here.with_hessian or passes >= max_iter:
                # No step of any size gains: the objective is known no better than this.
                rounding = 1e3 * NOISE * abs(here.value)
                converged = predicted_decrease <= max(2 * problem.tol, rounding)
                return Climb(here.theta, here, passes, converged, curvature)
            # The memory, or a curvature of another problem, misleads.
            (here,) = problem.passes([here.theta], True)
            passes, renew = passes + 1, True
            continue
        gain = here.value - found.value
        least, most = AGREEMENT * predicted_decrease, (1 - AGREEMENT) * predicted_decrease
        trusted = trusted or least < gain < most
        if renew and not found.with_hessian:
            (found,) = problem.passes([found.theta], True)
            passes += 1
        renew = curvature.norm(found.gradient) > refresh * curvature.norm(here.gradient)
        curvature.learn(found.theta - here.theta, found.gradient - here.gradient)
        here = found
        report(here)


def line_search(
    problem: Problem,
    here: Iterate,
    step,
    predicted_decrease: float,
    with_hessian: bool,
    max_step: float = math.inf,
) -> tuple[Iterate | None, int]:
    """The iterate at the largest part of a step that decreases enough, or None; passes taken."""
    share = min(1.0, max_step / max(float(np.abs(step).max()), 1e-300))
    step, predicted_decrease = share * step, share * predicted_decrease
    noise = NOISE * abs(here.value)

    def enough(found: Iterate, size: float) -> bool:
        return found.value <= here.value - 1e-4 * size * predicted_decrease + noise

    (whole,) = problem.passes([here.theta + step], with_hessian)
    if enough(whole, 1.0):
        return whole, 1
    # A step that was too long is no reason to make a curvature at each of its parts.
    parts = problem.passes((here.theta + size * step for size in HALVINGS[1:]), False)
    for number, (size, found) in enumerate(zip(HALVINGS[1:], parts, strict=True), 2):
        if enough(found, size):
            return found, number
    return None, len(HALVINGS)
