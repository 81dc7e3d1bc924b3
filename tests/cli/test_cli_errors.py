"""What the command line refuses: one sentence, no traceback, nothing half-written."""

import errno
import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import warm
from cli_tools import SOURCE, process, warm_process
from sarlearn import cli

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
        r"holds 3 values that are not a yes and a no \(basic, full and none\)",
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
    (["fit", "none.csv", "--label", "a", "-o", "bad.skops"], r"There is no file none\.csv", 2),
    (["fit", "empty.csv", "--label", "a", "-o", "bad.skops"], r"empty\.csv is empty\.", 2),
    (["fit", "broken.parquet", "--label", "a", "-o", "bad.skops"], r"cannot be read as parquet", 2),
    (["fit", "notes.docx", "--label", "a", "-o", "bad.skops"], r"names no known table format", 2),
    (["fit", "three.csv", "--label", "s", "-o", "bad.skops"], r"Only 3 of 40 rows are labelled", 2),
    (["fit", "all.csv", "--label", "s", "-o", "bad.skops"], r"All 40 rows are labelled", 2),
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
    (["predict", "model.skops", "three.csv", "-o", "bad.csv"], r"no columns 'age'", 2),
    (["predict", "model.skops", "three.csv", "--id", "nr", "-o", "bad.csv"], r"no column 'nr'", 2),
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
]


@pytest.fixture(scope="module")
def bad_files(folder):
    x = np.arange(40.0)
    one = pd.DataFrame({"x": x, "same": 1, "s": 1})
    one.to_csv(folder / "all.csv", index=False)
    one.assign(s=(x < 3) * 1).to_csv(folder / "three.csv", index=False)
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
    for run, arguments in (
        (process, ["fit", "patients.csv", "--label", "🦄", "-o", "bad.skops"]),
        (warm_process, ["predict", "cut.skops", "patients.csv", "-o", "bad.csv"]),
    ):
        result = run(*arguments, cwd=folder)
        assert result.returncode == 2
        assert result.stdout == ""
        assert re.fullmatch(r"Error: [^\n]+\n", result.stderr)
    assert not list(folder.glob("*bad*"))


def test_a_write_that_fails_leaves_the_old_output_whole(folder):
    """The system refuses to write more than 20 kB, as a full disk would in the midst of a file."""
    path = folder / "kept.csv"
    path.write_text("old")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
    run = "import sys; from sarlearn.cli import main; main(sys.argv[1:])"
    given = ("predict", "model.skops", "patients.csv", "-o", "kept.csv", "--force")
    running = warm.start("-c", limit + run, *given, cwd=folder)
    _, err = running.communicate()
    assert running.returncode == 2
    assert re.fullmatch(r"Error: [^\n]*[Ff]ile too large[^\n]*\n", err)
    assert path.read_text() == "old"
    assert not list(folder.glob(".kept*"))


def test_faults_of_the_program_are_told_apart(call, monkeypatch):
    def fail(**options):
        raise RuntimeError("unexpected\nstate")

    monkeypatch.setattr("sarlearn.cli.small.inspect", fail)
    code, _, err = call("inspect", "patients.csv")
    assert code == 1
    assert err.startswith(
        "Error: the program failed (RuntimeError: unexpected state); set SARLEARN_"
    )
    monkeypatch.setenv("SARLEARN_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        call("inspect", "patients.csv")


def test_other_ends(call, monkeypatch, folder):
    import click

    def raise_later(error):
        def fail(**options):
            raise error

        return fail

    monkeypatch.setattr("sarlearn.cli.small.inspect", raise_later(click.exceptions.Abort()))
    assert call("inspect", "patients.csv")[0] == 130
    denied = PermissionError(13, "Permission denied", "secret.csv")
    monkeypatch.setattr("sarlearn.cli.small.inspect", raise_later(denied))
    assert call("inspect", "patients.csv")[2] == "Error: secret.csv: Permission denied.\n"
    monkeypatch.setattr("sarlearn.cli.small.inspect", raise_later(click.ClickException("no")))
    assert call("inspect", "patients.csv")[::2] == (2, "Error: no\n")
    monkeypatch.setattr("os.access", lambda path, mode, **more: mode != os.W_OK)
    assert (
        "may not write to the folder"
        in call("predict", "model.skops", "patients.csv", "-o", "n.csv")[2]
    )


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
    assert "pip install click rich" in err


def test_main_exits_with_the_code(monkeypatch, folder):
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0


def test_a_full_disk_behind_standard_output_is_named(monkeypatch, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n3,x\n")

    def full(*texts, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sarlearn.cli.small.print", full, raising=False)
    assert cli.run(["inspect", str(tmp_path / "t.csv")]) == 2
    assert "no space left for standard output" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Raise max_iter, or", "Raise --max-iter, or"),
        (
            "what belongs together in fit(..., groups=...), or",
            "what belongs together in --groups, or",
        ),
        ("class_prior=0.02 is below class_prior_", "--class-prior=0.02 is below class_prior_"),
        ("leave out of propensity_features", "leave out of --propensity"),
        ("check some rows (an audit)", "check some rows ('sarlearn audit')"),
        ("nobody checked: fit(X, s, audited=...).", "nobody checked: --audited."),
    ],
)
def test_messages_are_in_the_words_of_the_command_line(said, told):
    assert cli.in_command_words(said) == told


def test_warnings_and_errors_of_a_fit_name_options(call, folder):
    fit = ["fit", "patients.csv", "--label", "diagnosed", "--id", "patient_id", "--force"]
    short = ["--propensity", "age", "--method", "sar-em", "--max-iter", "2", "-o", "short.skops"]
    _, _, err = call(*fit, *short)
    assert "No convergence in 2 iterations. Raise --max-iter" in err
    _, out, _ = call(*fit, *short, "--json")
    assert any("Raise --max-iter" in text for text in json.loads(out)["warnings"])
    _, _, err = call(*fit, "-o", "short.skops", "--class-prior", "0.01")
    assert "--class-prior=0.01 is below the share" in err
