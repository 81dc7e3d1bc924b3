"""The report: its numbers against the model's, its words, and that user text stays text."""

import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from conftest import make_pu
from sarlearn import SAREMClassifier
from sarlearn._view.parts import take_apart
from sarlearn.exceptions import DataWarning, TrustWarning
from sarlearn.reporting import Report, report, summarize, words
from sarlearn.reporting.effects import importance
from sarlearn.reporting.render import _ratio
from sarlearn.reporting.summarize import draw_rows, plain_values
from table_data import hostile, patients, predicted, sarem_of_table

LEFT_OUT = ["patient_id", "diagnosed"]


@pytest.fixture(scope="module")
def table():
    return patients(1500)[0]


@pytest.fixture(scope="module")
def model(table):
    return sarem_of_table(["age", "plan"], drop=LEFT_OUT).fit(table, table["diagnosed"])


@pytest.fixture(scope="module")
def page(table, model):
    return report(
        model,
        table.assign(constant=1),
        table["diagnosed"],
        ids=table["patient_id"],
        id_name="patient_id",
        source="patients.csv",
        label="diagnosed",
    )


class Reader(HTMLParser):
    """Collects tags and text as a browser would see them."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.attributes = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value) for key, value in attrs]

    def handle_data(self, data):
        self.text.append(data)


def test_the_numbers_add_up(table, model, page):
    found = page.to_dict()
    s = table["diagnosed"].to_numpy()
    data, estimates = found["data"], found["estimates"]
    assert data["rows"] == 1500
    assert data["labelled"] == s.sum()
    assert data["unlabelled"] == 1500 - s.sum()
    assert data["attributes"] == 6
    assert estimates["class_prior"] == model[-1].class_prior_ == estimates["fitted_class_prior"]
    assert estimates["label_frequency"] == pytest.approx(model[-1].label_frequency_)
    assert estimates["hidden_positives"] == pytest.approx(1500 * model[-1].class_prior_ - s.sum())
    for attribute in found["propensity"]["attributes"]:
        groups = attribute["groups"]
        assert sum(group["rows"] for group in groups) == 1500
        assert sum(group["labelled"] for group in groups) == s.sum()
        positives = sum(group["positives"] for group in groups)
        assert positives == pytest.approx(1500 * model[-1].class_prior_)


def test_candidates_are_the_unlabelled_rows_of_highest_posterior(table, model, page):
    found = page.to_dict()["candidates"]
    s = table["diagnosed"].to_numpy()
    posterior = np.where(s == 1, -1, predicted(model, "predict_posterior", table, s))
    assert found["id"] == "patient_id"
    assert len(found["rows"]) == 20
    assert found["rows"][0]["posterior"] == pytest.approx(posterior.max())
    best = table["patient_id"][np.argmax(posterior)]
    assert found["rows"][0]["id"] == best
    assert set(found["rows"][0]["attributes"]) == {"age", "plan"}
    shares = [row["posterior"] for row in found["rows"]]
    assert shares == sorted(shares, reverse=True)


def test_importance_finds_the_columns_that_matter(page):
    used = [row["attribute"] for row in page.to_dict()["classifier"]["importance"]]
    assert set(used[:3]) == {"smoker", "bmi", "pressure"}


def test_importance_restores_the_sample(table, model):
    parts = take_apart(model, table)
    assert importance(parts) == importance(parts)


def test_the_class_prior_under_scar_is_that_of_a_refit(table, page):
    s = table["diagnosed"].to_numpy()
    scar = sarem_of_table(drop=LEFT_OUT).fit(table, s)
    found = page.to_dict()["scar_class_prior"]
    assert found == pytest.approx(scar[-1].class_prior_)
    assert f"would be {found:.1%}" in page.to_dict()["text"]["comparison"]


def test_large_tables_are_compared_on_a_sample(table, model, monkeypatch):
    monkeypatch.setattr(sys.modules["sarlearn.reporting.summarize"], "MAX_SCAR_ROWS", 500)
    table = table.head(800)
    labelled = table["diagnosed"].to_numpy() == 1
    rows = draw_rows(labelled, 500)
    assert len(set(rows)) == 500
    assert labelled[rows].mean() == pytest.approx(labelled.mean(), abs=0.002)
    found = summarize(model, table, table["diagnosed"])["scar_class_prior"]
    Z = model[0].transform(table).iloc[rows]
    few = SAREMClassifier().fit(Z, labelled[rows])
    assert found == pytest.approx(few.class_prior_)


def test_it_is_json_and_comes_back_as_it_was(page):
    found = page.to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    found["data"]["rows"] = 0
    assert page.to_dict()["data"]["rows"] == 1500
    nothing = plain_values({"a": (np.float64("nan"), np.int64(3), np.array([1.5]))})
    assert nothing == {"a": [None, 3, [1.5]]}


def test_the_page_needs_nothing_else(page):
    html = page.to_html()
    found = Reader(html)
    assert "script" not in found.tags
    assert "link" not in found.tags
    assert "img" not in found.tags
    assert not [a for a in found.attributes if a[1] in ("src", "srcset") or a[1].startswith("on")]
    hrefs = [value for _, key, value in found.attributes if key == "href"]
    assert all(value.startswith("#") for value in hrefs)
    assert "://" not in html
    ids = [value for _, key, value in found.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    assert "svg" not in found.tags
    assert "constant" not in page.to_dict()["data"]["left_out"]  # not a column of the model


def test_the_page_follows_the_theme(page):
    body = page.to_html().partition("<body>")[2]
    assert re.findall(r"style=[^>]*#[0-9a-f]{3,6}", body) == []
    assert "prefers-color-scheme: dark" in page.to_html()


def test_saving_and_notebooks(page, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    page.save(path)
    assert path.read_text(encoding="utf-8") == page.to_html()
    frame = Reader(page._repr_html_())
    assert frame.tags == ["iframe"]
    assert ("iframe", "srcdoc", page.to_html()) in frame.attributes
    assert ("iframe", "sandbox", None) in frame.attributes
    assert repr(page).startswith("<Report: About ")


@pytest.mark.filterwarnings("ignore")
def test_user_text_is_shown_never_run(tmp_path):
    table = hostile(n_columns=20)
    label, script = "<u>label</u>", table.columns[0]
    model = sarem_of_table([script, "many", table.columns[2]], drop=[label, "<id>"])
    model.fit(table, table[label])
    page = report(
        model, table, table[label], ids=table["<id>"], id_name="<id>", source=script, label=label
    )
    found = Reader(page.to_html())
    assert not {"script", "img", "u", "id", "link"} & set(found.tags)
    assert not {"b", "i"} & set(found.tags)  # of the page, only where there is a range
    text = "".join(found.text)
    assert "<script>window.hacked = true</script>" in text
    assert "{{ 7 * 7 }}" in text or "value" in text
    assert "49" not in re.findall(r"value \d+ (\d+)", text)


def test_arrays_and_names():
    data = make_pu(3000, 4, discrete=True, scale=4)
    model = SAREMClassifier([0, 1]).fit(data.X, data.s)
    page = report(model, data.X, data.s, feature_names=["a", "b", "c", "d"], top=3)
    found = page.to_dict()
    assert found["model"]["propensity_attributes"] == ["a", "b"]
    assert found["candidates"]["id"] == "row"
    assert int(found["candidates"]["rows"][0]["id"]) >= 1
    assert "Read with care" not in page.to_html()
    with pytest.raises(ValueError, match="ids has 2 values, X has 3000 rows"):
        report(model, data.X, data.s, ids=[1, 2])


def test_scar_models_and_other_classifiers():
    data = make_pu(400, 4)
    boosting = HistGradientBoostingClassifier(max_iter=3, max_bins=8, early_stopping=False)
    model = SAREMClassifier(classifier=boosting, tol=0.1).fit(data.X, data.s)
    page = report(model, data.X, data.s)
    found = page.to_dict()
    assert found["model"]["classifier"] == "HistGradientBoostingClassifier"
    assert found["propensity"]["odds"] == []
    assert any("No propensity column was named" in text for text in found["warnings"])
    assert "same chance of being labelled" in " ".join(found["assumptions"])
    assert found["text"]["comparison"] == ""
    assert "Read with care" in page.to_html()


def summary_with(page, **changes):
    found = page.to_dict()
    for path, value in changes.items():
        target = found
        *parents, last = path.split("__")
        for key in parents:
            target = target[key]
        target[last] = value
    return found


def test_warnings_come_from_the_numbers(page):
    def said(*messages, **changes):
        return " ".join(words.warnings_of(summary_with(page, **changes), list(messages)))

    assert "Only 12 rows are labelled" in said(data__labelled=12)
    every = words.verdict_of(summary_with(page, data__attributes=2))
    assert every["nothing"]
    assert "Every column may decide who gets labelled" in every["reason"]
    assert "near 1 everywhere" in said(propensity__lowest=0.98)
    assert "without converging" in said(convergence__converged=False)
    assert "at the edge of what is possible" in said(estimates__class_prior=0.999)
    problems = {"nonlinear": "The class does not seem to be linear in bmi.", "leaks": "bmi leaks."}
    assert " ".join(problems.values()) in said(label_fit__problems=problems)
    own = TrustWarning("leak", "bmi nearly determines the label.")  # the fit has said so itself
    assert "bmi leaks." not in said(own, label_fit__problems=problems)
    attributes = page.to_dict()["propensity"]["attributes"]
    attributes[1]["groups"][0]["labelled"] = 0
    assert "No row is labelled where plan = " in said(propensity__attributes=attributes)
    few = FEW
    twice = words.warnings_of(summary_with(page, data__labelled=12), [few, few])
    assert twice.count(str(few)) == 1
    assert len([text for text in twice if "12" in text]) == 1


FEW = DataWarning("few-labels", "Only 12 labelled rows.")


@pytest.mark.parametrize(
    "other", [FEW, TrustWarning("label-frequency-at-end", "The label frequency is 1.")]
)
def test_a_warning_hides_no_other(page, other):
    at_the_end = {"estimates__class_prior": 0.999, "propensity__lowest": 0.98}
    found = words.warnings_of(summary_with(page, **at_the_end), [other])
    assert found[0] == str(other)
    assert sum("at the edge of what is possible" in text for text in found) == 1
    hidden = other is not FEW
    assert sum("near 1 everywhere" in text for text in found) == (not hidden)
    own = TrustWarning("class-prior-at-end", "The class prior is 0.999.")
    found = words.warnings_of(summary_with(page, **at_the_end), [other, own])
    assert str(own) in found
    assert not any("at the edge of what is possible" in text for text in found)


def test_a_sentence_given_as_text_is_shown_and_hides_nothing(page):
    found = words.warnings_of(summary_with(page, data__labelled=12), ["Only 12 labelled rows"])
    assert sum("12" in text for text in found) == 2


def test_ratios_on_a_page():
    assert [_ratio(x) for x in (5000, 0.0001, 1.234)] == ["> 1000", "< 0.001", "1.23"]


def test_headlines(page):
    none = summary_with(page, estimates__hidden_positives=0.2)
    assert words.headline(none).startswith("Nearly none of the")


def test_many_propensity_columns():
    data = make_pu(900, 16)
    model = SAREMClassifier(range(14)).fit(data.X, data.s)
    page = report(model, data.X, data.s)
    assert len(page.to_dict()["propensity"]["attributes"]) == 12
    assert "Not drawn: x12, x13." in page.to_html()


def test_the_extra_is_named_where_jinja_is_missing(monkeypatch, page):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(ImportError, match="pip install jinja2"):
        Report(page.to_dict()).to_html()
