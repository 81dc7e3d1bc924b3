"""One fitted model has one class prior, one range and one count, on every surface."""

import json
import re

import pandas as pd
import pytest

from sarlearn import load
from sarlearn._words import VERDICTS, about

COUNT, SHARE = r"[\d,]+", r"\d+\.\d%"


@pytest.fixture(scope="module")
def model(folder):
    return load(folder / "model.skops")


@pytest.fixture(scope="module")
def table(folder):
    return pd.read_csv(folder / "patients.csv", dtype={"patient_id": str})


@pytest.fixture(scope="module")
def fitted(folder):
    return json.loads((folder / "fit.json").read_text())


@pytest.fixture(scope="module")
def truth(model, table):
    """Class prior, its range, hidden positives with theirs: from the saved model alone."""
    n, n_labelled = len(table), table["diagnosed"].sum()
    ends = model.class_prior_range_
    return {
        "class_prior": model.class_prior_,
        "range": list(ends),
        "hidden": model.class_prior_ * n - n_labelled,
        "ends": [end * n - n_labelled for end in ends],
    }


def numbers(summary):
    certainty = summary["certainty"]
    return {
        "class_prior": summary["estimates"]["class_prior"],
        "range": [certainty["low"], certainty["high"]],
        "hidden": summary["estimates"]["hidden_positives"],
        "ends": certainty["hidden_positives"],
    }


def test_json_of_fit_and_report(call, folder, fitted, truth):
    code, out, err = call("report", "model.skops", "patients.csv", "-o", "one.html", "--json")
    assert code == 0, err
    reported = json.loads(out)
    for found in (fitted, reported):
        for name, value in numbers(found).items():
            assert value == pytest.approx(truth[name]), name
        last = found["review"][-1]
        assert last["expected"] == pytest.approx(truth["hidden"])
        assert [last["low"], last["high"]] == pytest.approx(truth["ends"])
        for attribute in found["propensity"]["attributes"]:
            hidden = sum(group["hidden"] for group in attribute["groups"])
            assert hidden == pytest.approx(truth["hidden"])
    assert reported["verdict"] == fitted["verdict"]
    assert reported["text"] == fitted["text"]


def test_what_is_printed(call, folder, fitted, truth):
    fit = ["fit", "patients.csv", "--label", "diagnosed", "--id", "patient_id", "--force"]
    fit += ["--propensity", "age,plan", "-o", "model.skops", "--report", "printed.html"]
    code, printed, err = call(*fit)
    assert code == 0, err
    assert len(printed.splitlines()) <= 12
    code, reported, _ = call("report", "model.skops", "patients.csv", "-o", "again.html", "--force")
    assert code == 0
    low, high = map(about, truth["ends"])
    for out in (printed, reported):
        found = re.search(rf"About ({COUNT}) of the .* ({COUNT}) to ({COUNT})\.", out)
        assert found.groups() == (about(truth["hidden"]), low, high)
        share = re.search(rf"({SHARE}) of all rows.*with ({SHARE}) to ({SHARE})\.", out)
        assert share.groups() == tuple(f"{x:.1%}" for x in (truth["class_prior"], *truth["range"]))
    page = (folder / "printed.html").read_text(encoding="utf-8")
    tiles = re.search(r'<dl class="tiles">.*?</dl>', page, re.DOTALL).group()
    shown = re.findall(r"<dd>(.*?)<span class=\"ends-of\">(.*?)</span>", tiles)
    assert shown[0] == (about(truth["hidden"]), f"{low} to {high}")
    assert shown[1][0] == f"{truth['class_prior']:.1%}"
    assert shown[1][1] == "{:.1%} to {:.1%}".format(*truth["range"])
    assert f"About {about(truth['hidden'])} of the" in page


@pytest.mark.parametrize("output", ["scored.csv", "scored.parquet"])
def test_predict(call, folder, model, table, truth, output):
    code, out, err = call("predict", "model.skops", "patients.csv", "-o", output, "--json")
    assert code == 0, err
    told = json.loads(out)
    read = pd.read_csv if output.endswith("csv") else pd.read_parquet
    scored = read(folder / output)
    hidden = (table["diagnosed"] == 0).to_numpy()
    assert scored["posterior"][hidden].sum() == pytest.approx(truth["hidden"])
    assert scored["posterior"].mean() == pytest.approx(truth["class_prior"])
    assert scored["probability"].mean() == pytest.approx(truth["class_prior"])
    assert told["expected_hidden_positives"] == pytest.approx(truth["hidden"])
    assert told["expected_positives"] == pytest.approx(truth["class_prior"] * len(table))
    in_python = model.predict_posterior(table[model.feature_names_in_], table["diagnosed"])
    assert in_python[hidden].sum() == pytest.approx(truth["hidden"])
    _, out, _ = call("predict", "model.skops", "patients.csv", "-o", output, "--force")
    assert f"about {about(truth['hidden'])} of the {hidden.sum():,} unlabelled rows" in out


def test_the_list_has_the_posteriors_of_predict(call, folder, fitted):
    call("predict", "model.skops", "patients.csv", "-o", "listed.csv")
    scored = pd.read_csv(folder / "listed.csv", dtype={"patient_id": str})
    by_id = scored.set_index("patient_id")["posterior"]
    for row in fitted["candidates"]["rows"]:
        assert row["posterior"] == pytest.approx(by_id[row["id"]])


def test_rows_to_check(call, folder, fitted):
    needed = fitted["certainty"]["rows_for_5_points"]
    assert f"Checking about {needed:,} rows" in fitted["verdict"]["next"]
    assert f" -n {needed} " in fitted["verdict"]["command"]
    given = ["audit", "model.skops", "patients.csv", "-n", 30, "-o", "rows.csv"]
    code, out, err = call(*given, "--json")
    assert code == 0, err
    assert json.loads(out)["rows_for_5_points"] == needed
    _, out, _ = call(*given, "--force")
    assert f"about {needed:,} checked rows" in out


def test_the_verdict(call, folder, model, fitted):
    """In JSON, terminal, page and saved model: one word, and one command that does what it says."""
    name, command = (fitted["verdict"][key] for key in ("name", "command"))
    assert name == VERDICTS[fitted["certainty"]["word"]] == VERDICTS[model.certainty_]
    low, high = model.class_prior_range_
    said = f"{name}: the data are compatible with {low:.1%} to {high:.1%}."
    assert said in model.summary().splitlines()
    _, out, _ = call("report", "model.skops", "patients.csv", "-o", "verdict.html")
    assert f"\n{name}: {fitted['verdict']['reason']}\n" in out
    assert f"\n  {command}\n" in out
    page = (folder / "verdict.html").read_text(encoding="utf-8")
    assert f'<b class="word">{name}.</b> {fitted["verdict"]["reason"]}' in page
    assert command in page
    assert call(*command.split()[1:])[0] == 0


def test_the_first_rows_as_a_file(call, folder, fitted):
    """The same rows in the same order as in the report, and as many positives expected of them."""
    given = ["predict", "model.skops", "patients.csv", "--top", 20, "-o", "twenty.csv", "--json"]
    told = json.loads(call(*given)[1])
    first = pd.read_csv(folder / "twenty.csv", dtype={"patient_id": str})
    assert first["patient_id"].tolist() == [row["id"] for row in fitted["candidates"]["rows"]]
    (step,) = (step for step in fitted["review"] if step["checked"] == 20)
    assert told["expected_first"] == pytest.approx(step["expected"])
    assert first["posterior"].sum() == pytest.approx(step["expected"])


def test_a_weighted_fit(call, folder, table):
    weighted = table.assign(stands_for=1 + table.index % 3)
    weighted.to_csv(folder / "weighted.csv", index=False)
    fit = ["fit", "weighted.csv", "--label", "diagnosed", "--id", "patient_id", "--json"]
    code, out, err = call(*fit, "--propensity", "plan", "--weight", "stands_for", "-o", "w.skops")
    assert code == 0, err
    found, model = json.loads(out), load(folder / "w.skops")
    weight = weighted["stands_for"].to_numpy()
    labelled = weight[table["diagnosed"] == 1].sum()
    assert (found["data"]["rows"], found["data"]["labelled"]) == (weight.sum(), labelled)
    expected = {
        "class_prior": model.class_prior_,
        "range": list(model.class_prior_range_),
        "hidden": model.class_prior_ * weight.sum() - labelled,
        "ends": [end * weight.sum() - labelled for end in model.class_prior_range_],
    }
    for name, value in numbers(found).items():
        assert value == pytest.approx(expected[name]), name
    assert found["review"][-1]["expected"] == pytest.approx(expected["hidden"])
    code, out, err = call("predict", "w.skops", "weighted.csv", "-o", "w.csv", "--json")
    assert code == 0, err
    assert json.loads(out)["expected_hidden_positives"] == pytest.approx(expected["hidden"])
    code, out, err = call("report", "w.skops", "weighted.csv", "-o", "w.html", "--json")
    assert code == 0, err
    assert json.loads(out)["text"] == found["text"]


def test_the_readers_words_go_through(call, folder):
    fit = ["fit", "patients.csv", "--label", "diagnosed", "--id", "patient_id", "--force"]
    nouns = ["--noun", "patients", "--positive-noun", "ill"]
    options = ["--propensity", "plan", "-o", "named.skops", "--report", "named.html"]
    code, out, err = call(*fit, *nouns, *options)
    assert code == 0, err
    assert re.search(r"^About .* unlabelled patients .* are estimated to be ill;", out)
    assert "ill patients there have no label" in out
    page = (folder / "named.html").read_text(encoding="utf-8")
    opening = page[page.index("<header>") : page.index("</header>")]
    text = re.sub(r"<[^>]*>", " ", opening).replace("positive and unlabelled patients", "")
    assert "positive" not in text
    assert not re.search(r"\brows\b", re.sub(r"Next:.*?points:", "", text))
    _, out, _ = call("predict", "named.skops", "patients.csv", "-o", "named.csv")
    assert re.search(r"unlabelled patients are expected to be ill\.", out)
    _, out, _ = call("report", "named.skops", "patients.csv", "-o", "named2.html")
    assert "unlabelled patients" in out
