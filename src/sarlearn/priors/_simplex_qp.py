"""Distance of a point to the convex hull of rows in a kernel's space, by interior point."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

ROWS_ARE_MISSING = 3  # where the gap over all rows is so many times that over the rows inside


def pivoted_cholesky(kernel_column, n_rows: int, max_rank: int, tol: float) -> np.ndarray:
    """Factor ``Z`` with ``K ~ Z Z'`` for a kernel of unit diagonal, largest residual first.

    `kernel_column(i)` gives one column of K; K itself is never needed whole.
    """
    Z = np.zeros((max_rank, n_rows))
    residual = np.ones(n_rows)
    for rank in range(max_rank):
        pivot = int(np.argmax(residual))
        if residual[pivot] <= tol:
            return np.ascontiguousarray(Z[:rank].T)
        column = kernel_column(pivot) - Z[:rank, pivot] @ Z[:rank]
        Z[rank] = column / np.sqrt(residual[pivot])
        residual -= Z[rank] ** 2
        residual[pivot] = 0.0
    return np.ascontiguousarray(Z.T)


class Gram(Protocol):
    """A kernel matrix K: its products, and solutions of ``(K + diag(d)) x = b``."""

    def __len__(self) -> int: ...

    def times(self, v: np.ndarray) -> np.ndarray:
        """``K v``."""

    def part(self, rows: np.ndarray) -> "Gram":
        """The matrix of some rows."""

    def solver(self, d: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function from b to x, for one diagonal."""


class FactoredGram:
    """``K = Z Z'`` with few columns: a system costs O(n r^2), by Woodbury's identity."""

    def __init__(self, Z: np.ndarray):
        self.Z = Z

    def __len__(self) -> int:
        return len(self.Z)

    def times(self, v):
        return self.Z @ (v @ self.Z)

    def part(self, rows):
        return FactoredGram(self.Z[rows])

    def solver(self, d):
        scaled = self.Z * (1.0 / np.sqrt(d))[:, None]
        capacitance = scaled.T @ scaled
        capacitance[np.diag_indices_from(capacitance)] += 1.0
        factor = cho_factor(capacitance, lower=True, overwrite_a=True, check_finite=False)

        def solve(b):
            divided = b / d
            return divided - (self.Z @ cho_solve(factor, divided @ self.Z, check_finite=False)) / d

        return solve


class WholeGram:
    """K itself: a system costs O(n^3 / 3)."""

    def __init__(self, K: np.ndarray):
        self.K = K

    def __len__(self) -> int:
        return len(self.K)

    def times(self, v):
        return self.K @ v

    def part(self, rows):
        return WholeGram(self.K[np.ix_(rows, rows)])

    def solver(self, d):
        shifted = self.K.copy()
        shifted[np.diag_indices_from(shifted)] += d
        # K is symmetric: its transpose is in the order LAPACK overwrites in place.
        factor = cho_factor(shifted.T, lower=True, overwrite_a=True, check_finite=False)
        return lambda b: cho_solve(factor, b, check_finite=False)


@dataclass
class Projection:
    """Nearest point of the hull: its weights, the squared distance, and the error bound on it."""

    weights: np.ndarray
    difference: np.ndarray
    squared_distance: float
    gap: float
    n_iter: int


def project_to_hull(
    gram: Gram, u: np.ndarray, stop, rows: np.ndarray | None = None, max_iter: int = 60
) -> Projection:
    """``min (u - w)' K (u - w) / 2`` over the simplex ``w >= 0, sum w = 1``.

    `stop(projection)` says whether the point is good enough; its `gap` is Frank and Wolfe's,
    ``w'g - min g`` over all rows, which bounds the error of the objective at any w of the simplex.

    `rows`, a mask, are those thought to carry weight: the problem is solved among them, and again
    with the rows that would lower the objective, until the gap over all rows is small.
    """
    inside = np.ones(len(gram), dtype=bool) if rows is None else rows.copy()
    while True:
        among = gram if inside.all() else gram.part(inside)
        found, gradient = _solve_among(gram, among, inside, u, stop, max_iter)
        wanted = ~inside & (gradient < found.weights @ gradient)
        if stop(found) or not wanted.any():
            return found
        inside |= wanted


def _solve_among(gram, among, inside, u, stop, max_iter) -> tuple[Projection, np.ndarray]:
    """Mehrotra's predictor-corrector method; each step factors the matrix of the rows inside.

    It ends early where these cannot do: to solve among them to the end would be in vain.
    """
    n_inside = len(among)
    weights = np.zeros(len(gram))
    w = np.full(n_inside, 1.0 / n_inside)
    slack = np.full(n_inside, 1.0 / n_inside)
    multiplier = 0.0
    for iteration in range(max_iter):
        weights[inside] = w
        difference = u - weights
        gradient = -gram.times(difference)
        reached = float(weights @ gradient)
        squared = max(float(-difference @ gradient), 0.0)
        found = Projection(weights, difference, squared, reached - gradient.min(), iteration)
        own = gradient[inside]
        complementarity = float(w @ slack) / n_inside
        if stop(replace(found, gap=reached - own.min())) or complementarity * n_inside < 1e-13:
            break
        if not inside.all() and ROWS_ARE_MISSING * (reached - own.min()) < found.gap:
            break
        newton = _Newton(among, w, slack, own - multiplier - slack)
        step, slack_step, _ = newton.direction(w * slack)
        reach, slack_reach = _to_boundary(w, step), _to_boundary(slack, slack_step)
        predicted = float((w + reach * step) @ (slack + slack_reach * slack_step)) / n_inside
        centering = (predicted / complementarity) ** 3 * complementarity
        step, slack_step, multiplier_step = newton.direction(
            w * slack + step * slack_step - centering
        )
        reach, slack_reach = 0.99 * _to_boundary(w, step), 0.99 * _to_boundary(slack, slack_step)
        w = w + reach * step
        w /= w.sum()
        slack = slack + slack_reach * slack_step
        multiplier += slack_reach * multiplier_step
    return found, gradient


class _Newton:
    """The Newton system ``(K + D) x = b``, ``D = diag(slack/w)``, under ``sum w = 1``."""

    def __init__(self, gram: Gram, w, slack, dual_residual):
        self.w, self.slack, self.dual_residual = w, slack, dual_residual
        self.solve = gram.solver(np.clip(slack / w, 1e-9, 1e14))
        self.ones = self.solve(np.ones(len(w)))

    def direction(self, centering):
        """Steps of w, of the slack and of the multiplier of ``sum w = 1``."""
        base = self.solve(-self.dual_residual - centering / self.w)
        multiplier_step = (1.0 - self.w.sum() - base.sum()) / self.ones.sum()
        step = base + multiplier_step * self.ones
        return step, -(centering + self.slack * step) / self.w, multiplier_step


def _to_boundary(x: np.ndarray, step: np.ndarray) -> float:
    """The longest step, at most 1/0.99, that keeps x non-negative."""
    falling = step < 0
    return float(min(1 / 0.99, np.min(-x[falling] / step[falling], initial=np.inf)))
