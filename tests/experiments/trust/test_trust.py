"""Simulations of the checks: small runs end to end, and verdicts that follow the numbers."""

import numpy as np
import pytest
from scipy.special import expit

pytest.importorskip("matplotlib")

from experiments.harness.cells import load_configuration
from experiments.harness.runner import run

from experiments.trust import intervals, report, scar_tests, scores, speed

SMALL = """
[size_500]
module = "experiments.trust.scar_tests"
generators = ["scar"]
n_rows = [500]
label_frequencies = [0.4]
attributes = [1, 5]
batches = 1
data_sets = 2
draws = 19
C = 10.0

[power]
module = "experiments.trust.scar_tests"
generators = ["strong", "weak"]
n_rows = [200, 400]
attributes = [1, 5]
batches = 1
data_sets = 1
draws = 19
C = 10.0

[misspecified]
module = "experiments.trust.scar_tests"
generators = ["scar, f has a bend"]
n_rows = [200]
attributes = [1]
batches = 1
data_sets = 1
draws = 19
C = 10.0

[intervals]
module = "experiments.trust.intervals"
decays = [1.0]
n_rows = [500]
batches = 2
data_sets = 1
resamples = 20

[intervals_decayed]
module = "experiments.trust.intervals"
decays = [0.9]
n_rows = [300]
batches = 1
data_sets = 1
resamples = 20

[scores]
module = "experiments.trust.scores"
n_rows = [500]
batches = 2
data_sets = 2

[speed]
module = "experiments.trust.speed"
n_rows = 300
n_columns = 12
draws = 20
repeats = 1
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trust")
    path = folder / "trust.toml"
    path.write_text(SMALL)
    configuration = load_configuration(path)
    counts = run(configuration, runs=folder / "runs", results=folder / "results", workers=1)
    assert counts["failed"] == 0
    assert counts["finished"] == counts["planned"]
    return folder / "results" / "trust"


def test_every_section_ends_in_the_report_and_in_figures(results):
    text = report.main(results, results)
    assert text == (results / "REPORT.md").read_text(encoding="utf-8")
    assert "| scar | 500 | 0.4 | 5 |" in text
    assert "| strong | 400 | 1 |" in text
    assert "| class prior | percentile |" in text
    assert "| roc auc |" in text
    assert "bootstrap, decay 0.9" in text
    # Left out of the small run: n = 5,000, the weak penalty, both selections.
    assert text.count("Not measured yet.") == 4
    for name in ("size", "power", "misspecified", "intervals", "scores"):
        for suffix in ("png", "svg"):
            assert (results / "figures" / f"{name}.{suffix}").stat().st_size > 1000
    assert not (results / "figures" / "selection.png").exists()


@pytest.mark.parametrize(("rejected", "met"), [(8, "**no**"), (25, "yes"), (36, "**no**")])
def test_the_verdict_on_the_size_follows_the_rejections(tmp_path, rejected, met):
    header = "generator,n_rows,label_frequency,attributes,batch,rejected,tested,error"
    rows = [f"scar,500,{c},1,0,{rejected},500," for c in (0.2, 0.4)]
    (tmp_path / "size_500.csv").write_text("\n".join([header, *rows]) + "\n")
    line = next(x for x in report.main(tmp_path, tmp_path).splitlines() if "n = 500 |" in x)
    assert line.endswith(f"| {met} |")
    assert f"{rejected / 500:.1%}" in line


def test_too_few_data_sets_meet_nothing(tmp_path):
    header = "generator,n_rows,label_frequency,attributes,batch,rejected,tested,error"
    (tmp_path / "size_500.csv").write_text(f"{header}\nscar,500,0.4,1,0,5,100,\n")
    assert "data sets | **no** |" in report.main(tmp_path, tmp_path)


def test_cells_are_as_many_as_the_settings_say():
    settings = {
        "generators": ["scar"],
        "n_rows": [500, 5000],
        "label_frequencies": [0.2, 0.4],
        "attributes": [1, 5],
        "batches": 3,
        "data_sets": 50,
        "draws": 19,
        "C": 10.0,
    }
    cells = list(scar_tests.cells(settings))
    assert len(cells) == 24
    assert {cell["batch"] for cell in cells[:8]} == {0}
    with pytest.raises(ValueError, match="There is no generator 'odd'"):
        scar_tests.measure("odd", 100, 0.4, 1, 0, 1, 19, 10.0)


def test_the_truth_is_that_of_many_draws():
    truth = intervals.truth()
    assert truth["label_frequency"] == pytest.approx(0.5, abs=1e-6)

    x = np.random.default_rng(0).normal(size=(400_000, 2))
    drawn = expit(3 * x[:, 0] + x[:, 1] - 0.5).mean()
    assert truth["class_prior"] == pytest.approx(drawn, abs=0.003)


def test_a_cell_is_the_same_every_time():
    first = scores.measure(n_rows=300, batch=0, data_sets=2)
    assert scores.measure(n_rows=300, batch=0, data_sets=2) == first
    with_time = speed.measure(speed.TASKS[2], 0, 200, 12, 19)
    assert with_time["core_seconds"] > 0
