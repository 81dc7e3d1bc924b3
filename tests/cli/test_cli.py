"""The command line on real files: fits, and what holds for all commands.

As a process where that matters, else in this process.
"""

import io
import json
import re
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest

import sarlearn
from cli_tools import process, warm_process
from sarlearn import SARClassifier
from sarlearn.demo import run_demo
from sarlearn.saving import load_file
from table_data import adult_like, hostile, patients


def test_help_answers_at_once():
    """What takes long is not imported; ``benchmarks/startup.py`` has the time."""
    result = process("--help")
    assert result.returncode == 0
    for command in ("fit", "predict", "audit", "check", "report", "demo"):
        assert re.search(rf"^  {command} ", result.stdout, re.MULTILINE)
    heavy = ("numpy", "scipy", "sklearn", "pandas", "polars", "pyarrow", "matplotlib", "rich")
    code = "import sys; from sarlearn import cli; cli.run(['--help']); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "sarlearn.cli" in loaded
    assert not set(heavy) & set(loaded)


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
    learner = saved.model
    assert isinstance(learner, SARClassifier)
    expected = learner.class_prior_ * 1500 - s.sum()
    assert summary["estimates"]["hidden_positives"] == pytest.approx(expected)
    X = table[learner.feature_names_in_]
    by_row = learner.predict_posterior(X, s)[s == 0].sum()
    assert by_row == pytest.approx(expected)
    assert learner.predict_proba(X)[:, 1].mean() == pytest.approx(learner.class_prior_, abs=1e-9)
    certainty = summary["certainty"]
    assert (certainty["low"], certainty["high"]) == learner.class_prior_range_
    assert certainty["hidden_positives"][0] == pytest.approx(certainty["low"] * 1500 - s.sum())
    html = (folder / "report.html").read_text()
    assert summary["verdict"]["reason"] in html
    assert summary["text"]["headline"] in html
    assert sorted(p.name for p in folder.glob(".*")) == []


def test_fit_as_text_with_other_settings(call, folder):
    given = ("--label", "diagnosed", "--id", "patient_id", "--drop", "region")
    code, out, _ = call(
        *("fit", "patients.arrow", *given, "--propensity", "plan"),
        *("--method", "sar-em", "--verbose", "-o", "other.skops"),
    )
    assert code == 0
    assert re.search(r"^About [\d,]+ of the [\d,]+ unlabelled rows \(", out, re.M)
    assert re.search(r"label frequency \d+\.\d%\.$", out, re.M)
    assert out.rstrip().endswith("Wrote other.skops.")
    model = load_file(folder / "other.skops").model
    left = ["age", "plan", "smoker", "bmi", "pressure"]
    assert list(model[0].feature_names_in_) == left
    assert type(model[-1]).__name__ == "SAREMClassifier"


def test_fit_by_default_says_how_sure_it_is(call, folder):
    fit = ("fit", "patients.csv", "--label", "diagnosed", "--id", "patient_id", "--force")
    code, out, _ = call(*fit, "--propensity", "plan", "-o", "sure.skops")
    assert code == 0
    assert re.search(r"; the data are compatible with \d+ to \d+\.$", out, re.M)
    assert re.search(
        r"class prior\); the data are compatible with \d+\.\d% to \d+\.\d%\.$", out, re.M
    )
    first = load_file(folder / "sure.skops").model
    assert first.random_state == 0
    assert not hasattr(first, "_skl_callbacks") or not first._skl_callbacks
    code, out, _ = call(
        *fit, "--propensity", "plan", "-o", "sure.skops", "--seed", "1", "--verbose"
    )
    assert "plan = full: The odds of being labelled are" in out
    second = load_file(folder / "sure.skops").model
    assert second.random_state == 1
    assert second.class_prior_ != first.class_prior_  # other folds


def test_labels_that_pin_nothing_down_are_cautioned_of(call, folder):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    table["s"] = (rng.random(300) < 0.2 + 0.1 * (table["a"] > 0)).astype(int)
    table.to_csv(folder / "weak.csv", index=False)
    code, out, err = call(
        *("fit", "weak.csv", "--label", "s", "-o", "weak.skops", "--report", "weak.html")
    )
    assert code == 0
    assert "class prior" not in err  # the verdict says so
    assert "Not determined by these labels: Class priors of" in out
    html = (folder / "weak.html").read_text()
    assert "Not determined by these labels" in html
    assert 'class="band wide"' in html
    # A report made later has no warnings of the fit, and the same verdict.
    code, out, _ = call("report", "weak.skops", "weak.csv", "-o", "weak2.html", "--json")
    assert json.loads(out)["verdict"]["kind"] == "open"


def test_a_range_is_of_the_rows_of_the_fit(call, folder):
    pd.read_csv(folder / "patients.csv", dtype=str).head(700).to_csv(
        folder / "part.csv", index=False
    )
    code, out, _ = call("report", "model.skops", "part.csv", "-o", "part.html", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["certainty"]["hidden_positives"] is None
    assert "compatible with" not in found["text"]["headline"]
    model = load_file(folder / "model.skops").model
    table = pd.read_csv(folder / "part.csv", dtype={"patient_id": str})
    X = table[model.feature_names_in_]
    posterior = model.predict_posterior(X, table["diagnosed"])
    assert found["estimates"]["class_prior"] == pytest.approx(posterior.mean())


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


def test_demo_writes_its_report(call, folder, monkeypatch):
    monkeypatch.setattr("sarlearn.demo.run_demo", partial(run_demo, n_labellings=1))
    code, out, _ = call("demo")
    assert code == 0
    assert "SCAR" in out
    assert out.rstrip().endswith("Wrote sarlearn-demo-report.html.")
    html = (folder / "sarlearn-demo-report.html").read_text()
    assert "handwritten digits" in html
    assert "ink" in html


def test_many_rows_through_fit_and_predict(tmp_path):
    """How long 100,000 take is told by ``benchmarks.users``; here, that what comes out is right."""
    table, y = adult_like(3_000)
    table.to_csv(
        tmp_path / "table.csv.gz", index=False, compression={"method": "gzip", "compresslevel": 1}
    )
    attributes = [name for name in ("age", "sex", "plan") if name in table]
    for run, arguments in (
        (
            process,
            ["fit", "table.csv.gz", "--label", "labelled", "--id", "patient_id", "-o", "m.skops"]
            + [word for name in attributes for word in ("--propensity", name)],
        ),
        (warm_process, ["predict", "m.skops", "table.csv.gz", "-o", "scored.parquet"]),
    ):
        result = run(*arguments, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    scored = pd.read_parquet(tmp_path / "scored.parquet")
    assert scored["patient_id"].tolist() == table["patient_id"].tolist()
    hidden = table["labelled"].to_numpy() == 0
    top = scored["posterior"].to_numpy()[hidden].argsort()[-40:]
    assert y[hidden][top].mean() > 3 * y[hidden].mean()


@pytest.mark.filterwarnings("ignore")
def test_hostile_tables(call, folder):
    table = hostile(n=300, n_columns=12)
    table.to_csv(folder / "hostile.csv", index=False)
    code, out, _ = call(
        *("fit", "hostile.csv", "--label", "<u>label</u>", "--id", "<id>", "--force"),
        *("--propensity", table.columns[0], "--propensity", "emoji 🦄🔥"),
        *("-o", "hostile.skops", "--report", "hostile.html", "--verbose"),
    )
    assert code == 0
    assert "emoji 🦄🔥 = 🔥: The odds of being labelled" in out
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


def test_public_names_come_when_asked_for():
    assert {"SAREMClassifier", "TableEncoder", "report", "save", "load"} <= set(dir(sarlearn))
    assert all(callable(getattr(sarlearn, name)) for name in sarlearn.__all__)
    with pytest.raises(AttributeError, match="'sarlearn' has no attribute 'nothing'"):
        _ = sarlearn.nothing
