"""The arithmetic of one pass over a block of rows.

With ``E = exp(-eta)`` and ``f = 1 / (1 + E)``, for unlabelled rows

    P(s=0|x) = f (E + 1 - e),   q = (1 - d e) / (1 - d e + E),   f - q = f d e (1 - q),

for labelled ones ``P(s=1|x) = f e``, ``q = 1`` and ``f - q = -f E``. Differences are formed
without cancellation, which counts where f and q are near 1.

A loop compiled with numba was tried: 54 against 47 ns a row at 22 columns. NumPy stays.
"""

import numpy as np

MIN_LOGIT = -700.0  # exp(700) is still finite


def e_step(eta, e, not_e, labelled, weight, decay: float, aim, fresh, bend):
    """What a pass needs of each row, from its logit and its propensity.

    Parameters
    ----------
    eta : ndarray of shape (n,)
    e, not_e : ndarray of shape (n,) or (1,)
        Propensity and its complement.
    labelled : boolean ndarray of shape (n,)
    weight : ndarray of shape (n,) or None
    aim, fresh : ndarray of shape (n,)
        Weighted targets of the current M-step, read; those of this E-step, written.
    bend : ndarray of shape (n,) or None
        Written: ``w f (1 - f)``, the curvature of each row.

    Returns
    -------
    log_likelihood, expected positives : float
    surplus, left : ndarray of shape (n,)
        ``w (f - q)`` and ``w f - aim``, the residuals of the next M-step and of the current one.
    """
    E = np.maximum(eta, MIN_LOGIT)
    np.negative(E, out=E)
    np.exp(E, out=E)
    f = E + 1.0
    np.reciprocal(f, out=f)
    likelihood = np.where(labelled, e, E + not_e)
    likelihood *= f
    not_de = not_e + (1.0 - decay) * e
    both = not_de + E
    q = not_de / both
    surplus = E / both
    surplus *= decay * e
    if bend is not None:
        np.multiply(f, E, out=bend)  # 1 - f
    np.negative(E, out=E)
    surplus = np.where(labelled, E, surplus)
    surplus *= f
    if bend is not None:
        bend *= f
    np.copyto(fresh, np.where(labelled, 1.0, q))
    if weight is None:
        return sum_of_logs(likelihood), float(f.sum()), surplus, f - aim
    fresh *= weight
    surplus *= weight
    if bend is not None:
        bend *= weight
    f *= weight
    return float(weight @ np.log(likelihood)), float(f.sum()), surplus, f - aim


def sum_of_logs(values: np.ndarray) -> float:
    """``sum(log(values))`` of positive values, with one logarithm for four of them."""
    quarter = len(values) // 4
    if quarter == 0 or not values.min() > 1e-70:  # a product of four must not underflow
        return float(np.log(values).sum())
    product = values[:quarter] * values[quarter : 2 * quarter]
    product *= values[2 * quarter : 3 * quarter]
    product *= values[3 * quarter : 4 * quarter]
    return float(np.log(product).sum() + np.log(values[4 * quarter :]).sum())


def sigmoids(zeta):
    """``1 / (1 + exp(-zeta))`` and its complement, both with full relative precision."""
    odds = np.clip(zeta, MIN_LOGIT, -MIN_LOGIT)
    np.negative(odds, out=odds)
    np.exp(odds, out=odds)
    e = odds + 1.0
    np.reciprocal(e, out=e)
    odds *= e
    return e, odds
