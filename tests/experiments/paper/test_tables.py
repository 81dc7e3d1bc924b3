"""The paper's experiments: two cells from end to end, the grids, and the tables made from cells."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from experiments.__main__ import main
from experiments.harness.cells import Cell, load_configuration
from experiments.harness.runner import measure

from conftest import needs_data
from experiments.paper import analyse, plot, report

ROOT = Path(__file__).parents[3]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


TWO_CELLS = """
[class_prior]
module = "experiments.paper.class_prior"
datasets = ["Breast Cancer"]
label_frequencies = [0.5]
repeats = 1
max_rows = 0
methods = ["SAR-EM", "EN"]
"""


@needs_data
def test_two_cells_end_to_end(tmp_path):
    (tmp_path / "two.toml").write_text(TWO_CELLS)
    results = ["--results", str(tmp_path / "results")]
    where = ["--runs", str(tmp_path / "runs"), "--workers", "1"]
    assert main(["run", str(tmp_path / "two.toml"), *results, *where]) == 0
    report.main(tmp_path / "results", tmp_path, page=None)

    rows = {row["method"]: row for row in table(tmp_path / "results/two/class_prior.csv")}
    assert set(rows) == {"SAR-EM", "EN"}
    for row in rows.values():
        assert row["error"] == ""
        assert row["n_rows"] == "683"
        error = float(row["estimate"]) - float(row["class_prior"])
        assert float(row["prior_error"]) == pytest.approx(error)
        assert abs(error) < 0.1  # classes of Breast Cancer are well apart, half are labelled
    written = (tmp_path / "RESULTS.md").read_text()
    assert "2 of 2 (100%)" in written
    assert f"{abs(float(rows['SAR-EM']['prior_error'])):.3f}" in written
    for name in ("class_prior", "class_prior_ranks"):
        assert (tmp_path / "figures" / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
        assert (tmp_path / "figures" / f"{name}.svg").read_text().lstrip().startswith("<?xml")
        assert f"(figures/{name}.png)" in written


def test_steps_say_which_step_comes_first(tmp_path):
    with pytest.raises(FileNotFoundError, match="experiments run"):
        report.main(tmp_path, tmp_path, page=None)
    with pytest.raises(FileNotFoundError, match="experiments report paper"):
        plot.plot(tmp_path, tmp_path)


@needs_data
def test_the_reduced_grid_is_part_of_the_full_one():
    folder = ROOT / "experiments" / "paper"
    grids = {
        name: {
            experiment.name: {cell.name for cell in experiment.cells()}
            for experiment in load_configuration(folder / f"{name}.toml").experiments
        }
        for name in ("reduced", "full")
    }
    assert grids["reduced"].keys() == grids["full"].keys()
    assert grids["reduced"]["three_attributes"] < grids["full"]["three_attributes"]
    assert grids["reduced"]["unbalanced"] < grids["full"]["unbalanced"]
    # 572 combinations of three attributes, five ways to assign folds, five methods; supervised
    # needs no attributes.
    assert len(grids["full"]["three_attributes"]) == 572 * 5 * 5 + 12 * 5
    # 90 attributes; mean 0.3 has 1 + 2 * 3 propensities, mean 0.5 has 1 + 2 * 5.
    assert len(grids["full"]["one_attribute"]) == 90 * 18 * 5 * 5 + 12 * 5
    assert len(grids["full"]["class_prior"]) == 11 * 5 * 11


@needs_data
@pytest.mark.parametrize("method", ["supervised", "SAR", "SCAR-c"])
def test_a_cell_gives_the_same_digits_every_time(method):
    fields = {
        "dataset": "Rec-Talk",
        "balance": "30% of positives",
        "features": "" if method == "supervised" else "com+edu+one",
        "repeat": 1,
        "folds": 1,
        "method": method,
        "C": 1.0,
        "decay": 0.9,
        "stop": "slope",
        "classifier": "logistic",
    }
    first, _ = measure(Cell("experiments.paper.three_attributes", fields))
    second, _ = measure(Cell("experiments.paper.three_attributes", fields))
    assert "error" not in first
    assert first == second
    assert first["n_positive"] == round(0.3 * 1949)
    assert 0.3 < first["f1"] < 0.9


def test_the_papers_tables_are_transcribed_whole():
    three, prior = (
        pd.read_csv(ROOT / "experiments" / "paper" / "published" / f"{name}.csv")
        for name in ("three_attributes", "class_prior")
    )
    assert three.groupby("method").size().to_dict() == dict.fromkeys(
        ["supervised", "SAR-e", "SAR", "multi-SCAR", "SCAR", "SCAR-c"], 12
    )
    f1 = three.pivot(index="dataset", columns="method", values="f1")
    assert f1.loc["Talk-Comp", ["supervised", "SAR-e", "SAR"]].tolist() == [0.89, 0.82, 0.80]
    assert round(f1["SAR"].mean(), 2) == 0.69
    assert len(prior) == 9
    # Ranks of nine methods are 5 in the mean, whatever they are of.
    assert prior["rank"].mean() == pytest.approx(5.0, abs=0.03)


def test_class_prior_table_ranks_complete_blocks():
    errors = {
        # block: SAR-EM, EN, DEDPUL (a later method: in rank_of_all alone)
        ("A", 0.1): (-0.1, 0.2, 0.05),
        ("A", 0.3): (0.3, -0.2, 0.05),
        ("B", 0.1): (0.1, 0.1, np.nan),
    }
    rows = pd.DataFrame(
        {
            "dataset": data,
            "label_frequency": frequency,
            "repeat": 0,
            "method": method,
            "prior_error": error,
            "estimate": 0.4 + error if error < 0.3 else 0.99,
        }
        for (data, frequency), values in errors.items()
        for method, error in zip(["SAR-EM", "EN", "DEDPUL"], values, strict=True)
    )
    found = analyse.class_prior_table(rows).set_index("method")
    assert found["blocks"].tolist() == [2, 2, 2]
    assert found.loc["SAR-EM", ["rank", "rank_of_all", "error", "bias"]].tolist() == pytest.approx(
        [1.5, 2.5, 0.2, 0.1]
    )
    assert found.loc["SAR-EM", ["gave_up", "error_else"]].tolist() == [1, 0.1]
    assert np.isnan(found.loc["DEDPUL", "rank"])
    assert found.loc["DEDPUL", "rank_of_all"] == 1.0


def test_settings_are_compared_on_the_same_rows():
    paper = {"C": 1.0, "decay": 0.9, "stop": "slope", "classifier": "logistic"}
    cells = [
        ("A", paper, 0.5),
        ("B", paper, 0.9),  # has no partner, and must not count
        ("A", paper | {"C": 10.0}, 0.6),
        ("A", paper | {"stop": "fixed_point"}, 0.4),
    ]
    rows = pd.DataFrame(
        {
            **{"dataset": data, "balance": "as is", "features": "a+b+c", "repeat": 0, "folds": 5},
            **{"method": "SAR"} | setting | dict.fromkeys(analyse.SCORES, f1),
        }
        for data, setting, f1 in cells
    )
    found = analyse.beyond_table(rows).set_index("setting")
    assert found.loc["C = 10", ["f1", "f1_paper"]].tolist() == [0.6, 0.5]
    assert found.loc["EM to its fixed point", ["f1", "f1_paper"]].tolist() == [0.4, 0.5]
