"""Fitted linear models as SQL expressions, to score rows in the database that holds them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from sarlearn.tables.columns import MISSING
from sarlearn.tables.encoder import TableEncoder

__all__ = ["SQLScores", "to_sql"]

# exp() of a larger number overflows a double, and some databases then stop with an error.
LIMIT = 700
# Terms per pair of brackets.
BRACKET = 50


@dataclass(frozen=True)
class Dialect:
    """How a database writes names, texts, types and the functions that are needed."""

    number: str
    text: str
    quote: str = '"'
    backslashes: bool = False  # whether a backslash in a text begins an escape
    least: str = "LEAST"
    greatest: str = "GREATEST"
    # What takes NaN for a gap, as Python does; empty where the database stores none.
    without_nan: str = "NULLIF({x}, CAST('NaN' AS {number}))"
    # What holds for a value that is a number; elsewhere the cast complains by itself.
    is_number: str = ""

    def name(self, name: str) -> str:
        """A column's name in quotes, whatever it contains."""
        if not name or "\0" in name:
            raise ValueError(f"A database cannot have a column called {name!r}.")
        return f"{self.quote}{name.replace(self.quote, 2 * self.quote)}{self.quote}"

    def literal(self, text: str) -> str:
        """A text in quotes, whatever it contains."""
        if "\0" in text:
            raise ValueError(f"A database cannot hold the value {text!r}.")
        if not self.backslashes:
            return "'" + text.replace("'", "''") + "'"
        for raw, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r")):
            text = text.replace(raw, escaped)
        return f"'{text}'"


DIALECTS = {
    "duckdb": Dialect("DOUBLE", "VARCHAR"),
    "postgres": Dialect("DOUBLE PRECISION", "TEXT"),
    "sqlite": Dialect(
        "REAL",
        "TEXT",
        least="MIN",
        greatest="MAX",
        without_nan="{x}",
        is_number="typeof({column}) IN ('integer', 'real')",
    ),
    "spark": Dialect("DOUBLE", "STRING", quote="`", backslashes=True),
    "snowflake": Dialect("DOUBLE", "VARCHAR", backslashes=True),
    "bigquery": Dialect(
        "FLOAT64", "STRING", quote="`", backslashes=True, without_nan="IF(IS_NAN({x}), NULL, {x})"
    ),
}


@dataclass(frozen=True)
class SQLScores:
    """What a model says of a row, as SQL expressions in the columns of the table.

    Attributes
    ----------
    dialect : str
        The database they are written for.
    probability : str
        ``P(y=1|x)``.
    propensity : str or None
        ``P(s=1|y=1,x)``; None for a model that has learned none.
    posterior : str or None
        ``P(y=1|x,s)``: of rows that are not labelled, unless ``to_sql`` was told which are.

    See Also
    --------
    to_sql : Makes them of a fitted model.
    """

    dialect: str
    probability: str
    propensity: str | None = None
    posterior: str | None = None

    def select(self, table: str | Sequence[str], *, keep: Sequence[str] | None = None) -> str:
        """A query that gives all rows of a table with their scores.

        Parameters
        ----------
        table : str or sequence of str
            The table's name; with its schema, a sequence such as ``("sales", "leads")``.
        keep : sequence of str, default=None
            Columns of the table to give beside the scores; by default all.

        Returns
        -------
        str
            The query.
        """
        name = DIALECTS[self.dialect].name
        columns = ["*"] if keep is None else [name(column) for column in keep]
        for score in ("probability", "propensity", "posterior"):
            if getattr(self, score) is not None:
                columns.append(f"{getattr(self, score)} AS {name(score)}")
        parts = [table] if isinstance(table, str) else table
        return "SELECT\n  " + ",\n  ".join(columns) + "\nFROM " + ".".join(map(name, parts))


def to_sql(
    model,
    dialect: str = "duckdb",
    *,
    columns: Sequence[str] | None = None,
    labelled: str | None = None,
) -> SQLScores:
    """Turn a fitted model with logistic classifier and propensity into SQL expressions.

    The expressions hold the whole model, with what the table pipeline does to the columns before:
    gaps, levels, rare and unknown ones, scales. They give what ``predict_proba``,
    ``predict_propensity`` and ``predict_posterior`` give, to rounding.

    Parameters
    ----------
    model : fitted classifier, or a pipeline that ends in one
        Any learner of this package with a linear ``coef_``. Before it may stand what
        :func:`~sarlearn.make_table_classifier` puts there, a ``StandardScaler`` or a
        ``MinMaxScaler``.
    dialect : {"duckdb", "postgres", "sqlite", "spark", "snowflake", "bigquery"}
        The first three are tested against a running database.
    columns : sequence of str, default=None
        Names of the columns, for a model that was fitted to an array without names.
    labelled : str, default=None
        A condition in SQL that holds for labelled rows, such as ``"diagnosed = 1"``; it is taken
        as it is. Their posterior is then 1.

    Returns
    -------
    SQLScores
        Probability, propensity and posterior; ``query(table)`` puts them into a ``SELECT``.

    See Also
    --------
    sarlearn.onnx.to_onnx : A model for other runtimes.

    Notes
    -----
    Columns that were numbers in ``fit`` must be numbers in the database, and finite: Python
    refuses infinite ones, SQL does not. Columns of levels must hold the same texts as in ``fit``;
    truth values may be booleans, or 0 and 1 where a database has none.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sarlearn import SAREMClassifier, to_sql
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"size": rng.normal(size=500), "seen": rng.normal(size=500)})
    >>> s = (X["size"] > 0) & (rng.random(500) < 1 / (1 + np.exp(-X["seen"])))
    >>> model = SAREMClassifier(["seen"]).fit(X, s)
    >>> scores = to_sql(model, "sqlite")
    >>> import sqlite3
    >>> database = sqlite3.connect(":memory:")
    >>> n_rows = X.to_sql("leads", database, index=False)
    >>> found = pd.read_sql_query(scores.select("leads", keep=[]), database)
    >>> bool(np.allclose(found["probability"], model.predict_proba(X)[:, 1]))
    True
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}; got {dialect!r}.")
    check_is_fitted(model)
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    learner = steps[-1]
    _refuse_nonlinear(learner)
    before = [step for step in steps[:-1] if step not in (None, "passthrough")]
    database = DIALECTS[dialect]
    if before and isinstance(before[0], TableEncoder):
        terms_of, complete = _table_terms(database, before, columns), None
    else:
        terms_of, complete = _plain_terms(database, before, learner, columns)
    eta = _logit(terms_of(learner.coef_[0]), float(learner.intercept_[0]))
    zeta = _propensity_logit(learner, terms_of)
    scores = {"probability": _sigmoid(eta, database)}
    if zeta is not None:
        scores["propensity"] = _sigmoid(zeta, database)
        scores["posterior"] = _posterior(eta, zeta, labelled, database)
    if complete is not None:
        scores = {name: f"CASE WHEN {complete} THEN {s} END" for name, s in scores.items()}
    return SQLScores(dialect, **scores)


def _refuse_nonlinear(learner) -> None:
    if not hasattr(learner, "coef_"):
        what = type(learner).__name__
        if getattr(learner, "classifier_", None) is not None:
            what += f" with a {type(learner.classifier_).__name__}"
        raise ValueError(
            f"to_sql writes linear models, not {what}. Score it in Python ('sarlearn "
            "predict'), or fit the logistic classifier."
        )
    if hasattr(learner, "propensity_estimator_"):
        raise ValueError(
            "to_sql writes logistic propensities, and got a "
            f"{type(learner.propensity_estimator_).__name__} as propensity_estimator. Score the "
            "model in Python ('sarlearn predict')."
        )


def _propensity_logit(learner, terms_of: Callable) -> str | None:
    if hasattr(learner, "propensity_coef_"):
        coef = np.zeros(learner.coef_.shape[1])
        coef[learner.propensity_features_] = learner.propensity_coef_[0]
        return _logit(terms_of(coef), float(learner.propensity_intercept_[0]))
    if hasattr(learner, "predict_propensity"):  # one number for all rows
        c = float(learner._propensity(np.zeros((1, learner.coef_.shape[1])))[0])
        return _number(float(np.log(c) - np.log1p(-min(c, 1 - 1e-16))))
    return None


# -- the columns of the table ----------------------------------------------------------------------


def _table_terms(dialect: Dialect, before: list, columns) -> Callable[[np.ndarray], list[str]]:
    """A function that gives the terms of a linear model in the columns of a table."""
    encoder = before[0]
    if len(before) > 1:
        raise ValueError(_unknown_step(before[1]))
    if columns is not None:
        raise ValueError("columns is for models without column names; this one knows them.")
    if getattr(encoder, "dates_", None):
        raise ValueError(
            f"The column {next(iter(encoder.dates_))!r} holds dates, which to_sql does not "
            "translate: put the days since an event into the table, and fit to these."
        )
    return lambda coef: [*_numeric_terms(dialect, encoder, coef), *_levels(dialect, encoder, coef)]


def _plain_terms(dialect: Dialect, before: list, learner, columns) -> tuple[Callable, str]:
    """The same in columns of numbers, and a condition that none of them is missing."""
    n_columns = before[0].n_features_in_ if before else learner.coef_.shape[1]
    shift, divisor = _affine(before, n_columns)
    names = columns
    if names is None:
        names = getattr(before[0] if before else learner, "feature_names_in_", None)
    if names is None or len(names) != n_columns:
        raise ValueError(
            f"The model has {n_columns} columns"
            + (" and no names for them; give columns=[...]." if names is None else "")
            + (f", and columns has {len(names)}." if names is not None else "")
        )
    values = [f"CAST({dialect.name(str(name))} AS {dialect.number})" for name in names]
    known = [dialect.without_nan.format(x=value, number=dialect.number) for value in values]

    def terms_of(coef: np.ndarray) -> list[str]:
        scaled = map(_scaled, values, shift, divisor)
        return [_term(c, value) for c, value in zip(coef, scaled, strict=True) if c]

    # LEAST and GREATEST pass over NULL in some databases, and a gap would become a sure score.
    return terms_of, f"({_sum(known)}) IS NOT NULL"


def _affine(before: Iterable, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """The shift and the divisor that the steps before a learner amount to."""
    shift, divisor = np.zeros(n_columns), np.ones(n_columns)
    for step in before:
        if isinstance(step, StandardScaler):
            moved = np.zeros(n_columns) if step.mean_ is None else step.mean_
            factor = np.ones(n_columns) if step.scale_ is None else step.scale_
        elif isinstance(step, MinMaxScaler) and not step.clip:
            factor = 1 / step.scale_
            moved = -step.min_ / step.scale_
        else:
            raise ValueError(_unknown_step(step))
        shift, divisor = shift + divisor * moved, divisor * factor
    return shift, divisor


def _unknown_step(step) -> str:
    return (
        f"to_sql does not know how to write the step {step!r}. Before the learner may stand a "
        "TableEncoder (make_table_classifier), a StandardScaler or a MinMaxScaler without clip."
    )


def _numeric_terms(dialect: Dialect, encoder, coef: np.ndarray) -> list[str]:
    """Numbers, scaled; a gap counts with the median, and with its own coefficient."""
    terms = []
    logarithms = getattr(encoder, "log_units_", {})
    for index, name in enumerate(encoder.numeric_):
        weight = coef[index]
        where, inside = encoder.encode_values(name, [encoder.imputer_.statistics_[index]])
        gaps = [k for k in where if k != index]
        gap = weight * inside[0, list(where).index(index)] + coef[gaps].sum()
        if not weight and not gap:
            continue
        column = dialect.name(name)
        value = f"CAST({column} AS {dialect.number})"
        known = dialect.without_nan.format(x=value, number=dialect.number)
        if name in logarithms:
            unit = _number(logarithms[name])
            value = f"(SIGN({value}) * LN(1.0 + ABS({value}) / {unit}))"
        center, scale = encoder.scaler_.mean_[index], encoder.scaler_.scale_[index]
        term = _term(weight, _scaled(value, center, scale))
        if dialect.is_number:  # anything else makes the score NULL, not a wrong number
            known_number = dialect.is_number.format(column=column)
            terms.append(
                f"CASE WHEN {known} IS NULL THEN {_number(gap)} WHEN {known_number} THEN {term} END"
            )
        else:
            terms.append(f"CASE WHEN {known} IS NULL THEN {_number(gap)} ELSE {term} END")
    return terms


def _levels(dialect: Dialect, encoder, coef: np.ndarray) -> list[str]:
    """Levels of text, as the encoder itself takes them: rare and unknown ones, too."""
    terms = []
    for index, name in enumerate(encoder.categorical_):
        known = [str(level) for level in encoder.one_hot_.categories_[index]]
        unknown = _unlike(known)
        where, inside = encoder.encode_values(name, [*known, MISSING, unknown])
        *effects, gap, other = inside @ coef[where]
        if not any(effects) and not gap and not other:
            continue
        column = dialect.name(name)
        text = f"CAST({column} AS {dialect.text})"
        is_truth = set(known) <= {"True", "False", MISSING}
        empty = f"{column} IS NULL OR TRIM({text}) = ''"
        cases = [f"WHEN {empty} THEN {_number(gap)}"]
        for level, effect in zip(known, effects, strict=True):
            if effect != other:
                spelled = ("true", "1") if level == "True" else ("false", "0")
                written = [*spelled, spelled[0][0]] if is_truth and level != MISSING else [level]
                left = f"LOWER({text})" if is_truth else f"TRIM({text})"
                right = ", ".join(map(dialect.literal, written))
                condition = f"{left} IN ({right})" if len(written) > 1 else f"{left} = {right}"
                cases.append(f"WHEN {condition} THEN {_number(effect)}")
        terms.append(f"CASE {' '.join(cases)} ELSE {_number(other)} END")
    return terms


def _unlike(known: list[str]) -> str:
    """A text that is none of these."""
    return "x" * (1 + max(map(len, known)))


# -- arithmetic ------------------------------------------------------------------------------------


def _number(value: Any) -> str:
    """A number with all its digits; with an exponent it is a double, not a decimal."""
    if not np.isfinite(value):
        raise ValueError(f"The model holds {value!r}, which cannot be written in SQL.")
    text = f"{float(value):.16e}"
    return f"({text})" if text.startswith("-") else text


def _scaled(value: str, shift: float, divisor: float) -> str:
    moved = f"({value} - {_number(shift)})" if shift else value
    return f"{moved} / {_number(divisor)}" if divisor != 1 else moved


def _term(weight: float, value: str) -> str:
    return f"{_number(weight)} * ({value})"


def _logit(terms: list[str], intercept: float) -> str:
    return _sum([*terms, _number(intercept)])


def _sum(parts: list[str]) -> str:
    """In brackets of a few terms each: some databases nest expressions only so deep."""
    while len(parts) > BRACKET:
        groups = [parts[k : k + BRACKET] for k in range(0, len(parts), BRACKET)]
        parts = [f"({' + '.join(group)})" for group in groups]
    return " + ".join(parts)


def _exp(logit: str, dialect: Dialect) -> str:
    """``exp`` of a logit that neither overflows nor underflows."""
    return f"EXP({dialect.least}({dialect.greatest}({logit}, -{LIMIT}.0), {LIMIT}.0))"


def _sigmoid(logit: str, dialect: Dialect) -> str:
    return f"(1.0 / (1.0 + {_exp(f'-({logit})', dialect)}))"


def _posterior(eta: str, zeta: str, labelled: str | None, dialect: Dialect) -> str:
    """``f (1 - e) / (1 - f e)``, which is ``1 / (1 + exp(-eta) + exp(zeta - eta))``."""
    against = f"{_exp(f'-({eta})', dialect)} + {_exp(f'({zeta}) - ({eta})', dialect)}"
    hidden = f"(1.0 / (1.0 + {against}))"
    return hidden if labelled is None else f"CASE WHEN {labelled} THEN 1.0 ELSE {hidden} END"
