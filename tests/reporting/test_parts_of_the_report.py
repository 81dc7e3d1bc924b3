"""Review curve, reasons, odds with few rows, labels seen and expected, origin: their numbers."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier

from conftest import make_pu
from sarlearn import SAREMClassifier
from sarlearn._view.parts import take_apart
from sarlearn.cli import run
from sarlearn.reporting import Report, report, summarize, words
from sarlearn.reporting.candidates import reasons, review
from sarlearn.reporting.effects import classifier_odds, propensity_odds, typical_values
from sarlearn.reporting.figures import figures
from sarlearn.tables import make_table_classifier
from table_data import patients

LEFT_OUT = ["patient_id", "diagnosed"]


@pytest.fixture(scope="module")
def table():
    return patients(1200)[0]


@pytest.fixture(scope="module")
def model(table):
    model = make_table_classifier(
        ["age", "plan"], drop=LEFT_OUT, method="cross-fit", cv=2, random_state=0
    )
    return model.fit(table, table["diagnosed"])


@pytest.fixture(scope="module")
def found(model, table):
    return summarize(model, table, table["diagnosed"], command="sarlearn fit p.csv")


def test_the_review_curve_adds_up_posteriors(model, table, found):
    s = table["diagnosed"].to_numpy()
    posterior = np.sort(model.predict_posterior(table, s)[s == 0])[::-1]
    steps = {step["checked"]: step for step in found["review"]["steps"]}
    assert list(steps) == [10, 20, 50, 100, 200, 500, len(posterior)]
    for checked, step in steps.items():
        assert step["expected"] == pytest.approx(posterior[:checked].sum())
        assert 0 <= step["low"] <= step["high"] <= checked + 1e-9
    last = steps[len(posterior)]
    low, high = found["certainty"]["hidden_positives"]
    assert (last["low"], last["high"]) == pytest.approx((low, high))
    assert f"should find about {steps[100]['expected']:.0f} positives" in found["text"]["review"]


def test_a_range_moves_all_odds_by_one_factor():
    posterior = expit(np.linspace(-3, 3, 50))
    found = review(posterior, [10.0, 40.0])
    low = np.diff([0, *[step["low"] for step in found["steps"]]])
    assert low[0] / 10 > low[-1] / 20
    assert found["low"][-1] == pytest.approx(10)
    assert found["high"][-1] == pytest.approx(40)
    shifted = expit(np.sort(logit(posterior))[::-1] + 1.0)
    again = review(posterior, [shifted.sum(), shifted.sum()])
    assert again["steps"][0]["low"] == pytest.approx(shifted[:10].sum())
    none = review(posterior, None)
    assert none["low"] is None
    assert "low" not in none["steps"][0]


def test_reasons_of_a_logistic_model_are_its_terms():
    data = make_pu(500, 4)
    model = SAREMClassifier([0]).fit(data.X, data.s)
    rows = np.array([3, 7])
    why = reasons(take_apart(model, data.X), rows)
    terms = (data.X[rows] - data.X.mean(axis=0)) * model.coef_[0]
    for because, term in zip(why, terms, strict=True):
        order = [j for j in np.argsort(-term)[:3] if term[j] > 0.05]
        assert [reason["attribute"] for reason in because] == [f"x{j}" for j in order]
        np.testing.assert_allclose([r["factor"] for r in because], np.exp(term[order]))


def test_reasons_of_any_classifier_name_what_made_the_difference():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 4))
    s = (X[:, 1] > 0.5) & (rng.random(800) < 0.7)
    trees = HistGradientBoostingClassifier(max_iter=20, max_bins=32, early_stopping=False)
    model = SAREMClassifier(classifier=trees, tol=0.1).fit(X, s)
    rows = np.flatnonzero(X[:, 1] > 1)[:5]
    why = reasons(take_apart(model, X), rows)
    assert {because[0]["attribute"] for because in why} == {"x1"}
    assert all(because[0]["factor"] > 2 for because in why)


def test_a_report_on_trees_has_curves_for_coefficients(sketched):
    data = make_pu(400, 3)
    trees = HistGradientBoostingClassifier(max_iter=3, max_bins=8, early_stopping=False)
    model = SAREMClassifier([0], classifier=trees, tol=0.1).fit(data.X, data.s)
    page = report(model, data.X, data.s)
    curves = page.to_dict()["classifier"]["curves"]
    assert [curve["feature"] for curve in curves][:1] == [
        page.to_dict()["classifier"]["importance"][0]["attribute"]
    ]
    assert "Curve: mean class probability by x" in page.to_html()
    assert "The strongest effects" not in page.to_html()
    assert "nonlinear" not in page.to_dict()["label_fit"]["problems"]


def test_a_level_with_a_handful_of_rows_gets_no_ratio(sketched):
    table, _, _ = patients(1200)
    table.loc[:11, "plan"] = "rare"
    table.loc[:11, "diagnosed"] = 0
    table.loc[0, "diagnosed"] = 1
    model = make_table_classifier(["plan"], drop=LEFT_OUT).fit(table, table["diagnosed"])
    s = table["diagnosed"].to_numpy()
    parts, posterior = take_apart(model, table), model.predict_posterior(table, s)
    rows = {row["level"]: row for row in propensity_odds(parts, s == 1, posterior)}
    assert rows["plan = rare"]["few"]
    assert (rows["plan = rare"]["rows"], rows["plan = rare"]["labelled"]) == (12, 1)
    assert not any(rows[f"plan = {name}"]["few"] for name in ("none", "basic", "full"))
    assert list(rows)[-1] == "plan = rare"
    assert "plan = rare" not in [r["level"] for r in classifier_odds(parts, s == 1, posterior)]
    page = report(model, table, s).to_html()
    assert "Too few rows to say: 12 rows, 1 of them labelled." in page
    assert "&gt; 1000" not in page


def test_typical_values_are_apart_also_where_most_are_equal():
    assert typical_values(np.arange(101.0)) == (25, 75)
    assert typical_values(np.array([0.0] * 95 + [7.0] * 5)) == (0, 7)
    assert typical_values(np.full(10, 3.0)) == (3, 3)


def test_labels_seen_and_expected_by_group(model, table, found):
    s = table["diagnosed"].to_numpy()
    predicted = model.predict_proba(table)[:, 1] * model.predict_propensity(table)
    tenths = found["label_fit"]["by_score"]
    assert sum(row["observed"] for row in tenths) == pytest.approx(s.sum())
    assert sum(row["expected"] for row in tenths) == pytest.approx(predicted.sum())
    groups = found["label_fit"]["groups"]
    plan = [row for row in groups if row["attribute"] == "plan"]
    for row in plan:
        here = (table["plan"] == row["group"]).to_numpy()
        assert row["labelled"] == s[here].sum()
        assert row["expected"] == pytest.approx(predicted[here].sum())
    distances = [abs(row["deviation"]) for row in groups]
    assert distances == sorted(distances, reverse=True)
    assert found["label_fit"]["n_off"] == 0


def test_labels_that_the_model_cannot_explain_are_told(table):
    """Labelling follows the region, which nobody named."""
    rng = np.random.default_rng(0)
    chance = np.where(table["region"] == "north", 0.9, 0.1)
    s = ((table["smoker"] | (table["bmi"] > 30)) & (rng.random(len(table)) < chance)).astype(int)
    model = make_table_classifier(["age"], drop=LEFT_OUT, C=0.001).fit(table, s)
    found = summarize(model, table, s)
    assert found["label_fit"]["n_off"] > 0
    assert "most where region is north" in found["text"]["label_fit"]


def test_how_groups_compare(found):
    by = {table["by"]: table["groups"] for table in found["groups"]}
    assert list(by)[:2] == ["age", "plan"]
    assert len(by) == 4
    for row in by["plan"]:
        assert row["low"] <= row["ratio"] <= row["high"]


def test_where_it_comes_from(sketched, found):
    origin = found["origin"]
    assert origin["command"] == "sarlearn fit p.csv"
    assert origin["seed"] == 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d[+-]\d\d:\d\d", origin["date"])
    assert {"sarlearn", "Python", "numpy", "scipy", "scikit-learn"} <= set(origin["versions"])
    page = Report(found).to_html()
    assert "<code>sarlearn fit p.csv</code>" in page


def test_how_the_columns_were_read(found, table):
    rows = {row["column"]: row for row in found["columns"]}
    assert rows["bmi"]["gaps"] == table["bmi"].isna().sum()
    assert rows["plan"]["distinct"] == 3
    assert "who gets labelled" in rows["plan"]["note"]
    assert rows["patient_id"]["kind"] == "left out"


def test_no_powers_of_ten_in_the_text():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"amount": rng.normal(5e5, 2e5, 600), "share": rng.random(600) * 1e-4})
    s = (table["amount"] > 5.5e5) & (rng.random(600) < 0.5)
    model = make_table_classifier(["share"], tol=1e-2).fit(table, s)
    page = report(model, table, s).to_html()
    text = re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL)
    assert re.findall(r"\d(?:\.\d+)?e[+-]\d+", text) == []


def test_terminal_json_and_page_warn_of_the_same(sketched, tmp_path, capsys):
    table = patients(400)[0]
    table.to_csv(tmp_path / "p.csv", index=False)
    fit = ["fit", str(tmp_path / "p.csv"), "--label", "diagnosed", "--id", "patient_id", "--json"]
    fit += ["-o", str(tmp_path / "m.skops"), "--report", str(tmp_path / "r.html")]
    assert run([*fit, "--method", "sar-em"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    printed = [line.removeprefix("Warning: ") for line in err.splitlines()]
    assert sorted(printed) == sorted(found["warnings"])
    assert any("No propensity attribute was named" in text for text in printed)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for sentence in found["warnings"]:
        assert sentence.replace("'", "&#39;") in page
    assert found["origin"]["command"].startswith("sarlearn fit ")


@pytest.mark.parametrize(
    ("by_design", "labels_only", "said", "source"),
    [
        (True, None, "the class prior and its interval hold whatever", "the checked rows"),
        (False, 0.4, "What was given about the class prior is right", "the labels"),
        (False, None, "rows that are surely positive", "the labels"),
    ],
)
def test_what_the_level_rests_on_is_said(sketched, found, by_design, labels_only, said, source):
    sketched.add("review")
    certainty = found["certainty"] | {"by_design": by_design, "labels_only": labels_only}
    changed = found | {"certainty": certainty}
    assert said in words.assumptions_of(changed)[2]
    assert f"range that {source} admit" in figures(changed)["review"]["svg"]
