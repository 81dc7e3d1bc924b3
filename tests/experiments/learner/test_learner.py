"""The learner's study: which cells there are, what is drawn, and what the report says of it."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
from experiments.harness.cells import load_configuration

from experiments.learner import cases, cells, report, tables

GRID = Path(__file__).parents[3] / "experiments" / "learner" / "learner.toml"


@pytest.fixture
def table(monkeypatch):
    """A small table in the place of every other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    small = tables.Table(X, rng.random(1500) < 1 / (1 + np.exp(-2 * X[:, 0])))
    monkeypatch.setattr(tables, "load", lambda name: small)
    return small


def test_no_table_both_chooses_and_judges():
    split = tomllib.loads(GRID.read_text(encoding="utf-8"))
    assert not set(split["choose"]["data_sets"]) & set(split["judge"]["data_sets"])
    choose, judge = load_configuration(GRID).experiments
    assert sum(cell.fields["learner"] == "sar" for cell in choose.cells()) == 84 * 9
    assert sum(cell.fields["learner"] == "sar" for cell in judge.cells()) == 27 * 9


def test_cells_of_one_name_are_drawn_apart_and_the_same_every_time(table):
    first = cells.drawn("r:swiss", "spread", 5, 100, 1000)
    again = cells.drawn("r:swiss", "spread", 5, 100, 1000)
    other = cells.drawn("r:swiss", "spread", 6, 100, 1000)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.s, again.s)
    assert first.s.shape != other.s.shape or (first.s != other.s).any()
    assert not (first.s & ~first.y).any()


@pytest.mark.parametrize("case", ["scar", "one", "strong", "weak", "geometric", "spread"])
def test_labels_follow_the_propensity(table, case):
    given = cases.draw(table.X, table.y, case, 3, 1500)
    expected = given.propensity[given.y].sum()
    assert abs(given.s.sum() - expected) < 4 * np.sqrt(expected)
    named = {"scar": 0, "one": 1, "strong": 3, "weak": 3}.get(case)
    assert named is None or len(given.named) == named
    if case in ("one", "strong", "weak"):
        assert given.propensity[given.y].mean() == pytest.approx(0.5)


@pytest.mark.parametrize("learner", ["linear", "sar-em"])
@pytest.mark.filterwarnings("ignore")  # as the runner does
def test_a_cell_says_what_was_learned_and_what_is_true(table, learner):
    found = cells.measure("r:swiss", "scar", 0, 0, learner, 1000)
    assert found["rows"] == 1000
    assert found["auc"] > 0.8
    assert abs(found["class_prior"] - found["truth"]) < 0.2
    assert found["guess"] == pytest.approx(2 * found["labels"] / 1000)
    if learner == "linear":
        assert found["low"] <= found["class_prior"] <= found["high"]


def test_a_learner_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="no learner 'odd'; there are sar, linear and sar-em"):
        cells.named_learner("odd", [])


def test_calibration_error_by_hand():
    f = np.array([0.05, 0.05, 1.0, 0.95])
    assert cells.calibration_error(f, np.array([0, 1, 1, 1])) == pytest.approx((0.9 + 0.05) / 4)


def row(learner="sar", data_set="a", draw=0, case="scar", prior=0.5, **more):
    found = {
        **{"data_set": data_set, "case": case, "draw": draw, "seed": 100, "learner": learner},
        **{"rows": 100, "labels": 20, "truth": 0.5, "class_prior": prior, "guess": 0.4},
        **{"low": 0.4, "high": 0.6, "warned": "false", "auc": 0.9, "calibration_error": 0.05},
        **{"cpu_seconds": 1.0, "error": ""},
    }
    return {key: str(value) for key, value in (found | more).items()}


def test_the_report_by_hand():
    rows = [
        row(prior=0.52),
        row(draw=1, case="spread", prior=0.75, low=0.7, high=0.8),
        row(draw=2, case="spread", prior=0.52, warned="true"),
        row("sar-em", prior=0.62, low="", high="", auc=0.8),
        row("sar-em", draw=1, case="spread", prior=0.76, low="", high="", auc=0.95),
    ]
    sar, paper, guess = report.figures(rows).strip().splitlines()[2:]
    assert sar == (
        "| sar | 3 | 0.020 | 0.135 | - | - | 0.135 | - | 0.135 | - | 0.900 | 0.050 | 66.7% | 0.17 "
        "| 33.3% | 33.3% | 50.0% | 1.00 |"
    )
    assert "| sar-em | 2 | 0.120 | 0.260 |" in paper
    assert "| 0.875 | 0.050 | - | - | 100.0% | 100.0% | - |" in paper
    assert guess.startswith("| guess | 3 | 0.100 | 0.100 | - |")
    assert report.against(rows).strip().splitlines()[2:] == ["| sar-em | 2 | 1 | 0 | +0.025 (a) |"]
