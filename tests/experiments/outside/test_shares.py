"""Shares of positives in other people's tables: protocols, our PULSCAR, and their report."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from experiments.harness.cells import load_configuration
from scipy.special import expit

from conftest import needs_data
from experiments.outside import hidden, pu_bench, pulscar, pulsnar, purple, shares, weak

HERE = Path(shares.__file__).parent
TABLES_OF_THE_PAPER = {
    "SNAR_letter_recognition": "letter",
    "SNAR_dry_beans": "dry bean",
    "SNAR_anuran": "anuran, numbered",
    "SNAR_occupancy": "room",
    "SNAR_shuttle": "shuttle",
    "SCAR_wilt": "wilt",
    "SCAR_electric_grid": "grid, stab",
    "SCAR_mouse_protein": "mice",
}


def hidden_by_class(classes, negative, hide, alpha, seed=0):
    counts = pd.Series(classes).value_counts(sort=False)
    positives = pulsnar.Counter(counts.drop(negative).to_dict())
    rng = np.random.RandomState(seed)
    given = pulsnar.Labelling(np.array(classes), positives, int(counts[negative]), alpha, rng)
    rows = np.concatenate(list(hide(given)))
    assert len(set(rows)) == len(rows)
    return pd.Series(np.array(classes)[rows]).value_counts().to_dict()


def test_positives_are_hidden_in_the_shares_of_the_study():
    letters = [*"D" * 620, *"A" * 700, *"B" * 600, *"C" * 500]
    hidden = hidden_by_class(letters, "D", pulsnar.doubling, 0.5)
    assert hidden == {"C": 89, "B": 177, "A": 354}  # 620 in sevenths
    hidden = hidden_by_class(letters, "D", pulsnar.halving, 0.1)
    assert hidden == {"A": 39, "B": 19, "C": 9}  # 69, rounded down
    hidden = hidden_by_class(letters, "D", pulsnar.alike, 0.1)
    assert hidden == {"A": 24, "B": 24, "C": 24}
    assert hidden_by_class([*"D" * 30, *"A" * 90], "D", pulsnar.doubling, 0.5) == {"A": 30}


@pytest.mark.parametrize("seed", range(3))
def test_as_many_of_the_two_large_classes_of_shuttle_stay(seed):
    classes = [*"1" * 6000, *"4" * 1500, *"5" * 600, *"2" * 40]
    hidden = hidden_by_class(classes, "1", pulsnar.shuttle, 0.2, seed)
    assert sum(hidden.values()) == 1500
    assert abs((1500 - hidden["4"]) - (600 - hidden["5"])) <= 1
    assert 8 <= hidden["2"] < 40
    hidden = hidden_by_class(classes, "1", pulsnar.shuttle, 0.05, seed)
    assert abs(hidden["4"] - hidden["5"]) <= 1  # 600 are too few for that


@needs_data
@pytest.mark.parametrize(
    ("name", "rows", "columns", "labelled", "alpha"),
    [  # of the data's description: what is labelled at the largest share
        ("letter", 4639, 16, 2627, 0.6),
        ("dry bean", 13611, 16, 7702, 0.4),
        ("anuran, numbered", 7127, 23, 3518, 0.4),
        ("anuran", 7127, 22, 3518, 0.4),
        ("room", 10129, 16, 8631, 0.5),
        ("wilt", 4839, 5, 2229, 0.9),
        ("grid", 10000, 12, 950, 0.6),
        ("grid, stab", 10000, 13, 950, 0.6),
        ("mice", 1080, 77, 230, 0.4),
    ],
)
def test_tables_and_their_labels(name, rows, columns, labelled, alpha):
    assert pulsnar.TABLES[name].alphas[-1] == alpha
    given = pulsnar.drawn(name, alpha, 1.0, 0)
    assert given.X.shape == (rows, columns)
    assert np.isfinite(given.X).all()
    # Of some the rounding of their program is off by a few rows.
    assert given.s.sum() == pytest.approx(labelled, abs=3)
    assert given.y[~given.s].mean() == pytest.approx(alpha, abs=0.002)
    assert given.y[given.s].all()
    again = pulsnar.drawn(name, alpha, 1.0, 0)
    np.testing.assert_array_equal(again.s, given.s)


@needs_data
@pytest.mark.filterwarnings("ignore")  # as the runner does
def test_a_cell_of_the_protocol():
    found = pulsnar.measure("mice", 0.4, 1.0, 0, "none")
    assert found["truth_alpha"] == pytest.approx(0.4, abs=0.001)
    assert abs(found["class_prior_alpha"] - 0.4) < 0.1
    assert found["low_alpha"] < found["class_prior_alpha"] < found["high_alpha"]
    estimates = [pulsnar.measure("mice", 0.4, 1.0, 0, n) for n in ("DEDPUL", "PULSCAR")]
    assert all(abs(found["class_prior_alpha"] - 0.4) < 0.15 for found in estimates)


@needs_data
def test_thinning_changes_the_share_of_positives_and_not_alpha():
    whole, thinned = (pulsnar.drawn("letter", 0.3, kept, 1) for kept in (1.0, 0.2))
    assert thinned.y[~thinned.s].mean() == whole.y[~whole.s].mean()
    assert thinned.s.sum() == pytest.approx(0.2 * whole.s.sum(), rel=0.1)
    assert thinned.y.mean() < whole.y.mean() - 0.2


def test_pulscar_finds_the_share_of_separated_scores():
    rng = np.random.default_rng(0)
    labelled = rng.beta(8, 2, 2000)
    unlabelled = np.concatenate([rng.beta(8, 2, 1200), rng.beta(2, 8, 2800)])
    assert pulscar.share_of_positives(unlabelled, labelled) == pytest.approx(0.3, abs=0.05)
    # A density adds up to one, and is near the histogram where the bandwidth is small.
    points = np.linspace(0, 1, 32)
    assert pulscar.density(labelled, points, 0.02).sum() == pytest.approx(1)
    assert points[pulscar.density(labelled, points, 0.02).argmax()] == pytest.approx(0.87, abs=0.06)


def test_purple_and_ours_find_the_ratio_and_labels_alone_do_not():
    cell = {"rule": "overlap", "gap": -2, "frequency": 0.3, "difference": 0.0, "rows_of_b": 20_000}
    found = {name: purple.measure(**cell, repeat=0, method=name) for name in purple.METHODS}
    assert len({row["truth"] for row in found.values()}) == 1
    assert abs(found["true classes"]["log2_error"]) < 0.1
    assert found["labels taken for classes"]["log2_error"] == pytest.approx(
        np.log2(0.5 / 0.3), abs=0.1
    )
    assert abs(found["PURPLE"]["log2_error"]) < 0.15
    ours = found["relative_prevalence, linear"]
    assert abs(ours["log2_error"]) < 0.15
    assert ours["low"] < ours["ratio"] < ours["high"]


@pytest.mark.parametrize(("rule", "rate"), [("overlap", 1.0), ("overlaid", 0.75)])
def test_rules_of_purple(rule, rate):
    rng = np.random.default_rng(1)
    X, y = purple.group(rule, 1.0, 0.1, 40_000, rng)
    assert y.mean() == pytest.approx(rate * expit(X.mean(axis=1)).mean() + 0.1, abs=0.02)
    X, y = purple.group("separable", 1.0, 0.0, 40_000, rng)
    assert len(y) < 20_000
    np.testing.assert_array_equal(y, X.mean(axis=1) > 0)


def test_hidden_labelling_follows_the_score_or_the_subtype():
    rng = np.random.default_rng(3)
    means = []
    for strength in (-1, 0, 2):
        given, g = hidden.by_score("bent", strength, rng)
        assert given.propensity[given.y].mean() == pytest.approx(hidden.FREQUENCY)
        means.append(np.corrcoef(given.propensity, g[:, 0])[0, 1] if strength else 0)
    assert means[0] < -0.5 < means[1] < 0.5 < means[2]
    given, nearest = hidden.by_subtype("far", 2, rng)
    kind = nearest[given.s] @ [1, 2]
    assert set(kind) == {0, 1}  # positives of the third are never labelled
    found = hidden.memberships(given)
    assert found.shape[1] >= 1
    assert abs(np.corrcoef(found[given.s][:, 0], kind)[0, 1]) > 0.8


@pytest.mark.filterwarnings("ignore")
def test_a_cell_of_hidden_labelling():
    cell = {"seed": 0, "follows": "subtypes", "table": "far", "strength": 1}
    found = {n: hidden.measure(**cell, learner=n) for n in ("none", "told", "by cluster")}
    assert len({row["truth"] for row in found.values()}) == 1
    off = {name: abs(row["class_prior"] - row["truth"]) for name, row in found.items()}
    assert max(off["told"], off["by cluster"]) < off["none"]


def test_cells_that_choose_and_that_judge_are_apart():
    choose, judge = load_configuration(HERE / "hidden.toml").experiments
    tables = [{cell.fields["table"] for cell in part.cells()} for part in (choose, judge)]
    assert not tables[0] & tables[1]


def test_the_rule_for_ways_without_a_named_column():
    rows = [("subtypes", "a", 1), ("subtypes", "a", 0), ("score", "b", 0), ("score", "b", 1)]
    by = pd.DataFrame(
        {"none": [0.2, 0.1, 0.1, 0.2], "score": 0.3, "clusters": 0.2, "by cluster": 0.12},
        index=pd.MultiIndex.from_tuples(rows, names=["follows", "table", "strength"]),
    ).sort_index()
    said = shares.verdict(by).split("; ")
    assert [part.rstrip(".\n").split(": it ")[1] for part in said] == [
        *("stays out", "stays out", "enters")
    ]
    by.loc[("score", "b", 0), "by cluster"] = 0.13
    assert shares.verdict(by).rstrip(".\n").endswith("it stays out")


def test_mechanisms_of_pu_bench_prefer_whom_they_should():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(6000, 2))
    y = rng.random(6000) < expit(2 * X[:, 0])
    mean = {}
    for mechanism in ("random", "lbe A", "lbe B", "pusb"):
        rows = pu_bench.collected(mechanism, 0.2, X, y, rng)
        assert y[rows].all()
        assert len(set(rows)) == len(rows) == int(0.2 * y.sum())
        mean[mechanism] = X[rows, 0].mean()
    assert mean["lbe B"] < mean["random"] < mean["pusb"] < mean["lbe A"]


@needs_data
@pytest.mark.filterwarnings("ignore")
def test_a_cell_of_pu_bench():
    found = pu_bench.measure(2, "Mushrooms", "random", 0.5, "SARClassifier, class prior")
    assert found["accuracy"] > 0.95
    assert pu_bench.measure(2, "Mushrooms", "random", 0.5, "supervised")["accuracy"] > 0.99
    with pytest.raises(ValueError, match="data_set is Mushrooms or Spambase; got 'Connect-4'"):
        pu_bench.measure(2, "Connect-4", "random", 0.5, "supervised")


@pytest.mark.filterwarnings("ignore")
def test_shuffled_columns_say_nothing():
    cell = {"data_set": "sim:threshold", "case": "scar", "draw": 0, "seed": 0, "max_rows": 2000}
    found = [weak.measure(**cell, signal=s, learner="none") for s in ("real", "shuffled")]
    # On the rows of the fit, whose labels trees remember.
    assert found[0]["auc"] > found[1]["auc"] + 0.15
    assert found[0]["truth"] == found[1]["truth"]


@needs_data
def test_published_errors_are_those_of_the_authors_estimates():
    rows = pulsnar.read("paper_results")
    rows = rows[rows["sheet"].isin(TABLES_OF_THE_PAPER)]
    error = (rows["est_alpha"] - rows["true_alpha"]).abs()
    key = [rows["sheet"].map(TABLES_OF_THE_PAPER), rows["algorithm"].replace("TICE", "TIcE")]
    theirs = error.groupby(key).mean().unstack()
    found = shares.published_errors()
    np.testing.assert_allclose(found, theirs.loc[found.index, found.columns], atol=1e-6)


def test_grids_hold_every_table_and_variant():
    grid = load_configuration(HERE / "shares.toml")
    found = {one.name: [cell.fields for cell in one.cells()] for one in grid.experiments}
    assert {cell["data_set"] for cell in found["pulsnar"]} == set(pulsnar.TABLES)
    assert set(shares.SNAR + shares.SCAR) == set(pulsnar.TABLES)
    assert {cell["kept"] for cell in found["pulsnar_thinned"]} == {0.2, 0.05}
    assert {cell["method"] for cell in found["purple"]} == set(purple.METHODS)
    assert {cell["signal"] for cell in found["weak"]} == {"real", "shuffled"}


def test_the_report_follows_the_tables(tmp_path):
    alphas = [0.1, 0.3]
    row = {"iteration": 0, "kept": 1.0, "rows": 1000, "labels": 200, "word": 0, "error": None}
    row |= {"data_set": "letter", "truth": 0.5, "low_alpha": 0.0, "high_alpha": 0.2}
    rows = [
        row | {"learner": n, "alpha": a, "truth_alpha": a, "class_prior_alpha": a + off}
        for n, off in (("none", -0.15), ("DEDPUL", 0.05))
        for a in alphas
    ]
    (tmp_path / "shares").mkdir()
    pd.DataFrame(rows).to_csv(tmp_path / "shares" / "pulsnar.csv", index=False)
    text = shares.text(tmp_path)
    assert "| letter | 0.150 | 0.050 | 0.038 | 0.194 | 0.176 | 0.164 | 0.148 | 0.200 |" in text
    assert "| letter | -0.150 | -0.150 |" in text
    assert "| **`SARClassifier(())`** | SNAR | 50% | 100% | 100% |" in text
    assert text.count("Not measured yet.") == 3
