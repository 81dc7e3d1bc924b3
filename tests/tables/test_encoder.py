"""Columns as people have them: stray cells, commas, percent, money, dates, thousands of levels."""

import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sarlearn.exceptions import ManyLevelsWarning, MostlyNumbersWarning, StrayCellsWarning
from sarlearn.tables import FromColumns, TableEncoder
from sarlearn.tables.cells import read_dates, read_numbers
from sarlearn.tables.marks import mark_words, n_marks
from sarlearn.tables.skew import log_unit, to_log


@pytest.mark.parametrize(
    ("cells", "numbers", "said"),
    [
        (["54", "3.5", "-1e3", ".5", "+2"], [54, 3.5, -1000, 0.5, 2], []),
        (["54,0", "3,25", "-0,5", "12"], [54, 3.25, -0.5, 12], ["decimal comma"]),
        (["1,234", "950", "1,234,567.5"], [1234, 950, 1234567.5], ["thousands separated by ','"]),
        (["0,512", "1,234", "2,5"], [0.512, 1.234, 2.5], ["decimal comma"]),
        (["1.234,5", "950", "12.345"], [1234.5, 950, 12345], ["decimal comma", "'.'"]),
        (["1 234,5", "950", "12\u00a0345"], [1234.5, 950, 12345], ["decimal comma", "a space"]),
        (["1'234.50", "950", "12'345"], [1234.5, 950, 12345], ['"\'"']),
        (["12 %", "3.5%", "7"], [12, 3.5, 7], ["in %"]),
        (["$1,200.50", "-$3", "$ 7"], [1200.5, -3, 7], ["','", "in $"]),
        (["1.200,50 €", "3 €", "−7 €"], [1200.5, 3, -7], ["decimal comma", "'.'", "in €"]),
        (["(1,200.50)", "3", "($7)"], [-1200.5, 3, -7], ["','", "in $"]),
        (["1.200,50-", "3,00"], [-1200.5, 3], ["decimal comma", "'.'"]),
    ],
)
def test_numbers_as_people_write_them(cells, numbers, said):
    found = read_numbers(Counter(cells))
    assert [found.values[cell] for cell in cells] == numbers
    words = "; ".join(found.style.words())
    assert all(part in words for part in said), words
    assert bool(words) == bool(said)


@pytest.mark.parametrize(
    "cells",
    [
        ["a", "b"],
        ["12B", "13C"],
        ["12B", "13B"],  # a code
        ["1st", "2nd", "3rd"],
        ["2-", "3-"],  # school marks
        ["10-20", "20-30"],
        ["1.2.3", "4.5.6"],
        ["--", "..", ","],
    ],
)
def test_words_are_no_numbers(cells):
    assert read_numbers(Counter(cells)) is None


def test_numbers_with_and_without_a_word_are_not_the_same():
    found = read_numbers(Counter({"12": 60, "12 b": 40, "13": 60}))
    assert found.strays == {"12 b": 40}


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["02139", "10001", "94105"], "category"),
        (["007", "1234", "012"], "category"),
        (["038.9", "250.00", "401.1"], "category"),
        (["5", "07", "31", *map(str, range(40, 90))], "numeric"),
        (["0.5", "0", "10"], "numeric"),
        (["0045", "7", "00123"], "category"),
    ],
)
def test_codes_with_leading_zeros_are_words(cells, kind):
    assert TableEncoder(min_rows=1).fit(pd.DataFrame({"code": cells})).kinds_ == {"code": kind}


def test_another_currency_is_no_number_of_this_column():
    found = read_numbers(Counter({"€ 5": 90, "€ 7": 90, "$ 5": 2}))
    assert found.strays == {"$ 5": 2}


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(50, 10, n).round(1),
            "plan": rng.choice(["none", "basic", "full"], n),
            "money": np.exp(rng.normal(8, 2, n)).round(2),
        }
    )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_stray_cells_are_gaps_and_named(library):
    clean = table()
    dirty = clean.assign(age=clean["age"].astype(str))
    dirty.loc[[3, 70], "age"] = "?"
    dirty.loc[9, "age"] = "n/a"
    if library == "polars":
        dirty = pl.from_pandas(dirty)
    with pytest.warns(StrayCellsWarning, match=r"'age'.* 3 of 400 rows.*'\?', 'n/a'") as caught:
        encoder = TableEncoder().fit(dirty)
    assert caught[0].message.cells == {"?": 2, "n/a": 1}
    expected = TableEncoder().fit(clean.assign(age=clean["age"].drop([3, 9, 70])))
    with pytest.warns(StrayCellsWarning):
        found = np.asarray(encoder.transform(dirty))
    clean.loc[[3, 9, 70], "age"] = np.nan
    np.testing.assert_allclose(found, np.asarray(expected.transform(clean)))
    reading = encoder.readings_[0]
    assert (reading.kind, reading.n_strays, reading.n_gaps) == ("numeric", 3, 0)
    assert "3 cells taken as missing ('?', 'n/a')" in reading.to_dict()["note"]


def test_spaces_around_words_mean_nothing():
    rows = pd.DataFrame({"plan": ["full", "none", "full ", " none", "full", "none"] * 10})
    encoder = TableEncoder().fit(rows)
    assert encoder.feature_names_out_ == ["plan=none"]
    assert encoder.transform(rows)["plan=none"].tolist() == [0, 1] * 30


def test_two_columns_of_one_name_are_named():
    rows = pd.DataFrame(np.ones((3, 3)), columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="more than one column named 'a'"):
        TableEncoder().fit(rows)


def test_codes_stay_words_and_that_is_told():
    codes = pd.Series([str(i % 40) if i % 4 else f"{i % 40}B" for i in range(400)])
    with pytest.warns(MostlyNumbersWarning, match="'code' was read as words, though 75%"):
        encoder = TableEncoder(min_rows=1).fit(pd.DataFrame({"code": codes}))
    assert encoder.kinds_ == {"code": "category"}


def test_skewed_money_enters_on_a_logarithmic_scale():
    data = table()
    encoder = TableEncoder().fit(data)
    assert list(encoder.log_units_) == ["money"]
    assert encoder.readings_[2].scale == "log"
    assert "logarithmic" in encoder.readings_[2].to_dict()["note"]
    unit = encoder.log_units_["money"]
    assert unit == pytest.approx(np.median(data["money"]), rel=0.02)
    encoded = encoder.transform(data)["money"]
    assert abs(encoded.mean()) < 1e-9
    place = encoder.numeric_.index("money")
    logs = encoded * encoder.scaler_.scale_[place] + encoder.scaler_.mean_[place]
    np.testing.assert_allclose(unit * np.expm1(logs), data["money"])
    assert np.all(np.diff(encoded[np.argsort(data["money"])]) >= 0)
    np.testing.assert_allclose(encoder.encode_values("money", data["money"])[1][:, 0], encoded)
    raw = TableEncoder(skewed="raw").fit(data)
    assert raw.log_units_ == {}
    with pytest.raises(ValueError, match="skewed must be 'log' or 'raw'; got 'rank'"):
        TableEncoder(skewed="rank").fit(data)


@pytest.mark.parametrize(
    ("values", "skewed"),
    [
        (np.random.default_rng(0).normal(50, 10, 2000), False),
        (np.random.default_rng(0).random(2000), False),
        (np.random.default_rng(0).exponential(1, 2000), False),
        (np.random.default_rng(0).poisson(1, 2000), False),
        (np.exp(np.random.default_rng(0).normal(0, 2, 2000)), True),
        (np.where(np.arange(2000) % 10, 0, np.arange(2000)), True),  # mostly nothing, then much
        (-np.exp(np.random.default_rng(0).normal(0, 2, 2000)), False),
        (np.arange(2000) % 2 * 1e9, False),
    ],
)
def test_which_columns_are_skewed(values, skewed):
    values = np.asarray(values, dtype=float)
    unit = log_unit(np.append(values, np.nan))
    assert (unit is not None) == skewed
    if unit is not None:
        logs = to_log(values, unit)
        undone = np.sign(logs) * unit * np.expm1(np.abs(logs))
        np.testing.assert_allclose(undone, values, rtol=1e-12)
        huge = np.append(values, 1e12)  # one cell does not decide
        assert log_unit(huge) == pytest.approx(unit, rel=0.02)


def test_dates_become_days_year_and_weekday():
    days = pd.date_range("2019-12-30", periods=400)
    forms = {
        "stamp": days,
        "iso": days.strftime("%Y-%m-%d"),
        "german": days.strftime("%d.%m.%Y"),
        "american": days.strftime("%m/%d/%Y"),
    }
    for name, column in forms.items():
        data = pd.DataFrame({"seen": column, "x": np.arange(400.0)})
        with pytest.raises(ValueError, match=r"'seen' holds dates.*--dates days"):
            TableEncoder().fit(data)
        encoder = TableEncoder(dates="days").fit(data)
        parts = ["seen (days since 2019-12-30)", "seen (year)", "seen (weekday)"]
        assert list(encoder.kinds_) == [*parts, "x"], name
        encoded = encoder.transform(data)
        np.testing.assert_allclose(encoded[parts[0]], encoded["x"])
        centres = dict(zip(encoder.numeric_, encoder.scaler_.mean_, strict=True))
        assert centres[parts[0]] == centres["x"] == 199.5
        assert encoded["seen (weekday)=Monday"].sum() == 58
        chosen = FromColumns(["seen"])(encoder.feature_names_out_)
        assert len(chosen) == 9
        later = encoder.transform(data.head(2))
        np.testing.assert_allclose(later, encoded.head(2))


def test_all_columns_of_dates_are_named_at_once():
    days = pd.date_range("2020-01-01", periods=50)
    data = pd.DataFrame({"a": days, "b": days.strftime("%Y-%m-%d"), "x": range(50)})
    with pytest.raises(ValueError, match="Columns 'a', 'b' hold dates or times"):
        TableEncoder().fit(data)


def test_dates_that_are_ambiguous_or_none():
    dates, strays = read_dates(Counter({"03/04/2020": 30, "13/04/2020": 30, "soon": 1}))
    assert dates["03/04/2020"].month == 4
    assert strays == {"soon": 1}
    assert read_dates(Counter({"2020-13-45": 5})) is None


def test_thousands_of_levels_are_warned_of():
    rng = np.random.default_rng(0)
    codes = np.append(rng.integers(0, 3000, 9000), np.full(1000, -1))
    data = pd.DataFrame({"code": [f"c{c}" for c in codes], "x": rng.normal(size=10_000)})
    with pytest.warns(ManyLevelsWarning, match=r"28.. levels\. 8 of them.*group"):
        encoder = TableEncoder().fit(data)
    assert encoder.one_hot_.categories_[0].tolist()[-1] == "(other)"
    assert encoder.readings_[0].n_pooled > 2000


def test_how_columns_were_read_is_plain_data():
    import json

    data = table().assign(same="x", id=range(400))
    encoder = TableEncoder(drop=["id"]).fit(data)
    rows = json.loads(json.dumps([reading.to_dict() for reading in encoder.readings_]))
    assert [row["name"] for row in rows] == list(data.columns)
    assert [row["kind"] for row in rows] == ["number", "words", "number", "words", "number"]
    assert [row["dropped"] for row in rows] == ["", "", "", "holds a single value", "left out"]
    assert rows[1]["levels"] == 3
    assert rows[0]["example"] == str(data["age"][0])


def test_medians_of_many_parts_are_good_to_one_part_in_4096(monkeypatch):
    from sarlearn.tables import sums

    monkeypatch.setattr(sums, "SKETCHES", 3)
    rng = np.random.default_rng(0)
    parts = [pd.DataFrame({"x": rng.normal(size=6000) + k}) for k in range(8)]
    found = sums.merged(sums.column_sums(part, ()) for part in parts)["x"]
    assert sum(len(values) for values, _ in found.sketch) <= 3 * sums.SKETCH
    assert sum(len(v) * weight for v, weight in found.sketch) == pytest.approx(48_000)
    everything = np.sort(np.concatenate([part["x"] for part in parts]))
    rank = np.searchsorted(everything, found.median) / len(everything)
    assert rank == pytest.approx(0.5, abs=3 / sums.SKETCH)


@pytest.mark.parametrize("n_levels", [2, 3, 7])
@pytest.mark.parametrize("pooled", [False, True])
def test_marks_are_those_of_a_one_hot_encoder(n_levels, pooled):
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(n_levels)
    known = np.array([*"abcdefg"[: n_levels - pooled], *(["(other)"] if pooled else [])], object)
    words = np.array([*known, "never seen", "neither"], dtype=object)
    codes = rng.integers(len(words), size=60)
    encoder = OneHotEncoder(
        categories=[known], drop="if_binary", handle_unknown="ignore", sparse_output=False
    ).fit(known[:, None])
    as_known = words[codes]
    if pooled:
        as_known = np.where(np.isin(as_known, known), as_known, "(other)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = encoder.transform(as_known[:, None])
    found = np.zeros((60, n_marks(known)))
    mark_words(codes, words, known, found, pooled=pooled)
    np.testing.assert_array_equal(found, expected)
