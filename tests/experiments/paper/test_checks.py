"""Claims of the paper are judged by the numbers, either way."""

import pandas as pd
import pytest
from experiments.harness.cells import load_configuration
from experiments.paper.grids import Grids

from conftest import needs_data
from experiments.paper import analyse, checks, headline, three_attributes, words


def prior_table(sarem_rank: float, sarem_error: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "method": ["SAR-EM", "AlphaMax", "DEDPUL"],
            "rank": [sarem_rank, 2.0, None],
            "error": [sarem_error, 0.05, 0.01],
        }
    )


@pytest.mark.parametrize(
    ("rank", "error", "holds"), [(1.5, 0.04, [True, True]), (3.0, 0.06, [False, False])]
)
def test_the_headline_is_judged_among_the_papers_methods(rank, error, holds):
    table = prior_table(rank, error)
    found = checks.headline_checks(table)
    assert [check.holds for check in found] == holds
    place = 1 if all(holds) else 2
    assert found[0].figure.startswith(f"place {place} of 2: ")
    assert "DEDPUL" not in found[1].figure  # later than the paper
    sentence = headline.place_of_sarem(table)
    assert ("As in the paper" in sentence) == all(holds)
    assert bool(words.headline(table)) != all(holds)


def test_scar_overestimates_the_label_frequency_only_if_no_cell_says_otherwise():
    rows = pd.DataFrame(
        {
            "dataset": "A",
            "method": ["SCAR", "SCAR", "SAR"],
            **{score: [0.5, 0.6, 0.7] for score in analyse.SCORES},
            "prior_error": [-0.1, 0.1, -0.1],
            "n_positive": 5,
            "n_rows": 10,
            "folds": 5,
        }
    )
    table = analyse.three_attributes_table(rows).set_index("method")
    assert table["prior_below"].to_dict() == {"SAR": 1, "SCAR": 1}
    assert table["cells"].to_dict() == {"SAR": 1, "SCAR": 2}


def test_stability_counts_the_cells_in_which_a_method_spreads_least():
    rows = pd.DataFrame(
        {
            "dataset": ["A", "A", "B", "B"],
            "features": "a+b+c",
            "method": ["EM", "scaled by 1/e"] * 2,
            "f1": [0.7, 0.6, 0.7, 0.6],
            "f1_sd": 0.01,
            "probability_sd": [0.1, 0.2, 0.3, 0.25],
            "above_one": [0.0, 0.2, 0.0, 0.4],
        }
    )
    table = analyse.stability_table(rows)
    assert table["steadier_in"].tolist() == [1, 1]
    (check,) = checks.stability_checks(table)
    assert check.holds
    assert "30.0% of the quotients exceed 1" in check.figure
    worse = table.assign(probability_sd=[0.3, 0.2])
    assert not checks.stability_checks(worse)[0].holds


def test_knowing_the_label_frequency_is_judged_for_each_kind_of_imbalance():
    f1 = {"supervised": 0.9, "SAR": 0.6, "SAR-e": 0.7, "SCAR": 0.4, "SCAR-c": 0.5}
    table = pd.DataFrame(
        {"balance": balance, "dataset": name, "method": method, "f1": value}
        for balance in ("as is", "30% of positives", "30% of negatives")
        for name in ("A", "B")
        for method, value in f1.items()
    )
    found = {check.claim: check.holds for check in checks.unbalanced_checks(table)}
    assert found["rare positives: knowing the label frequency helps, SCAR-c above SCAR"]
    assert not found["rare negatives: knowing the label frequency helps, SCAR-c above SAR"]


def test_imbalance_is_judged_by_the_distance_to_the_supervised_classifier():
    f1 = {"as is": (0.8, 0.7), "30% of positives": (0.6, 0.4), "30% of negatives": (0.9, 0.85)}
    table = pd.DataFrame(
        {"balance": balance, "dataset": name, "method": method, "f1": value}
        for balance, (supervised, sar) in f1.items()
        for name in ("A", "B")
        for method, value in {
            **{"supervised": supervised, "SAR": sar, "SAR-e": sar + 0.01},
            **{"SCAR": 0.3, "SCAR-c": 0.3},
        }.items()
    )
    found = {check.claim: check for check in checks.unbalanced_checks(table)}
    farther = "SAR falls farther behind the supervised classifier"
    assert found[f"rare positives: {farther}"].holds
    assert not found[f"rare negatives: {farther}"].holds
    assert found[f"rare negatives: {farther}"].figure == "by 0.050 in place of 0.100"
    assert found["rare negatives: knowing the propensity helps, SAR-e above SAR"].holds
    means = table.pivot_table(index="method", columns="balance", values="f1")
    text = words.unbalanced(means.drop(["SCAR", "SCAR-c"]), list(f1))
    assert "Keeping 30 % of the positives changes F1 by: supervised -0.200, SAR" in text
    assert text.index("Every method") < text.index("Not every method")


@pytest.mark.parametrize("better_everywhere", [True, False])
def test_what_a_known_label_frequency_is_worth_is_judged_where_scar_fails(better_everywhere):
    known = {0.0: 0.6, 0.2: 0.55, 0.4: 0.5}
    plain = {0.0: 0.7, 0.2: 0.5 if better_everywhere else 0.6, 0.4: 0.4}
    part = pd.DataFrame(
        {
            "dataset": name,
            "method": method,
            "difference": difference,
            "f1": value,
            "prior_below": 2 if better_everywhere else difference * 5,
            "cells": 2,
        }
        for name in ("A", "B")
        for method, values in (("SCAR-c", known), ("SCAR", plain))
        for difference, value in values.items()
    )
    falls, helps, over = checks.assumed_scar_checks(part, 0.5)
    assert falls.holds
    assert helps.holds == over.holds == better_everywhere
    assert f"Δc = 0.2 on {2 if better_everywhere else 0}, Δc = 0.4 on 2" in helps.figure
    assert over.figure == f"in {8 if better_everywhere else 6} of 8 cells"


def test_the_accuracy_of_a_learned_propensity_is_judged_by_that_of_the_true_one():
    part = pd.DataFrame({"difference": 0.2, "method": ["SAR", "SAR-e"]})
    near = checks.propensity_accuracy_check(part.assign(propensity_accuracy=[0.6, 0.62]), "here")
    far = checks.propensity_accuracy_check(part.assign(propensity_accuracy=[0.6, 0.65]), "here")
    assert (near.holds, far.holds) == (True, False)
    assert far.figure == "at most 0.050"


@needs_data
def test_each_repeat_has_labels_of_its_own(tmp_path):
    (tmp_path / "two.toml").write_text(
        '[three]\nmodule = "experiments.paper.three_attributes"\ndatasets = ["Rec-Talk"]\n'
        "combinations = 1\nrepeats = 3\nfolds = 1\n"
    )
    (experiment,) = load_configuration(tmp_path / "two.toml").experiments
    cells = [cell.fields for cell in experiment.cells()]
    drawn = {cell["repeat"]: cell.get("labelling") for cell in cells if cell["method"] == "SAR"}
    assert drawn == {0: None, 1: 1, 2: 2}
    assert all("labelling" not in cell for cell in cells if cell["method"] == "supervised")
    found = [
        three_attributes.measure(**cell)["n_labelled"] for cell in cells if cell["method"] == "SAR"
    ]
    assert len(set(found)) == 3


def test_how_far_the_repeats_are_is_told(tmp_path):
    folder = tmp_path / "full"
    (folder / "tables").mkdir(parents=True)
    pd.DataFrame({"dataset": ["A"], "method": ["SAR"]}).to_csv(
        folder / "tables" / "three_attributes.csv", index=False
    )
    rows = [("A", "a", "SAR", 0, 0.5), ("A", "a", "SAR", 1, 0.7), ("A", "b", "SAR", 0, 0.6)]
    cells = pd.DataFrame(rows, columns=["dataset", "features", "method", "repeat", "f1"])
    cells.assign(error="").to_csv(folder / "three_attributes.csv", index=False)
    text = words.labellings(Grids(tmp_path))
    assert "repeat 0 2 cells, repeat 1 1 cells" in text
    assert "between labellings of one combination: SAR 0.141" in text
