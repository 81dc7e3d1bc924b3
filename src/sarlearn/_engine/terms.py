"""The columns of a table as linear models need them: no gaps, no categories, similar scales.

Trees take columns as they come, with NaN for gaps and codes for categories. The linear class model
and the propensity see these terms instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.stats import rankdata

from sarlearn._engine.rows import sizes, unit_of

# A category becomes one term per level; rarer ones than the most frequent so many have none.
MAX_LEVELS = 50
# Terms end at so many standard deviations from their mean: one odd value does not decide a fit.
FARTHEST = 5.0
VALUE, MISSING, LEVEL = 0, 1, 2
# Above the largest area under the ROC curve of a term in the tables without a leak that this was
# chosen on, below the smallest of exact leaks; looked for among so many terms.
LEAK, MOST_RANKED = 0.97, 64
# Or so many labelled rows, and this share of all, beyond every unlabelled one: nine in ten labelled
# would be so in one case of twenty.
LEAST_BEYOND, SHARE_BEYOND = 30, 0.1


@dataclass
class Terms:
    """Terms learned from some rows, for these rows and for others.

    Every term has mean 0 and standard deviation 1 on the rows that it was learned from, and ends at
    some deviations from there. Those of sparse rows are shifted so that zeros stay zero, whatever
    they were learned from: an intercept takes up the difference, which is ``zero``.

    Attributes
    ----------
    column, kind, level : ndarray of shape (n_terms,)
        Which column a term is of; whether it is its value, whether it is missing, or whether it
        has some level.
    center, scale : ndarray of shape (n_terms,)
        A term is ``(value - center) / scale``, and 0 where the value is missing.
    """

    column: np.ndarray
    kind: np.ndarray
    level: np.ndarray
    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def learn(cls, X, columns, categorical=(), weight: np.ndarray | None = None) -> "Terms":
        """Of some columns of ``X``, NaN where values are missing; ``categorical`` hold codes."""
        columns = np.asarray(columns, dtype=np.intp)
        if sparse.issparse(X):
            return _of_sparse(X, columns, weight)
        chosen, described = set(np.asarray(categorical).tolist()), []
        for j in columns:
            values = np.asarray(X[:, j], dtype=float)
            gaps = np.isnan(values)
            if j in chosen:
                of_known = None if weight is None else weight[~gaps]
                described += [(j, LEVEL, level) for level in _levels(values[~gaps], of_known)]
            elif not gaps.all():
                described.append((j, VALUE, np.nan))
            if gaps.any() and not gaps.all():
                described.append((j, MISSING, np.nan))
        found = cls.of([(*each, 0.0, 1.0) for each in described])
        found._standardise(X, weight)
        return found

    @classmethod
    def of(cls, described: list[tuple]) -> "Terms":
        """Of tuples with column, kind, level, centre and scale of each term."""
        types = (np.intp, np.int8, float, float, float)
        parts = zip(*described, strict=True) if described else [()] * 5
        return cls(*map(np.array, parts, types))

    def _standardise(self, X, weight) -> None:
        for j in range(len(self)):
            values = self._values(X, j)
            known = ~np.isnan(values)
            of_known = None if weight is None else weight[known]
            values = values[known]
            unit = float(unit_of(sizes(values)))
            center = float(np.average(values / unit, weights=of_known))
            spread = float(np.sqrt(np.average((values / unit - center) ** 2, weights=of_known)))
            varies = spread > 1e-12 * abs(center)
            self.center[j], self.scale[j] = center * unit, (spread if varies else 1.0) * unit

    def __len__(self) -> int:
        return len(self.column)

    def _values(self, X, j: int) -> np.ndarray:
        values = np.asarray(X[:, self.column[j]], dtype=float)
        if self.kind[j] == VALUE:
            return values
        return (np.isnan(values) if self.kind[j] == MISSING else values == self.level[j]) * 1.0

    @property
    def zero(self) -> np.ndarray:
        """The terms of a row of zeros."""
        return np.clip(-self.center / self.scale, -FARTHEST, FARTHEST)

    def times(self, X, coef: np.ndarray) -> np.ndarray:
        """Terms times ``coef``, whose last is added; of sparse and of dense rows the same."""
        if sparse.issparse(X) and not (self.kind == VALUE).all():
            X = X.toarray()
        shift = self.zero @ coef[:-1] if sparse.issparse(X) else 0.0
        return self.transform(X) @ coef[:-1] + (coef[-1] + shift)

    def transform(self, X):
        """One column per term: a dense array, or a sparse one where ``X`` is sparse."""
        if sparse.issparse(X):
            return self._transform_sparse(sparse.csr_array(X))
        if (self.kind == VALUE).all():
            out = np.asarray(X if self._whole(X) else X[:, self.column], dtype=float) - self.center
            out /= self.scale
        else:
            out = np.empty((X.shape[0], len(self)))
            for j in range(len(self)):
                out[:, j] = (self._values(X, j) - self.center[j]) / self.scale[j]
        np.clip(out, -FARTHEST, FARTHEST, out=out)
        return np.nan_to_num(out, copy=False, nan=0.0)

    def _transform_sparse(self, X):
        if not self._whole(X):
            X = X[:, self.column]
        data = (X.data - self.center[X.indices]) / self.scale[X.indices]
        np.clip(data, -FARTHEST, FARTHEST, out=data)
        data -= self.zero[X.indices]
        return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)

    def _whole(self, X) -> bool:
        return len(self) == X.shape[1] and bool((self.column == np.arange(X.shape[1])).all())

    def dense(self, X) -> np.ndarray:
        """The same as a dense array, centred whatever ``X`` is; for few terms."""
        if not sparse.issparse(X):
            return self.transform(X)
        columns, place = np.unique(self.column, return_inverse=True)
        few = sparse.csr_array(X)[:, columns].toarray()
        return replace(self, column=place.astype(np.intp)).transform(few)

    def part(self, numbers: np.ndarray) -> "Terms":
        """Some of the terms."""
        return Terms(*(field[numbers] for field in self._fields()))

    def __add__(self, other: "Terms") -> "Terms":
        """Both, one after the other."""
        pairs = zip(self._fields(), other._fields(), strict=True)
        return Terms(*map(np.concatenate, pairs))

    def _fields(self) -> tuple[np.ndarray, ...]:
        return self.column, self.kind, self.level, self.center, self.scale

    def names(self, feature_names, levels: Mapping[int, Sequence] | None = None) -> list[str]:
        """``age``, ``age=(missing)``, ``plan=basic``; ``levels`` has what codes stand for."""
        found = []
        for column, kind, level in zip(self.column, self.kind, self.level, strict=True):
            shown: object = f"{level:g}"
            if kind == LEVEL and levels is not None:
                shown = levels[int(column)][int(level)]
            ending = {VALUE: "", MISSING: "=(missing)"}.get(int(kind), f"={shown}")
            found.append(f"{feature_names[column]}{ending}")
        return found


def _levels(values: np.ndarray, weight: np.ndarray | None) -> list[float]:
    """Codes that get a term; of two levels the second says all."""
    levels, which = np.unique(values, return_inverse=True)
    counts = np.bincount(which, weight)
    if len(levels) == 2:
        return [float(levels[1])]
    return np.sort(levels[np.argsort(-counts, kind="stable")[:MAX_LEVELS]]).tolist()


def _of_sparse(X, columns: np.ndarray, weight: np.ndarray | None) -> Terms:
    X = sparse.csc_array(X)[:, columns]
    unit = unit_of(sizes(X))
    data = X.data / np.repeat(unit, np.diff(X.indptr))
    share = np.full(X.shape[0], 1 / X.shape[0]) if weight is None else weight / weight.sum()
    moments = [
        share @ sparse.csc_array((data**power, X.indices, X.indptr), shape=X.shape)
        for power in (1, 2)
    ]
    spread = np.sqrt(np.maximum(moments[1] - moments[0] ** 2, 0.0))
    scale = np.where(spread > 1e-7 * np.sqrt(moments[1]), spread, 1.0) * unit
    n_terms = len(columns)
    kind, level = np.full(n_terms, VALUE, np.int8), np.full(n_terms, np.nan)
    return Terms(columns, kind, level, moments[0] * unit, scale)


def leaking(Z, labelled: np.ndarray) -> list[int]:
    """Terms that give the label away, the worst first.

    They nearly determine it, or many labelled rows lie where no other does, as those who are
    treated. Looked for among the terms with the largest correlations, whichever way they point.
    """
    s = labelled - labelled.mean()
    spread = Z.power(2).mean(axis=0) if sparse.issparse(Z) else (Z**2).mean(axis=0)
    size = np.abs(Z.T @ s) / np.sqrt(np.maximum(np.asarray(spread).ravel(), 1e-12))
    likely = np.argsort(-size, kind="stable")[:MOST_RANKED]
    some = Z[:, likely].toarray() if sparse.issparse(Z) else Z[:, likely]
    n_labelled = int(labelled.sum())
    above = rankdata(some, axis=0)[labelled].sum(axis=0) - n_labelled * (n_labelled + 1) / 2
    area = above / (n_labelled * (len(labelled) - n_labelled))
    area = np.maximum(area, 1 - area)
    seen, others = some[labelled], some[~labelled]
    beyond = (seen > others.max(axis=0)).sum(axis=0), (seen < others.min(axis=0)).sum(axis=0)
    many = np.maximum(*beyond) >= max(LEAST_BEYOND, SHARE_BEYOND * n_labelled)
    order = np.argsort(-area, kind="stable")
    return [int(likely[j]) for j in order if area[j] > LEAK or many[j]]
