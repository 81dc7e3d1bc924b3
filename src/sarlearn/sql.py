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
from sarlearn.classifiers.base import LearnsPropensity, PUClassifier
from sarlearn.tables.encoder import TableEncoder

__all__ = ["to_sql"]

FINITE = number(np.finfo(float).max)


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
    to_sql : SQL that scores rows in a database.
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
    """Turn a fitted model into SQL expressions that score rows in a database.

    The expressions contain the whole model: missing values, categories, scaling, and a CASE per
    tree. They give what ``predict_proba``, ``predict_propensity`` and ``predict_posterior`` give,
    up to rounding.

    Parameters
    ----------
    model : fitted classifier, or a pipeline that ends in one
        A :class:`~sarlearn.SARClassifier`, or any learner of this package with a linear ``coef_``,
        before which may stand a ``StandardScaler``, a ``MinMaxScaler`` or
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
    save : Save a fitted model to a file.
    sarlearn.onnx.to_onnx : The same as an ONNX graph.

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
    parts, database = parts_of(model, "to_sql"), DIALECTS[dialect]
    if parts.reader is None:
        table = _plain_columns(database, parts, columns)
    else:
        table = _read_columns(database, parts.reader, columns)
    eta = _sum_of(table, *parts.of_class, database, _trees(table, parts))
    scores = {"probability": sigmoid(eta, database)}
    if parts.of_label is not None:
        zeta = _sum_of(table, *parts.of_label, database)
        scores["propensity"] = sigmoid(zeta, database)
        shift = number(getattr(parts.learner, "posterior_shift_", 0.0))
        scores["posterior"] = posterior(total([eta, shift]), zeta, labelled, database)
    if table.complete:
        scores = {name: f"CASE WHEN {table.complete} THEN {s} END" for name, s in scores.items()}
    return SQLScores(dialect, **scores)


# -- the model, whatever it is to be written in ----------------------------------------------------


@dataclass
class Parts:
    """A model as sums of terms and trees of the columns of its table, or as a reader reads them.

    Sums are terms, or None where they are of the columns as they stand, and their coefficients, of
    which the last is added. ``first`` is the step that sees the table.
    """

    learner: Any
    first: Any
    reader: TableEncoder | None
    of_class: tuple[Terms | None, np.ndarray]
    of_label: tuple[Terms | None, np.ndarray] | None

    @property
    def takes_gaps(self) -> bool:
        return isinstance(self.learner, SARClassifier)

    @property
    def trees(self) -> list[tuple[float, dict[str, Any]]]:
        """Each tree as LightGBM describes it, and the factor of its leaves."""
        found = self.learner.class_logit_.trees if self.takes_gaps else []
        return [(c, tree["tree_structure"]) for c, trees in found for tree in trees.dump() if c]


def parts_of(model, asked: str) -> Parts:
    """Take a model apart that is linear or a SARClassifier; refuse any other."""
    check_is_fitted(model)
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    *before, learner = [step for step in steps if step not in (None, "passthrough")]
    first = [*before, learner][0]
    if isinstance(learner, SARClassifier):
        if before:
            raise ValueError(
                f"{asked} does not know how to write the step {first!r} before a SARClassifier, "
                "which reads and scales tables by itself: leave the step out."
            )
        _refuse(asked, [own for _, own in learner.class_logit_.classifiers])
        of_class = learner.terms_, learner.class_logit_.coef
        return Parts(learner, first, learner.reader_, of_class, (learner.attributes_, learner.phi_))
    if not (hasattr(learner, "coef_") and isinstance(learner, PUClassifier)):
        _refuse(asked, [getattr(learner, "classifier_", None) or learner])
    _refuse(asked, filter(None, [getattr(learner, "propensity_estimator_", None)]))
    coef = np.append(learner.coef_[0], learner.intercept_[0])
    label_coef = _label_coef(learner, learner.coef_.shape[1])
    reader = terms = None
    if len(before) == 1 and isinstance(first, TableEncoder) and first.terms:
        reader, terms, before = first, first.terms_, []
    for step in reversed(before):
        coef = _unscaled(step, coef, asked)
        label_coef = None if label_coef is None else _unscaled(step, label_coef, asked)
    of_label = None if label_coef is None else (terms, label_coef)
    return Parts(learner, first, reader, (terms, coef), of_label)


def _refuse(asked: str, models: Iterable) -> None:
    for model in models:
        raise ValueError(
            f"{asked} writes logistic models and the trees of SARClassifier, not a "
            f"{type(model).__name__}. Score the model in Python ('sarlearn predict')."
        )


def _label_coef(learner, n_columns: int) -> np.ndarray | None:
    """Coefficients of a linear learner's propensity, on all columns; None where it has none."""
    coef = np.zeros(n_columns + 1)
    if hasattr(learner, "propensity_features_") and hasattr(learner, "propensity_coef_"):
        coef[learner.propensity_features_] = learner.propensity_coef_[0]
        coef[-1] = learner.propensity_intercept_[0]
    elif isinstance(learner, LearnsPropensity):  # one number for all rows
        c = float(learner._propensity(np.zeros((1, n_columns)))[0])
        coef[-1] = np.log(c) - np.log1p(-min(c, 1 - 1e-16))
    else:
        return None
    return coef


def _unscaled(step, coef: np.ndarray, asked: str) -> np.ndarray:
    """Coefficients of what a step gives, as those of the columns that it takes."""
    if isinstance(step, StandardScaler):
        scale = 1.0 if step.scale_ is None else step.scale_
        shift = 0.0 if step.mean_ is None else step.mean_
        moved = coef[:-1] / scale
        return np.append(moved, coef[-1] - np.sum(moved * shift))
    if isinstance(step, MinMaxScaler) and not step.clip:
        return np.append(coef[:-1] * step.scale_, coef[-1] + coef[:-1] @ step.min_)
    raise ValueError(
        f"{asked} does not know how to write the step {step!r}. Before a linear learner may stand "
        "a StandardScaler, a MinMaxScaler without clip or TableEncoder(terms=True) alone."
    )


def gaps_go_left(node: dict[str, Any]) -> bool:
    """Where a node of a tree sends a gap: where no row of the fit had one, LightGBM takes it for
    0."""
    return node["default_left"] if node["missing_type"] == "NaN" else node["threshold"] >= 0


# -- the columns of the table ----------------------------------------------------------------------


@dataclass
class _Table:
    """The columns of a model as SQL: numbers, NULL where they have gaps; and when to trust them.

    ``levels`` has, of a column of categories, the condition that holds for each code. Trees compare
    what is ``as_is``, shorter and perhaps NaN, and on a logarithmic scale also its unit in
    ``units``, by which they turn their thresholds back.
    """

    values: list[str]
    as_is: list[str]
    complete: str
    levels: dict[int, list[str]] = field(default_factory=dict)
    units: dict[int, float] = field(default_factory=dict)


def _numbers(dialect: Dialect, names: Iterable[str]) -> tuple[list[str], str]:
    """Columns of numbers, NULL for gaps, and a condition that none of them holds anything else."""
    columns = [dialect.name(str(name)) for name in names]
    values = [f"CAST({column} AS {dialect.number})" for column in columns]
    values = [dialect.without_nan.format(x=value, number=dialect.number) for value in values]
    strange = [dialect.is_number.format(column=column) for column in columns]
    return values, " AND ".join(strange if dialect.is_number else [])


def _plain_columns(dialect: Dialect, parts: Parts, columns) -> _Table:
    """Columns as they are; where the learner takes no gaps, none may be missing."""
    names = getattr(parts.first, "feature_names_in_", ()) if columns is None else columns
    if len(names) != (n_columns := parts.first.n_features_in_):
        raise ValueError(
            f"The model has {n_columns} columns, and names for {len(names)}: give columns=[...]."
        )
    values, numbers = _numbers(dialect, names)
    # LEAST and GREATEST pass over NULL in some databases, and a gap would become a sure score.
    complete = numbers if parts.takes_gaps else f"({total(values)}) IS NOT NULL"
    codes = parts.learner.codes_ if parts.takes_gaps else {}
    levels = {j: [f"{values[j]} = {number(c)}" for c in range(n)] for j, n in codes.items()}
    return _Table(values, [dialect.name(str(name)) for name in names], complete, levels)


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
    table = _Table([], [], numbers)
    for j, name in enumerate(reader.kinds_):
        as_is = dialect.name(name)
        value = dict(zip(used, known, strict=True)).get(name, as_is)
        if name in reader.levels_:
            table.levels[j] = _levels_of(dialect, reader, name)
        elif name in reader.constant_:  # in no term and no tree
            value = as_is = number(0.0)
        elif name in reader.log_units_:
            table.units[j] = reader.log_units_[name]
            unit = number(table.units[j])
            value = f"(SIGN({value}) * LN(1.0 + ABS({value}) / {unit}))"
        table.values.append(value)
        table.as_is.append(as_is)
    return table


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


# -- logits ----------------------------------------------------------------------------------------


def _sum_of(table: _Table, terms: Terms | None, coef, dialect: Dialect, trees=()) -> str:
    if terms is None:
        pairs = zip(coef[:-1], table.values, strict=True)
        parts = [term(c, value) for c, value in pairs if c]
    else:
        own = {j: terms.column == j for j in np.unique(terms.column).tolist()}
        parts = [
            _of_terms(table, j, terms.part(here), coef[:-1][here], dialect)
            for j, here in own.items()
            if coef[:-1][here].any()
        ]
    return total([*parts, *trees, number(coef[-1])])


def _of_terms(table: _Table, j: int, terms: Terms, coef: np.ndarray, dialect: Dialect) -> str:
    """The terms of one column: its value within their ends, its gaps, its levels."""

    def effect(value: float) -> str:
        return number((terms.transform(np.full((1, j + 1), value)) @ coef)[0])

    value, gap = table.values[j], effect(np.nan)
    if j in table.levels:
        codes = enumerate(table.levels[j])
        cases = [f"WHEN {condition} THEN {effect(code)}" for code, condition in codes]
        return f"CASE {' '.join(cases)} ELSE {gap} END"
    known = []
    for kind, c, center, scale in zip(terms.kind, coef, terms.center, terms.scale, strict=True):
        if kind == VALUE:
            moved = scaled(value, center, scale)
            ends = f"{dialect.least}({dialect.greatest}({moved}, -{FARTHEST}), {FARTHEST})"
            known.append(term(c, ends))
        else:
            known.append(number(c * np.clip(-center / scale, -FARTHEST, FARTHEST)))
    return f"CASE WHEN {value} IS NULL THEN {gap} ELSE {' + '.join(known)} END"


def _trees(table: _Table, parts: Parts) -> list[str]:
    by_factor: dict[float, list[str]] = {}
    for factor, tree in parts.trees:
        text = _tree(tree, table, parts.learner.classifier_features_)
        by_factor.setdefault(factor, []).append(text)
    return [term(factor, total(trees)) for factor, trees in by_factor.items()]


def _tree(node: dict[str, Any], table: _Table, columns: np.ndarray) -> str:
    """A tree of LightGBM as CASE expressions; what is NULL goes to ELSE.

    Of two branches the smaller one is nested and the other goes on with WHEN: databases nest
    expressions, and take them apart, only so deep.
    """
    cases = []
    while "leaf_value" not in node:
        condition, first, last = _split(node, table, columns[node["split_feature"]])
        if _size(first) > _size(last):
            condition, first, last = f"COALESCE(NOT ({condition}), 1 = 1)", last, first
        cases.append(f"WHEN {condition} THEN {_tree(first, table, columns)}")
        node = last
    leaf = number(node["leaf_value"])
    return f"CASE {' '.join(cases)} ELSE {leaf} END" if cases else leaf


def _size(node: dict[str, Any]) -> int:
    if "leaf_value" in node:
        return 1
    return _size(node["left_child"]) + _size(node["right_child"])


def _split(node: dict[str, Any], table: _Table, j: int) -> tuple[str, dict, dict]:
    """A condition, the branch where it holds, and the one where it does not or is NULL."""
    left, right, value = node["left_child"], node["right_child"], table.as_is[j]
    if node["decision_type"] == "==":  # gaps, and levels of which there were none, go right
        chosen, levels = map(int, node["threshold"].split("||")), table.levels.get(j, [])
        some = " OR ".join(levels[code] for code in chosen if code < len(levels))
        return some or "1 = 0", left, right
    threshold = node["threshold"]
    if j in table.units:
        threshold = np.sign(threshold) * table.units[j] * np.expm1(abs(threshold))
    if gaps_go_left(node):  # NaN is no finite number
        return f"{value} > {number(threshold)} AND {value} <= {FINITE}", right, left
    return f"{value} <= {number(threshold)}", left, right
