"""Labelling mechanisms: formulas, input kinds, reproducibility, refusals."""

import re
from math import exp

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sarlearn.labelling import (
    ConstantLabelling,
    LogisticLabelling,
    ProductLabelling,
    label,
)

NAMES = ["rural", "insured", "smoker", "age"]


@pytest.fixture
def X():
    rng = np.random.default_rng(3)
    binary = rng.integers(0, 2, (60, 3)).astype(float)
    return np.column_stack([binary, rng.normal(50, 12, 60)])


MECHANISMS = [
    (lambda name: ConstantLabelling(0.3)),
    (lambda name: ProductLabelling(name(1), high=0.1, low=0.5)),
    (lambda name: ProductLabelling([name(2), name(0)], high=0.8, low=0.4)),
    (lambda name: LogisticLabelling([name(3), name(1)], coef=[0.05, -1.0], intercept=-2.0)),
]


@pytest.mark.parametrize("make", MECHANISMS)
@pytest.mark.parametrize(
    ("convert", "named"),
    [
        (lambda X: X.tolist(), False),
        (lambda X: X.astype(np.float32).astype(np.float64), False),
        (sparse.csr_array, False),
        (sparse.csc_matrix, False),
        (sparse.coo_array, False),
        (lambda X: pd.DataFrame(X), False),
        (lambda X: pd.DataFrame(X, columns=NAMES), True),
        (lambda X: pl.DataFrame(X, schema=NAMES), True),
        (lambda X: pa.table({n: X[:, j] for j, n in enumerate(NAMES)}), True),
    ],
)
def test_every_kind_of_input_gives_the_same_propensity(X, make, convert, named):
    X = X.astype(np.float32).astype(np.float64)
    expected = make(lambda j: j)(X)
    got = make(lambda j: NAMES[j] if named else j)(convert(X))
    assert got.shape == (60,)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_product_is_the_papers_formula(X):
    one = ProductLabelling(1, high=0.3, low=0.7)(X)
    np.testing.assert_array_equal(one, np.where(X[:, 1] == 1, 0.3, 0.7))
    e = ProductLabelling([0, 1, 2])(X)
    for row, value in zip(X, e, strict=True):
        k = int(row[:3].sum())
        assert value == pytest.approx(0.9**k * 0.5 ** (3 - k), rel=1e-12)
    assert len(np.unique(e)) == 4


def test_logistic_formula(X):
    e = LogisticLabelling([1, 3], coef=[2.0, -0.1], intercept=3.0)(X)
    for row, value in zip(X, e, strict=True):
        assert value == pytest.approx(1 / (1 + exp(-(3 + 2 * row[1] - 0.1 * row[3]))), rel=1e-12)


def test_one_coefficient_serves_all_columns(X):
    np.testing.assert_array_equal(
        LogisticLabelling([0, 1], coef=0.7)(X), LogisticLabelling([0, 1], coef=[0.7, 0.7])(X)
    )


def test_logistic_stays_finite_in_the_extremes():
    e = LogisticLabelling([0])([[-1e4], [1e4]])
    assert e.tolist() == [0.0, 1.0]


def test_mask_and_callable_choose_columns(X):
    frame = pd.DataFrame(X, columns=NAMES)
    expected = ProductLabelling(["rural", "smoker"])(frame)
    mask = ProductLabelling(np.array([True, False, True, False]))
    by_name = ProductLabelling(lambda names: [n for n in names if n in ("rural", "smoker")])
    np.testing.assert_array_equal(mask(X), expected)
    np.testing.assert_array_equal(by_name(frame), expected)


def test_columns_not_chosen_may_hold_anything(X):
    frame = pd.DataFrame(X, columns=NAMES).assign(town="Leuven", age=np.nan)
    np.testing.assert_array_equal(ProductLabelling(["insured"])(frame), ProductLabelling([1])(X))


def test_label_draws_only_positives_with_the_given_frequency():
    rng = np.random.default_rng(0)
    n = 200_000
    X = rng.integers(0, 2, (n, 2)).astype(float)
    y = rng.integers(0, 2, n)
    s, e = label(X, y, ProductLabelling([0, 1]), random_state=1)
    assert s.dtype.kind == "i"
    assert not s[y == 0].any()
    for value in (0.25, 0.45, 0.81):
        rows = (y == 1) & np.isclose(e, value)
        # Five standard deviations of a mean over at least 20,000 draws.
        assert abs(s[rows].mean() - value) < 5 * np.sqrt(value * (1 - value) / rows.sum())


def test_label_is_reproducible_and_nested(X):
    y = (X[:, 3] > 50).astype(int)
    s1, e1 = label(X, y, ConstantLabelling(0.5), random_state=7)
    s2, e2 = label(X, y, ConstantLabelling(0.5), random_state=7)
    np.testing.assert_array_equal(s1, s2)
    np.testing.assert_array_equal(e1, e2)
    more, _ = label(X, y, ConstantLabelling(0.9), random_state=7)
    assert (more >= s1).all()
    assert more.sum() > s1.sum()
    other, _ = label(X, y, ConstantLabelling(0.5), random_state=8)
    assert (other != s1).any()
    expected = (y == 1) & (np.random.RandomState(7).random_sample(60) < 0.5)
    np.testing.assert_array_equal(s1, expected)


def test_random_state_object_moves_on(X):
    y = np.ones(60, dtype=int)
    rng = np.random.RandomState(0)
    first, _ = label(X, y, ConstantLabelling(0.5), rng)
    second, _ = label(X, y, ConstantLabelling(0.5), rng)
    assert (first != second).any()


def test_propensity_one_labels_every_positive_and_zero_none(X):
    y = np.ones(60, dtype=int)
    s, e = label(X, y, ProductLabelling(0, high=1, low=0), random_state=0)
    np.testing.assert_array_equal(s, X[:, 0].astype(int))
    np.testing.assert_array_equal(e, X[:, 0])


@pytest.mark.parametrize(
    "encode",
    [
        lambda y: y.astype(bool),
        lambda y: 2 * y - 1,
        lambda y: y.astype(float),
        lambda y: np.where(y, "sick", "healthy"),
        lambda y: pd.Series(y),
        lambda y: y.tolist(),
    ],
)
def test_label_takes_any_two_classes(X, encode):
    y = (X[:, 3] > 50).astype(int)
    expected, _ = label(X, y, ConstantLabelling(0.6), random_state=0)
    got, _ = label(X, encode(y), ConstantLabelling(0.6), random_state=0)
    np.testing.assert_array_equal(got, expected)


def test_label_takes_any_function(X):
    s, e = label(X, np.ones(60), lambda X: 0.1 + 0.8 * X[:, 0], random_state=0)
    np.testing.assert_allclose(e, 0.1 + 0.8 * X[:, 0])
    assert s.sum() > 0


@given(
    x=st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=2, max_size=20),
    low=st.floats(1e-3, 1),
    high=st.floats(1e-3, 1),
)
def test_product_lies_between_its_extremes(x, low, high):
    e = ProductLabelling([0, 1, 2], high=high, low=low)(x)
    ends = sorted([low**3, high**3])
    assert (e >= ends[0] * (1 - 1e-12)).all()
    assert (e <= ends[1] * (1 + 1e-12)).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ConstantLabelling(-0.1),
            "label_frequency must be a probability in [0, 1]; got -0.1.",
        ),
        (lambda: ConstantLabelling(1.2), "got 1.2"),
        (lambda: ConstantLabelling(float("nan")), "got nan"),
        (lambda: ConstantLabelling("often"), "got 'often'"),
        (lambda: ConstantLabelling(None), "got None"),
        (lambda: ProductLabelling([0], high=1.5), "high must be a probability"),
        (lambda: ProductLabelling([0], low=-1), "low must be a probability"),
        (lambda: LogisticLabelling([0], coef=[1, float("inf")]), "coef must be finite"),
        (lambda: LogisticLabelling([0], coef=[[1.0]]), "one number or one per column"),
        (
            lambda: LogisticLabelling([0], intercept=[1.0]),
            "intercept must be finite and one number",
        ),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (ProductLabelling(["insurred"]), "no column 'insurred'. Nearest names: insured"),
        (ProductLabelling([4]), "column index 4 is out of range"),
        (ProductLabelling([0, 0]), "names a column twice"),
        (ProductLabelling([]), "features names no column"),
        (ProductLabelling(["age"]), "needs columns with values in [0, 1]"),
        (LogisticLabelling([0, 1], coef=[1, 2, 3]), "coef has 3 values for 2 columns"),
        (LogisticLabelling(["hole"]), "NaN"),
        (LogisticLabelling(["town"]), "could not convert string to float: 'Leuven'"),
    ],
)
def test_bad_columns_are_refused(X, mechanism, message):
    frame = pd.DataFrame(X, columns=NAMES)
    if message.startswith("column index"):
        frame = X
    else:
        frame = frame.assign(constant=1.0, hole=np.nan, town="Leuven")
    with pytest.raises(ValueError, match=re.escape(message)):
        mechanism(frame)


def test_one_dimensional_X_is_refused():
    with pytest.raises(ValueError, match="two dimensions"):
        ProductLabelling([0])(np.ones(3))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1, 2], "3 values (0, 1 and 2)"),
        ([0.5, 0.7, 0.1], "continuous"),
        ([0, 0, 0], "no positive row"),
        ([-1, -1, -1], "no positive row"),
        (["b", "b", "b"], "holds only 'b', which could be either class"),
        ([0, 1], "inconsistent numbers of samples"),
        ([0, 1, np.nan], "NaN"),
        ([[0, 1], [1, 0], [1, 1]], "1d array"),
    ],
)
def test_bad_classes_are_refused(y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        label(np.zeros((3, 1)), y, ConstantLabelling(0.5))


def test_bad_mechanisms_are_refused():
    X, y = np.zeros((3, 1)), [0, 1, 1]
    with pytest.raises(TypeError, match=r"must be callable on X.*0\.3 \(float\)"):
        label(X, y, 0.3)
    with pytest.raises(ValueError, match=r"row 1 has .*1\.5"):
        label(X, y, lambda X: [0.5, 1.5, 0.5])
    with pytest.raises(ValueError, match="propensity has 2 values for 3 rows"):
        label(X, y, lambda X: [0.5, 0.5])
