"""Sums that compare labels with ``f e``: any cut, weights, known answers, sizes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from sarlearn.inspection._label_sums import label_grid, nonlinear_terms, score_sums


def draw(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    eta, zeta = 1.5 * X[:, 0] - 0.3, 0.8 * X[:, 1] - 0.2
    labelled = rng.random(n_rows) < expit(eta) * expit(zeta)
    return X, eta, zeta, labelled


def same(a, b):
    for name, value in vars(a).items():
        np.testing.assert_allclose(value, getattr(b, name), rtol=1e-9, atol=1e-9)


def test_any_cut_of_the_rows_gives_the_same_sums():
    X, eta, zeta, labelled = draw(500)
    cuts = [slice(0, 70), slice(70, 71), slice(71, 500)]
    grid, tests = label_grid(eta, zeta, labelled), None
    tests = score_sums(eta, zeta, labelled, X[:, [1]], X, of_class=True)
    parts = [label_grid(eta[c], zeta[c], labelled[c]) for c in cuts]
    others = [
        score_sums(eta[c], zeta[c], labelled[c], X[c][:, [1]], X[c], of_class=True) for c in cuts
    ]
    for more in parts[1:]:
        parts[0] += more
    for more in others[1:]:
        others[0] += more
    same(grid, parts[0])
    same(tests, others[0])


def test_a_weight_is_a_repetition():
    X, eta, zeta, labelled = draw(300)
    times = np.random.default_rng(1).integers(1, 4, 300)
    rows = np.repeat(np.arange(300), times)
    same(
        label_grid(eta, zeta, labelled, times.astype(float)),
        label_grid(*(a[rows] for a in (eta, zeta, labelled))),
    )
    same(
        score_sums(eta, zeta, labelled, X[:, [1]], X, of_class=False, weight=times.astype(float)),
        score_sums(eta[rows], zeta[rows], labelled[rows], X[rows][:, [1]], X[rows], of_class=False),
    )


def test_strata_keep_every_row():
    _, eta, zeta, labelled = draw(4000)
    grid = label_grid(eta, zeta, labelled)
    deciles = grid.strata(10, 1)
    assert deciles.weight.shape == (10, 1)
    assert deciles.weight.sum() == 4000
    assert deciles.observed.sum() == labelled.sum()
    assert deciles.weight.min() > 200


def test_strata_of_a_constant_propensity_are_one():
    _, eta, _, labelled = draw(200)
    grid = label_grid(eta, np.zeros(200), labelled)
    assert grid.strata(6, 4).weight.shape[1] == 1
    assert np.isfinite(grid.misfit)


def test_logits_beyond_the_grid_are_counted_at_its_ends():
    grid = label_grid(np.array([-700.0, 700.0]), np.array([700.0, -700.0]), np.array([0, 1]))
    assert grid.weight.sum() == 2


def test_misfit_is_small_under_the_model_and_large_under_another():
    found = [label_grid(*draw(1000, seed)[1:]).misfit for seed in range(40)]
    assert abs(np.mean(found)) < 0.5
    assert np.mean(np.array(found) > 2) <= 0.1
    _, eta, zeta, labelled = draw(4000)
    assert label_grid(0.4 * eta, zeta, labelled).misfit > 3


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
        z = score_sums(eta, zeta, labelled, X[:, [1]], X[:, [column]], of_class=True).z
        assert z[0] ** 2 == pytest.approx(2 * (without.fun - with_it.fun), rel=0.15, abs=0.05)


def test_a_column_of_the_design_has_nothing_to_add():
    X, eta, zeta, labelled = draw(400)
    tried = np.column_stack([eta, X[:, 1], X[:, 2]])
    assert score_sums(eta, zeta, labelled, X[:, [1]], tried, of_class=True).z[0] == 0
    z = score_sums(eta, zeta, labelled, X[:, [1]], tried, of_class=False).z
    assert z[1] == 0
    assert z[2] != 0


def test_a_column_carried_by_few_rows_is_not_tested():
    _, eta, zeta, labelled = draw(400)
    rare = np.zeros((400, 1))
    rare[np.flatnonzero(labelled)[:5]] = 1
    assert score_sums(eta, zeta, labelled, rare[:, :0], rare, of_class=False).z[0] == 0


def test_a_bend_and_a_product_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    zeta = np.zeros(2000)
    flat = np.full(2000, 0.1)
    curved = rng.random(2000) < expit(X[:, 0] ** 2 - 1) * 0.5
    crossed = rng.random(2000) < expit(2 * X[:, 1] * X[:, 2]) * 0.5
    z = score_sums(flat, zeta, curved, X[:, :0], nonlinear_terms(X), of_class=True).z
    assert np.argmax(np.abs(z)) == 0
    assert abs(z[0]) > 5
    products = X[:, [0, 0, 1]] * X[:, [1, 2, 2]]
    z = score_sums(flat, zeta, crossed, X[:, :0], products, of_class=True).z
    assert np.argmax(np.abs(z)) == 2
    assert abs(z[2]) > 5
