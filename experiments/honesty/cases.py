"""The cases of the benchmark: how labels are drawn, and what is done to the columns.

``geometric``
    A geometric mean over three to five columns from 0.2 to 0.8, each rising or falling; all named.
``logistic``
    Logistic in three to five standardised columns, slopes drawn from a normal distribution, half
    of the positives labelled on average; all named.
``few labels``
    Geometric over one to three columns from 0.05 to 0.3; all named.
``swapped``
    Geometric from 0.1 to 0.9 over the three columns that tell the class best, in their direction.
``driver left out``
    Geometric over three columns from 0.1 to 0.9; one of them is not named.
``heavy tails``
    Geometric; then every column with more than ten values becomes ``exp(1.5 z)``, with ``z`` the
    standardised column.
``weak signal``
    Geometric; then every other column loses most of its signal to noise three times its size.
``leak``, ``noisy leak``
    Geometric; a column that follows from the label is added, exact or wrong in 3 % of the rows.
"""

from typing import NamedTuple

import numpy as np

from sarlearn.labelling import GeometricLabelling, LogisticLabelling, label

from ..harness.cells import seed_from
from .tables import Table


class Case(NamedTuple):
    """What a learner is given, and the truth."""

    X: np.ndarray
    s: np.ndarray
    named: list[int]
    y: np.ndarray
    propensity: np.ndarray


def draw(table: Table, case: str, seed: int) -> Case:
    """Labels for a table, and the columns as the learner is to see them."""
    rng = np.random.default_rng(seed_from("case", case, seed))
    X, y = table
    columns = _columns(table, case, rng)
    if case == "logistic":
        scale = X[:, columns].std(axis=0)
        coef = rng.normal(0, 1.0, len(columns)) / scale
        mechanism = LogisticLabelling(columns, coef, -float(X[y][:, columns].mean(axis=0) @ coef))
    else:
        signs = rng.choice([-1, 1], len(columns))
        if case == "swapped":
            signs = np.where(_direction(X, y)[columns] >= 0, 1, -1)
        low, high = {
            "few labels": (0.05, 0.3),
            "swapped": (0.1, 0.9),
            "driver left out": (0.1, 0.9),
        }.get(case, (0.2, 0.8))
        mechanism = GeometricLabelling(columns, signs.tolist(), low, high)
    s, propensity = label(X, y, mechanism, random_state=int(rng.integers(2**31)))
    named = columns[1:] if case == "driver left out" else columns
    return Case(_dressed(X, s, named, case, rng), s, sorted(named), y, propensity)


def _columns(table: Table, case: str, rng) -> list[int]:
    n_columns = table.X.shape[1]
    if case == "swapped":
        return np.argsort(-np.abs(_direction(*table)))[: min(3, n_columns - 1)].tolist()
    most = {"few labels": 3, "driver left out": 3}.get(case, 5)
    least = {"few labels": 1}.get(case, 3)
    count = min(int(rng.integers(least, most + 1)), n_columns - 1)
    # A column with a single odd value would give every other row the same propensity.
    useful = np.flatnonzero(_rarest_half(table.X) >= 0.05)
    pool = useful if len(useful) > count else np.arange(n_columns)
    return rng.permutation(pool)[:count].tolist()


def _rarest_half(X: np.ndarray) -> np.ndarray:
    middle = (X.min(axis=0) + X.max(axis=0)) / 2
    above = (middle < X).mean(axis=0)
    return np.minimum(above, 1 - above)


def _direction(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Correlation of every column with the class."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return Z.T @ (y - y.mean()) / (len(y) * y.std())


def _dressed(X, s, named, case: str, rng) -> np.ndarray:
    if case == "heavy tails":
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        many = np.array([len(np.unique(column)) > 10 for column in X.T])
        return np.where(many, np.exp(np.minimum(1.5 * Z, 12.0)), X)
    if case == "weak signal":
        noisy = X + 3 * X.std(axis=0) * rng.normal(size=X.shape)
        noisy[:, named] = X[:, named]
        return noisy
    if case == "leak":
        return np.column_stack([X, s * (1 + rng.random(len(s)))])
    if case == "noisy leak":
        wrong = rng.random(len(s)) < 0.03
        return np.column_stack([X, np.where(wrong, 1 - s, s)])
    return X
