"""Links: a probability from a linear predictor, with the derivatives that a likelihood needs."""

from typing import NamedTuple

import numpy as np

from sarlearn._engine.likelihood import sigmoids

# Rates between these are all that probabilities above 1e-100 need.
_LOG_RATES = -230.0, 5.4


class LinkTerms(NamedTuple):
    """Of each predictor: the probability and its complement, and derivatives.

    ``slope`` is that of ``log p``, ``not_slope`` that of ``log(1 - p)``, ``information`` the
    expected curvature ``p'^2 / (p (1 - p))``.
    """

    p: np.ndarray
    not_p: np.ndarray
    slope: np.ndarray
    not_slope: np.ndarray
    information: np.ndarray


def logit(predictor: np.ndarray) -> LinkTerms:
    """``log(p / (1 - p))``: odds."""
    p, not_p = sigmoids(predictor)
    return LinkTerms(p, not_p, not_p, -p, p * not_p)


def cloglog(predictor: np.ndarray) -> LinkTerms:
    """``log(-log(1 - p))``: a constant rate during an exposure; its offset is ``log(exposure)``."""
    rate = np.exp(np.clip(predictor, *_LOG_RATES))
    p, not_p = -np.expm1(-rate), np.exp(-rate)
    slope = rate * not_p / p
    return LinkTerms(p, not_p, slope, -rate, rate * slope)


LINKS = {"logit": logit, "cloglog": cloglog}
INVERSES = {
    "logit": lambda p: np.log(p / (1 - p)),
    "cloglog": lambda p: np.log(-np.log1p(-p)),
}
