"""Cells to choose settings of boosting by."""

import pytest

from experiments.boosting import parts, settings

pytest.importorskip("lightgbm", reason="LightGBM is not installed")

LABELLING = {"phase": "test", "dataset": "linear", "mechanism": "logistic", "repeat": 0}


def test_every_setting_is_felt():
    tried = {"of_each_class": 4, "labelled": 4, "ridge": 3}
    others = [
        tried | change for change in ({"of_each_class": 40}, {"labelled": 40}, {"ridge": 300})
    ]
    found = [settings.measure(**LABELLING, max_rows=300, **each) for each in (tried, *others)]
    assert len({cell["prior_error"] for cell in found}) == len(found)


def test_parts_that_were_left_out():
    found = parts.measure(**LABELLING, max_rows=600)
    assert 0.0 <= found["linear_share"] <= 1.0
    averaged = [abs(found[f"prior_error_with_{name}"]) for name in ("kernel", "both")]
    assert max(abs(found["prior_error"]), *averaged) < 0.3
    assert min(found["auc"], found["auc_again"], found["auc_stacked"]) > 0.8
