"""Held-out logits of a linear class model with the propensity known, and the best penalty.

All folds at once: logits and gradients of K folds are products of X with K columns, so that one
pass reads the rows for all of them. Steps are those of L-BFGS, of each fold its own, over one
metric ``X'WX + ridge`` with the weights of the expected information, which is always definite; of
sparse or very many columns it is the diagonal.

A penalty is said as ``v = C * (sum of the columns' variances)``, the prior variance of a logit. The
best lies about 1 to 10; there every start ends in one maximum, beyond 30 there may be several.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.special import logit

from sarlearn._engine import likelihood
from sarlearn._engine.blocks import Block, add_up
from sarlearn._engine.likelihood import evidence_of_labels, sigmoids
from sarlearn._engine.newton import Sums
from sarlearn._engine.rows import Rows

# Logits worked on at a time: temporaries stay in the cache.
CHUNK = 2**15
# Up to so many columns the metric is factorised, of sparse rows too up to fewer (their steps are
# then those of dense ones), and up to so few it is made anew for each penalty.
DENSE_COLUMNS, SPARSE_COLUMNS, FEW_COLUMNS = 3000, 150, 50
# The search for the penalty: where it starts, its steps, the rise in nats that is worth one, and
# where it ends.
START, RATIO, RISE, LEAST, MOST = 1.0, 10**0.5, 0.05, 1e-3, 1e5
# How close to their optimum fits come, in nats.
TOLERANCE = 1e-3
MEMORY, MAX_PASSES, HALVINGS = 10, 300, 30


@dataclass
class FoldSums(Sums):
    """Loss without each fold and its gradient."""

    value: np.ndarray
    gradient: np.ndarray


@dataclass
class FoldFit:
    """Fits without each fold: parameters, one column per fold with the intercept last."""

    v: float
    thetas: np.ndarray
    log_likelihood: float


def fold_sums(block: Block, thetas: np.ndarray, folds: np.ndarray) -> FoldSums:
    """Of the rows that train in each of ``folds``."""
    most = block.n_rows if sparse.issparse(block.matrix) else max(CHUNK // len(folds), 256)
    pieces = block.remember("fold pieces", most, lambda: block.pieces(most))
    return add_up(_fold_sums(piece, thetas, folds) for piece in pieces)


def _fold_sums(block: Block, thetas: np.ndarray, folds: np.ndarray) -> FoldSums:
    f, not_f = sigmoids(block.X @ thetas[:-1] + thetas[-1])
    e, not_e, labelled = block.e[:, None], block.not_e[:, None], block.labelled[:, None]
    W = block.weights[:, None] * (block.folds[:, None] != folds)
    if block.audited is None:  # the same as below, in a third of the time
        chance = not_f + f * not_e
        residual = np.where(labelled, -not_f, e * f * not_f / chance)
        chance = np.where(labelled, f, chance)
    else:
        audited = np.broadcast_to(block.audited[:, None], f.shape)
        shape = np.broadcast_to(labelled, f.shape)
        found = likelihood.terms(f, not_f, evidence_of_labels(e, not_e, shape, 1.0, audited))
        chance, residual = found.chance, found.residual
    residual = W * residual
    gradient = np.vstack([block.X.T @ residual, residual.sum(axis=0)])
    return FoldSums(-np.einsum("ij,ij->j", W, np.log(chance)), gradient)


def metric_sums(block: Block, theta: np.ndarray, full: bool) -> np.ndarray:
    """Expected information of all rows at a point; or its diagonal."""
    X = block.X
    f, not_f = sigmoids(X @ theta[:-1] + theta[-1])
    h = likelihood.label_odds(f, not_f, block.e, block.not_e) * not_f**2
    if block.audited is not None:
        h = np.where(np.isnan(block.audited), h, f * not_f)
    h = block.weights * h
    if not full:
        squares = X.multiply(X) if sparse.issparse(X) else X**2
        return np.append(squares.T @ h, h.sum())
    H, size = np.zeros((X.shape[1] + 1,) * 2), max(8 * CHUNK // max(X.shape[1], 1), 256)
    for rows in (slice(i, i + size) for i in range(0, X.shape[0], size)):
        part = X[rows].toarray() if sparse.issparse(X) else X[rows]
        Z = np.column_stack([part, np.ones(len(part))]) * np.sqrt(h[rows, None])
        H += Z.T @ Z
    return H


def held_out(block: Block, thetas: np.ndarray) -> np.ndarray:
    """The logit of each row by the fit that has not seen it."""
    every = block.X @ thetas[:-1] + thetas[-1]
    return np.take_along_axis(every, block.folds[:, None].astype(np.intp), axis=1)[:, 0]


def _held_out_likelihood(block: Block, thetas: np.ndarray) -> float:
    f, not_f = sigmoids(held_out(block, thetas))
    seen = evidence_of_labels(block.e, block.not_e, block.labelled, 1.0, block.audited)
    return likelihood.log_likelihood(likelihood.terms(f, not_f, seen).chance, block.weights)


class FoldLogistic:
    """The fits on rows that know their labels, weights, propensities and folds.

    Parameters
    ----------
    rows : Rows
        ``block.folds`` is the number of the fold that leaves a row out.
    n_folds : int
    report : called after each penalty
    """

    def __init__(self, rows: Rows, n_folds: int, report: Callable[[], None] = lambda: None):
        self._rows, self._n_folds, self._report = rows, n_folds, report
        labelled, e, total, of_columns = rows.total(_moments).parts()
        mean, square = of_columns[0] / total, of_columns[1] / total
        variance = np.where(square - mean**2 > 1e-9 * square, square - mean**2, 0.0)
        # A column of more than deviation 1 is hardly penalised anyway, and would hide the others.
        self._size = float(np.minimum(variance, 1.0).sum()) or 1.0
        share = min(max(labelled / e, 1e-3), 0.95)
        n_columns = len(mean)
        self._start = np.zeros((n_columns + 1, n_folds))
        self._start[-1] = logit(share)
        self._full = n_columns <= (SPARSE_COLUMNS if rows.is_sparse else DENSE_COLUMNS)
        self._metric: np.ndarray | None = None

    def best(self, v: float | None = None) -> FoldFit:
        """The fit of the best held-out likelihood; with ``v``, of that penalty."""
        if v is not None:
            return self.fit(v)
        found = {0: self.fit(START)}  # by the number of steps from there
        for step in (1, -1):
            at = 0
            while LEAST <= START * RATIO ** (at + step) <= MOST:
                at += step
                found[at] = self.fit(START * RATIO**at, found[at - step].thetas)
                if found[at].log_likelihood < found[at - step].log_likelihood + RISE:
                    break
            if at > 1:  # weaker ones were better
                break
        best = max(found, key=lambda at: found[at].log_likelihood)
        if not min(found) < best < max(found):
            return found[best]
        left, mid, right = (found[best + step].log_likelihood for step in (-1, 0, 1))
        vertex = 0.5 * (left - right) / min(left - 2 * mid + right, -1e-9)
        between = self.fit(START * RATIO ** (best + vertex), found[best].thetas)
        return max(found[best], between, key=lambda fit: fit.log_likelihood)

    def fit(self, v: float, thetas: np.ndarray | None = None) -> FoldFit:
        """At one penalty, warm from ``thetas``."""
        thetas = self._start.copy() if thetas is None else thetas.copy()
        if self._metric is None or len(thetas) <= FEW_COLUMNS:
            self._metric = self._rows.total(metric_sums, thetas.mean(axis=1), self._full)
            self._metric = self._metric * (1 - 1 / self._n_folds)
        ridge = np.append(np.full(len(thetas) - 1, self._size / v), 1e-9)
        self._climb(thetas, ridge)
        self._report()
        value = float(self._rows.total(_held_out_likelihood, thetas))
        return FoldFit(v, thetas, value)

    def _evaluate(self, thetas: np.ndarray, folds: np.ndarray, ridge: np.ndarray):
        sums = self._rows.total(fold_sums, thetas, folds)
        return sums.value + ridge @ thetas**2 / 2, sums.gradient + ridge[:, None] * thetas

    def _solver(self, ridge: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        if self._full:
            factor = cho_factor(self._metric + np.diag(ridge), lower=True, check_finite=False)
            return lambda D: cho_solve(factor, D, check_finite=False)
        return lambda D: D / (self._metric + ridge)[:, None]

    def _climb(self, thetas: np.ndarray, ridge: np.ndarray) -> None:
        """L-BFGS of all folds side by side, in place; a fold that has arrived is left out."""
        solve, folds = self._solver(ridge), np.arange(self._n_folds)
        value, gradient = self._evaluate(thetas, folds, ridge)
        pairs: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for _ in range(MAX_PASSES):
            step = _direction(gradient, pairs, solve)
            slope = (step * gradient).sum(axis=0)
            go = slope > 2 * TOLERANCE
            thetas[:, folds[~go]] -= step[:, ~go]  # the last step is taken without a pass
            if not go.any():
                break
            folds, step, slope = folds[go], step[:, go], slope[go]
            gradient, value = gradient[:, go], value[go]
            pairs = [(S[:, go], Y[:, go], rho[go]) for S, Y, rho in pairs]
            here, size = thetas[:, folds], np.ones(len(folds))
            for _ in range(HALVINGS):
                new = here - size * step
                new_value, new_gradient = self._evaluate(new, folds, ridge)
                short = new_value > value - 1e-4 * size * slope + 1e-12 * np.abs(value)
                if not short.any():
                    break
                size = np.where(short, size / 2, size)
            S, Y = new - here, new_gradient - gradient
            along = (S * Y).sum(axis=0)
            convex = along > 1e-3 * size**2 * slope
            rho = np.where(convex, 1.0 / np.where(along > 0, along, 1.0), 0.0)
            pairs = [*pairs, (S, Y, rho)][-MEMORY:]
            thetas[:, folds], gradient, value = new, new_gradient, new_value


def _direction(gradient: np.ndarray, pairs: list, solve) -> np.ndarray:
    """The two loops of L-BFGS, one column per fold."""
    D, shares = gradient.copy(), []
    for S, Y, rho in reversed(pairs):
        shares.append(rho * (S * D).sum(axis=0))
        D -= shares[-1] * Y
    D = solve(D)
    for (S, Y, rho), share in zip(pairs, reversed(shares), strict=True):
        D += (share - rho * (Y * D).sum(axis=0)) * S
    return D


@dataclass
class _Moments(Sums):
    """Weight of labels, of propensities and of all rows, and sums and squares of columns."""

    of_rows: np.ndarray
    of_columns: np.ndarray

    def parts(self):
        return *self.of_rows, self.of_columns


def _moments(block: Block) -> _Moments:
    weight, X = block.weights, block.X
    squares = X.multiply(X) if sparse.issparse(X) else X**2
    of_rows = np.array([weight @ block.labelled, weight @ block.e, weight.sum()])
    return _Moments(of_rows, np.array([X.T @ weight, squares.T @ weight]))
