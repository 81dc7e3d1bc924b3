"""The columns of a table as a linear model needs them: no gaps, no categories, similar scales.

Trees take columns as they come. What is linear beside them (the first propensity, the propensity
itself, the linear start of the boosting) sees these terms instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from sarlearn._engine.magnitudes import sizes, unit_of

# A category becomes one term per value; rarer ones than the most frequent so many have none.
MAX_LEVELS = 50


@dataclass
class Term:
    """One term: the value of a column, whether it is missing, or whether it has some category."""

    column: int
    kind: str  # "value", "missing" or "category"
    level: float = np.nan
    fill: float = 0.0
    center: float = 0.0
    scale: float = 1.0

    def of(self, values: np.ndarray) -> np.ndarray:
        if self.kind == "missing":
            return np.isnan(values).astype(float)
        if self.kind == "category":
            return (values == self.level).astype(float)
        filled = np.where(np.isnan(values), self.fill, values)
        return (filled - self.center) / self.scale


@dataclass
class LinearColumns:
    """Terms learned from some rows, for these rows and for others.

    Numbers have mean 0 and standard deviation 1/2, the scale of a balanced yes or no, so that one
    penalty suits both (A. Gelman, Scaling regression inputs by dividing by two standard
    deviations, Statistics in Medicine 27, 2008); columns with two values have a
    distance of 1 between them. Sparse
    columns are divided by their largest absolute value, which leaves zeros alone.
    """

    terms: list[Term] = field(default_factory=list)
    sparse_scale: np.ndarray | None = None
    sparse_columns: np.ndarray | None = None

    @classmethod
    def learn(cls, X, categorical=()) -> "LinearColumns":
        """From rows ``X``, NaN where values are missing; ``categorical`` says which hold codes."""
        if sparse.issparse(X):
            size = abs(X).max(axis=0).toarray().ravel().astype(float)
            return cls([], np.where(size > 0, size, 1.0), np.arange(X.shape[1]))
        chosen = set(np.asarray(categorical).tolist())
        terms: list[Term] = []
        for column in range(X.shape[1]):
            learn = _category_terms if column in chosen else _number_terms
            terms += learn(column, np.asarray(X[:, column], dtype=float))
        return cls(terms)

    def __len__(self) -> int:
        return len(self.terms) if self.sparse_columns is None else len(self.sparse_columns)

    def transform(self, X):
        """One column per term: a dense array, or a sparse one where ``X`` is sparse."""
        if self.sparse_columns is not None and self.sparse_scale is not None:
            chosen = sparse.csr_array(X)[:, self.sparse_columns]
            return sparse.csr_array(chosen.multiply(1 / self.sparse_scale))
        out = np.empty((X.shape[0], len(self.terms)))
        for j, term in enumerate(self.terms):
            out[:, j] = term.of(np.asarray(X[:, term.column], dtype=float))
        return out

    def dense(self, X) -> np.ndarray:
        terms = self.transform(X)
        return terms.toarray() if sparse.issparse(terms) else terms

    def part(self, numbers: np.ndarray) -> "LinearColumns":
        """Some of the terms."""
        if self.sparse_columns is not None and self.sparse_scale is not None:
            return LinearColumns([], self.sparse_scale[numbers], self.sparse_columns[numbers])
        return LinearColumns([self.terms[j] for j in numbers])

    def of_columns(self, columns: np.ndarray) -> np.ndarray:
        """Numbers of the terms that come from these columns, in the order of the columns."""
        if self.sparse_columns is not None:
            places = {int(column): j for j, column in enumerate(self.sparse_columns)}
            return np.array([places[int(column)] for column in columns], dtype=np.intp)
        found = [j for c in columns for j, term in enumerate(self.terms) if term.column == c]
        return np.array(found, dtype=np.intp)

    def unscaled(self) -> "LinearColumns":
        """The same terms with numbers as they come."""
        if self.sparse_columns is not None:
            return LinearColumns([], np.ones(len(self.sparse_columns)), self.sparse_columns)
        return LinearColumns([replace(term, center=0.0, scale=1.0) for term in self.terms])

    def in_units(self, coef: np.ndarray, intercept: float) -> tuple[np.ndarray, float]:
        """Coefficients of the terms as coefficients of the columns in their own units."""
        if self.sparse_scale is not None:
            return coef / self.sparse_scale, intercept
        scale = np.array([term.scale for term in self.terms])
        center = np.array([term.center for term in self.terms])
        return coef / scale, intercept - float(coef @ (center / scale))

    def names(self, feature_names, levels: Mapping[int, Sequence] | None = None) -> list[str]:
        """``age``, ``age=(missing)``, ``plan=basic``; ``levels`` has what codes stand for."""
        if self.sparse_columns is not None:
            return [str(feature_names[j]) for j in self.sparse_columns]
        ending = {"value": "", "missing": "=(missing)"}
        found = []
        for term in self.terms:
            level: object = f"{term.level:g}"
            if term.kind == "category" and levels is not None:
                level = levels[term.column][int(term.level)]
            found.append(str(feature_names[term.column]) + ending.get(term.kind, f"={level}"))
        return found


def _number_terms(column: int, values: np.ndarray) -> list[Term]:
    known = values[~np.isnan(values)]
    if not len(known):
        return []
    unit = float(unit_of(sizes(known)))
    known = known / unit  # by 1, unless squares of it are too large or too small
    center = float(known.mean())
    two_values = bool(((known == known.min()) | (known == known.max())).all())
    spread = float(np.ptp(known)) if two_values else 2 * float(known.std())
    scale = (spread if spread > 1e-12 * abs(center) else 1.0) * unit
    center *= unit
    gaps = [Term(column, "missing")] if len(known) < len(values) else []
    return [Term(column, "value", fill=center, center=center, scale=scale), *gaps]


def _category_terms(column: int, values: np.ndarray) -> list[Term]:
    levels, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    gaps = [Term(column, "missing")] if np.isnan(values).any() else []
    if len(levels) == 2 and not gaps:
        return [Term(column, "category", level=float(levels[1]))]
    kept = np.sort(levels[np.argsort(-counts, kind="stable")[:MAX_LEVELS]])
    return [Term(column, "category", level=float(level)) for level in kept] + gaps
