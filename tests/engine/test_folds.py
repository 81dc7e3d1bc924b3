"""Rows by what they hold: hashes that see values and nothing else, and folds made of them."""

import numpy as np
import pytest
from scipy import sparse

from sarlearn._engine.folds import (
    MOST_GAPS,
    deal_folds,
    fold_of,
    hash_rows,
    joined,
    near_copies,
)


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return np.round(rng.standard_normal((200, 7)) * (rng.random((200, 7)) < 0.5), 1)


def untidy(X):
    """The same as CSR with explicit zeros, values in two parts, and indices in any order."""
    rng, rows, columns, values = np.random.default_rng(1), [], [], []
    for i, row in enumerate(X):
        for j in rng.permutation(len(row)):
            parts = [row[j]] if row[j] == 0 or j % 2 else [row[j] / 2, row[j] / 2]
            rows += [i] * len(parts)
            columns += [j] * len(parts)
            values += parts
    indptr = np.searchsorted(rows, np.arange(len(X) + 1))
    return sparse.csr_array((np.array(values), np.array(columns), indptr), shape=X.shape)


def test_a_hash_sees_values_not_how_they_are_stored(X):
    expected = hash_rows(X)
    parts = untidy(X)
    before = parts.data.copy(), parts.indices.copy(), parts.indptr.copy()
    minus = np.where(X == 0, -0.0, X)
    for same in (sparse.csr_array(X), sparse.csr_matrix(X), parts, minus, np.asfortranarray(X)):
        np.testing.assert_array_equal(hash_rows(same), expected)
    for now, then in zip((parts.data, parts.indices, parts.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)  # the caller's matrix is left alone
    narrow = X.astype(np.float32)
    np.testing.assert_array_equal(hash_rows(narrow), hash_rows(narrow.astype(np.float64)))
    whole = np.round(X)
    np.testing.assert_array_equal(hash_rows(whole.astype(int)), hash_rows(whole))


def test_different_rows_have_different_hashes(X):
    n_rows = len(np.unique(X + 0.0, axis=0))
    assert len(np.unique(hash_rows(X))) == n_rows
    swapped = X[:, [1, 0, 2, 3, 4, 5, 6]]
    moved = X[:, 0] != X[:, 1]
    assert (hash_rows(swapped) != hash_rows(X))[moved].all()
    far = np.array([[1e-320], [1e160], [-1e160], [np.inf], [-np.inf], [np.nan], [0.0]])
    assert len(np.unique(hash_rows(far))) == len(far)


def test_every_gap_is_the_same():
    other = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    hashes = hash_rows(np.array([[1.0, np.nan], [1.0, -np.nan], [1.0, other], [1.0, 0.0]]))
    assert len(np.unique(hashes[:3])) == 1
    assert hashes[3] != hashes[0]


def test_folds_depend_on_neither_order_nor_parts(X):
    labelled = X[:, 0] > 0
    hashes, order = hash_rows(X), np.random.default_rng(2).permutation(len(X))
    for deal in (
        lambda h, s: deal_folds(h, s, 5, 3),
        lambda h, s: fold_of(h, 5, 3),
    ):
        folds = deal(hashes, labelled)
        np.testing.assert_array_equal(deal(hashes[order], labelled[order]), folds[order])
        twice = deal(np.tile(hashes, 2), np.tile(labelled, 2))
        np.testing.assert_array_equal(twice, np.tile(folds, 2))
    parts = [fold_of(hash_rows(part), 5, 3) for part in np.array_split(X, 7)]
    np.testing.assert_array_equal(np.concatenate(parts), fold_of(hashes, 5, 3))
    assert (fold_of(hashes, 5, 3) != fold_of(hashes, 5, 4)).any()
    assert (deal_folds(hashes, labelled, 5, 3) != deal_folds(hashes, labelled, 5, 4)).any()


def test_labelled_rows_are_spread_evenly():
    hashes, labelled = hash_rows(np.arange(1003.0)[:, None]), np.arange(1003) < 13
    folds = deal_folds(hashes, labelled, 5, 0)
    for some in (labelled, ~labelled, np.ones(1003, bool)):
        sizes = np.bincount(folds[some], minlength=5)
        assert sizes.max() - sizes.min() <= 1
    # Where rows cannot be counted first, folds are as even as chance makes them.
    sizes = np.bincount(fold_of(hash_rows(np.arange(50_000.0)[:, None]), 5, 0))
    assert np.abs(sizes - 10_000).max() < 4.5 * np.sqrt(50_000 * 0.2 * 0.8)


def test_a_copy_with_and_one_without_a_label_share_a_fold():
    hashes = np.array([7, 7, 8, 9, 10], np.uint64)
    folds = deal_folds(hashes, np.array([True, False, False, True, False]), 2, 0)
    assert folds[0] == folds[1]


def test_copies_and_groups_chain():
    """Row 0 equals row 1, row 1 is of the group of row 2, which equals row 3; 4 stands alone."""
    hashes = np.array([11, 11, 12, 12, 13], np.uint64)
    groups = np.array(["a", "b", "b", "c", "d"])
    found = joined(hashes, groups)
    assert len(set(found[:4])) == 1
    assert found[4] == 13
    assert joined(hashes, None) is hashes
    order = np.array([4, 2, 0, 3, 1])
    np.testing.assert_array_equal(joined(hashes[order], groups[order]), found[order])


def ordinary_tables():
    rng = np.random.default_rng(0)
    for n in (70, 300, 3000):
        for p in (1, 2, 5, 40):
            yield rng.normal(size=(n, p))
        yield np.round(rng.normal(size=(n, 4)), 1)
        yield np.column_stack([rng.random((n, 6)) < 0.4, rng.normal(size=n)]).astype(float)
        yield np.column_stack([rng.integers(0, 30, n), rng.normal(size=n)]).astype(float)
        skewed = rng.lognormal(sigma=2, size=(n, 2))
        yield np.column_stack([rng.integers(0, 5, (n, 4)), skewed]).astype(float)
        yield (rng.random((n, 50)) < 0.1).astype(float)


def test_ordinary_tables_have_no_near_copies():
    """Skewed and mixed ones come closest."""
    found = []
    for X in ordinary_tables():
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        Z = np.unique(Z, axis=0)
        Z = Z[np.random.default_rng(1).permutation(len(Z))]
        found.append(near_copies(Z, hash_rows(Z)))
    assert max(found) < MOST_GAPS
    assert np.median(found) < 0.05


@pytest.mark.parametrize("per_group", [2, 4, 10])
@pytest.mark.parametrize("p", [5, 20])
def test_visits_of_one_patient_are_near_copies(p, per_group):
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(600 // per_group), per_group)
    Z = rng.normal(size=(600 // per_group, p))[group] + 0.02 * rng.normal(size=(600, p))
    hashes = hash_rows(Z)
    assert near_copies(Z, hashes) > 0.9
    assert near_copies(sparse.csr_array(Z), hashes) == near_copies(Z, hashes)
    # Groups that are told share a fold, and what is left has none.
    assert near_copies(Z, joined(hashes, group)) == 0.0
    # Where two thirds of the rows have some.
    Z[: 200 if per_group < 10 else 100] = rng.normal(size=(200 if per_group < 10 else 100, p))
    assert near_copies(Z, hash_rows(Z)) > MOST_GAPS


def test_few_rows_and_no_columns_say_nothing():
    assert near_copies(np.zeros((20, 3)), np.arange(20, dtype=np.uint64)) == 0.0
    assert near_copies(np.zeros((200, 0)), np.arange(200, dtype=np.uint64)) == 0.0
    assert near_copies(np.zeros((200, 3)), np.arange(200, dtype=np.uint64)) == 0.0
