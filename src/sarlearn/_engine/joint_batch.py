"""The joint maximum likelihood of many sets of labels on the same rows, side by side.

What :meth:`JointLogistic.climb` does for one, with every product over all sets at once: a test
that refits 200 simulated data sets spends its time in arithmetic instead of in calls. The fewer the
rows, the more that saves.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpotrf, dpotrs

from sarlearn._engine import likelihood
from sarlearn._engine.joint import JointLogistic
from sarlearn._engine.likelihood import evidence_of_labels, sigmoids
from sarlearn._engine.newton import LEAST_CURVATURE

# With more columns than this their pairs cost more than the calls that are saved.
FEW_COLUMNS = 64
# Elements of a temporary array, rows times sets: with these a pass stays in the cache.
ELEMENTS = 2**13
# Elements of the products of pairs of columns, for the rows of one block.
PAIR_ELEMENTS = 2**17
# With fewer elements than this (32 MB) they are kept for all rows.
KEPT_ELEMENTS = 2**22


@dataclass
class _Iterates:
    """Where each set stands: value, gradient and negative second derivatives, penalty included."""

    value: np.ndarray
    gradient: np.ndarray
    curvature: np.ndarray

    def put(self, where: np.ndarray, other: "_Iterates", which: np.ndarray) -> None:
        self.value[where] = other.value[which]
        self.gradient[where] = other.gradient[which]
        self.curvature[where] = other.curvature[which]


@dataclass
class BatchFit:
    """The maxima, one per set of labels, as :class:`JointFit` has one."""

    parameters: np.ndarray
    value: np.ndarray
    converged: np.ndarray


class BatchLogistic:
    """A joint model whose likelihood is climbed for many sets of labels at once.

    Parameters
    ----------
    model : JointLogistic
        On dense rows.
    """

    def __init__(self, model: JointLogistic):
        if sparse.issparse(model.design[0]):
            raise TypeError("Sets of labels are climbed side by side on dense rows only.")
        X, Xe = (np.column_stack([part, np.ones(len(part))]) for part in model.design)
        self.model, self._X, self._Xe, self._ridge = model, X, Xe, model.ridge
        n_theta, n_phi = X.shape[1], Xe.shape[1]
        self._tt, self._ee = np.triu_indices(n_theta), np.triu_indices(n_phi)
        self._te = tuple(i.ravel() for i in np.indices((n_theta, n_phi)))
        n_pairs = len(self._tt[0]) + len(self._te[0]) + len(self._ee[0])
        self._rows = max(32, PAIR_ELEMENTS // n_pairs)
        self._kept: list[np.ndarray] | None = None
        if len(X) * n_pairs <= KEPT_ELEMENTS:
            self._kept = self._pairs(slice(None))

    def climb(
        self, starts: np.ndarray, labelled: np.ndarray, *, tol: float = 1e-7, max_iter: int = 200
    ) -> BatchFit:
        """The maximum next to each start.

        Parameters
        ----------
        starts : ndarray of shape (n_sets, n_parameters)
        labelled : boolean ndarray of shape (n_rows, n_sets)
        """
        parameters = np.array(starts, dtype=np.float64)
        n_sets = len(parameters)
        iterates = self._evaluate(parameters, labelled)
        step, gain = self._step(iterates)
        size = _first_size(step)
        converged = gain < tol
        rounds = np.zeros(n_sets, dtype=int)
        active = np.flatnonzero(~converged)
        while len(active):
            trial = parameters[active] + size[active, None] * step[active]
            found = self._evaluate(trial, labelled[:, active])
            better = found.value >= iterates.value[active] + 1e-4 * size[active] * gain[active]
            size[active[~better]] /= 2
            moved = active[better]
            parameters[moved] = trial[better]
            iterates.put(moved, found, better)
            rounds[moved] += 1
            step[moved], gain[moved] = self._step(iterates, moved)
            size[moved] = _first_size(step[moved])
            converged[moved] = gain[moved] < tol
            # No step of any size gains: rounding is all that is left.
            halted = active[~better & (size[active] <= 1e-8)]
            converged[halted] = gain[halted] < 1e-3
            going = ~converged[active] & (size[active] > 1e-8) & (rounds[active] < max_iter)
            active = active[going]
        return BatchFit(parameters, iterates.value, converged)

    def _evaluate(self, parameters: np.ndarray, labels: np.ndarray) -> _Iterates:
        n_sets, n_parameters = parameters.shape
        n_theta = self.model.n_theta
        theta, phi = parameters[:, :n_theta].T, parameters[:, n_theta:].T
        value = np.zeros(n_sets)
        gradient = np.zeros((n_parameters, n_sets))
        sums = [np.zeros((len(pairs[0]), n_sets)) for pairs in (self._tt, self._te, self._ee)]
        step = min(self._rows, max(32, ELEMENTS // n_sets))
        for start in range(0, len(self._X), step):
            rows = slice(start, start + step)
            X, Xe, s = self._X[rows], self._Xe[rows], labels[rows]
            f, not_f = sigmoids(X @ theta)
            e, not_e = sigmoids(Xe @ phi)
            found = likelihood.terms(f, not_f, evidence_of_labels(e, not_e, s))
            value += _log_sums(found.chance)
            gradient[:n_theta] -= X.T @ found.residual
            gradient[n_theta:] -= Xe.T @ likelihood.propensity_residual(found.target, e, not_e, s)
            curvatures = (
                likelihood.class_curvature(f, not_f, found, observed=True),
                likelihood.cross_curvature(found, e, not_e, s),
                likelihood.observed_propensity_curvature(found, e, not_e, s),
            )
            for total, pairs, h in zip(sums, self._pairs(rows), curvatures, strict=True):
                total += pairs.T @ h
        value -= self._ridge @ parameters.T**2 / 2
        return _Iterates(
            value, gradient.T - self._ridge * parameters, self._assemble(sums, n_parameters)
        )

    def _pairs(self, rows: slice) -> list[np.ndarray]:
        """Products of two columns each, for some rows."""
        if self._kept is not None:
            return [pairs[rows] for pairs in self._kept]
        X, Xe = self._X[rows], self._Xe[rows]
        return [
            left[:, i] * right[:, j]
            for left, right, (i, j) in (
                (X, X, self._tt),
                (X, Xe, self._te),
                (Xe, Xe, self._ee),
            )
        ]

    def _assemble(self, sums, n_parameters: int) -> np.ndarray:
        n_theta = self.model.n_theta
        H = np.empty((sums[0].shape[1], n_parameters, n_parameters))
        for values, (i, j), (down, right) in (
            (sums[0], self._tt, (0, 0)),
            (sums[1], self._te, (0, n_theta)),
            (sums[2], self._ee, (n_theta, n_theta)),
        ):
            H[:, i + down, j + right] = H[:, j + right, i + down] = values.T
        diagonal = np.arange(n_parameters)
        H[:, diagonal, diagonal] += self._ridge
        return H

    def _step(self, iterates: _Iterates, which=slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Newton's steps, and the gain that each predicts; see ``newton.Curvature``."""
        H, gradient = iterates.curvature[which], iterates.gradient[which]
        diagonal = np.abs(np.einsum("bii->bi", H))
        scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-12))
        H = H * scale[:, None, :] * scale[:, :, None]
        scaled = scale * gradient
        step, bad = np.empty_like(gradient), []
        for k, matrix in enumerate(H):
            lower, failed = dpotrf(matrix.T, lower=1, clean=0)
            if failed:
                bad.append(k)
            else:
                step[k] = dpotrs(lower, scaled[k], lower=1)[0]
        if bad:
            values, vectors = np.linalg.eigh(H[bad])
            along = np.einsum("bij,bi->bj", vectors, scaled[bad])
            along /= np.maximum(np.abs(values), LEAST_CURVATURE)
            step[bad] = np.einsum("bij,bj->bi", vectors, along)
        step *= scale
        return step, np.einsum("bi,bi->b", gradient, step)


def _log_sums(values: np.ndarray) -> np.ndarray:
    """Column sums of logarithms, with one logarithm for four of them."""
    quarter = len(values) // 4
    if not values.min(initial=1.0) > 1e-70:  # a product of four must not underflow
        return np.log(values).sum(axis=0)
    a, b, c, d = (values[i * quarter : (i + 1) * quarter] for i in range(4))
    a *= b
    c *= d
    a *= c
    return np.log(a).sum(axis=0) + np.log(values[4 * quarter :]).sum(axis=0)


def _first_size(step: np.ndarray) -> np.ndarray:
    return np.minimum(1.0, 10.0 / np.maximum(np.abs(step).max(axis=1), 1e-300))
