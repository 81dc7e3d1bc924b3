"""A generated table of patients."""

import sys

import pandas as pd
import pytest

from sarlearn.datasets import make_patients


def test_patients_are_diagnosed_by_age_and_plan_alone():
    found = make_patients(20_000, random_state=0)
    frame = found.frame
    assert len(frame) == len(found.y) == len(found.propensity) == 20_000
    ill, diagnosed = found.y == 1, frame["diagnosed"] == 1
    assert not diagnosed[~ill].any()
    # Drawn with the chances that are told, for every plan and at any age.
    assert set(frame["plan"]) == {"none", "basic", "full"}
    parts = [frame["plan"] == plan for plan in set(frame["plan"])]
    for part in [*parts, frame["age"] > 60, frame["smoker"], ~frame["smoker"]]:
        expected = found.propensity[ill & part].mean()
        assert diagnosed[ill & part].mean() == pytest.approx(expected, abs=0.03)
    assert frame["bmi"].isna().mean() == pytest.approx(0.05, abs=0.01)
    assert frame["region"].isna().mean() == pytest.approx(0.03, abs=0.01)
    pd.testing.assert_frame_equal(make_patients(20_000, random_state=0).frame, frame)
    assert not make_patients(20_000, random_state=1).frame.equals(frame)


def test_a_table_without_rows_is_refused():
    with pytest.raises(ValueError, match="n_rows == 0, must be >= 1"):
        make_patients(0)


def test_without_pandas_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas pyarrow"):
        make_patients(10)
