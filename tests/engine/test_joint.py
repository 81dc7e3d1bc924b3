"""The joint maximum likelihood: derivatives, agreement with EM, invariance, hard starts."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from conftest import make_pu
from sarlearn import SAREMClassifier
from sarlearn._engine.chances import chance_pass
from sarlearn._engine.joint import JointLogistic


def make(n=1500, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = rng.random(n) < expit(2 * X[:, 0] + X[:, 1])
    return X, y & (rng.random(n) < expit(X[:, 2]))


@pytest.fixture(scope="module")
def data():
    return make()


def model_of(X, columns=(2, 3), C=100.0, **kwargs):
    return JointLogistic(X, np.array(columns, dtype=int), C=C, **kwargs)


def sums_at(model, point, s, weight=None):
    rows = model._rows.attach(visits=s[:, None].astype(float), weight=weight)
    return rows.total(chance_pass, point, True)


def value_at(model, point, s):
    """The penalised log-likelihood."""
    return -sums_at(model, point, s).loss - model.ridge @ point**2 / 2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_derivatives_agree_with_differences(data, weighted, scale):
    X, s = data
    rng = np.random.default_rng(1)
    weight = rng.uniform(0, 2, len(s)) if weighted else None
    model = model_of(X)
    point = rng.normal(0, scale, 8)
    found = sums_at(model, point, s, weight)
    gradient, information = found.gradient, found.hessian
    for i, step in enumerate(1e-5 * np.eye(8)):
        up, down = (sums_at(model, point + sign * step, s, weight) for sign in (1, -1))
        difference = (up.loss - down.loss) / 2e-5
        assert gradient[i] == pytest.approx(difference, rel=1e-5, abs=1e-4)
        curve = (up.gradient - down.gradient) / 2e-5
        np.testing.assert_allclose(information[i], curve, rtol=1e-4, atol=1e-3)


def test_the_maximum_is_that_of_undecayed_em(data):
    X, s = data
    em = SAREMClassifier([2, 3], decay=1, C=100, propensity_C=100, stop="fixed_point").fit(X, s)
    model = model_of(X)
    fit = model.fit(s)
    assert fit.converged
    assert -fit.value == pytest.approx(em.history_["penalized_log_likelihood"][-1], abs=1e-4)
    np.testing.assert_allclose(fit.theta[:4], em.coef_[0], atol=1e-3)
    np.testing.assert_allclose(fit.theta[5:7], em.propensity_coef_[0], atol=1e-3)
    assert model.probabilities(fit.theta)[0].mean() == pytest.approx(em.class_prior_, abs=1e-4)


def test_sparse_rows_change_nothing(data):
    X, s = data
    dense, thin = model_of(X).fit(s), model_of(sparse.csr_array(X)).fit(s)
    assert thin.value == pytest.approx(dense.value, abs=1e-6)


def test_extra_columns_belong_to_the_class_alone(data):
    X, s = data
    plain = model_of(X).fit(s)
    score = (X[:, [0]] > 0).astype(float)
    more = model_of(X, extra=score)
    assert more.n_theta == 6
    start = np.insert(plain.theta, 4, 0.0)
    assert value_at(more, start, s) == pytest.approx(-plain.value, abs=1e-9)
    assert more.climb(start, s).value <= plain.value
    thin = model_of(sparse.csr_array(X), extra=score)
    assert value_at(thin, start, s) == pytest.approx(-plain.value, abs=1e-9)


def test_nested_climbs_leave_full_label_frequency_where_plain_ones_may_stay():
    """Near e = 1 the likelihood has maxima of its own: slopes in the propensity are proportional
    to 1 - e. A climb from there always ends in a maximum, often in a lesser one."""
    stayed = []
    for seed in range(8):
        X, s = make(seed=seed)
        model = model_of(X)
        best = model.fit(s)
        full = model.start(model.naive(s), 1 - 1e-9, s)
        full[-1] = 30.0
        plain = model.climb(full, s)
        assert plain.converged
        gradient = sums_at(model, plain.theta, s).gradient
        assert np.abs(gradient + model.ridge * plain.theta).max() < 0.01
        assert plain.value > best.value - 1e-6
        stayed.append(plain.value > best.value + 5)
        if stayed[-1]:
            f, e = model.probabilities(plain.theta)
            assert np.average(e, weights=f) > 0.9
        scar = np.append(full[: model.n_theta], full[-1])
        assert model.fit_from_scar(scar, s).value == pytest.approx(best.value, abs=1e-3)
    assert sum(stayed) >= 1


def test_a_start_has_the_label_frequency_asked_for(data):
    X, s = data
    model = model_of(X)
    start = model.start(model.naive(s), 0.5, s)
    f, e = model.probabilities(start)
    assert f.mean() == pytest.approx(s.mean() / 0.5, abs=1e-3)
    np.testing.assert_allclose(e, 0.5)


@pytest.mark.parametrize(("n", "seed"), [(400, 11), (200, 44)])
def test_a_fit_is_the_best_of_several_maxima(n, seed):
    """Of the first only the lowest label frequency finds it, of the second one in the middle."""
    data = make_pu(n, 4, seed=seed)
    model = model_of(data.X, [0, 1], C=10.0)
    naive = model.naive(data.s)
    tried = [
        model.climb(model.start(naive, c, data.s), data.s).value for c in (0.15, 0.3, 0.6, 0.9)
    ]
    assert min(tried) < tried[-1] - 1
    assert model.fit(data.s).value == pytest.approx(min(tried), abs=1e-4)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_where_columns_have_their_zero_does_not_matter(data, as_sparse):
    X, s = data
    far = X + np.array([0.0, 2_460_000.0, 2_460_000.0, 0.0])
    near, there = model_of(X), model_of(sparse.csr_array(far) if as_sparse else far)
    expected, found = near.fit(s), there.fit(s)
    assert found.value == pytest.approx(expected.value, abs=1e-4)
    np.testing.assert_allclose(
        there.probabilities(found.theta), near.probabilities(expected.theta), atol=1e-3
    )
