"""The data of the experiments by their names in the paper, cached in each process."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold, train_test_split

from experiments import data_sets

from .cells import seed_from

TABLES = {
    "Breast Cancer": data_sets.load_breast_cancer_wisconsin,
    "Mushroom": data_sets.load_mushroom,
    "Adult": data_sets.load_adult,
    "IJCNN": data_sets.load_ijcnn,
    "Cover Type": data_sets.load_covtype,
}
N_FOLDS = 5


class Data(NamedTuple):
    """Rows, true classes, names of the columns, and which are eligible propensity attributes.

    ``n_attributes`` counts them before categories became columns.
    """

    X: np.ndarray | sparse.csr_array
    y: np.ndarray
    names: list[str]
    eligible: list[str]
    n_attributes: int

    def columns(self, features: str) -> list[int]:
        """Indices of columns given as ``"article+com+edu"``."""
        return [self.names.index(name) for name in features.split("+")]


@lru_cache(maxsize=3)
def load(name: str) -> Data:
    """A data set by its name: one of five tables, or a pair of newsgroups, ``"Talk-Comp"``.

    In "A-B", B is the positive class.
    """
    if name in TABLES:
        bunch = TABLES[name]()
    else:
        negative, positive = name.lower().split("-")
        bunch = data_sets.load_newsgroups(negative, positive)
    names = list(bunch.feature_names)
    eligible = [names[j] for j in bunch.propensity_features]
    return Data(bunch.X, bunch.y, names, eligible, bunch.n_attributes)


@lru_cache(maxsize=3)
def load_rows(name: str, max_rows: int) -> Data:
    """At most so many rows, drawn with the classes in their proportion; 0 is all."""
    data = load(name)
    if not max_rows or data.X.shape[0] <= max_rows:
        return data
    rows, _ = train_test_split(
        np.arange(len(data.y)),
        train_size=max_rows,
        stratify=data.y,
        random_state=seed_from("rows", name, max_rows),
    )
    return data._replace(X=data.X[np.sort(rows)], y=data.y[np.sort(rows)])


def rebalance(data: Data, name: str, kept_positives: float, kept_negatives: float) -> Data:
    """Keep shares of the positives and of the negatives, drawn at random."""
    rng = np.random.default_rng(seed_from("rebalance", name, kept_positives, kept_negatives))
    kept = []
    for of_class, share in ((data.y == 1, kept_positives), (data.y == 0, kept_negatives)):
        rows = np.flatnonzero(of_class)
        kept.append(rng.permutation(rows)[: round(share * len(rows))])
    rows = np.sort(np.concatenate(kept))
    return data._replace(X=data.X[rows], y=data.y[rows])


def folds(name: str, n_rows: int, repeat: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Five random folds; ``repeat`` is which of the ways of assigning them."""
    seed = seed_from("folds", name, n_rows, repeat)
    return KFold(N_FOLDS, shuffle=True, random_state=seed).split(np.empty((n_rows, 1)))
