"""Estimates by inverse propensity, each with the influence of every row on it.

``v`` is ``s / e``, which stands for the true class; the influences give the standard error.
"""

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from sarlearn.exceptions import warn


def recall(v, predicted):
    return _quotient(v * predicted, v, "recall", "no row is labelled")


def precision(v, predicted):
    return _quotient(v * predicted, predicted * 1.0, "precision", "no row is predicted positive")


def f1(v, predicted):
    return _quotient(2 * v * predicted, v + predicted, "F1", "no row is labelled or predicted")


def accuracy(v, predicted):
    right = np.where(predicted, v, 1 - v)
    return float(right.mean()), right - right.mean()


def brier(v, p):
    loss = v * (1 - p) ** 2 + (1 - v) * p**2
    return float(loss.mean()), loss - loss.mean()


def _quotient(numerator, denominator, what: str, reason: str):
    bottom = float(denominator.mean())
    if bottom == 0:
        warn(UndefinedMetricWarning(f"{what} is undefined and set to 0: {reason}."))
        return 0.0, np.zeros(len(numerator))
    value = float(numerator.mean()) / bottom
    return value, (numerator - value * denominator) / bottom


def roc_auc(v, p):
    n = len(v)
    rank = _Ranks(p)
    u = 1 - v
    below = rank.below(u) + (rank.equal(u) - u) / 2  # weight of negatives each row beats
    above = rank.above(v) + (rank.equal(v) - v) / 2
    pairs = n * (n - 1)
    numerator = float(v @ below) / pairs
    # Of distinct rows only: v (1 - v) of one row is not the product of two.
    denominator = float(v.sum() * u.sum() - v @ u) / pairs
    value = numerator / denominator
    influence_top = (v * below + u * above) / (n - 1) - 2 * numerator
    influence_bottom = (v * (u.sum() - u) + u * (v.sum() - v)) / (n - 1) - 2 * denominator
    return value, (influence_top - value * influence_bottom) / denominator


def average_precision(v, p):
    n = len(v)
    rank = _Ranks(p)
    ahead = rank.above(np.ones(n)) + rank.equal(np.ones(n))  # rows scored as high, itself too
    others = rank.above(v) + rank.equal(v) - v
    # y_i y_i is y_i, estimated by v_i: v_i^2 would count too much.
    precision = (1 + others) / ahead
    prior = float(v.mean())
    top = float(np.mean(v * precision))
    value = top / prior
    # A row also changes the precision at every row scored no higher.
    share = ahead / n
    level = (v + others) / ahead
    first = (rank.below(v / share) + rank.equal(v / share)) / n
    second = (rank.below(v * level / share) + rank.equal(v * level / share)) / n
    through = v * first - second
    influence = v * level - np.mean(v * level) + through - through.mean()
    return value, (influence - value * (v - prior)) / prior


class _Ranks:
    """Sums of a weight over the rows scored below, equal to and above each row."""

    def __init__(self, p):
        _, self._code = np.unique(p, return_inverse=True)

    def _by_value(self, weight):
        return np.bincount(self._code, weights=weight)

    def equal(self, weight):
        return self._by_value(weight)[self._code]

    def below(self, weight):
        sums = self._by_value(weight)
        return (np.cumsum(sums) - sums)[self._code]

    def above(self, weight):
        sums = self._by_value(weight)
        return (np.cumsum(sums[::-1])[::-1] - sums)[self._code]


def standard_error(influence: np.ndarray) -> float:
    return float(np.sqrt(np.mean(influence**2) / len(influence)))
