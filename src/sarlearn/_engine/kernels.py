"""The arithmetic of one pass over a block of rows: in NumPy, or compiled (``on_demand``).

Products with a block, and the sums of a pass of EM, whose terms are those of ``likelihood.py``. A
parameter vector holds the coefficients, then the intercept.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sarlearn._engine import likelihood
from sarlearn._engine.likelihood import evidence_of_labels
from sarlearn._engine.on_demand import compiled, compiled_for

CACHED_ELEMENTS = 2**18  # of a matrix: 2 MB of float64
COMPILED_HESSIAN_COLUMNS = 64  # with more, BLAS is faster
NOTHING = np.empty(0)
NO_CODES = np.empty(0, dtype=np.intp)
NO_COLUMNS = {kind: np.empty((0, 0), dtype=kind) for kind in (np.float32, np.float64)}


def _alike(X, Xe) -> bool:
    """Whether a compiled pass over X takes these propensity attributes."""
    return isinstance(Xe, np.ndarray) and Xe.flags.c_contiguous and Xe.dtype == X.dtype


def _parts(X) -> tuple:
    return (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)


# -- products with a block of rows ---------------------------------------------------------------


def logits(X, theta: np.ndarray) -> np.ndarray:
    """``[X 1] theta``, for one vector or a matrix of columns."""
    fast = compiled_for(X) if theta.ndim == 1 else None
    if fast is None:
        eta = X @ theta[:-1]
        eta += theta[-1]
        return eta
    eta = np.empty(X.shape[0])
    (fast.csr_logits if sparse.issparse(X) else fast.logits)(*_parts(X), theta, eta)
    return eta


def with_intercept(X, r: np.ndarray) -> np.ndarray:
    """``[X 1]' r``: the gradient of the loss for row residuals ``r``."""
    out = np.empty(X.shape[1] + 1)
    out[:-1] = X.T @ r
    out[-1] = r.sum()
    return out


def gradients(X, u: np.ndarray, v: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """``[X 1]' u`` and ``[X 1]' v``, the gradients for two kinds of residuals, or twice for one."""
    if v is None:
        once = with_intercept(X, u)
        return once, once
    fast = compiled_for(X)
    if fast is None:
        return with_intercept(X, u), with_intercept(X, v)
    out = np.zeros((2, X.shape[1] + 1))
    (fast.csr_gradients if sparse.issparse(X) else fast.gradients)(*_parts(X), u, v, out)
    return out[0], out[1]


def hessian(X, h: np.ndarray) -> np.ndarray:
    """``[X 1]' diag(h) [X 1]``, for the curvatures of rows."""
    p = X.shape[1]
    out = np.empty((p + 1, p + 1))
    fast = compiled_for(X) if sparse.issparse(X) or p <= COMPILED_HESSIAN_COLUMNS else None
    if fast is not None:
        (fast.csr_hessian if sparse.issparse(X) else fast.hessian)(*_parts(X), h, out)
        return out
    out[:p, :p] = gram(X, h)
    out[p, :p] = out[:p, p] = X.T @ h
    out[p, p] = h.sum()
    return out


def hessian_product(X, h: np.ndarray, v: np.ndarray) -> np.ndarray:
    """``[X 1]' diag(h) [X 1] v``."""
    if sparse.issparse(X) and (fast := compiled_for(X)) is not None:
        out = np.empty(X.shape[1] + 1)
        fast.csr_hessian_product(*_parts(X), h, v, out)
        return out
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


def em_sums(
    X,
    theta,
    propensity: Propensities,
    labelled,
    weight,
    decay: float,
    target,
    new_target,
    curvature,
    propensity_curvature,
    observed: bool = False,
    audited=None,
) -> tuple:
    """What a pass needs of some rows, from their logits and their propensity.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, n_columns)
    theta : ndarray of shape (n_columns + 1,)
    propensity : Propensities
    labelled : boolean ndarray of shape (n,)
    weight : ndarray of shape (n,) or None
    target, new_target : ndarray of shape (n,)
        Weighted targets of the current M-step, read; those of this E-step, written. Without
        ``target`` no M-step is under way, and its gradients are those of the next one.
    curvature, propensity_curvature : ndarray of shape (n,) or None
        Written: complete curvatures of each row, times its weight.
    observed : bool
        Whether ``curvature`` is the observed one instead, which may be negative.
    audited : ndarray of shape (n,) or None
        Classes that are known, NaN elsewhere; such rows are not compiled.

    Returns
    -------
    log_likelihood, expected_positives : float
    positives : ndarray
        Sum of the new targets of each group; empty where each row has its own propensity.
    next_gradient, gradient : ndarray of shape (n_columns + 1,)
        For the residuals ``w (f - q)`` and ``w f - target``: of the next M-step and of the
        current one.
    next_propensity_gradient, propensity_gradient : ndarray
        Those of the propensity's model, if it has one: for ``w q (e - s)`` and ``target (e - s)``.
    """
    e, not_e, codes, Xe, theta_e = propensity
    grouped = codes is not None or len(e) == 1
    positives = np.zeros(len(e) if grouped else 0)
    fast = compiled_for(X) if audited is None else None
    if fast is not None and (Xe is None or _alike(X, Xe)):
        towards, e_towards = np.zeros((2, X.shape[1] + 1)), np.zeros((2, len(theta_e)))
        log_likelihood, expected = (fast.csr_em_sums if sparse.issparse(X) else fast.em_sums)(
            *_parts(X),
            theta,
            e,
            not_e,
            NO_CODES if codes is None else codes,
            labelled,
            NOTHING if weight is None else weight,
            decay,
            observed,
            np.zeros(len(new_target)) if target is None else target,
            new_target,
            NOTHING if curvature is None else curvature,
            positives,
            towards,
            NO_COLUMNS[X.dtype.type] if Xe is None else Xe,
            theta_e,
            NOTHING if propensity_curvature is None else propensity_curvature,
            e_towards,
        )
        if target is None:
            towards[1], e_towards[1] = towards[0], e_towards[0]
        sums = log_likelihood, expected, positives, *towards
        return sums if Xe is None else (*sums, *e_towards)
    if Xe is not None:
        e, not_e = sigmoids(logits(Xe, theta_e))
    elif codes is not None:
        e, not_e = e[codes], not_e[codes]
    f, not_f = likelihood.sigmoids(logits(X, theta))
    found = likelihood.terms(f, not_f, evidence_of_labels(e, not_e, labelled, decay, audited))
    if curvature is not None:
        curvature[:] = likelihood.class_curvature(f, not_f, found, observed=observed)
    new_target[:] = found.target
    residual = found.residual
    if weight is not None:
        for values in (f, new_target, residual):
            values *= weight
        if curvature is not None:
            curvature *= weight
    if codes is not None:
        positives += np.bincount(codes, weights=new_target, minlength=len(positives))
    else:
        positives[:] = new_target.sum()
    value = likelihood.log_likelihood(found.chance, weight)
    sums = value, float(f.sum()), positives
    sums += gradients(X, residual, None if target is None else f - target)
    if Xe is None:
        return sums
    if propensity_curvature is not None:
        propensity_curvature[:] = likelihood.propensity_curvature(new_target, e, not_e)
    following = likelihood.propensity_residual(new_target, e, not_e, labelled)
    if target is None:
        return sums + gradients(Xe, following, None)
    current = likelihood.propensity_residual(target, e, not_e, labelled)
    return sums + gradients(Xe, following, current)


# -- row by row ----------------------------------------------------------------------------------


def logistic_terms(eta, target, weight, with_curvature: bool):
    """Loss, residuals ``w (f - t)`` and curvatures ``w f (1 - f)`` of rows with targets ``t``.

    The loss is ``sum(w (log(1 + exp(eta)) - t eta))``; curvatures are None unless asked for.
    """
    fast, curvature = compiled(), None
    if fast is not None:
        residual, room = np.empty(len(eta)), np.empty(len(eta) if with_curvature else 0)
        weights = NOTHING if weight is None else weight
        value = fast.logistic_terms(eta, target, weights, residual, room)
        return value, residual, room if with_curvature else None
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


def sigmoids(zeta):
    """``1 / (1 + exp(-zeta))`` and its complement, both with full relative precision."""
    fast = compiled()
    if fast is not None:
        e, not_e = np.empty(zeta.shape), np.empty(zeta.shape)
        fast.sigmoids(np.ravel(zeta), np.ravel(e), np.ravel(not_e))
        return e, not_e
    return likelihood.sigmoids(zeta)
