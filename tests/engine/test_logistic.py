from operator import attrgetter

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import reference
from conftest import make_pu
from sarlearn._engine import logistic as _logistic
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.kernels import hessian
from sarlearn._engine.logistic import fit_logistic, logistic_pass
from sarlearn._engine.newton import Curvature, WideCurvature
from sarlearn._engine.rows import Units

data = make_pu(400, 5)
target = np.clip(data.f + 0.1 * data.rng.standard_normal(400), 0, 1)
weight = data.rng.random(400) * 3


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_derivatives(scale):
    theta = scale * np.random.default_rng(1).standard_normal(6)
    rows = RowBlocks(data.X).attach(target=target, weight=weight)

    def at(theta, with_hessian=False):
        return rows.total(logistic_pass, attrgetter("target"), theta, with_hessian, False)

    def value(theta):
        return at(theta).value

    sums = at(theta, True)
    numeric = approx_fprime(theta, value, 1e-7)
    np.testing.assert_allclose(sums.gradient, numeric, rtol=1e-4, atol=1e-4)
    for j in range(6):
        step = np.zeros(6)
        step[j] = 1e-6
        ahead, behind = at(theta + step).gradient, at(theta - step).gradient
        np.testing.assert_allclose(sums.hessian[j], (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_agrees_with_a_trust_region_solver(C, weighted, make):
    w = weight if weighted else None
    fit = fit_logistic(RowBlocks(make(data.X), block_rows=60), target, w, C, tol=1e-9)
    assert fit.converged
    expected = reference.fit_logistic(data.X, target, weight if weighted else np.ones(400), C)
    np.testing.assert_allclose(fit.theta, expected, atol=2e-8)


def test_agrees_with_scikit_learn_on_classes():
    y = data.y.astype(float)
    fit = fit_logistic(RowBlocks(data.X), y, None, 1.0, tol=1e-9)
    other = LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(data.X, y)
    np.testing.assert_allclose(fit.theta, np.append(other.coef_, other.intercept_), atol=1e-8)


def test_wide_data_by_conjugate_gradients(monkeypatch):
    direct = fit_logistic(RowBlocks(data.X), target, weight, 1.0, tol=1e-9)
    monkeypatch.setattr(_logistic, "DENSE_COLUMNS", 2)
    wide = fit_logistic(RowBlocks(data.X, block_rows=90), target, weight, 1.0, tol=1e-9)
    assert wide.converged
    np.testing.assert_allclose(wide.theta, direct.theta, atol=1e-8)


def test_both_curvatures_solve_the_same_system():
    h = weight * 0.2
    ridge = Units.plain(5).ridge(2.0, 400.0)
    dense = Curvature(hessian(data.X, h), ridge)
    rows = RowBlocks(data.X, block_rows=100).attach(target=h)
    wide = WideCurvature(rows, attrgetter("target"), ridge, rtol=1e-12)
    g = np.arange(6.0)
    np.testing.assert_allclose(dense.solve(g), wide.solve(g), rtol=1e-8)
    # |L^-1 g|^2 is the squared Newton decrement g' H^-1 g.
    assert dense.norm(g) ** 2 == pytest.approx(g @ dense.solve(g))


def test_a_curvature_learns_from_steps():
    """Quadratic with another Hessian: after a step per column the directions are exact there."""
    ridge = Units.plain(3).ridge(1.0, 1.0)
    old = Curvature(np.diag([1.0, 2.0, 3.0, 4.0]), ridge)
    true = np.diag([5.0, 1.0, 9.0, 2.0]) + 0.3
    for step in np.eye(4):
        old.learn(step, true @ step)
    # BFGS keeps the secant equation of the newest pair exactly.
    np.testing.assert_allclose(old.solve(true[3]), np.eye(4)[3], atol=1e-12)
    old.learn(np.ones(4), -np.ones(4))  # negative curvature teaches nothing
    np.testing.assert_allclose(old.solve(true[3]), np.eye(4)[3], atol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_separable_data_with_hardly_any_penalty_stays_finite(scale):
    X = scale * np.array([[-2.0], [-1.0], [1.0], [2.0]])
    fit = fit_logistic(RowBlocks(X), np.array([0.0, 0, 1, 1]), None, 1e8)
    assert np.isfinite(fit.theta).all()
    f = expit(X @ fit.theta[:-1] + fit.theta[-1])
    assert f[1] < 0.5 < f[2]


def test_all_targets_one_has_a_finite_optimum():
    fit = fit_logistic(RowBlocks(data.X), np.ones(400), None, 1.0, tol=1e-9)
    assert fit.converged
    assert (expit(data.X @ fit.theta[:-1] + fit.theta[-1]) > 1 - 1e-6).all()


def test_targets_beyond_one():
    """s/e: the inverse-propensity risk. Its gradient must vanish."""
    t = np.where(data.s, 1 / data.e, 0.0) * 0.5
    fit = fit_logistic(RowBlocks(data.X), t, None, 1.0, tol=1e-9)
    expected = reference.fit_logistic(data.X, t, np.ones(400), 1.0)
    np.testing.assert_allclose(fit.theta, expected, atol=1e-8)


def test_not_converged_is_said():
    fit = fit_logistic(RowBlocks(data.X), target, None, 1.0, tol=1e-12, max_iter=1)
    assert not fit.converged
    assert fit.passes == 1


def test_large_data_start_on_a_part_of_the_rows(monkeypatch):
    whole = fit_logistic(RowBlocks(data.X, block_rows=10), target, None, 1.0, tol=1e-10)
    monkeypatch.setattr(_logistic, "SUBSAMPLE_ROWS", 50)
    part = fit_logistic(RowBlocks(data.X, block_rows=10), target, None, 1.0, tol=1e-10)
    np.testing.assert_allclose(part.theta, whole.theta, atol=1e-9)
