"""What is fitted on centred and scaled columns says the same in the user's units."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.columns import conditioned
from sarlearn._engine.rows import LEAST_RIDGE, Units, excluding

UNITS = Units(np.array([0.0, 3.0, -2e5]), np.array([1.0, 1e-3, 1e4]))
THETA = np.array([0.7, -1.2, 0.4, 0.3])


def test_logits_are_the_same():
    X = np.random.default_rng(0).normal(UNITS.center, UNITS.scale, size=(20, 3))
    seen = (X - UNITS.center) / UNITS.scale
    user = UNITS.to_user(THETA)
    assert_allclose(X @ user[:-1] + user[-1], seen @ THETA[:-1] + THETA[-1], atol=1e-9)


@pytest.mark.parametrize("C", [0.3, 40.0])
def test_the_penalty_is_that_of_the_users_coefficients(C):
    ridge = UNITS.ridge(C, total_weight=50.0)
    coef = UNITS.to_user(THETA)[:-1]
    assert_allclose(ridge[:-1] * THETA[:-1] ** 2, coef**2 / C)
    assert ridge[-1] == LEAST_RIDGE * 50.0


def test_excluded_columns_have_no_coefficient():
    units = excluding(RowBlocks(np.zeros((4, 3))), np.array([1])).units
    assert_allclose(units.to_user(THETA), [0.7, 0.0, 0.4, 0.3])
    assert units.ridge(1.0, 4.0)[1] > 1e200


def test_columns_are_centred_once():
    """Who centres rows that are centred already finds them as they are, with their units."""
    X = np.random.default_rng(0).normal([0.0, 2e6, 5.0], [1.0, 3.0, 1e-3], size=(50, 3))
    given = excluding(RowBlocks(X), np.array([0]))
    rows = conditioned(given)
    assert_allclose(rows.units.center, [0.0, *np.median(X[:, 1:], axis=0)])
    again = conditioned(rows)
    for seen in (rows, again):
        assert_allclose(seen.units.center, [0.0, *np.median(X[:, 1:], axis=0)])
        assert seen.units.excluded.tolist() == [True, False, False]
    assert_allclose(again.matvec(THETA[:-1]), rows.matvec(THETA[:-1]))
    assert given.units.is_plain


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_single_zero_does_not_move_the_centre_of_a_column(make):
    """A day counted from far away, with a zero where it is not known."""
    X = np.random.default_rng(0).normal([0.0, 2.46e6], [1.0, 300.0], size=(200, 2))
    X[7, 1] = 0.0
    rows = conditioned(RowBlocks(make(X), block_rows=60))
    assert rows.units.center[1] == pytest.approx(2.46e6, abs=100)
    moved = rows.matvec(THETA[:2]) + rows.units.center[1] * THETA[1]
    assert_allclose(moved, X @ THETA[:2], atol=1e-5)
