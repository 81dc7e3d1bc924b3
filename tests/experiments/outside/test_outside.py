"""Other people's studies: their mechanisms, the cells, and a report that follows the tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from experiments.harness.cells import load_configuration
from scipy.special import expit, logit

from conftest import needs_data
from experiments.outside import labelling, learners, report, scar_tests

GRID = Path(__file__).parents[3] / "experiments" / "outside" / "tables.toml"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    return X, (rng.random(400) < expit(2 * X[:, 0])).astype(int)


def test_scenarios(rows):
    X, y = rows
    rng = np.random.default_rng(1)
    e, columns = labelling.scenario(1, 0.35, X, y, rng)
    assert set(e) == {0.35}
    assert columns == []
    f = labelling.class_probability(X, y)
    e, columns = labelling.scenario(2, 0.7, X, y, rng)
    np.testing.assert_allclose(e, 0.7 * f)
    assert columns == [0, 1, 2, 3, 4, 5]
    e, columns = labelling.scenario(3, 0.0, X, y, rng)
    assert len(set(columns)) == 5
    assert e.min() >= 0.2
    assert e.max() <= 0.6
    # It rises with each of the five, and does not look at the sixth.
    other = ({*range(6)} - {*columns}).pop()
    changed = X.copy()
    changed[:, other] = 0
    again, _ = labelling.scenario(3, 0.0, changed[:, [*columns, other]], y, FirstFive())
    np.testing.assert_allclose(again, e)
    with pytest.raises(ValueError, match="scenario is 1, 2 or 3; got 4"):
        labelling.scenario(4, 0.5, X, y, rng)


class FirstFive:
    """In place of a generator: chooses what comes first."""

    def choice(self, values, size, replace):
        return np.asarray(values)[:size]


def test_strategies(rows):
    X, y = rows
    f = labelling.class_probability(X, y)
    np.testing.assert_allclose(labelling.strategy("S1", X, y), 0.1)
    np.testing.assert_allclose(labelling.strategy("S2", X, y), 0.1 * f)
    np.testing.assert_allclose(labelling.strategy("S3", X, y), expit(-0.5 * f - 1.5))
    np.testing.assert_allclose(labelling.strategy("S4", X, y), 0.5 * expit(-0.5 * logit(f)))
    with pytest.raises(ValueError, match="strategy is S1"):
        labelling.strategy("S5", X, y)


@pytest.mark.parametrize("scheme", ["S1", "S2", "S3"])
def test_departures_have_the_label_frequency_asked_for(rows, scheme):
    X, y = rows
    e = labelling.departure(scheme, 2, 0.3, X, y)
    assert e[y == 1].mean() == pytest.approx(0.3, abs=1e-9)
    assert e.std() > 0.02
    along = X[:, 0] if scheme == "S1" else labelling.class_probability(X, y)
    assert np.all(np.diff(e[np.argsort(along)]) >= -1e-12)
    np.testing.assert_allclose(labelling.departure(scheme, 0, 0.3, X, y), 0.3)


def test_the_grid_covers_the_three_studies():
    found = {
        experiment.name: [cell.fields for cell in experiment.cells()]
        for experiment in load_configuration(GRID).experiments
    }
    mechanisms = found["mechanisms"]
    assert len({cell["dataset"] for cell in mechanisms}) == 14
    assert {cell["mechanism"] for cell in mechanisms} == {"S1", "S2", "S3", "S4"}
    scenarios = {c["mechanism"] for name in found if "double" in name for c in found[name]}
    assert scenarios == set(report.SCENARIOS)
    # Only scenario 3 has a truth that is neither all columns nor none.
    assert {c["mechanism"] for name in found for c in found[name] if c.get("told") == "truth"} == {
        "scenario 3"
    }
    assert {cell["strength"] for cell in found["scar_size"]} == {0}


@needs_data
@pytest.mark.filterwarnings("ignore")  # as the runner does
@pytest.mark.parametrize(
    ("method", "told"), [("naive", "none"), ("SAR-EM, C=10", "truth"), ("SARClassifier", "none")]
)
def test_a_cell_is_scored_the_same_every_time(method, told):
    cell = ("Haberman", "scenario 3", 0.0, 1, method, told)
    first, again = learners.measure(*cell), learners.measure(*cell)
    del first["cpu_seconds"], again["cpu_seconds"]
    assert first == again
    assert 0.2 < first["accuracy"] < 1
    assert first["n_labelled"] >= 2


@needs_data
@pytest.mark.filterwarnings("ignore")
def test_all_learners_see_the_same_labels():
    labelled = {
        learners.measure("Haberman", "S1", 0.0, 0, method, "none")["n_labelled"]
        for method in ("supervised", "naive", "SAR-EM")
    }
    assert len(labelled) == 1
    with pytest.raises(ValueError, match="method is one of supervised, naive"):
        learners.fit("odd", np.zeros((4, 1)), [0, 1, 0, 1], [0, 1, 0, 0], [], 0)


@needs_data
def test_the_test_sees_the_columns_of_the_study():
    X, y = scar_tests.load("Wdbc")
    assert X.shape == (569, 20)
    # By absolute value two may be as close as they like: the study's program looks at the sign.
    assert np.triu(np.corrcoef(X, rowvar=False), 1).max() < 0.95
    found = scar_tests.measure("Breast-w", "S1", 2, 0.5, "x1", 0, 2, 19)
    assert found["tested_count"] == 2
    assert 0 <= found["rejected_count"] <= 2
    assert y.sum() == 212


def learner_rows(dataset, mechanism, method, told, accuracy, repeats=2):
    for repeat in range(repeats):
        yield {
            "dataset": dataset,
            "mechanism": mechanism,
            "level": 0.0,
            "repeat": repeat,
            "method": method,
            "told": told,
            "accuracy": accuracy + 0.01 * repeat,
            "balanced_accuracy": accuracy,
            "f1_at_half": 0.5,
            "auc": 0.6,
            "prior_error": 0.3,
            "n_labelled": 7,
            "cpu_seconds": 0.1,
            "error": None,
        }


def test_the_report_follows_the_tables(tmp_path):
    scenario = ("Diabetes", "scenario 3")
    rows = [*learner_rows(*scenario, "naive", "none", 0.7)]
    rows += learner_rows(*scenario, "SARClassifier", "truth", 0.5)
    rows += learner_rows(*scenario, "SARClassifier", "all", 0.74)
    pd.DataFrame(rows).to_csv(tmp_path / "double_logistic_attributes.csv", index=False)
    rows = [*learner_rows("Yeast", "S1", "NTC-tMI", "none", 0.7)]
    rows += learner_rows("Yeast", "S1", "supervised", "none", 0.9)
    rows += learner_rows("Yeast", "S1", "SARClassifier", "none", 0.6)
    rows += learner_rows("Sonar", "S1", "SARClassifier", "none", 0.1)  # the others have not run
    pd.DataFrame(rows).to_csv(tmp_path / "mechanisms.csv", index=False)
    test = {"dataset": "Wdbc", "tested": "x1", "draws": 39, "tested_count": 50, "error": None}
    size = {"label_frequency": 0.3, "rejected_count": 4}
    power = {"scheme": "S1", "strength": 1, "rejected_count": 40}
    pd.DataFrame([test | size]).to_csv(tmp_path / "scar_size.csv", index=False)
    pd.DataFrame([test | power]).to_csv(tmp_path / "scar_power.csv", index=False)
    text = report.main(tmp_path, tmp_path)
    assert text == (tmp_path / "REPORT.md").read_text(encoding="utf-8")
    assert "| LBE, published | 0.733 | 0.913 | 0.895 | 0.827 |" in text
    assert "| **SARClassifier, all** | 0.745 (0.005) | - | - | - |" in text
    assert "| Wdbc | 0.3 | 0.08 | 0.10 | 0.01 | 0.01 | 0.08 | - |" in text
    assert "| Wdbc | S1 | 1 | 0.79 | 0.91 | 0.80 | - |" in text
    assert "Behind NTC-tMI, of 1 sets: SARClassifier, none on 1." in text
    assert "| SARClassifier, none | 0.600 | 0.600 | -0.100 (0.000) |" in text


def test_nothing_measured_is_said(tmp_path):
    tables = tmp_path / "tables"
    tables.mkdir()
    assert report.main(tables, tmp_path).count("Not measured yet.") == 8
