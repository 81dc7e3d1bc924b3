"""Numbers and odds as people read them."""

import pytest

from sarlearn import _words as words

ROW = {"attribute": "plan", "level": "plan = a", "against": "b", "numeric": False, "few": False}


def odds_sentence(ratio, **row):
    return words.odds_sentence(ROW | {"odds_ratio": ratio, "low": ratio, "high": ratio} | row)


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
    assert odds_sentence(2.0) == "The odds of being labelled are 2.0 times those of b."
    said = odds_sentence(0.25)
    assert said == "The odds of being labelled are lower than those of b, by a factor of 4.0."
    assert "are about those of b" in odds_sentence(1.02)
    assert "more than 100 times" in odds_sentence(1e9)
    said = odds_sentence(3.0, against="28", numeric=True)
    assert said == "The odds of being labelled are 3.0 times those at 28."
    unclear = odds_sentence(2.6, low=0.8, high=8.0)
    assert unclear == "The odds of being labelled are not clearly different from those of b."


def test_a_level_with_few_rows_has_no_ratio():
    said = odds_sentence(5000.0, few=True, rows=12, labelled=1)
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
