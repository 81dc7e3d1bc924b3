"""Sums that compare labels with ``f e``: known answers, sizes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from sarlearn.inspection._goodness import misfit, score_tests, strata


def draw(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    eta, zeta = 1.5 * X[:, 0] - 0.3, 0.8 * X[:, 1] - 0.2
    labelled = rng.random(n_rows) < expit(eta) * expit(zeta)
    return X, eta, zeta, labelled


def test_strata_keep_every_row():
    _, eta, zeta, labelled = draw(4000)
    deciles = strata(expit(eta), expit(zeta), labelled, 10, 1)
    assert deciles["rows"].tolist() == [400] * 10
    assert deciles["observed"].sum() == labelled.sum()
    assert deciles["expected"].sum() == pytest.approx(expit(eta) @ expit(zeta))
    assert np.all(np.diff(deciles["probability"]) > 0)
    both = strata(expit(eta), expit(zeta), labelled, 6, 4)
    assert len(both["rows"]) == 24
    assert both["rows"].sum() == 4000


def test_strata_of_a_constant_propensity_are_one():
    _, eta, _, labelled = draw(200)
    found = strata(expit(eta), np.full(200, 0.5), labelled, 6, 4)
    assert len(found["rows"]) == 6
    assert np.isfinite(misfit(found))


def test_equal_values_lie_in_one_stratum():
    f = np.repeat([0.0, 0.2, 1.0], [5, 90, 5])
    found = strata(f, np.ones(100), f > 0.5, 10, 1)
    assert found["rows"].tolist() in ([5, 90, 5], [95, 5])
    assert found["observed"].sum() == 5


def test_misfit_is_small_under_the_model_and_large_under_another():
    def of(X, eta, zeta, labelled):
        return misfit(strata(expit(eta), expit(zeta), labelled, 6, 4))

    found = [of(*draw(1000, seed)) for seed in range(40)]
    assert abs(np.mean(found)) < 0.5
    assert np.mean(np.array(found) > 2) <= 0.1
    X, eta, zeta, labelled = draw(4000)
    assert of(X, 0.4 * eta, zeta, labelled) > 3


def test_the_score_is_the_gradient_of_the_likelihood_less_what_the_design_explains():
    """Against the gain of a fit with the column: twice the gain is about the square of z."""
    X, _, _, labelled = draw(3000, 3)
    design = np.column_stack([X[:, 0], np.ones(3000)])

    def loss(theta, tried):
        eta, zeta = design @ theta[:2] + tried * theta[4], X[:, 1] * theta[2] + theta[3]
        chance = expit(eta) * expit(zeta)
        return -np.sum(np.where(labelled, np.log(chance), np.log1p(-chance)))

    for column in (2, 3):
        start = np.array([1.5, -0.3, 0.8, -0.2, 0.0])
        without = minimize(lambda t: loss(np.append(t, 0.0), 0.0), start[:4], tol=1e-10)
        with_it = minimize(loss, np.append(without.x, 0.0), args=(X[:, column],), tol=1e-10)
        eta = design @ without.x[:2]
        zeta = X[:, 1] * without.x[2] + without.x[3]
        z = score_tests(eta, zeta, labelled, X[:, [1]], X[:, [column]], of_class=True)
        assert z[0] ** 2 == pytest.approx(2 * (without.fun - with_it.fun), rel=0.15, abs=0.05)


def test_a_column_of_the_design_has_nothing_to_add():
    X, eta, zeta, labelled = draw(400)
    tried = np.column_stack([eta, X[:, 1], X[:, 2]])
    assert score_tests(eta, zeta, labelled, X[:, [1]], tried, of_class=True)[0] == 0
    z = score_tests(eta, zeta, labelled, X[:, [1]], tried, of_class=False)
    assert z[1] == 0
    assert z[2] != 0


def test_a_column_carried_by_few_rows_is_not_tested():
    _, eta, zeta, labelled = draw(400)
    rare = np.zeros((400, 1))
    rare[np.flatnonzero(labelled)[:5]] = 1
    assert score_tests(eta, zeta, labelled, rare[:, :0], rare, of_class=False)[0] == 0


def test_a_bend_and_a_product_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    zeta = np.zeros(2000)
    flat = np.full(2000, 0.1)
    curved = rng.random(2000) < expit(X[:, 0] ** 2 - 1) * 0.5
    crossed = rng.random(2000) < expit(2 * X[:, 1] * X[:, 2]) * 0.5
    z = score_tests(flat, zeta, curved, X[:, :0], np.clip(X, -4, 4) ** 2, of_class=True)
    assert np.argmax(np.abs(z)) == 0
    assert abs(z[0]) > 5
    products = X[:, [0, 0, 1]] * X[:, [1, 2, 2]]
    z = score_tests(flat, zeta, crossed, X[:, :0], products, of_class=True)
    assert np.argmax(np.abs(z)) == 2
    assert abs(z[2]) > 5


def test_copies_of_a_row_are_one_where_they_are_a_group():
    X, eta, zeta, labelled = draw(400)

    def z(n, **groups):
        data = eta, zeta, labelled, X[:, [1]], X[:, [2]]
        return score_tests(*(np.concatenate([a] * n) for a in data), of_class=True, **groups)[0]

    assert z(9) == pytest.approx(3 * z(1))
    assert abs(z(9, groups=np.tile(np.arange(400), 9))) == pytest.approx(abs(z(1)), rel=0.1)
    assert z(1, groups=np.arange(400)) == pytest.approx(z(1), rel=0.1)
