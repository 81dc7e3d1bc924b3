"""The arithmetic of one pass over a block of rows.

Products with a block, and the sums of a pass of EM, whose terms are those of ``likelihood.py``; the
latter also compiled (``compiled.py``), for many rows. A parameter vector holds the coefficients,
then the intercept.
"""

import functools
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from sarlearn._engine import likelihood
from sarlearn._engine.likelihood import evidence_of_labels, sigmoids

if TYPE_CHECKING:
    from sarlearn._engine.blocks import Block

CACHED_ELEMENTS = 2**18  # of a matrix: 2 MB of float64
NOTHING: np.ndarray = np.empty(0)


# -- products with a block of rows ---------------------------------------------------------------


def logits(X, theta: np.ndarray) -> np.ndarray:
    """``[X 1] theta``, for one vector or a matrix of columns."""
    eta = X @ theta[:-1]
    eta += theta[-1]
    return eta


def with_intercept(X, r: np.ndarray) -> np.ndarray:
    """``[X 1]' r``: the gradient of the loss for row residuals ``r``."""
    out = np.empty(X.shape[1] + 1)
    out[:-1] = X.T @ r
    out[-1] = r.sum()
    return out


def hessian(X, h: np.ndarray) -> np.ndarray:
    """``[X 1]' diag(h) [X 1]``, for the curvatures of rows."""
    p = X.shape[1]
    out = np.empty((p + 1, p + 1))
    out[:p, :p] = gram(X, h)
    out[p, :p] = out[:p, p] = X.T @ h
    out[p, p] = h.sum()
    return out


def hessian_product(X, h: np.ndarray, v: np.ndarray) -> np.ndarray:
    """``[X 1]' diag(h) [X 1] v``."""
    return with_intercept(X, h * logits(X, v))


def gram(X, h: np.ndarray) -> np.ndarray:
    """``X' diag(h) X``.

    Scaling by ``sqrt(h)`` makes it a symmetric product, for which BLAS does half the work.
    Dense rows go through the cache in parts.
    """
    root, negative = np.sqrt(np.abs(h)), np.flatnonzero(h < 0)
    if len(negative):  # theirs count as positive below, and are taken away twice
        return gram(X, np.abs(h)) - 2 * gram(X[negative], -h[negative])
    if sparse.issparse(X):
        data = X.data * np.repeat(root, np.diff(X.indptr))
        scaled = sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
        return (scaled.T @ scaled).toarray()
    out = np.zeros((X.shape[1], X.shape[1]))
    step = max(CACHED_ELEMENTS // max(X.shape[1], 1), 512)
    for start in range(0, X.shape[0], step):
        scaled = X[start : start + step] * root[start : start + step, None]
        out += scaled.T @ scaled
    return out


def gram_diagonal(X, h: np.ndarray) -> np.ndarray:
    """The diagonal of ``X' diag(h) X``."""
    if not sparse.issparse(X):
        return h @ (X * X)
    squared = sparse.csr_array((X.data * X.data, X.indices, X.indptr), shape=X.shape)
    return squared.T @ h


# -- a pass of EM --------------------------------------------------------------------------------


class Propensities(NamedTuple):
    """The propensity of some rows, given or as a model of their attributes.

    Parameters
    ----------
    e, not_e : ndarray of shape (n,), (1,) or (n_groups,)
        Propensity and its complement: of each row, of all rows, or of each group.
    codes : ndarray of shape (n,)
        The group of each row.
    X, theta : attributes and parameters of a logistic model, instead.
    """

    e: np.ndarray = NOTHING
    not_e: np.ndarray = NOTHING
    codes: np.ndarray | None = None
    X: Any = None
    theta: np.ndarray = NOTHING


class Written(NamedTuple):
    """What a pass writes of each row: its targets and, where wanted, its curvatures.

    Parameters
    ----------
    target : ndarray of shape (n,)
        Of the E-step, times the weight.
    curvature, propensity_curvature : ndarray of shape (n,) or None
        Complete, times the weight.
    observed : bool
        Whether ``curvature`` is the observed one instead, which may be negative.
    """

    target: np.ndarray
    curvature: np.ndarray | None = None
    propensity_curvature: np.ndarray | None = None
    observed: bool = False


def em_sums(
    block: "Block",
    theta: np.ndarray,
    propensity: Propensities,
    decay: float,
    held: np.ndarray | None,
    out: Written,
    *,
    compiled: bool = False,
) -> tuple:
    """What a pass of EM needs of some rows, from their logits and their propensity.

    Parameters
    ----------
    block : Block
        With labels, and weights and known classes if there are any.
    theta : ndarray of shape (n_columns + 1,)
    propensity : Propensities
    decay : float
    held : ndarray of shape (n,) or None
        Weighted targets of the M-step under way. Where none is, its gradients are those of the
        next one.
    out : Written
    compiled : bool
        Whether to use the compiled pass, where it is to be had and takes these rows.

    Returns
    -------
    log_likelihood, expected_positives : float
    positives : ndarray
        Sum of the new targets of each group; empty where each row has its own propensity.
    next_gradient, gradient : ndarray of shape (n_columns + 1,)
        For the residuals ``w (f - q)`` and ``w f - held``: of the next M-step and of the current
        one.
    next_propensity_gradient, propensity_gradient : ndarray or None
        Those of the propensity's model, if it has one: for ``w q (e - s)`` and ``held (e - s)``.
    """
    e, not_e, codes, Xe, theta_e = propensity
    if Xe is not None:
        e, not_e = sigmoids(logits(Xe, theta_e))
    elif codes is not None:
        e, not_e = e[codes], not_e[codes]
    fast = compiled_module() if compiled and _is_compilable(block) else None
    run = _numpy_sums if fast is None else functools.partial(_compiled_sums, fast)
    value, expected, following, current = run(block, theta, e, not_e, decay, held, out)
    target, positives = out.target, NOTHING
    if codes is not None:
        positives = np.bincount(codes, weights=target, minlength=len(propensity.e))
    elif len(propensity.e) == 1:
        positives = np.array([target.sum()])
    sums = value, expected, positives, following, current
    if Xe is None:
        return *sums, None, None
    if out.propensity_curvature is not None:
        out.propensity_curvature[:] = likelihood.propensity_curvature(target, e, not_e)

    def gradient(target):
        return with_intercept(Xe, likelihood.propensity_residual(target, e, not_e, block.labelled))

    following = gradient(target)
    return *sums, following, following if held is None else gradient(held)


def _numpy_sums(block, theta, e, not_e, decay, held, out) -> tuple:
    X, labelled, weight = block.X, block.labelled, block.weight
    f, not_f = sigmoids(logits(X, theta))
    found = likelihood.terms(f, not_f, evidence_of_labels(e, not_e, labelled, decay, block.audited))
    target, curvature, residual = out.target, out.curvature, found.residual
    if curvature is not None:
        curvature[:] = likelihood.class_curvature(f, not_f, found, observed=out.observed)
    target[:] = found.target
    if weight is not None:
        for values in (f, target, residual):
            values *= weight
        if curvature is not None:
            curvature *= weight
    value = likelihood.log_likelihood(found.chance, weight)
    following = with_intercept(X, residual)
    current = following if held is None else with_intercept(X, f - held)
    return value, float(f.sum()), following, current


@functools.cache
def compiled_module() -> ModuleType | None:
    """The compiled pass; None where there is no numba, or it cannot keep what it compiles."""
    try:
        from sarlearn._engine import compiled
    except (ImportError, RuntimeError):
        return None
    # A numba that is told to compile nothing leaves functions as they are.
    return compiled if hasattr(compiled.em_sums, "signatures") else None


def _is_compilable(block: "Block") -> bool:
    """Whether the compiled pass takes these rows."""
    X = block.matrix
    fits = isinstance(X, np.ndarray) and X.flags.c_contiguous
    return fits and X.dtype in (np.float64, np.float32) and block.audited is None


def _compiled_sums(fast, block, theta, e, not_e, decay, held, out) -> tuple:
    n, gradients = block.n_rows, np.zeros((2, len(theta)))
    # numba compiles a function for each combination of types, whether arrays may be written to
    # among them: all that are read are read-only, and those that are not there are empty.
    e, not_e = (np.ascontiguousarray(np.broadcast_to(values, n)) for values in (e, not_e))
    X, theta, *seen, held_targets = _read_only(
        block.matrix,
        theta,
        e,
        not_e,
        block.labelled,
        _or_nothing(block.weight),
        np.zeros(n) if held is None else held,
    )
    written = out.target, _or_nothing(out.curvature)
    settings = float(decay), bool(out.observed)
    sums = fast.em_sums(X, theta, tuple(seen), held_targets, written, gradients, *settings)
    return *sums, gradients[0], gradients[0 if held is None else 1]


def _or_nothing(values: np.ndarray | None) -> np.ndarray:
    return NOTHING if values is None else values


def _read_only(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    views = tuple(array.view() for array in arrays)
    for view in views:
        view.flags.writeable = False
    return views


# -- row by row ----------------------------------------------------------------------------------


def logistic_terms(eta, target, weight, with_curvature: bool):
    """Loss, residuals ``w (f - t)`` and curvatures ``w f (1 - f)`` of rows with targets ``t``.

    The loss is ``sum(w (log(1 + exp(eta)) - t eta))``; curvatures are None unless asked for.
    """
    curvature = None
    small = np.exp(-np.minimum(np.abs(eta), likelihood.LIMIT))
    loss = np.maximum(eta, 0.0) + np.log1p(small) - target * eta
    minor = small / (1.0 + small)  # the smaller of f and 1 - f
    # f - t without cancellation
    residual = np.where(eta >= 0, (1.0 - target) - minor, minor - target)
    if with_curvature:
        curvature = minor / (1.0 + small)
    if weight is not None:
        loss *= weight
        residual *= weight
        if curvature is not None:
            curvature *= weight
    return float(loss.sum()), residual, curvature
