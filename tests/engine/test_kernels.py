"""The arithmetic of a pass: in NumPy against formulas, and compiled against NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import expit, log_expit

from conftest import make_pu
from sarlearn import SAREMClassifier
from sarlearn._engine import kernels as _kernels
from sarlearn._engine import on_demand

pytest.importorskip("numba", reason="compiled kernels need sarlearn[fast]")

N_ROWS = 1003  # neither a multiple of four nor of a chunk
rng = np.random.default_rng(5)
# Ordinary logits, and some at and beyond the ends of what exp can take.
eta = np.concatenate([4 * rng.standard_normal(N_ROWS - 6), [-800.0, -699, -40, 40, 699, 800]])
labelled = rng.random(N_ROWS) < 0.2
weights = rng.random(N_ROWS) + 0.1
target = rng.random(N_ROWS)


@pytest.fixture
def numpy_only(monkeypatch):
    monkeypatch.setattr(on_demand, "_open", {})
    monkeypatch.setenv("SARLEARN_COMPILED", "0")


EVERY_KIND = {
    (is_sparse, float_type): on_demand.Compiled(float_type)
    for is_sparse in (False, True)
    for float_type in on_demand.FLOATS
}


@pytest.fixture
def both(numpy_only, monkeypatch):
    """Runs a function compiled, then in NumPy."""

    def run(function):
        with monkeypatch.context() as patch:
            patch.setattr(on_demand, "_open", EVERY_KIND)
            fast = function()
        return fast, function()

    return run


def propensity(kind):
    """One of each kind, near the ends of (0, 1) too."""
    values = np.array([1e-9, 0.3, 0.6, 1 - 1e-9])
    codes = rng.integers(4, size=N_ROWS)
    if kind == "groups":
        return _kernels.Propensities(values, 1 - values, codes)
    if kind == "one":
        return _kernels.Propensities(values[1:2], 1 - values[1:2])
    if kind == "rows":
        return _kernels.Propensities(values[codes], 1 - values[codes])
    Xe = 3 * rng.standard_normal((N_ROWS, 2))
    make = sparse.csr_array if kind == "sparse columns" else np.asarray
    return _kernels.Propensities(X=make(Xe), theta=np.array([2.0, -1.5, 0.3]))


def run_pass(given, weight, bent=True, make=np.asarray):
    """A pass over one column, the logits themselves: its sums, then what it wrote."""
    new_target, curvature, e_curvature = np.full((3, N_ROWS), np.nan)
    if not bent:
        curvature = None
    if not bent or given.X is None:
        e_curvature = None
    X, theta = make(eta[:, None]), np.array([1.0, 0.0])
    sums = _kernels.em_sums(
        X, theta, given, labelled, weight, 0.9, target, new_target, curvature, e_curvature
    )
    return [part for part in (*sums, new_target, curvature, e_curvature) if part is not None]


@pytest.mark.parametrize("weight", [None, weights], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("kind", ["groups", "one", "rows", "columns", "sparse columns"])
@pytest.mark.parametrize("bent", [True, False])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_compiled_pass_is_numpys(both, kind, weight, bent, make):
    given = propensity(kind)
    fast, slow = both(lambda: run_pass(given, weight, bent, make))
    for one, other in zip(fast, slow, strict=True):
        assert_allclose(one, other, rtol=2e-13, atol=1e-300)


def test_pass_is_the_papers(numpy_only):
    given = propensity("groups")
    e, not_e, codes = given[:3]
    log_likelihood, expected, positives, next_one, current, new_target, curvature = run_pass(
        given, weights
    )
    held = np.clip(eta, -350, 350)  # where logits end
    f, e_row = expit(held), e[codes]
    q = np.where(labelled, 1.0, f * (1 - 0.9 * e_row) / (1 - 0.9 * f * e_row))
    usual = np.abs(eta) < 30  # where the plain formulas have their digits
    assert_allclose(new_target[usual], (weights * q)[usual], rtol=1e-9)
    assert_allclose(next_one, [eta @ (weights * (f - q)), weights @ (f - q)], rtol=1e-9)
    assert_allclose(
        current, [eta @ (weights * f - target), (weights * f - target).sum()], rtol=1e-9
    )
    assert_allclose(curvature, weights * f * expit(-held), rtol=1e-9)
    assert_allclose(expected, weights @ f)
    assert_allclose(positives, np.bincount(codes, weights=new_target))
    parts = np.where(
        labelled, log_expit(held) + np.log(e_row), np.log(expit(-held) + f * not_e[codes])
    )
    assert_allclose(log_likelihood, weights @ parts, rtol=1e-10)


def test_pass_over_attributes_of_the_propensity(numpy_only):
    given = propensity("columns")
    *_, e_fresh, e_aimed, new_target, _, e_curvature = run_pass(given, weights)
    design = np.column_stack([given.X, np.ones(N_ROWS)])
    e = expit(design @ given.theta)
    assert_allclose(e_fresh, design.T @ (new_target * (e - labelled)), rtol=1e-9)
    assert_allclose(e_aimed, design.T @ (target * (e - labelled)), rtol=1e-9)
    assert_allclose(e_curvature, new_target * e * expit(-design @ given.theta), rtol=1e-9)


@pytest.mark.parametrize("weight", [None, weights], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("curved", [True, False])
def test_compiled_logistic_terms_are_numpys(both, weight, curved):
    target = rng.random(N_ROWS)
    fast, slow = both(lambda: _kernels.logistic_terms(eta, target, weight, curved))
    assert_allclose(fast[0], slow[0], rtol=1e-13)
    assert_allclose(fast[1], slow[1], rtol=1e-13, atol=1e-16)
    if curved:
        assert_allclose(fast[2], slow[2], rtol=1e-13, atol=1e-300)
    else:
        assert fast[2] is slow[2] is None


def test_compiled_sigmoids_keep_relative_precision(both):
    fast, slow = both(lambda: _kernels.sigmoids(eta))
    for one, other, exact in zip(fast, slow, (expit(eta), expit(-eta)), strict=True):
        inside = np.abs(eta) < 345
        assert_allclose(one, other, rtol=1e-14, atol=0)
        assert_allclose(one[inside], exact[inside], rtol=1e-13, atol=0)


@pytest.mark.parametrize("n_columns", [0, 1, 3, 14, 33])
@pytest.mark.parametrize("n_rows", [1, 2, 7, 300])
@pytest.mark.parametrize("kind", ["float64", "float32", "csr", "csr32"])
def test_compiled_products_are_numpys(both, n_rows, n_columns, kind):
    generator = np.random.default_rng(n_columns)
    X = generator.standard_normal((n_rows, n_columns)) * (
        generator.random((n_rows, n_columns)) < 0.6
    )
    X = X.astype(np.float32 if "32" in kind else np.float64)
    if "csr" in kind:
        X = sparse.csr_array(X)
    theta = generator.standard_normal(n_columns + 1)
    u, v, h = generator.standard_normal((3, n_rows))

    def run():
        return (
            _kernels.logits(X, theta),
            *_kernels.gradients(X, u, v),
            _kernels.hessian(X, np.abs(h)),
            _kernels.hessian_product(X, np.abs(h), theta),
        )

    dense = (X.toarray() if "csr" in kind else X).astype(float)
    ones = np.column_stack([dense, np.ones(n_rows)])
    bent = ones.T @ (ones * np.abs(h)[:, None])
    exact = ones @ theta, ones.T @ u, ones.T @ v, bent, bent @ theta
    fast, slow = both(run)
    for one, other, wanted in zip(fast, slow, exact, strict=True):
        # The NumPy way is handed float64 rows by the blocks; of float32 it makes float32.
        assert_allclose(one, wanted, rtol=1e-11, atol=1e-11)
        assert_allclose(other, wanted, atol=1e-11 if "32" not in kind else 1e-3)


def test_compiled_hessian_of_repeated_and_unsorted_elements(both):
    data, indices = np.array([1.0, 2, 3, 4, 5]), np.array([2, 0, 2, 1, 0], dtype=np.int32)
    X = sparse.csr_array((data, indices, np.array([0, 3, 5], dtype=np.int32)), shape=(2, 3))
    h = np.array([0.5, 2.0])
    fast, slow = both(lambda: _kernels.hessian(X, h))
    ones = np.column_stack([X.toarray(), np.ones(2)])
    assert_allclose(fast, ones.T @ (ones * h[:, None]))
    assert_allclose(slow, fast)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("features", [[], [4], [0, 4]])
def test_fits_agree(both, make, features):
    data = make_pu(800, 5)
    X = data.X.copy()
    if len(features) == 1:  # one propensity a group
        X[:, 4] = X[:, 4] > 0

    def run():
        return SAREMClassifier(features).fit(make(X), data.s)

    fast, slow = both(run)
    assert fast.n_iter_ == slow.n_iter_
    assert_allclose(fast.coef_, slow.coef_, rtol=1e-8, atol=1e-9)
    assert_allclose(fast.propensity_coef_, slow.propensity_coef_, rtol=1e-8, atol=1e-9)
