"""What the encoder reads of a messy table, pinned by tracked cells."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sarlearn import TableEncoder
from sarlearn._engine.terms import FARTHEST
from sarlearn._words import origin

DATA = Path(__file__).parents[1] / "data"
# Of a table so many rows are tracked, evenly spaced.
ROWS = 25


def messy(n=300):
    """Words, gaps, dates, numbers as text, skewed money, codes for gaps, leading zeros."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, n).astype(float)
    age[::40] = 999
    height = rng.normal(170, 10, n).round(1)
    comma = [f"{v:.1f}".replace(".", ",") for v in rng.normal(60, 9, n)]
    comma[7], comma[90] = "?", ""
    money = np.exp(rng.normal(8, 2, n)).round(2)
    plan = rng.choice(["none", "basic", "full ", None], n, p=[0.5, 0.2, 0.2, 0.1])
    rare = np.where(np.arange(n) < 20, [f"town {i // 2}" for i in range(n)], "city")
    return pd.DataFrame(
        {
            "age": age,
            "height": np.where(rng.random(n) < 0.1, np.nan, height),
            "weight": comma,
            "money": money,
            "price": [f"${v:,.2f}" for v in money[::-1]],
            "plan": plan,
            "plan=old": rng.choice(["yes", "no"], n),
            "member": rng.random(n) < 0.3,
            "town": rare,
            "zip": [f"{v:05d}" for v in rng.choice([2139, 501, 94105], n)],
            "seen": pd.date_range("2020-02-03", periods=n, freq="17h").strftime("%d.%m.%Y"),
            "same": "x",
            "empty": np.nan,
        }
    )


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
def test_encoded_cells_are_those_that_are_tracked():
    """The tracked ones are scaled otherwise, and filled: numbers agree up to a line, marks up to
    their two values."""
    table = messy()
    encoder = TableEncoder(terms=True)
    encoded = encoder.fit_transform(table)
    some = encoded.iloc[:: max(1, len(table) // ROWS)].reset_index(drop=True)
    tracked = pd.read_csv(DATA / "encoded_messy.csv")
    assert {origin(column) for column in some} == {origin(column) for column in tracked}
    seen = 0
    for column, expected in tracked.items():
        if set(expected) <= {0.0, 1.0}:
            own = some.get(column)
            if own is not None:  # two levels have one term now, and gaps of words none of theirs
                seen += 1
                np.testing.assert_array_equal(own > 0, expected == 1, err_msg=column)
            continue
        seen += 1
        known = (some.get(f"{column}=(missing)", -1) < 0) & (some[column].abs() < FARTHEST)
        x, y = some[column][known], expected[known]
        slope = np.polyfit(x, y, 1)
        assert slope[0] > 0
        np.testing.assert_allclose(np.polyval(slope, x), y, rtol=0, atol=5e-6, err_msg=column)
    assert seen >= 0.8 * len(tracked.columns)


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
def test_read_cells_are_numbers_codes_and_days():
    table = messy()
    encoder = TableEncoder()
    read = encoder.fit_transform(table)
    assert list(read.columns) == list(table.columns)
    np.testing.assert_array_equal(read["age"], encoder.scaled("age", table["age"]))
    np.testing.assert_array_equal(read["height"], table["height"])
    np.testing.assert_array_equal(read["seen"], np.arange(300) * 17 // 24)
    assert read["weight"].isna().to_numpy().nonzero()[0].tolist() == [7, 90]
    unit = encoder.log_units_["money"]
    np.testing.assert_allclose(unit * np.expm1(read["money"]), table["money"])
    np.testing.assert_array_equal(read["price"], read["money"][::-1])
    assert encoder.levels_["plan"] == ["basic", "full", "none"]
    words = table["plan"].str.strip().map({"basic": 0.0, "full": 1.0, "none": 2.0})
    np.testing.assert_array_equal(read["plan"], words)
    assert encoder.levels_["town"] == ["city", "(other)"]
    assert encoder.levels_["zip"] == ["00501", "02139", "94105"]
    assert encoder.constant_ == ["same", "empty"]
    assert (read[["same", "empty"]] == 0).all().all()
