import io

import pytest
from rich.console import Console

from sarlearn.demo import METHODS, run_demo


def test_the_demo_shows_why_sar_matters():
    out = io.StringIO()
    result = run_demo(Console(file=out, width=80), n_labellings=2)
    rows = {row["method"]: row for row in result["rows"]}
    naive, scar, sar, ours, known, supervised = (rows[name] for name in METHODS)
    assert naive["f1"] < scar["f1"] < sar["f1"] - 0.1
    assert abs(sar["f1"] - known["f1"]) < 0.03
    assert abs(ours["f1"] - known["f1"]) < 0.03
    assert sar["roc_auc"] <= supervised["roc_auc"]
    assert abs(sar["class_prior"] - sar["true_class_prior"]) < 0.05
    assert sar["propensity_error"] < 0.05 < scar["propensity_error"]
    text = out.getvalue()
    assert all(name in text for name in METHODS)
    assert max(map(len, text.splitlines())) <= 80


def test_without_a_console_the_demo_is_silent(capsys):
    assert len(run_demo(n_labellings=1)["rows"]) == 6
    assert capsys.readouterr() == ("", "")


def test_public_names_are_imported_on_demand():
    import sarlearn

    for name in sarlearn.__all__:
        assert getattr(sarlearn, name).__module__.startswith("sarlearn")
    assert set(sarlearn.__all__) <= set(dir(sarlearn))
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = sarlearn.Nonsense
