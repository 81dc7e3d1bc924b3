"""Refits and tests on rows: their input, checked once, and many of them side by side."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.utils import check_consistent_length

from sarlearn._compat import get_feature_names, one_blas_thread
from sarlearn._validation import check_array, encode_labels, resolve_features
from sarlearn._words import listed
from sarlearn.tables.columns import is_table
from sarlearn.tables.encoder import TableEncoder

# Told of ``done, total`` in place of the line on the terminal, where a caller has its own display.
WATCHER: ContextVar[Callable[[int, int], None] | None] = ContextVar("watcher", default=None)


@dataclass
class CheckedData:
    """Checked data: a float64 matrix (dense or CSR), who is labelled, and the user's columns.

    ``source`` says of which of these each column of the matrix is made: one of words has several.
    """

    X: np.ndarray
    labelled: np.ndarray
    names: list[str] | None
    n_given: int
    source: np.ndarray

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    def name(self, given: int) -> str:
        return f"x{given}" if self.names is None else self.names[given]

    def given(self, features, what: str) -> list[int]:
        """Columns of the user, as everywhere in the package; refuses none, and those of no use."""
        found = resolve_features(features, self.names, self.n_given, what=what).tolist()
        useful = [j for j in found if j in self.source]
        if len(found) < self.n_given and (bare := sorted(set(found) - set(useful))):
            raise ValueError(f"{what}: {listed(list(map(self.name, bare)))} holds one value only.")
        if not useful:
            raise ValueError(f"{what} is empty: name at least one column that may drive labelling.")
        return useful

    def made_of(self, given: Iterable[int]) -> list[int]:
        """The columns of the matrix that are made of columns of the user."""
        return np.flatnonzero(np.isin(self.source, list(given))).tolist()

    def groups(self, candidates) -> dict[str, list[int]]:
        """Candidates by name: each a column of the user, or several that enter together."""
        if isinstance(candidates, Mapping):
            groups = {str(k): self.given(v, f"candidate {k!r}") for k, v in candidates.items()}
        elif isinstance(candidates, Sequence) and any(
            isinstance(c, list | tuple) for c in candidates
        ):
            found = [self.given(c, "candidates") for c in candidates]
            groups = {" + ".join(map(self.name, columns)): columns for columns in found}
        else:
            groups = {self.name(j): [j] for j in self.given(candidates, "candidates")}
        if not groups:
            raise ValueError("candidates is empty: name at least one column.")
        used = [column for columns in groups.values() for column in columns]
        if len(set(used)) < len(used):
            twice = sorted({self.name(j) for j in used if used.count(j) > 1})
            raise ValueError(f"candidates name a column twice: {', '.join(twice)}.")
        return groups


def check_rows(X, s) -> CheckedData:
    """Data for a test: a matrix, or a table as it comes, with words, dates and gaps."""
    names = get_feature_names(X)
    names = None if names is None else [str(name) for name in names]
    source = None
    if names is not None and is_table(X):
        encoder = TableEncoder(terms=True).fit(X)
        if encoder.mixed() or any(reading.n_gaps for reading in encoder.readings_):
            X, source = encoder.transform(X), encoder.terms_.column
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    labelled, _ = encode_labels(s)
    check_consistent_length(X, labelled)
    if source is None or names is None:
        return CheckedData(X, labelled, names, X.shape[1], np.arange(X.shape[1]))
    return CheckedData(X, labelled, names, len(names), source)


def check_count(value, name: str, least: int) -> int:
    """A whole number of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}.")
    return int(value)


def check_positive(value, name: str) -> float:
    """A number above zero."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a number above 0; got {value!r}.")
    return float(value)


def generators(random_state, n: int) -> list[np.random.Generator]:
    """Independent generators, one per draw: results do not depend on how draws are spread."""
    if isinstance(random_state, np.random.Generator):
        return list(random_state.spawn(n))
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    return [np.random.default_rng(seed) for seed in np.random.SeedSequence(random_state).spawn(n)]


def run_all(function: Callable, arguments: Iterable, n_jobs: int | None, progress: str) -> list:
    """``[function(a) for a in arguments]``, in order, with a count on a terminal.

    ``n_jobs`` is as in scikit-learn: None is 1, -1 is one per core. Arguments travel in a few
    bundles, since the data travel with each.
    """
    arguments = list(arguments)
    watcher = WATCHER.get()
    shown = watcher is None and (sys.stderr.isatty() or in_notebook())
    # Where someone watches also one process counts often.
    bundles = min(8 * effective_n_jobs(n_jobs), len(arguments))
    places = np.array_split(np.arange(len(arguments)), bundles) if bundles else []
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    jobs = (delayed(_bundle)(function, [arguments[i] for i in part]) for part in places)
    results: list = []
    for found in parallel(jobs):
        results += found
        if watcher is not None:
            watcher(len(results), len(arguments))
        if shown:
            print(f"\r{progress}: {len(results)} of {len(arguments)}", end="", file=sys.stderr)
    if shown:
        print(file=sys.stderr)
    return results


def in_notebook() -> bool:
    """Whether output goes to a notebook, which understands carriage returns as terminals do."""
    return type(sys.stderr).__module__.startswith("ipykernel")


def _bundle(function, arguments) -> list:
    with one_blas_thread():
        return [function(argument) for argument in arguments]
