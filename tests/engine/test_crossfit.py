"""Cross-fitting: the solver with a known propensity, and scores of rows that it has not seen."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit
from sklearn.model_selection import StratifiedKFold

from conftest import make_pu
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.crossfit import held_out_logits
from sarlearn._engine.known_fit import KnownPropensityFit


def known_loss(theta, X, s, e, C):
    f = expit(X @ theta[:-1] + theta[-1])
    return -np.log(np.where(s, f, 1 - f * e)).sum() + theta[:-1] @ theta[:-1] / (2 * C)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_known_propensity_fit_is_the_optimum(C):
    data = make_pu(800)
    problem = KnownPropensityFit(RowBlocks(data.X), data.s, None, data.e)
    fit = problem.solve(C, np.zeros(7), tol=1e-12)
    best = minimize(known_loss, np.zeros(7), (data.X, data.s, data.e, C), options={"gtol": 1e-7})
    assert fit.converged
    np.testing.assert_allclose(fit.theta, best.x, atol=1e-4)


def test_known_propensity_fit_gradient():
    data = make_pu(200)
    problem = KnownPropensityFit(RowBlocks(data.X), data.s, None, data.e)
    theta, ridge = np.linspace(-2, 2, 7), np.append(np.full(6, 0.1), 0.0)
    value, gradient = problem._pass(theta, ridge, False)
    assert value == pytest.approx(known_loss(theta, data.X, data.s, data.e, 10.0))
    slope = approx_fprime(theta, known_loss, 1e-6, data.X, data.s, data.e, 10.0)
    np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-3)


def test_known_propensity_fit_does_not_depend_on_how_rows_are_kept(monkeypatch):
    data = make_pu(500)
    times = np.random.default_rng(0).integers(1, 3, 500)

    def solve(X, s, e, weight=None, block_rows=None):
        problem = KnownPropensityFit(RowBlocks(X, block_rows=block_rows), s, weight, e)
        return problem.solve(1.0, np.zeros(7), tol=1e-13).theta

    plain = solve(data.X, data.s, data.e)
    np.testing.assert_allclose(solve(data.X, data.s, data.e, block_rows=37), plain, atol=1e-6)
    np.testing.assert_allclose(solve(sparse.csr_array(data.X), data.s, data.e), plain, atol=1e-6)
    repeated = solve(*(np.repeat(part, times, axis=0) for part in (data.X, data.s, data.e)))
    weighted = solve(data.X, data.s, data.e, times.astype(float))
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)
    monkeypatch.setattr(
        "sarlearn._engine.known_fit.DENSE_COLUMNS", 2
    )  # the way of very many columns
    np.testing.assert_allclose(solve(data.X, data.s, data.e), plain, atol=1e-6)
    weighted_wide = solve(data.X, data.s, data.e, times.astype(float))
    np.testing.assert_allclose(weighted_wide, weighted, atol=1e-6)


def test_known_propensity_fit_says_when_it_was_stopped():
    data = make_pu(300)
    problem = KnownPropensityFit(RowBlocks(data.X), data.s, None, data.e)
    assert not problem.solve(1.0, np.zeros(7), tol=1e-12, max_iter=2).converged


def test_held_out_scores_have_not_seen_the_row():
    data = make_pu(400)
    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(data.X, data.s))
    Cs = [10.0, 0.5]  # in any order
    scores = held_out_logits(data.X, data.s, None, data.e, folds, Cs, np.zeros(7))
    for train, test in folds:
        problem = KnownPropensityFit(RowBlocks(data.X[train]), data.s[train], None, data.e[train])
        for column, C in enumerate(Cs):
            theta = problem.solve(C, np.zeros(7), tol=1e-12).theta
            alone = data.X[test] @ theta[:-1] + theta[-1]
            # Fits stop within 0.01 nats of their optimum.
            assert np.sqrt(np.mean((scores[test, column] - alone) ** 2)) < 0.15
