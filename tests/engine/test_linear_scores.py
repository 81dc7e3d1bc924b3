"""Linear scores: each fold's fit against a library's solver, and the penalty against a grid."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from sarlearn._engine import linear_scores
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.linear_scores import FoldLogistic, held_out

K = 4


def made(n=300, p=6, seed=0, audits=True, weighted=True, correlated=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.7)
    if correlated:  # the metric is far from its diagonal
        X += 3 * X[:, [0]]
    X /= X.std(axis=0)
    f = expit(X @ rng.normal(size=p) * 1.2 - 0.5)
    e = expit(rng.normal(size=n))
    y = rng.random(n) < f
    s = y & (rng.random(n) < e)
    audited = np.where(rng.random(n) < 0.2, y, np.nan) if audits else None
    weight = rng.uniform(0.3, 3.0, n) if weighted else None
    return SimpleNamespace(
        X=X, s=s, e=e, audited=audited, weight=weight, folds=rng.integers(0, K, n)
    )


def search_of(data, make=np.asarray, block_rows=71):
    rows = RowBlocks(make(data.X), block_rows=block_rows).attach(
        labelled=data.s,
        weight=data.weight,
        audited=data.audited,
        e=data.e,
        not_e=1 - data.e,
        folds=data.folds,
    )
    return FoldLogistic(rows, K), rows


def weights_of(data):
    return np.ones(len(data.s)) if data.weight is None else data.weight


def ridge_of(data, v):
    w = weights_of(data)
    mean = np.average(data.X, axis=0, weights=w)
    variance = np.average(data.X**2, axis=0, weights=w) - mean**2
    return np.minimum(variance, 1.0).sum() / v


def chance_of(theta, data, rows):
    f = expit(data.X[rows] @ theta[:-1] + theta[-1])
    e, s = data.e[rows], data.s[rows]
    chance = np.where(s, f * e, 1 - f * e)
    if data.audited is not None:
        found = data.audited[rows]
        chance = np.where(found == 1, f * np.where(s, e, 1 - e), chance)
        chance = np.where(found == 0, 1 - f, chance)
    return chance


def loss_of(theta, data, rows, ridge):
    w = weights_of(data)[rows]
    return -w @ np.log(chance_of(theta, data, rows)) + ridge / 2 * theta[:-1] @ theta[:-1]


def optimum(start, *problem):
    return minimize(loss_of, start, problem, method="BFGS", options={"gtol": 1e-6})


CASES = [
    {},
    {"audits": False},
    {"weighted": False},
    {"correlated": True},
    {"audits": False, "weighted": False, "n": 40, "p": 30},
]


@pytest.mark.parametrize("v", [0.3, 5.0])
@pytest.mark.parametrize("case", CASES)
def test_each_fit_is_the_optimum_without_its_fold(case, v, monkeypatch):
    monkeypatch.setattr(linear_scores, "TOLERANCE", 1e-9)
    data = made(**case)
    found = search_of(data)[0].fit(v)
    ridge = ridge_of(data, v)
    for k in range(K):
        problem = data, data.folds != k, ridge
        best = optimum(found.thetas[:, k], *problem)
        assert loss_of(found.thetas[:, k], *problem) < best.fun + 1e-6
        np.testing.assert_allclose(found.thetas[:, k], best.x, atol=2e-4)


@pytest.mark.parametrize("diagonal", [False, True])
def test_by_default_fits_come_as_close_as_they_say(diagonal, monkeypatch):
    if diagonal:
        monkeypatch.setattr(linear_scores, "DENSE_COLUMNS", 0)
        monkeypatch.setattr(linear_scores, "SPARSE_COLUMNS", 0)
    data = made(correlated=True)
    search, start = search_of(data)[0], None
    for v in (0.1, 1.0, 10.0):  # one after the other, as the search goes
        found = search.fit(v, start)
        start = found.thetas
        for k in range(K):
            problem = data, data.folds != k, ridge_of(data, v)
            best = optimum(found.thetas[:, k], *problem)
            # The last step is taken unseen; it gains more than it leaves.
            assert loss_of(found.thetas[:, k], *problem) < best.fun + 3e-3


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("audits", [False, True])
def test_sparse_and_dense_rows_give_the_same_fits(audits, wide, monkeypatch):
    """Few columns take the same steps, so that what follows is the same, too."""
    if wide:
        monkeypatch.setattr(linear_scores, "TOLERANCE", 1e-9)
        monkeypatch.setattr(linear_scores, "SPARSE_COLUMNS", 0)
    data = made(audits=audits)
    dense, of_csr = (search_of(data, make)[0].fit(2.0) for make in (np.asarray, sparse.csr_array))
    atol = 1e-4 if wide else 1e-9
    np.testing.assert_allclose(of_csr.thetas, dense.thetas, atol=atol)
    assert of_csr.log_likelihood == pytest.approx(dense.log_likelihood, abs=atol)


def test_weights_are_copies(monkeypatch):
    monkeypatch.setattr(linear_scores, "TOLERANCE", 1e-9)
    data = made()
    data.weight = np.random.default_rng(1).integers(1, 4, 300).astype(float)
    times = data.weight.astype(int)
    copies = SimpleNamespace(**{k: np.repeat(v, times, axis=0) for k, v in vars(data).items()})
    copies.weight = None
    one, other = search_of(data)[0].fit(2.0), search_of(copies)[0].fit(2.0)
    np.testing.assert_allclose(one.thetas, other.thetas, atol=1e-5)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-5)


def test_scores_and_likelihood_are_those_of_the_fit_that_has_not_seen_the_row():
    data = made()
    search, rows = search_of(data)
    found = search.fit(1.0)
    scores, value = rows.gather(held_out, found.thetas), 0.0
    for k in range(K):
        out = data.folds == k
        theta = found.thetas[:, k]
        np.testing.assert_allclose(scores[out], data.X[out] @ theta[:-1] + theta[-1])
        value += weights_of(data)[out] @ np.log(chance_of(theta, data, out))
    assert found.log_likelihood == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [(300, 6), (150, 60), (900, 3)])
def test_the_penalty_found_is_within_a_nat_of_the_best(shape, seed):
    data = made(*shape, seed=seed, audits=bool(seed % 2))
    best = search_of(data)[0].best()
    grid, thetas = [], None
    for v in np.logspace(-3, 4, 71):
        one = search_of(data)[0].fit(v, thetas)
        thetas = one.thetas
        grid.append(one.log_likelihood)
    assert best.log_likelihood > max(grid) - 1.0
    assert search_of(data)[0].best(best.v).v == best.v


def test_columns_that_say_nothing_are_penalised_away():
    data = made(400, 20)
    data.s = np.random.default_rng(3).random(400) < 0.3
    data.audited = None
    best = search_of(data)[0].best()
    assert best.v < 0.1
    assert np.abs(best.thetas[:-1]).max() < 0.05


def test_sparse_columns_that_are_constant_but_not_zero():
    """Found by fuzzing: the rounding of their variance is no strength of a penalty."""
    data = made(100, 3)
    data.X = np.full((100, 3), 5.0) + 1e-12 * data.X
    for make in (np.asarray, sparse.csr_array):
        found = search_of(data, make)[0].best()
        assert np.isfinite(found.thetas).all()


def test_no_column_at_all():
    data = made(100, 2)
    data.X = np.zeros((100, 2))
    found = search_of(data)[0].best()
    assert np.isfinite(found.thetas).all()
