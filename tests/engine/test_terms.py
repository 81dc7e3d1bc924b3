"""Columns as linear terms: standardised, with gaps and categories, dense and sparse alike."""

import numpy as np
import pytest
from scipy import sparse

from sarlearn._engine.terms import FARTHEST, LEVEL, MAX_LEVELS, MISSING, VALUE, Terms, leaking

RNG = np.random.default_rng(0)


def mostly_zero(n=400):
    X = RNG.standard_normal((n, 4)) * (RNG.random((n, 4)) < 0.4)
    return X * [1.0, 100.0, 1e-160, 1e160]


@pytest.mark.parametrize("weight", [None, RNG.integers(1, 4, 400).astype(float)])
def test_dense_and_sparse_terms_differ_by_a_constant_per_column(weight):
    X, columns = mostly_zero(), np.arange(4)
    dense = Terms.learn(X, columns, weight=weight)
    few = Terms.learn(sparse.csr_array(X), columns, weight=weight)
    np.testing.assert_allclose(few.scale, dense.scale, rtol=1e-12)
    apart = few.transform(sparse.csr_array(X)).toarray() - dense.transform(X)
    np.testing.assert_allclose(apart, np.tile(apart[0], (len(X), 1)), atol=1e-12)
    # For few terms a sparse matrix gives the dense ones themselves.
    np.testing.assert_allclose(few.dense(sparse.csr_array(X)), dense.transform(X), atol=1e-12)
    np.testing.assert_allclose(few.dense(X), dense.transform(X), atol=1e-12)


def test_zeros_may_be_stored():
    """Also in a column whose zeros are the exception, far from its mean."""
    X = np.column_stack([30.0 + (np.arange(100) % 2), RNG.standard_normal(100)])
    X[0] = 0.0
    stored = sparse.csr_array((X.ravel(), np.tile([0, 1], 100), np.arange(0, 201, 2)))
    tidy = sparse.csr_array(X)
    assert stored.nnz > tidy.nnz
    found, expected = (Terms.learn(x, np.arange(2)) for x in (stored, tidy))
    for name in ("center", "scale"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)
    np.testing.assert_allclose(
        found.transform(stored).toarray(), expected.transform(tidy).toarray(), atol=1e-12
    )


def test_coefficients_are_those_of_dense_terms_whatever_the_rows():
    """Learned from either, for either; gaps and categories of the rows of the fit, too."""
    X, coef = mostly_zero(), np.array([1.0, -2.0, 0.5, 3.0, 0.7])
    X[:, 1] += np.where(X[:, 1] == 0, 0.0, 900.0)
    for learned_from in (X, sparse.csr_array(X)):
        terms = Terms.learn(learned_from, np.arange(4))
        expected = terms.transform(X) @ coef[:-1] + coef[-1]
        for rows in (X, sparse.csr_array(X)):
            np.testing.assert_allclose(terms.times(rows, coef), expected, atol=1e-10)
        assert terms.transform(sparse.csr_array((2, 4))).nnz == 0
    X[:5, 0] = np.nan
    terms = Terms.learn(X, [0, 3, 1])
    expected = terms.transform(X[5:]) @ coef[:-1] + coef[-1]
    np.testing.assert_allclose(terms.times(sparse.csr_array(X[5:]), coef), expected, atol=1e-10)


def test_terms_have_mean_0_and_deviation_1_and_end_somewhere():
    X = RNG.standard_normal((500, 3)) * [1e-160, 1.0, 1e160] + [0.0, 1e6, 0.0]
    terms = Terms.learn(X, [0, 1, 2])
    Z = terms.transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-7)
    np.testing.assert_allclose(Z.std(axis=0), 1, rtol=1e-6)
    far = terms.transform(X + 1000 * terms.scale)
    np.testing.assert_array_equal(far, np.full(far.shape, FARTHEST))


def test_weights_are_copies():
    X, times = RNG.standard_normal((60, 3)), RNG.integers(1, 5, 60)
    X[:7, 1], X[:, 2] = np.nan, RNG.integers(0, 4, 60)
    found = Terms.learn(X, [0, 1, 2], [2], weight=times.astype(float))
    copies = Terms.learn(np.repeat(X, times, axis=0), [0, 1, 2], [2])
    for name in ("column", "kind", "center", "scale"):
        np.testing.assert_allclose(getattr(found, name), getattr(copies, name), rtol=1e-12)


def test_levels_that_get_a_term_are_the_heaviest_whether_weighed_or_copied():
    """Of more levels than have terms, the commonest are kept."""
    codes = np.repeat(np.arange(MAX_LEVELS + 10.0), 2)[:, None]
    times = np.where(codes[:, 0] < 10, 1, 3)
    weighed = Terms.learn(codes, [0], [0], weight=times.astype(float))
    copied = Terms.learn(np.repeat(codes, times, axis=0), [0], [0])
    np.testing.assert_array_equal(copied.level, np.arange(10.0, MAX_LEVELS + 10))
    np.testing.assert_array_equal(weighed.level, copied.level)


def test_gaps_are_0_and_have_a_term_of_their_own():
    X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan], [np.nan, np.nan]])
    terms = Terms.learn(X, [0, 1])  # a column without any value has no term
    assert terms.kind.tolist() == [VALUE, MISSING]
    assert terms.names(["age", "x"]) == ["age", "age=(missing)"]
    np.testing.assert_allclose(terms.transform(X), [[-1, -1], [1, -1], [0, 1], [0, 1]])
    # A gap where there was none: as if the value were the mean.
    assert Terms.learn(X[:2, :1], [0]).transform([[np.nan]] @ np.ones((1, 1))) == 0


def test_categories_have_a_term_per_level_but_for_two():
    X = np.column_stack([np.tile([0.0, 1.0, 2.0, 1.0], 5), np.tile([0.0, 1.0, 0.0, 0.0], 5)])
    X[3, 0] = np.nan
    terms = Terms.learn(X, [0, 1], [0, 1])
    assert terms.kind.tolist() == [LEVEL] * 3 + [MISSING, LEVEL]
    assert terms.names(["plan", "sex"], {0: ["a", "b", "c"], 1: ["m", "w"]}) == [
        "plan=a",
        "plan=b",
        "plan=c",
        "plan=(missing)",
        "sex=w",
    ]
    raw = terms.transform(X) * terms.scale + terms.center
    is_level = [X[:, 0] == 0, X[:, 0] == 1, X[:, 0] == 2, np.isnan(X[:, 0]), X[:, 1] == 1]
    np.testing.assert_allclose(raw, np.column_stack(is_level).astype(float), atol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_constant_column_is_constant(make):
    X = np.column_stack([np.full(50, 0.1), np.full(50, 1e160), np.zeros(50), np.arange(50.0)])
    Z = Terms.learn(make(X), np.arange(4)).transform(make(X))
    Z = Z if isinstance(Z, np.ndarray) else Z.toarray()
    np.testing.assert_allclose(np.ptp(Z[:, :3], axis=0), 0, atol=1e-12)
    assert np.isfinite(Z).all()


def test_parts_of_columns_and_of_terms():
    X = RNG.standard_normal((30, 5))
    terms = Terms.learn(X, [3, 1])
    np.testing.assert_allclose(
        terms.transform(X), (X[:, [3, 1]] - X[:, [3, 1]].mean(0)) / X[:, [3, 1]].std(0)
    )
    np.testing.assert_allclose(
        terms.part(np.array([1])).transform(X)[:, 0], terms.transform(X)[:, 1]
    )
    assert Terms.learn(X, []).transform(X).shape == (30, 0)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_leak_may_rise_or_fall_with_the_label(make):
    labelled = np.arange(300) % 3 == 0
    Z = RNG.standard_normal((300, 3)) + labelled[:, None] * [0.0, 6.0, -6.0]
    Z[1], Z[2] = 50.0, -50.0  # so that no labelled row lies beyond all others
    assert set(leaking(make(Z), labelled)) == {1, 2}
