"""Columns as people have them: stray cells, commas, percent, money, dates, thousands of levels."""

import datetime
import warnings
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarlearn import TableEncoder
from sarlearn._engine.terms import Terms
from sarlearn._validation import resolve_features
from sarlearn._words import origin, output_name
from sarlearn.exceptions import DataWarning
from sarlearn.tables.cells import read_dates, read_numbers
from sarlearn.tables.sums import log_unit, to_log


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
        (["+ 3", "−7,5"], [3, -7.5], ["decimal comma"]),
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
        ["(5)", "(7)"],
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
    with pytest.warns(DataWarning, match=r"'age'.* 3 of 400 rows.*'\?' and 'n/a'") as caught:
        encoder = TableEncoder().fit(dirty)
    assert caught[0].message.code == "stray-cells"
    expected = TableEncoder().fit(clean.assign(age=clean["age"].drop([3, 9, 70])))
    with pytest.warns(DataWarning):
        found = np.asarray(encoder.transform(dirty))
    clean.loc[[3, 9, 70], "age"] = np.nan
    np.testing.assert_allclose(found, np.asarray(expected.transform(clean)))
    reading = encoder.readings_[0]
    assert (reading.kind, reading.n_strays, reading.n_gaps) == ("numeric", 3, 0)
    assert "3 cells taken as missing ('?' and 'n/a')" in reading.to_dict()["note"]


def test_spaces_around_words_mean_nothing():
    rows = pd.DataFrame({"plan": ["full", "none", "full ", " none", "full", "none"] * 10})
    encoder = TableEncoder().fit(rows)
    assert encoder.levels_ == {"plan": ["full", "none"]}
    assert encoder.transform(rows)["plan"].tolist() == [0, 1] * 30


def test_two_columns_of_one_name_are_named():
    rows = pd.DataFrame(np.ones((3, 3)), columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="more than one column named 'a'"):
        TableEncoder().fit(rows)


def test_codes_stay_words_and_that_is_told():
    codes = pd.Series([str(i % 40) if i % 4 else f"{i % 40}B" for i in range(400)])
    with pytest.warns(DataWarning, match="'code' was read as words, though 75%"):
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
    np.testing.assert_allclose(unit * np.expm1(encoded), data["money"])
    np.testing.assert_array_equal(encoder.encode_values("money", data["money"])[1][:, 0], encoded)


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
    unit = log_unit(values, np.ones(len(values)))
    assert (unit is not None) == skewed
    if unit is not None:
        logs = to_log(values, unit)
        undone = np.sign(logs) * unit * np.expm1(np.abs(logs))
        np.testing.assert_allclose(undone, values, rtol=1e-12)
        huge = np.append(values, 1e12)  # one cell does not decide
        assert log_unit(huge, np.ones(len(huge))) == pytest.approx(unit, rel=0.02)


@pytest.mark.parametrize("form", [None, "%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"])
def test_dates_become_days(form):
    days = pd.date_range("2019-12-30", periods=400)
    data = pd.DataFrame(
        {"seen": days if form is None else days.strftime(form), "x": np.arange(400.0) % 99}
    )
    data.loc[7, "seen"] = None
    encoder = TableEncoder().fit(data)
    assert encoder.kinds_ == {"seen": "date", "x": "numeric"}
    assert "read as days since 2019-12-30" in encoder.readings_[0].sentence()
    encoded = encoder.transform(data)
    assert np.isnan(encoded.loc[7, "seen"])
    np.testing.assert_array_equal(encoded["seen"].drop(7), np.delete(np.arange(400.0), 7))
    few = encoder.transform(data.iloc[40:42])  # which alone do not tell days from months
    np.testing.assert_array_equal(few["seen"], [40, 41])
    terms = TableEncoder(terms=True).fit(data)
    assert terms.feature_names_out_ == ["seen", "seen=(missing)", "x"]


def test_dates_that_are_ambiguous_or_none():
    cells = Counter({"03/04/2020": 30, "13/04/2020": 30, "soon": 1})
    dates, strays = read_dates(cells, month_first=False)
    assert dates["03/04/2020"].month == 4
    assert strays == {"soon": 1}
    assert read_dates(Counter({"2020-13-45": 5}), month_first=False) is None


def test_thousands_of_levels_are_warned_of():
    rng = np.random.default_rng(0)
    codes = np.append(rng.integers(0, 3000, 9000), np.full(1000, -1))
    data = pd.DataFrame({"code": [f"c{c}" for c in codes], "x": rng.normal(size=10_000)})
    with pytest.warns(
        DataWarning, match=r"2,8.. different values in 10,000 rows; the 2,8.. rare.*group"
    ):
        encoder = TableEncoder().fit(data)
    assert encoder.levels_["code"][-1] == "(other)"
    assert encoder.readings_[0].n_pooled > 2000


def test_how_columns_were_read_is_plain_data():
    import json

    data = table().assign(same="x", id=range(400))
    encoder = TableEncoder(drop=["id"]).fit(data)
    rows = json.loads(json.dumps([reading.to_dict() for reading in encoder.readings_]))
    assert [row["name"] for row in rows] == list(data.columns)
    assert [row["kind"] for row in rows] == ["number", "words", "number", "words", "words"]
    assert [row["dropped"] for row in rows] == ["", "", "", "holds a single value", "left out"]
    assert rows[1]["levels"] == 3
    assert rows[0]["example"] == str(data["age"][0])


def test_terms_are_those_of_the_engine():
    data = table()
    data.loc[::9, "plan"] = None
    read = TableEncoder().fit_transform(data).to_numpy()
    encoder = TableEncoder(terms=True).fit(data)
    expected = Terms.learn(read, [0, 1, 2], [1])
    found = encoder.transform(data).to_numpy()
    np.testing.assert_array_max_ulp(found, expected.transform(read), maxulp=4)
    names = ["age", "plan=basic", "plan=full", "plan=none", "plan=(missing)", "money"]
    assert encoder.get_feature_names_out().tolist() == names
    positions, block = encoder.encode_values("plan", ["full", None])
    assert positions.tolist() == [1, 2, 3, 4]
    assert (block > 0).tolist() == [[False, True, False, False], [False, False, False, True]]


def test_words_that_look_like_numbers():
    codes = pd.DataFrame({"ward": [3, 14, 3, 7] * 20, "x": range(80)})
    assert TableEncoder().fit(codes).kinds_["ward"] == "numeric"
    named = TableEncoder(words=["ward"]).fit(codes)
    assert named.levels_["ward"] == ["14", "3", "7"]
    assert named.transform(codes)["ward"][:4].tolist() == [1, 0, 1, 2]
    typed = codes.assign(ward=codes["ward"].astype(str).astype("category"))
    assert TableEncoder().fit(typed).levels_ == named.levels_
    with pytest.raises(ValueError, match=r"words: no column 'wards'\. Nearest names: ward"):
        TableEncoder(words=["wards"]).fit(codes)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.to_timedelta([1, 2]), "'when' holds times of day or spans of time.*--drop"),
        ([datetime.time(1), datetime.time(2)], "'when' holds times of day"),
        ([[1], [2]], "holds lists or records"),
        (pa.array([[1], [2]]), "holds lists or records"),
    ],
)
def test_times_and_lists_are_refused_with_advice(column, message):
    refused = pa.table({"when": column}) if isinstance(column, pa.Array) else None
    if refused is None:
        refused = pd.DataFrame({"when": column, "x": [1.0, 2.0]})
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(refused)


@pytest.mark.parametrize(
    ("refused", "error", "message"),
    [
        (np.eye(3), TypeError, "a data frame of pandas, polars or pyarrow; got ndarray"),
        (pd.DataFrame({0: [1, 2]}), ValueError, "Column names must be text; 0 is int"),
        (pd.DataFrame({"x": [1, 1]}), ValueError, "no column with more than one value"),
        (pd.DataFrame({"x": [1.0, np.inf]}), ValueError, "'x' holds an infinite number, in row 1"),
    ],
)
def test_tables_that_cannot_be_learned_from(refused, error, message):
    with pytest.raises(error, match=message):
        TableEncoder().fit(refused)


def test_constant_and_empty_columns_have_no_terms():
    data = pd.DataFrame({"x": [1, 2, 3], "same": "a", "gone": [None] * 3, "gap": [1, None, 1]})
    encoder = TableEncoder(min_rows=1, terms=True).fit(data)
    assert encoder.constant_ == ["same", "gone"]
    assert encoder.feature_names_out_ == ["x", "gap", "gap=(missing)"]
    read = TableEncoder(min_rows=1).fit_transform(data)
    assert list(read.columns) == list(data.columns)
    assert (read[["same", "gone"]] == 0).all(axis=None)


def test_kinds_of_columns():
    data = pd.DataFrame(
        {
            "decimal": [Decimal("1.5"), None, Decimal("2")],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "truth": pd.array([True, None, False], dtype="boolean"),
            "mixed": [1, "x", 2.0],
            "category": pd.Categorical(["x", "y", None]),
        }
    )
    encoder = TableEncoder(min_rows=1).fit(data)
    assert list(encoder.kinds_.values()) == ["numeric"] * 2 + ["category"] * 3
    assert encoder.levels_["mixed"] == ["1", "2", "x"]
    encoded = encoder.transform(data)
    for name, expected in {
        "decimal": [1.5, np.nan, 2],
        "nullable": [1, np.nan, 3],
        "truth": [1, np.nan, 0],
        "mixed": [0, 2, 1],
        "category": [0, 1, np.nan],
    }.items():
        np.testing.assert_array_equal(encoded[name], expected, err_msg=name)


def test_rare_words_share_a_code_and_unknown_ones_are_gaps():
    data = pd.DataFrame({"w": ["a"] * 5 + ["b"] * 4 + ["(other)"] * 4 + ["c", "d"]})
    encoder = TableEncoder(min_rows=3).fit(data)
    assert encoder.levels_ == {"w": ["a", "b", "(other)"]}
    new = pd.DataFrame({"w": ["a", "c", "new", None]})
    np.testing.assert_array_equal(encoder.transform(new)["w"], [0, 2, np.nan, np.nan])
    assert encoder.unknown_values(new) == {"w": ["new"]}
    alone = pd.DataFrame({"smoker": ["no"] * 200 + ["yes"] * 3})
    assert TableEncoder().fit(alone).levels_ == {"smoker": ["no", "yes"]}


def test_identifiers_are_told_of():
    data = pd.DataFrame({"name": [f"n{i}" for i in range(100)], "x": np.arange(100) % 50})
    with pytest.warns(UserWarning, match="'name' has 100 different values in 100 rows"):
        encoder = TableEncoder(terms=True).fit(data)
    assert encoder.feature_names_out_ == ["x"]  # no name has ten rows
    assert encoder.readings_[0].dropped == "no value has 10 rows"


def test_a_column_that_numbers_the_rows_is_told_of():
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame({"no": rng.permutation(300) + 1001, "x": rng.permutation(300) * 2})
    with pytest.warns(DataWarning, match="'no' numbers the rows, and tells") as caught:
        TableEncoder().fit(numbers)
    assert [warning.message.code for warning in caught] == ["identifier-column"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableEncoder().fit(numbers.head(40))
        TableEncoder().fit(numbers.assign(no=np.arange(300) // 2))


@given(st.text(), st.text())
def test_the_origin_of_an_encoded_name_can_always_be_told(column, category):
    assert origin(output_name(column)) == column
    assert origin(output_name(column, category)) == column


def test_names_that_look_encoded_are_kept_apart():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        {"a": rng.choice(["b", "c", "d"], 90), "a=b": rng.normal(size=90), "a\\": range(90)}
    )
    names = TableEncoder(terms=True).fit(data).feature_names_out_
    assert names == ["a=b", "a=c", "a=d", "a\\=b", "a\\\\"]
    assert resolve_features("a", names, 5).tolist() == [0, 1, 2]
