"""Review curve, reasons, odds with few rows, observed labels, origin: their numbers."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier

from conftest import make_pu
from sarlearn import SARClassifier, SAREMClassifier
from sarlearn._view.parts import take_apart
from sarlearn.audit import suggest_audit
from sarlearn.cli import run
from sarlearn.exceptions import TrustWarning
from sarlearn.reporting import Report, report, summarize, words
from sarlearn.reporting.candidates import N_BACKGROUND, reasons, review, shifted
from sarlearn.reporting.effects import propensity_odds, typical_values
from table_data import patients, sarem_of_table

LEFT_OUT = ["patient_id", "diagnosed"]


@pytest.fixture(scope="module")
def table():
    return patients(1200)[0]


@pytest.fixture(scope="module")
def model(table):
    return SARClassifier(["age", "plan"], max_iter=40).fit(
        table.drop(columns=LEFT_OUT), table["diagnosed"]
    )


@pytest.fixture(scope="module")
def found(model, table):
    X, s = table.drop(columns=LEFT_OUT), table["diagnosed"]
    return summarize(model, X, s, command="sarlearn fit p.csv")


def test_one_number_wherever_it_is_told(model, table, found):
    """Hidden positives are the class prior's, and so is every sum; ends are those of its range."""
    n, s = len(table), table["diagnosed"].to_numpy()
    low, high = (end * n - s.sum() for end in model.class_prior_range_)
    hidden = model.class_prior_ * n - s.sum()
    assert found["estimates"]["hidden_positives"] == pytest.approx(hidden)
    assert found["estimates"]["hidden_share"] == pytest.approx(hidden / (n - s.sum()))
    assert found["certainty"]["hidden_positives"] == pytest.approx([low, high])
    last = found["review"][-1]
    assert last["checked"] == n - s.sum()
    assert (last["expected"], last["low"], last["high"]) == pytest.approx((hidden, low, high))
    for attribute in found["propensity"]["attributes"]:
        groups = attribute["groups"]
        assert sum(group["hidden"] for group in groups) == pytest.approx(hidden)
        assert sum(group["ends"][0] for group in groups) == pytest.approx(low)
        assert sum(group["ends"][1] for group in groups) == pytest.approx(high)
    needed = suggest_audit(
        model, table.drop(columns=LEFT_OUT), s, n=37, random_state=5
    ).rows_needed()
    assert found["certainty"]["rows_for_5_points"] == needed
    assert f"about {needed:,} " in found["verdict"]["next"]
    assert found["verdict"]["command"] == f"sarlearn.audit.suggest_audit(model, X, s, n={needed})"
    page = Report(found).to_html()
    assert page.count(f"{words.about(hidden)}<") + page.count(f" {words.about(hidden)} ") >= 3


def test_the_group_that_is_overlooked_most_is_named(found):
    groups = [(a, g) for a in found["propensity"]["attributes"] for g in a["groups"]]
    known = [pair for pair in groups if pair[1]["hidden"] >= words.ENOUGH]
    most = min(known, key=lambda pair: pair[1]["labelled"] / pair[1]["positives"])
    assert f"rows with {words.group_text(*most)}: about" in found["text"]["overlooked"]


def test_the_review_curve_adds_up_posteriors(model, table, found):
    summary = found
    s = table["diagnosed"].to_numpy()
    posterior = model.predict_posterior(table.drop(columns=LEFT_OUT), s)[s == 0]
    posterior = np.sort(posterior)[::-1]
    steps = {step["checked"]: step for step in found["review"]}
    assert list(steps) == [10, 20, 50, 100, 200, 500, len(posterior)]
    for checked, step in steps.items():
        assert step["expected"] == pytest.approx(posterior[:checked].sum())
        assert 0 <= step["low"] <= step["expected"] <= step["high"] <= checked + 1e-9
    found = f"about {steps[100]['expected']:.0f} should be positive"
    assert found in summary["text"]["review"]


def test_a_range_moves_all_odds_by_one_factor():
    posterior = expit(np.linspace(-3, 3, 50))
    one = np.ones(50)
    moved = shifted(posterior, 10.0, one)
    assert moved.sum() == pytest.approx(10)
    assert np.ptp(logit(moved) - logit(posterior)) == pytest.approx(0, abs=1e-9)
    assert shifted(posterior, 0.0, one).tolist() == [0.0] * 50
    found = review([posterior, moved, shifted(posterior, 40.0, one)], 3 * one)
    assert (found[-1]["low"], found[-1]["high"]) == pytest.approx((30, 120))
    none = review([posterior], one)
    assert "low" not in none[0]


def test_weights_that_are_not_whole_leave_no_gap():
    posterior = expit(np.linspace(-3, 3, 50))
    last = review([posterior, posterior / 2, posterior], np.full(50, 0.995))[-1]
    assert last["checked"] == 50
    assert last["high"] == pytest.approx(last["expected"])


def test_a_row_of_weight_3_counts_as_three_rows():
    posterior = expit(np.linspace(-3, 3, 50))
    of_weight, of_copies = review([posterior], np.full(50, 3.0)), np.repeat(posterior, 3)
    assert of_weight == [
        {key: pytest.approx(value) for key, value in step.items()}
        for step in review([of_copies], np.ones(150))
    ]


def test_the_range_of_a_few_checked_rows_has_their_sampling_noise():
    """Ten rows of posterior .8: 8 found on average, 5 to 10 in all but few draws."""
    posterior = np.full(1000, 0.8)
    first = review([posterior, posterior - 1e-9, posterior + 1e-9], np.ones(1000))[0]
    noise = 1.96 * np.sqrt(10 * 0.8 * 0.2 * (1 - 10 / 1000))
    assert first["low"] == pytest.approx(8 - noise)
    assert first["high"] == pytest.approx(10)


def test_odds_of_terms_are_those_of_predict_propensity(model, table, found):
    """Odds ratios and their intervals against the model's own predictions."""
    odds = {row["level"]: row for row in found["propensity"]["odds"]}
    X = table.drop(columns=LEFT_OUT)

    def logits(**changed):
        return logit(model.predict_propensity(X.assign(**changed))[0])

    low, high = X["age"].quantile([0.25, 0.75], interpolation="nearest")
    change = logits(age=high) - logits(age=low)
    assert odds[f"age = {high:g}"]["odds_ratio"] == pytest.approx(np.exp(change))
    change = logits(plan="full") - logits(plan="none")
    ratio = odds["plan = full"]["odds_ratio"] / odds["plan = none"]["odds_ratio"]
    assert ratio == pytest.approx(np.exp(change))
    (age,) = np.flatnonzero(model.attributes_.column == X.columns.get_loc("age"))
    error = model.propensity_coef_se_[0, age] * (high - low)
    row = odds[f"age = {high:g}"]
    np.testing.assert_allclose(np.log(row["high"] / row["odds_ratio"]), 1.96 * error)
    np.testing.assert_allclose(np.log(row["low"] / row["odds_ratio"]), -1.96 * error)


def test_standard_errors_of_the_propensity_are_those_of_many_draws():
    """In tables drawn anew, coefficients vary about as much as their standard errors say."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1500, 3))
        s = (rng.random(1500) < expit(2 * X[:, 0] + X[:, 1])) & (rng.random(1500) < expit(X[:, 2]))
        model = SARClassifier([2], class_models=["linear"]).fit(X, s)
        found.append([model.propensity_coef_[0, 0], model.propensity_coef_se_[0, 0]])
    coefs, errors = np.transpose(found)
    assert 0.7 < np.std(coefs, ddof=1) / errors.mean() < 1.4
    assert np.mean(np.abs(coefs - 1) < 1.96 * errors) >= 0.8


def test_verdicts(found):
    certainty = found["certainty"] | {"by_design": False}
    for word, name, kind in (
        ("well", "Well determined", "well"),
        ("roughly", "Rough", "rough"),
        ("not at all", "Not determined by these labels", "open"),
    ):
        fit = found["label_fit"] | {"problems": {}}
        changed = found | {"certainty": certainty | {"word": word}, "label_fit": fit}
        verdict = words.verdict_of(changed)
        assert (verdict["name"], verdict["kind"], verdict["nothing"]) == (name, kind, False)
        page = Report(changed | {"verdict": verdict}).to_html()
        assert f'<div class="verdict {kind}"' in page
        assert name in page


def test_why_a_class_prior_is_uncertain_is_told(model, found):
    """Each cause with its share of the width, the largest first; what hardly counts is left out."""
    causes = found["certainty"]["causes"]
    assert causes == pytest.approx(model.range_causes_)
    assert sum(causes.values()) == pytest.approx(1)
    changed = {"labels": 0.65, "class models": 0.3, "columns": 0.0, "assumptions": 0.05}
    said = words.range_text(found | {"certainty": found["certainty"] | {"causes": changed}})
    assert "about nine cases in ten. What makes it wide: chance, with " in said
    assert said.endswith("rows (65%) and class models that disagree (30%).")
    assert found["text"]["range"] in words.details(found)
    rough = found | {"verdict": found["verdict"] | {"kind": "rough"}}
    assert found["text"]["range"] in words.brief(rough)


def test_a_range_of_one_number_is_no_range(found):
    steps = [step | {"low": 9.6, "high": 10.0} for step in found["review"]]
    page = Report(found | {"review": steps}).to_html()
    assert "about 10</td>" in page
    assert "10 to 10" not in page


def test_where_nothing_can_be_said_the_report_ends(table):
    """A column that follows from the label: the reason, the remedy, and no number."""
    s = table["diagnosed"].to_numpy()
    X = table.drop(columns=LEFT_OUT).assign(code=np.where(s == 1, 1.0, 0.0))
    with pytest.warns(TrustWarning):
        model = SARClassifier(["age"], max_iter=20).fit(X, s)
    page = report(model, X, s)
    verdict = page.to_dict()["verdict"]
    assert verdict["nothing"]
    assert "code" in verdict["reason"]
    assert verdict["next"] == "Fit again without it (--drop code)."
    html = page.to_html()
    assert verdict["reason"].replace("'", "&#39;") in html
    for anchor in ("sure", "candidates", "overlooked", "describes"):
        assert f'id="{anchor}"' not in html
    assert 'class="tiles"' not in html
    assert "compatible with" not in page.to_dict()["text"]["headline"]


def test_every_column_named_is_told_as_the_reason(table):
    X, s = table[["age", "pressure"]], table["diagnosed"]
    with pytest.warns(TrustWarning):
        model = SARClassifier(["age", "pressure"], max_iter=20).fit(X, s)
    found = report(model, X, s)
    verdict = found.to_dict()["verdict"]
    assert verdict["nothing"]
    assert verdict["reason"].startswith("Every column may decide who gets labelled.")
    assert words.brief(found.to_dict())[1:] == [
        f"Not determined by these labels: {verdict['reason']}",
        f"Next: {verdict['next']}",
    ]
    assert repr(found).startswith("<Report: The labels do not say how many of the ")


def test_the_trees_are_asked_once_for_three_predictions(model, table, monkeypatch):
    X, asked = table.drop(columns=LEFT_OUT), []
    wanted = model.predict_posterior(X, table["diagnosed"])
    own = SARClassifier._logit
    monkeypatch.setattr(SARClassifier, "_logit", lambda *rows: asked.append(1) or own(*rows))
    parts = take_apart(model, X)
    assert len(parts.probability()) == len(parts.propensity()) == len(table)
    np.testing.assert_array_equal(parts.posterior(table["diagnosed"].to_numpy() == 1), wanted)
    assert len(asked) == 1


def test_reasons_of_a_logistic_model_are_its_terms():
    """Against rows drawn at random, so to their sampling error; who comes first is as it should."""
    data = make_pu(500, 4)
    model = SAREMClassifier([0]).fit(data.X, data.s)
    rows = np.array([3, 7])
    parts = take_apart(model, data.X)
    drawn = parts.sample(N_BACKGROUND, 0).mean(axis=0)
    for because, term in zip(
        reasons(parts, rows), (data.X[rows] - drawn) * model.coef_[0], strict=True
    ):
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


def test_trees_are_not_advised_to_one_who_has_them():
    data = make_pu(400, 3)
    trees = HistGradientBoostingClassifier(max_iter=3, max_bins=8, early_stopping=False)
    model = SAREMClassifier([0], classifier=trees, tol=0.1).fit(data.X, data.s)
    assert "nonlinear" not in report(model, data.X, data.s).to_dict()["label_fit"]["problems"]


def test_a_level_with_a_handful_of_rows_gets_no_ratio():
    table, _, _ = patients(1200)
    table.loc[:11, "plan"] = "rare"
    table.loc[:11, "diagnosed"] = 0
    table.loc[0, "diagnosed"] = 1
    s, X = table["diagnosed"].to_numpy(), table.drop(columns=LEFT_OUT)
    model = SARClassifier(["plan"], max_iter=20).fit(X, s)
    parts = take_apart(model, X)
    posterior = parts.final.predict_posterior(parts.matrix, s)
    rows = {row["level"]: row for row in propensity_odds(parts, s == 1, posterior)}
    assert rows["plan = rare"]["few"]
    assert (rows["plan = rare"]["rows"], rows["plan = rare"]["labelled"]) == (12, 1)
    assert not any(rows[f"plan = {name}"]["few"] for name in ("none", "basic", "full"))
    assert list(rows)[-1] == "plan = rare"
    page = report(model, X, s).to_html()
    assert "Too few rows to say: 12 rows, 1 of them labelled." in page
    assert "&gt; 1000" not in page


def test_typical_values_are_apart_also_where_most_are_equal():
    assert typical_values(np.arange(101.0)) == (25, 75)
    assert typical_values(np.array([0.0] * 95 + [7.0] * 5)) == (0, 7)
    assert typical_values(np.full(10, 3.0)) == (3, 3)


def test_labels_seen_and_expected_by_group(model, table, found):
    s, X = table["diagnosed"].to_numpy(), table.drop(columns=LEFT_OUT)
    predicted = model.predict_proba(X)[:, 1] * model.predict_propensity(X)
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
    model = sarem_of_table(["age"], drop=LEFT_OUT, C=0.001).fit(table, s)
    found = summarize(model, table, s)
    assert found["label_fit"]["n_off"] > 0
    assert "most where region is north" in found["text"]["label_fit"]


def test_how_groups_compare(found):
    by = {table["by"]: table["groups"] for table in found["groups"]}
    assert list(by)[:2] == ["age", "plan"]
    assert len(by) == 4
    for row in by["plan"]:
        assert row["low"] <= row["ratio"] <= row["high"]


def test_where_it_comes_from(found):
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
    assert (rows["plan"]["kind"], rows["bmi"]["kind"]) == ("words", "number")


def test_no_powers_of_ten_in_the_text():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"amount": rng.normal(5e5, 2e5, 600), "share": rng.random(600) * 1e-4})
    s = (table["amount"] > 5.5e5) & (rng.random(600) < 0.5)
    model = sarem_of_table(["share"], tol=1e-2).fit(table, s)
    page = report(model, table, s).to_html()
    text = re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL)
    assert re.findall(r"\d(?:\.\d+)?e[+-]\d+", text) == []


def test_terminal_json_and_page_warn_of_the_same(tmp_path, capsys):
    table = patients(400)[0]
    table.to_csv(tmp_path / "p.csv", index=False)
    fit = ["fit", str(tmp_path / "p.csv"), "--label", "diagnosed", "--id", "patient_id", "--json"]
    fit += ["-o", str(tmp_path / "m.skops"), "--report", str(tmp_path / "r.html")]
    assert run([*fit, "--method", "sar-em"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    printed = [line.removeprefix("Warning: ") for line in err.splitlines()]
    assert sorted(printed) == sorted(found["warnings"])
    assert any("No propensity column was named" in text for text in printed)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for sentence in found["warnings"]:
        assert sentence.replace("'", "&#39;") in page
    assert found["origin"]["command"].startswith("sarlearn fit ")


@pytest.mark.parametrize(
    ("by_design", "labels_only", "said"),
    [
        (True, None, "the class prior and its interval hold whatever"),
        (False, 0.4, "What was given about the class prior is right"),
        (False, None, "rows that are surely positive"),
    ],
)
def test_what_the_level_rests_on_is_said(found, by_design, labels_only, said):
    certainty = found["certainty"] | {"by_design": by_design, "labels_only": labels_only}
    changed = found | {"certainty": certainty}
    assert said in words.assumptions_of(changed)[2]
