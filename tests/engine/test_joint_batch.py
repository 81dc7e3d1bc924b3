"""Many sets of labels climbed side by side: the same maxima as one after the other."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from sarlearn._engine import joint_batch as _joint_batch
from sarlearn._engine.joint import JointLogistic, joint_pass
from sarlearn._engine.joint_batch import BatchLogistic


def make(n=400, n_sets=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1, 5, 0.2]
    f, e = expit(2 * X[:, 0] + X[:, 1] / 5), expit(5 * X[:, 2])
    return X, rng.random((n, n_sets)) < (f * e)[:, None]


def model_of(X, columns=(0, 2), **kwargs):
    return JointLogistic(X, np.array(columns, dtype=int), C=100.0, propensity_C=100.0, **kwargs)


@pytest.mark.parametrize("columns", [(), (2,), (0, 1, 2)])
@pytest.mark.parametrize("kept", [True, False])
def test_each_set_reaches_the_maximum_that_it_reaches_alone(columns, kept, monkeypatch):
    if not kept:
        monkeypatch.setattr(_joint_batch, "KEPT_ELEMENTS", 0)
    X, labelled = make()
    model = model_of(X, columns)
    rng = np.random.default_rng(1)
    # Random starts: negative curvature and halved steps on the way.
    starts = rng.normal(0, 1.5, (labelled.shape[1], model.n_theta + len(columns) + 1))
    found = BatchLogistic(model).climb(starts, labelled)
    alone = [model.climb(start, s) for start, s in zip(starts, labelled.T, strict=True)]
    np.testing.assert_allclose(found.value, [fit.value for fit in alone], atol=1e-5)
    assert found.converged.tolist() == [fit.converged for fit in alone]
    for parameters, value, s in zip(found.parameters, found.value, labelled.T, strict=True):
        assert model.value(parameters, s) == pytest.approx(value, abs=1e-8)


def test_derivatives_are_those_of_one_set():
    X, labelled = make(n=50, n_sets=3)
    model = model_of(X)
    points = np.random.default_rng(0).normal(0, 2, (3, 7))
    found = BatchLogistic(model)._evaluate(points, labelled)
    for k, s in enumerate(labelled.T):
        sums = model._labelled(s, None).total(joint_pass, points[k], False)
        np.testing.assert_allclose(
            found.gradient[k], -sums.gradient - model.ridge * points[k], atol=1e-10
        )
        np.testing.assert_allclose(
            found.curvature[k], model.information(points[k], s), rtol=1e-9, atol=1e-9
        )
        assert found.value[k] == pytest.approx(model.value(points[k], s), rel=1e-12)


def test_the_rest_goes_on_when_some_are_done_or_out_of_time():
    X, labelled = make()
    model = model_of(X)
    best = model.fit(labelled[:, 0])
    starts = np.tile(best.parameters, (labelled.shape[1], 1))
    found = BatchLogistic(model).climb(starts, labelled, max_iter=1)
    assert found.converged[0]
    assert found.value[0] == pytest.approx(best.value, abs=1e-6)
    assert not found.converged[1:].all()
    everywhere = BatchLogistic(model).climb(starts, labelled)
    assert everywhere.converged.all()
    assert np.all(everywhere.value >= found.value)


def test_sparse_rows_are_refused():
    with pytest.raises(TypeError, match="dense rows only"):
        BatchLogistic(model_of(sparse.csr_array(make()[0])))
