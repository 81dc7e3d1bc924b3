"""The harness: runs killed and resumed, cells that fail, logs and tables."""

import csv
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from experiments.harness.cells import Cell, Configuration, load_configuration, seed_from
from experiments.harness.progress import TimeLeft, duration
from experiments.harness.runner import run
from experiments.harness.store import Log

from experiments.harness import store

ROOT = Path(__file__).parents[3]
# An experiment from outside the package: a fit for each cell, a failure on request. The runner is
# what is tested, with many worker processes: NumPy's least squares spare each a second of imports.
SIMULATION = """
import os
import time

import numpy as np

from experiments.harness.cells import seed_from


def cells(settings):
    for number in range(settings["cells"]):
        yield {"number": number, "does": settings.get("does", {}).get(str(number), "fit")}


def measure(number, does):
    if does == "raise":
        raise ArithmeticError("no such\\nnumber")
    if does == "die":
        os._exit(1)
    if does == "text":
        return {"estimate": "high"}
    while str(number) in os.environ.get("NEVER_END", "").split():
        time.sleep(0.01)
    rng = np.random.default_rng(seed_from("rows", number))
    X = rng.normal(size=(300, 2))
    s = (2 * X[:, 0] + rng.logistic(size=300) > 0) & (rng.random(300) < 0.6)
    share, *_ = np.linalg.lstsq(np.column_stack([np.ones(300), X]), s, rcond=None)[0]
    return {"estimate": share, "threads": int(os.environ["OMP_NUM_THREADS"])}
"""


@pytest.fixture
def grid(tmp_path, monkeypatch):
    """Writes a configuration of the simulation; it can be imported here and by workers."""
    package = tmp_path / "outside"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "simulation.py").write_text(SIMULATION)
    monkeypatch.syspath_prepend(tmp_path)
    inherited = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT), inherited]))

    def write(n_cells: int, **does: str) -> Configuration:
        lines = ["[simulated]", 'module = "outside.simulation"', f"cells = {n_cells}"]
        lines += [f'does.{number.lstrip("_")} = "{what}"' for number, what in does.items()]
        path = tmp_path / "grid.toml"
        path.write_text("\n".join(lines))
        return load_configuration(path)

    return write


def table(results: Path, name: str = "grid/simulated.csv") -> list[dict[str, str]]:
    with (results / name).open(newline="") as stream:
        return list(csv.DictReader(stream))


def start_runner(
    configuration: Configuration, runs: Path, results: Path, never_end: str = ""
) -> subprocess.Popen:
    command = [sys.executable, "-m", "experiments", "run", str(configuration.path)]
    command += ["--runs", str(runs), "--results", str(results), "--workers", "2"]
    env = os.environ | {"NEVER_END": never_end}
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, env=env)


def wait_for_cells(process: subprocess.Popen, log: Path, n_cells: int) -> None:
    while not log.exists() or log.read_bytes().count(b"\n") < n_cells:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_resumes_to_the_identical_file(grid, tmp_path, how):
    configuration = grid(8)
    run(configuration, runs=tmp_path / "runs_a", results=tmp_path / "a", workers=1)

    log = tmp_path / "runs_b" / "cells.jsonl"
    # Both workers are within a cell when the runner is killed, and cells wait.
    held = start_runner(configuration, tmp_path / "runs_b", tmp_path / "b", never_end="3 4")
    with held as killed:
        wait_for_cells(killed, log, 3)
        workers = children(killed.pid)
        killed.send_signal(how)
        killed.communicate()
    assert killed.returncode == (130 if how == signal.SIGINT else -how)
    finished = log.read_bytes().splitlines(keepends=True)
    assert len(finished) == 3
    assert not (tmp_path / "b" / "grid" / "simulated.csv").exists()
    wait_for_end_of(workers)
    # A kill in the middle of a write leaves half a line.
    log.write_bytes(b"".join(finished) + b'{"cell": "outside.simu')

    with start_runner(configuration, tmp_path / "runs_b", tmp_path / "b") as resumed:
        _, said = resumed.communicate()
    assert resumed.returncode == 0, said
    assert "(5 now)" in said
    expected = (tmp_path / "a" / "grid" / "simulated.csv").read_bytes()
    assert (tmp_path / "b" / "grid" / "simulated.csv").read_bytes() == expected
    assert expected.count(b"\n") == 9


def children(pid: int) -> list[int]:
    command = ["ps", "-o", "pid=", "--ppid", str(pid)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(child) for child in found.stdout.split()]


def wait_for_end_of(processes: list[int]) -> None:
    assert len(processes) >= 2
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in processes):
        assert time.monotonic() < deadline, "a worker outlives the runner that was killed"
        time.sleep(0.05)


def test_failed_cells_are_recorded_and_the_rest_goes_on(grid, tmp_path):
    configuration = grid(6, _1="raise", _2="die", _4="text")
    counts = run(configuration, runs=tmp_path / "runs", results=tmp_path / "results", workers=2)
    assert counts == {"planned": 6, "finished": 6, "failed": 3, "measured_now": 6}
    rows = {int(row["number"]): row for row in table(tmp_path / "results")}
    assert rows[1]["error"].startswith("ArithmeticError: no such number (simulation.py:")
    assert rows[2]["error"].startswith("BrokenProcessPool")
    assert rows[4]["error"].startswith("TypeError: Results are numbers")
    assert all(rows[number]["estimate"] == "" for number in (1, 2, 4))
    assert all(0 < float(rows[number]["estimate"]) < 1 for number in (0, 3, 5))
    assert {rows[number]["threads"] for number in (0, 3, 5)} == {"1"}


def test_failed_cells_run_again_when_asked(grid, tmp_path):
    where = {"runs": tmp_path / "runs", "results": tmp_path / "results", "workers": 1}
    assert run(grid(2, _1="raise"), **where)["failed"] == 1
    assert run(grid(2, _1="raise"), **where)["measured_now"] == 0
    assert run(grid(2, _1="raise"), **where, retry_failed=True)["measured_now"] == 1


def test_time_limit_leaves_cells_for_the_next_run(grid, tmp_path):
    where = {"runs": tmp_path / "runs", "results": tmp_path / "results", "workers": 1}
    counts = run(grid(4), **where, time_limit=0.0)
    assert counts["finished"] == 0
    counts = run(grid(4), **where)
    assert counts["finished"] == 4
    assert (
        (tmp_path / "results/grid/coverage.csv")
        .read_text()
        .splitlines()[1]
        .startswith("simulated,4,4,0,")
    )


def test_tables_of_another_clone_are_adopted(grid, tmp_path):
    configuration = grid(3)
    run(configuration, runs=tmp_path / "runs", results=tmp_path / "results", workers=1)
    before = (tmp_path / "results/grid/simulated.csv").read_bytes()
    coverage = tmp_path / "results/grid/coverage.csv"
    coverage.write_text(re.sub(r",\d+,3$", ",600,3", coverage.read_text(), flags=re.MULTILINE))
    counts = run(
        grid(4), runs=tmp_path / "elsewhere", results=tmp_path / "results", workers=1, adopt=True
    )
    assert counts["measured_now"] == 1
    assert (tmp_path / "results/grid/simulated.csv").read_bytes().startswith(before)
    *_, seconds, timed = coverage.read_text().split()[-1].split(",")
    assert (timed, 600 <= int(seconds) < 660) == ("4", True)


def test_two_runs_cannot_share_a_log(tmp_path):
    with Log(tmp_path), pytest.raises(RuntimeError, match="Another run is writing"):
        Log(tmp_path)


def test_seeds_are_of_names_and_fixed_for_ever():
    assert seed_from("labels", "Talk-Comp", "article") == 4290770393
    assert seed_from("labels", "Talk-Comp", "com") != seed_from("labels", "Talk-Comp", "article")


def test_configuration_says_what_is_wrong(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("datasets = 3")
    with pytest.raises(ValueError, match="'datasets' is not a section"):
        load_configuration(path)
    path.write_text("")
    with pytest.raises(ValueError, match="holds no experiment"):
        load_configuration(path)
    path.write_text("[class_prior]\n")
    with pytest.raises(ValueError, match="no experiment 'priors'; it has class_prior"):
        load_configuration(path).only(["priors"])


def test_files_are_whole_or_absent(tmp_path):
    path = tmp_path / "deep" / "table.csv"
    store.write_atomically(path, "one")
    with pytest.raises(TypeError):
        store.write_atomically(path, 2)  # type: ignore[arg-type]
    assert path.read_text() == "one"
    assert list(path.parent.iterdir()) == [path]


def test_time_left_looks_at_cells_of_the_same_kind():
    left = TimeLeft()
    big, small = ({"dataset": name, "method": "EN"} for name in ("Cover Type", "Mushroom"))
    assert left.predict(Cell("class_prior", big)) != left.predict(Cell("class_prior", big))  # NaN
    left.add(Cell("class_prior", big), 30.0)
    left.add(Cell("class_prior", small), 2.0)
    assert left.predict(Cell("class_prior", big)) == 30.0
    assert left.predict(Cell("class_prior", small | {"dataset": "Adult"})) == 16.0
    assert duration(59.6) == "1 min 00 s"
