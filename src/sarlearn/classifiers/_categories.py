"""Columns with categories as codes that trees take: 0, 1, ... and NaN for what was not seen."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from sarlearn._compat import get_feature_names
from sarlearn._validation import resolve_features


@dataclass
class CategoryCodes:
    """The values of each column with categories, in order; a value's place is its code."""

    columns: list[int] = field(default_factory=list)
    values: list[list[Any]] = field(default_factory=list)

    @classmethod
    def learn(cls, X, spec) -> "CategoryCodes":
        """From a table or matrix; ``spec`` is "from_dtype", None, or says which columns.

        By type, those columns of a table hold categories whose type says so, and those with text.
        """
        if spec is None:
            return cls()
        if isinstance(spec, str) and spec == "from_dtype":
            columns = _by_dtype(X)
        else:
            names, n_columns = get_feature_names(X), np.shape(X)[1]
            columns = resolve_features(spec, names, n_columns, what="categorical_features").tolist()
        if columns and sparse.issparse(X):
            raise ValueError(
                "categorical_features are for tables and dense matrices; X is sparse. Columns of "
                "0 and 1 need not be named."
            )
        return cls(columns, [_distinct(values) for values in _columns(X, columns)])

    @property
    def by_column(self) -> dict[int, list[Any]]:
        """The values of each column, by its number."""
        return dict(zip(self.columns, self.values, strict=True))

    def in_codes(self) -> "CategoryCodes":
        """The same columns where they hold codes already: nothing changes."""
        return CategoryCodes(self.columns, [list(map(float, range(len(v)))) for v in self.values])

    def encode(self, X):
        """The same table or matrix with codes in place of values."""
        if not self.columns:
            return X
        codes = [
            _codes(values, known)
            for values, known in zip(_columns(X, self.columns), self.values, strict=True)
        ]
        if not _is_frame(X):
            out = np.array(X, dtype=object if np.asarray(X).dtype == object else np.float64)
            out[:, self.columns] = np.column_stack(codes)
            return out
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        names = [frame.columns[j] for j in self.columns]
        new = [
            nw.new_series(name, values, nw.Float64, backend=frame.implementation)
            for name, values in zip(names, codes, strict=True)
        ]
        if frame.implementation.is_pandas():
            native = X.copy(deep=False)
            for name, values in zip(names, codes, strict=True):
                native[name] = values
            return native
        return frame.with_columns(*new).to_native()


def _is_frame(X) -> bool:
    """Whether ``X`` is a table of pandas, polars or pyarrow, told without importing them."""
    return hasattr(X, "columns") and hasattr(X, "shape") and not isinstance(X, np.ndarray)


def _by_dtype(X) -> list[int]:
    if not _is_frame(X):
        return []
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    kinds = (nw.Categorical, nw.Enum, nw.String)
    return [j for j, kind in enumerate(frame.schema.values()) if isinstance(kind, kinds)]


def _columns(X, columns: list[int]) -> list[np.ndarray]:
    """Some columns as arrays of objects, gaps as None."""
    if _is_frame(X):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        found = [frame[frame.columns[j]].to_list() for j in columns]
    else:
        found = [np.asarray(X)[:, j].tolist() for j in columns]
    # NaN is the one value that differs from itself.
    return [np.array([None if v is None or v != v else v for v in c], object) for c in found]


def _distinct(values: np.ndarray) -> list[Any]:
    found = {value for value in values if value is not None}
    return sorted(found, key=lambda value: (str(type(value)), value))


def _codes(values: np.ndarray, known: list[Any]) -> np.ndarray:
    places = {value: float(code) for code, value in enumerate(known)}
    return np.array([places.get(value, np.nan) for value in values], dtype=np.float64)
