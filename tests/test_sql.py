"""Scores in SQL against Python's, on running databases: DuckDB, SQLite, Postgres, Spark."""

import contextlib
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

from sarlearn import SARClassifier, SAREMClassifier, SCARClassifier, TableEncoder, to_sql
from sarlearn.cli import run as command
from sarlearn.saving import save
from sarlearn.sql import DIALECTS
from table_data import curved, patients

HOSTILE = ["a b", 'quo"te', "semi;--", "o'clock", "naïve ✓", "back\\slash", "select", "b`tick"]


class DuckDB:
    def __init__(self):
        duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
        self.connection = duckdb.connect()

    def scores(self, frame: pd.DataFrame, query: str) -> pd.DataFrame:
        self.connection.register("t", frame)
        return self.connection.execute(query).df()


class SQLite:
    def __init__(self):
        self.connection = sqlite3.connect(":memory:")
        try:
            self.connection.execute("SELECT EXP(1.0)")
        except sqlite3.OperationalError:
            pytest.skip("This SQLite was built without mathematical functions")

    def scores(self, frame: pd.DataFrame, query: str) -> pd.DataFrame:
        frame.to_sql("t", self.connection, index=False, if_exists="replace")
        return pd.read_sql_query(query, self.connection)


class Postgres:
    def __init__(self, connection):
        self.connection = connection

    def scores(self, frame: pd.DataFrame, query: str) -> pd.DataFrame:
        kinds = {"f": "double precision", "i": "bigint", "b": "boolean"}
        quoted = ['"' + name.replace('"', '""') + '"' for name in frame.columns]
        types = [kinds.get(frame[name].dtype.kind, "text") for name in frame.columns]
        declared = ", ".join(f"{n} {kind}" for n, kind in zip(quoted, types, strict=True))
        with self.connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS t")
            cursor.execute(f"CREATE TABLE t (place bigint, {declared})")
            with cursor.copy("COPY t FROM STDIN") as copy:
                for place, row in enumerate(frame.itertuples(index=False)):
                    # A float column keeps its NaN, as files from Python do; a text gets NULL.
                    gaps = [pd.isna(v) and k == "text" for v, k in zip(row, types, strict=True)]
                    values = [None if gap else v for v, gap in zip(row, gaps, strict=True)]
                    copy.write_row([place, *values])
            cursor.execute(query + " ORDER BY place")
            names = [column.name for column in cursor.description]
            return pd.DataFrame(cursor.fetchall(), columns=names)


@pytest.fixture(scope="module")
def postgres():
    """A server of its own, in a temporary folder, behind a socket; stopped afterwards."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    found = shutil.which("initdb") or next(
        map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None
    )
    if found is None:
        pytest.skip("No Postgres server is installed (apt install postgresql)")
    programs = Path(found).resolve().parent
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a socket's path must be short
    switch: dict = {}
    if os.getuid() == 0:  # the server refuses to run as root
        try:
            account = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("Postgres does not run as root, and there is no user postgres")
        os.chown(folder, account.pw_uid, account.pw_gid)
        switch = {"user": account.pw_uid, "group": account.pw_gid}
    data, log = folder / "data", folder / "log"
    run = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder, **switch}
    subprocess.run(
        [programs / "initdb", "-D", data, "-A", "trust", "-U", "tester", "-E", "UTF8"], **run
    )
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    start = [programs / "pg_ctl", "-D", data, "-l", log, "-w", "-o", options, "start"]
    subprocess.run(start, **run)
    try:
        with psycopg.connect(
            host=str(folder), user="tester", dbname="postgres", autocommit=True
        ) as connection:
            yield Postgres(connection)
    finally:
        subprocess.run([programs / "pg_ctl", "-D", data, "-m", "immediate", "stop"], **run)
        shutil.rmtree(folder, ignore_errors=True)


class Spark:
    def __init__(self, session, folder: Path):
        self.session, self.folder = session, folder

    def scores(self, frame: pd.DataFrame, query: str) -> pd.DataFrame:
        path = self.folder / f"{len(list(self.folder.iterdir()))}.parquet"
        frame.assign(place=np.arange(len(frame))).to_parquet(path, index=False)
        self.session.read.parquet(str(path)).createOrReplaceTempView("t")
        found = self.session.sql(query + " ORDER BY place")
        return pd.DataFrame([row.asDict() for row in found.collect()], columns=found.columns)


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """A Spark of its own, on one core of this machine."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is none")
    folder = tmp_path_factory.mktemp("spark")
    quiet = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}
    quiet |= {"spark.sql.warehouse.dir": str(folder / "warehouse"), "spark.log.level": "ERROR"}
    builder = sql.SparkSession.builder.master("local[1]")
    for name, value in quiet.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield Spark(session, tmp_path_factory.mktemp("tables"))
    session.stop()


@pytest.fixture(params=["duckdb", "sqlite", "postgres", "spark"])
def database(request):
    dialect = request.param
    if dialect in ("postgres", "spark"):
        return dialect, request.getfixturevalue(dialect)
    return dialect, {"duckdb": DuckDB, "sqlite": SQLite}[dialect]()


def assert_scores(database, model, frame, s=None, labelled=None, **settings):
    """The three scores in the database are those of Python."""
    dialect, engine = database
    scores = to_sql(model, dialect, labelled=labelled, **settings)
    found = engine.scores(frame, scores.select("t", keep=[]))
    learner, rows = model, frame[model.feature_names_in_]
    if isinstance(model, Pipeline):
        learner, rows = model[-1], model[:-1].transform(rows)
    expected = {
        "probability": learner.predict_proba(rows)[:, 1],
        "propensity": learner.predict_propensity(rows),
    }
    unlabelled = np.full(len(frame), learner.classes_[0])
    expected["posterior"] = learner.predict_posterior(rows, unlabelled if s is None else s)
    assert list(found.columns) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name].astype(float), values, rtol=1e-11, atol=1e-12)


@pytest.fixture(scope="module")
def table():
    frame, _, _ = patients(800, seed=3)
    rng = np.random.default_rng(1)
    frame["rare"] = np.where(rng.random(800) < 0.9, "often", [f"rare {k % 40}" for k in range(800)])
    frame["money"] = np.exp(2.5 * rng.standard_normal(800))
    return frame.drop(columns="patient_id")


@pytest.fixture(scope="module")
def table_model(table):
    X, s = table.drop(columns="diagnosed"), table["diagnosed"]
    return make_pipeline(TableEncoder(terms=True), SAREMClassifier(["age", "plan"])).fit(X, s)


@pytest.fixture(scope="module")
def read_model(table):
    X, s = table.drop(columns="diagnosed"), table["diagnosed"]
    return SARClassifier(["age", "plan"], max_iter=20).fit(X, s)


@pytest.mark.parametrize("which", ["table_model", "read_model"])
def test_a_table_with_gaps_levels_and_truth_values(database, which, table, request):
    model, said = request.getfixturevalue(which), {"labelled": "diagnosed = 1"}
    assert_scores(database, model, table, s=table["diagnosed"], **said)


@pytest.mark.parametrize("which", ["table_model", "read_model"])
def test_levels_that_fit_did_not_see_and_new_gaps(database, which, table, request):
    model = request.getfixturevalue(which)
    new = table.head(40)[model.feature_names_in_].copy()
    new["plan"] = ["unheard of", None, "it's", "none"] * 10
    new["region"] = [None, "north", "(missing)", "nowhere"] * 10
    new["rare"] = ["rare 3", "never seen", None, "often"] * 10
    new["age"] = [np.nan, 20.0, 150.0, -3.0] * 10  # no gap in fit
    new["bmi"] = np.nan
    assert_scores(database, model, new)


SCALERS = [[], [StandardScaler()], [MinMaxScaler()], [MinMaxScaler((1, 3)), StandardScaler()]]


@pytest.mark.parametrize("scalers", SCALERS)
def test_hostile_names(database, scalers):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(3 + 2 * rng.normal(size=(400, len(HOSTILE))), columns=HOSTILE)
    s = (X.iloc[:, 0] > 3) & (rng.random(400) < expit(X.iloc[:, 1] - 3))
    learner = SAREMClassifier([1, 2])
    if not scalers:
        assert_scores(database, learner.fit(X, s), X)
        return
    assert_scores(database, make_pipeline(*scalers, learner).fit(X, s), X)


def test_hostile_levels(database):
    rng = np.random.default_rng(0)
    levels = np.array([*HOSTILE, "", "100 %", "tab\there", "line\nbreak", "{x}"], dtype=object)
    X = pd.DataFrame({"word": rng.choice(levels, 1500), "x": rng.normal(size=1500)})
    s = (X["x"] > 0) & (rng.random(1500) < 0.5)
    for model in (
        make_pipeline(TableEncoder(terms=True), SAREMClassifier("word")),
        SARClassifier("word", max_iter=20),
    ):
        assert_scores(database, model.fit(X, s), X)


def test_one_label_frequency(database):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=list("abc"))
    s = (2 * X["a"] > rng.normal(size=600)) & (rng.random(600) < 0.4)
    assert_scores(database, SCARClassifier(random_state=0).fit(X, s), X)


# -- linear terms and trees ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tree_model():
    X, s, _ = curved(900)
    return SARClassifier(["age", "plan"], max_iter=20).fit(X, s)


def kinds_of_splits(model):
    """What the trees of a model decide by: numbers and gaps either way, and categories."""
    found, nodes = set(), [tree["tree_structure"] for tree in model.class_logit_.trees[0][1].dump()]
    while nodes:
        node = nodes.pop()
        if "left_child" in node:
            nodes += [node["left_child"], node["right_child"]]
            found.add((node["decision_type"], node["missing_type"], node["default_left"]))
    return found


def test_trees_gaps_and_categories(database, tree_model):
    numbers = {("<=", "NaN", True), ("<=", "NaN", False), ("<=", "None", True)}
    assert numbers <= kinds_of_splits(tree_model), "all kinds of splits are to be tested"
    assert {"=="} <= {kind for kind, _, _ in kinds_of_splits(tree_model)}
    X, _, _ = curved(900)
    assert_scores(database, tree_model, X)
    new, _, _ = curved(60, seed=5)
    new["plan"] = (["unheard of", None, "it's", "none", "full"] * 12)[: len(new)]
    new["region"] = ["nowhere", None, "", "north", "south", "east"] * 10
    for name in ("money", "visits"):  # no gap in fit
        new.loc[::3, name] = np.nan
    new.loc[::4, "money"] = 1e12  # far outside of what was seen
    new.loc[1::4, "age"] = -1e9
    assert_scores(database, tree_model, new)


@pytest.mark.parametrize(
    ("named", "class_models"),
    [([0], ("linear",)), ([0], ("trees",)), ("auto", ("linear", "trees"))],
)
def test_class_models_and_categories_that_are_numbers(database, named, class_models):
    X, s, _ = curved(700, seed=1)
    X = X.drop(columns=["plan", "region"]).to_numpy(dtype=float)
    model = SARClassifier(named, class_models=class_models, categorical_features=[3], max_iter=20)
    model.fit(X, s)
    dialect, engine = database
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.loc[:9, "d"] = [np.nan, 17.0] * 5
    found = engine.scores(frame, to_sql(model, dialect, columns=list("abcd")).select("t", keep=[]))
    new = frame.to_numpy()
    for name, values in (
        ("probability", model.predict_proba(new)[:, 1]),
        ("propensity", model.predict_propensity(new)),
    ):
        np.testing.assert_allclose(found[name].astype(float), values, rtol=1e-11, atol=1e-12)


def test_a_scaler_before_a_learner_that_scales_by_itself_is_refused():
    X, s, _ = curved(400, seed=2)
    model = make_pipeline(StandardScaler(), SARClassifier([0], max_iter=5))
    with pytest.raises(ValueError, match=r"StandardScaler\(\) before a SARClassifier.*leave"):
        to_sql(model.fit(X[["money", "age"]], s))


@pytest.mark.parametrize(("engine", "n_trees"), [(DuckDB, 60), (SQLite, 300)])
def test_many_trees(engine, n_trees):
    """SQLite parses expressions 100 levels deep at most."""
    X, s, _ = curved(16_000)
    model = SARClassifier(["age", "plan"], max_iter=20).fit(X, s)
    (factor, trees), n_grown = (
        model.class_logit_.trees[0],
        len(model.class_logit_.trees[0][1].dump()),
    )
    assert max(tree["num_leaves"] for tree in trees.dump()) == 31
    times = -(-n_trees // n_grown)
    model.class_logit_.trees = [(factor / times, trees)] * times
    X = X.head(200)
    scores = to_sql(model, engine.__name__.lower())
    found = engine().scores(X, f"SELECT {scores.probability} AS p FROM t")["p"]
    expected = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(found.astype(float), expected, rtol=1e-11, atol=1e-12)


def test_text_where_numbers_were_is_no_wrong_number_for_trees(tree_model):
    X, _, _ = curved(3)
    X["bmi"] = ["abc", 27.0, None]
    connection = sqlite3.connect(":memory:")
    X.to_sql("t", connection, index=False, dtype={"bmi": "REAL"})
    found = pd.read_sql_query(to_sql(tree_model, "sqlite").select("t", keep=[]), connection)
    for score in ("probability", "propensity", "posterior"):
        assert found[score].isna().tolist() == [True, False, False]


def test_what_sql_cannot_hold_of_a_class_model_is_refused():
    X, s, _ = curved(400)
    numbers = X[["age", "money"]].fillna(50)
    own = SARClassifier(["age"], class_models=["linear", GaussianNB()]).fit(numbers, s)
    with pytest.raises(ValueError, match="not a GaussianNB"):
        to_sql(own)
    dated = numbers.assign(seen=pd.date_range("2020-01-01", periods=len(numbers)))
    dated = SARClassifier(["age"], class_models=["linear"]).fit(dated, s)
    with pytest.raises(ValueError, match="'seen' holds dates, which to_sql does not translate"):
        to_sql(dated)


def test_extreme_logits_neither_overflow_nor_stop(database):
    """Postgres stops with an error where exp() overflows or underflows."""
    X = pd.DataFrame({"x": [-1e300, -1e4, -800.0, -40.0, 0.0, 40.0, 800.0, 1e4, 1e300]})
    model = SAREMClassifier([0])
    model.coef_, model.intercept_ = np.array([[1.0]]), np.zeros(1)
    model.propensity_coef_, model.propensity_intercept_ = np.array([[0.5]]), np.zeros(1)
    model.propensity_features_, model.classes_ = np.array([0]), np.array([0, 1])
    model.n_features_in_ = model.coef_.shape[1]
    dialect, engine = database
    found = engine.scores(X, to_sql(model, dialect, columns=["x"]).select("t", keep=[]))
    x = X["x"].to_numpy()
    np.testing.assert_allclose(found["probability"], expit(x), atol=1e-12)
    np.testing.assert_allclose(found["propensity"], expit(0.5 * x), atol=1e-12)
    hidden = expit(x - np.logaddexp(0, 0.5 * x))  # the logit of f (1 - e) / (1 - f e)
    np.testing.assert_allclose(found["posterior"], hidden, rtol=1e-12, atol=1e-12)


def test_text_where_numbers_were_is_no_wrong_number(table_model, table):
    """SQLite would take 'abc' for 0; the score is NULL instead."""
    new = table.head(3).copy()
    new["age"] = ["abc", "20,5", 30]
    connection = sqlite3.connect(":memory:")
    new.to_sql("t", connection, index=False, dtype={"age": "REAL"})  # it takes texts all the same
    found = pd.read_sql_query(to_sql(table_model, "sqlite").select("t", keep=[]), connection)
    assert found["probability"].isna().tolist() == [True, True, False]


def test_a_gap_that_python_refuses_is_null(database):
    """Without an encoder there is nothing to put in its place."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    s = (X["a"] > 0) & (rng.random(300) < 0.5)
    dialect, engine = database
    query = to_sql(SAREMClassifier(["b"]).fit(X, s), dialect).select("t", keep=[])
    X.loc[0, "a"] = X.loc[1, "b"] = np.nan
    found = engine.scores(X, query)
    for score in ("probability", "propensity", "posterior"):
        assert np.flatnonzero(found[score].isna()).tolist() == [0, 1]


@pytest.mark.parametrize("engine", [DuckDB, SQLite])
def test_many_columns(engine):
    """SQLite nests expressions 1,000 deep at most; Postgres has no row of so many numbers."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(20, 1010)), columns=[f"c{k}" for k in range(1010)])
    model = SAREMClassifier([1])
    model.coef_, model.intercept_ = rng.normal(size=(1, 1010)) / 40, np.zeros(1)
    model.propensity_coef_, model.propensity_intercept_ = np.array([[0.5]]), np.zeros(1)
    model.propensity_features_, model.classes_ = np.array([0]), np.array([0, 1])
    model.n_features_in_ = model.coef_.shape[1]
    query = to_sql(model, engine.__name__.lower(), columns=list(X.columns)).select("t", keep=[])
    expected = expit(X.to_numpy() @ model.coef_[0])
    found = engine().scores(X, query)["probability"]
    np.testing.assert_allclose(found.astype(float), expected, atol=1e-12)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_written(table_model, dialect):
    scores = to_sql(table_model, dialect)
    assert scores.dialect == dialect
    query = scores.select(("shop", "patients"), keep=["age"])
    quote = DIALECTS[dialect].quote
    assert query.endswith(f"FROM {quote}shop{quote}.{quote}patients{quote}")


def test_spark_and_its_kin_escape_backslashes():
    assert DIALECTS["spark"].literal("it's \\") == "'it\\'s \\\\'"
    assert DIALECTS["duckdb"].literal("it's \\") == "'it''s \\'"
    assert DIALECTS["spark"].name("a`b") == "`a``b`"


def test_refusals(table_model, table):
    X, s = table.drop(columns="diagnosed"), table["diagnosed"]
    with pytest.raises(ValueError, match=r"one of duckdb, postgres.*got 'mysql'"):
        to_sql(table_model, "mysql")
    trees = HistGradientBoostingClassifier(max_iter=2)
    boosted = make_pipeline(TableEncoder(terms=True), SAREMClassifier(classifier=trees, max_iter=2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        boosted.fit(X, s)
    with pytest.raises(ValueError, match=r"HistGradientBoostingClassifier.*predict"):
        to_sql(boosted)
    numbers = X[["age", "pressure"]]
    array = SAREMClassifier().fit(numbers.to_numpy(), s)
    with pytest.raises(ValueError, match="2 columns, and names for 0: give columns"):
        to_sql(array)
    with pytest.raises(ValueError, match="and names for 3"):
        to_sql(array, columns=["a", "b", "c"])
    assert '"b"' in to_sql(array, columns=["a", "b"]).probability
    for step in (PolynomialFeatures(), MinMaxScaler(clip=True)):
        other = make_pipeline(step, SAREMClassifier(C=0.1)).fit(numbers, s)
        with pytest.raises(ValueError, match=type(step).__name__):
            to_sql(other)
    with pytest.raises(ValueError, match="column called"):
        to_sql(array, columns=["a", "b\0"])


def test_the_command(tmp_path, capsys, table_model, table):
    path = tmp_path / "model.skops"
    save(table_model, path)
    assert command(["sql", str(path), "--table", "t", "--labelled", '"diagnosed" = 1']) == 0
    query = capsys.readouterr().out
    found = DuckDB().scores(table, query)
    assert "age" in found.columns
    expected = table_model[-1].predict_posterior(
        table_model[:-1].transform(table), table["diagnosed"]
    )
    np.testing.assert_allclose(found["posterior"], expected, atol=1e-12)
    out = tmp_path / "scores.sql"
    arguments = ["sql", str(path), "--table", "t", "--dialect", "sqlite", "-o", str(out)]
    assert command(arguments) == 0
    assert "MAX(" in out.read_text()
    with contextlib.redirect_stderr(None):
        assert command(arguments) == 2  # the file is there
