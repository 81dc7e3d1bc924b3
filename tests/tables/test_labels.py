"""Label columns of tables."""

import pandas as pd
import polars as pl
import pytest

from sarlearn.tables.labels import parse_labels


@pytest.mark.parametrize(
    ("values", "labelled"),
    [
        ([1, 0, 1], [True, False, True]),
        ([1.0, None, 0.0], [True, False, False]),
        ([1, -1, 1], [True, False, True]),
        ([True, False, None], [True, False, False]),
        (["yes", "No", " YES "], [True, False, True]),
        (["t", "F", ""], [True, False, False]),
        (["TRUE", "false", "NA"], [True, False, False]),
        (["1.0", "0", "1"], [True, False, True]),
        (["C50", None, "C50"], [True, False, True]),
        ([2.5, None, 2.5], [True, False, True]),
        ([None, None, None], [False, False, False]),
    ],
)
@pytest.mark.parametrize("library", [pd, pl])
def test_label_columns(values, labelled, library):
    column = library.Series("c", values) if library is pl else library.Series(values)
    assert parse_labels(column, "c").labelled.tolist() == labelled


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b", "c"], r"'c' holds 3 values that are not a yes and a no \(a, b and c\)"),
        ([0, 1, 2], r"\(0, 1 and 2\); accepted are 0/1, true/false, yes/no"),
        (["sick", "well"], r"\(sick and well\).*--positive"),
        (["C50", "no", None], r"\(C50 and no\)"),
        (list("abcdefg"), "a, b, c, d, e and 2 more"),
        ([[1], [2]], "'c' holds lists or records"),
    ],
)
def test_other_label_columns_are_refused_with_their_values(values, message):
    with pytest.raises(ValueError, match=message):
        parse_labels(pd.Series(values), "c")


def test_the_word_for_labelled_is_remembered():
    found = parse_labels(pd.Series(["C50", None]), "c")
    assert found.word == "C50"
    later = parse_labels(pd.Series(["C50", "C50"]), "c", word=found.word)
    assert later.labelled.tolist() == [True, True]
    with pytest.raises(ValueError, match="C34"):
        parse_labels(pd.Series(["C34", "C50"]), "c", word=found.word)


def test_positive_says_which_value_means_labelled():
    column = pd.Series(["sick", "well", None, "sick", "dead"])
    found = parse_labels(column, "c", positive="sick", unlabelled=["well,dead"])
    assert found.labelled.tolist() == [True, False, False, True, False]
    assert parse_labels(pd.Series([1.0, 2.0]), "c", positive="2").labelled.tolist() == [False, True]
    with pytest.raises(ValueError, match="--positive: no row of 'c' holds 'ill'; it holds dead"):
        parse_labels(column, "c", positive="ill")


THREE = ["malignant", "benign", "unknown", None, "malignant"]


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (
            THREE,
            {"positive": "malignant"},
            "holds benign, malignant, unknown and empty cells.*--negative benign if these rows "
            "were checked and are negative, or --unlabelled benign,unknown if nobody knows",
        ),
        (["yes", "no", "unknown"], {}, "--negative no .*or --unlabelled no,unknown"),
        ([1, 0, -1], {}, "holds -1, 0 and 1: besides"),
        (["m", "b", None], {"positive": "m"}, "holds b, m and empty cells"),
        (THREE, {"positive": "malignant", "unlabelled": ["unknown"]}, "also holds benign"),
        (THREE, {"positive": "malignant", "negative": ["malign"]}, "--negative: no row of 'c' ho"),
        (THREE, {"positive": "malignant", "negative": ["malignant"]}, "is named twice"),
    ],
)
def test_three_kinds_of_rows_are_asked_about(values, options, message):
    with pytest.raises(ValueError, match=message):
        parse_labels(pd.Series(values, dtype=object), "c", **options)


@pytest.mark.parametrize(
    ("options", "negative"),
    [
        ({"positive": "malignant", "negative": ["benign"]}, [1]),
        ({"negative": ["benign"], "unlabelled": ["unknown"]}, [1]),
        ({"unlabelled": ["unknown,benign"]}, []),
    ],
)
def test_values_are_said_to_be_negative_or_unlabelled(options, negative):
    found = parse_labels(pd.Series(THREE), "c", **options)
    assert found.labelled.nonzero()[0].tolist() == [0, 4]
    assert found.negative.nonzero()[0].tolist() == negative
    assert found.word == "malignant"


def test_spellings_of_one_answer_and_empty_cells_are_no_third_kind():
    for values in (["Yes", "no", "NO ", ""], ["1.0", "0", "0.0"], [True, False, None]):
        assert not parse_labels(pd.Series(values, dtype=object), "c").negative.any()
