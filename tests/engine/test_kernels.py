"""The arithmetic of a pass: in NumPy against formulas, and compiled against NumPy."""

import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import expit, log_expit

import sarlearn._engine
import warm
from conftest import make_pu
from sarlearn import SAREMClassifier
from sarlearn._engine import em
from sarlearn._engine import kernels as _kernels
from sarlearn._engine.blocks import RowBlocks

N_ROWS = 1003  # neither a multiple of four nor of a chunk
rng = np.random.default_rng(5)
# Ordinary logits, and some at and beyond the ends of what exp can take.
eta = np.concatenate([4 * rng.standard_normal(N_ROWS - 6), [-800.0, -699, -40, 40, 699, 800]])
labelled = rng.random(N_ROWS) < 0.2
weights = rng.random(N_ROWS) + 0.1
held = rng.random(N_ROWS)


@pytest.fixture
def fast():
    """The module of compiled functions."""
    pytest.importorskip("numba", reason="compiled functions need sarlearn[fast]")
    module = _kernels.compiled_module()
    assert module is not None
    return module


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


def block_of(X, **columns):
    """All of the rows in one block."""
    (block,) = RowBlocks(X, block_rows=X.shape[0]).attach(**columns)._blocks
    return block


def run_pass(given, weight, bent=True, make=np.asarray, compiled=False):
    """A pass over one column, the logits themselves: its sums, then what it wrote."""
    target, curvature, e_curvature = np.full((3, N_ROWS), np.nan)
    out = _kernels.Written(
        target, curvature if bent else None, e_curvature if bent and given.X is not None else None
    )
    block = block_of(make(eta[:, None]), labelled=labelled, weight=weight)
    sums = _kernels.em_sums(block, np.array([1.0, 0.0]), given, 0.9, held, out, compiled=compiled)
    return [part for part in (*sums, *out[:3]) if part is not None]


@pytest.mark.parametrize("weight", [None, weights], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("kind", ["groups", "one", "rows", "columns"])
@pytest.mark.parametrize("bent", [True, False])
def test_compiled_pass_is_numpys(fast, kind, weight, bent):
    given = propensity(kind)
    found, expected = (run_pass(given, weight, bent, compiled=fast) for fast in (True, False))
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=2e-13, atol=1e-300)


def test_pass_is_the_papers():
    given = propensity("groups")
    e, not_e, codes = given[:3]
    log_likelihood, expected, positives, next_one, current, new_target, curvature = run_pass(
        given, weights
    )
    clipped = np.clip(eta, -350, 350)  # where logits end
    f, e_row = expit(clipped), e[codes]
    q = np.where(labelled, 1.0, f * (1 - 0.9 * e_row) / (1 - 0.9 * f * e_row))
    usual = np.abs(eta) < 30  # where the plain formulas have their digits
    assert_allclose(new_target[usual], (weights * q)[usual], rtol=1e-9)
    assert_allclose(next_one, [eta @ (weights * (f - q)), weights @ (f - q)], rtol=1e-9)
    assert_allclose(current, [eta @ (weights * f - held), (weights * f - held).sum()], rtol=1e-9)
    assert_allclose(curvature, weights * f * expit(-clipped), rtol=1e-9)
    assert_allclose(expected, weights @ f)
    assert_allclose(positives, np.bincount(codes, weights=new_target))
    parts = np.where(
        labelled, log_expit(clipped) + np.log(e_row), np.log(expit(-clipped) + f * not_e[codes])
    )
    assert_allclose(log_likelihood, weights @ parts, rtol=1e-10)


@pytest.mark.parametrize("kind", ["columns", "sparse columns"])
def test_pass_over_attributes_of_the_propensity(kind):
    given = propensity(kind)
    *_, e_fresh, e_aimed, new_target, _, e_curvature = run_pass(given, weights)
    Xe = given.X.toarray() if sparse.issparse(given.X) else given.X
    design = np.column_stack([Xe, np.ones(N_ROWS)])
    e = expit(design @ given.theta)
    assert_allclose(e_fresh, design.T @ (new_target * (e - labelled)), rtol=1e-9)
    assert_allclose(e_aimed, design.T @ (held * (e - labelled)), rtol=1e-9)
    assert_allclose(e_curvature, new_target * e * expit(-design @ given.theta), rtol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("compiled", [True, False])
def test_without_targets_gradients_are_those_of_the_next_step(request, make, compiled):
    if compiled:
        request.getfixturevalue("fast")
    block = block_of(make(eta[:, None]), labelled=labelled)
    out = _kernels.Written(np.empty(N_ROWS))
    given = block, np.array([1.0, 0.0]), propensity("columns"), 0.9, None, out
    *_, following, current, e_following, e_current = _kernels.em_sums(*given, compiled=compiled)
    np.testing.assert_array_equal(current, following)
    np.testing.assert_array_equal(e_current, e_following)


@pytest.mark.parametrize("n_columns", [0, 1, 3, 14, 33])
@pytest.mark.parametrize("n_rows", [1, 2, 7, 600])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_pass_over_columns_is_numpys(fast, n_rows, n_columns, dtype):
    generator = np.random.default_rng(n_columns)
    X = generator.standard_normal((n_rows, n_columns)) * (
        generator.random((n_rows, n_columns)) < 0.6
    )
    X = X.astype(dtype)
    Xe = X[:, :2].copy()
    block = block_of(X, labelled=labelled[:n_rows], Xe=Xe)
    given = _kernels.Propensities(X=Xe, theta=generator.standard_normal(Xe.shape[1] + 1))
    theta, aim = generator.standard_normal(n_columns + 1), held[:n_rows]

    def run(compiled):
        out = _kernels.Written(*np.empty((3, n_rows)))
        return *_kernels.em_sums(block, theta, given, 0.9, aim, out, compiled=compiled), *out[:3]

    for one, other in zip(run(True), run(False), strict=True):
        assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def test_products_are_those_of_the_matrix_with_ones():
    generator = np.random.default_rng(0)
    X = generator.standard_normal((40, 5)) * (generator.random((40, 5)) < 0.6)
    ones = np.column_stack([X, np.ones(40)])
    theta, u, h = generator.standard_normal(6), *generator.standard_normal((2, 40))
    bent = ones.T @ (ones * h[:, None])
    for made in (X, sparse.csr_array(X)):
        assert_allclose(_kernels.logits(made, theta), ones @ theta)
        assert_allclose(_kernels.with_intercept(made, u), ones.T @ u)
        assert_allclose(_kernels.hessian(made, h), bent, atol=1e-12)
        assert_allclose(_kernels.hessian_product(made, h, theta), bent @ theta, atol=1e-12)


def test_hessian_of_repeated_and_unsorted_elements():
    data, indices = np.array([1.0, 2, 3, 4, 5]), np.array([2, 0, 2, 1, 0], dtype=np.int32)
    X = sparse.csr_array((data, indices, np.array([0, 3, 5], dtype=np.int32)), shape=(2, 3))
    h = np.array([0.5, 2.0])
    ones = np.column_stack([X.toarray(), np.ones(2)])
    assert_allclose(_kernels.hessian(X, h), ones.T @ (ones * h[:, None]))


# -- fits, and when they are compiled --------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, np.float32])
@pytest.mark.parametrize("features", [[], [4], [0, 4]])
def test_fits_agree(fast, monkeypatch, make, features):
    data = make_pu(800, 5)
    X = data.X.copy()
    if len(features) == 1:  # one propensity a group
        X[:, 4] = X[:, 4] > 0
    X, runs, run = make(X), [], _kernels._compiled_sums
    monkeypatch.setattr(_kernels, "_compiled_sums", lambda *given: runs.append(0) or run(*given))
    plain = SAREMClassifier(features).fit(X, data.s)
    assert not runs
    monkeypatch.setattr(em, "COMPILED_ELEMENTS", 0)
    found = SAREMClassifier(features).fit(X, data.s)
    assert len(runs) > found.n_iter_
    assert found.n_iter_ == plain.n_iter_
    assert_allclose(found.coef_, plain.coef_, rtol=1e-8, atol=1e-9)
    assert_allclose(found.propensity_coef_, plain.propensity_coef_, rtol=1e-8, atol=1e-9)


def test_rows_that_are_left_to_numpy(fast):
    X = np.ones((6, 2))
    for rows, fits in (
        (X, True),
        (X[::2], False),
        (np.asfortranarray(X), False),
        (sparse.csr_array(X), False),
    ):
        assert _kernels._is_compilable(block_of(rows)) == fits
    assert not _kernels._is_compilable(block_of(X, audited=np.full(6, np.nan)))


def test_arrays_that_must_not_be_written_to_are_not_compiled_anew(fast):
    run_pass(propensity("groups"), weights, compiled=True)
    known = len(fast.em_sums.signatures)

    def locked(X):
        X.flags.writeable = False
        return X

    run_pass(propensity("groups"), weights, make=locked, compiled=True)
    assert len(fast.em_sums.signatures) == known


FIT = """
import json, sys
import numpy as np
from sarlearn import SAREMClassifier
from sarlearn._engine import em, kernels
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
s = (X[:, 0] > 0) & (rng.random(400) < 0.5)
coef = SAREMClassifier([2]).fit(X, s).coef_.tolist()
small = "numba" in sys.modules
em.COMPILED_ELEMENTS = X.size
again = SAREMClassifier([2]).fit(X, s).coef_.tolist()
print(json.dumps([small, kernels.compiled_module() is not None, coef, again]))
"""


def fit_elsewhere(**env):
    """What a process says that has not imported numba."""
    process = warm.start("-c", FIT, env=env)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return json.loads(out)


def test_numba_is_imported_from_many_rows_on(fast):
    small, used, coef, again = fit_elsewhere()
    assert not small
    assert used
    assert_allclose(coef, again, rtol=1e-8)


def test_numba_that_compiles_nothing_is_not_used(fast):
    _, used, coef, again = fit_elsewhere(NUMBA_DISABLE_JIT="1")
    assert not used
    assert coef == again


@pytest.mark.parametrize("error", [ImportError, RuntimeError], ids=["no numba", "no folder"])
def test_without_numba_or_a_folder_for_its_cache(fast, monkeypatch, error):
    import numba

    def fail(*_, **options):
        raise error("cannot cache function: no locator available")

    monkeypatch.setattr(numba, "njit", fail)
    monkeypatch.delitem(sys.modules, "sarlearn._engine.compiled")
    monkeypatch.delattr(sarlearn._engine, "compiled")
    assert _kernels.compiled_module.__wrapped__() is None
