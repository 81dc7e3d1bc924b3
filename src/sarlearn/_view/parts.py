"""A fitted model taken apart: the last estimator, what it sees, and the attributes of the user."""

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sarlearn._compat import get_feature_names, safe_indexing
from sarlearn._validation import encode_new_labels, resolve_features
from sarlearn._words import nearest, number_text
from sarlearn.tables.columns import as_frame
from sarlearn.tables.encoder import TableEncoder

# A number with at most this many different values is shown value by value, not as a curve.
FEW_VALUES = 6
OTHER_VALUES = "(all others)"
MISSING = "(missing)"


@dataclass(frozen=True)
class Attribute:
    """One attribute as the user knows it.

    ``positions`` are its columns in the matrix the estimator sees; ``encode`` gives their
    contents for chosen values. A date counts days from ``first_day``.
    """

    name: str
    numeric: bool
    positions: np.ndarray
    read: Callable[[], np.ndarray]
    encode: Callable[[Any], np.ndarray]
    first_day: int | None = None

    def text(self, value) -> str:
        """A value as people write it."""
        if self.first_day is None or value != value:
            return value_text(value)
        return date.fromordinal(self.first_day + round(float(value))).isoformat()

    @cached_property
    def values(self) -> np.ndarray:
        """One value per row, read when first asked for: floats, or words."""
        return self.read()

    @cached_property
    def distinct(self) -> np.ndarray:
        """The different known values: numbers rising, words by falling frequency."""
        if self.numeric:
            return np.unique(self.values[~np.isnan(self.values)])
        counts = Counter(self.values.tolist())
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return np.array(ranked, dtype=object)

    @cached_property
    def codes(self) -> np.ndarray:
        """The place of each row's value among the distinct ones, after them where it is missing."""
        if self.numeric:
            return np.searchsorted(self.distinct, self.values)  # NaN comes last
        place = {word: code for code, word in enumerate(self.distinct.tolist())}
        found = map(place.__getitem__, self.values.tolist())
        return np.fromiter(found, dtype=np.intp, count=len(self.values))

    @property
    def is_curve(self) -> bool:
        return self.numeric and len(self.distinct) > FEW_VALUES

    def strata(self, max_strata: int) -> tuple[np.ndarray, list[str]]:
        """A stratum for every row, and their names: quarters of a number, values of a word."""
        if self.is_curve:
            edges = np.unique(np.nanquantile(self.values, [0.25, 0.5, 0.75]))
            codes = np.searchsorted(edges, self.values, side="right")
            codes[np.isnan(self.values)] = len(edges) + 1
            shown = [self.text(edge) for edge in edges]
            middle = [f"{a} to {b}" for a, b in pairwise(shown)]
            names = [f"below {shown[0]}", *middle, f"{shown[-1]} and more", "(missing)"]
            return _squeeze(codes, names)
        distinct = list(self.distinct)
        kept = distinct if len(distinct) <= max_strata else distinct[: max_strata - 1]
        codes = np.minimum(self.codes, len(kept))
        return _squeeze(codes, [self.text(value) for value in kept] + [OTHER_VALUES])


class LinearPart(NamedTuple):
    """Columns as a linear model needs them, those of the propensity among them, and names."""

    matrix: Any
    columns: np.ndarray
    names: list[str]

    def attributes(self) -> np.ndarray:
        """The columns of the propensity, dense."""
        chosen = safe_indexing(self.matrix, self.columns, axis=1)
        dense = chosen.toarray() if sparse.issparse(chosen) else chosen
        return np.asarray(dense, dtype=np.float64)


def _squeeze(codes: np.ndarray, names: list[str]) -> tuple[np.ndarray, list[str]]:
    """Drop strata without rows."""
    present, codes = np.unique(codes, return_inverse=True)
    return codes, [names[code] for code in present]


def value_text(value) -> str:
    """A value as people write it: 3 for 3.0, four digits for others, no powers of ten."""
    return number_text(float(value)) if isinstance(value, float | np.floating) else str(value)


@dataclass
class Parts:
    """A model and a table, taken apart.

    ``final`` is the estimator with ``predict_propensity``; ``matrix`` is what it is given.
    """

    final: Any
    matrix: Any
    names: list[str]
    attributes: list[Attribute]
    encoder: TableEncoder | None

    @property
    def n_rows(self) -> int:
        return int(self.matrix.shape[0])

    @cached_property
    def propensity_positions(self) -> np.ndarray:
        named = getattr(self.final, "propensity_features", ())
        spec = getattr(self.final, "propensity_features_", named)
        return resolve_features(spec, self.names, len(self.names))

    @property
    def auto(self) -> bool:
        """Whether nobody named a column, and fits that name different ones were averaged."""
        spec = getattr(self.final, "propensity_features", None)
        return isinstance(spec, str) and spec == "auto" and hasattr(self.final, "averaged_fits_")

    @cached_property
    def linear(self) -> LinearPart:
        """The matrix; or terms of it, where the model takes gaps and categories as they come."""
        if not hasattr(self.final, "terms_"):
            return LinearPart(self.matrix, self.propensity_positions, self.names)
        first, others = self.final.attributes_, self.final.terms_
        terms = first + others.part(~np.isin(others.column, first.column))
        matrix = self.matrix if sparse.issparse(self.matrix) else np.asarray(self.matrix)
        names = terms.names(self.names, self.levels)
        return LinearPart(terms.transform(matrix), np.arange(len(first)), names)

    @property
    def levels(self) -> dict[int, list[str]]:
        """What the codes in columns of the matrix stand for."""
        if self.encoder is not None:
            return {} if self.encoder.terms else self.encoder.levels_by_place()
        codes = getattr(self.final, "codes_", {})
        return {j: [str(code) for code in range(n)] for j, n in codes.items()}

    @property
    def propensity_attributes(self) -> list[Attribute]:
        wanted = set(self.propensity_positions.tolist())
        return [a for a in self.attributes if wanted & set(a.positions.tolist())]

    def attribute(self, which: str | int | None) -> Attribute:
        """An attribute by name or position; None is the first propensity attribute."""
        if which is None:
            if not self.propensity_attributes:
                raise ValueError(
                    "The model has no propensity attributes (SCAR: one propensity for all rows); "
                    "name a feature to show it against."
                )
            return self.propensity_attributes[0]
        if isinstance(which, int | np.integer):
            if not -len(self.attributes) <= which < len(self.attributes):
                raise ValueError(
                    f"feature {which} is out of range; there are {len(self.attributes)} columns."
                )
            return self.attributes[which]
        for attribute in self.attributes:
            if attribute.name == which:
                return attribute
        raise ValueError(
            f"There is no column {which!r}." + nearest(which, [a.name for a in self.attributes])
        )

    def probability(self) -> np.ndarray:
        return self._predictions[0]

    def propensity(self) -> np.ndarray:
        return self._predictions[1]

    def posterior(self, labelled: np.ndarray) -> np.ndarray:
        """``P(y=1|x,s)``; the trees of the learner are not asked again."""
        _, e, eta = self._predictions
        s = self.final.classes_[labelled.astype(int)]
        if eta is None:
            return self.final.predict_posterior(self.matrix, s)
        return self.final._posterior(eta, s, e)

    @cached_property
    def _predictions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Probability, propensity and, of the one learner, the logit of every row, made once."""
        one = hasattr(self.final, "posterior_shift_")
        eta = self.final.decision_function(self.matrix) if one else None
        f = self.final.predict_proba(self.matrix)[:, 1] if eta is None else expit(eta)
        e = self.final.predict_propensity(self.matrix)
        f.flags.writeable = e.flags.writeable = False
        return f, e, eta

    def labelled(self, s) -> np.ndarray:
        return encode_new_labels(s, self.final.classes_, self.n_rows)

    def sample(self, n_rows: int, random_state: int = 0) -> np.ndarray:
        """At most ``n_rows`` rows of the matrix, dense, drawn without replacement."""
        rows = np.arange(self.n_rows)
        if len(rows) > n_rows:
            rows = np.random.default_rng(random_state).choice(rows, n_rows, replace=False)
            rows.sort()
        return self.rows(rows)

    def rows(self, rows: np.ndarray) -> np.ndarray:
        """Some rows of the matrix, dense; a copy."""
        chosen = safe_indexing(self.matrix, rows)
        dense = chosen.toarray() if sparse.issparse(chosen) else np.asarray(chosen)
        return np.array(dense, dtype=np.float64)

    def like_matrix(self, array: np.ndarray):
        """An array in the form the estimator was fitted with: its names, where it has any."""
        if get_feature_names(self.matrix) is None:
            return array
        import narwhals as nw

        backend = nw.from_native(self.matrix, eager_only=True).implementation
        return nw.from_numpy(array, self.names, backend=backend).to_native()


def fitted_to(final, f: np.ndarray, weight: np.ndarray) -> bool:
    """Whether these are the rows of the fit, told by the mean of the probabilities for them."""
    return abs(float(np.average(f, weights=weight)) - float(final.class_prior_)) < 1e-9


def take_apart(model, X, feature_names: Sequence[str] | None = None) -> Parts:
    """The parts of a fitted model on a table ``X``; refuses models without a propensity.

    ``feature_names`` says what to call the columns of a matrix that has no names.
    """
    check_is_fitted(model)
    final, matrix, encoder, table = model, X, None, X
    if isinstance(model, Pipeline):
        final = model[-1]
        matrix = model[:-1].transform(X) if len(model) > 1 else X
        if len(model) == 2 and isinstance(model[0], TableEncoder):
            encoder = model[0]
    if getattr(final, "reader_", None) is not None:
        encoder, table = final.reader_, matrix
        matrix, final = encoder.transform(table), copy.copy(final)
        # What it is shown from here on has been read.
        final.reader_, final.categorical_features = None, list(encoder.levels_by_place())
    if not hasattr(final, "predict_propensity"):
        raise TypeError(
            f"{type(final).__name__} has no propensity model (predict_propensity); pass a fitted "
            "SARClassifier or a pipeline that ends in one."
        )
    if not sparse.issparse(matrix) and not hasattr(matrix, "shape"):
        matrix = np.asarray(matrix)
    names = get_feature_names(matrix)
    if names is None:
        names = (
            [f"x{i}" for i in range(matrix.shape[1])] if feature_names is None else feature_names
        )
    names = [str(name) for name in names]
    if len(names) != matrix.shape[1]:
        raise ValueError(f"feature_names has {len(names)} names for {matrix.shape[1]} columns.")
    if encoder is not None:
        attributes = _table_attributes(encoder, table)
    else:
        attributes = _matrix_attributes(matrix, names)
    return Parts(final, matrix, names, attributes, encoder)


def _table_attributes(encoder: TableEncoder, X) -> list[Attribute]:
    frame, found = as_frame(X), []
    for name, kind in encoder.kinds_.items():
        if name in encoder.constant_:
            continue

        def encode(values, name=name):
            return encoder.encode_values(name, values)[1]

        read = partial(encoder.read, frame, name)
        positions = encoder.encode_values(name, [])[0]
        first_day = encoder.first_days_.get(name)
        found.append(Attribute(name, kind != "category", positions, read, encode, first_day))
    return found


def _matrix_attributes(matrix, names: list[str]) -> list[Attribute]:
    columns: Any = matrix.tocsc() if sparse.issparse(matrix) else np.asarray(matrix)

    def encode(values):
        return np.asarray(values, dtype=np.float64)[:, None]

    found = []
    for index, name in enumerate(names):

        def read(index=index):
            column = columns[:, [index]]
            dense = column.toarray() if sparse.issparse(column) else column
            return np.asarray(dense, dtype=np.float64).ravel()

        found.append(Attribute(name, True, np.array([index]), read, encode))
    return found
