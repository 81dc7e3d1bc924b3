"""The EM loop against an independent one with exact M-steps, and what must hold of it."""

from operator import attrgetter

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import reference
from conftest import make_pu
from sarlearn import KnownPropensityClassifier, SAREMClassifier
from sarlearn._engine import blocks as _blocks
from sarlearn._engine import em as _em
from sarlearn._engine import propensity as _propensity
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.fixed_point import run_to_fixed_point
from sarlearn._engine.propensity import (
    ColumnPropensity,
    GroupedPropensity,
    choose_propensity,
    group_rows,
)


def probabilities(model, X):
    return model.predict_proba(X)[:, 1], model.predict_propensity(X)


CASES = [
    pytest.param({"seed": 0}, id="continuous"),
    pytest.param({"seed": 1, "discrete": True}, id="discrete"),
    pytest.param({"seed": 2, "n": 3000, "discrete": True}, id="more rows"),
    pytest.param({"seed": 3, "n_propensity": 0}, id="scar"),
]


# Every setting away from its default.
SETTINGS = {"decay": 0.75, "C": 0.3, "propensity_C": 4.0, "window": 4, "tol": 3e-4}


@pytest.fixture
def exact_m_steps(monkeypatch):
    """M-steps and the start are solved to the end, not to a twentieth of their gradient."""
    monkeypatch.setattr(_em, "FORCING", 1e-10)
    monkeypatch.setattr(_em, "START_TOL", 1e-10)
    monkeypatch.setattr(_propensity, "LAST_STEP", 1e-10)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_exact_m_steps_take_the_iterations_of_the_reference(exact_m_steps, case, weighted):
    data = make_pu(**case)
    weight = data.rng.integers(1, 4, len(data.s)) if weighted else None
    slopes = []
    given = {**SETTINGS, "weight": weight, "seen": slopes}
    f, e, n_iter = reference.sar_em(data.X, data.s, data.columns, **given)
    for X in (data.X, sparse.csr_array(data.X)):
        model = SAREMClassifier(data.columns, **SETTINGS).fit(X, data.s, sample_weight=weight)
        assert model.converged_
        assert model.n_iter_ == n_iter
        found = model.history_["slope"]
        np.testing.assert_allclose(found[~np.isnan(found)], slopes, rtol=1e-4)
        f_hat, e_hat = probabilities(model, X)
        np.testing.assert_allclose(f_hat, f, atol=1e-7)
        np.testing.assert_allclose(e_hat, e, atol=1e-7)


@pytest.mark.parametrize("kind", ["dense", "sparse", "weighted"])
def test_exact_m_steps_with_known_propensity_take_those_of_the_reference(exact_m_steps, kind):
    data = make_pu(seed=4)
    weight = data.rng.integers(1, 4, len(data.s)) if kind == "weighted" else None
    X = sparse.csr_array(data.X) if kind == "sparse" else data.X
    settings = {"C": 0.3, "window": 4, "tol": 3e-4}
    f, _, n_iter = reference.sar_em(
        data.X, data.s, [], decay=1, propensity=data.e, weight=weight, **settings
    )
    model = KnownPropensityClassifier(**settings)
    model.fit(X, data.s, propensity=data.e, sample_weight=weight)
    assert model.n_iter_ == n_iter
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], f, atol=1e-7)


@pytest.mark.parametrize("case", CASES)
def test_slope_follows_the_path_of_exact_m_steps(case):
    """M-steps that leave a twentieth of the gradient go the same way."""
    data = make_pu(**case)
    model = SAREMClassifier(data.columns).fit(data.X, data.s)
    f, e, n_iter = reference.sar_em(data.X, data.s, data.columns)
    assert model.converged_
    assert abs(model.n_iter_ - n_iter) <= 1
    f_hat, e_hat = probabilities(model, data.X)
    np.testing.assert_allclose(f_hat, f, atol=1e-3)
    np.testing.assert_allclose(e_hat, e, atol=1e-3)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_an_m_step_leaves_a_twentieth_of_the_gradient(seed):
    """By the curvature that it ends with, which may differ a little from the one it judged by."""
    data = make_pu(1500, 4, seed=seed)
    rows = RowBlocks(data.X).attach(labelled=data.s)
    propensity, rows = choose_propensity(rows, np.array(data.columns), 1.0)
    em = _em.SAREM(rows, propensity, decay=0.9, C=1.0)
    em.start()
    for _ in range(8):
        sums = em.sums
        found = em._norm(em._gradients(sums.next_gradient, sums.next_propensity_gradient))
        em.iterate()
        left = em._norm(em._gradients(em.sums.gradient, em.sums.propensity_gradient))
        assert left < 0.06 * found


@pytest.mark.parametrize("case", CASES[:2] + CASES[3:])
@pytest.mark.parametrize("weighted", [False, True])
def test_fixed_point_is_that_of_exact_m_steps(case, weighted):
    data = make_pu(**case)
    weight = data.rng.integers(1, 4, len(data.s)) if weighted else None
    settings = {"decay": 0.75, "C": 0.3, "propensity_C": 4.0, "stop": "fixed_point", "tol": 1e-11}
    f, e, _ = reference.sar_em(data.X, data.s, data.columns, weight=weight, **settings)
    for X in (data.X, sparse.csr_array(data.X)):
        model = SAREMClassifier(data.columns, **settings).fit(X, data.s, sample_weight=weight)
        assert model.converged_
        f_hat, e_hat = probabilities(model, X)
        np.testing.assert_allclose(f_hat, f, atol=1e-6)
        np.testing.assert_allclose(e_hat, e, atol=1e-6)


@pytest.mark.parametrize("case", CASES[:2] + CASES[3:])
def test_the_way_to_the_fixed_point_is_a_third_of_plain_em(case):
    data = make_pu(**case)
    settings = {"stop": "fixed_point", "tol": 1e-9}
    model = SAREMClassifier(data.columns, **settings).fit(data.X, data.s)
    n_iter = reference.sar_em(data.X, data.s, data.columns, **settings)[2]
    assert model.n_iter_ < n_iter / 3


def test_known_propensity_follows_exact_m_steps():
    data = make_pu(seed=4)
    f, _, n_iter = reference.sar_em(data.X, data.s, [], decay=1, propensity=data.e)
    model = KnownPropensityClassifier().fit(data.X, data.s, propensity=data.e)
    assert abs(model.n_iter_ - n_iter) <= 1
    np.testing.assert_allclose(model.predict_proba(data.X)[:, 1], f, atol=1e-3)


def test_known_propensity_comes_to_rest_where_exact_m_steps_do():
    data = make_pu(seed=4)
    weight = data.rng.integers(1, 4, len(data.s))
    settings = {"C": 0.3, "stop": "fixed_point", "tol": 1e-11}
    f, _, _ = reference.sar_em(
        data.X, data.s, [], decay=1, propensity=data.e, weight=weight, **settings
    )
    model = KnownPropensityClassifier(**settings)
    model.fit(data.X, data.s, propensity=data.e, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(data.X)[:, 1], f, atol=1e-6)


@pytest.mark.parametrize("discrete", [False, True])
def test_undecayed_fixed_point_maximises_the_observed_likelihood(discrete):
    """A general optimiser started there finds nothing better, and the gradient is zero."""
    data = make_pu(2000, 4, seed=5, discrete=discrete, scale=3)
    model = SAREMClassifier(data.columns, decay=1, stop="fixed_point", tol=1e-11)
    model.fit(data.X, data.s)
    X, Xe, s = data.X, data.X[:, data.columns], data.s

    def objective(theta):
        eta, zeta = X @ theta[:4] + theta[4], Xe @ theta[5:-1] + theta[-1]
        labelled = np.logaddexp(0, -eta) + np.logaddexp(0, -zeta)
        unlabelled = -np.log1p(-expit(eta) * expit(zeta))
        ridge = theta[:4] @ theta[:4] + theta[5:-1] @ theta[5:-1]
        return np.where(s, labelled, unlabelled).sum() + ridge / 2

    found = np.concatenate(
        [model.coef_[0], model.intercept_, model.propensity_coef_[0], model.propensity_intercept_]
    )
    better = minimize(objective, found, method="BFGS", options={"gtol": 1e-6})
    assert objective(found) - better.fun < 1e-6
    np.testing.assert_allclose(better.x, found, atol=1e-3)
    likelihood = model.history_["log_likelihood"][-1]
    chance = expit(X @ found[:4] + found[4]) * expit(Xe @ found[5:-1] + found[-1])
    assert likelihood == pytest.approx(np.log(np.where(s, chance, 1 - chance)).sum(), rel=1e-9)


@pytest.mark.parametrize("stop", ["slope", "fixed_point"])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("discrete", [False, True])
def test_without_decay_the_observed_likelihood_never_falls(stop, seed, discrete):
    data = make_pu(500, 5, seed=seed, discrete=discrete)
    model = SAREMClassifier(data.columns, decay=1, stop=stop, tol=1e-7, max_iter=2000)
    model.fit(data.X, data.s)
    likelihood = model.history_["penalized_log_likelihood"]
    assert len(likelihood) > 5
    assert np.diff(likelihood).min() >= -1e-10 * abs(likelihood[-1])


@pytest.mark.parametrize("seed", [2, 5])
def test_mixed_steps_that_lower_the_likelihood_are_not_taken(seed):
    """With hardly a penalty on few rows some would, by up to 1,000 nats."""
    data = make_pu(300, 4, seed=seed)
    model = SAREMClassifier(data.columns, decay=1, C=100.0, stop="fixed_point").fit(data.X, data.s)
    assert model.converged_
    likelihood = model.history_["penalized_log_likelihood"]
    assert np.diff(likelihood).min() >= -1e-10 * abs(likelihood[-1])


@pytest.mark.parametrize("stop", ["slope", "fixed_point"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_any_cut_of_the_rows_gives_the_same_result(monkeypatch, stop, make):
    data = make_pu(240, 5)
    models = []
    for rows in (240, 37, 8):
        monkeypatch.setattr(_blocks.RowBlocks.__init__, "__kwdefaults__", {"block_rows": rows})
        model = SAREMClassifier(data.columns, stop=stop).fit(make(data.X), data.s)
        models.append(model)
    # At a fixed point the last steps are so small that their rounding may decide for one more.
    more = 1 if stop == "fixed_point" else 0
    for model in models[1:]:
        assert abs(model.n_iter_ - models[0].n_iter_) <= more
        np.testing.assert_allclose(model.coef_, models[0].coef_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(model.propensity_coef_, models[0].propensity_coef_, rtol=1e-7)


@pytest.mark.parametrize("stop", ["slope", "fixed_point"])
@pytest.mark.parametrize("discrete", [False, True])
def test_weights_are_repetitions_and_order_does_not_matter(stop, discrete):
    data = make_pu(400, 5, discrete=discrete)
    counts = data.rng.integers(0, 4, 400)
    once = SAREMClassifier(data.columns, stop=stop)
    once.fit(data.X, data.s, sample_weight=counts)
    rows = data.rng.permutation(np.repeat(np.arange(400), counts))
    again = SAREMClassifier(data.columns, stop=stop).fit(data.X[rows], data.s[rows])
    np.testing.assert_allclose(once.coef_, again.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(once.propensity_coef_, again.propensity_coef_, rtol=1e-6)
    assert once.class_prior_ == pytest.approx(again.class_prior_, rel=1e-8)
    assert once.label_frequency_ == pytest.approx(again.label_frequency_, rel=1e-8)


@pytest.mark.parametrize("method", ["em", "weighting"])
def test_weights_are_repetitions_with_a_known_propensity(method):
    data = make_pu(400, 5)
    counts = data.rng.integers(1, 4, 400)
    e = np.maximum(data.e, 0.5)  # smaller ones would say that there are more positives than rows
    rows = np.repeat(np.arange(400), counts)
    once = KnownPropensityClassifier(method, stop="fixed_point")
    once.fit(data.X, data.s, propensity=e, sample_weight=counts)
    again = KnownPropensityClassifier(method, stop="fixed_point")
    again.fit(data.X[rows], data.s[rows], propensity=e[rows])
    np.testing.assert_allclose(once.coef_, again.coef_, rtol=1e-6, atol=1e-8)
    assert once.class_prior_ == pytest.approx(again.class_prior_, rel=1e-8)
    assert once.label_frequency_ == pytest.approx(again.label_frequency_, rel=1e-8)


def test_propensities_that_ask_for_more_positives_than_rows_are_refused():
    data = make_pu(400, 5)
    with pytest.raises(ValueError, match=r"mean of s/propensity.* is \d\.\d+; it must be below 1"):
        KnownPropensityClassifier("weighting").fit(data.X, data.s, propensity=0.05)


@pytest.mark.parametrize("C", [1e-4, 1e-3, 1.0])
def test_propensity_one_is_logistic_regression(C):
    """With a strong penalty EM starts where all rows are positives, and has far to go."""
    data = make_pu(500, 5)
    expected = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12).fit(data.X, data.s)
    for method in ("em", "weighting"):
        model = KnownPropensityClassifier(method, C=C).fit(data.X, data.s, propensity=1.0)
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
        np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-6)


def test_an_attribute_that_never_varies_is_scar():
    data = make_pu(500, 5, n_propensity=0)
    X = np.column_stack([data.X, np.ones(500)])
    sar = SAREMClassifier([5], stop="fixed_point").fit(X, data.s)
    scar = SAREMClassifier(stop="fixed_point").fit(X, data.s)
    np.testing.assert_allclose(sar.predict_proba(X), scar.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(sar.predict_propensity(X), scar.predict_propensity(X), atol=1e-6)


def test_groups_and_columns_are_two_ways_to_one_answer(monkeypatch):
    data = make_pu(800, 5, discrete=True)
    grouped = SAREMClassifier(data.columns, stop="fixed_point").fit(data.X, data.s)
    monkeypatch.setattr(_propensity, "MAX_VALUES", 1)
    columns = SAREMClassifier(data.columns, stop="fixed_point").fit(data.X, data.s)
    np.testing.assert_allclose(grouped.coef_, columns.coef_, atol=1e-6)
    np.testing.assert_allclose(grouped.propensity_coef_, columns.propensity_coef_, atol=1e-6)


@pytest.mark.parametrize("stop", ["slope", "fixed_point"])
def test_wide_data_reach_the_same_point_by_conjugate_gradients(few_are_many, stop):
    data = make_pu(500, 8)
    direct = SAREMClassifier(data.columns, stop=stop).fit(data.X, data.s)
    few_are_many()
    wide = SAREMClassifier(data.columns, stop=stop).fit(sparse.csr_array(data.X), data.s)
    atol = 1e-3 if stop == "slope" else 1e-6
    np.testing.assert_allclose(wide.predict_proba(data.X), direct.predict_proba(data.X), atol=atol)
    assert abs(wide.n_iter_ - direct.n_iter_) <= (1 if stop == "slope" else 10)


def test_float32_stays_float32_and_agrees():
    data = make_pu(1000, 6)
    single = data.X.astype(np.float32)
    model = SAREMClassifier(data.columns, stop="fixed_point").fit(single, data.s)
    double = SAREMClassifier(data.columns, stop="fixed_point").fit(single.astype(float), data.s)
    np.testing.assert_allclose(model.coef_, double.coef_, rtol=1e-8)
    assert model.converged_


def grouped(X):
    found = group_rows(RowBlocks(X), np.arange(X.shape[1]))
    return None if found is None else (found[0], found[1].gather(attrgetter("codes")))


def test_grouping():
    X = np.array([[0.0, 5.0], [1.0, 5.0], [0.0, 5.0], [1.0, 7.0]])
    values, codes = grouped(X)
    np.testing.assert_array_equal(values[codes], X)
    assert len(values) == 3
    assert grouped(np.random.default_rng(0).random((500, 1))) is None
    # Values that the sample did not show are still found.
    rare = np.zeros((100_000, 1))
    rare[77_777] = 3.0
    values, codes = grouped(rare)
    np.testing.assert_array_equal(values[codes], rare)
    # Many discrete columns: more configurations than groups are worth.
    many = np.random.default_rng(0).integers(0, 60, (500, 4)).astype(float)
    assert grouped(many) is None
    fourfold = np.random.default_rng(0).integers(0, 2, (500, 30)).astype(float)
    assert grouped(fourfold) is None


def test_the_kind_of_propensity_is_chosen_by_the_data():
    data = make_pu(500, 5, discrete=True)
    for X in (data.X, sparse.csr_array(data.X)):
        rows = RowBlocks(X).attach(labelled=data.s)
        assert isinstance(choose_propensity(rows, np.array([0, 1]), 1.0)[0], GroupedPropensity)
        assert isinstance(choose_propensity(rows, np.array([0, 2]), 1.0)[0], ColumnPropensity)


def has_sparse_attributes(block):
    return sparse.issparse(block.Xe)


def test_many_sparse_propensity_columns_stay_sparse(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((3000, 40)) * (rng.random((3000, 40)) < 0.2))
    f, e = expit(X @ np.repeat([0.0, 6.0, -6.0], [20, 10, 10])), 0.3 + 0.4 * (X @ np.ones(40) > 4)
    s = (rng.random(3000) < f) & (rng.random(3000) < e)
    columns = np.arange(20)
    dense = SAREMClassifier(columns, stop="fixed_point").fit(X, s)
    monkeypatch.setattr(_propensity, "DENSE_ELEMENTS", 10)
    _, rows = choose_propensity(RowBlocks(X).attach(labelled=s), columns, 1.0)
    assert all(rows.each(has_sparse_attributes))
    kept = SAREMClassifier(columns, stop="fixed_point").fit(X, s)
    np.testing.assert_allclose(kept.propensity_coef_, dense.propensity_coef_, atol=1e-5)


def test_the_slope_rule_on_a_sample_ends_with_all_rows(monkeypatch):
    from sarlearn._engine import stopping as _stopping

    data = make_pu(1500, 4)
    whole = SAREMClassifier(data.columns).fit(data.X, data.s)
    monkeypatch.setattr(_stopping, "SAMPLE_ROWS", 100)
    sampled = SAREMClassifier(data.columns).fit(data.X, data.s)
    assert abs(whole.n_iter_ - sampled.n_iter_) <= 1
    assert sampled.history_["slope"][-1] < 1e-4
    if whole.n_iter_ == sampled.n_iter_:
        last = whole.history_["slope"][-1], sampled.history_["slope"][-1]
        assert last[0] == pytest.approx(last[1], rel=1e-6)


def test_passes_are_few():
    """One pass an iteration, more only where an M-step needed mending."""
    data = make_pu(3000, 6)
    rows = RowBlocks(data.X).attach(labelled=data.s)
    propensity, rows = choose_propensity(rows, data.columns, 1.0)
    em = _em.SAREM(rows, propensity, decay=0.9, C=1.0)
    em.start()
    result = run_to_fixed_point(em, 1e-8, 500)
    assert result.converged
    assert em.passes <= 60
