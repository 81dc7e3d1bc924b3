"""Fully labelled tables by name, ``source:title``: real ones, and simulations."""

import os
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import load_digits

from ..harness import data as paper
from ..harness.cells import seed_from
from . import pulsnar_tables, r_tables

MAX_ROWS = 20_000
MAX_COLUMNS = 400
SIMULATED_ROWS = 4_000


class Table(NamedTuple):
    """Rows and true classes; every column dense and numeric."""

    X: np.ndarray
    y: np.ndarray


@lru_cache(maxsize=2)
def load(name: str) -> Table:
    """A table by its name, without constant columns; of a large one always the same part."""
    source, _, title = name.partition(":")
    rng = np.random.default_rng(seed_from("table", name, 0))
    if source == "sim":
        return SIMULATIONS[title](rng)
    X, y = _stored(source, title)
    if len(y) > MAX_ROWS:
        rows = np.sort(rng.permutation(len(y))[:MAX_ROWS])
        X, y = X[rows], y[rows]
    X = (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(float)
    return Table(X[:, (X[0] != X).any(axis=0)][:, :MAX_COLUMNS], y.astype(bool))


def _stored(source: str, title: str):
    if source == "pulsnar":
        return pulsnar_tables.load(title)
    if source == "r":
        return r_tables.load(title)
    if source == "uci":
        return _uci(title)
    if source == "paper":
        found = paper.load(title)
        return found.X, found.y == 1
    if source == "sklearn" and title == "digits":
        X, digit = load_digits(return_X_y=True)
        return X, digit % 2 == 0
    raise ValueError(
        f"There is no table {source}:{title}; sources are pulsnar, r, uci, paper, sklearn and sim."
    )


def _uci(title: str):
    import pandas as pd

    frame = pd.read_csv(Path(os.environ["SARLEARN_DATA"]) / "uci" / f"{title}.csv.gz")
    y = frame["BinClass"].to_numpy() == 1
    X = pd.get_dummies(frame.drop(columns=["Class", "BinClass"])).to_numpy(dtype=float)
    return X, y


def _drawn(X: np.ndarray, logits: np.ndarray, rng) -> Table:
    return Table(X, rng.random(len(X)) < expit(logits))


def _normal(n_columns: int, rng) -> np.ndarray:
    """Normal columns, neighbours correlated a little."""
    X = rng.normal(size=(SIMULATED_ROWS, n_columns))
    X[:, 1:] = 0.9 * X[:, 1:] + 0.4 * X[:, :-1]
    return X


def _linear(rng) -> Table:
    X = _normal(8, rng)
    return _drawn(X, X @ rng.normal(0, 1.2, 8) - 0.5, rng)


def _weak(rng) -> Table:
    X = _normal(6, rng)
    return _drawn(X, X @ rng.normal(0, 0.25, 6) - 0.2, rng)


def _xor(rng) -> Table:
    X = _normal(6, rng)
    return _drawn(X, 4 * np.sign(X[:, 0] * X[:, 1]) + X[:, 2], rng)


def _quadratic(rng) -> Table:
    X = _normal(6, rng)
    return _drawn(X, 2 * X[:, 0] + 2 * X[:, 1] ** 2 - 3, rng)


def _threshold(rng) -> Table:
    X = _normal(7, rng)
    return _drawn(X, 5.0 * (X[:, 0] > 0.3) + 3.0 * (X[:, 1] > -0.2) - 5.0, rng)


def _clusters(rng) -> Table:
    """Two narrow clusters of positives in a wide cloud."""
    y = rng.random(SIMULATED_ROWS) < 0.35
    centre = rng.choice([-1.4, 1.4], size=(SIMULATED_ROWS, 1)) * np.array([1.0, 1.0, 0, 0, 0, 0])
    X = _normal(6, rng)
    return Table(np.where(y[:, None], centre + 0.6 * X, 1.3 * X), y)


SIMULATIONS = {
    "linear": _linear,
    "weak": _weak,
    "xor": _xor,
    "quadratic": _quadratic,
    "threshold": _threshold,
    "clusters": _clusters,
}
