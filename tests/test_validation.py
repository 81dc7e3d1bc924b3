import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import sarlearn
from sarlearn._validation import (
    check_propensity,
    check_weights,
    encode_labels,
    encode_new_labels,
    resolve_features,
)

NAMES = ["age", "insured", "income"]


@pytest.mark.parametrize(
    ("s", "greater"),
    [([0, 1] * 40, 1), ([-1, 1] * 40, 1), ([False, True] * 40, True), ([0, 7] * 40, 7)],
)
def test_the_greater_number_means_labelled(s, greater):
    labelled, classes = encode_labels(s)
    assert classes[1] == greater
    np.testing.assert_array_equal(labelled, np.asarray(s) == greater)


@pytest.mark.parametrize(
    ("s", "message"),
    [
        (np.zeros(50, int), "one class, .*0.*no row is labelled"),
        (-np.ones(50, int), "one class, .*-1.*no row is labelled"),
        (np.ones(50, int), "one class, .*1.*every row is labelled"),
        (np.arange(50) % 3, r"3 values \(0, 1 and 2\)"),
        (np.arange(50) % 7, r"7 values \(0, 1, 2, 3, 4 and 2 more\)"),
        (np.linspace(0, 1, 50), "Unknown label type: continuous"),
        ([0.0, np.nan] * 20, "No row is labelled: 20 of 40 labels are missing.* others are 0.0"),
        ([np.nan] * 20, "No row is labelled: 20 of 20 labels are missing"),
        (["no", None] * 20, "No row is labelled"),
        ([np.inf, 1.0] * 20, "infinity"),
    ],
)
def test_labels_that_say_nothing_are_refused(s, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(s)


def test_few_labels_warn_with_the_remedy():
    s = np.arange(100) < 29
    with pytest.warns(UserWarning, match="Only 29 labelled rows.*Label more rows"):
        encode_labels(s)
    encode_labels(np.arange(100) < 30)  # warnings are errors


def test_labels_at_predict_time():
    classes = np.array([0, 1])
    np.testing.assert_array_equal(encode_new_labels([1, 0], classes, 2), [True, False])
    with pytest.raises(ValueError, match=r"s holds \[2\].*accepted are \[0, 1\]"):
        encode_new_labels([0, 2], classes, 2)
    with pytest.raises(ValueError, match="s has 3 rows, X has 2"):
        encode_new_labels([0, 1, 1], classes, 2)


@pytest.mark.parametrize(
    "spec",
    [
        ["age", "income"],
        [0, 2],
        [0, -1],
        np.array([0, 2]),
        [True, False, True],
        np.array([True, False, True]),
        lambda names: [name for name in names if name != "insured"],
        lambda names: np.char.find(names.astype(str), "in") != 0,
    ],
)
def test_columns_by_name_index_mask_or_callable(spec):
    expected = [0, 2]
    if callable(spec) and len(spec(np.array(NAMES, dtype=object))) == 3:
        expected = [0]  # names that do not begin with "in"
    np.testing.assert_array_equal(resolve_features(spec, NAMES, 3), expected)


def test_one_column_needs_no_list():
    np.testing.assert_array_equal(resolve_features("insured", NAMES, 3), [1])
    np.testing.assert_array_equal(resolve_features(np.int64(2), None, 3), [2])


@pytest.mark.parametrize("spec", [(), [], None, np.array([], dtype=int), [False] * 3])
def test_no_columns_is_scar(spec):
    assert resolve_features(spec, NAMES, 3).shape == (0,)


def test_a_callable_gets_generic_names_where_there_are_none():
    np.testing.assert_array_equal(resolve_features(lambda names: ["x1"], None, 3), [1])


@pytest.mark.parametrize(
    ("spec", "names", "message"),
    [
        (["agee"], NAMES, "no column 'agee'. Nearest names: age"),
        (["zzzz"], NAMES, "no column 'zzzz'. Columns: age, insured, income"),
        (["age"], None, "has no column names"),
        ([3], NAMES, "index 3 is out of range.*0 to 2"),
        ([-4], NAMES, "index -4 is out of range"),
        ([0, 0], NAMES, r"twice: \[0\]"),
        ([0, -3], NAMES, r"twice: \[-3\]"),
        (["age", "age"], NAMES, r"twice: \['age'\]"),
        ([True, False], NAMES, "mask of length 2, but X has 3 columns"),
        ([1.5], NAMES, "got 1.5"),
    ],
)
def test_wrong_columns_are_named(spec, names, message):
    with pytest.raises(ValueError, match=message):
        resolve_features(spec, names, 3)


def test_known_propensity():
    labelled = np.array([True, False, False])
    np.testing.assert_array_equal(check_propensity(0.4, labelled), [0.4] * 3)
    np.testing.assert_array_equal(check_propensity([1, 0.5, 0], labelled), [1, 0.5, 0])


@pytest.mark.parametrize(
    ("propensity", "message"),
    [
        ([0.5, 1.5, 0.5], "row 1 has .*1.5"),
        ([0.5, 0.5, -0.1], "row 2 has .*-0.1"),
        ([0.5, np.nan, 0.5], "row 1 has .*nan"),
        (0.0, "0 on labelled row 0"),
        ([0.0, 0.5, 0.5], "0 on labelled row 0"),
        ([0.5, 0.5], "has 2 values for 3 rows"),
        ([[0.5], [0.5], [0.5]], r"shape \(3, 1\)"),
    ],
)
def test_impossible_propensities_are_refused(propensity, message):
    with pytest.raises(ValueError, match=message):
        check_propensity(propensity, np.array([True, False, False]))


def test_weights():
    X = np.zeros((3, 1))
    assert check_weights(None, X) is None
    np.testing.assert_array_equal(check_weights([1, 2, 0], X), [1.0, 2.0, 0.0])
    with pytest.raises(ValueError, match="Negative"):
        check_weights([1, -1, 1], X)


@pytest.mark.parametrize(
    ("X", "what"),
    [
        (pd.DataFrame({"a": ["x", "y"] * 20, "b": range(40)}), "words"),
        (pd.DataFrame({"a": [1.0, None] * 20, "b": range(40)}), "gaps"),
        (np.array([["x", "y"]] * 40), "words"),
        (np.array([[1.0, np.nan]] * 40), "gaps"),
        (sparse.csr_matrix([[1.0, np.nan]] * 40), "gaps"),
    ],
)
def test_words_and_gaps_point_to_what_takes_them(X, what):
    s = np.tile([0, 1], 20)
    with pytest.raises(ValueError, match=f"X has {what}, .*SARClassifier takes a data"):
        sarlearn.SAREMClassifier().fit(X, s)


def test_other_mistakes_do_not():
    with pytest.raises(ValueError, match="inconsistent") as caught:
        sarlearn.SAREMClassifier().fit([[1.0], [2.0]], [0, 1, 1])
    assert "SARClassifier takes" not in str(caught.value)
