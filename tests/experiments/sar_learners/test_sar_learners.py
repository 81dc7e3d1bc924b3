"""The benchmark of SAR learners: its cells, the peers' failures, and its write-up."""

import csv
from pathlib import Path

import numpy as np
import pytest
from experiments.harness.cells import load_configuration
from experiments.harness.report_tools import mean
from experiments.sar_learners.peers import PEERS, TIME_LIMIT, fit_peer, time_limit
from experiments.sar_learners.report import main

from conftest import make_pu, needs_data
from experiments.sar_learners import learners

GRID = Path(__file__).parents[3] / "experiments" / "sar_learners" / "benchmark.toml"
FIELDS = ["dataset", "mechanism", "max_rows", "told", "repeat", "method"]


def test_the_grid_has_what_the_benchmark_asks_for():
    fields = [
        cell.fields
        for experiment in load_configuration(GRID).experiments
        for cell in experiment.cells()
    ]
    assert {f["method"] for f in fields} == set(learners.METHODS)
    assert {f["told"] for f in fields} == set(learners.ATTRIBUTES)
    tables = [f for f in fields if f["mechanism"] != "three"]
    assert {f["mechanism"] for f in tables} == {"weak", "along", "against", "rising", "scar"}
    names = {"Breast Cancer", "Mushroom", "Adult", "IJCNN", "Cover Type"}
    assert {f["dataset"] for f in tables} == names
    assert len({f["dataset"] for f in fields}) == 11


@needs_data
@pytest.mark.filterwarnings("ignore")  # as the runner does
@pytest.mark.parametrize("mechanism", ["weak", "along", "against", "rising", "scar"])
def test_a_cell_is_scored(mechanism):
    found = learners.measure("Breast Cancer", mechanism, 500, "true", 0, "SAR-EM")
    again = learners.measure("Breast Cancer", mechanism, 500, "true", 0, "SAR-EM")
    assert {k: v for k, v in found.items() if k != "cpu_seconds"} == {
        k: v for k, v in again.items() if k != "cpu_seconds"
    }
    assert 0.5 < found["accuracy"] <= 1
    assert found["propensity_error"] >= 0


@needs_data
def test_learners_are_told_what_was_asked():
    data = learners.load("Comp-Rec")
    rng = np.random.default_rng(0)
    _, columns = learners.propensity(data, data.X, data.y, "three", rng)
    assert len(columns) == 3
    told = {name: learners.attributes(name, columns, data, rng) for name in ("true", "none")}
    assert told == {"true": columns, "none": []}
    assert learners.attributes("one missing", columns, data, rng) == columns[1:]
    more = learners.attributes("one superfluous", columns, data, rng)
    assert more[:3] == columns
    assert len(set(more)) == 4
    assert len(learners.attributes("all", columns, data, rng)) == data.X.shape[1]
    with pytest.raises(ValueError, match=r"mechanism is weak, .* got 'odd'"):
        learners.propensity(data, data.X, data.y, "odd", rng)
    with pytest.raises(ValueError, match="method is one of SAR-e; "):
        learners.fit("odd", data.X, data.y, None, [], 0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", PEERS)
def test_peers_run_in_their_own_way(method):
    package = method.split()[0].replace("-", "_")
    pytest.importorskip(package)
    data = make_pu(400, 3)
    model = fit_peer(method, data.X, data.s, [0], seed=0)
    f = model.predict_proba(data.X)
    assert f.shape == (400, 2)
    assert ((f >= 0) & (f <= 1)).all()
    assert model.class_prior_ == pytest.approx(f[:, 1].mean())
    if hasattr(model, "predict_propensity"):
        e = model.predict_propensity(data.X)
        assert ((e >= 0) & (e <= 1)).all()


def test_a_fit_that_takes_too_long_fails():
    def endless():
        while True:
            sum(range(1000))

    with pytest.raises(TimeoutError, match=r"not finished in 0\.05 s"), time_limit(0.05):
        endless()


def rows(method, told, repeats, accuracy, error="", mechanism="three"):
    scores = {"accuracy": accuracy, "f1": 0.5, "f1_at_half": 0.5, "auc": 0.7, "log_loss": 0.5}
    scores |= {"brier": 0.2, "prior_error": -0.1, "propensity_error": 0.05, "cpu_seconds": 1.0}
    for repeat in repeats:
        cell = dict(zip(FIELDS, ("A", mechanism, 3000, told, repeat, method), strict=True))
        yield cell | (dict.fromkeys(scores, "") if error else scores) | {"error": error}


def test_the_write_up_has_every_number_from_the_tables(tmp_path):
    pytest.importorskip("matplotlib")
    table = [*rows("SAR-e", "true", (0, 1), 0.9), *rows("SAR-EM", "true", (0, 1), 0.8)]
    table += [*rows("SAR-EM", "none", (0, 1), 0.7), *rows("SAR-EM", "all", (0,), 0.6)]
    table += [*rows("pysarpu", "true", (0,), 0.5, error="TimeoutError: not | finished")]
    table += [*rows("SAR-e", "true", (0,), 0.9, mechanism="weak")]
    with (tmp_path / "three.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    (tmp_path / "coverage.csv").write_text("experiment,planned\nthree,7\n")
    text = main(tmp_path, tmp_path)
    assert text == (tmp_path / "REPORT.md").read_text(encoding="utf-8")
    assert "At most 3,000 rows" in text
    assert f"more than {TIME_LIMIT:g} s" in text
    assert "9 cells were measured, 1 failed." in text
    assert "| pysarpu | 1 | 1 | TimeoutError: not / finished |" in text
    assert "| SAR-EM | 2 | 0.800 (0.000) |" in text
    # Prior errors lose their sign; the cost of wrong attributes is paired.
    assert "| SAR-EM | none | 2 | 0.700 (0.000) | 0.500 (0.000) | 0.500 (0.000) | 0.100" in text
    assert "-0.100 (0.000) |" in text
    assert "| SAR-EM | all | 1 | 0.600 |" in text
    for name in ("accuracy", "wrong_attributes"):
        assert (tmp_path / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / "figures" / f"{name}.svg").exists()
    with pytest.raises(FileNotFoundError, match="run the grid first"):
        main(tmp_path / "nothing")


def test_means_have_their_standard_errors():
    assert mean([1.0, 3.0]) == "2.000 (1.000)"
    assert mean([1.0]) == "1.000"
    assert mean([]) == "-"
