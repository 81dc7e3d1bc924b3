"""A generated table of patients, and labels for a table whose classes are known."""

import sys

import numpy as np
import pandas as pd
import pytest

from sarlearn.datasets import label_table, make_patients


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


def table(n=4000):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "wage": rng.normal(size=n),
            "plan": rng.choice(["a", "b", "c"], n),
            "ill": rng.choice(["no", "yes"], n),
        }
    )


def test_labels_follow_the_named_columns():
    known = table()
    found = label_table(known, "ill", ["plan"], low=0.1, high=0.7, random_state=0)
    np.testing.assert_array_equal(found.y, known["ill"] == "yes")
    # Words by alphabet, from low to high.
    middle = 0.4
    expected = known["plan"].map({"a": 0.1, "b": middle, "c": 0.7})
    np.testing.assert_allclose(found.propensity, expected)
    labelled = found.frame["labelled"] == 1
    assert not labelled[found.y == 0].any()
    for plan, share in (("a", 0.1), ("b", middle), ("c", 0.7)):
        part = (found.y == 1) & (known["plan"] == plan)
        assert labelled[part].mean() == pytest.approx(share, abs=0.06)
    pd.testing.assert_frame_equal(found.frame.drop(columns="labelled"), known.drop(columns="ill"))
    assert "ill" in known  # the table of the caller is as it was


def test_columns_that_cannot_serve_are_named():
    known = table(50)
    with pytest.raises(ValueError, match=r"no column 'height'; it has wage, plan, ill"):
        label_table(known, "ill", ["height"])
    with pytest.raises(ValueError, match="already has a column 'wage'"):
        label_table(known, "ill", ["plan"], label_column="wage")
    known.loc[3, "plan"] = None
    with pytest.raises(ValueError, match="'plan' has gaps"):
        label_table(known, "ill", ["plan"])
    with pytest.raises(ValueError, match="ill must hold two classes"):
        label_table(known.assign(ill=known["wage"]), "ill", ["wage"])
    with pytest.raises(ValueError, match="n_rows == 0, must be >= 1"):
        make_patients(0)


def test_without_pandas_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'sarlearn\[tables\]'"):
        make_patients(10)
