"""Numbers that may not mean what they say."""

import numpy as np
import pytest

from sarlearn.exceptions import DataWarning
from sarlearn.tables.scales import missing_code, tell_oddities

AGE = np.random.default_rng(0).integers(18, 90, 200).astype(float)


@pytest.mark.parametrize("code", [-99.0, -999.0, 999.0, 99999.0])
def test_a_code_for_missing_values_is_named_with_its_rows(code):
    values = np.where(np.arange(200) % 20 == 0, code, AGE)
    with pytest.warns(DataWarning, match=rf"holds {code:g} in 10 rows.*\(--na {code:g}"):
        tell_oddities("age", values)
    with pytest.warns(DataWarning, match="in 30 rows"):
        tell_oddities("age", np.sort(values), np.full(200, 3.0))


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


def test_row_numbers_are_told_of():
    for first in (0, 1):
        with pytest.warns(DataWarning, match="'id' numbers the rows"):
            tell_oddities("id", np.arange(60.0) + first)
    with pytest.warns(DataWarning, match="leave it out"):
        tell_oddities("Unnamed: 0", np.arange(60.0))
    tell_oddities("id", np.arange(60.0)[::-1])
    tell_oddities("id", np.arange(30.0))
    tell_oddities("day", np.arange(60.0))
    tell_oddities("id", np.arange(60.0), np.ones(60))  # not in the order of rows
