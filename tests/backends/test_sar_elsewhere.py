"""The learner on a cluster and in batches: the answer of memory."""

import warnings

import numpy as np
import pytest
from scipy.special import expit

from sarlearn import SARClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")


@pytest.fixture(scope="module")
def in_memory():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(3000, 4)), 2)
    y = rng.random(3000) < expit(3 * X[:, 1] + 2 * X[:, 2] ** 2 - 2)
    s = y & (rng.random(3000) < expit(0.3 + 1.2 * X[:, 0]))
    weight = rng.integers(0, 3, 3000).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return X, s, weight, SARClassifier([0]).fit(X, s, sample_weight=weight)


def test_batches_give_the_answer_of_memory(in_memory):
    pa = pytest.importorskip("pyarrow")
    from sarlearn import Batches

    X, s, weight, expected = in_memory
    columns = {f"x{j}": X[:, j] for j in range(4)} | {"label": s.astype(int), "weight": weight}
    whole = pa.table(columns)
    found = SARClassifier(["x0"]).fit(
        Batches(lambda: iter(whole.to_batches(max_chunksize=777))), "label", "weight"
    )
    assert found.class_prior_ == pytest.approx(expected.class_prior_, abs=1e-6)
    np.testing.assert_allclose(
        found.class_logit_.coef, expected.class_logit_.coef, rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("where", ["batches", "Dask"])
def test_trees_refuse_tiny_columns_elsewhere(in_memory, where):
    pa, dd = pytest.importorskip("pyarrow"), pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    from sarlearn import Batches

    X, s, _, _ = in_memory
    X = X[:, [0, 1]] * 1e-160
    table = pd.DataFrame(X, columns=["x0", "x1"])
    if where == "batches":
        given = Batches(pa.table({"x0": X[:, 0], "x1": X[:, 1], "s": s.astype(int)})), "s"
    else:
        parts = dd.from_pandas(table.assign(s=s.astype(int)), npartitions=3)
        given = parts[["x0", "x1"]], parts["s"]
    with pytest.raises(ValueError, match=r"column .x0. is .*boosted trees take columns where"):
        SARClassifier([0]).fit(*given)


def test_a_cluster_gives_the_answer_of_memory(in_memory, client):
    da = pytest.importorskip("dask.array")
    X, s, weight, expected = in_memory
    cut = ((1000, 37, 1963), (4,))
    found = SARClassifier([0]).fit(
        da.from_array(X, chunks=cut),
        da.from_array(s, chunks=cut[:1]),
        sample_weight=da.from_array(weight, chunks=cut[:1]),
    )
    assert found.class_prior_ == pytest.approx(expected.class_prior_, abs=0.01)
    proba = found.predict_proba(da.from_array(X, chunks=cut)).compute()
    np.testing.assert_allclose(proba, expected.predict_proba(X), atol=1e-4)


def test_trees_see_the_same_sample_wherever_rows_lie(in_memory, client, monkeypatch):
    """One rule and code: of too many rows trees are grown on some, and every fit says so."""
    pa, da = pytest.importorskip("pyarrow"), pytest.importorskip("dask.array")
    from sarlearn import Batches
    from sarlearn._engine import sar_rows

    X, s, _, _ = in_memory
    for name, value in {"MANY_ROWS": 1500, "SAMPLE_ROWS": 1000, "TREE_ROWS": 1200}.items():
        monkeypatch.setattr(sar_rows, name, value)
    table = pa.table({f"x{j}": X[:, j] for j in range(4)} | {"s": s.astype(int)})
    cut = ((1000, 37, 1963), (4,))
    places = {
        "memory": (X, s),
        "batches": (Batches(lambda: iter(table.to_batches(max_chunksize=777))), "s"),
        "Dask": (da.from_array(X, chunks=cut), da.from_array(s, chunks=cut[:1])),
    }
    found = {name: SARClassifier([0]).fit(*given) for name, given in places.items()}
    trees = {name: model.class_logit_.trees for name, model in found.items()}
    for name, model in found.items():
        assert model.n_tree_rows_ == 1200
        assert "grown on a sample of 1,200 rows" in model.summary()
        assert model.class_prior_ == pytest.approx(found["memory"].class_prior_, abs=1e-4)
        assert [c for c, _ in trees[name]] == pytest.approx(
            [c for c, _ in trees["memory"]], abs=1e-3
        )
        assert len(trees[name]) == 3
    monkeypatch.setattr(sar_rows, "TREE_ROWS", 3000)
    assert "sample" not in SARClassifier([0]).fit(X, s).summary()
