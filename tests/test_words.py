"""Numbers and odds as people read them."""

import pytest

from sarlearn import _words as words

ROW = {"attribute": "plan", "level": "plan = a", "against": "b", "numeric": False}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (11850.0, "11,850"),
        (2019.0, "2019"),
        (123456789.0, "123,456,789"),
        (0.0, "0"),
        (-3.5, "-3.5"),
        (0.00012345, "0.0001234"),
        (1e-7, "0.0000001"),
        (99.995, "100"),
        (9999.7, "10,000"),
        (float("nan"), "(missing)"),
        (1e300, "1e+300"),
    ],
)
def test_numbers_are_plain(value, text):
    assert words.number_text(value) == text


def test_odds_in_words():
    said = words.odds_sentence(ROW | {"odds_ratio": 2.0}, "x")
    assert said == "The odds of x are 2.0 times those of b."
    said = words.odds_sentence(ROW | {"odds_ratio": 0.25}, "x")
    assert said == "The odds of x are lower than those of b, by a factor of 4.0."
    assert "are about those of b" in words.odds_sentence(ROW | {"odds_ratio": 1.02}, "x")
    assert "more than 100 times" in words.odds_sentence(ROW | {"odds_ratio": 1e9}, "x")
    number = ROW | {"against": "28", "numeric": True, "odds_ratio": 3.0}
    assert words.odds_sentence(number, "x") == "The odds of x are 3.0 times those at 28."
    bare = {"step": "One unit more", "odds_ratio": 0.5}
    assert words.odds_sentence(bare, "x") == "One unit more multiplies the odds of x by 0.5."


def test_a_level_with_few_rows_has_no_ratio():
    row = ROW | {"odds_ratio": 5000.0, "few": True, "rows": 12, "labelled": 1}
    said = words.odds_sentence(row, "being labelled")
    assert said == "Too few rows to say: 12 rows, 1 of them labelled."


def test_counts_and_lists():
    assert words.about(12345.6) == "12,300"
    assert words.about(7.4) == "7"
    assert words.listed(list("abcdefghij"), 8) == "a, b, c, d, e, f, g, h and 2 more"
    assert words.listed(["a"]) == "a"
    assert words.listed(list("abc")) == "a, b and c"
    told = words.no_column(["agee", "plann", "zzz"], ["age", "plan"])
    assert told == "X has no columns 'agee', 'plann' and 'zzz'. Nearest names: age, plan."
    assert words.no_column(["zzz"], ["a", "b"]) == "X has no column 'zzz'. Columns: a, b."
    assert words.counted(1, "row") == "1 row"
    assert words.counted(1200, "row") == "1,200 rows"
