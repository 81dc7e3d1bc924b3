import io

import pytest
from rich.console import Console

from sarlearn.demo import GUESS, LEARNERS, run_demo


def test_the_demo_shows_why_sar_matters():
    out = io.StringIO()
    result = run_demo(Console(file=out, width=80), n_labellings=2)
    scar, paper, learned = result["rows"][1:]
    assert learned["error"] < 0.05 < 0.1 < scar["error"]
    assert scar["roc_auc"] < paper["roc_auc"] < learned["roc_auc"]
    low, high = result["model"].class_prior_range_
    assert low < result["y"].mean() < high
    lines = out.getvalue().splitlines()
    assert all(any(line.startswith(name) for line in lines) for name in (GUESS, *LEARNERS))
    assert f"{low:.0%} to {high:.0%}" in out.getvalue()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 80


def test_without_a_console_the_demo_is_silent(capsys, monkeypatch):
    first, *others = LEARNERS
    for name in others:
        monkeypatch.delitem(LEARNERS, name)
    assert [row["method"] for row in run_demo(n_labellings=1)["rows"]] == [GUESS, first]
    assert capsys.readouterr() == ("", "")


def test_public_names_are_imported_on_demand():
    import sarlearn

    for name in sarlearn.__all__:
        assert getattr(sarlearn, name).__module__.startswith("sarlearn")
    assert set(sarlearn.__all__) <= set(dir(sarlearn))
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = sarlearn.Nonsense
