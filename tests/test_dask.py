"""The same estimators on Dask, on a real cluster of processes."""

import contextlib
import gc
import json
import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse

from cli_tools import process
from conftest import make_pu
from sarlearn import KnownPropensityClassifier, SAREMClassifier, SCARClassifier
from sarlearn.priors import BestBinEstimator, ElkanNoto, SAREMPrior

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

from sarlearn import _dask, _logistic, _partitions, _stopping  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore:unclosed")
N = 3000
continuous, discrete = make_pu(N, 6), make_pu(N, 6, discrete=True)
weight = np.random.default_rng(1).integers(0, 4, N).astype(float)


@contextlib.contextmanager
def a_cluster(folder, n_workers: int):
    """Worker processes, as on as many machines; with a folder of their own for their locks."""
    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            local_directory=str(folder),
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield cluster, client


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with a_cluster(tmp_path_factory.mktemp("dask"), 2) as (_, client):
        yield client


@pytest.fixture
def here():
    """No cluster: Dask's own scheduler in this thread, although a client may be about."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(params=["cluster", "here"])
def place(request):
    """Where tasks run."""
    return request.getfixturevalue("client" if request.param == "cluster" else "here")


def sar_em(columns=(), **settings):
    """A fit of few iterations: what is compared is the path, not where it ends."""
    return SAREMClassifier(columns, **({"window": 4, "tol": 0.01} | settings))


def cut(values, n_parts: int):
    """An array in uneven chunks, the third of them empty."""
    sizes = np.full(n_parts, len(values) // n_parts)
    sizes[-1] += len(values) - sizes.sum()
    if n_parts > 3:
        sizes[0] += sizes[2]
        sizes[2] = 0
    return da.from_array(values, chunks=(tuple(sizes.tolist()), *((-1,) * (values.ndim - 1))))


def sparse_chunks(X):
    return X.map_blocks(sparse.csr_array, dtype=float, meta=sparse.csr_array((0, X.shape[1])))


def unknown(X):
    X = X.copy()
    X._chunks = (tuple([np.nan] * X.numblocks[0]), *X.chunks[1:])
    return X


def frame(X, n_parts: int):
    return dd.from_pandas(pd.DataFrame(X, columns=list("abcdef")), npartitions=n_parts)


def agree(found, expected):
    for name in ("coef_", "intercept_", "propensity_coef_", "propensity_intercept_"):
        if hasattr(expected, name):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-8)
    assert found.n_iter_ == expected.n_iter_
    assert found.class_prior_ == pytest.approx(expected.class_prior_, abs=1e-8)
    assert found.label_frequency_ == pytest.approx(expected.label_frequency_, abs=1e-8)
    np.testing.assert_array_equal(found.classes_, expected.classes_)


# -- the same answer ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_parts", [1, 7, 50])
@pytest.mark.parametrize("data", [continuous, discrete], ids=["columns", "groups"])
def test_dense(client, data, n_parts):
    for settings in ({}, {"stop": "fixed_point", "tol": 1e-5}):
        model = sar_em(data.columns, **settings)
        agree(model.fit(cut(data.X, n_parts), cut(data.s, n_parts)), clone_fit(model, data))


def clone_fit(model, data, **fit):
    from sklearn.base import clone

    return clone(model).fit(data.X, data.s, **fit)


@pytest.mark.parametrize("n_parts", [1, 7, 50])
@pytest.mark.parametrize("data", [continuous, discrete], ids=["columns", "groups"])
def test_sparse_and_unknown_chunks(client, data, n_parts):
    expected = clone_fit(sar_em(data.columns), data)
    if data is discrete:
        X, s = sparse_chunks(cut(data.X, n_parts)), cut(data.s, n_parts)
    else:
        X, s = unknown(cut(data.X, n_parts)), unknown(cut(data.s, n_parts))
    agree(sar_em(data.columns).fit(X, s), expected)


def test_labels_in_memory_beside_unknown_chunks(client):
    expected = clone_fit(sar_em(discrete.columns), discrete)
    X = sparse_chunks(unknown(cut(discrete.X, 5)))
    agree(sar_em(discrete.columns).fit(X, discrete.s), expected)


@pytest.mark.parametrize("n_parts", [1, 7, 50])
def test_frames_with_weights(client, n_parts):
    table = pd.DataFrame(continuous.X, columns=list("abcdef"))
    table["s"], table["weight"] = continuous.s, weight
    expected = sar_em(["a", "b"]).fit(table[list("abcdef")], table["s"], weight)
    parts = dd.from_pandas(table, npartitions=n_parts)
    parts = parts[parts["c"] > -9]  # lengths are not known any more
    found = sar_em(["a", "b"]).fit(parts[list("abcdef")], parts["s"], sample_weight=parts["weight"])
    agree(found, expected)
    assert list(found.feature_names_in_) == list("abcdef")


def test_streaming_where_memory_is_short(place, monkeypatch):
    """Blocks that are made anew every pass compute their targets again, to the same answer."""
    monkeypatch.setattr(_partitions, "SHARE", 0.0)
    model = sar_em(continuous.columns)
    agree(model.fit(cut(continuous.X, 3), cut(continuous.s, 3)), clone_fit(model, continuous))


def test_without_a_cluster():
    """Dask's own threads serve where there is no client."""
    model = sar_em(continuous.columns)
    with dask.config.set(scheduler="threads"):
        agree(model.fit(cut(continuous.X, 7), continuous.s), clone_fit(model, continuous))


def test_large_data_start_and_are_watched_on_the_same_rows(here, monkeypatch):
    monkeypatch.setattr(_logistic, "SUBSAMPLE_ROWS", 300)
    monkeypatch.setattr(_stopping, "SAMPLE_ROWS", 200)
    model = sar_em(continuous.columns)
    agree(model.fit(cut(continuous.X, 7), continuous.s), clone_fit(model, continuous))


def test_wide_rows(here, monkeypatch):
    from sarlearn import _em

    monkeypatch.setattr(_em, "DENSE_COLUMNS", 3)
    monkeypatch.setattr(_logistic, "DENSE_COLUMNS", 3)
    model = sar_em(continuous.columns, window=2, tol=0.1)
    agree(model.fit(cut(continuous.X, 7), continuous.s), clone_fit(model, continuous))
    monkeypatch.setattr(_partitions, "SHARE", 0.0)
    agree(model.fit(cut(continuous.X, 7), continuous.s), clone_fit(model, continuous))
    model = sar_em(continuous.columns, stop="fixed_point", tol=1e-8)
    agree(model.fit(cut(continuous.X, 7), continuous.s), clone_fit(model, continuous))


def test_many_bundles_and_a_tree_of_sums(here, monkeypatch):
    monkeypatch.setattr(_partitions, "BUNDLE_BYTES", 0)
    model = sar_em(discrete.columns)
    agree(model.fit(cut(discrete.X, 12), discrete.s), clone_fit(model, discrete))


def test_several_columns_chunks_and_integers(here):
    X = da.from_array(continuous.X, chunks=(500, 2))
    agree(
        sar_em(continuous.columns).fit(X, continuous.s),
        clone_fit(sar_em(continuous.columns), continuous),
    )


@pytest.mark.parametrize("method", ["em", "weighting"])
def test_known_propensity(place, method):
    model = KnownPropensityClassifier(method, tol=1e-3 if method == "em" else None)
    expected = clone_fit(model, continuous, propensity=continuous.e, sample_weight=weight)
    X, s, e = (cut(values, 7) for values in (continuous.X, continuous.s, continuous.e))
    agree(model.fit(X, s, propensity=e, sample_weight=cut(weight, 7)), expected)
    agree(model.fit(X, s, propensity=continuous.e, sample_weight=weight), expected)
    expected = clone_fit(model, continuous, propensity=0.6)
    agree(model.fit(X, s, propensity=0.6), expected)


def test_two_runs_give_the_same_bytes(client, monkeypatch):
    monkeypatch.setattr(_partitions, "BUNDLE_BYTES", 0)
    runs = [sar_em([0]).fit(cut(continuous.X, 10), continuous.s) for _ in range(2)]
    assert runs[0].coef_.tobytes() == runs[1].coef_.tobytes()
    for name, values in runs[0].history_.items():
        assert values.tobytes() == runs[1].history_[name].tobytes()


def test_forty_tiny_blocks_cost_little(client):
    X, s = cut(continuous.X, 40), cut(continuous.s, 40)
    model = sar_em(continuous.columns).fit(X, s)
    begun = time.perf_counter()
    model.fit(X, s)
    assert (time.perf_counter() - begun) / model.n_iter_ < 0.3


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


# -- trouble ------------------------------------------------------------------------------------


class AtIteration:
    """A scikit-learn callback that does something once, at the second iteration."""

    def __init__(self, action):
        self.action, self.seen = action, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **data):
        pass

    def on_fit_task_end(self, estimator, context, **data):
        self.seen += 1
        if self.seen == 2:
            self.action()
        return False


def test_a_killed_worker_changes_nothing(tmp_path):
    model = sar_em(continuous.columns)
    expected = clone_fit(model, continuous)
    with (
        a_cluster(tmp_path, 2) as (_, client),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(_partitions, "BUNDLE_BYTES", 0)
        workers = client.run(os.getpid)
        callback = AtIteration(lambda: os.kill(min(workers.values()), signal.SIGKILL))
        model.set_callbacks(callback)
        model.fit(cut(continuous.X, 7), continuous.s)
        assert callback.seen > 2
    agree(model, expected)


def test_all_workers_gone_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(_dask, "WATCH_SECONDS", 0.5)
    monkeypatch.setattr(_dask, "LONELY_SECONDS", 1.5)
    with a_cluster(tmp_path, 1) as (cluster, _):
        model = sar_em(continuous.columns).set_callbacks(AtIteration(lambda: cluster.scale(0)))
        with pytest.raises(RuntimeError, match="no worker"):
            model.fit(cut(continuous.X, 7), continuous.s)


def test_an_interrupt_leaves_nothing_behind(client):
    def interrupt_soon():
        threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()

    # A fit that does not end before the interrupt comes.
    model = sar_em(continuous.columns, tol=1e-300, max_iter=100_000)
    model.set_callbacks(AtIteration(interrupt_soon))
    with pytest.raises(KeyboardInterrupt):
        model.fit(cut(continuous.X, 7), continuous.s)
    for _ in range(50):
        gc.collect()
        left = client.run_on_scheduler(
            lambda dask_scheduler: [k for k in dask_scheduler.tasks if "sarlearn" in str(k)]
        )
        if not left:
            break
        time.sleep(0.1)
    assert not left
    sar_em(continuous.columns).fit(cut(continuous.X, 7), continuous.s)


def test_a_closed_cluster_is_told(tmp_path):
    with a_cluster(tmp_path, 1) as (cluster, _):
        model = sar_em(continuous.columns).set_callbacks(AtIteration(cluster.close))
        with pytest.raises(RuntimeError, match="cluster was closed"):
            model.fit(cut(continuous.X, 7), continuous.s)


# -- bad input ----------------------------------------------------------------------------------


def spoil(values, row: int, value):
    out = np.array(values, dtype=float)
    out[row] = value
    return out


@pytest.mark.parametrize(
    ("X", "s", "fit", "message"),
    [
        (spoil(continuous.X, 1600, np.nan), continuous.s, {}, "Partition 5: Input X contains NaN"),
        (continuous.X, spoil(continuous.s, 2500, 2), {}, r"Partition 8: .*3 values"),
        (continuous.X, spoil(continuous.s, 1, 0.5), {}, "Partition 0: .*continuous"),
        (continuous.X, spoil(continuous.s, 1, np.nan), {}, "Partition 0: s contains NaN"),
        (continuous.X, np.zeros(N), {}, "no row is labelled"),
        (
            continuous.X,
            continuous.s,
            {"sample_weight": spoil(weight, 1000, -1)},
            "Partition 3: sample_weight must not be negative",
        ),
    ],
)
def test_bad_values_name_their_partition(place, X, s, fit, message):
    X = da.from_array(X, chunks=(300, 6))
    with pytest.raises(ValueError, match=message):
        SAREMClassifier([0]).fit(X, s, **fit)


def test_bad_shapes_name_their_partition(place):
    X = da.from_array(continuous.X, chunks=(300, 6))
    s = continuous.s
    with pytest.raises(ValueError, match="s has 6 partitions and X has 10: partition 6"):
        SAREMClassifier().fit(X, da.from_array(s, chunks=500))
    moved = da.from_array(s, chunks=((300, 400, 200, *[300] * 7),))
    with pytest.raises(ValueError, match="Partition 1: X has 300 rows, and s has 400"):
        SAREMClassifier().fit(X, moved)
    with pytest.raises(ValueError, match="s has 2999 values, X has 3000 rows"):
        SAREMClassifier().fit(X, s[1:])
    with pytest.raises(ValueError, match="two dimensions"):
        SAREMClassifier().fit(X[:, 0], s)
    with pytest.raises(ValueError, match="no rows"):
        SAREMClassifier().fit(X, s, sample_weight=np.zeros(N))
    table = frame(continuous.X, 3).assign(a="word")
    with pytest.raises(ValueError, match="Partition 0: could not convert"):
        SAREMClassifier().fit(table, da.from_array(s, chunks=1000))


def test_bad_propensities_name_their_partition(place):
    X = da.from_array(continuous.X, chunks=(300, 6))
    model = KnownPropensityClassifier()
    with pytest.raises(ValueError, match="Partition 2: propensity must lie"):
        model.fit(X, continuous.s, propensity=spoil(continuous.e, 700, 1.5))
    labelled = int(np.flatnonzero(continuous.s)[-1])
    with pytest.raises(ValueError, match="Partition 9: propensity is 0 on a labelled row"):
        model.fit(X, continuous.s, propensity=spoil(continuous.e, labelled, 0.0))


def test_few_labels_are_warned_of(here):
    s = np.zeros(N)
    s[:5] = 1
    with pytest.warns(UserWarning, match="Only 5 labelled rows"):
        sar_em(max_iter=5, window=2, tol=10.0).fit(cut(continuous.X, 7), s)


def test_what_needs_memory_says_so(here):
    from sklearn.linear_model import LogisticRegression

    from sarlearn import CrossFitSARClassifier, MultiSCARClassifier

    X, s = cut(continuous.X, 7), continuous.s
    for model in (
        CrossFitSARClassifier([0]),
        MultiSCARClassifier([0]),
        ElkanNoto(),
        BestBinEstimator(scorer=LogisticRegression()),
        SAREMClassifier([0], classifier=LogisticRegression()),
        KnownPropensityClassifier(classifier=LogisticRegression()),
    ):
        with pytest.raises(TypeError, match=f"{type(model).__name__}.* in memory.*sample"):
            model.fit(X, s)


# -- class priors -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda X: X, sparse_chunks], ids=["dense", "sparse"])
@pytest.mark.parametrize("scaling", ["minmax", "standard", "none"])
def test_sar_em_prior(here, scaling, make):
    X = continuous.X * (np.abs(continuous.X) > 0.5) if make is sparse_chunks else continuous.X
    prior = SAREMPrior([0], scaling=scaling, stop="fixed_point")
    whole = prior.fit(sparse.csr_array(X) if make is sparse_chunks else X, continuous.s)
    expected = whole.class_prior_
    found = SAREMPrior([0], scaling=scaling, stop="fixed_point").fit(make(cut(X, 7)), continuous.s)
    assert found.class_prior_ == pytest.approx(expected, abs=1e-7)


def test_best_bin(here):
    rng = np.random.default_rng(0)
    y = rng.random(20_000) < 0.4
    X = rng.standard_normal((20_000, 3)) + 2.0 * y[:, None]
    s = y & (rng.random(20_000) < 0.5)
    found = BestBinEstimator(random_state=0).fit(cut(X, 9), s)
    again = BestBinEstimator(random_state=0).fit(cut(X, 4), s)
    whole = BestBinEstimator(random_state=0).fit(X, s)
    assert found.class_prior_ == pytest.approx(again.class_prior_, abs=1e-9)  # any cut
    assert found.class_prior_ == pytest.approx(whole.class_prior_, abs=0.02)
    assert found.class_prior_ == pytest.approx(0.4, abs=0.03)
    with pytest.raises(ValueError, match="constant"):
        BestBinEstimator().fit(da.ones((N, 2), chunks=(300, 2)), continuous.s)


def test_scar(here):
    data = make_pu(6000, 4, n_propensity=0, seed=3, scale=3)
    found = SCARClassifier(SAREMPrior(), C=10).fit(cut(data.X, 5), data.s)
    whole = SCARClassifier(SAREMPrior(), C=10).fit(data.X, data.s)
    np.testing.assert_allclose(found.coef_, whole.coef_, atol=1e-6)
    assert found.n_features_in_ == 4
    table = dd.from_pandas(pd.DataFrame(data.X, columns=list("abcd")), npartitions=3)
    found = SCARClassifier(random_state=0).fit(table, data.s)
    assert list(found.feature_names_in_) == list("abcd")
    assert found.predict_propensity(table).compute().iloc[0] == found.label_frequency_


# -- tables and the command line ----------------------------------------------------------------


@pytest.fixture(scope="module")
def people():
    """A table with gaps, words and truth values, and who is labelled."""
    rng = np.random.default_rng(0)
    age, plan = rng.normal(50, 10, N).round(1), rng.choice(["none", "basic", "full"], N)
    ill = rng.random(N) < 1 / (1 + np.exp(-(age - 50) / 4))
    s = ill & (rng.random(N) < np.where(plan == "none", 0.2, 0.7))
    age[rng.random(N) < 0.1] = np.nan
    town = [f"t{int(k)}" for k in rng.exponential(12, N)]
    table = pd.DataFrame({"age": age, "plan": plan, "town": town, "member": rng.random(N) < 0.5})
    return table.assign(always=1, children=rng.integers(0, 5, N)), s


@pytest.mark.parametrize("max_categories", [3, 8, 100])
def test_an_encoder_learns_the_same_from_partitions(here, people, max_categories):
    from sarlearn.tables import TableEncoder

    table, _ = people
    whole = TableEncoder(max_categories=max_categories).fit(table)
    parts = dd.from_pandas(table, npartitions=6)
    found = TableEncoder(max_categories=max_categories).fit(parts)
    assert found.feature_names_out_ == whole.feature_names_out_
    assert found.kinds_ == whole.kinds_
    assert found.constant_ == whole.constant_ == ["always"]
    expected = whole.transform(table)
    np.testing.assert_allclose(found.transform(table), expected, atol=1e-12)
    lazy = found.transform(parts)
    assert list(lazy.columns) == whole.feature_names_out_
    np.testing.assert_allclose(lazy.compute(), expected, atol=1e-12)
    pd.testing.assert_index_equal(lazy.compute().index, table.index)


def test_medians_of_large_partitions_are_near(monkeypatch):
    from sarlearn import _table_sums

    values = np.random.default_rng(0).lognormal(size=20_000)
    monkeypatch.setattr(_table_sums, "SKETCH", 500)
    parts = [_table_sums.column_sums(pd.DataFrame({"a": v}), ()) for v in np.split(values, 4)]
    found = _table_sums.merged(parts)["a"]
    assert abs(np.mean(values < found.median) - 0.5) < 1 / 500
    assert found.mean == pytest.approx(values.mean())
    assert found.squares / 20_000 == pytest.approx(values.var())


def test_kinds_are_told_from_all_partitions(here):
    from sarlearn.tables import TableEncoder

    mixed = pd.DataFrame({"a": [None] * 4 + [1, 2, 3, 4] + ["x", "y", 1, None]}, dtype=object)
    empty = pd.DataFrame({"b": np.r_[np.full(6, np.nan), np.arange(6.0)]})
    table = pd.concat([mixed, empty], axis=1)
    parts = dd.from_map(lambda k: table.iloc[4 * k : 4 * k + 4], range(3), meta=table.iloc[:0])
    found, whole = TableEncoder().fit(parts), TableEncoder().fit(table)
    assert found.kinds_ == whole.kinds_ == {"a": "category", "b": "numeric"}
    np.testing.assert_allclose(found.transform(table), whole.transform(table), atol=1e-12)
    with pytest.raises(ValueError, match="no column with more than one value"):
        TableEncoder().fit(dd.from_pandas(pd.DataFrame({"a": [1, 1, 1]}), npartitions=2))
    names = pd.DataFrame({"id": [f"r{k}" for k in range(80)]})
    with pytest.warns(UserWarning, match="'id' has 80 different values in 80 rows"):
        TableEncoder().fit(dd.from_pandas(names, npartitions=3))


def test_a_table_model_goes_both_ways_and_is_saved(place, people, tmp_path):
    from sarlearn.saving import load_file, save
    from sarlearn.tables import make_table_classifier

    table, s = people
    parts = dd.from_pandas(table.assign(s=s), npartitions=6)
    labels, parts = parts["s"], parts.drop(columns="s")
    settings = {"window": 4, "tol": 0.01}
    whole = make_table_classifier(["plan"], **settings).fit(table, s)
    found = make_table_classifier(["plan"], **settings).fit(parts, labels)
    np.testing.assert_allclose(found[-1].coef_, whole[-1].coef_, atol=1e-8)
    save(found, tmp_path / "model.sarlearn")
    again = load_file(tmp_path / "model.sarlearn").model
    for name in ("predict_proba", "predict_propensity"):
        expected = getattr(whole, name)(table)
        np.testing.assert_allclose(getattr(again, name)(table), expected, atol=1e-8)
        np.testing.assert_allclose(getattr(again, name)(parts).compute(), expected, atol=1e-8)
        np.testing.assert_allclose(getattr(whole, name)(parts).compute(), expected, atol=1e-8)
    after = again.predict_posterior(parts, labels).compute()
    np.testing.assert_allclose(after, whole.predict_posterior(table, s), atol=1e-8)


@pytest.fixture(scope="module")
def folder(people, tmp_path_factory):
    table, s = people
    out = tmp_path_factory.mktemp("parts")
    table = table.assign(patient=np.arange(N), diagnosed=np.where(s, "yes", None))
    for k in range(3):
        table.iloc[1000 * k : 1000 * k + 1000].to_parquet(out / f"part{k}.parquet")
        table.iloc[1000 * k : 1000 * k + 1000].to_csv(out / f"part{k}.csv", index=False)
    table.to_parquet(out / "all.pq")
    return out


def fit_command(folder, table: str, *options: str) -> list[str]:
    """The arguments of the command; options last, where ``--dask`` may stand alone."""
    command = ["fit", str(folder / table), "--label", "diagnosed", "--propensity", "plan"]
    columns = ["--id", "patient", "--drop", "always", "--json", "--force"]
    return [*command, *columns, "-o", str(folder / "model.sarlearn"), *options]


@pytest.mark.parametrize("table", ["part*.parquet", "part*.csv"])
def test_the_command_line(client, folder, table, monkeypatch, capsys):
    from sarlearn.cli import fit_dask
    from sarlearn.cli.app import app

    monkeypatch.setattr(fit_dask, "SAMPLE_ROWS", 1000)
    address = client.scheduler.address
    app(fit_command(folder, table, "--dask", address), standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    app(fit_command(folder, "all.pq", "--method", "sar-em"), standalone_mode=False)
    whole = json.loads(capsys.readouterr().out)
    assert found["data"] == whole["data"]
    for name, value in whole["estimates"].items():
        near = 0.02 if name == "mean_probability" else 1e-6  # the former is of the sample
        assert found["estimates"][name] == pytest.approx(value, rel=near)
    assert any("of the 3,000 rows, spread evenly" in str(told) for told in found["warnings"])
    assert len(found["candidates"]["rows"]) == 20


@pytest.mark.parametrize(
    ("table", "options", "error", "message"),
    [
        ("part*.parquet", ["--method", "cross-fit"], ValueError, "--method sar-em"),
        ("nothing*.parquet", [], FileNotFoundError, "There is no file"),
        ("part*.parquet", ["--propensity", "plam"], ValueError, "plan"),
        ("*.txt", [], ValueError, "Parquet"),
    ],
)
def test_the_command_line_refuses(client, folder, table, options, error, message):
    from sarlearn.cli.app import app

    (folder / "notes.txt").write_text("a,b")
    arguments = fit_command(folder, table, *options, "--dask", client.scheduler.address)
    with pytest.raises(error, match=message):
        app(arguments, standalone_mode=False)


def test_the_command_line_with_its_own_cluster(folder, tmp_path, monkeypatch):
    """As a person types it: a local cluster, and the dashboard's address on stderr."""
    monkeypatch.setenv("DASK_TEMPORARY_DIRECTORY", str(tmp_path))
    done = process(*fit_command(folder, "part*.parquet", "--dask"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["data"]["rows"] == N
    assert "Dask dashboard: http" in done.stderr
    gone = process(*fit_command(folder, "part*.parquet", "--dask", "tcp://127.0.0.1:9"))
    assert gone.returncode
    assert "no scheduler answers at tcp://127.0.0.1:9" in gone.stderr
