"""Input of the tests: rows, labels, column names, counts and seeds, checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_consistent_length

from sarlearn._compat import get_feature_names
from sarlearn._validation import check_array, encode_labels, resolve_features


@dataclass
class Rows:
    """Checked data: a float64 matrix (dense or CSR), who is labelled, names of the columns."""

    X: np.ndarray
    labelled: np.ndarray
    names: list[str] | None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    def name(self, column: int) -> str:
        return f"x{column}" if self.names is None else self.names[column]

    def columns(self, features, what: str) -> list[int]:
        """Indices of columns, as everywhere in the package; refuses none."""
        found = resolve_features(features, self.names, self.X.shape[1], what=what).tolist()
        if not found:
            raise ValueError(f"{what} is empty: name at least one column that may drive labelling.")
        return found

    def groups(self, candidates) -> dict[str, list[int]]:
        """Candidates by name: each a column, or several that enter together."""
        if isinstance(candidates, Mapping):
            groups = {str(k): self.columns(v, f"candidate {k!r}") for k, v in candidates.items()}
        elif isinstance(candidates, Sequence) and any(
            isinstance(c, list | tuple) for c in candidates
        ):
            found = [self.columns(c, "candidates") for c in candidates]
            groups = {" + ".join(map(self.name, columns)): columns for columns in found}
        else:
            groups = {self.name(j): [j] for j in self.columns(candidates, "candidates")}
        if not groups:
            raise ValueError("candidates is empty: name at least one column.")
        used = [column for columns in groups.values() for column in columns]
        if len(set(used)) < len(used):
            twice = sorted({self.name(j) for j in used if used.count(j) > 1})
            raise ValueError(f"candidates name a column twice: {', '.join(twice)}.")
        return groups


def check_rows(X, s) -> Rows:
    """Data for a test; any matrix or table of numbers that ``SAREMClassifier`` takes."""
    names = get_feature_names(X)
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    labelled, _ = encode_labels(s)
    check_consistent_length(X, labelled)
    return Rows(X, labelled, None if names is None else [str(name) for name in names])


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


def listed(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    words = list(words)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
