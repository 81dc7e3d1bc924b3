"""A classifier for a table as people have it: numbers, words, yes and no, gaps."""

import contextlib
import re
import warnings
from collections.abc import Iterable, Sequence

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from sarlearn._validation import is_dask
from sarlearn.exceptions import IdentifierColumnWarning, warn
from sarlearn.tables.columns import MISSING, as_frame, is_constant, kind_of, numbers, words
from sarlearn.tables.files import nearest

__all__ = ["FromColumns", "TableEncoder", "TablePipeline", "make_table_classifier"]

OTHER = "(other)"
_INFREQUENT = "infrequent_sklearn"


def output_name(column: str, category: str | None = None) -> str:
    """The name of an encoded column: ``age``, or ``insurance=private``.

    Backslashes escape ``=`` in the table's own names, so the origin can always be told.
    """
    escaped = column.replace("\\", "\\\\").replace("=", "\\=")
    return escaped if category is None else f"{escaped}={category}"


def origin(name: str) -> str:
    """The table column an encoded column came from; undoes :func:`output_name`."""
    column = re.match(r"(?:[^\\=]|\\.)*", name, re.DOTALL)
    return re.sub(r"\\(.)", r"\1", column.group() if column else name, flags=re.DOTALL)


class FromColumns:
    """Choose every encoded column that came from the given columns of the table.

    Passed as ``propensity_features``, so that propensity attributes are named as in the user's
    table also where a column became several one-hot columns.

    Examples
    --------
    >>> from sarlearn.tables import FromColumns
    >>> FromColumns(["insurance"])(["age", "insurance=none", "insurance=private"])
    [1, 2]
    """

    def __init__(self, columns: Iterable[str]):
        self.columns = list(columns)

    def __call__(self, feature_names: Sequence[str]) -> list[int]:
        origins = [origin(str(name)) for name in feature_names]
        for column in self.columns:
            if column not in origins:
                known = list(dict.fromkeys(origins))
                raise ValueError(
                    f"The propensity column {column!r} is not among the table's usable columns: it "
                    f"is absent, left out, or holds a single value.{nearest(column, known)}"
                )
        return [index for index, name in enumerate(origins) if name in set(self.columns)]

    def __eq__(self, other) -> bool:
        return isinstance(other, FromColumns) and self.columns == other.columns

    def __hash__(self) -> int:
        return hash(tuple(self.columns))

    def __repr__(self) -> str:
        return f"FromColumns({self.columns!r})"


class TableEncoder(  # type: ignore[call-arg]
    TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Turn a data frame with mixed columns into a data frame of numbers.

    Numeric columns are filled with the median and scaled to mean 0 and variance 1; a gap also
    sets a column ``name=(missing)``. Text, categories and truth values become one column per value
    (a single one for two values), gaps being a value of their own and rare values sharing one.
    Values not seen in fit count as rare, or as none of the known ones. Columns with one value,
    or none, are left out; dates are refused.

    Parameters
    ----------
    drop : sequence of str
        Columns to leave out, such as an identifier or the label. They may be absent.
    max_categories : int >= 2, default=30
        The most columns one column of text becomes.

    Attributes
    ----------
    kinds_ : dict of str to str
        ``numeric`` or ``category`` for every column in use, in the order of the table.
    constant_ : list of str
        Columns left out because they hold a single value.
    feature_names_out_ : list of str
        Names of the encoded columns; :func:`origin` gives the column each came from.

    Examples
    --------
    >>> import pandas as pd
    >>> from sarlearn.tables import TableEncoder
    >>> table = pd.DataFrame({"age": [20, 40, None], "plan": ["a", "b", "c"]})
    >>> TableEncoder().fit_transform(table).round(2)
        age  age=(missing)  plan=a  plan=b  plan=c
    0 -1.22            0.0     1.0     0.0     0.0
    1  1.22            0.0     0.0     1.0     0.0
    2  0.00            1.0     0.0     0.0     1.0
    """

    def __init__(self, drop: Sequence[str] = (), max_categories: int = 30):
        self.drop = drop
        self.max_categories = max_categories

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # data frames only
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y=None):
        """Learn the kinds, medians, scales and categories of the columns of ``X``.

        A Dask DataFrame is looked at once; its medians are good to one part in 4,096.
        """
        if is_dask(X):
            return self._fit_partitions(X)
        frame = as_frame(X)
        dropped = set(self.drop)
        kinds = {name: kind_of(frame[name], name) for name in frame.columns if name not in dropped}
        self._set_columns(frame.columns, kinds, [n for n in kinds if is_constant(frame[n])])
        if self.numeric_:
            filled = self._imputer().fit_transform(numbers(frame, self.numeric_))
            self.scaler_ = StandardScaler().fit(filled[:, : len(self.numeric_)])
        if self.categorical_:
            texts = words(frame, self.categorical_)
            for name, column in zip(self.categorical_, texts.T, strict=True):
                self._warn_of_identifier(name, len(set(column)), len(column))
            with _no_warnings():
                self._one_hot().fit(texts)
        self.feature_names_out_ = self._output_names()
        return self

    def _fit_partitions(self, X):
        from sarlearn.backends.dask.read import each_partition
        from sarlearn.tables.sums import column_sums, imputer_of, merged, one_hot_of, scaler_of

        found = merged(each_partition(X, column_sums, tuple(self.drop)))
        kinds = {name: sums.kind or "" for name, sums in found.items()}
        self._set_columns(X.columns, kinds, [name for name in kinds if found[name].is_constant])
        if self.numeric_:
            columns = [found[name] for name in self.numeric_]
            imputer_of(columns, self._imputer())
            self.scaler_ = scaler_of(columns)
        if self.categorical_:
            for name in self.categorical_:
                self._warn_of_identifier(name, len(found[name].counts), found[name].n_rows)
            with _no_warnings():
                one_hot_of([found[name] for name in self.categorical_], self._one_hot())
        self.feature_names_out_ = self._output_names()
        return self

    def _set_columns(self, columns, kinds: dict[str, str], constant: list[str]) -> None:
        self.feature_names_in_ = np.asarray(columns, dtype=object)
        self.n_features_in_ = len(columns)
        self.constant_ = constant
        self.kinds_ = {name: kind for name, kind in kinds.items() if name not in constant}
        if not self.kinds_:
            raise ValueError("The table has no column with more than one value to learn from.")
        self.numeric_ = [name for name, kind in self.kinds_.items() if kind == "numeric"]
        self.categorical_ = [name for name, kind in self.kinds_.items() if kind == "category"]

    def _imputer(self) -> SimpleImputer:
        self.imputer_ = SimpleImputer(strategy="median", add_indicator=True)
        return self.imputer_

    def _one_hot(self) -> OneHotEncoder:
        self.one_hot_ = OneHotEncoder(
            drop="if_binary",
            handle_unknown="infrequent_if_exist",
            max_categories=self.max_categories,
            sparse_output=False,
        )
        return self.one_hot_

    def _output_names(self) -> list[str]:
        names = [output_name(name) for name in self.numeric_]
        if self.numeric_:
            names += [output_name(self.numeric_[i], MISSING) for i in self._gaps()]
        return names + (self._one_hot_names() if self.categorical_ else [])

    def _gaps(self) -> list[int]:
        """Positions of the numeric columns that had gaps in fit."""
        return [int(index) for index in self.imputer_.indicator_.features_]

    def _one_hot_names(self) -> list[str]:
        names: list[str] = []
        positions = [str(index) for index in range(len(self.categorical_))]
        for encoded in self.one_hot_.get_feature_names_out(positions):
            position, _, category = encoded.partition("_")
            column = self.categorical_[int(position)]
            name = output_name(column, OTHER if category == _INFREQUENT else category)
            while name in names:  # a table may have a category called "(other)"
                name += "'"
            names.append(name)
        return names

    def _warn_of_identifier(self, name: str, n_values: int, n_rows: int) -> None:
        if n_values > self.max_categories and 2 * n_values > n_rows:
            warn(IdentifierColumnWarning(name, n_values, n_rows))

    def transform(self, X):
        """Encode a table; columns are found by name, others than those of fit are ignored."""
        import narwhals as nw

        check_is_fitted(self)
        if is_dask(X):
            from sarlearn.backends.dask.rows import predict_lazily

            return predict_lazily(self.transform, X, columns=self.feature_names_out_)
        frame = as_frame(X)
        for name in self.kinds_:
            if name not in frame.columns:
                raise ValueError(
                    f"The table has no column {name!r}, which the model uses."
                    + nearest(name, frame.columns)
                )
        blocks = []
        if self.numeric_:
            filled = self.imputer_.transform(numbers(frame, self.numeric_))
            width = len(self.numeric_)
            filled[:, :width] = self.scaler_.transform(filled[:, :width])
            blocks.append(filled)
        if self.categorical_:
            with _no_warnings():  # unknown values: unknown_values() tells of them
                blocks.append(self.one_hot_.transform(words(frame, self.categorical_)))
        encoded = np.hstack(blocks)
        result = nw.from_numpy(encoded, self.feature_names_out_, backend=frame.implementation)
        native = result.to_native()
        if frame.implementation.is_pandas():
            native.index = X.index
        return native

    def unknown_values(self, X) -> dict[str, list[str]]:
        """Values of categorical columns that fit did not see, by column."""
        check_is_fitted(self)
        if not self.categorical_:
            return {}
        texts = words(as_frame(X), self.categorical_)
        found = {}
        known = self.one_hot_.categories_
        for name, column, seen in zip(self.categorical_, texts.T, known, strict=True):
            unseen = sorted(set(column) - set(seen))
            if unseen:
                found[name] = unseen
        return found

    def encode_values(self, column: str, values) -> tuple[np.ndarray, np.ndarray]:
        """Positions of a column's encoded columns, and their contents for the given values."""
        positions = np.flatnonzero([origin(name) == column for name in self.feature_names_out_])
        block = np.zeros((len(values), len(positions)))
        if self.kinds_[column] == "numeric":
            index = self.numeric_.index(column)
            center, scale = self.scaler_.mean_[index], self.scaler_.scale_[index]
            block[:, 0] = (np.asarray(values, dtype=float) - center) / scale
        else:
            index = self.categorical_.index(column)
            texts = np.empty((len(values), len(self.categorical_)), dtype=object)
            texts[:] = [seen[0] for seen in self.one_hot_.categories_]
            texts[:, index] = [str(value) for value in values]
            with _no_warnings():
                encoded = self.one_hot_.transform(texts)
            offset = len(self.feature_names_out_) - encoded.shape[1]
            block[:] = encoded[:, positions - offset]
        return positions, block

    def category_of_output(self, position: int) -> str | None:
        """The category an encoded column stands for; None for a number."""
        name = self.feature_names_out_[position]
        prefix = output_name(origin(name), "")
        return name[len(prefix) :] if name.startswith(prefix) else None

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the encoded columns."""
        check_is_fitted(self)
        return np.asarray(self.feature_names_out_, dtype=object)


@contextlib.contextmanager
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


class TablePipeline(Pipeline):
    """A scikit-learn ``Pipeline`` whose last step also knows propensities and posteriors.

    :func:`make_table_classifier` builds one for tables; any other transformers may stand before
    the last step.
    """

    def _encoded(self, X):
        check_is_fitted(self)
        return self[:-1].transform(X)

    def predict_propensity(self, X) -> np.ndarray:
        """``e(x) = P(s=1 | y=1, x)`` of every row."""
        return self[-1].predict_propensity(self._encoded(X))

    def predict_posterior(self, X, s) -> np.ndarray:
        """``P(y=1 | x, s)`` of every row; 1 where labelled."""
        if is_dask(X):
            from sarlearn.backends.dask.rows import predict_lazily

            return predict_lazily(self.predict_posterior, X, s)
        return self[-1].predict_posterior(self._encoded(X), s)


def make_table_classifier(
    propensity_features: Sequence[str] = (),
    *,
    method: str = "sar-em",
    classifier="logistic",
    drop: Sequence[str] = (),
    max_categories: int = 30,
    **parameters,
) -> TablePipeline:
    """SAR-EM, or its cross-fit, for a data frame with mixed columns, as a ``Pipeline``.

    Parameters
    ----------
    propensity_features : sequence of str
        Columns of the table on which labelling depends. A column of text counts with all the
        columns it becomes. Empty is SCAR: every positive has the same chance to be labelled.
    method : {"sar-em", "cross-fit"}, default="sar-em"
        The paper's :class:`~sarlearn.SAREMClassifier`, or
        :class:`~sarlearn.CrossFitSARClassifier`, which is what ``sarlearn fit`` uses: about ten
        times the work, for a class prior nearer the truth and a word on how sure it is.
    classifier : {"logistic", "boosting"} or classifier, default="logistic"
        The model of ``P(y=1 | x)``: logistic regression, gradient-boosted trees, or any
        scikit-learn classifier with ``sample_weight`` and ``predict_proba``. ``"boosting"`` in a
        cross-fit is :class:`~sarlearn.BoostedSARClassifier`, which needs the extra ``boost``.
    drop : sequence of str
        Columns to leave out, such as identifiers.
    max_categories : int >= 2, default=30
        The most columns one column of text becomes.
    **parameters
        Passed to the learner: ``decay``, ``C``, ``max_iter`` and others.

    Returns
    -------
    TablePipeline
        Steps ``columns`` (:class:`TableEncoder`) and ``sarem``, ``crossfit`` or ``boosted``.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sarlearn.tables import make_table_classifier
    >>> rng = np.random.default_rng(0)
    >>> age, plan = rng.normal(50, 10, 2000), rng.choice(["none", "basic", "full"], 2000)
    >>> ill = rng.random(2000) < 1 / (1 + np.exp(-(age - 50) / 4))
    >>> diagnosed = ill & (rng.random(2000) < np.where(plan == "none", 0.2, 0.7))
    >>> table = pd.DataFrame({"age": age, "plan": plan})
    >>> model = make_table_classifier(["plan"]).fit(table, diagnosed)
    >>> chance = pd.Series(model.predict_propensity(table)).groupby(plan).mean()
    >>> bool(chance["none"] < chance["full"])
    True
    """
    from sarlearn.classifiers import (
        BoostedSARClassifier,
        CrossFitSARClassifier,
        SAREMClassifier,
    )

    learners = {"sar-em": SAREMClassifier, "cross-fit": CrossFitSARClassifier}
    if method not in learners:
        raise ValueError(f"method must be 'sar-em' or 'cross-fit'; got {method!r}.")
    if isinstance(propensity_features, str):
        propensity_features = [propensity_features]
    columns = TableEncoder(drop=tuple(drop), max_categories=max_categories)
    named = FromColumns(propensity_features) if len(propensity_features) else ()
    if method == "cross-fit" and isinstance(classifier, str) and classifier == "boosting":
        boosted = BoostedSARClassifier(named, **parameters)
        return TablePipeline([("columns", columns), ("boosted", boosted)])
    learner = learners[method](named, classifier=_base_classifier(classifier), **parameters)
    return TablePipeline([("columns", columns), (method.replace("-", ""), learner)])


def _base_classifier(classifier):
    if not isinstance(classifier, str):
        return classifier
    if classifier == "logistic":
        return None
    if classifier == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        # EM fits it again every round, so it must be quick: with weights, most of the time goes
        # into finding the bins, one by one. No held-out part, whose draw would make rounds jump.
        return HistGradientBoostingClassifier(
            max_iter=30,
            learning_rate=0.2,
            max_leaf_nodes=15,
            max_bins=32,
            early_stopping=False,
            random_state=0,
        )
    raise ValueError(
        f"classifier must be 'logistic', 'boosting' or a scikit-learn classifier; got "
        f"{classifier!r}."
    )
