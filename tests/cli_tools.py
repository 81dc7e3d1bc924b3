"""Run the ``sarlearn`` command in tests, in a folder with tables and a model."""

import contextlib
import io
import os
import subprocess
import sys

import numpy as np
import polars as pl

import warm
from sarlearn import cli
from table_data import patients
from warm import SOURCE


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


def warm_process(*arguments, cwd, input=None) -> subprocess.CompletedProcess:
    """The same in a process that has imported everything before it begins."""
    stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
    running = warm.start("-m", "sarlearn", *arguments, cwd=cwd, stdin=stdin)
    out, err = running.communicate(input)
    return subprocess.CompletedProcess(arguments, running.returncode, out, err)


def command(*arguments, cwd) -> subprocess.CompletedProcess:
    """The same within this process, which has imported everything: a second less each time."""
    out, err = io.StringIO(), io.StringIO()
    given = [str(argument) for argument in arguments]
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.run(given)
    return subprocess.CompletedProcess(given, code, out.getvalue(), err.getvalue())


def fill(path):
    """Put a table in several forms into a folder, and a model fitted to it by the command."""
    table, y, _ = patients(1500)
    table.to_csv(path / "patients.csv", index=False)
    pl.from_pandas(table).write_ipc(path / "patients.arrow")
    table.drop(columns="diagnosed").iloc[::-1].to_parquet(path / "new.parquet")
    table.assign(ill=np.where(y, "yes", "no")).drop(columns="diagnosed").to_csv(
        path / "classes.csv.gz", index=False
    )
    result = command(
        *("fit", "patients.csv", "--label", "diagnosed", "--id", "patient_id"),
        *("--propensity", "age", "--propensity", "plan", "--report", "report.html"),
        *("-o", "model.skops", "--json"),
        cwd=path,
    )
    assert result.returncode == 0, result.stderr
    (path / "fit.json").write_text(result.stdout)
    return path
