"""Data sets of this study, biased labels on them, and posteriors from labels alone."""

import os
import warnings
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

from sarlearn import SARClassifier

from ..harness.cells import seed_from
from ..harness.data import load_rows

MAX_ROWS = 8000
N_ATTRIBUTES = 3


class Labelled(NamedTuple):
    """Rows, true classes, labels, the propensity attributes and the propensity."""

    X: np.ndarray
    y: np.ndarray
    s: np.ndarray
    columns: np.ndarray
    e: np.ndarray


def rows_of(dataset: str) -> tuple[np.ndarray, np.ndarray]:
    """A data set of the paper, one of ``uci:``, or simulated rows with a weak signal."""
    if dataset.startswith("Weak"):
        rng = np.random.default_rng(seed_from("weak rows", dataset))
        X = rng.standard_normal((MAX_ROWS, 12))
        return X, rng.random(MAX_ROWS) < weak_class(X)
    if dataset.startswith("uci:"):
        import pandas as pd

        path = Path(os.environ["SARLEARN_DATA"]) / "uci" / f"{dataset[4:]}.csv.gz"
        table = pd.read_csv(path)
        y = table["BinClass"].to_numpy() == 1
        return table.drop(columns=["Class", "BinClass"], errors="ignore").to_numpy(float), y
    data = load_rows(dataset, MAX_ROWS)
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    return np.asarray(X, dtype=float), data.y == 1


def weak_class(X: np.ndarray) -> np.ndarray:
    """``f`` of the simulated rows with a weak signal."""
    return expit(0.3 * X[:, :6].sum(axis=1) - 0.2)


@lru_cache(maxsize=2)
def labelled(dataset: str, labelling: int) -> Labelled:
    """Three attributes with spread, drawn at random, drive labelling, each up or down."""
    X, y = rows_of(dataset)
    rng = np.random.default_rng(seed_from("evidence", dataset, labelling))
    spread = X.std(axis=0)
    eligible = np.flatnonzero(spread > 0.15 * spread.max())
    columns = rng.choice(eligible, min(N_ATTRIBUTES, len(eligible)), replace=False)
    Z = (X[:, columns] - X[:, columns].mean(axis=0)) / spread[columns]
    e = expit(Z @ rng.choice([-1.0, 1.0], len(columns)) - 0.6)
    return Labelled(X, y, y & (rng.random(len(y)) < e), columns, e)


@lru_cache(maxsize=2)
def posterior(dataset: str, labelling: int) -> tuple[np.ndarray, float]:
    """``P(y=1|x,s)`` and the class prior from labels alone."""
    data = labelled(dataset, labelling)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SARClassifier(data.columns, random_state=0).fit(data.X, data.s)
        return model.predict_posterior(data.X, data.s), float(model.class_prior_)
