"""Held-out scores of a flexible model, by ridge regression on kernel features.

A model that knows nothing of ``f`` and ``e`` and is as curved as the data. It is linear in
features of its own (Nystroem's of a Gaussian kernel), so the prediction of every row by a fit
without it has a closed form: one decomposition gives them all, for every penalty and target.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.special import logit

# Rows whose kernels are the features. 200 serve 1,500 rows as well as boosted trees do.
N_CENTRES = 200
# Widths of the kernel, in units of the number of columns; and penalties.
WIDTHS = (0.3, 1.0)
PENALTIES = (0.1, 1.0, 10.0)
# Standardised values are cut here: a kernel sees nothing but its neighbours.
CUT = 3.0
# Predictions of a regression may leave (0, 1).
LEAST = 1e-3


def kernel_scores(X: np.ndarray, targets: Sequence, weight=None, *, order=None) -> np.ndarray:
    """Held-out logits of the mean of each target, of the width and penalty that predict it best.

    The labels themselves give ``P(s=1|x)``; labels divided by the propensity give ``f``, since
    the mean of ``s/e`` at ``x`` is ``f(x)``.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Standardised columns.
    targets : sequence of ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
    order : ndarray of shape (n_rows,), default=None
        The centres are spread evenly over rows sorted by it, so that they depend neither on the
        order in which rows come nor on whether a row is weighted or repeated. None: as they come.

    Returns
    -------
    ndarray of shape (n_rows, n_targets)
    """
    Z = np.clip(X, -CUT, CUT)
    centres = Z[_spread(np.arange(len(Z)) if order is None else order, weight)]
    models = (_nystroem(Z, centres, width / max(Z.shape[1], 1)) for width in WIDTHS)
    return _best_logits(models, targets, weight)


def _spread(order: np.ndarray, weight) -> np.ndarray:
    """Rows at evenly spaced quantiles of ``order``."""
    rows = np.argsort(order, kind="stable")
    total = np.cumsum(np.ones(len(rows)) if weight is None else weight[rows])
    wanted = (np.arange(N_CENTRES) + 0.5) / N_CENTRES * total[-1]
    return rows[np.unique(np.searchsorted(total, wanted))]


def linear_scores(X: np.ndarray, targets: Sequence, weight=None) -> np.ndarray:
    """The same of a model that is linear in the columns."""
    return _best_logits([(X.copy(), np.eye(X.shape[1]))], targets, weight)


def _best_logits(models, targets: Sequence, weight) -> np.ndarray:
    best: list[tuple[float, np.ndarray]] = []
    for columns, basis in models:
        found = _held_out(columns, basis, targets, weight)
        pairs = zip(best, found, strict=True)
        best = [min(pair, key=lambda scored: scored[0]) for pair in pairs] if best else found
    return logit(np.clip(np.column_stack([scores for _, scores in best]), LEAST, 1 - LEAST))


def _held_out(columns, basis, targets, weight) -> list[tuple[float, np.ndarray]]:
    """For each target the least squared error of a penalty, and every row predicted without it.

    Features are ``columns @ basis``, and are never made: products of the columns give their
    covariances. With ``m`` the fit to all rows and ``h`` its leverages, row ``i`` without itself is
    predicted as ``(m_i - h_i t_i) / (1 - h_i)``. ``columns`` are overwritten.
    """
    columns -= np.average(columns, axis=0, weights=weight)
    scaled = columns if weight is None else columns * np.sqrt(weight)[:, None]
    values, vectors = np.linalg.eigh(basis.T @ (scaled.T @ scaled) @ basis)
    rotated = columns @ (basis @ vectors)
    weight = np.ones(len(columns)) if weight is None else weight
    given = np.column_stack([np.asarray(target, dtype=float) for target in targets])
    means = np.average(given, axis=0, weights=weight)
    centred = given - means
    kept = 1 / (np.maximum(values, 0.0)[:, None] + np.array(PENALTIES))
    slopes = rotated.T @ (weight[:, None] * centred)
    fits = [rotated @ (kept * slope[:, None]) for slope in slopes.T]
    np.square(rotated, out=rotated)
    leverages = np.minimum(weight[:, None] * (rotated @ kept + 1 / weight.sum()), 0.999)
    found = []
    for fit, target, mean in zip(fits, centred.T, means, strict=True):
        out = (fit - leverages * target[:, None]) / (1 - leverages)
        errors = np.average((out - target[:, None]) ** 2, axis=0, weights=weight)
        best = int(np.argmin(errors))
        found.append((float(errors[best]), out[:, best] + mean))
    return found


def standardised(X, weight=None) -> np.ndarray:
    """Dense columns of mean 0 and deviation 1; a constant one is 0."""
    dense = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
    size = np.abs(dense).max(axis=0, initial=0.0)
    dense = dense / np.where(size > 0, size, 1.0)  # squares of it are neither too large nor lost
    centred = dense - np.average(dense, axis=0, weights=weight)
    spread = np.sqrt(np.average(centred**2, axis=0, weights=weight))
    return centred / np.where(spread > 1e-12, spread, 1.0)


def _nystroem(Z: np.ndarray, centres: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Kernels with the centres, and the basis in which they are Nystroem's features.

    Products of the features are the kernel's values among the centres.
    """
    values, vectors = np.linalg.eigh(_kernel(centres, centres, width))
    kept = values > 1e-8 * values[-1]
    return _kernel(Z, centres, width), vectors[:, kept] / np.sqrt(values[kept])


def _kernel(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    distance = a @ (-2 * b.T)
    distance += (a**2).sum(axis=1)[:, None]
    distance += (b**2).sum(axis=1)
    np.maximum(distance, 0.0, out=distance)
    distance *= -width
    return np.exp(distance, out=distance)
