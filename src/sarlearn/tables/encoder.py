"""A table as people have it, read as columns of numbers: text as numbers, words as codes, days."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sarlearn._engine.terms import Terms
from sarlearn._words import nearest, output_name, quoted
from sarlearn.backends import in_memory, lazily
from sarlearn.exceptions import DataWarning, warn
from sarlearn.tables.columns import (
    MISSING,
    ColumnReading,
    as_frame,
    coded,
    column_names,
    days,
    numbers,
    word,
    words,
)
from sarlearn.tables.sums import (
    ColumnSums,
    column_sums,
    log_unit,
    merged,
    sums_of,
    tell_oddities,
    terms_of,
    to_log,
)

MANY_LEVELS = 1000
# Of a column with so many levels people are warned, and of one with more than FEW_LEVELS that has
# half as many as rows: it may name the rows.
FEW_LEVELS = 30
OTHER, EMPTY = "(other)", "empty"


class TableEncoder(  # type: ignore[call-arg]
    TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Turn a data frame with numbers, words, dates and gaps into a data frame of numbers.

    For learners that take numbers only; :class:`~sarlearn.SARClassifier` reads tables in this way
    by itself. A column of text that is nearly all numbers becomes numeric: decimal commas,
    thousands separators, percent and currency signs are understood, and other cells become missing,
    with a warning. Dates become days since the first one. Text, categories and truth values become
    codes 0, 1, ..., with one code for all rare values. Strongly skewed columns without negative
    numbers become ``log(1 + x / m)``, where ``m`` is the median of the numbers above zero. Missing
    cells, and values not seen in ``fit``, are NaN.

    Parameters
    ----------
    drop : sequence of str
        Columns to leave out, such as an identifier or the label. They may be absent.
    terms : bool, default=False
        Whether columns become terms of linear models instead: a number, and whether it is missing;
        a column per word; all with mean 0 and variance 1, and without gaps. Columns with one value,
        or none, are left out.
    min_rows : int >= 1, default=10
        Values of a column of words that fewer rows have share one, ``(other)``, where there are two
        such values or more.
    words : sequence of str
        Columns of numbers that name something, such as codes: they are read as words.

    Attributes
    ----------
    readings_ : list
        How each column of the table was read, in its order, also those that are not used: kind,
        gaps, values, cells that are no numbers, and what stands out.
    kinds_ : dict of str to str
        ``numeric``, ``date`` or ``category`` for every column in use, in the order of the table.
    levels_ : dict of str to list of str
        What the codes of a column of words stand for.
    constant_ : list of str
        Columns that hold a single value, or none.
    log_units_ : dict of str to float
        The ``m`` of each column that enters as ``log(1 + x / m)``.
    feature_names_out_ : list of str
        Names of the encoded columns. Those of terms are ``age``, ``age=(missing)``, ``plan=basic``:
        learners take ``"plan"`` for all columns made of it.

    See Also
    --------
    sarlearn.SARClassifier : Takes tables as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> from sarlearn import TableEncoder
    >>> table = pd.DataFrame({"age": ["20,5", "40,5", None], "plan": ["a", "b", "c"]})
    >>> TableEncoder(min_rows=1).fit_transform(table)
        age  plan
    0  20.5   0.0
    1  40.5   1.0
    2   NaN   2.0
    >>> TableEncoder(min_rows=1, terms=True).fit_transform(table).round(2)
       age  age=(missing)  plan=a  plan=b  plan=c
    0 -1.0          -0.71    1.41   -0.71   -0.71
    1  1.0          -0.71   -0.71    1.41   -0.71
    2  0.0           1.41   -0.71   -0.71    1.41
    """

    def __init__(
        self,
        drop: Sequence[str] = (),
        terms: bool = False,
        min_rows: int = 10,
        words: Sequence[str] = (),
    ):
        self.drop = drop
        self.terms = terms
        self.min_rows = min_rows
        self.words = words

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # data frames only
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y=None):
        """Learn how the columns of ``X`` are read.

        A Dask DataFrame, or batches, are looked at once; which of their columns are skewed is told
        from a sketch that is good to one part in 4,096.
        """
        names, sums_of_column = self._sums(X, y)
        self._start(names)
        terms: list = []
        for name in names:
            if name in self.drop:
                self.readings_.append(ColumnReading(name, "category", 0, dropped="left out"))
                continue
            sums = sums_of_column(name)
            self._learn(name, sums)
            if name not in self.constant_ and self.terms:
                unit, codes = self.log_units_.get(name), self._codes_of(name)
                terms += terms_of(len(self.kinds_) - 1, sums, unit, codes)
        if len(self.constant_) == len(self.kinds_):
            raise ValueError("The table has no column with more than one value to learn from.")
        self.feature_names_out_ = list(self.kinds_)
        if self.terms:
            self.terms_ = Terms.of(terms)
            names = [output_name(name) for name in self.kinds_]
            self.feature_names_out_ = self.terms_.names(names, self.levels_by_place())
        return self

    def _sums(self, X, y) -> tuple[list[str], Callable[[str], ColumnSums]]:
        """The names of the columns, and what gives the sums of each over all rows."""
        if in_memory(X):
            frame = as_frame(X)
            return frame.columns, lambda name: sums_of(frame[name], name in self.words).decided()
        from sarlearn.backends import each_part

        if hasattr(X, "features"):  # of batches, where the label is a column, too
            X = X.of(X.features(y if isinstance(y, str) else None))
        found = merged(each_part(X, column_sums, tuple(self.drop), tuple(self.words)))
        return column_names(X), found.__getitem__

    # -- what is learned of each column ----------------------------------------------------------

    def _start(self, columns) -> None:
        self.feature_names_in_ = np.asarray(columns, dtype=object)
        self.n_features_in_ = len(columns)
        for name in self.words:
            if name not in columns:
                raise ValueError(f"words: no column {name!r}.{nearest(name, columns)}")
        self.readings_: list[ColumnReading] = []
        self.kinds_: dict[str, str] = {}
        self.log_units_: dict[str, float] = {}
        self.first_days_: dict[str, int] = {}
        self.levels_: dict[str, list[str]] = {}
        self.rare_levels_: dict[str, list[str]] = {}
        self.constant_: list[str] = []

    def _learn(self, name: str, sums: ColumnSums) -> None:
        reading = sums.reading
        self.readings_.append(reading)
        if reading.kind == "time":
            raise ValueError(
                f"Column {name!r} holds times of day or spans of time. Turn them into numbers, or "
                "leave the column out (--drop on the command line)."
            )
        self.kinds_[name] = reading.kind
        if reading.n_strays:
            what = "dates" if reading.kind == "date" else "numbers"
            _warn_of_cells(name, what, reading.strays, reading.n_rows)
        if reading.number_share is not None:
            text = (
                f"Column {name!r} was read as words, though {reading.number_share:.0%} of its "
                f"cells are numbers; the others hold {quoted(reading.strays, 3)}. If they mean "
                "that the number is missing, make them empty (--na on the command line)."
            )
            warn(DataWarning("mostly-numbers", text))
        if reading.kind == "category":
            self._set_levels(reading, sums.levels)
        elif reading.kind == "date":
            self._set_first_day(name, sums)
        else:
            tell_oddities(sums)
            unit = log_unit(sums.values, sums.weights)
            if unit is not None:
                self.log_units_[name], reading.scale = unit, "log"
        if why := self._of_no_use(reading):
            reading.dropped = why
            self.constant_.append(name)

    def _of_no_use(self, reading: ColumnReading) -> str:
        """Why a column says nothing: it holds one value, or none."""
        if not reading.n_levels:
            return EMPTY
        one_code = len(self.levels_.get(reading.name, "..")) == 1
        if reading.n_gaps + reading.n_strays or not (one_code or reading.n_levels == 1):
            return ""
        pooled = reading.n_levels > 1
        return f"no value has {self.min_rows} rows" if pooled else "holds a single value"

    def _reading(self, name: str) -> ColumnReading:
        return next(reading for reading in self.readings_ if reading.name == name)

    def _set_levels(self, reading: ColumnReading, counts: Counter) -> None:
        """Codes of words: in the order of the words, rare ones last and together."""
        name, n_rows = reading.name, reading.n_rows
        counts.pop(MISSING, None)
        ranked = sorted(counts, key=lambda level: (-counts[level], level))
        kept = [level for level in ranked if counts[level] >= self.min_rows]
        if len(ranked) - len(kept) < 2:  # a rare level alone has nobody to be pooled with
            kept = ranked
        rare = sorted(set(ranked) - set(kept))
        reading.n_pooled = len(rare)
        if len(counts) >= MANY_LEVELS or (len(counts) > FEW_LEVELS and 2 * len(counts) > n_rows):
            text = (
                f"Column {name!r} has {len(counts):,} different values in {n_rows:,} rows; the "
                f"{len(rare):,} rare ones among them are one, '(other)'. If it identifies rows, "
                "leave it out; if labelling may depend on it, group its values, by region or kind."
            )
            warn(DataWarning("many-levels", text))
        own = [level for level in sorted(kept) if level != OTHER or not rare]
        self.levels_[name] = own + ([OTHER] if rare else [])
        if rare:
            self.rare_levels_[name] = rare

    def _set_first_day(self, name: str, sums: ColumnSums) -> None:
        self.first_days_[name] = int(sums.low) if len(sums.values) else 1
        sums.mean -= self.first_days_[name]
        first = date.fromordinal(self.first_days_[name]).isoformat()
        sums.reading.notes.append(f"read as days since {first}")

    def mixed(self) -> bool:
        """Whether any column holds more than plain numbers."""
        as_text = any(reading.style is not None for reading in self.readings_)
        return bool(self.levels_ or self.first_days_ or as_text)

    def levels_by_place(self) -> dict[int, list[str]]:
        """What the codes of columns stand for."""
        return {j: self.levels_[name] for j, name in enumerate(self.kinds_) if name in self.levels_}

    # -- tables as numbers -----------------------------------------------------------------------

    def fit_transform(self, X, y=None, **fit_params):
        """``fit(X).transform(X)``, which tells of cells that are no numbers once."""
        self.fit(X, y)
        return self._native(X, as_frame(X), tell=False) if in_memory(X) else self.transform(X)

    @lazily(lambda encoder: {"columns": encoder.feature_names_out_})
    def transform(self, X):
        """Encode a table; columns are found by name, others than those of fit are ignored."""
        check_is_fitted(self)
        frame = as_frame(X)
        for name in self.kinds_:
            if name not in frame.columns:
                raise ValueError(
                    f"The table has no column {name!r}, which the model uses."
                    + nearest(name, frame.columns)
                )
        return self._native(X, frame, tell=True)

    def _native(self, X, frame, tell: bool):
        """The encoded table, in the library of the table."""
        import narwhals as nw

        encoded = self._matrix(frame, tell)
        if self.terms:
            encoded = self.terms_.transform(encoded)
        names = self.feature_names_out_
        if frame.implementation.is_pandas():
            import pandas as pd

            return pd.DataFrame(encoded, index=X.index, columns=names, copy=False)
        return nw.from_numpy(encoded, names, backend=frame.implementation).to_native()

    def _matrix(self, frame, tell: bool) -> np.ndarray:
        """One column of numbers per column; cells that are none are told of or not."""
        out = np.empty((len(frame), len(self.kinds_)))
        for j, (name, kind) in enumerate(self.kinds_.items()):
            if self._reading(name).dropped == EMPTY:
                out[:, j] = 0.0
            elif kind == "category":
                codes, distinct = coded(frame[name])
                known = self._codes_of(name)
                out[:, j] = np.array([known.get(word(v), np.nan) for v in distinct])[codes]
            else:
                strays: Counter = Counter()
                out[:, j] = self.scaled(name, self.read(frame, name, strays))
                if strays and tell:
                    _warn_of_cells(name, "numbers", dict(strays.most_common()), len(frame))
        return out

    def _codes_of(self, name: str) -> dict[str, float]:
        """The code of each word of a column; rare ones have that of the last level."""
        levels = self.levels_.get(name, [])
        codes = {word: float(code) for code, word in enumerate(levels)}
        return codes | dict.fromkeys(self.rare_levels_.get(name, ()), len(levels) - 1.0)

    def read(self, frame, name: str, strays: Counter | None = None) -> np.ndarray:
        """A column as people read it: numbers, days since the first date, or words."""
        if self.kinds_[name] == "category":
            return words(frame[name])
        if self.kinds_[name] == "date":
            found = days(frame[name], self._reading(name).month_first)
            return found - self.first_days_[name]
        return numbers(frame[name], self._reading(name).style, strays)

    def scaled(self, name: str, values) -> np.ndarray:
        """Numbers of a column on the scale on which it enters."""
        values = np.asarray(values, dtype=float)
        unit = self.log_units_.get(name)
        return values if unit is None else to_log(values, unit)

    def encode_values(self, column: str, values) -> tuple[np.ndarray, np.ndarray]:
        """Positions of a column's encoded columns, and their contents for the given values."""
        place = list(self.kinds_).index(column)
        if column in self.levels_:
            codes = self._codes_of(column)
            encoded = np.array([codes.get(str(value), np.nan) for value in values])
        else:
            encoded = self.scaled(column, values)
        if not self.terms:
            return np.array([place]), encoded[:, None]
        positions = np.flatnonzero(self.terms_.column == place)
        block = np.full((len(encoded), len(self.kinds_)), np.nan)
        block[:, place] = encoded
        return positions, self.terms_.part(positions).transform(block)

    def unknown_values(self, X) -> dict[str, list[str]]:
        """Words of a table that fit did not see, by column."""
        check_is_fitted(self)
        frame, found = as_frame(X), {}
        for name in self.levels_:
            held = {word(value) for value in coded(frame[name])[1]}
            unseen = held - set(self._codes_of(name)) - {MISSING}
            if unseen:
                found[name] = sorted(unseen)
        return found

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the encoded columns."""
        check_is_fitted(self)
        return np.asarray(self.feature_names_out_, dtype=object)


def _warn_of_cells(name: str, what: str, cells: Mapping[str, int], n_rows: int) -> None:
    """Of cells in a column of numbers or dates that are none, with how often each occurs."""
    text = (
        f"Column {name!r} holds {what}, except in {sum(cells.values())} of {n_rows} rows, which "
        f"were taken as missing: {quoted(cells, 5)}."
    )
    warn(DataWarning("stray-cells", text))
