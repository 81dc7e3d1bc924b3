"""How labels are drawn on a fully labelled table.

``scar``
    Every positive with the same probability.
``one``, ``strong``, ``weak``
    Logistic in one column of slope 1.5, in three columns of slope 1.5, or in three of slope 0.5,
    each per standard deviation, with random signs.
``geometric``
    A geometric mean over two to five columns from 0.1 to 0.9, each rising or falling.
``spread``
    Class prior and label frequency are drawn evenly from PRIORS and FREQUENCIES; rows of one class
    are left out to reach the first; labelling is logistic in one to three columns.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from ..harness.cells import seed_from

PRIORS = (0.01, 0.03, 0.06, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
FREQUENCIES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)
# With fewer labels there is nothing to learn from.
LEAST_LABELS = 15


class Case(NamedTuple):
    """What a learner is given, and the truth."""

    X: np.ndarray
    s: np.ndarray
    named: list[int]
    y: np.ndarray
    propensity: np.ndarray


def draw(X: np.ndarray, y: np.ndarray, case: str, seed: int, max_rows: int) -> Case:
    """Rows of a table, and labels for them."""
    rng = np.random.default_rng(seed_from("learner", case, seed))
    rows = rng.permutation(len(y))
    if case == "spread":
        return _spread(X[rows], y[rows], rng, max_rows)
    rows = rows[:max_rows]
    X, y = X[rows], y[rows]
    X = X[:, (X[0] != X).any(axis=0)]
    named, e = _propensity(X, y, case, rng, 0.5)
    return Case(X, y & (rng.random(len(y)) < e), named, y, e)


def _spread(X, y, rng, max_rows: int) -> Case:
    for _ in range(100):
        prior, frequency = rng.choice(PRIORS), rng.choice(FREQUENCIES)
        positives, negatives = np.flatnonzero(y), np.flatnonzero(~y)
        n = int(min(max_rows, len(positives) / prior, len(negatives) / (1 - prior)))
        n_positive = round(n * prior)
        if n >= 200 and n_positive * frequency >= LEAST_LABELS:
            break
    rows = np.concatenate([positives[:n_positive], negatives[: n - n_positive]])
    rows = rng.permutation(rows)
    X, y = X[rows], y[rows]
    X = X[:, (X[0] != X).any(axis=0)]
    kind = str(rng.choice(["scar", "one", "strong", "weak"], p=[0.2, 0.3, 0.3, 0.2]))
    named, e = _propensity(X, y, kind, rng, float(frequency))
    return Case(X, y & (rng.random(len(y)) < e), named, y, e)


def _propensity(X, y, kind: str, rng, frequency: float) -> tuple[list[int], np.ndarray]:
    """The columns that drive labelling, and the propensity of each row."""
    if kind == "scar":
        return [], np.full(len(y), frequency)
    usual = np.flatnonzero(_rarest_half(X) >= 0.05)
    most = min(3, max(X.shape[1] - 1, 1))
    pool = usual if len(usual) > most else np.arange(X.shape[1])
    if kind == "geometric":
        count = min(int(rng.integers(2, 6)), len(pool), max(X.shape[1] - 1, 1))
        columns = rng.permutation(pool)[:count]
        low, high = X[:, columns].min(axis=0), X[:, columns].max(axis=0)
        share = (X[:, columns] - low) / np.where(high > low, high - low, 1)
        share = np.where(rng.random(count) < 0.5, share, 1 - share)
        return columns.tolist(), np.exp(np.log(0.1 + 0.8 * share).mean(axis=1))
    count = 1 if kind == "one" else min(most, len(pool))
    columns = rng.permutation(pool)[:count]
    Z = np.clip((X[:, columns] - X[:, columns].mean(axis=0)) / X[:, columns].std(axis=0), -4, 4)
    slope = 0.5 if kind == "weak" else 1.5
    eta = Z @ (slope * rng.choice([-1.0, 1.0], count))
    shift = brentq(lambda b: expit(eta[y] + b).mean() - frequency, -30, 30)
    return columns.tolist(), expit(eta + shift)


def _rarest_half(X: np.ndarray) -> np.ndarray:
    middle = (X.min(axis=0) + X.max(axis=0)) / 2
    above = (middle < X).mean(axis=0)
    return np.minimum(above, 1 - above)
