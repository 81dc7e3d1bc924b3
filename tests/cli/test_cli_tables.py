"""The command line and tables as people have them: pipes, lists, weights, groups, endings."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from cli_tools import SOURCE, command, warm_process
from sarlearn import load
from sarlearn.cli.app import app
from sarlearn.cli.table import split_names
from table_data import patients

FIT = ("--label", "diagnosed", "--propensity", "age,plan", "--id", "patient_id")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables")
    table, _, _ = patients(800)
    table = table.assign(site=np.arange(800) // 4, stands_for=1.0 + np.arange(800) % 3)
    table.to_csv(path / "plain.csv", index=False)
    dirty = table.assign(
        age=table["age"].astype(int).astype(str),
        cost=[f"€ {v:,.2f}" for v in np.exp(np.random.default_rng(0).normal(6, 2, 800))],
        diagnosed=np.where(table["diagnosed"], "sick", "well"),
        same="x",
    )
    dirty.loc[5, "age"] = "?"
    dirty.loc[7, "patient_id"] = dirty.loc[5, "patient_id"]
    dirty.loc[9, "patient_id"] = "=1+1"
    dirty.to_csv(path / "dirty.csv", index=False)
    return path


@pytest.fixture(scope="module")
def fitted(folder):
    """A model of the dirty table, and what the fit said."""
    options = ("--positive", "sick", "--drop", "site,stands_for", "--json", "-o", "m.skops")
    found = command("fit", "dirty.csv", *FIT, *options, cwd=folder)
    assert found.returncode == 0, found.stderr
    return found


def test_inspect_tells_how_columns_are_read(folder):
    found = command("inspect", "dirty.csv", "--json", cwd=folder)
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    columns = {column["name"]: column for column in told["columns"]}
    assert columns["age"]["kind"] == "number"
    assert columns["age"]["cells_not_read"] == {"?": 1}
    assert columns["bmi"]["missing"] > 10
    assert columns["cost"]["scale"] == "log"
    assert columns["plan"]["levels"] == 3
    assert columns["same"]["dropped"] == "holds a single value"
    assert any("'age' holds numbers, except in 1 of 800 rows" in note for note in told["notes"])
    text = command("inspect", "dirty.csv", cwd=folder).stdout
    assert "1 cell taken as missing ('?')" in text
    assert "in €" in text


def test_labels_by_positive_lists_of_columns_and_repeated_ids(fitted):
    told = json.loads(fitted.stdout)
    table, _, _ = patients(800)
    assert told["data"]["labelled"] == table["diagnosed"].sum()
    assert "--id: '00005' stands in 2 rows of 'patient_id'" in fitted.stderr
    assert fitted.stderr.count("'age' holds numbers") == 1


def test_standard_input_and_output(folder, fitted):
    data = (folder / "dirty.csv").read_text()
    found = warm_process("predict", "m.skops", "-", "-o", "-", cwd=folder, input=data)
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert lines[0] == "patient_id,probability,propensity,posterior"
    assert len(lines) == 801
    assert lines[10].startswith("'=1+1,")  # a spreadsheet would run it
    assert "1 cell that a spreadsheet would run" in found.stderr
    assert "Scored 800 rows" in found.stderr


def test_predict_and_fit_count_the_same(folder, fitted):
    counted = json.loads(fitted.stdout)["estimates"]["hidden_positives"]
    found = command("predict", "m.skops", "dirty.csv", "-o", "s.csv", cwd=folder)
    assert f"about {counted:,.0f} of the" in found.stdout


def test_codes_with_leading_zeros_stay_words(folder):
    """As numbers, 00501 would be less than 10001, and a slope would be all that is learned."""
    table, _, _ = patients(800)
    rng = np.random.default_rng(0)
    table["zip"] = rng.choice(["00501", "02139", "10001", "94105"], 800)
    table["dose"] = rng.choice(["5", "10", "200"], 800)
    table.loc[3, "dose"] = "05"  # typed so once: still a number
    table.to_csv(folder / "codes.csv", index=False)
    found = command("fit", "codes.csv", *FIT, "-o", "codes.skops", cwd=folder)
    assert found.returncode == 0, found.stderr
    encoder = load(folder / "codes.skops").reader_
    assert encoder.kinds_["zip"] == "category"
    assert encoder.kinds_["dose"] == "numeric"
    assert encoder.levels_["zip"] == ["00501", "02139", "10001", "94105"]
    told = json.loads(command("inspect", "codes.csv", "--json", cwd=folder).stdout)["columns"]
    (column,) = (column for column in told if column["name"] == "zip")
    assert column["note"] == "codes with leading zeros, kept as words"
    # Rows of which no code has a zero in front are scored as the same words.
    some = pd.read_csv(folder / "codes.csv", dtype=str).query("zip > '1'")
    some.to_csv(folder / "some.csv", index=False)
    for name in ("codes", "some"):
        found = command("predict", "codes.skops", f"{name}.csv", "-o", f"{name}_s.csv", cwd=folder)
        assert "not seen in the fit" not in found.stdout
    whole, part = (
        pd.read_csv(folder / f"{name}_s.csv").set_index("patient_id")["probability"]
        for name in ("codes", "some")
    )
    np.testing.assert_allclose(part, whole[part.index], rtol=1e-12)


def test_names_of_columns_may_hold_commas():
    table = pd.DataFrame(columns=["age, in years", "plan", "site"])
    assert split_names(table, ["age, in years", "plan, site"]) == tuple(table.columns)


def test_weights_and_groups(folder):
    options = ("--weight", "stands_for", "--groups", "site", "-o", "w.skops", "--json")
    found = command("fit", "plain.csv", *FIT, *options, cwd=folder)
    assert found.returncode == 0, found.stderr
    plain = command("fit", "plain.csv", *FIT, "-o", "p.skops", "--json", cwd=folder)
    priors = [json.loads(f.stdout)["estimates"]["class_prior"] for f in (found, plain)]
    assert priors[0] != priors[1]
    rows = [json.loads(f.stdout)["data"]["rows"] for f in (found, plain)]
    assert rows[0] > rows[1] == 800  # each row counts as often as it stands for
    pd.read_csv(folder / "plain.csv").drop(columns="diagnosed").to_csv(folder / "bare.csv")
    for table in ("plain.csv", "bare.csv"):  # by posteriors, and by probabilities
        scored = command("predict", "w.skops", table, "-o", f"w_{table}", "--json", cwd=folder)
        expected = json.loads(scored.stdout)["expected_positives"]
        assert expected == pytest.approx(priors[0] * rows[0])
    refused = command(
        *("fit", "plain.csv", *FIT, "--groups", "site", "--method", "sar-em", "-o", "g.skops"),
        cwd=folder,
    )
    assert refused.returncode == 2
    assert "--groups is not available with --method sar-em; use --method sar." in refused.stderr
    table = pd.read_csv(folder / "plain.csv")
    for value, said in ((-1, "-1"), (np.nan, "missing")):
        table.loc[3, "stands_for"] = value
        table.to_csv(folder / "refused.csv", index=False)
        refused = command(
            *("fit", "refused.csv", *FIT, "--weight", "stands_for", "-o", "g.skops"), cwd=folder
        )
        assert refused.returncode == 2
        assert f"--weight: 'stands_for' is {said} in row 3" in refused.stderr


def test_how_the_table_of_the_fit_was_read_is_remembered(folder):
    """Gaps that are written as -9 would be ages."""
    table = pd.read_csv(folder / "plain.csv")
    table.loc[::5, "age"] = -9
    table.to_csv(folder / "coded.csv", index=False)
    fit = command("fit", "coded.csv", *FIT, "--na", "-9", "-o", "coded.skops", cwd=folder)
    assert fit.returncode == 0, fit.stderr
    scored, told = [], []
    for number, again in enumerate(((), ("--na", "-9"))):
        given = ("coded.skops", "coded.csv", *again, "-o")
        command("predict", *given, f"s{number}.csv", cwd=folder)
        told.append(command("report", *given, f"r{number}.html", "--json", cwd=folder).stdout)
        scored.append((folder / f"s{number}.csv").read_text())
    assert scored[0] == scored[1]
    assert json.loads(told[0])["estimates"] == json.loads(told[1])["estimates"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fit", "plain.csv", *FIT, "-o", "m.pkl"), "models are saved as .skops"),
        (("fit", "plain.csv", *FIT, "-o", "n.skops", "--report", "r.pdf"), "written as .html"),
        (("predict", "m.skops", "plain.csv", "-o", "s.xlsx"), "tables are written as .csv"),
        (("fit", "nothing.csv", *FIT, "-o", "n.skops"), "no file nothing.csv"),
        (("fit", "no*.csv", *FIT, "-o", "n.skops", "--dask"), "No file matches no*.csv"),
        (("audit", "none.skops", "plain.csv", "-o", "a.csv"), "no model file none.skops"),
        (("audit", "m.skops", "plain.csv", "-o", "plain.csv"), "an input of this command"),
        (("audit", "m.skops", "plain.csv", "-o", "a.xlsx"), "tables are written as .csv"),
        (("sql", "none.skops", "--table", "t"), "no model file none.skops"),
        (("sql", "m.skops", "--table", "t", "-o", "plain.csv"), "use --force to replace it"),
        (("inspect", "plain.csv", "--sep", "ab"), "--sep must be one character"),
    ],
)
def test_refused_paths_are_told_before_anything_is_imported(folder, fitted, arguments, message):
    script = (
        "import sys\nfrom sarlearn.cli import run\n"
        "code = run(sys.argv[1:])\n"
        "assert not {'numpy', 'sklearn', 'pandas'} & set(sys.modules), 'imported too much'\n"
        "sys.exit(code)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    assert found.returncode == 2, found.stderr
    assert message in found.stderr


def test_every_command_has_an_example():
    for name, one in app.commands.items():
        assert f"sarlearn {name}" in (one.epilog or ""), name
