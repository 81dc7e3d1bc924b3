"""The likelihood of what was seen of a row, and its derivatives by the two logits.

A row is positive with probability ``f = sigmoid(eta)``. What was seen of it has the probability
``positive`` if it is, and ``negative`` if it is not:

    P(seen|x) = f positive + (1 - f) negative,   q = f positive / P(seen|x),

with the posterior ``q``, the target of the M-step. For one label, with the propensity
``e = sigmoid(zeta)``: a labelled row has ``positive = e, negative = 0``, an unlabelled one
``positive = 1 - e, negative = 1``. Where someone has looked and found the class, the other class is
impossible: ``negative = 0`` or ``positive = 0``. The derivatives of ``-log P(seen|x)`` are

    by eta                f - q
    twice by eta          (f - q) (1 - f - q)        observed
                          f (1 - f)                  complete: as if the class were known
    by zeta               q (e - s)
    twice by zeta         q e (1 - e) - q (1 - q) (s - e)^2,   complete q e (1 - e)
    by eta and zeta       q (1 - q) (e - s)

and every other kind of evidence differs in ``positive`` and ``negative`` alone. Complements are
arguments, never differences: where f, e or q are near 1, what counts is their distance from it.

The compiled pass in ``compiled.py`` is the only other copy; a test compares the two over the whole
range of logits.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# The one clip of logits: a product of two probabilities at it is still above the smallest double.
LIMIT = 350.0


def sigmoids(logit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``sigmoid(logit)`` and its complement, both with full relative precision."""
    odds = np.maximum(logit, -LIMIT)  # np.clip does the same, and takes longer for few rows
    np.minimum(odds, LIMIT, out=odds)
    np.negative(odds, out=odds)
    np.exp(odds, out=odds)
    p = odds + 1.0
    np.reciprocal(p, out=p)
    odds *= p
    return p, odds


class Evidence(NamedTuple):
    """How probable what was seen of each row is, by its class.

    ``decayed`` is the probability in the place of ``positive`` from which the target is formed: the
    paper's decay makes an unlabelled positive more probable than it is. ``surplus`` is
    ``negative - decayed``, without cancellation.
    """

    positive: np.ndarray
    negative: np.ndarray
    decayed: np.ndarray
    surplus: np.ndarray


def evidence_of_labels(e, not_e, labelled, decay: float = 1.0, audited=None) -> Evidence:
    """Of rows that are labelled or not, for propensities and their complements.

    For a labelled row only the class matters to the target: ``decayed`` is 1 in place of e.
    ``audited`` is the class, 1 or 0, of rows that someone has looked at, and NaN of others.
    """
    s = labelled.astype(float)
    hidden = 1.0 - s
    seen = Evidence(
        positive=s * e + hidden * not_e,
        negative=hidden,
        decayed=s + hidden * (not_e + (1.0 - decay) * e),
        surplus=hidden * (decay * e) - s,
    )
    if audited is not None:
        _exclude(seen, audited)
    return seen


def _exclude(seen: Evidence, audited: np.ndarray) -> None:
    """Make the class impossible that an audit has ruled out; for the target only that matters."""
    found, ruled_out = audited == 1, audited == 0
    seen.negative[found], seen.decayed[found], seen.surplus[found] = 0.0, 1.0, -1.0
    seen.positive[ruled_out], seen.decayed[ruled_out], seen.surplus[ruled_out] = 0.0, 0.0, 1.0


class Terms(NamedTuple):
    """What each row contributes at some logits.

    Attributes
    ----------
    chance : ndarray
        ``P(seen|x)``.
    target, not_target : ndarray
        The posterior ``q`` and its complement.
    residual : ndarray
        ``f - q``, the derivative of ``-log P(seen|x)`` by the class logit (where nothing decays).
    """

    chance: np.ndarray
    target: np.ndarray
    not_target: np.ndarray
    residual: np.ndarray


def chance(f, not_f, positive, negative) -> np.ndarray:
    """``P(seen|x)``."""
    return f * positive + not_f * negative


def terms(f, not_f, seen: Evidence) -> Terms:
    """The terms of rows with class probabilities ``f`` and their complements."""
    missed = not_f * seen.negative
    found = f * seen.decayed
    both = found + missed
    chance = f * seen.positive
    chance += missed
    residual = f * not_f
    residual *= seen.surplus
    residual /= both
    # By division, not by the reciprocal: where nothing speaks for a negative, q is 1 exactly.
    found /= both
    missed /= both
    return Terms(chance, found, missed, residual)


def class_curvature(f, not_f, found: Terms, *, observed: bool) -> np.ndarray:
    """Second derivative by the class logit; the observed one may be negative."""
    return found.residual * (not_f - found.target) if observed else f * not_f


def propensity_residual(target, e, not_e, labelled) -> np.ndarray:
    """Derivative by the propensity logit: ``q (e - s)``."""
    return target * np.where(labelled, -not_e, e)


def propensity_curvature(target, e, not_e) -> np.ndarray:
    """Second derivative by the propensity logit, complete: ``q e (1 - e)``."""
    return target * (e * not_e)


def label_odds(f, not_f, e, not_e) -> np.ndarray:
    """``P(s=1|x) / P(s=0|x)``."""
    return f * e / (not_f + f * not_e)


def label_residual(odds: np.ndarray, labelled) -> np.ndarray:
    """Derivative of ``log P(s|x)`` by ``log(f e)``; times ``1 - f`` or ``1 - e``, by a logit."""
    return np.where(labelled, 1.0, -odds)


def log_chance(f, e, labelled) -> np.ndarray:
    """``log P(s|x)`` of each row, from probabilities that are numbers, with ``-inf`` for log(0).

    Logs are added, not multiplied: ``f e`` underflows for values that each are fine. Near
    ``f e = 1`` the product's rounding would swamp ``1 - f e``; the sum of two small terms has no
    cancellation. Near 0 ``log1p`` keeps the digits that ``1 - f e`` would lose.
    """
    with np.errstate(divide="ignore"):
        both = f * e
        near_one = np.log((1 - f) + f * (1 - e))
        unlabelled = np.where(both > 0.5, near_one, np.log1p(-np.minimum(both, 0.5)))
        return np.where(labelled, np.log(f) + np.log(e), unlabelled)


def log_likelihood(chance: np.ndarray, weight: np.ndarray | None) -> float:
    """``sum(w log P(seen|x))``."""
    if weight is None:
        return sum_of_logs(chance)
    return float(weight @ np.log(chance))


def sum_of_logs(values: np.ndarray) -> float:
    """``sum(log(values))`` of positive values, with one logarithm for four of them."""
    quarter = len(values) // 4
    if quarter == 0 or not values.min() > 1e-70:  # a product of four must not underflow
        return float(np.log(values).sum())
    product = values[:quarter] * values[quarter : 2 * quarter]
    product *= values[2 * quarter : 3 * quarter]
    product *= values[3 * quarter : 4 * quarter]
    return float(np.log(product).sum() + np.log(values[4 * quarter :]).sum())


def shift_for_mean(
    mean_at: Callable[[float], tuple[float, float]], mean: float, *, tol: float, max_iter: int = 200
) -> float:
    """What to add to logits for the mean of their probabilities to be ``mean``.

    Newton's method between bounds, until the mean is that near. ``mean_at`` gives the mean and its
    derivative at a shift, see :func:`mean_of_sigmoids`.
    """
    shift, low, high, max_step = 0.0, -np.inf, np.inf, 2.0
    for _ in range(max_iter):
        value, derivative = mean_at(shift)
        low, high = (low, shift) if value > mean else (shift, high)
        step = (mean - value) / max(derivative, 1e-300)
        if abs(step) > max_step:
            step, max_step = float(np.copysign(max_step, step)), 2 * max_step
        new = shift + step
        last, shift = shift, new if low <= new <= high else (low + high) / 2
        if abs(value - mean) <= tol or shift == last:
            break
    return float(shift)


def mean_of_sigmoids(eta: np.ndarray, weight=None) -> Callable[[float], tuple[float, float]]:
    """The mean probability of logits in memory, and its derivative, as functions of a shift."""

    def mean_at(shift: float) -> tuple[float, float]:
        f, not_f = sigmoids(eta + shift)
        return float(np.average(f, weights=weight)), float(np.average(f * not_f, weights=weight))

    return mean_at
