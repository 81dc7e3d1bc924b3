"""The command line on tables of many files: in batches, and scored part by part."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import warm
from cli_tools import SOURCE, command
from table_data import patients

pa = pytest.importorskip("pyarrow", reason="Parquet files need sarlearn[tables]")
import pyarrow.parquet as pq  # noqa: E402

FIT = ("--label", "diagnosed", "--id", "patient_id", "--propensity", "plan", "--json", "--force")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table in three files, beside the same in one."""
    path = tmp_path_factory.mktemp("large")
    (path / "parts").mkdir()
    table = pa.table(patients(1500)[0].drop(columns=["visits"], errors="ignore"))
    for k in range(3):
        pq.write_table(table.slice(500 * k, 500), path / f"parts/{k}.parquet", row_group_size=200)
    pq.write_table(table, path / "all.parquet")
    return path


@pytest.fixture(autouse=True)
def small(monkeypatch):
    from sarlearn.backends import batch_source as source
    from sarlearn.cli import large

    monkeypatch.setattr(source, "CHUNK_ROWS", 400)
    monkeypatch.setattr(large, "CHUNK_ROWS", 400)
    monkeypatch.setattr(large, "SAMPLE_ROWS", 600)


def fitted(call, table, *options):
    code, out, err = call("fit", table, *FIT, "-o", "model.skops", *options)
    assert code == 0, err
    return json.loads(out)


def test_batches_give_what_memory_gives(call):
    found = fitted(call, "parts/*.parquet", "--batches")
    whole = fitted(call, "all.parquet", "--in-memory")
    assert found["data"] == whole["data"]
    for name in ("class_prior", "label_frequency", "hidden_positives"):
        # Medians that fill gaps are good to one part in 4,096.
        assert found["estimates"][name] == pytest.approx(whole["estimates"][name], rel=1e-3)
    assert found["certainty"]["hidden_positives"] == pytest.approx(
        whole["certainty"]["hidden_positives"], rel=1e-2
    )
    assert any("of the 1,500 rows, spread evenly" in told for told in found["warnings"])


def test_it_is_said_that_trees_saw_a_sample(call, monkeypatch):
    from sarlearn._engine import sar_rows

    for name, value in {"MANY_ROWS": 700, "SAMPLE_ROWS": 600, "TREE_ROWS": 650}.items():
        monkeypatch.setattr(sar_rows, name, value)
    for where in ("--batches", "--in-memory"):
        code, out, err = call(
            "fit", "parts/*.parquet", *FIT[:-2], "--force", "-o", "model.skops", where
        )
        assert code == 0, err
        assert "The trees were grown on a sample of 650 rows; all else saw every row." in out


def test_a_folder_is_one_table(call):
    found, whole = (fitted(call, name, "--method", "sar-em") for name in ("parts", "all.parquet"))
    assert found["estimates"] == whole["estimates"]
    assert found["warnings"] == whole["warnings"]


def test_batches_where_memory_would_not_do(call, monkeypatch):
    from sarlearn.cli import large

    def sampled(**free):
        monkeypatch.setattr(large, "free_memory", lambda: free["bytes"])
        warnings = fitted(call, "parts", "--method", "sar-em")["warnings"]
        return any("spread evenly" in told for told in warnings)

    assert not sampled(bytes=1e9)
    assert sampled(bytes=1e6)
    assert 1e6 < large.needed_memory("parts") < 1e8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("parts", "--groups", "plan"), "--groups needs the rows in memory"),
        (("parts", "--negative", "0"), "--negative needs the rows in memory"),
        (("parts", "--propensity", "plam"), "no column 'plam'. Nearest names: plan"),
        (("none*.parquet",), "No file matches none*.parquet"),
        (("table.csv",), "--batches reads Parquet"),
    ],
)
def test_refusals(call, folder, options, message):
    (folder / "table.csv").write_text("diagnosed,a\n1,2\n")
    code, _, err = call("fit", *options, *FIT, "-o", "other.skops", "--batches")
    assert code == 2
    assert message in err


@pytest.mark.parametrize("output", ["scored.parquet", "scored.csv"])
@pytest.mark.parametrize("table", ["parts", "all.csv"])
def test_scores_are_written_part_by_part(call, folder, table, output):
    from sarlearn.saving import load_file
    from sarlearn.tables.read import read_table

    fitted(call, "all.parquet", "--method", "sar-em")
    read_table("all.parquet").to_csv(folder / "all.csv", index=False)
    code, out, err = call("predict", "model.skops", table, "-o", output, "--json", "--force")
    assert code == 0, err
    table, model = read_table("all.parquet"), load_file("model.skops").model
    scored = read_table(output, text_columns=["patient_id"])
    assert scored["patient_id"].astype(str).tolist() == table["patient_id"].astype(str).tolist()
    np.testing.assert_allclose(scored["probability"], model.predict_proba(table)[:, 1], rtol=1e-12)
    told = json.loads(out)
    assert told["rows"] == 1500
    assert told["expected_positives"] == pytest.approx(scored["probability"].sum())


def test_a_part_that_fails_leaves_the_old_file(call, folder):
    fitted(call, "all.parquet", "--method", "sar-em")
    (folder / "broken").mkdir()
    table = pq.read_table(folder / "all.parquet")
    pq.write_table(table, folder / "broken/0.parquet")
    place = table.schema.get_field_index("diagnosed")
    words = pa.array(["perhaps"] * len(table))
    pq.write_table(table.set_column(place, "diagnosed", words), folder / "broken/1.parquet")
    (folder / "kept.csv").write_text("as it was")
    code, _, err = call("predict", "model.skops", "broken", "-o", "kept.csv", "--force")
    assert code == 2
    assert err.startswith("Error")
    assert (folder / "kept.csv").read_text() == "as it was"
    assert not list(folder.glob(".kept.csv*"))


MEMORY = """
import resource, sys
import numpy as np, pyarrow as pa
from sarlearn import Batches, SAREMClassifier
from sarlearn.backends import batch_source as module

module.CHUNK_ROWS = 2**14  # the fewest rows are many chunks

def source(n_batches):
    for k in range(n_batches):
        X = np.random.default_rng(k).standard_normal((20_000, 10))
        s = (X[:, 0] > 0) & (X[:, 1] > 0)
        yield pa.table({**{f"x{j}": X[:, j] for j in range(10)}, "s": s})

peaks = []
for n_batches in (10, 40):  # from 42 on, numba would be imported
    SAREMClassifier(["x1"], max_iter=3).fit(Batches(lambda: source(n_batches)), "s")
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print((peaks[1] - peaks[0]) * 1024)
"""


def test_memory_does_not_grow_with_the_rows():
    """600,000 more rows of 80 bytes: 48 MB of numbers, of which a byte per row stays."""
    pytest.importorskip("resource", reason="the system does not tell the peak of memory")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MEMORY],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 20e6


# What a command has just done when it is killed: a pass over the rows in their temporary file; or
# a part of the scores.
MIDDLE = {
    "fit": ("sarlearn.backends.batch_rows:BatchRows", "total"),
    "predict": ("sarlearn.tables.write:TableWriter", "write"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc for the file of rows")
@pytest.mark.parametrize("step", MIDDLE)
def test_a_kill_in_the_middle_loses_nothing_that_was_written(step, folder, tmp_path):
    """The old output stays whole; the rows in their temporary file go with the process."""
    table, model = str(folder / "parts"), tmp_path / "model.skops"
    room = tmp_path / "room"
    room.mkdir()
    fit = ["fit", table, *FIT, "--batches", "-o", str(model)]
    assert command(*fit, cwd=tmp_path).returncode == 0
    output = model if step == "fit" else tmp_path / "scored.parquet"
    predict = ["predict", str(model), table, "--force", "-o", str(output)]
    if step == "predict":
        assert command(*predict, cwd=tmp_path).returncode == 0
    before = output.read_bytes()
    given = fit if step == "fit" else predict
    running = warm.start_held(*MIDDLE[step], *given, env={"TMPDIR": str(room)})
    if step == "fit":
        files = [os.readlink(link) for link in Path(f"/proc/{running.pid}/fd").iterdir()]
        assert any(name.startswith(str(room)) and "deleted" in name for name in files)
    else:
        assert any(tmp_path.glob(".scored.parquet.*"))
    running.kill()
    running.communicate()
    assert running.returncode == -signal.SIGKILL
    assert output.read_bytes() == before
    assert not any(room.iterdir())
