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

    Mehrotra's predictor-corrector method. The Newton system ``(Z Z' + D) x = b`` with
    ``D = diag(s/w)`` is solved by Woodbury's identity in O(n r^2) for Z of shape (n, r).
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
        found = Projection(
            w, difference, float(difference @ difference), float(w @ gradient - gradient.min()),
            iteration,
        )  # fmt: skip
        complementarity = float(w @ slack) / n_rows
        if stop(found) or complementarity * n_rows < 1e-13:
            break
        D = np.clip(slack / w, 1e-9, 1e14)
        scaled = Z * (1.0 / np.sqrt(D))[:, None]
        capacitance = scaled.T @ scaled
        capacitance[np.diag_indices_from(capacitance)] += 1.0
        factor = cho_factor(capacitance, lower=True, overwrite_a=True, check_finite=False)

        def solve(b, D=D, factor=factor):
            divided = b / D
            return divided - (Z @ cho_solve(factor, divided @ Z, check_finite=False)) / D

        ones = solve(np.ones(n_rows))
        dual_residual = gradient - multiplier - slack

        def direction(centering, D=D, ones=ones, dual_residual=dual_residual):
            base = solve(-dual_residual - centering / w)
            step_multiplier = (1.0 - w.sum() - base.sum()) / ones.sum()
            step = base + step_multiplier * ones
            return step, -(centering + slack * step) / w, step_multiplier

        step, slack_step, _ = direction(w * slack)
        reach, slack_reach = _to_boundary(w, step), _to_boundary(slack, slack_step)
        predicted = float((w + reach * step) @ (slack + slack_reach * slack_step)) / n_rows
        sigma = (predicted / complementarity) ** 3
        step, slack_step, multiplier_step = direction(
            w * slack + step * slack_step - sigma * complementarity
        )
        reach = 0.99 * _to_boundary(w, step)
        slack_reach = 0.99 * _to_boundary(slack, slack_step)
        reach, slack_reach = min(1.0, reach), min(1.0, slack_reach)
        w = w + reach * step
        w /= w.sum()
        slack = slack + slack_reach * slack_step
        multiplier += slack_reach * multiplier_step
    return found


def _to_boundary(x: np.ndarray, step: np.ndarray) -> float:
    """The longest step, at most 1/0.99, that keeps x non-negative."""
    falling = step < 0
    return float(min(1 / 0.99, np.min(-x[falling] / step[falling], initial=np.inf)))
