"""Distance of a point to the convex hull of rows, by interior point on a low-rank factor."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve


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


@dataclass
class Projection:
    """Nearest point of the hull: its weights, the squared distance, and the error bound on it."""

    weights: np.ndarray
    difference: np.ndarray
    squared_distance: float
    gap: float
    n_iter: int


def project_to_hull(Z: np.ndarray, u: np.ndarray, stop, max_iter: int = 60) -> Projection:
    """``min |Z'(u - w)|^2 / 2`` over the simplex ``w >= 0, sum w = 1``.

    Mehrotra's predictor-corrector method, each step in O(n r^2) for Z of shape (n, r).
    `stop(projection)` says whether the point is good enough; its `gap` is Frank and Wolfe's,
    ``w'g - min g``, which bounds the error of the objective at any w of the simplex.
    """
    n_rows = len(Z)
    target = u @ Z
    w = np.full(n_rows, 1.0 / n_rows)
    slack = np.full(n_rows, 1.0 / n_rows)
    multiplier = 0.0
    for iteration in range(max_iter):
        difference = target - w @ Z
        gradient = -(Z @ difference)
        gap = float(w @ gradient - gradient.min())
        found = Projection(w, difference, float(difference @ difference), gap, iteration)
        complementarity = float(w @ slack) / n_rows
        if stop(found) or complementarity * n_rows < 1e-13:
            break
        newton = _Newton(Z, w, slack, gradient - multiplier - slack)
        step, slack_step, _ = newton.direction(w * slack)
        reach, slack_reach = _to_boundary(w, step), _to_boundary(slack, slack_step)
        predicted = float((w + reach * step) @ (slack + slack_reach * slack_step)) / n_rows
        centering = (predicted / complementarity) ** 3 * complementarity
        step, slack_step, multiplier_step = newton.direction(
            w * slack + step * slack_step - centering
        )
        reach, slack_reach = 0.99 * _to_boundary(w, step), 0.99 * _to_boundary(slack, slack_step)
        w = w + reach * step
        w /= w.sum()
        slack = slack + slack_reach * slack_step
        multiplier += slack_reach * multiplier_step
    return found


class _Newton:
    """The Newton system ``(Z Z' + D) x = b``, ``D = diag(slack/w)``, by Woodbury's identity."""

    def __init__(self, Z, w, slack, dual_residual):
        self.Z, self.w, self.slack, self.dual_residual = Z, w, slack, dual_residual
        self.D = np.clip(slack / w, 1e-9, 1e14)
        scaled = Z * (1.0 / np.sqrt(self.D))[:, None]
        capacitance = scaled.T @ scaled
        capacitance[np.diag_indices_from(capacitance)] += 1.0
        self.factor = cho_factor(capacitance, lower=True, overwrite_a=True, check_finite=False)
        self.ones = self._solve(np.ones(len(w)))

    def _solve(self, b):
        divided = b / self.D
        inner = cho_solve(self.factor, divided @ self.Z, check_finite=False)
        return divided - (self.Z @ inner) / self.D

    def direction(self, centering):
        """Steps of w, of the slack and of the multiplier of ``sum w = 1``."""
        base = self._solve(-self.dual_residual - centering / self.w)
        multiplier_step = (1.0 - self.w.sum() - base.sum()) / self.ones.sum()
        step = base + multiplier_step * self.ones
        return step, -(centering + self.slack * step) / self.w, multiplier_step


def _to_boundary(x: np.ndarray, step: np.ndarray) -> float:
    """The longest step, at most 1/0.99, that keeps x non-negative."""
    falling = step < 0
    return float(min(1 / 0.99, np.min(-x[falling] / step[falling], initial=np.inf)))
