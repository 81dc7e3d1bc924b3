"""The command line on real files: as a process where that matters, else in this process."""

import io
import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sarlearn
from conftest import make_pu
from sarlearn import KnownPropensityClassifier, SAREMClassifier, cli
from sarlearn.saving import load_file, save
from table_data import adult_like, hostile, patients

SOURCE = str(Path(sarlearn.__file__).parents[1])


def process(*arguments, cwd=None, **options):
    """Run the command as a person does."""
    return subprocess.run(
        [sys.executable, "-m", "sarlearn", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
        timeout=300,
        **options,
    )


@pytest.fixture
def call(capsys, monkeypatch, folder):
    """Run the command in this process; gives code, output and errors."""
    monkeypatch.chdir(folder)

    def run(*arguments):
        code = cli.run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table in several forms, and a model fitted to it by the command."""
    path = tmp_path_factory.mktemp("work")
    table, y, _ = patients(1500)
    table.to_csv(path / "patients.csv", index=False)
    pl.from_pandas(table).write_ipc(path / "patients.arrow")
    table.drop(columns="diagnosed").iloc[::-1].to_parquet(path / "new.parquet")
    table.assign(ill=np.where(y, "yes", "no")).drop(columns="diagnosed").to_csv(
        path / "classes.csv.gz", index=False
    )
    result = process(
        *("fit", "patients.csv", "--label", "diagnosed", "--id", "patient_id"),
        *("--propensity", "age", "--propensity", "plan", "--report", "report.html"),
        *("-o", "model.skops", "--json"),
        cwd=path,
    )
    assert result.returncode == 0, result.stderr
    (path / "fit.json").write_text(result.stdout)
    return path


def test_help_answers_at_once():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = process("--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.returncode == 0
    for command in ("fit", "predict", "prior", "simulate", "report", "demo"):
        assert re.search(rf"^  {command} ", result.stdout, re.MULTILINE)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used < 0.3


def test_fit_saves_a_model_and_says_what_it_found(folder):
    summary = json.loads((folder / "fit.json").read_text())
    assert summary["source"] == "patients.csv"
    assert summary["model"]["propensity_attributes"] == ["age", "plan"]
    assert summary["data"]["rows"] == 1500
    saved = load_file(folder / "model.skops")
    assert saved.notes["label"] == "diagnosed"
    assert saved.notes["id"] == "patient_id"
    table = pd.read_csv(folder / "patients.csv", dtype={"patient_id": str})
    s = table["diagnosed"].to_numpy()
    expected = saved.model.predict_posterior(table, s)[s == 0].sum()
    assert summary["estimates"]["hidden_positives"] == pytest.approx(expected)
    html = (folder / "report.html").read_text()
    assert summary["text"]["headline"] in html
    assert sorted(p.name for p in folder.glob(".*")) == []


def test_fit_as_text_with_other_settings(call, folder):
    code, out, err = call(
        *(
            "fit",
            "patients.arrow",
            "--label",
            "diagnosed",
            "--id",
            "patient_id",
            "--drop",
            "region",
        ),
        *("--propensity", "plan", "--decay", "1", "--C", "10", "--stop", "fixed_point"),
        *("-o", "other.skops"),
    )
    assert (code, err) == (0, "")
    assert re.match(r"About [\d,]+ of the [\d,]+ unlabelled rows \(", out)
    assert "plan = full: Against the average row, the odds of being labelled are" in out
    assert out.rstrip().endswith("Wrote other.skops.")
    model = load_file(folder / "other.skops").model
    assert model[0].drop == ("diagnosed", "patient_id", "region")
    settings = model[-1].get_params()
    assert (settings["decay"], settings["C"], settings["stop"]) == (1, 10, "fixed_point")


def test_fit_by_boosting(call, folder):
    patients(400)[0].drop(columns=["patient_id", "region"]).to_csv(
        folder / "small.csv", index=False
    )
    code, out, _ = call(
        *("fit", "small.csv", "--label", "diagnosed", "--propensity", "plan"),
        *("--classifier", "boosting", "--max-iter", "2", "-o", "b.skops"),
    )
    assert code == 0
    assert "had not settled after 2 rounds" in out
    model = load_file(folder / "b.skops").model
    assert type(model[-1].classifier_).__name__ == "HistGradientBoostingClassifier"


def test_warnings_of_the_fit_are_told_and_reported(call, folder):
    table = patients(300)[0]
    labelled = np.flatnonzero(table["diagnosed"])
    table.loc[labelled[12:], "diagnosed"] = 0
    table.to_csv(folder / "few.csv", index=False)
    code, out, err = call(
        *("fit", "few.csv", "--label", "diagnosed", "--id", "patient_id"),
        *("-o", "few.skops", "--json"),
    )
    assert code == 0
    assert err.startswith("Warning: Only 12 labelled rows")
    assert any("Only 12 labelled rows" in text for text in json.loads(out)["warnings"])


def test_predict_keeps_ids_and_order(folder):
    result = process("predict", "model.skops", "new.parquet", "-o", "scored.csv", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Scored 1,500 rows; about ")
    scored = pd.read_csv(folder / "scored.csv", dtype={"patient_id": str})
    assert list(scored.columns) == ["patient_id", "probability", "propensity"]
    new = pd.read_parquet(folder / "new.parquet")
    assert scored["patient_id"].tolist() == new["patient_id"].tolist()
    model = load_file(folder / "model.skops").model
    np.testing.assert_array_equal(scored["probability"], model.predict_proba(new)[:, 1])
    np.testing.assert_array_equal(scored["propensity"], model.predict_propensity(new))


@pytest.mark.parametrize("output", ["all.parquet", "all.arrow", "all.csv.gz"])
def test_predict_with_labels_gives_posteriors(call, folder, output):
    code, out, _ = call(
        *("predict", "model.skops", "patients.csv", "-o", output, "--keep-all", "--json")
    )
    assert code == 0
    from sarlearn.io import read_table

    scored = read_table(folder / output, text_columns=["patient_id"])
    assert list(scored.columns)[-3:] == ["probability", "propensity", "posterior"]
    assert scored.columns[0] == "patient_id"
    assert (scored["posterior"][scored["diagnosed"] == 1] == 1).all()
    told = json.loads(out)
    assert told["rows"] == 1500
    assert told["expected_positives"] == pytest.approx(scored["posterior"].sum())
    assert told["unknown_values"] == {}


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
    code, out, _ = call("report", "model.skops", "patients.csv", "-o", "again.html", "--top", "3")
    assert code == 0
    assert out.rstrip().endswith("Wrote again.html.")
    html = (folder / "again.html").read_text()
    assert html.count('class="bar"') == 3
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
    assert (code, err) == (2, "Error: The table has no column 'b', which the model uses.\n")
    known = KnownPropensityClassifier().fit(frame[["a", "b"]], data.s, propensity=data.e)
    save(known, folder / "known.skops")
    assert call("predict", "known.skops", "abc.csv", "-o", "known.csv")[0] == 0
    assert list(pd.read_csv(folder / "known.csv")) == ["probability"]
    code, _, err = call("report", "known.skops", "abc.csv", "-o", "known.html", "--label", "s")
    assert (code, "which has no propensity model" in err) == (2, True)
    save(SAREMClassifier([0]).fit(data.X, data.s), folder / "nameless.skops")
    code, _, err = call("predict", "nameless.skops", "abc.csv", "-o", "y.csv")
    assert (code, "fitted without column names" in err) == (2, True)


@pytest.mark.parametrize(
    ("options", "frequency"),
    [
        (["--label-frequency", "0.3"], (0.24, 0.36)),
        (["--propensity", "age", "--low", "0.4", "--high", "0.6"], (0.42, 0.58)),
        (["--propensity", "age", "--propensity", "plan"], (0.3, 0.6)),
        (["--propensity", "smoker", "--mechanism", "product"], (0.4, 0.75)),
        (["--propensity", "bmi", "--propensity", "region", "--mechanism", "geometric"], (0.3, 0.7)),
    ],
)
def test_simulate(call, folder, options, frequency):
    code, out, err = call(
        *("simulate", "classes.csv.gz", "--class", "ill", *options, "-o", "pu.parquet"),
        *("--propensity-column", "e", "--keep-class", "--force", "--json"),
    )
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert frequency[0] < told["label_frequency"] < frequency[1]
    table = pd.read_parquet(folder / "pu.parquet")
    assert told["labelled"] == table["labelled"].sum()
    assert (table["ill"][table["labelled"] == 1] == "yes").all()
    positive = table["ill"] == "yes"
    assert table["e"][positive].between(*told["propensity"]).all()
    # Labelled rows are drawn with the propensity that is written beside them.
    gap = table["labelled"][positive].mean() - table["e"][positive].mean()
    assert abs(gap) < 4 * np.sqrt(0.25 / positive.sum())


def test_simulate_directions_classes_and_text(call, folder):
    call(
        *("simulate", "classes.csv.gz", "--class", "plan", "--positive", "full"),
        *("--propensity", "age", "--falling", "age", "-o", "fall.csv", "--propensity-column", "e"),
    )
    table = pd.read_csv(folder / "fall.csv")
    assert "plan" not in table
    assert np.corrcoef(table["age"], table["e"])[0, 1] < -0.99
    assert table["e"].min() == pytest.approx(0.2)
    code, out, _ = call("simulate", "classes.csv.gz", "--class", "ill", "-o", "s.csv")
    assert re.match(r"Labelled \d+ of \d+ positives \(\d+\.\d%\) in 1,500 rows", out)
    again = call("simulate", "classes.csv.gz", "--class", "ill", "-o", "s2.csv")
    assert again[0] == code == 0
    assert (folder / "s.csv").read_bytes() == (folder / "s2.csv").read_bytes()


def test_without_pandas_polars_does_the_same(call, folder, monkeypatch):
    monkeypatch.setattr("sarlearn.io.table_backend", lambda: "polars")
    fit = ("fit", "patients.csv", "--label", "diagnosed", "--id", "patient_id")
    code, out, _ = call(
        *fit, *("--propensity", "age", "--propensity", "plan", "--json", "-o", "polars.skops")
    )
    assert code == 0
    expected = json.loads((folder / "fit.json").read_text())
    found = json.loads(out)
    assert found["estimates"] == pytest.approx(expected["estimates"])
    assert found["candidates"]["rows"][0]["id"] == expected["candidates"]["rows"][0]["id"]
    code, _, _ = call("predict", "polars.skops", "patients.arrow", "-o", "polars.arrow")
    assert code == 0
    assert pl.read_ipc(folder / "polars.arrow").columns[-1] == "posterior"
    assert call("report", "polars.skops", "patients.arrow", "-o", "polars.html")[0] == 0
    simulate = ("simulate", "classes.csv.gz", "--class", "ill", "--propensity", "bmi")
    assert call(*simulate, "-o", "polars.parquet")[0] == 0
    assert pl.read_parquet(folder / "polars.parquet")["labelled"].sum() > 0
    prior = ("prior", "patients.arrow", "--label", "diagnosed", "--id", "patient_id")
    assert call(*prior, "--method", "EN")[0] == 0


def test_prior_compares_methods(call):
    code, out, _ = call(
        *("prior", "patients.csv", "--label", "diagnosed", "--id", "patient_id"),
        *("--propensity", "age", "--propensity", "plan", "--method", "sar-em", "--method", "BBE"),
    )
    assert code == 0
    assert re.search(r"SAR-EM +\d+\.\d% +\d+\.\d% +\d+\.\d%", out)
    assert "BBE" in out
    assert "SAR-EM lets labelling depend on age, plan" in out
    code, out, _ = call(
        *("prior", "patients.csv", "--label", "diagnosed", "--drop", "patient_id"),
        *("--method", "EN", "--json"),
    )
    (row,) = json.loads(out)["estimates"]
    assert row["method"] == "EN"
    assert 0 < row["class_prior"] <= 1
    code, out, _ = call(
        *("prior", "patients.csv", "--label", "diagnosed", "--drop", "patient_id", "--method", "EN")
    )
    assert "All of these assume" in out


def test_demo_writes_its_report(call, folder):
    code, out, _ = call("demo")
    assert code == 0
    assert "SCAR" in out
    assert out.rstrip().endswith("Wrote sarlearn-demo-report.html.")
    html = (folder / "sarlearn-demo-report.html").read_text()
    assert "handwritten digits" in html
    assert "ink" in html


FIT = ("fit", "patients.csv", "-o", "bad.skops")
GOOD = (*FIT, "--label", "diagnosed")
BAD = [
    ([], r"Usage: sarlearn", 0),
    (["fitt"], r"No such command 'fitt'", 2),
    ([*FIT], r"Missing option '--label'", 2),
    ([*FIT, "--label", "diagnosd"], r"no column 'diagnosd'\. Nearest names: diagnosed\.", 2),
    ([*FIT, "--label", "zzz"], r"no column 'zzz'\. Columns: patient_id, age, plan", 2),
    (
        [*FIT, "--label", "plan"],
        r"holds 3 values that are not a yes and a no \(basic, full, none\)",
        2,
    ),
    (
        [*GOOD, "--propensity", "Plan"],
        r"--propensity: .*Nearest names: plan",
        2,
    ),
    (
        [*GOOD, "--propensity", "diagnosed"],
        r"cannot be both label and prop",
        2,
    ),
    ([*GOOD, *("--drop", "age") * 2], r"names the column 'age' twice", 2),
    ([*GOOD, "--decay", "1.5"], r"1\.5 is not in the range 0<x<=1", 2),
    ([*GOOD, "--C", "0"], r"0\.0 is not in the range x>0", 2),
    (
        [*GOOD, "--stop", "now"],
        r"'now' is not one of 'slope', 'fixed_point'",
        2,
    ),
    (["fit", "none.csv", "--label", "a", "-o", "bad.skops"], r"There is no file none\.csv", 2),
    (["fit", "empty.csv", "--label", "a", "-o", "bad.skops"], r"empty\.csv is empty\.", 2),
    (["fit", "broken.parquet", "--label", "a", "-o", "bad.skops"], r"cannot be read as parquet", 2),
    (["fit", "notes.docx", "--label", "a", "-o", "bad.skops"], r"names no known table format", 2),
    (["fit", "three.csv", "--label", "s", "-o", "bad.skops"], r"Only 3 of 40 rows are labelled", 2),
    (["fit", "all.csv", "--label", "s", "-o", "bad.skops"], r"All 40 rows are labelled", 2),
    (["fit", "dates.csv", "--label", "s", "-o", "bad.skops"], r"'seen' holds dates, such as", 2),
    (["fit", "patients.csv", "--label", "diagnosed", "-o", "model.skops"], r"use --force", 2),
    (
        ["fit", "patients.csv", "--label", "diagnosed", "-o", "no/m.skops"],
        r"There is no folder no",
        2,
    ),
    (["fit", "patients.csv", "--label", "diagnosed", "-o", "."], r"is a folder; name a file", 2),
    ([*GOOD, "--report", "bad.skops"], r"Two outputs have the same name", 2),
    (["predict", "none.skops", "patients.csv", "-o", "bad.csv"], r"There is no model file", 2),
    (
        ["predict", "patients.csv", "patients.csv", "-o", "bad.csv"],
        r"not a model saved by sarlearn",
        2,
    ),
    (["predict", "cut.skops", "patients.csv", "-o", "bad.csv"], r"or it is damaged", 2),
    (["predict", "model.skops", "three.csv", "-o", "bad.csv"], r"--id: the table has no column", 2),
    (["predict", "model.skops", "three.csv", "--id", "x", "-o", "bad.csv"], r"no column 'age'", 2),
    (["predict", "model.skops", "new.parquet", "-o", "bad.txt.zip"], r"names no known table", 2),
    (
        ["predict", "model.skops", "patients.csv", "-o", "patients.csv", "--force"],
        r"is an input of this command",
        2,
    ),
    (["report", "model.skops", "new.parquet", "-o", "bad.html"], r"no label column 'diagnosed'", 2),
    (
        ["report", "model.skops", "none_labelled.csv", "-o", "bad.html"],
        r"must hold labelled and unlabelled rows",
        2,
    ),
    (
        ["predict", "model.skops", "scored_before.csv", "-o", "bad.csv", "--keep-all"],
        r"already has",
        2,
    ),
    (
        ["prior", "patients.csv", "--label", "diagnosed", "--method", "x"],
        r"accepted are BBE, KM1",
        2,
    ),
    (["simulate", "patients.csv", "--class", "plan", "-o", "bad.csv"], r"with --positive which", 2),
    (
        ["simulate", "patients.csv", "--class", "plan", "--positive", "x", "-o", "bad.csv"],
        r"no row of 'plan' holds 'x'; it holds basic, full, none",
        2,
    ),
]
SIMULATE = ["simulate", "patients.csv", "--class", "diagnosed", "-o", "bad.csv"]
BAD += [
    ([*SIMULATE, "--mechanism", "constant", "--propensity", "age"], r"takes no --propensity", 2),
    ([*SIMULATE, "--mechanism", "one"], r"one --propensity column, not 0", 2),
    ([*SIMULATE, "--mechanism", "logistic"], r"needs at least one --propensity", 2),
    ([*SIMULATE, "--propensity", "age", "--falling", "bmi"], r"'bmi', which is no --propensity", 2),
    ([*SIMULATE, "--propensity", "age", "--low", "0.9"], r"--low \(0\.9\) exceeds --high", 2),
    (
        [*SIMULATE, "--propensity", "age", "--mechanism", "logistic", "--high", "1"],
        r"cannot reach a propensity of 1",
        2,
    ),
    ([*SIMULATE, "--label", "age"], r"already has a column 'age'", 2),
    ([*SIMULATE, "--propensity-column", "labelled"], r"already has a column 'labelled'", 2),
    (["simulate", "all.csv", "--class", "s", "-o", "bad.csv"], r"must hold positive and other", 2),
    (
        ["simulate", "three.csv", "--class", "s", "--propensity", "same", "-o", "bad.csv"],
        r"'same' holds a single value",
        2,
    ),
]


@pytest.fixture(scope="module")
def bad_files(folder):
    x = np.arange(40.0)
    one = pd.DataFrame({"x": x, "same": 1, "s": 1})
    one.to_csv(folder / "all.csv", index=False)
    one.assign(s=(x < 3) * 1).to_csv(folder / "three.csv", index=False)
    one.assign(seen="2024-02-03", s=(x < 20) * 1).to_csv(folder / "dates.csv", index=False)
    table = pd.read_csv(folder / "patients.csv", dtype={"patient_id": str})
    table.assign(diagnosed=0).to_csv(folder / "none_labelled.csv", index=False)
    table.assign(probability=0).to_csv(folder / "scored_before.csv", index=False)
    (folder / "empty.csv").write_text("")
    (folder / "broken.parquet").write_text("no table")
    (folder / "notes.docx").write_text("words")
    (folder / "cut.skops").write_bytes((folder / "model.skops").read_bytes()[:1000])


@pytest.mark.parametrize(("arguments", "message", "expected"), BAD)
def test_bad_usage_and_bad_data_get_one_sentence(
    call, folder, bad_files, arguments, message, expected
):
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    code, out, err = call(*arguments)
    assert code == expected
    assert re.search(message, err + out)
    if expected:
        assert out == ""
        assert err.count("\n") == 1
        assert err.startswith("Error: ")
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_bad_data_as_a_process(folder, bad_files, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")  # a terminal that cannot show every name
    for arguments in (
        ["fit", "patients.csv", "--label", "🦄", "-o", "bad.skops"],
        ["predict", "cut.skops", "patients.csv", "-o", "bad.csv"],
    ):
        result = process(*arguments, cwd=folder)
        assert result.returncode == 2
        assert result.stdout == ""
        assert re.fullmatch(r"Error: [^\n]+\n", result.stderr)
    assert not list(folder.glob("*bad*"))


def test_a_write_that_fails_leaves_the_old_output_whole(folder):
    """The system refuses to write more than 20 kB, as a full disk would in the midst of a file."""
    path = folder / "kept.csv"
    path.write_text("old")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    result = process(
        *("predict", "model.skops", "patients.csv", "-o", "kept.csv", "--force"),
        cwd=folder,
        preexec_fn=limit,
    )
    assert result.returncode == 2
    assert re.fullmatch(r"Error: [^\n]*[Ff]ile too large[^\n]*\n", result.stderr)
    assert path.read_text() == "old"
    assert not list(folder.glob(".kept*"))


def test_a_hundred_thousand_rows_within_a_minute(tmp_path):
    table, y = adult_like(100_000)
    table.to_csv(
        tmp_path / "table.csv.gz", index=False, compression={"method": "gzip", "compresslevel": 1}
    )
    attributes = [name for name in ("age", "sex", "plan") if name in table]
    used = []
    started = time.perf_counter()
    for arguments in (
        ["fit", "table.csv.gz", "--label", "labelled", "--id", "patient_id", "-o", "m.skops"]
        + [word for name in attributes for word in ("--propensity", name)],
        ["predict", "m.skops", "table.csv.gz", "-o", "scored.parquet"],
    ):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = process(*arguments, cwd=tmp_path)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert result.returncode == 0, result.stderr
        used.append(after.ru_utime - before.ru_utime)
    # Other work on the machine must not decide: its own seconds count, or those of the clock.
    assert min(sum(used), time.perf_counter() - started) < 60
    scored = pd.read_parquet(tmp_path / "scored.parquet")
    assert scored["patient_id"].tolist() == table["patient_id"].tolist()
    hidden = table["labelled"].to_numpy() == 0
    top = scored["posterior"].to_numpy()[hidden].argsort()[-1000:]
    assert y[hidden][top].mean() > 3 * y[hidden].mean()


@pytest.mark.filterwarnings("ignore")
def test_hostile_tables(call, folder):
    table = hostile(n=300, n_columns=40)
    table.to_csv(folder / "hostile.csv", index=False)
    code, out, _ = call(
        *("fit", "hostile.csv", "--label", "<u>label</u>", "--id", "<id>", "--force"),
        *("--propensity", table.columns[0], "--propensity", "emoji 🦄🔥"),
        *("-o", "hostile.skops", "--report", "hostile.html"),
    )
    assert code == 0
    assert "emoji 🦄🔥 = 🔥: Against the average row" in out
    code, _, _ = call(
        "predict", "hostile.skops", "hostile.csv", "-o", "hostile_scored.csv", "--force"
    )
    assert code == 0
    scored = pd.read_csv(folder / "hostile_scored.csv")
    assert scored["<id>"].tolist() == table["<id>"].tolist()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_person_who_watches_sees_progress(call, folder, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    call(*("fit", "patients.csv", "--label", "diagnosed", "--drop", "patient_id"), "-o", "p.skops")
    assert "Fitting 1,500 rows" in screen.getvalue()
    assert "Comparing with simpler assumptions" in screen.getvalue()


def test_faults_of_the_program_are_told_apart(call, monkeypatch):
    def fail(**options):
        raise RuntimeError("unexpected\nstate")

    monkeypatch.setattr("sarlearn.cli.prior.prior", fail)
    code, _, err = call("prior", "patients.csv", "--label", "diagnosed")
    assert code == 1
    assert err.startswith(
        "Error: the program failed (RuntimeError: unexpected state); set SARLEARN_"
    )
    monkeypatch.setenv("SARLEARN_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        call("prior", "patients.csv", "--label", "diagnosed")


def test_other_ends(call, monkeypatch, folder):
    import click

    def raise_later(error):
        def fail(**options):
            raise error

        return fail

    monkeypatch.setattr("sarlearn.cli.prior.prior", raise_later(click.exceptions.Abort()))
    assert call("prior", "patients.csv", "--label", "x")[0] == 130
    denied = PermissionError(13, "Permission denied", "secret.csv")
    monkeypatch.setattr("sarlearn.cli.prior.prior", raise_later(denied))
    assert call("prior", "t.csv", "--label", "x")[2] == "Error: secret.csv: Permission denied.\n"
    monkeypatch.setattr("sarlearn.cli.prior.prior", raise_later(click.ClickException("no")))
    assert call("prior", "t.csv", "--label", "x")[::2] == (2, "Error: no\n")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert "may not be written" in call("simulate", "t.csv", "--class", "x", "-o", "n.csv")[2]


def test_a_reader_that_goes_away(folder):
    """``sarlearn ... | head``: the pipe is closed before the command writes."""
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-m", "sarlearn", "fit", "--help"],
        stdout=writer,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": SOURCE, "PYTHONUNBUFFERED": "1"},
        check=False,
    )
    os.close(writer)
    assert result.returncode == 1
    assert result.stderr == b""


def test_without_click_the_extra_is_named(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "click", None)
    code, _, err = call("--help")
    assert code == 2
    assert "sarlearn[cli]" in err


def test_main_exits_with_the_code(monkeypatch, folder):
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
