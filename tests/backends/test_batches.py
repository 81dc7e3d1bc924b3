"""Rows read in batches give what the same rows give in memory, whatever the source."""

import threading
import time

import numpy as np
import pandas as pd
import pytest

from conftest import make_pu
from sarlearn import Batches, SAREMClassifier, SCARClassifier
from sarlearn.backends import batch_source as module
from table_data import patients, sarem_of_table

pa = pytest.importorskip("pyarrow", reason="batches need sarlearn[tables]")
import pyarrow.dataset as ds  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

N_ROWS = 1500


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Several chunks, and a last one that is shorter."""
    monkeypatch.setattr(module, "CHUNK_ROWS", 512)


@pytest.fixture(scope="module")
def data():
    made = make_pu(N_ROWS, 4, seed=2)
    frame = pd.DataFrame(made.X, columns=list("abcd"))
    frame["labelled"] = made.s.astype(int)
    return frame


@pytest.fixture
def files(tmp_path, data):
    for k, rows in enumerate(np.array_split(np.arange(N_ROWS), 3)):
        table = pa.Table.from_pandas(data.iloc[rows], preserve_index=False)
        pq.write_table(table, tmp_path / f"part{k}.parquet", row_group_size=200)
    return tmp_path


def in_memory(learner, data, **columns):
    return learner.fit(data[list("abcd")], data["labelled"], **columns)


def assert_same(found, expected):
    for name in ("coef_", "intercept_", "propensity_coef_", "propensity_intercept_"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-8, atol=1e-8
        )
    assert found.class_prior_ == pytest.approx(expected.class_prior_, abs=1e-8)
    assert list(found.feature_names_in_) == list(expected.feature_names_in_)


def sources(data, files):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    polars = pytest.importorskip("polars", reason="polars is not installed")
    pieces = np.array_split(np.arange(N_ROWS), 7)
    return {
        "pattern": str(files / "*.parquet"),
        "folder": files,
        "dataset": ds.dataset(files),
        "table": pa.table(data),
        "duckdb": duckdb.read_parquet(str(files / "*.parquet")).to_arrow_reader,
        "polars": lambda: polars.read_parquet(files / "*.parquet").iter_slices(130),
        "frames": lambda: (data.iloc[rows] for rows in pieces),
        "batches": lambda: iter(pa.table(data).to_batches(max_chunksize=97)),
    }


KINDS = ["pattern", "folder", "dataset", "table", "duckdb", "polars", "frames", "batches"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_source(data, files, kind):
    source = sources(data, files)[kind]
    found = SAREMClassifier(["a", "b"]).fit(Batches(source), "labelled")
    assert_same(found, in_memory(SAREMClassifier(["a", "b"]), data))
    scores = found.predict_proba(Batches(source))
    np.testing.assert_allclose(scores, found.predict_proba(data[list("abcd")]), atol=1e-12)


@pytest.mark.parametrize("stop", ["slope", "fixed_point"])
@pytest.mark.parametrize("features", [[], ["a"], ["a", "c"]])
def test_sar_em(data, stop, features):
    found = SAREMClassifier(features, stop=stop).fit(Batches(pa.table(data)), "labelled")
    assert_same(found, in_memory(SAREMClassifier(features, stop=stop), data))


def test_weights_some_of_them_zero(data):
    weight = np.random.default_rng(0).integers(0, 3, N_ROWS)
    table = pa.table(data.assign(weight=weight))
    found = SAREMClassifier(["a"]).fit(Batches(table), "labelled", sample_weight="weight")
    assert_same(found, in_memory(SAREMClassifier(["a"]), data, sample_weight=weight))


def test_an_index_that_pandas_wrote_is_no_column(data, tmp_path):
    path = tmp_path / "some.parquet"
    pq.write_table(pa.Table.from_pandas(data.sample(100, random_state=0)), path)
    source = Batches(path)
    assert "__index_level_0__" in source.names
    assert source.features("labelled") == list("abcd")
    asked = Batches(path, columns=["a", "__index_level_0__"])
    assert asked.features() == ["a", "__index_level_0__"]


def test_float32_is_kept(data):
    narrow = data.astype(dict.fromkeys("abcd", np.float32))
    matrix = module.to_matrix(pa.table(narrow[list("abcd")]))
    assert matrix.dtype == np.float32
    mixed = module.to_matrix(pa.table(data[list("abcd")].astype({"b": np.float32})))
    assert mixed.dtype == np.float64
    np.testing.assert_array_equal(mixed[:, 0], data["a"])
    found = SAREMClassifier(["a"]).fit(Batches(pa.table(narrow)), "labelled")
    assert_same(found, in_memory(SAREMClassifier(["a"]), narrow))


def test_predictions_with_labels(data):
    model = in_memory(SAREMClassifier(["a"]), data)
    batches = Batches(pa.table(data), columns=list("abcd"))
    expected = model.predict_posterior(data[list("abcd")], data["labelled"])
    np.testing.assert_allclose(model.predict_posterior(batches, "labelled"), expected, atol=1e-12)
    np.testing.assert_allclose(
        model.predict_propensity(batches), model.predict_propensity(data[list("abcd")]), atol=1e-12
    )


def test_a_table_with_gaps_and_words():
    """Encoded batch by batch; medians are those of Dask, good to one part in 4,096."""
    frame, _, _ = patients(N_ROWS, seed=4)
    frame = frame.drop(columns="patient_id")
    made = sarem_of_table(["plan"]).fit(Batches(pa.table(frame)), "diagnosed")
    plain = sarem_of_table(["plan"]).fit(frame.drop(columns="diagnosed"), frame["diagnosed"])
    X = frame.drop(columns="diagnosed")
    expected = plain.predict_proba(X)[:, 1]
    np.testing.assert_allclose(made.predict_proba(X)[:, 1], expected, atol=2e-3)
    scores = made.predict_proba(Batches(pa.table(X)))
    np.testing.assert_allclose(scores, made.predict_proba(X), atol=1e-12)


def test_memory_does_not_grow_with_the_rows():
    """Chunks alive at any time are a few, however many the source gives."""
    alive, most = 0, 0
    lock = threading.Lock()

    class Counted:
        def __init__(self):
            nonlocal alive, most
            with lock:
                alive += 1
                most = max(most, alive)

        def __del__(self):
            nonlocal alive
            with lock:
                alive -= 1

    for _ in module.ahead(Counted() for _ in range(200)):
        time.sleep(0)
    assert most <= module.AHEAD + 3


def test_a_pass_that_ends_early_leaves_no_thread():
    before = set(threading.enumerate())  # those of a Dask cluster come and go
    reader = module.ahead(iter(range(10**9)))
    assert [next(reader), next(reader)] == [0, 1]
    reader.close()
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name == "sarlearn-read-ahead"]


def test_errors_in_the_reader_reach_the_user(data):
    def source():
        yield pa.table(data)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk is gone"):
        SAREMClassifier(["a"]).fit(Batches(source), "labelled")


def test_refusals(data, tmp_path):
    table = pa.table(data)
    with pytest.raises(TypeError, match=r"y is the name of a column.*got ndarray"):
        SAREMClassifier().fit(Batches(table), np.zeros(N_ROWS))
    with pytest.raises(ValueError, match="no column 'label'; it has a, b"):
        SAREMClassifier().fit(Batches(table), "label")
    with pytest.raises(TypeError, match="SCARClassifier needs its rows in memory"):
        SCARClassifier().fit(Batches(table), "labelled")
    with pytest.raises(TypeError, match="read only once"):
        Batches(iter([table]))
    with pytest.raises(FileNotFoundError, match="no file"):
        Batches(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match="'word' holds object, not numbers"):
        SAREMClassifier().fit(Batches(pa.table(data.assign(word="x"))), "labelled")
    weighted = data.assign(w=1.0)
    weighted.loc[1234, "w"] = np.nan
    with pytest.raises(ValueError, match=r"'w'.* missing.*row 1234"):
        SAREMClassifier().fit(Batches(pa.table(weighted)), "labelled", sample_weight="w")
    gap = data.copy()
    gap.loc[1234, "b"] = np.nan
    with pytest.raises(ValueError, match="'b' is missing or infinite in row 1234"):
        SAREMClassifier().fit(Batches(pa.table(gap)), "labelled")
