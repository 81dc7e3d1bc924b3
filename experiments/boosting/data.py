"""Rows, classes and labels of the benchmark, the same for every method of a cell."""

from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

from experiments import data_sets
from sarlearn.labelling import (
    ConstantLabelling,
    GeometricLabelling,
    LogisticLabelling,
    OneAttributeLabelling,
    label,
)

from ..harness import data as tables
from ..harness.cells import seed_from
from ..honesty import r_tables

SIMULATED = ("XOR", "Friedman", "linear")
TEST_ROWS = 10_000
# A column that is nearly constant drives no labelling.
LEAST_SHARE = 0.05
# Columns that a mechanism depends on unless its name says how many.
N_COLUMNS = {"one": 1, "logistic": 3, "geometric": 2}


class Cell(NamedTuple):
    """Training rows with labels and propensities; rows to score; the columns that are named."""

    X: np.ndarray | sparse.csr_array
    y: np.ndarray
    s: np.ndarray
    e: np.ndarray
    X_test: np.ndarray | sparse.csr_array
    y_test: np.ndarray
    e_test: np.ndarray
    columns: list[int]


@lru_cache(maxsize=1)
def make(
    phase: str, dataset: str, mechanism: str, attributes: str, max_rows: int, repeat: int
) -> Cell:
    """Draw rows, then labels; wrong attributes change what is named, not the labels."""
    rng = np.random.default_rng(seed_from("boosting", phase, dataset, mechanism, max_rows, repeat))
    X, y, train, test = _rows(dataset, max_rows, rng)
    if mechanism.startswith("SCAR "):
        how, columns = ConstantLabelling(float(mechanism[5:])), []
    else:
        how, columns = _mechanism(mechanism, X, train, rng)
    s, e = label(X, y, how, random_state=int(rng.integers(2**32)))
    named = _named(attributes, columns, X, train, rng)
    s = np.asarray(s, dtype=bool)
    return Cell(X[train], y[train], s[train], e[train], X[test], y[test], e[test], named)


def _rows(dataset: str, max_rows: int, rng):
    if dataset in SIMULATED:
        X, y = simulate(dataset, max_rows + TEST_ROWS, rng)
        return X, y, np.arange(max_rows), np.arange(max_rows, len(y))
    X, y = _table(dataset)
    n_train = min(max_rows, round(0.6 * len(y)))
    order = rng.permutation(len(y))[: n_train + TEST_ROWS]
    X, y = X[np.sort(order)], y[np.sort(order)]
    train = np.sort(rng.permutation(len(y))[:n_train])
    return X, y, train, np.setdiff1d(np.arange(len(y)), train)


@cache
def _table(dataset: str):
    if dataset in r_tables.SOURCES:
        return r_tables.load(dataset)
    if dataset in tables.TABLES or dataset == "Comp-Sci":
        found = tables.load(dataset)
        return found.X, np.asarray(found.y, dtype=bool)
    bunch = data_sets.load_uci(dataset)
    return bunch.X, np.asarray(bunch.y, dtype=bool)


def simulate(name: str, n_rows: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Ten columns, uniform. Friedman's function is from his MARS paper (Ann. Stat. 19, 1991)."""
    X = rng.random((n_rows, 10))
    if name == "XOR":
        eta = 48 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
    elif name == "Friedman":
        value = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
        eta = 0.8 * (value + 10 * X[:, 3] + 5 * X[:, 4] - 14.4)
    else:
        eta = X[:, :4] @ [8.0, -6.0, 4.0, 2.0] - 4
    return X, rng.random(n_rows) < expit(eta)


def _mechanism(kind: str, X, train, rng):
    """``kind`` is a name of N_COLUMNS, or "logistic of 5": with that number of columns."""
    kind, _, number = kind.partition(" of ")
    n_columns = int(number) if number else N_COLUMNS[kind]
    usable = _usable(X, train)
    columns = rng.choice(usable, min(n_columns, len(usable) - 1), replace=False).tolist()
    signs = rng.choice([-1, 1], len(columns))
    values = _dense(X[:, columns])
    if kind == "geometric":
        return GeometricLabelling(columns, signs=signs.tolist(), low=0.1, high=0.9), columns
    if kind == "one":
        difference = 0.6 * float(signs[0])
        if values.min() >= 0 and values.max() <= 1:
            return OneAttributeLabelling(columns[0], difference=difference), columns
        return GeometricLabelling(columns, signs=signs[:1].tolist()), columns
    center, scale = values[train].mean(axis=0), values[train].std(axis=0)
    coef = signs * rng.uniform(0.6, 1.4, len(columns)) / scale
    intercept = float(rng.choice([-1.0, 0.0]) - coef @ center)
    return LogisticLabelling(columns, coef=coef.tolist(), intercept=intercept), columns


def _named(attributes: str, columns: list[int], X, train, rng) -> list[int]:
    if attributes == "true":
        return columns
    if attributes == "none":
        return []
    if attributes == "one missing":
        return columns[1:]
    others = np.setdiff1d(_usable(X, train), columns)
    return [*columns, int(rng.choice(others))]


def _usable(X, train) -> np.ndarray:
    """Columns in which the commonest value leaves room for others."""
    found, rows = [], sparse.csc_array(X[train]) if sparse.issparse(X) else X[train]
    for column in range(X.shape[1]):
        _, counts = np.unique(_dense(rows[:, [column]]), return_counts=True)
        if counts.max() <= (1 - LEAST_SHARE) * len(train):
            found.append(column)
    return np.array(found)


def _dense(values) -> np.ndarray:
    return values.toarray() if sparse.issparse(values) else np.asarray(values)
