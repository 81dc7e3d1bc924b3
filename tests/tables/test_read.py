"""Tables from files of every kind, and what is said of odd ones."""

import gzip
import io
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sarlearn.tables.read
from sarlearn import TableEncoder
from sarlearn._words import nearest
from sarlearn.exceptions import DataWarning
from sarlearn.tables.labels import parse_labels
from sarlearn.tables.read import read_parts, read_table

TEXT = "id,age,plan,ok\n007,31,a,true\n008,NA,,\n009,45.5,b,false\n"


@pytest.mark.parametrize("form", ["csv", "gz", "tsv", "semicolon", "bom", "parquet", "arrow"])
def test_every_format_reads_the_same(tmp_path, form):
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
    table = read_table(path, text_columns=["id", "absent"])
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == ["id", "age", "plan", "ok"]
    assert list(table["id"]) == ["007", "008", "009"]
    np.testing.assert_array_equal(np.asarray(table["age"], dtype=float), [31, np.nan, 45.5])
    assert list(table["plan"].isna()) == [False, True, False]
    assert parse_labels(table["ok"], "ok").labelled.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv", b"", "is empty"),
        ("h.csv", b"a,b\n", "header but no rows"),
        ("n.csv", b"\n1,2\n", "no header line"),
        ("u.csv", b"\xff\xfea,b\n1", "cannot be decoded.*--encoding"),
        ("r.csv", b"a,b\n1,2\n1,2,3\n", "line 3"),
        ("i.csv", b"a,b\n1,2,3\n4,5,6\n", "line 2 has 3 fields, and the header has 2 names"),
        ("d.csv", b"a,a\n1,2\n", "more than one column named 'a'"),
        ("t.csv", b"Report\n\n# 2024\na;b;c\n1;2;3\n", "line 4 has 3 fields, .* has 1 name"),
        ("b.csv", b"a\0b,c\n1,2\n", "holds bytes that are no text"),
        ("p.parquet", b"a,b\n1,2\n", "cannot be read as parquet"),
        ("f.feather", b"a,b\n1,2\n", "cannot be read as arrow"),
        ("g.csv.gz", b"a,b\n1,2\n", "cannot be read as csv"),
        ("x.xlsx", b"a", "cannot be read as xlsx"),
        ("x.sav", b"a", r"'\.sav' names no known table format; accepted are \.csv"),
        ("none", b"a", "'\\(none\\)' names no known table format"),
    ],
)
def test_unreadable_files_get_one_sentence(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_names_its_neighbours(tmp_path):
    (tmp_path / "patients.csv").write_text("a\n1\n")
    with pytest.raises(FileNotFoundError, match=r"Nearest names: patients\.csv"):
        read_table(tmp_path / "patient.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileNotFoundError, match="is a folder without a table"):
        read_table(tmp_path / "folder.csv")


def test_several_files_are_one_table(tmp_path):
    for k in range(2):
        pd.DataFrame({"a": [k, k + 1]}).to_parquet(tmp_path / f"{k}.parquet")
        pd.DataFrame({"a": [k]}).to_csv(tmp_path / f"{k}.csv", index=False)
    assert read_table(tmp_path / "*.parquet")["a"].tolist() == [0, 1, 1, 2]
    with pytest.raises(ValueError, match="several CSV files"):
        read_table(tmp_path / "*.csv")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied", str(path))

    # Root may read everything, so the refusal of the system has to be imitated.
    monkeypatch.setattr(sarlearn.tables.read, "find_dialect", refuse)
    with pytest.raises(PermissionError, match="may not be read by this user"):
        read_table(path)


def test_without_pandas_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas pyarrow narwhals"):
        read_table("t.csv")


def test_nearest_names_ignore_case_and_tell_nothing_of_strangers():
    assert nearest("AGE", ["age", "plan"]) == " Nearest names: age."
    assert nearest("zzz", ["age", "plan"]) == ""


# -- as people have them ---------------------------------------------------------------------------


def read(tmp_path, content, name="t.csv", **options):
    """The table a file holds, and what was warned of."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = read_table(path, **options)
    assert all(issubclass(w.category, DataWarning) for w in caught)
    return table, [str(w.message) for w in caught]


def test_decimal_commas_are_numbers_when_given_and_text_else(tmp_path):
    text = "age;income\n54,5;1.234,50\n61,0;950,00\n70,25;12.000,10\n"
    table, notes = read(tmp_path, text, decimal=",")
    assert list(table["age"]) == [54.5, 61.0, 70.25]
    assert not notes
    table, notes = read(tmp_path, text)
    assert list(table["age"]) == ["54,5", "61,0", "70,25"]
    found = TableEncoder().fit(table)
    assert found.kinds_ == {"age": "numeric", "income": "numeric"}


@pytest.mark.parametrize("mark", [",", ";"])
def test_codes_with_leading_zeros_are_text(tmp_path, mark):
    text = (
        'n,zip,month,icd,x,day\n1,"02139",01,038.9,0.5,01/02/2020\n0,10001,12,250.0,0,03/04/2020\n'
    )
    table, notes = read(tmp_path, text.replace(",", mark))
    assert table["zip"].tolist() == ["02139", "10001"]
    assert table["month"].tolist() == ["01", "12"]
    assert table["icd"].tolist() == ["038.9", "250.0"]
    assert table["n"].tolist() == [1, 0]
    assert table["x"].tolist() == [0.5, 0.0]
    assert not notes


def test_latin_1_is_read_with_a_note_that_names_the_line(tmp_path):
    text = "name;plan\nanna;a\nJos\xe9;b\n".encode("latin-1")
    table, notes = read(tmp_path, text)
    assert list(table["name"]) == ["anna", "José"]
    assert len(notes) == 1
    assert "is not UTF-8 text (line 3) and was read as Windows-1252 (Latin-1)" in notes[0]
    table, notes = read(tmp_path, text, encoding="cp1250")
    assert list(table["name"]) == ["anna", "José"]
    assert not notes


@pytest.mark.parametrize("n_rows", [1, 2, 3, 100])
def test_parts_of_a_text_file_are_of_the_kinds_of_the_whole(tmp_path, n_rows):
    """Kinds that show in one part alone: codes, text, gaps, truth values beside a word."""
    rows = ["n,zip,code,sure,ok,size,count,word,,", "1,10001,5,true,true,7,2,x,,"]
    rows += ["2,02139,6,false,,8,,y,,1", "3,94105,B,maybe,false,9.5,3,,,", ",,,,,,,,,"]
    rows += ["4,1,7,true,true,1,4,NA,,", "5,6"]
    whole, notes = read(tmp_path, "\n".join(rows))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parts = list(read_parts(tmp_path / "t.csv", n_rows))
    assert sorted(str(w.message) for w in caught) == sorted(notes)
    assert max(map(len, parts)) <= n_rows
    assert all(list(part) == list(whole) for part in parts)
    assert all(part.index[0] == 0 for part in parts)
    assert list(whole)[-1] == "Unnamed: 9"
    for name in whole:
        found = [v for part in parts for v in part[name].dropna()]
        assert found == whole[name].dropna().tolist()
        words = [v for v in found if isinstance(v, str | bool)]
        assert words == [v for v in whole[name] if isinstance(v, str | bool)]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_excels_text_files(tmp_path, encoding):
    text = '"name";"age"\n"Zoë";"54,5"\n"Jo";"3,25"\n'
    table, notes = read(tmp_path, text.encode(encoding))
    assert list(table.columns) == ["name", "age"]
    assert list(table["age"]) == ["54,5", "3,25"]
    assert not notes


def test_separator_decimal_and_missing_words_can_be_given(tmp_path):
    text = "a:b:c\n1,5:x:1\n-99:none:2\n"
    table, _ = read(tmp_path, text, separator=":", decimal=",", missing=["-99", "none"])
    np.testing.assert_array_equal(table["a"], [1.5, np.nan])
    assert list(table["b"].isna()) == [False, True]


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path):
    table, notes = read(tmp_path, "a,b,c\n1,2,x\n3,4,y\n5,6")
    assert len(table) == 2
    assert "the last line (4) has 2 of 3 fields and no end; it was left out" in notes[0]


def test_what_was_cleared_in_a_spreadsheet_is_left_out(tmp_path):
    table, notes = read(tmp_path, "a,b,,\n1,x,,\n,,,\n3,,,\n,,,\n")
    assert list(table.columns) == ["a", "b"]
    assert list(table["a"]) == [1, 3]
    assert "2 rows without any value, the first of them row 2, were left out" in notes[0]
    table, notes = read(tmp_path, "a,,b,\n1,7,x,8\n3,9,y,\n")
    assert list(table.columns) == ["a", "Unnamed: 1", "b", "Unnamed: 3"]
    assert not notes


def test_excel_files(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["id", "age", "plan"], ["007", 31, "a"], ["008", None, None], ["009", "n/a", "b"]):
        book.active.append(row)
    book.create_sheet("Notes")
    stream = io.BytesIO()
    book.save(stream)
    table, notes = read(tmp_path, stream.getvalue(), name="t.xlsx")
    assert list(table.columns) == ["id", "age", "plan"]
    assert list(table["id"]) == ["007", "008", "009"]
    np.testing.assert_array_equal(np.asarray(table["age"], dtype=float), [31, np.nan, np.nan])
    assert "has 2 sheets; 'Sheet' was read" in notes[0]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_tables_on_standard_input(monkeypatch, kind):
    table, stream = pl.DataFrame({"id": [7, 8], "age": [31.5, 1 / 3]}), io.BytesIO()
    write = {"csv": table.write_csv, "parquet": table.write_parquet, "arrow": table.write_ipc}
    write[kind](stream)
    stream.seek(0)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
    found = read_table("-")
    assert [list(found["id"]), list(found["age"])] == [[7, 8], [31.5, 1 / 3]]


def test_an_excel_file_on_standard_input(monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in (["id", "age"], ["007", 31]):
        book.active.append(row)
    book.save(stream)
    stream.seek(0)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
    assert read_table("-").to_dict("list") == {"id": ["007"], "age": [31]}


def test_excel_files_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match="pip install openpyxl"):
        read(tmp_path, b"PK", name="t.xlsx")
