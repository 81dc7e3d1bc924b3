"""The same estimators on Dask, on a real cluster of processes: the same answers."""

import numpy as np
import pytest

from dask_tools import (
    N,
    agree,
    clone_fit,
    continuous,
    cut,
    da,
    dask,
    dd,
    discrete,
    frame,
    one_task_a_partition,
    pd,
    quiet,
    sar_em,
    sparse_chunks,
    unknown,
    weight,
)
from sarlearn import KnownPropensityClassifier, SAREMClassifier
from sarlearn._engine import logistic as _logistic
from sarlearn._engine import stopping as _stopping
from sarlearn._engine.newton import WideCurvature
from sarlearn.backends import dask_read as _partitions
from sarlearn.backends.dask_rows import FAN_IN, DaskRows

pytestmark = quiet

# -- the same answer ----------------------------------------------------------------------------


@pytest.fixture
def made(monkeypatch):
    """Rows on Dask that the test makes, so that it can see how they were read."""
    rows = []
    init = DaskRows.__init__

    def watched(self, *given, **named):
        init(self, *given, **named)
        rows.append(self)

    monkeypatch.setattr(DaskRows, "__init__", watched)
    return rows


@pytest.mark.parametrize("n_parts", [1, 7])
@pytest.mark.parametrize("data", [continuous, discrete], ids=["columns", "groups"])
def test_dense(client, made, data, n_parts):
    for settings in ({}, {"stop": "fixed_point", "tol": None}):
        model = sar_em(data.columns, **settings)
        agree(model.fit(cut(data.X, n_parts), cut(data.s, n_parts)), clone_fit(model, data))
        assert model.converged_
    assert {(rows.shape, rows.is_sparse) for rows in made} == {((N, 6), False)}
    assert set(made[0]._places) <= set(client.nthreads())  # the workers hold them, not we


@pytest.mark.parametrize("n_parts", [1, 7])
@pytest.mark.parametrize("data", [continuous, discrete], ids=["columns", "groups"])
def test_sparse_and_unknown_chunks(client, made, data, n_parts):
    expected = clone_fit(sar_em(data.columns), data)
    if data is discrete:
        X, s = sparse_chunks(cut(data.X, n_parts)), cut(data.s, n_parts)
    else:
        X, s = unknown(cut(data.X, n_parts)), unknown(cut(data.s, n_parts))
    agree(sar_em(data.columns).fit(X, s), expected)
    assert made[0].is_sparse == (data is discrete)
    assert made[0].shape == (N, 6)  # whatever the chunks did not say


def test_labels_in_memory_beside_unknown_chunks(client, made):
    expected = clone_fit(sar_em(discrete.columns), discrete)
    X = sparse_chunks(unknown(cut(discrete.X, 5)))
    agree(sar_em(discrete.columns).fit(X, discrete.s), expected)
    assert made[0].shape == (N, 6)
    assert made[0].is_sparse


@pytest.mark.parametrize("n_parts", [1, 7])
def test_frames_with_weights(client, n_parts):
    table = pd.DataFrame(continuous.X, columns=list("abcdef"))
    table["s"], table["weight"] = continuous.s, weight
    expected = sar_em(["a", "b"]).fit(table[list("abcdef")], table["s"], weight)
    parts = dd.from_pandas(table, npartitions=n_parts)
    parts = parts[parts["c"] > -9]  # lengths are not known any more
    found = sar_em(["a", "b"]).fit(parts[list("abcdef")], parts["s"], sample_weight=parts["weight"])
    agree(found, expected)
    assert list(found.feature_names_in_) == list("abcdef")


def test_streaming_where_memory_is_short(place, made, monkeypatch):
    """Blocks that are made anew every pass compute their targets again, to the same answer."""
    monkeypatch.setattr(_partitions, "SHARE", 0.0)
    model = sar_em(continuous.columns)
    agree(model.fit(cut(continuous.X, 3), cut(continuous.s, 3)), clone_fit(model, continuous))
    assert made[0]._places is None  # nothing is kept


def test_without_a_cluster(made):
    """Dask's own threads serve where there is no client."""
    model = sar_em(continuous.columns)
    with dask.config.set(scheduler="threads"):
        agree(model.fit(cut(continuous.X, 7), continuous.s), clone_fit(model, continuous))
    assert set(made[0]._places) == {"here"}


def test_large_data_start_and_are_watched_on_the_same_rows(here, monkeypatch):
    monkeypatch.setattr(_logistic, "SUBSAMPLE_ROWS", 300)
    monkeypatch.setattr(_stopping, "SAMPLE_ROWS", 200)
    parts, slopes = [], []
    part, slope = DaskRows.part, _stopping.ModelSlopeRule._slope_of_all_rows
    monkeypatch.setattr(DaskRows, "part", lambda *given: parts.append(part(*given)) or parts[-1])
    monkeypatch.setattr(
        _stopping.ModelSlopeRule,
        "_slope_of_all_rows",
        lambda rule: slopes.append(type(rule._rows)) or slope(rule),
    )
    model = sar_em(continuous.columns)
    agree(model.fit(cut(continuous.X, 7), continuous.s), clone_fit(model, continuous))
    assert 200 < parts[0].shape[0] <= 400  # where the start began
    assert DaskRows in slopes  # and the verdict was that of all rows


def test_wide_rows(here, monkeypatch):
    from sarlearn._engine import em as _em

    monkeypatch.setattr(_em, "DENSE_COLUMNS", 3)
    monkeypatch.setattr(_logistic, "DENSE_COLUMNS", 3)
    kinds = []
    init = WideCurvature.__init__
    monkeypatch.setattr(
        WideCurvature,
        "__init__",
        lambda self, rows, *given: kinds.append(type(rows)) or init(self, rows, *given),
    )
    model = sar_em(continuous.columns, window=2, tol=0.1)
    agree(model.fit(cut(continuous.X, 7), continuous.s), clone_fit(model, continuous))
    monkeypatch.setattr(_partitions, "SHARE", 0.0)
    agree(model.fit(cut(continuous.X, 7), continuous.s), clone_fit(model, continuous))
    model = sar_em(continuous.columns, stop="fixed_point", tol=1e-8)
    agree(model.fit(cut(continuous.X, 7), continuous.s), clone_fit(model, continuous))
    assert DaskRows in kinds


def test_many_bundles_and_a_tree_of_sums(here, made, monkeypatch):
    one_task_a_partition(monkeypatch)
    model = sar_em(discrete.columns)
    agree(model.fit(cut(discrete.X, 12), discrete.s), clone_fit(model, discrete))
    assert len(made[0]._keys) == 11 > FAN_IN  # one partition is empty


def test_several_columns_chunks_and_integers(here, made):
    whole = np.round(100 * continuous.X).astype(np.int32)
    X = da.from_array(whole, chunks=(500, 2))
    expected = sar_em(continuous.columns).fit(whole, continuous.s)
    agree(sar_em(continuous.columns).fit(X, continuous.s), expected)
    assert X.numblocks == (6, 3)
    assert made[0].shape == (N, 6)


@pytest.mark.parametrize("method", ["em", "weighting"])
def test_known_propensity(place, made, method):
    model = KnownPropensityClassifier(method, tol=1e-3 if method == "em" else None)
    expected = clone_fit(model, continuous, propensity=continuous.e, sample_weight=weight)
    X, s, e = (cut(values, 7) for values in (continuous.X, continuous.s, continuous.e))
    agree(model.fit(X, s, propensity=e, sample_weight=cut(weight, 7)), expected)
    agree(model.fit(X, s, propensity=continuous.e, sample_weight=weight), expected)
    expected = clone_fit(model, continuous, propensity=0.6)
    agree(model.fit(X, s, propensity=0.6), expected)
    assert [rows.shape[0] for rows in made] == [(weight > 0).sum()] * 2 + [N]


@pytest.mark.parametrize("tasks", ["one a partition", "one a thread"])
def test_two_runs_give_the_same_bytes(client, monkeypatch, tasks):
    if tasks == "one a thread":
        monkeypatch.setattr(_partitions, "TASK_BYTES", 1)
    else:
        one_task_a_partition(monkeypatch)
    X, s = da.from_array(continuous.X, chunks=(600, -1)), continuous.s
    workers = sorted(client.nthreads())
    # Wherever the rows were, and however many had to move.
    turns = [client.persist(X.blocks[k], workers=[workers[k % 2]]) for k in range(5)]
    places = X, da.concatenate(turns), client.persist(X, workers=workers[1:])
    runs = [sar_em([0]).fit(rows, s) for rows in places]
    for run in runs[1:]:
        assert run.coef_.tobytes() == runs[0].coef_.tobytes()
        for name, values in runs[0].history_.items():
            assert values.tobytes() == run.history_[name].tobytes()


def test_tasks_of_a_pass(here, monkeypatch):
    """What a pass costs beside computing: the benchmark times it, here tasks are counted."""

    def count(n_parts):
        rows, _ = _partitions.read_rows(cut(continuous.X, n_parts), cut(continuous.s, n_parts))
        return len(rows._keys)

    monkeypatch.setattr(_partitions, "threads", lambda: ["here"] * 3)
    assert count(40) == 1  # tiny blocks are worked on together
    monkeypatch.setattr(_partitions, "TASK_BYTES", 1)
    assert count(40) == 3  # larger ones by as many threads as there are
    assert count(2) == 2
    monkeypatch.setattr(_partitions, "SHARE", 0.0)
    assert count(40) == 1  # read anew in every pass
    monkeypatch.setattr(_partitions, "BUNDLE_BYTES", 1)
    assert count(40) == 39  # one of them is empty


# -- predictions --------------------------------------------------------------------------------


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12)  # sums of a row may be cut elsewhere


def test_predictions_are_lazy_and_keep_their_place(place):
    model = SAREMClassifier([0, 1]).fit(continuous.X, continuous.s)
    X, s = cut(continuous.X, 7), cut(continuous.s, 7)
    for name in ("predict", "predict_proba", "decision_function", "predict_propensity"):
        found = getattr(model, name)(X)
        assert found.chunks[0] == X.chunks[0]
        close(found.compute(), getattr(model, name)(continuous.X))
    expected = model.predict_posterior(continuous.X, continuous.s)
    close(model.predict_posterior(X, s).compute(), expected)
    close(model.predict_posterior(X, continuous.s).compute(), expected)
    assert model.predict_proba(unknown(X)).compute().shape == (N, 2)


def test_predictions_of_frames_keep_index_and_partitions(place):
    table = pd.DataFrame(continuous.X, columns=list("abcdef"), index=np.arange(N) * 2 + 7)
    model = SAREMClassifier(["a"]).fit(table, continuous.s)
    parts = dd.from_pandas(table, npartitions=5)
    parts = parts[parts["a"] > 1.0]  # some partitions may become small or empty
    table = table[table["a"] > 1.0]
    found = model.predict_proba(parts)
    assert found.npartitions == 5
    assert list(found.columns) == list(model.classes_)
    pd.testing.assert_index_equal(found.compute().index, table.index)
    close(found.compute().to_numpy(), model.predict_proba(table))
    chance = model.predict_propensity(parts)
    assert chance.dtype == float
    close(chance.compute().to_numpy(), model.predict_propensity(table))
    lazy = parts["a"].map_partitions(lambda a: a > 2.0, meta=("s", bool))
    after = model.predict_posterior(parts, lazy).compute()
    close(after, model.predict_posterior(table, table["a"] > 2.0))


def test_empty_partitions_are_predicted(here):
    model = SAREMClassifier([0]).fit(continuous.X, continuous.s)
    parts = frame(continuous.X, 4)
    model_of_names = SAREMClassifier(["a"]).fit(parts.compute(), continuous.s)
    none = parts[parts["a"] > 100]
    assert model_of_names.predict_proba(none).compute().shape == (0, 2)
    assert model.predict(cut(continuous.X, 5)).compute().shape == (N,)
