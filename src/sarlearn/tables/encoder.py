"""Turn a table as people have it into columns of numbers: filled, scaled, one column per level."""

import contextlib
import warnings
from collections import Counter
from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from sarlearn._words import nearest
from sarlearn.backends import elsewhere, lazily
from sarlearn.exceptions import (
    IdentifierColumnWarning,
    ManyLevelsWarning,
    MostlyNumbersWarning,
    StrayCellsWarning,
    warn,
)
from sarlearn.tables.columns import (
    MISSING,
    as_frame,
    coded_words,
    numbers,
    read_column,
    text_numbers,
    values_of,
    words,
)
from sarlearn.tables.dates import date_columns, date_parts, expand, refuse_dates
from sarlearn.tables.marks import OTHER, mark_words, n_marks
from sarlearn.tables.names import origin, output_name
from sarlearn.tables.oddities import tell_oddities
from sarlearn.tables.readings import ColumnReading
from sarlearn.tables.skew import log_unit, scaler_to, to_log

MANY_LEVELS = 1000


class TableEncoder(  # type: ignore[call-arg]
    TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Turn a data frame with mixed columns into a data frame of numbers.

    Numeric columns are filled with the median and scaled to mean 0 and variance 1; where enough
    cells are missing, a column ``name=(missing)`` marks them. A column of text that is nearly all
    numbers counts as numeric: decimal commas, thousands separators, percent and currency signs are
    understood, and cells that are no numbers are gaps, with a warning. Strongly skewed columns
    without negative numbers enter as ``log(1 + x / m)``, with ``m`` the median of what is above
    zero. Text, categories and truth values become one column per value (a single one for two
    values), gaps being a value of their own and rare values sharing one. Values not seen in fit
    count as rare, or as none of the known ones. Columns with one value, or none, are left out.

    Parameters
    ----------
    drop : sequence of str
        Columns to leave out, such as an identifier or the label. They may be absent.
    max_categories : int >= 2, default=30
        The most columns one column of text becomes.
    min_rows : int >= 1, default=10
        Values of a column of text that fewer rows have share one column ``name=(other)``, where
        there are two such values or more. So many gaps of a number are marked.
    skewed : {"log", "raw"}, default="log"
        What is done with strongly skewed columns; "raw" leaves them as they are.
    dates : {"refuse", "days"}, default="refuse"
        What is done with columns of dates: they are refused with advice, or become the days since
        the first date, the year and the weekday.

    Attributes
    ----------
    readings_ : list of ColumnReading
        How each column of the table was read, in its order, also those that are not used.
    kinds_ : dict of str to str
        ``numeric`` or ``category`` for every column in use, in the order of the table. A column of
        dates stands here with the columns it became.
    constant_ : list of str
        Columns left out because they hold a single value.
    log_units_ : dict of str to float
        The ``m`` of each column that enters as ``log(1 + x / m)``.
    feature_names_out_ : list of str
        Names of the encoded columns; :func:`origin` gives the column each came from.

    See Also
    --------
    sarlearn.make_table_classifier : A learner for tables, with this encoder before it.

    Examples
    --------
    >>> import pandas as pd
    >>> from sarlearn.tables import TableEncoder
    >>> table = pd.DataFrame({"age": ["20,5", "40,5", None], "plan": ["a", "b", "c"]})
    >>> TableEncoder(min_rows=1).fit_transform(table).round(2)
        age  age=(missing)  plan=a  plan=b  plan=c
    0 -1.22            0.0     1.0     0.0     0.0
    1  1.22            0.0     0.0     1.0     0.0
    2  0.00            1.0     0.0     0.0     1.0
    """

    def __init__(
        self,
        drop: Sequence[str] = (),
        max_categories: int = 30,
        min_rows: int = 10,
        skewed: str = "log",
        dates: str = "refuse",
    ):
        self.drop = drop
        self.max_categories = max_categories
        self.min_rows = min_rows
        self.skewed = skewed
        self.dates = dates

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # data frames only
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    @elsewhere(dask="_fit_partitions", batches="_fit_batches")
    def fit(self, X, y=None):
        """Learn the kinds, medians, scales and categories of the columns of ``X``.

        A Dask DataFrame, or batches, are looked at once; medians are good to one part in 4,096.
        """
        self._check_settings()
        frame = as_frame(X)
        out = dict.fromkeys(self.drop, "left out")
        readings = [read_column(frame[n], n, dropped=out.get(n, "")) for n in frame.columns]
        self._set_readings(readings)
        self.dates_ = date_columns(frame, self.readings_)
        frame = self.expand(frame)
        kinds = self._kinds(frame)
        levels = {n: Counter(words(frame, [n])[:, 0]) for n in kinds if kinds[n] == "category"}
        columns = {name: self._numbers(frame, [name]) for name in kinds if name not in levels}
        constant = [name for name, column in columns.items() if self._is_constant(column)]
        self._set_columns(X.columns, kinds, constant, levels)
        if self.numeric_:
            filled = np.hstack([columns[name] for name in self.numeric_])
            for index, name in enumerate(self.numeric_):
                self._set_scale(name, filled[:, index])
            self._set_gaps(np.isnan(filled).sum(axis=0))
            filled = self._imputer().fit_transform(filled)
            self.scaler_ = scaler_to(self._to_scale(filled))
        self.feature_names_out_ = self._output_names()
        return self

    def _fit_batches(self, X, y=None):
        # The label is a column of theirs.
        return self._fit_partitions(X.of(X.features(y if isinstance(y, str) else None)))

    def _fit_partitions(self, X, y=None):
        from sarlearn.backends import each_part
        from sarlearn.tables.sums import column_sums, imputer_of, merged, scaler_of

        self._check_settings()
        found = merged(each_part(X, column_sums, tuple(self.drop)))
        dated = [name for name, sums in found.items() if sums.reading.kind == "date"]
        if dated and self.dates == "days":
            raise ValueError(
                f"Columns of dates ({', '.join(dated)}) become numbers only for rows in memory; "
                "elsewhere turn them into numbers first, or leave them out."
            )
        left_out = {n: ColumnReading(n, "category", 0, dropped="left out") for n in self.drop}
        self._set_readings([found[n].reading if n in found else left_out[n] for n in X.columns])
        self.dates_ = {}
        kinds = {name: found[name].reading.kind for name in found}
        levels = {name: found[name].levels for name in kinds if kinds[name] == "category"}
        numeric = [name for name in kinds if kinds[name] == "numeric"]
        constant = [name for name in numeric if found[name].is_constant(self.min_rows)]
        self._set_columns(X.columns, kinds, constant, levels)
        if self.numeric_:
            columns = [found[name] for name in self.numeric_]
            for name, column in zip(self.numeric_, columns, strict=True):
                self._set_scale(name, *column.spread)
            self._set_gaps([column.n_rows - column.n_known for column in columns])
            imputer_of(columns, self._imputer())
            self.scaler_ = scaler_of(columns, [self.log_units_.get(n) for n in self.numeric_])
        self.feature_names_out_ = self._output_names()
        return self

    def _check_settings(self) -> None:
        for name, accepted in (("skewed", ("log", "raw")), ("dates", ("refuse", "days"))):
            if getattr(self, name) not in accepted:
                raise ValueError(
                    f"{name} must be {' or '.join(map(repr, accepted))}; got "
                    f"{getattr(self, name)!r}."
                )

    def _set_readings(self, readings: list[ColumnReading]) -> None:
        self.readings_ = readings
        self._by_name = {reading.name: reading for reading in readings}
        used = [reading for reading in readings if not reading.dropped]
        refuse_dates([r.name for r in used if r.kind == "date"], self.dates)
        refuse_dates([r.name for r in used if r.kind == "time"], "refuse")
        self.styles_ = {r.name: r.style for r in used if r.style is not None}
        self.log_units_: dict[str, float] = {}
        for reading in used:
            if reading.n_strays:
                what = "dates" if reading.kind == "date" else "numbers"
                warn(StrayCellsWarning(reading.name, what, reading.strays, reading.n_rows))
            if reading.number_share is not None:
                warn(MostlyNumbersWarning(reading.name, reading.number_share, reading.strays))

    def _kinds(self, frame) -> dict[str, str]:
        """The kind of each column in use, with those that dates became."""
        kinds: dict[str, str] = {}
        for reading in self.readings_:
            if reading.dropped:
                continue
            if reading.kind == "date":
                parts = date_parts(reading.name, self.dates_[reading.name])
                reading.notes.append(
                    "became " + ", ".join(part.split(" (")[-1][:-1] for part in parts)
                )
                kinds |= dict(zip(parts, ("numeric", "numeric", "category"), strict=True))
            else:
                kinds[reading.name] = reading.kind
        return kinds

    def _set_columns(self, columns, kinds: dict[str, str], constant: list[str], levels) -> None:
        self.feature_names_in_ = np.asarray(columns, dtype=object)
        self.n_features_in_ = len(columns)
        kept = {name: self._kept_levels(name, counts) for name, counts in levels.items()}
        constant = [n for n in kinds if n in constant or (n in kept and len(kept[n]) < 2)]
        self.constant_ = constant
        for name in constant:
            if name in self._by_name:
                pooled = name in levels and len(levels[name]) > 1
                why = f"no value has {self.min_rows} rows" if pooled else "holds a single value"
                self._by_name[name].dropped = why if self._by_name[name].n_levels else "empty"
        self.kinds_ = {name: kind for name, kind in kinds.items() if name not in constant}
        if not self.kinds_:
            raise ValueError("The table has no column with more than one value to learn from.")
        self.numeric_ = [name for name, kind in self.kinds_.items() if kind == "numeric"]
        self.categorical_ = [name for name, kind in self.kinds_.items() if kind == "category"]
        self.rare_levels_ = {
            name: sorted(set(levels[name]) - set(kept[name]))
            for name in self.categorical_
            if OTHER in kept[name]
        }
        if self.categorical_:
            self._one_hot([kept[name] for name in self.categorical_])

    def _is_constant(self, column: np.ndarray) -> bool:
        """Whether a number has one value; a value and gaps that are marked are two."""
        known = column[~np.isnan(column)]
        return not len(known) or bool(
            len(column) - len(known) < self.min_rows and (known == known[0]).all()
        )

    def _kept_levels(self, name: str, counts: Counter) -> list[str]:
        """The levels of a column that get a column of their own; the others share one."""
        ranked = sorted(counts, key=lambda level: (-counts[level], level))
        kept = [level for level in ranked if counts[level] >= self.min_rows]
        if len(ranked) - len(kept) < 2:  # a rare level alone has nobody to be pooled with
            kept = ranked
        if len(kept) > self.max_categories or (
            len(kept) < len(ranked) and len(kept) == self.max_categories
        ):
            kept = kept[: self.max_categories - 1]
        n_rows, pooled = counts.total(), len(ranked) - len(kept)
        if name in self._by_name:
            self._by_name[name].n_pooled = pooled
        if len(counts) > self.max_categories and 2 * len(counts) > n_rows:
            warn(IdentifierColumnWarning(name, len(counts), n_rows))
        elif len(counts) >= MANY_LEVELS:
            share = 1 - sum(counts[level] for level in kept) / n_rows
            warn(ManyLevelsWarning(name, len(counts), len(kept), share))
        own = [level for level in sorted(kept) if level != OTHER or not pooled]
        return own + ([OTHER] if pooled else [])

    def _set_scale(self, name: str, values: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Take a strongly skewed column on a logarithmic scale."""
        if name in self._by_name:  # not made of a date
            tell_oddities(name, values, weights)
        unit = log_unit(values, weights) if self.skewed == "log" else None
        if unit is not None:
            self.log_units_[name] = unit
            if name in self._by_name:
                self._by_name[name].scale = "log"

    def _to_scale(self, filled: np.ndarray) -> np.ndarray:
        """Numeric columns with the skewed ones on their logarithmic scale."""
        for index, name in enumerate(self.numeric_):
            if name in self.log_units_:
                filled[:, index] = to_log(filled[:, index], self.log_units_[name])
        return filled

    def _imputer(self) -> SimpleImputer:
        self.imputer_ = SimpleImputer(strategy="median")
        return self.imputer_

    def _set_gaps(self, n_gaps: Sequence[int]) -> None:
        """Which numeric columns get one that marks their gaps: those with enough of them."""
        pairs = zip(self.numeric_, n_gaps, strict=True)
        self.gaps_ = [name for name, n in pairs if n >= self.min_rows]

    def _one_hot(self, levels: list[list[str]]) -> None:
        self.one_hot_ = OneHotEncoder(
            categories=[np.array(known, dtype=object) for known in levels],
            drop="if_binary",
            handle_unknown="ignore",
            sparse_output=False,
        )
        length = max(map(len, levels))
        rows = [known + known[:1] * (length - len(known)) for known in levels]
        with _no_warnings():
            self.one_hot_.fit(np.array(rows, dtype=object).T)

    def _output_names(self) -> list[str]:
        names = [output_name(name) for name in self.numeric_]
        if self.numeric_:
            names += [output_name(name, MISSING) for name in self.gaps_]
        return names + (self._one_hot_names() if self.categorical_ else [])

    def _one_hot_names(self) -> list[str]:
        names: list[str] = []
        positions = [str(index) for index in range(len(self.categorical_))]
        for encoded in self.one_hot_.get_feature_names_out(positions):
            position, _, category = encoded.partition("_")
            names.append(output_name(self.categorical_[int(position)], category))
        return names

    def expand(self, frame):
        """The table with its columns of dates as numbers and weekdays."""
        return expand(frame, self.dates_)

    def _numbers(self, frame, names: list[str]) -> np.ndarray:
        return numbers(frame, names, self.styles_)

    def _set_words(self, frame, out: np.ndarray) -> None:
        """Mark the words of each row in ``out``, which holds zeros."""
        first = 0
        for name, known in zip(self.categorical_, self.one_hot_.categories_, strict=True):
            last = first + n_marks(known)
            pooled = known[-1] == OTHER and name in self.rare_levels_
            mark_words(*coded_words(frame[name]), known, out[:, first:last], pooled=pooled)
            first = last

    @lazily(lambda encoder: {"columns": encoder.feature_names_out_})
    def transform(self, X):
        """Encode a table; columns are found by name, others than those of fit are ignored."""
        import narwhals as nw

        check_is_fitted(self)
        frame = as_frame(X)
        for name in [*self.dates_, *(n for n in self.kinds_ if n in self._by_name)]:
            if name not in frame.columns:
                raise ValueError(
                    f"The table has no column {name!r}, which the model uses."
                    + nearest(name, frame.columns)
                )
        frame = self.expand(frame)
        encoded = np.zeros((len(frame), len(self.feature_names_out_)))
        n_numbers = len(self.numeric_) + len(self.gaps_) if self.numeric_ else 0
        if self.numeric_:
            self._warn_of_strays(frame)
            raw = self._numbers(frame, self.numeric_)
            filled = self._to_scale(self.imputer_.transform(raw))
            encoded[:, : len(self.numeric_)] = self.scaler_.transform(filled)
            marked = [self.numeric_.index(name) for name in self.gaps_]
            encoded[:, len(self.numeric_) : n_numbers] = np.isnan(raw[:, marked])
        if self.categorical_:
            self._set_words(frame, encoded[:, n_numbers:])
        if frame.implementation.is_pandas():
            import pandas as pd

            names = self.feature_names_out_
            return pd.DataFrame(encoded, index=X.index, columns=names, copy=False)
        result = nw.from_numpy(encoded, self.feature_names_out_, backend=frame.implementation)
        return result.to_native()

    def _warn_of_strays(self, frame) -> None:
        for name in self.numeric_:
            if name not in frame.columns or frame[name].dtype.is_numeric():
                continue
            values = values_of(frame[name])
            read = text_numbers(values, self.styles_.get(name))
            strays = Counter(str(v) for v in values if v is not None and v not in read)
            if strays and 2 * strays.total() <= len(values):
                cells = dict(strays.most_common(10))
                warn(StrayCellsWarning(name, "numbers", cells, len(values)))

    def unknown_values(self, X) -> dict[str, list[str]]:
        """Values of categorical columns that fit did not see, by column."""
        check_is_fitted(self)
        if not self.categorical_:
            return {}
        texts = words(self.expand(as_frame(X)), self.categorical_)
        found = {}
        known = self.one_hot_.categories_
        for name, column, seen in zip(self.categorical_, texts.T, known, strict=True):
            unseen = sorted(set(column) - set(seen) - set(self.rare_levels_.get(name, ())))
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
            numbers = np.asarray(values, dtype=float)
            if column in self.log_units_:
                numbers = to_log(numbers, self.log_units_[column])
            block[:, 0] = (numbers - center) / scale
        else:
            known = self.one_hot_.categories_[self.categorical_.index(column)]
            texts = [str(value) for value in values]
            mark_words(np.arange(len(texts)), texts, known, block, pooled=OTHER in known)
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
