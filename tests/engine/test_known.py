"""The solver with a known propensity."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit
from sklearn.base import clone

from conftest import make_pu
from sarlearn import KnownPropensityClassifier
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.known import KnownPropensityProblem, fit_known


def rows_of(X, s, e, weight=None, block_rows=None):
    rows = RowBlocks(X, block_rows=block_rows)
    return rows.attach(labelled=s, weight=weight, e=e, not_e=1 - e)


def known_loss(theta, X, s, e, C):
    f = expit(X @ theta[:-1] + theta[-1])
    return -np.log(np.where(s, f, 1 - f * e)).sum() + theta[:-1] @ theta[:-1] / (2 * C)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_known_propensity_fit_is_the_optimum(C):
    data = make_pu(800)
    rows = rows_of(data.X, data.s, data.e)
    fit = fit_known(rows, C, np.zeros(7), tol=1e-12)
    best = minimize(known_loss, np.zeros(7), (data.X, data.s, data.e, C), options={"gtol": 1e-7})
    assert fit.converged
    np.testing.assert_allclose(fit.theta, best.x, atol=1e-4)


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.DataWarning")
@pytest.mark.parametrize(("seed", "C"), [(3, 0.1), (25, 5.0), (88, 5.0), (159, 0.1), (209, 0.1)])
def test_where_columns_have_their_zero_does_not_choose_the_optimum(seed, C):
    """Thirty rows of noise have several optima. Found by fuzzing: eigenvalues of a Hessian that is
    not positive depend on the zero, and steps that took them as they were led to another optimum
    in these."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 3))
    X[:, 0] = np.sign(X[:, 0]) * np.exp(2 * np.abs(X[:, 0]))
    s, e = rng.random(30) < 0.2, rng.uniform(0.2, 0.9, 30)
    X = (X + 1024) - 1024  # as the shift rounds them
    model = KnownPropensityClassifier(C=C, stop="fixed_point")
    near = clone(model).fit(X, s, propensity=e)
    far = clone(model).fit(X + 1024, s, propensity=e)
    assert near.converged_
    assert far.converged_
    assert far.class_prior_ == pytest.approx(near.class_prior_, abs=1e-6)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-4, atol=1e-6)


def test_known_propensity_fit_gradient():
    data = make_pu(200)
    rows = rows_of(data.X, data.s, data.e)
    problem = KnownPropensityProblem(rows, rows.units.ridge(10.0, 200.0), 1e-6)
    theta = np.linspace(-2, 2, 7)
    (iterate,) = problem.passes([theta], False)
    # The likelihood of the labels has log e too, which does not depend on theta.
    value = iterate.value + np.log(data.e[data.s]).sum()
    assert value == pytest.approx(known_loss(theta, data.X, data.s, data.e, 10.0))
    slope = approx_fprime(theta, known_loss, 1e-6, data.X, data.s, data.e, 10.0)
    np.testing.assert_allclose(iterate.gradient, slope, rtol=1e-4, atol=1e-3)


def test_known_propensity_fit_does_not_depend_on_how_rows_are_kept(few_are_many):
    data = make_pu(500)
    times = np.random.default_rng(0).integers(1, 3, 500)

    def solve(X, s, e, weight=None, block_rows=None):
        rows = rows_of(X, s, e, weight, block_rows)
        return fit_known(rows, 1.0, np.zeros(7), tol=1e-13).theta

    plain = solve(data.X, data.s, data.e)
    np.testing.assert_allclose(solve(data.X, data.s, data.e, block_rows=37), plain, atol=1e-6)
    np.testing.assert_allclose(solve(sparse.csr_array(data.X), data.s, data.e), plain, atol=1e-6)
    repeated = solve(*(np.repeat(part, times, axis=0) for part in (data.X, data.s, data.e)))
    weighted = solve(data.X, data.s, data.e, times.astype(float))
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)
    few_are_many()
    np.testing.assert_allclose(solve(data.X, data.s, data.e), plain, atol=1e-6)
    weighted_wide = solve(data.X, data.s, data.e, times.astype(float))
    np.testing.assert_allclose(weighted_wide, weighted, atol=1e-6)


def test_known_propensity_fit_says_when_it_was_stopped():
    data = make_pu(300)
    rows = rows_of(data.X, data.s, data.e)
    assert not fit_known(rows, 1.0, np.zeros(7), tol=1e-12, max_iter=2).converged
