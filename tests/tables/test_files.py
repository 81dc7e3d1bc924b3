"""Tables from files of every kind, label columns, and files written whole or not at all."""

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sarlearn.tables.files
from sarlearn.tables.files import (
    nearest,
    parse_labels,
    read_table,
    table_backend,
    write_atomically,
    write_table,
)

TEXT = "id,age,plan,ok\n007,31,a,true\n008,NA,,\n009,45.5,b,false\n"


@pytest.mark.parametrize("backend", ["pandas", "polars"])
@pytest.mark.parametrize("form", ["csv", "gz", "tsv", "semicolon", "bom", "parquet", "arrow"])
def test_every_format_and_backend_reads_the_same(tmp_path, form, backend):
    name = {"gz": "t.csv.gz", "tsv": "t.tsv", "parquet": "t.parquet", "arrow": "t.arrow"}
    path = tmp_path / name.get(form, "t.csv")
    if form == "gz":
        path.write_bytes(gzip.compress(TEXT.encode()))
    elif form in ("parquet", "arrow"):
        frame = pl.DataFrame({"id": ["007", "008", "009"], "age": [31.0, None, 45.5]})
        frame = frame.with_columns(plan=pl.Series(["a", None, "b"]))
        frame = frame.with_columns(ok=pl.Series([True, None, False]))
        frame.write_parquet(path) if form == "parquet" else frame.write_ipc(path)
    else:
        mark = {"tsv": "\t", "semicolon": ";"}.get(form, ",")
        path.write_text(("\ufeff" if form == "bom" else "") + TEXT.replace(",", mark))
    table = read_table(path, text_columns=["id", "absent"], backend=backend)
    assert isinstance(table, pd.DataFrame if backend == "pandas" else pl.DataFrame)
    assert list(table.columns) == ["id", "age", "plan", "ok"]
    assert list(table["id"]) == ["007", "008", "009"]
    np.testing.assert_array_equal(np.asarray(table["age"], dtype=float), [31, np.nan, 45.5])
    gaps = table["plan"].isna() if backend == "pandas" else table["plan"].is_null()
    assert list(gaps) == [False, True, False]
    assert parse_labels(table["ok"], "ok").labelled.tolist() == [True, False, False]


@pytest.mark.parametrize("backend", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv", b"", "is empty"),
        ("h.csv", b"a,b\n", "header but no rows"),
        ("n.csv", b"\n1,2\n", "no header line"),
        ("l.csv", "a,b\né,1\n".encode("latin1"), "not UTF-8"),
        ("r.csv", b"a,b\n1,2\n1,2,3\n", "cannot be read as csv"),
        ("i.csv", b"a,b\n1,2,3\n4,5,6\n", "more fields|cannot be read"),
        ("d.csv", b"a,a\n1,2\n", "more than one column named 'a'"),
        ("p.parquet", b"a,b\n1,2\n", "cannot be read as parquet"),
        ("f.feather", b"a,b\n1,2\n", "cannot be read as arrow"),
        ("g.csv.gz", b"a,b\n1,2\n", "cannot be read as csv"),
        ("x.xlsx", b"a", r"'\.xlsx' names no known table format; accepted are \.csv"),
        ("none", b"a", "'\\(none\\)' names no known table format"),
    ],
)
def test_unreadable_files_get_one_sentence(tmp_path, name, content, message, backend):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_table(path, backend=backend)
    assert "\n" not in str(caught.value)


def test_a_missing_file_names_its_neighbours(tmp_path):
    (tmp_path / "patients.csv").write_text("a\n1\n")
    with pytest.raises(FileNotFoundError, match=r"Nearest names: patients\.csv"):
        read_table(tmp_path / "patient.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_table(tmp_path / "folder.csv")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied", str(path))

    # Root may read everything, so the refusal of the system has to be imitated.
    monkeypatch.setattr(sarlearn.tables.files, "_read_header", refuse)
    with pytest.raises(PermissionError, match="may not be read by this user"):
        read_table(path)


def test_without_a_data_frame_library_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"sarlearn\[tables\]"):
        table_backend()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "polars" or None)
    assert table_backend() == "polars"


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.arrow"])
@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_written_tables_read_back_equal(tmp_path, name, backend):
    library = pd if backend == "pandas" else pl
    table = library.DataFrame({"id": ["00<1>", 'a,"b"', "🦄"], "value": [0.1 + 0.2, 1e-300, 3.0]})
    if backend == "pandas":
        table.index = [5, 6, 7]
    write_table(table, tmp_path / name)
    back = read_table(tmp_path / name, text_columns=["id"], backend=backend)
    assert list(back["id"]) == list(table["id"])
    assert list(back["value"]) == list(table["value"])
    assert os.listdir(tmp_path) == [name]


def test_tables_are_not_written_with_other_separators(tmp_path):
    with pytest.raises(ValueError, match=r"written as \.csv, \.parquet or \.arrow"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "t.tsv")
    assert not os.listdir(tmp_path)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def fail(temporary):
        temporary.write_text("half")
        raise RuntimeError("disk")

    with pytest.raises(RuntimeError, match="disk"), write_atomically(path) as temporary:
        fail(temporary)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_kill_during_writing_leaves_the_old_output_whole(tmp_path):
    """A process writes large tables over an output until it is killed, in the midst of one."""
    path = tmp_path / "out.csv"
    script = (
        "import sys, pandas as pd, numpy as np\n"
        "from sarlearn.tables.files import write_table\n"
        "frame = pd.DataFrame(np.full((200_000, 5), 1.5), columns=list('abcde'))\n"
        "for number in range(1000):\n"
        "    write_table(frame.assign(a=float(number)), sys.argv[1])\n"
        "    print(number, flush=True)\n"
    )
    source = str(Path(sarlearn.tables.files.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"0\n"
    deadline = time.monotonic() + 120
    caught = []
    while not caught and time.monotonic() < deadline:
        if list(tmp_path.glob(".out.csv.*")):
            # Halted first: only then is it sure that the write is still under way.
            process.send_signal(signal.SIGSTOP)
            caught = list(tmp_path.glob(".out.csv.*"))
            if not caught:
                process.send_signal(signal.SIGCONT)
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert caught, "the kill did not hit a write under way"
    table = read_table(path)
    assert table.shape == (200_000, 5)
    assert table["a"].nunique() == 1


@pytest.mark.parametrize(
    ("values", "labelled"),
    [
        ([1, 0, 1], [True, False, True]),
        ([1.0, None, 0.0], [True, False, False]),
        ([1, -1, 1], [True, False, True]),
        ([True, False, None], [True, False, False]),
        (["yes", "No", " YES "], [True, False, True]),
        (["t", "F", ""], [True, False, False]),
        (["TRUE", "false", "NA"], [True, False, False]),
        (["1.0", "0", "1"], [True, False, True]),
        (["C50", None, "C50"], [True, False, True]),
        ([2.5, None, 2.5], [True, False, True]),
        ([None, None, None], [False, False, False]),
    ],
)
@pytest.mark.parametrize("library", [pd, pl])
def test_label_columns(values, labelled, library):
    column = library.Series("c", values) if library is pl else library.Series(values)
    assert parse_labels(column, "c").labelled.tolist() == labelled


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b", "c"], r"'c' holds 3 values that are not a yes and a no \(a, b, c\)"),
        ([0, 1, 2], r"\(0, 1, 2\); accepted are 0/1, true/false, yes/no"),
        (["case", "control"], r"\(case, control\)"),
        (["C50", "no", None], r"\(C50, no\)"),
        (list("abcdefg"), r"a, b, c, d, e, \.\.\."),
        ([[1], [2]], "single values, not lists"),
    ],
)
def test_other_label_columns_are_refused_with_their_values(values, message):
    with pytest.raises(ValueError, match=message):
        parse_labels(pd.Series(values), "c")


def test_the_word_for_labelled_is_remembered():
    found = parse_labels(pd.Series(["C50", None]), "c")
    assert found.word == "C50"
    later = parse_labels(pd.Series(["C50", "C50"]), "c", word=found.word)
    assert later.labelled.tolist() == [True, True]
    with pytest.raises(ValueError, match="C34"):
        parse_labels(pd.Series(["C34", "C50"]), "c", word=found.word)


def test_nearest_names_ignore_case_and_tell_nothing_of_strangers():
    assert nearest("AGE", ["age", "plan"]) == " Nearest names: age."
    assert nearest("zzz", ["age", "plan"]) == ""
