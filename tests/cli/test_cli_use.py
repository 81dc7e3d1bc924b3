"""The command line: what is done with a saved model."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from cli_tools import command
from conftest import make_pu
from sarlearn import KnownPropensityClassifier, SAREMClassifier
from sarlearn.cli.predict import read_labels
from sarlearn.priors import ElkanNoto
from sarlearn.saving import SavedModel, load_file, save


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ({"label_word": "found"}, [True, True]),
        ({"label_word": "open", "positive": "open"}, [False, False]),
    ],
)
def test_labels_are_read_as_in_the_table_of_the_fit(notes, expected):
    """Where a new table alone would not say what its word means."""
    table = pd.DataFrame({"state": ["found", "found"]})
    saved = SavedModel(model=None, versions={}, notes=notes)
    assert read_labels(saved, table, "state").labelled.tolist() == expected


def test_predict_keeps_ids_and_order(folder):
    result = command("predict", "model.skops", "new.parquet", "-o", "scored.csv", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Scored 1,500 rows; about ")
    scored = pd.read_csv(folder / "scored.csv", dtype={"patient_id": str})
    assert list(scored.columns) == ["patient_id", "probability", "propensity"]
    new = pd.read_parquet(folder / "new.parquet")
    assert scored["patient_id"].tolist() == new["patient_id"].tolist()
    model = load_file(folder / "model.skops").model
    new = new[model.feature_names_in_]
    np.testing.assert_allclose(scored["probability"], model.predict_proba(new)[:, 1], rtol=1e-12)
    np.testing.assert_allclose(scored["propensity"], model.predict_propensity(new), rtol=1e-12)


@pytest.mark.parametrize("output", ["all.parquet", "all.arrow", "all.csv.gz"])
def test_predict_with_labels_gives_posteriors(call, folder, output):
    code, out, _ = call(
        *("predict", "model.skops", "patients.csv", "-o", output, "--keep-all", "--json")
    )
    assert code == 0
    from sarlearn.tables.read import read_table

    scored = read_table(folder / output, text_columns=["patient_id"])
    assert list(scored.columns)[-3:] == ["probability", "propensity", "posterior"]
    assert scored.columns[0] == "patient_id"
    assert (scored["posterior"][scored["diagnosed"] == 1] == 1).all()
    told = json.loads(out)
    assert told["rows"] == 1500
    assert told["expected_positives"] == pytest.approx(scored["probability"].sum())
    assert told["unknown_values"] == {}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_rows_to_check_first_are_filled_in_and_fitted_again(call, folder, kind, monkeypatch):
    monkeypatch.setattr("sarlearn.cli.large.CHUNK_ROWS", 400)
    table, first = f"whole.{kind}", f"first.{kind}"
    patients = pd.read_csv(folder / "patients.csv", dtype={"patient_id": str})
    getattr(patients, f"to_{kind}")(folder / table, index=False)
    scores = ("predict", "model.skops", table, "--force", "-o")
    assert call(*scores, f"all.{kind}")[0] == 0
    code, out, err = call(*scores, first, "--top", 20)
    assert code == 0, err
    scored, found = (_read(folder / name) for name in (f"all.{kind}", first))
    hidden = (patients["diagnosed"] == 0).to_numpy()
    best = scored[hidden].sort_values("posterior", ascending=False, kind="stable").head(20)
    assert found["patient_id"].tolist() == best["patient_id"].tolist()
    assert found["audit_row"].tolist() == best.index.tolist()
    assert set(patients.columns) < set(found.columns)
    assert f"about {best['posterior'].sum():.0f} should be positive" in out
    assert f"--audited {first}" in out
    fit = ("fit", table, "--label", "diagnosed", "--id", "patient_id", "-o", "refit.skops")
    fit = (*fit, "--audited", first, "--json", "--force")
    code, _, err = call(*fit)
    assert (code, f"{first} holds no answer yet; fill in yes or no" in err) == (2, True)
    found["audited"] = ["yes"] * 8 + ["no", "unsure"] + [None] * 10
    getattr(found, f"to_{kind}")(folder / first, index=False)
    code, out, err = call(*fit)
    assert code == 0, err
    assert json.loads(out)["certainty"]["n_audited"] == 9


def _read(path):
    kinds = {"patient_id": str, "audited": object}
    return pd.read_csv(path, dtype=kinds) if path.suffix == ".csv" else pd.read_parquet(path)


def test_rows_to_check_of_a_table_without_label_and_id(call, folder):
    table = pd.read_parquet(folder / "new.parquet").drop(columns="patient_id")
    table.to_csv(folder / "bare.csv", index=False)
    code, _, err = call("predict", "model.skops", "bare.csv", "-o", "bare_scored.csv")
    assert code == 0, err
    scored = pd.read_csv(folder / "bare_scored.csv")
    assert call("predict", "model.skops", "bare.csv", "-o", "bare_top.csv", "--top", 7)[0] == 0
    found = pd.read_csv(folder / "bare_top.csv")
    assert found["probability"].tolist() == scored["probability"].nlargest(7).tolist()
    missing = ("predict", "model.skops", "bare.csv", "-o", "no.csv", "--id", "patient_id")
    code, _, err = call(*missing)
    assert (code, "--id: the table has no column 'patient_id'" in err) == (2, True)


def test_fit_where_nobody_can_name_a_column(call, folder):
    arguments = ("patients.csv", "--label", "diagnosed", "--id", "patient_id", "-o", "auto.skops")
    code, out, err = call("fit", *arguments, "--propensity", "auto", "--json")
    assert code == 0, err
    summary = json.loads(out)
    fits = summary["model"]["averaged"]
    assert sum(one["weight"] for one in fits) == pytest.approx(1)
    named = {name for one in fits for name in one["columns"]}
    assert named == set(summary["model"]["propensity_attributes"])
    (said,) = (text for text in summary["assumptions"] if "Nobody named" in text)
    assert "name them if you know" in said
    assert f"weight {fits[0]['weight']:.0%}" in said
    assert load_file(folder / "auto.skops").model.propensity_features == "auto"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--method", "sar-em"), "takes named columns only"),
        (("--propensity-only", "age"), "cannot be combined with named"),
        (("--propensity", "age"), "no column 'auto'"),
    ],
)
def test_auto_stands_alone(call, folder, more, message):
    arguments = ("patients.csv", "--label", "diagnosed", "--propensity", "auto", "-o", "no.skops")
    code, _, err = call("fit", *arguments, *more)
    assert code != 0
    assert message in err


def test_predict_tells_of_unknown_values(call, folder):
    table = pd.read_csv(folder / "patients.csv", dtype={"patient_id": str}).head(40)
    table["region"] = [f"planet {i}" for i in range(40)]
    table.to_csv(folder / "space.csv", index=False)
    code, out, _ = call("predict", "model.skops", "space.csv", "-o", "space_scored.csv")
    assert code == 0
    assert (
        "column 'region' holds values not seen in the fit (planet 0, planet 1, planet 10, ...)"
        in out
    )


def test_report_on_a_saved_model(call, folder):
    code, out, _ = call("report", "model.skops", "patients.csv", "-o", "again.html")
    assert code == 0
    assert out.rstrip().endswith("Wrote again.html.")
    html = (folder / "again.html").read_text()
    assert html.count('class="words reasons"') == 20
    code, out, _ = call(
        *("report", "model.skops", "patients.csv", "-o", "again.html", "--force", "--json")
    )
    assert (
        json.loads(out)["estimates"] == json.loads((folder / "fit.json").read_text())["estimates"]
    )


def test_models_made_in_python(call, folder):
    data = make_pu(400, 3)
    frame = pd.DataFrame(data.X, columns=["a", "b", "c"]).assign(s=data.s, other="x")
    frame.to_csv(folder / "abc.csv", index=False)
    save(SAREMClassifier(["a"]).fit(frame[["a", "b", "c"]], data.s), folder / "python.skops")
    code, _, _ = call("predict", "python.skops", "abc.csv", "-o", "abc_scored.csv", "--label", "s")
    assert code == 0
    assert list(pd.read_csv(folder / "abc_scored.csv")) == [
        "probability",
        "propensity",
        "posterior",
    ]
    code, _, err = call("report", "python.skops", "abc.csv", "-o", "abc.html")
    assert (code, "name it with --label" in err) == (2, True)
    assert call("report", "python.skops", "abc.csv", "-o", "abc.html", "--label", "s")[0] == 0
    frame.drop(columns="b").rename(columns={"c": "cc"}).to_csv(folder / "ac.csv", index=False)
    code, _, err = call("predict", "python.skops", "ac.csv", "-o", "x.csv")
    assert code == 2
    assert "uses columns that the table lacks. The table has no columns 'b' and 'c'." in err
    known = KnownPropensityClassifier().fit(frame[["a", "b"]], data.s, propensity=data.e)
    save(known, folder / "known.skops")
    assert call("predict", "known.skops", "abc.csv", "-o", "known.csv")[0] == 0
    assert list(pd.read_csv(folder / "known.csv")) == ["probability"]
    code, _, err = call("report", "known.skops", "abc.csv", "-o", "known.html", "--label", "s")
    assert (code, "which has no propensity model" in err) == (2, True)
    save(SAREMClassifier([0]).fit(data.X, data.s), folder / "nameless.skops")
    code, _, err = call("predict", "nameless.skops", "abc.csv", "-o", "y.csv")
    assert (code, "fitted without column names" in err) == (2, True)


@pytest.fixture(scope="module")
def of_python(folder):
    """Models that no command can do everything with, and tables that suit none."""
    data = make_pu(400, 3)
    table = pd.DataFrame(data.X, columns=["a", "b", "c"])
    bayes = GaussianNB()
    save(
        SAREMClassifier(["a"], classifier=bayes, max_iter=2).fit(table, data.s),
        folder / "bayes.skops",
    )
    save(SAREMClassifier(["a"]).fit(table, data.s), folder / "abc.skops")
    save(ElkanNoto().fit(table, data.s), folder / "prior.skops")
    table = table.assign(s=data.s)
    table.assign(d=pd.date_range("2020-01-01", periods=400)).to_csv(
        folder / "days.csv", index=False
    )
    table.assign(a=[{"q": 1}] * 400).to_parquet(folder / "records.parquet")
    table.assign(a=pd.Timedelta(1, "D")).to_parquet(folder / "times.parquet")
    table.assign(a="word").to_csv(folder / "words.csv", index=False)
    table.assign(d=0, s=0, a=pd.Timestamp("2020-01-01")).to_parquet(folder / "dates.parquet")
    table.assign(s=[[1]] * 400).to_parquet(folder / "lists.parquet")
    fit = ("fit", "days.csv", "--label", "s", "-o", "days.skops")
    assert command(*fit, cwd=folder).returncode == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sql", "days.skops", "--table", "t"), "'d' holds dates, which to_sql does not"),
        (("sql", "bayes.skops", "--table", "t"), "not a GaussianNB"),
        (("sql", "prior.skops", "--table", "t"), "ElkanNoto. Score"),
        (
            ("predict", "prior.skops", "new.parquet", "-o", "p.csv"),
            "ElkanNoto, which gives no",
        ),
        (("predict", "abc.skops", "records.parquet", "-o", "p.csv"), "'a' holds lists or records"),
        (("predict", "abc.skops", "words.csv", "-o", "p.csv"), "'a' holds words; the model takes"),
        (("predict", "days.skops", "dates.parquet", "-o", "p.csv"), "'a' held numbers when"),
        (("predict", "abc.skops", "times.parquet", "-o", "p.csv"), "'a' holds dates or times"),
        (
            ("fit", "lists.parquet", "--label", "s", "--batches", "-o", "l.skops"),
            "'s' holds lists or records",
        ),
    ],
)
def test_what_a_command_cannot_do_is_no_fault_of_the_program(call, of_python, arguments, message):
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert message in err
