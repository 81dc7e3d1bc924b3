"""The workloads: labelled problems of the paper's shapes, generated from a seed, or real.

Every generated matrix is filled in place, chunk by chunk, so that the memory a fit adds can be
read off the process that made it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from sarlearn.labelling import LogisticLabelling, ProductLabelling, label

CHUNK_ROWS = 2**14


@dataclass
class Problem:
    """Attributes, observed labels, and the columns of the propensity attributes."""

    X: np.ndarray | sparse.csr_array
    s: np.ndarray
    columns: list[int]

    @property
    def n_bytes(self) -> int:
        """Size of X in memory."""
        if sparse.issparse(self.X):
            return self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes
        return self.X.nbytes


@dataclass(frozen=True)
class Workload:
    """A named problem: ``make(n_rows)`` gives it, with ``rows`` rows unless told otherwise."""

    key: str
    title: str
    rows: int
    make: Callable[[int], Problem]
    quick_rows: int

    def problem(self, n_rows: int | None = None) -> Problem:
        return self.make(self.rows if n_rows is None else n_rows)


def _seeded(key: str) -> np.random.Generator:
    return np.random.default_rng(list(f"sarlearn {key}".encode()))


def _classes(X, coef: np.ndarray, prior: float, rng) -> np.ndarray:
    """Classes drawn from a logistic model whose intercept is set for about this prior."""
    eta = X @ coef
    low, high = -50.0, 50.0
    sample = eta[: 2 * CHUNK_ROWS]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(sample + middle).mean() < prior else (low, middle)
    eta += middle
    return (rng.random(len(eta)) < expit(eta)).astype(int)


def _labelled(X, y, mechanism, columns, rng) -> Problem:
    s, _ = label(X, y, mechanism, random_state=int(rng.integers(2**31)))
    return Problem(X, s, columns)


def sparse_words(n_rows: int, n_columns: int, words_a_row: int, key: str) -> Problem:
    """Which words a post holds: binary CSR, Zipf-like frequencies, three frequent words that decide
    the labelling (the paper's three-attribute propensity).
    """
    rng = _seeded(key)
    frequent = np.array([0.35, 0.5, 0.65])
    popularity = 1.0 / (np.arange(n_columns - 3) + 0.02 * n_columns)
    edges = np.cumsum(popularity)
    edges /= edges[-1]
    indptr, indices = np.zeros(n_rows + 1, dtype=np.int32), []
    for start in range(0, n_rows, CHUNK_ROWS):
        size = min(CHUNK_ROWS, n_rows - start)
        drawn = 3 + np.searchsorted(edges, rng.random((size, words_a_row)))
        first = np.where(rng.random((size, 3)) < frequent, np.arange(3), n_columns)
        rows = np.sort(np.concatenate([first, drawn], axis=1), axis=1)
        kept = (rows < n_columns) & (np.diff(rows, axis=1, prepend=-1) > 0)
        indices.append(rows[kept].astype(np.int32))
        indptr[start + 1 : start + size + 1] = kept.sum(axis=1)
    np.cumsum(indptr, out=indptr)
    columns = np.concatenate(indices)
    X = sparse.csr_array((np.ones(len(columns)), columns, indptr), shape=(n_rows, n_columns))
    coef = rng.normal(size=n_columns) * np.sqrt(20 / words_a_row)
    y = _classes(X, coef, 0.45, rng)
    return _labelled(X, y, ProductLabelling([0, 1, 2]), [0, 1, 2], rng)


def dense_numbers(n_rows: int, key: str) -> Problem:
    """14 numeric columns on [0, 1]; a logistic model of three of them decides the labelling."""
    rng = _seeded(key)
    X = rng.random((n_rows, 14))
    y = _classes(X, rng.normal(size=14) * 4.0, 0.5, rng)
    mechanism = LogisticLabelling([0, 1, 2], coef=[3.0, -2.0, 2.0], intercept=-1.5)
    return _labelled(X, y, mechanism, [0, 1, 2], rng)


def cover_type_like(n_rows: int, key: str) -> Problem:
    """10 numeric columns on [0, 1], 4 and 40 indicators; the labelling depends on two numbers and
    one indicator.
    """
    rng = _seeded(key)
    X = np.empty((n_rows, 54))
    area, soil = rng.dirichlet(np.full(4, 4.0)), rng.dirichlet(np.full(40, 0.5))
    for start in range(0, n_rows, CHUNK_ROWS):
        part = X[start : start + CHUNK_ROWS]
        size = len(part)
        part[:, :10] = rng.beta(2.0, 2.0, size=(size, 10))
        part[:, 10:] = 0.0
        part[np.arange(size), 10 + rng.choice(4, size, p=area)] = 1.0
        part[np.arange(size), 14 + rng.choice(40, size, p=soil)] = 1.0
    coef = np.concatenate([rng.normal(size=10) * 4.0, rng.normal(size=44)])
    y = _classes(X, coef, 0.49, rng)
    return _labelled(X, y, ProductLabelling([0, 1, 10]), [0, 1, 10], rng)


def ijcnn_like(n_rows: int, key: str) -> Problem:
    """10 indicators and 12 numbers, one row in ten positive; three numbers decide the labelling."""
    rng = _seeded(key)
    X = np.empty((n_rows, 22))
    for start in range(0, n_rows, CHUNK_ROWS):
        part = X[start : start + CHUNK_ROWS]
        size = len(part)
        part[:, :10] = 0.0
        part[np.arange(size), rng.integers(10, size=size)] = 1.0
        part[:, 10:] = np.clip(rng.normal(0.5, 0.2, size=(size, 12)), 0.0, 1.0)
    coef = np.concatenate([rng.normal(size=10) * 2.0, rng.normal(size=12) * 6.0])
    y = _classes(X, coef, 0.1, rng)
    return _labelled(X, y, ProductLabelling([10, 11, 12]), [10, 11, 12], rng)


def tall(n_rows: int, key: str = "e", dtype=np.float64) -> Problem:
    """20 columns, 8 binary and 12 normal; three binary ones decide the labelling."""
    rng = _seeded(key)
    X = np.empty((n_rows, 20), dtype=dtype)
    for start in range(0, n_rows, CHUNK_ROWS):
        part = X[start : start + CHUNK_ROWS]
        part[:, :8] = rng.random((len(part), 8)) < np.linspace(0.3, 0.7, 8)
        part[:, 8:] = rng.normal(size=(len(part), 12))
    y = _classes(X, rng.normal(size=20).astype(dtype) * 0.8, 0.4, rng)
    return _labelled(X, y, ProductLabelling([0, 1, 2]), [0, 1, 2], rng)


def coded_table(n_rows: int, n_columns: int, levels: int, key: str) -> Problem:
    """A small table of coded answers on [0, 1], three binary ones deciding the labelling."""
    rng = _seeded(key)
    X = rng.integers(levels, size=(n_rows, n_columns)) / (levels - 1)
    X[:, :3] = X[:, :3] > 0.5
    y = _classes(X, rng.normal(size=n_columns) * 2.0, 0.45, rng)
    return _labelled(X, y, ProductLabelling([0, 1, 2]), [0, 1, 2], rng)


def _real(loader: str, *arguments: str) -> Callable[[int], Problem]:
    """A data set of the paper with its three-attribute propensity, on the first eligible ones."""

    def make(n_rows: int) -> Problem:
        from experiments import data_sets

        data = getattr(data_sets, loader)(*arguments, download_if_missing=False)
        columns = [int(j) for j in data.propensity_features[:3]]
        rng = _seeded(loader)
        kept = np.sort(rng.permutation(len(data.y))[:n_rows])
        whole = len(kept) == len(data.y)
        X = data.X if whole else data.X[kept]
        return _labelled(X, data.y[kept], ProductLabelling(columns), columns, rng)

    return make


GENERATED = [
    Workload("a", "sparse, binary", 5_000, lambda n: sparse_words(n, 200, 11, "a"), 5_000),
    Workload("b", "continuous propensity", 50_000, lambda n: dense_numbers(n, "b"), 50_000),
    Workload("c", "cover-type like", 536_000, lambda n: cover_type_like(n, "c"), 536_000),
    Workload("d", "ijcnn like", 141_000, lambda n: ijcnn_like(n, "d"), 141_000),
    Workload("e", "tall", 5_000_000, lambda n: tall(n, "e"), 250_000),
    Workload("f", "sparse, wide", 100_000, lambda n: sparse_words(n, 20_000, 115, "f"), 5_000),
]
# The rows of a quick run are drawn from the whole.
REAL = [
    Workload(
        "newsgroups", "comp-rec, sparse", 5_287, _real("load_newsgroups", "comp", "rec"), 5_287
    ),
    Workload("adult", "", 48_842, _real("load_adult"), 10_000),
    Workload("ijcnn", "", 141_691, _real("load_ijcnn"), 30_000),
    Workload("covtype", "", 581_012, _real("load_covtype"), 58_000),
]
BY_KEY = {workload.key: workload for workload in GENERATED + REAL}


def available() -> list[Workload]:
    """The generated workloads, and the real ones where the data folder is there."""
    return GENERATED + (REAL if os.environ.get("SARLEARN_DATA") else [])
