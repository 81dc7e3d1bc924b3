"""What is learned of columns from one pass: moments, quantiles, numbers with another meaning."""

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from sarlearn import TableEncoder
from sarlearn.exceptions import DataWarning
from sarlearn.tables import sums
from sarlearn.tables.sums import missing_code, sums_of, tell_oddities

AGE = np.random.default_rng(0).integers(18, 90, 200).astype(float)


def of(name, values, most=np.inf):
    return sums_of(nw.new_series(name, np.asarray(values), backend="pandas"), most=most)


@pytest.mark.parametrize("code", [-99.0, -999.0, 999.0, 99999.0])
def test_a_code_for_missing_values_is_named_with_its_rows(code):
    values = np.where(np.arange(200) % 20 == 0, code, AGE)
    with pytest.warns(DataWarning, match=rf"holds {code:g} in 10 rows.*\(--na {code:g}"):
        tell_oddities(of("age", values))
    column = of("age", np.tile(values, 100), most=2000)
    with pytest.warns(DataWarning, match="in 1,000 rows"):
        tell_oddities(column)


@pytest.mark.parametrize(
    "values",
    [
        AGE,
        np.r_[AGE, 99.0, 99.0],  # old people
        np.r_[AGE, -999.0],  # once: no code
        np.r_[AGE, -1000.0, -1000.0],  # no nines
        np.r_[AGE % 5, 99.0, 99.0],  # five levels are no scale
        np.array([]),
    ],
)
def test_other_values_are_no_codes(values):
    assert missing_code(values) is None


def test_quantiles_of_many_parts_are_good_to_one_part_in_4096(monkeypatch):
    monkeypatch.setattr(sums, "SKETCHES", 3)
    rng = np.random.default_rng(0)
    parts = [pd.DataFrame({"x": rng.normal(size=6000) + k}) for k in range(8)]
    found = sums.merged(sums.column_sums(part, (), ()) for part in parts)["x"]
    assert len(found.values) <= 3 * sums.SKETCH
    assert found.weights.sum() == pytest.approx(48_000)
    everything = np.sort(np.concatenate([part["x"] for part in parts]))
    shares = (0.01, 0.5, 0.99)
    values = sums.quantiles(found.values, found.weights, shares)
    for share, value in zip(shares, values, strict=True):
        rank = np.searchsorted(everything, value) / len(everything)
        assert rank == pytest.approx(share, abs=3 / sums.SKETCH)


def test_numbers_of_one_part_are_counted_beside_the_words_of_another():
    parts = [
        pd.DataFrame({"ward": [3.0] * 40 + [7.0] * 2}),
        pd.DataFrame({"ward": ["3", "x"] * 20}),
    ]
    found = sums.merged(sums.column_sums(part, (), ()) for part in parts)["ward"]
    assert found.levels == {"3": 60, "x": 20, "7": 2}


@pytest.mark.parametrize("values", ["tiny", "huge", "far"])
def test_extreme_columns_have_the_terms_of_the_whole_table(values):
    """Their squares are 0 or infinite, or lose the digits that tell them apart."""
    x = np.random.default_rng(0).normal(size=1000)
    x = {"tiny": x * 1e-160, "huge": x * 1e160, "far": x + 1e6}[values]
    table = pd.DataFrame({"x": x, "word": np.tile(["a", "b"], 500)})
    parts = [sums.column_sums(part, (), ()) for part in (table[k::7] for k in range(7))]
    whole = TableEncoder(terms=True).fit(table).terms_
    found = sums.merged(parts)["x"]
    mean, deviation = found.moments(None)
    assert deviation == pytest.approx(whole.scale[0], rel=1e-9, abs=0)
    assert mean == pytest.approx(whole.center[0], rel=1e-9, abs=1e-9 * deviation)
