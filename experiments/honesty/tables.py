"""The data sets of the benchmark by name: real ones, and simulations."""

import os
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn import datasets

from experiments.data_sets import load_occupancy

from ..harness import data as paper
from ..harness.cells import seed_from
from . import r_tables

SIMULATED_ROWS = 1500


class Table(NamedTuple):
    """Rows and true classes; every column dense and numeric."""

    X: np.ndarray
    y: np.ndarray


def load(name: str, max_rows: int, seed: int) -> Table:
    """A data set by name; simulations and samples of large sets are drawn with ``seed``."""
    source, _, title = name.partition(":")
    rng = np.random.default_rng(seed_from("table", name, seed))
    if source == "sim":
        return SIMULATIONS[title](rng)
    X, y = _stored(source, title)
    if len(y) > max_rows:
        rows = np.sort(rng.permutation(len(y))[:max_rows])
        X, y = X[rows], y[rows]
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    X = X.astype(float)
    return Table(X[:, (X[0] != X).any(axis=0)], y.astype(bool))


@lru_cache(maxsize=32)
def _stored(source: str, title: str):
    if source == "uci":
        return _uci(title)
    if source == "r":
        return r_tables.load(title)
    if source == "forest":
        return _forest(*map(int, title.split("-")))
    if source == "occupancy":
        found = load_occupancy("meso", species=title)
        return found.X, (found.visits == 1).any(axis=1)
    if source == "adult":
        return _long_hours()
    if source == "paper":
        found = paper.load(title)
        return found.X, found.y == 1
    if title == "digits":
        X, digit = datasets.load_digits(return_X_y=True)
        return X, digit % 2 == 0
    if title == "progression":
        X, worse = datasets.load_diabetes(return_X_y=True)
        return X, worse > np.quantile(worse, 0.6)
    X, kind = datasets.load_wine(return_X_y=True)
    return X, kind == 1


def _folder() -> str:
    folder = os.environ.get("SARLEARN_DATA")
    if folder is None:
        raise RuntimeError("Tables are read from the folder that SARLEARN_DATA names.")
    return folder


def _uci(title: str):
    import pandas as pd

    frame = pd.read_csv(Path(_folder()) / "uci" / f"{title}.csv.gz")
    y = frame["BinClass"].to_numpy() == 1
    X = pd.get_dummies(frame.drop(columns=["Class", "BinClass"])).to_numpy(dtype=float)
    return X, y


def _forest(negative: int, positive: int):
    """Two cover types that the paper's set takes together, by the columns that are measured."""
    import pandas as pd

    path = Path(_folder()) / "covtype" / "covtype.data.gz"
    rows = pd.read_csv(path, header=None, dtype="int16").to_numpy()
    rows = rows[np.isin(rows[:, -1], (negative, positive))]
    return rows[:, :10], rows[:, -1] == positive


def _long_hours():
    """Who of Adult works longer than the median (40 hours a week), by the other columns."""
    found = paper.load("Adult")
    hours = found.names.index("hours-per-week")
    X = found.X.toarray() if sparse.issparse(found.X) else found.X
    return np.delete(X, hours, axis=1), X[:, hours] > np.median(X[:, hours])


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


def _separable(rng) -> Table:
    X = _normal(6, rng)
    return _drawn(X, 8 * (X @ rng.normal(0, 1.0, 6)), rng)


def _weak(rng) -> Table:
    X = _normal(6, rng)
    return _drawn(X, X @ rng.normal(0, 0.25, 6) - 0.2, rng)


def _xor(rng) -> Table:
    X = _normal(6, rng)
    return _drawn(X, 4 * np.sign(X[:, 0] * X[:, 1]) + X[:, 2], rng)


def _quadratic(rng) -> Table:
    X = _normal(6, rng)
    return _drawn(X, 2 * X[:, 0] + 2 * X[:, 1] ** 2 - 3, rng)


def _amounts(rng) -> Table:
    """Raw amounts: the class follows their logarithms."""
    Z = _normal(5, rng)
    return _drawn(np.exp(1.2 * Z), 3 * Z[:, 0] + 2 * Z[:, 1] - 3, rng)


def _rare(rng) -> Table:
    X = _normal(6, rng)
    return _drawn(X, 3 * X[:, 0] + 2 * X[:, 1] - 6, rng)


def _many_columns(rng) -> Table:
    X = _normal(30, rng)
    return _drawn(X, X @ rng.normal(0, 0.7, 30), rng)


def _two_scores(rng) -> Table:
    """Two clusters of positives, each found by a score of its own."""
    X = _normal(6, rng)
    return _drawn(X, 6 * np.maximum(X[:, 0], X[:, 1] + X[:, 2]) - 5, rng)


def _faint(rng) -> Table:
    X = _normal(10, rng)
    return _drawn(X, X @ rng.normal(0, 0.3, 10) + 0.3, rng)


def _ring(rng) -> Table:
    X = _normal(5, rng)
    return _drawn(X, 5 * (np.hypot(X[:, 0], X[:, 1]) - 1.3), rng)


def _threshold(rng) -> Table:
    X = _normal(7, rng)
    return _drawn(X, 5.0 * (X[:, 0] > 0.3) + 3.0 * (X[:, 1] > -0.2) - 5.0, rng)


def _counts(rng) -> Table:
    """Counts with a long tail; the class follows their square roots."""
    rate = np.exp(rng.normal(1.0, 1.0, size=(SIMULATED_ROWS, 6)))
    X = rng.poisson(rate).astype(float)
    return _drawn(X, 2.5 * np.sqrt(X[:, 0]) - 1.5 * np.sqrt(X[:, 1]) - 1.5, rng)


def _clusters(rng) -> Table:
    """Two narrow clusters of positives in a wide cloud."""
    y = rng.random(SIMULATED_ROWS) < 0.35
    centre = rng.choice([-1.4, 1.4], size=(SIMULATED_ROWS, 1)) * np.array([1.0, 1.0, 0, 0, 0, 0])
    X = _normal(6, rng)
    return Table(np.where(y[:, None], centre + 0.6 * X, 1.3 * X), y)


def _survey(rng) -> Table:
    """Answers from 1 to 5 and yes or no; the class is linear in them, with much chance."""
    X = np.clip(np.round(3 + 1.2 * _normal(9, rng)), 1, 5)
    X[:, 5:] = X[:, 5:] > 3
    return _drawn(X, (X - X.mean(axis=0)) @ rng.normal(0, 0.9, 9) - 0.4, rng)


def _friedman(rng) -> Table:
    """Friedman's function of five uniform columns, with three that say nothing."""
    X = rng.random((SIMULATED_ROWS, 8))
    level = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return _drawn(X, level + 10 * X[:, 3] + 5 * X[:, 4] - 15.5, rng)


def _tree(rng) -> Table:
    """Boxes: a tree of three cuts tells the class nine times in ten."""
    X = _normal(7, rng)
    inside = np.where(X[:, 0] > 0.4, X[:, 1] > -0.5, (X[:, 2] > 0.7) & (X[:, 3] > -1))
    return _drawn(X, np.where(inside, 2.2, -2.2), rng)


SIMULATIONS = {
    "linear": _linear,
    "separable": _separable,
    "weak": _weak,
    "xor": _xor,
    "quadratic": _quadratic,
    "amounts": _amounts,
    "rare": _rare,
    "many columns": _many_columns,
    "two scores": _two_scores,
    "faint": _faint,
    "ring": _ring,
    "threshold": _threshold,
    "counts": _counts,
    "clusters": _clusters,
    "survey": _survey,
    "friedman": _friedman,
    "tree": _tree,
}
