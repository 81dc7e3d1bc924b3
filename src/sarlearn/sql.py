"""Fitted models as SQL expressions, to score rows in the database that holds them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from sarlearn._engine.terms import FARTHEST, VALUE, Terms
from sarlearn._sql_text import DIALECTS, Dialect, number, posterior, scaled, sigmoid, term, total
from sarlearn.classifiers import SARClassifier
from sarlearn.classifiers.base import LearnsPropensity
from sarlearn.tables.columns import MISSING
from sarlearn.tables.encoder import TableEncoder

__all__ = ["SQLScores", "to_sql"]


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
    """Turn a fitted model into SQL expressions, to score rows where they lie.

    The expressions hold the whole model: gaps, categories, scales, and a CASE per tree. They give
    what ``predict_proba``, ``predict_propensity`` and ``predict_posterior`` give, to rounding.

    Parameters
    ----------
    model : fitted classifier, or a pipeline that ends in one
        A :class:`~sarlearn.SARClassifier`, or any learner of this package with a linear ``coef_``.
        Before it may stand a :class:`~sarlearn.tables.TableEncoder`, a ``StandardScaler`` or a
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
        Probability, propensity and posterior; ``select(table)`` puts them into a ``SELECT``.

    Notes
    -----
    Columns that were numbers in ``fit`` must be numbers in the database, and finite: Python
    refuses infinite ones, SQL does not. Columns of categories must hold the same values as in
    ``fit``; truth values may be booleans, or 0 and 1 where a database has none.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sarlearn import SARClassifier, to_sql
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"size": rng.normal(size=500), "seen": rng.normal(size=500)})
    >>> s = (X["size"] > 0) & (rng.random(500) < 1 / (1 + np.exp(-X["seen"])))
    >>> model = SARClassifier(["seen"]).fit(X, s)
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
    additive = isinstance(learner, SARClassifier)
    if not additive:
        _refuse_nonlinear(learner)
    before = [step for step in steps[:-1] if step not in (None, "passthrough")]
    database = DIALECTS[dialect]
    if before and isinstance(before[0], TableEncoder):
        table = _encoded_columns(database, before, columns)
    else:
        table = _plain_columns(database, before, learner, columns, gaps=additive)
    zeta: str | None
    if additive:
        eta, zeta = _additive_logits(table, learner, database)
    else:
        eta = _linear(table, learner.coef_[0], learner.intercept_[0])
        zeta = _propensity_logit(table, learner)
    scores = {"probability": sigmoid(eta, database)}
    if zeta is not None:
        scores["propensity"] = sigmoid(zeta, database)
        scores["posterior"] = posterior(eta, zeta, labelled, database)
    if table.complete:
        scores = {name: f"CASE WHEN {table.complete} THEN {s} END" for name, s in scores.items()}
    return SQLScores(dialect, **scores)


def _refuse_nonlinear(learner) -> None:
    if not hasattr(learner, "coef_"):
        what = type(learner).__name__
        if getattr(learner, "classifier_", None) is not None:
            what += f" with a {type(learner.classifier_).__name__}"
        raise ValueError(
            f"to_sql writes linear models and SARClassifier, not {what}. Score it in Python "
            "('sarlearn predict'), or fit the logistic classifier."
        )
    if hasattr(learner, "propensity_estimator_"):
        raise ValueError(
            "to_sql writes logistic propensities, and got a "
            f"{type(learner.propensity_estimator_).__name__} as propensity_estimator. Score the "
            "model in Python ('sarlearn predict')."
        )


# -- the columns of the table ----------------------------------------------------------------------


@dataclass
class _Table:
    """The columns of a model as SQL: numbers, NULL where they have gaps; and when to trust them.

    ``levels`` has, of a column of categories, the condition that holds for each code; ``as_is``
    what may stand for a value where NaN, which is above all numbers, may be told as one.
    """

    values: list[str]
    complete: str = ""
    levels: dict[int, list[str]] = field(default_factory=dict)
    as_is: list[str] | None = None


def _numbers(dialect: Dialect, names: Iterable[str]) -> tuple[list[str], str]:
    """Columns of numbers, NULL for gaps, and a condition that none of them holds anything else."""
    columns = [dialect.name(str(name)) for name in names]
    values = [f"CAST({column} AS {dialect.number})" for column in columns]
    values = [dialect.without_nan.format(x=value, number=dialect.number) for value in values]
    strange = [dialect.is_number.format(column=column) for column in columns]
    return values, " AND ".join(strange if dialect.is_number else [])


def _plain_columns(dialect: Dialect, before: list, learner, columns, gaps: bool) -> _Table:
    """Columns as they are, or scaled; where the learner takes no gaps, none may be missing."""
    n_columns = before[0].n_features_in_ if before else _n_columns(learner)
    shift, divisor = affine(before, n_columns)
    names = columns
    if names is None:
        names = getattr(before[0] if before else learner, "feature_names_in_", None)
    if names is None or len(names) != n_columns:
        raise ValueError(
            f"The model has {n_columns} columns"
            + (" and no names for them; give columns=[...]." if names is None else "")
            + (f", and columns has {len(names)}." if names is not None else "")
        )
    codes = learner.categories_.by_column if gaps else {}
    values, numbers = _numbers(dialect, [n for j, n in enumerate(names) if j not in codes])
    # LEAST and GREATEST pass over NULL in some databases, and a gap would become a sure score.
    complete = numbers if gaps else f"({total(values)}) IS NOT NULL"
    for j in codes:
        values.insert(j, dialect.name(str(names[j])))
    levels = {
        j: [_is_level(dialect, values[j], level) for level in known] for j, known in codes.items()
    }
    as_is = None if before else [dialect.name(str(name)) for name in names]
    return _Table(list(map(scaled, values, shift, divisor)), complete, levels, as_is)


def _n_columns(learner) -> int:
    return learner.coef_.shape[1] if hasattr(learner, "coef_") else learner.n_features_in_


def _is_level(dialect: Dialect, column: str, level: Any) -> str:
    if isinstance(level, str):
        return f"{column} = {dialect.literal(level)}"
    if isinstance(level, bool | np.bool_) or not isinstance(level, Real):
        raise ValueError(
            f"to_sql writes categories that are texts or numbers; {column} has {level!r}."
        )
    return f"CAST({column} AS {dialect.number}) = {number(level)}"


def _encoded_columns(dialect: Dialect, before: list, columns) -> _Table:
    """The columns that a table encoder makes, gaps and rare and unknown levels as it takes them."""
    encoder = before[0]
    if len(before) > 1:
        raise ValueError(_unknown_step(before[1], "to_sql"))
    if columns is not None:
        raise ValueError("columns is for models without column names; this one knows them.")
    if getattr(encoder, "dates_", None):
        raise ValueError(
            f"The column {next(iter(encoder.dates_))!r} holds dates, which to_sql does not "
            "translate: put the days since an event into the table, and fit to these."
        )
    found: dict[int, str] = {}
    known, numbers = _numbers(dialect, encoder.numeric_)
    for index, name in enumerate(encoder.numeric_):
        where, inside = encoder.encode_values(name, [encoder.imputer_.statistics_[index]])
        value = known[index]
        if name in encoder.log_units_:
            unit = number(encoder.log_units_[name])
            value = f"(SIGN({value}) * LN(1.0 + ABS({value}) / {unit}))"
        center, scale = encoder.scaler_.mean_[index], encoder.scaler_.scale_[index]
        found[where[0]] = f"COALESCE({scaled(value, center, scale)}, {number(inside[0, 0])})"
        for gap in where[1:]:
            found[gap] = f"CASE WHEN {known[index]} IS NULL THEN 1.0 ELSE 0.0 END"
    for index, name in enumerate(encoder.categorical_):
        found |= _one_hot(
            dialect, encoder, name, list(map(str, encoder.one_hot_.categories_[index]))
        )
    return _Table([found[position] for position in range(len(found))], numbers)


def _one_hot(dialect: Dialect, encoder, name: str, known: list[str]) -> dict[int, str]:
    """Columns of 0 and 1 of the levels of text: rare and unknown ones, too."""
    unknown = "x" * (1 + max(map(len, known)))  # a text that is none of these
    where, inside = encoder.encode_values(name, [*known, MISSING, unknown])
    column = dialect.name(name)
    text = f"CAST({column} AS {dialect.text})"
    is_truth = set(known) <= {"True", "False", MISSING}
    conditions = []
    for level in known:
        spelled = ("true", "1") if level == "True" else ("false", "0")
        written = [*spelled, spelled[0][0]] if is_truth and level != MISSING else [level]
        right = ", ".join(map(dialect.literal, written))
        conditions.append(f"{'LOWER' if is_truth else 'TRIM'}({text}) IN ({right})")
    found = {}
    for position, (*marks, gap, other) in zip(where, inside.T, strict=True):
        cases = [f"WHEN {column} IS NULL OR TRIM({text}) = '' THEN {gap:.1f}"]
        cases += [
            f"WHEN {condition} THEN {mark:.1f}"
            for condition, mark in zip(conditions, marks, strict=True)
            if mark != other
        ]
        found[int(position)] = f"CASE {' '.join(cases)} ELSE {other:.1f} END"
    return found


def affine(
    before: Iterable, n_columns: int, asked: str = "to_sql"
) -> tuple[np.ndarray, np.ndarray]:
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
            raise ValueError(_unknown_step(step, asked))
        shift, divisor = shift + divisor * moved, divisor * factor
    return shift, divisor


def _unknown_step(step, asked: str) -> str:
    encoder = "a TableEncoder, " if asked == "to_sql" else ""
    return (
        f"{asked} does not know how to write the step {step!r}. Before the learner may stand "
        f"{encoder}a StandardScaler or a MinMaxScaler without clip."
    )


# -- logits ----------------------------------------------------------------------------------------


def _linear(table: _Table, coef: np.ndarray, intercept: float) -> str:
    terms = [term(c, value) for c, value in zip(coef, table.values, strict=True) if c]
    return total([*terms, number(intercept)])


def _propensity_logit(table: _Table, learner) -> str | None:
    if hasattr(learner, "propensity_features_") and hasattr(learner, "propensity_coef_"):
        coef = np.zeros(len(table.values))
        coef[learner.propensity_features_] = learner.propensity_coef_[0]
        return _linear(table, coef, learner.propensity_intercept_[0])
    if isinstance(learner, LearnsPropensity):  # one number for all rows
        c = float(learner._propensity(np.zeros((1, learner.coef_.shape[1])))[0])
        return number(float(np.log(c) - np.log1p(-min(c, 1 - 1e-16))))
    return None


def _additive_logits(table: _Table, learner, dialect: Dialect) -> tuple[str, str]:
    """Of the class, with its trees, and of the propensity."""
    model = learner.class_logit_
    if model.classifiers:
        raise ValueError(
            "to_sql writes linear class models and trees, not the "
            f"{type(model.classifiers[0][1]).__name__} in class_models. Score the model in Python "
            "('sarlearn predict')."
        )
    parts = _of_terms(table, learner.terms_, model.coef[:-1], dialect)
    own = [
        (table.values[j], (table.as_is or table.values)[j], table.levels.get(j, []))
        for j in learner.classifier_features_
    ]
    for factor, trees in model.trees:
        grown = [_tree(tree["tree_structure"], own) for tree in trees.dump()]
        if grown and factor:
            parts.append(term(factor, total(grown)))
    of_propensity = _of_terms(table, learner.attributes_, learner.phi_[:-1], dialect)
    return (
        total([*parts, number(model.coef[-1])]),
        total([*of_propensity, number(learner.phi_[-1])]),
    )


def _of_terms(table: _Table, terms: Terms, coef: np.ndarray, dialect: Dialect) -> list[str]:
    """One expression per column: its value within the terms' ends, its gaps, its levels."""
    found = []
    for j in np.unique(terms.column):
        here = np.flatnonzero(terms.column == j)
        own, weight = terms.part(here), coef[here]
        if not weight.any():
            continue

        def effect(value: float, own=own, weight=weight, j=j) -> str:
            row = np.full((1, j + 1), value)
            return number((own.transform(row) @ weight)[0])

        value = table.values[j]
        if j in table.levels:
            cases = [
                f"WHEN {condition} THEN {effect(code)}"
                for code, condition in enumerate(table.levels[j])
            ]
            found.append(f"CASE {' '.join(cases)} ELSE {effect(np.nan)} END")
            continue
        known = []
        for kind, c, center, scale in zip(own.kind, weight, own.center, own.scale, strict=True):
            if kind == VALUE:
                moved = scaled(value, center, scale)
                ends = f"{dialect.least}({dialect.greatest}({moved}, -{FARTHEST}), {FARTHEST})"
                known.append(term(c, ends))
            else:
                known.append(number(c * np.clip(-center / scale, -FARTHEST, FARTHEST)))
        gap = effect(np.nan)
        found.append(f"CASE WHEN {value} IS NULL THEN {gap} ELSE {' + '.join(known)} END")
    return found


def _tree(node: dict[str, Any], columns: list[tuple[str, str, list[str]]]) -> str:
    """A tree of LightGBM as nested CASE expressions; what is NULL goes to ELSE."""
    if "leaf_value" in node:
        return number(node["leaf_value"])
    threshold, (value, as_is, levels) = node["threshold"], columns[node["split_feature"]]
    first, last = "left_child", "right_child"
    if node["decision_type"] == "==":  # gaps, and levels of which there were none, go right
        chosen = [int(code) for code in threshold.split("||")]
        condition = " OR ".join(levels[code] for code in chosen if code < len(levels)) or "1 = 0"
    else:
        # Where no row of the fit had a gap, LightGBM takes gaps for 0.
        gaps_left = node["default_left"] if node["missing_type"] == "NaN" else threshold >= 0
        first, last = (last, first) if gaps_left else (first, last)
        compared = f"{value} >" if gaps_left else f"{as_is} <="
        condition = f"{compared} {number(threshold)}"
    sides = (_tree(node[side], columns) for side in (first, last))
    return "CASE WHEN {} THEN {} ELSE {} END".format(condition, *sides)
