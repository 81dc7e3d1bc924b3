"""The trust checks in reports and on the command line: their numbers, words and pictures."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from conftest import make_pu
from sarlearn import SARClassifier, SAREMClassifier
from sarlearn._view.parts import take_apart
from sarlearn.cli import run
from sarlearn.inspection import bootstrap, scar_test
from sarlearn.reporting import checks as module
from sarlearn.reporting import report, run_checks
from sarlearn.reporting.effects import propensity_odds
from table_data import patients, predicted, sarem_of_table

LEFT_OUT = ["patient_id", "diagnosed"]
SMALL = {"n_draws": 19, "n_resamples": 20}


@pytest.fixture
def table(checked):
    return checked.table


@pytest.fixture
def X(checked):
    return checked.X


@pytest.fixture
def model(checked):
    return checked.model


@pytest.fixture
def found(checked):
    return checked.found


def test_each_check_is_that_of_the_library(table, X, model, found):
    s, parts = table["diagnosed"].to_numpy(), take_apart(model, X)
    Z, columns = parts.linear.matrix, parts.linear.columns
    test = scar_test(Z, s, columns, n_draws=19, flexible=True, random_state=0)
    assert found["scar_test"]["p_value"] == test.p_value
    assert found["scar_test"]["statistic"] == pytest.approx(test.statistic)
    assert "age and plan" in found["scar_test"]["text"]
    drawn = bootstrap(parts.final, parts.matrix, s, n_resamples=20, random_state=0)
    rows = {row["name"]: row for row in found["intervals"]["rows"]}
    assert list(rows) == ["class prior", "label frequency"]  # odds have standard errors
    low, high = map(float, drawn.interval("class_prior"))
    assert (rows["class prior"]["low"], rows["class prior"]["high"]) == pytest.approx((low, high))
    assert rows["class prior"]["estimate"] == pytest.approx(model.class_prior_)
    assert found["rows"] == 800


def test_odds_have_the_intervals_of_the_contrasts_told(table):
    s = table["diagnosed"].to_numpy()
    model = sarem_of_table(["age", "plan"], drop=LEFT_OUT).fit(table, s)
    found = run_checks(model, table, s, **SMALL)
    rows = {row["name"]: row for row in found["intervals"]["rows"]}
    parts = take_apart(model, table)
    told = propensity_odds(parts, s == 1, predicted(model, "predict_posterior", table, s))
    assert len(rows) == 2 + len(told) == 6
    for row in told:
        interval = rows[f"odds of a label: {row['level']} against {row['against']}"]
        assert interval["estimate"] == pytest.approx(row["odds_ratio"])
        assert interval["low"] < interval["high"]
    # In truth the odds of plan "full" are e^2.5 times those of "none".
    assert rows["odds of a label: plan = full against the average row"]["low"] > 1
    assert rows["odds of a label: plan = none against the average row"]["high"] < 1


def test_other_choices_are_fitted(table, X, model, found):
    choices = {row["name"]: row for row in found["sensitivity"]["choices"]}
    names = ["without age", "without plan", "no propensity column (SCAR)"]
    assert list(choices) == names
    by_hand = clone(model).set_params(propensity_features=["plan"]).fit(X, table["diagnosed"])
    assert choices["without age"]["class_prior"] == pytest.approx(by_hand.class_prior_)
    assert found["sensitivity"]["scaled"][0]["factor"] == pytest.approx(0.8)
    calm = [{"name": "a", "class_prior": 0.301}]
    words = module._sensitivity_words(0.3, calm, found["sensitivity"]["scaled"])
    assert "hardly another answer" in words
    far = [{"name": "a", "class_prior": 0.5}]
    words = module._sensitivity_words(0.3, far, found["sensitivity"]["scaled"])
    assert "it moves most with: a (50.0%)" in words


def test_the_page_tells_of_them(sketched, table, X, model, found, monkeypatch):
    monkeypatch.setattr("sarlearn.reporting.run_checks", lambda *arguments: found)
    page = report(model, X, table["diagnosed"], checks=True)
    html = page.to_html()
    for name in ("scar_test", "intervals", "sensitivity"):
        assert found[name]["text"].replace("'", "&#39;") in html
    assert "Bars: likelihood ratios of 19 tables" in html
    assert "Dots: class prior under other choices" in html
    assert json.loads(json.dumps(page.to_dict()))["checks"] == json.loads(json.dumps(found))
    without = report(model, X, table["diagnosed"]).to_html()
    assert found["scar_test"]["text"].replace("'", "&#39;") not in without
    assert "estimates without error bars" not in without  # it has the range


def test_large_tables_are_checked_on_a_sample(sketched, monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 500)
    data = make_pu(900, 4)
    model = SAREMClassifier([0]).fit(data.X, data.s)
    found = run_checks(model, data.X, data.s, **SMALL)
    assert found["rows"] == 500
    rows = module.draw_rows(np.asarray(data.s, dtype=bool), 500)
    part = SAREMClassifier([0]).fit(data.X[rows], data.s[rows])
    assert found["intervals"]["rows"][0]["estimate"] == pytest.approx(part.class_prior_)
    monkeypatch.setattr("sarlearn.reporting.run_checks", lambda *arguments: found)
    page = report(model, data.X, data.s, checks=True).to_html()
    assert "asked of 500 rows drawn at random" in page


def test_what_does_not_apply_says_so():
    data = make_pu(500, 4)
    other = SAREMClassifier(classifier=LogisticRegression(), tol=0.05)
    found = run_checks(other.fit(data.X, data.s), data.X, data.s, **SMALL)
    assert found["scar_test"]["text"].startswith("No propensity column was named")
    assert found["intervals"]["text"].startswith("Made for SARClassifier and logistic models")
    scar = run_checks(SAREMClassifier().fit(data.X, data.s), data.X, data.s, **SMALL)
    assert [row["name"] for row in scar["intervals"]["rows"]] == ["class prior", "label frequency"]
    assert scar["sensitivity"]["choices"] == []
    assert scar["sensitivity"]["text"].startswith("Were every propensity 0.8 to")
    flexible = SAREMClassifier([0], classifier=LogisticRegression(), tol=0.05)
    found = run_checks(flexible.fit(data.X, data.s), data.X, data.s, **SMALL)
    assert found["scar_test"]["statistic"] >= 0


def test_fit_with_checks(sketched, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        "sarlearn.cli.fit.run_checks",
        lambda *arguments, **options: run_checks(*arguments, **options | SMALL),
    )
    patients(500)[0].to_csv(tmp_path / "p.csv", index=False)
    arguments = ["fit", str(tmp_path / "p.csv"), "--label", "diagnosed", "--id", "patient_id"]
    arguments += ["--propensity", "plan", "--check", "-o", str(tmp_path / "m.skops")]
    arguments += ["--report", str(tmp_path / "r.html"), "--method", "sar-em"]
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert "\nChecks:\n  The labels speak" in out
    assert "95 % intervals from 20 resamples" in out
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "How much would other choices change?" in html
    assert html.count("<svg") == 7


def test_models_with_trees_are_checked_in_full():
    data = make_pu(300, 4)
    model = SARClassifier([0], max_iter=5, n_folds=2)
    found = run_checks(model.fit(data.X, data.s), data.X, data.s, n_draws=19, n_resamples=20)
    names = [row["name"] for row in found["intervals"]["rows"]]
    assert names == ["class prior", "label frequency"]
    assert [row["name"] for row in found["sensitivity"]["choices"]] == [
        "no propensity column (SCAR)"
    ]
