"""Fitted models as SQL expressions, to score rows in the database that holds them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from sarlearn._engine.terms import FARTHEST, VALUE, Terms
from sarlearn._sql_text import DIALECTS, Dialect, number, posterior, scaled, sigmoid, term, total
from sarlearn.classifiers import SARClassifier
from sarlearn.classifiers.base import LearnsPropensity
from sarlearn.tables.encoder import TableEncoder

__all__ = ["to_sql"]


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
        Before it may stand a ``StandardScaler`` or a ``MinMaxScaler``; before a linear one also
        ``TableEncoder(terms=True)``.
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

    See Also
    --------
    save : Keep a fitted model in a file.
    sarlearn.onnx.to_onnx : The same for programs that read ONNX.

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
    reader = before[0] if before and isinstance(before[0], TableEncoder) else None
    if reader is None and not before:
        reader = getattr(learner, "reader_", None)
    if reader is not None:
        if len(before) > 1 or (before and (additive or not reader.terms)):
            raise ValueError(_unknown_step(before[-1], "to_sql"))
        table = _read_columns(database, reader, columns)
    else:
        table = _plain_columns(database, before, learner, columns, gaps=additive)
    zeta: str | None
    if additive:
        eta, zeta = _additive_logits(table, learner, database)
    elif reader is not None:
        terms = reader.terms_
        eta = total(
            [*_of_terms(table, terms, learner.coef_[0], database), number(learner.intercept_[0])]
        )
        zeta = _propensity_logit(table, learner, terms, database)
    else:
        eta = _linear(table, learner.coef_[0], learner.intercept_[0])
        zeta = _propensity_logit(table, learner, None, database)
    scores = {"probability": sigmoid(eta, database)}
    if zeta is not None:
        scores["propensity"] = sigmoid(zeta, database)
        shift = number(getattr(learner, "posterior_shift_", 0.0))
        scores["posterior"] = posterior(total([eta, shift]), zeta, labelled, database)
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
    values, numbers = _numbers(dialect, names)
    # LEAST and GREATEST pass over NULL in some databases, and a gap would become a sure score.
    complete = numbers if gaps else f"({total(values)}) IS NOT NULL"
    as_is = None if before else [dialect.name(str(name)) for name in names]
    levels = {}
    for j, n_codes in learner.codes_.items() if gaps else ():
        levels[j] = [f"{values[j]} = {number(code)}" for code in range(n_codes)]
    return _Table(list(map(scaled, values, shift, divisor)), complete, levels, as_is)


def _n_columns(learner) -> int:
    return learner.coef_.shape[1] if hasattr(learner, "coef_") else learner.n_features_in_


def _read_columns(dialect: Dialect, reader: TableEncoder, columns) -> _Table:
    """The columns as a table encoder reads them: logarithms, and codes of words."""
    if columns is not None:
        raise ValueError("columns is for models without column names; this one knows them.")
    if reader.first_days_:
        raise ValueError(
            f"The column {next(iter(reader.first_days_))!r} holds dates, which to_sql does not "
            "translate: put the days since an event into the table, and fit to these."
        )
    used = [n for n in reader.kinds_ if n not in reader.levels_ and n not in reader.constant_]
    known, numbers = _numbers(dialect, used)
    values = dict(zip(used, known, strict=True))
    as_is = [dialect.name(name) for name in reader.kinds_]
    levels = {}
    for j, name in enumerate(reader.kinds_):
        if name in reader.levels_:
            values[name], levels[j] = as_is[j], _levels_of(dialect, reader, name)
        elif name not in values:  # a constant, in no term and no tree
            values[name] = as_is[j] = number(0.0)
        elif name in reader.log_units_:
            unit = number(reader.log_units_[name])
            as_is[j] = f"(SIGN({values[name]}) * LN(1.0 + ABS({values[name]}) / {unit}))"
            values[name] = as_is[j]
    return _Table([values[name] for name in reader.kinds_], numbers, levels, as_is)


def _levels_of(dialect: Dialect, reader: TableEncoder, name: str) -> list[str]:
    """For each code the condition that a cell holds one of its words."""
    text = f"CAST({dialect.name(name)} AS {dialect.text})"
    known, rare = reader.levels_[name], reader.rare_levels_.get(name, [])
    is_truth = set(known) <= {"True", "False"}
    conditions = []
    for code, level in enumerate(known):
        written = [level, *(rare if code == len(known) - 1 else [])]
        if is_truth:
            spelled = ("true", "1") if level == "True" else ("false", "0")
            written = [*spelled, spelled[0][0]]
        right = ", ".join(map(dialect.literal, written))
        conditions.append(f"{'LOWER' if is_truth else 'TRIM'}({text}) IN ({right})")
    return conditions


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


def _propensity_logit(table: _Table, learner, terms: Terms | None, dialect) -> str | None:
    if hasattr(learner, "propensity_features_") and hasattr(learner, "propensity_coef_"):
        coef = np.zeros(learner.coef_.shape[1])
        coef[learner.propensity_features_] = learner.propensity_coef_[0]
        intercept = learner.propensity_intercept_[0]
        if terms is None:
            return _linear(table, coef, intercept)
        return total([*_of_terms(table, terms, coef, dialect), number(intercept)])
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
