"""Files are written whole or not at all, and never over what is no file."""

import errno
import os
import signal
import stat

import pandas as pd
import polars as pl
import pytest

import warm
from sarlearn.tables.read import read_table
from sarlearn.tables.write import write_atomically, write_table


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.parquet", "t.arrow"])
@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_written_tables_read_back_equal(tmp_path, name, backend):
    library = pd if backend == "pandas" else pl
    table = library.DataFrame({"id": ["00<1>", 'a,"b"', "🦄"], "value": [0.1 + 0.2, 1e-300, 3.0]})
    if backend == "pandas":
        table.index = [5, 6, 7]
    write_table(table, tmp_path / name)
    back = read_table(tmp_path / name, text_columns=["id"])
    assert list(back["id"]) == list(table["id"])
    assert list(back["value"]) == list(table["value"])
    assert os.listdir(tmp_path) == [name]


def test_tables_are_not_written_as_workbooks(tmp_path):
    with pytest.raises(ValueError, match=r"written as \.csv, \.tsv, \.parquet or \.arrow"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "t.xlsx")
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
    """A process writes a large table over an output, and is killed in the midst of it."""
    path = tmp_path / "out.csv"
    old = pd.DataFrame({"a": [0.5, 1.5]})
    write_table(old, path)
    code = (
        "import pandas as pd, numpy as np\n"
        "from sarlearn.tables.write import write_table\n"
        "write_table(pd.DataFrame(np.full((20_000, 5), 1.5), columns=list('abcde')), sys.argv[1])\n"
    )
    process = warm.start_held("sarlearn.tables.write:TableWriter", "write", path, code=code)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    pd.testing.assert_frame_equal(read_table(path), old)
    (half,) = tmp_path.glob(".out.csv.*")
    assert half.stat().st_size > 100_000


def test_a_run_that_is_alive_keeps_its_temporary_file(tmp_path):
    with write_atomically(tmp_path / "out.csv") as temporary:
        temporary.write_text("half")
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "out.csv")
        assert temporary.read_text() == "half"


def test_mode_is_kept_and_links_are_followed(tmp_path):
    (tmp_path / "data").mkdir()
    real, link = tmp_path / "data" / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_table(pd.DataFrame({"a": [1]}), link)
    assert link.is_symlink()
    assert real.read_text() == "a\n1\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path / "data")) == ["real.csv"]


def test_what_is_no_file_is_refused(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match=r"pipe\.csv is no file.*- is standard output"):
        write_table(pd.DataFrame({"a": [1]}), pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_no_space_left_names_the_file(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(OSError, match="as it was"), write_atomically(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert path.read_text() == "old"


def test_cells_that_a_spreadsheet_would_run_are_neutralised(tmp_path):
    cells = ["=cmd|' /C calc'!A0", "@x", "+1 a", "-5", "plain", None]
    table = pd.DataFrame({"id": cells, "value": [-1.5] * 6})
    n = write_table(table, tmp_path / "t.csv", neutralise=True)
    back = pd.read_csv(tmp_path / "t.csv")
    assert n == 3
    assert list(back["id"][:5]) == ["'=cmd|' /C calc'!A0", "'@x", "'+1 a", "-5", "plain"]
    assert list(back["value"]) == [-1.5] * 6
    assert write_table(table, tmp_path / "t.parquet", neutralise=True) == 0
    assert list(pd.read_parquet(tmp_path / "t.parquet")["id"][:2]) == cells[:2]
