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
