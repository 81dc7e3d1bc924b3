"""The file of rows to check, as it comes back from people and their spreadsheets."""

import io

import numpy as np
import pandas as pd
import pytest

from sarlearn.tables.audits import answer_words, audit_table, read_answers
from sarlearn.tables.read import read_table
from sarlearn.tables.write import write_table

N = 30
TABLE = pd.DataFrame(
    {
        "code": [f"={i}" for i in range(N)],
        "size": np.random.default_rng(0).normal(size=N).round(3),
        "kind": np.tile(["a", "b", "c"], N // 3),
    }
)
ROWS = np.array([7, 3, 21, 14])
WORDS = {7: "yes", 3: "no", 21: "unsure"}


@pytest.fixture
def design():
    probability = np.full(N, np.nan)
    probability[ROWS] = [0.125, 0.125, 0.25, 0.25]
    return {"audit_round": np.where(np.isnan(probability), np.nan, 1.0)} | {
        "audit_probability": probability
    }


@pytest.fixture
def written(design, tmp_path):
    path = tmp_path / "to_check.csv"
    write_table(audit_table(TABLE, design, ROWS, WORDS), path, neutralise=True)
    return path


def test_cells_that_a_spreadsheet_would_run_come_back(written, design):
    assert "'=7" in written.read_text()
    found = read_answers(read_table(written, text_columns=["code"]), TABLE, "code")
    np.testing.assert_array_equal(found["audited"][ROWS], [1.0, 0.0, np.nan, np.nan])
    np.testing.assert_array_equal(found["audit_probability"], design["audit_probability"])
    assert answer_words(read_table(written)) == WORDS


def test_a_file_that_a_european_spreadsheet_has_saved(written, design, tmp_path):
    text = pd.read_csv(written, dtype=str)
    for column in ("audit_probability", "size"):
        text[column] = text[column].str.replace(".", ",")
    path = tmp_path / "european.csv"
    text.to_csv(path, index=False, sep=";", encoding="utf-8-sig", lineterminator="\r\n")
    found = read_answers(read_table(path), TABLE)
    np.testing.assert_array_equal(found["audit_probability"], design["audit_probability"])
    np.testing.assert_array_equal(found["audited"][ROWS], [1.0, 0.0, np.nan, np.nan])


def test_another_order_of_the_table_is_noticed_without_identifiers(written):
    answers = read_table(written)
    turned = TABLE.iloc[::-1].reset_index(drop=True)
    with pytest.raises(ValueError, match="does not match the table: in row 7, 'code' is"):
        read_answers(answers, turned)
    # Columns that a spreadsheet has written anew do not count against it.
    read_answers(answers.assign(size="1.234,5", kind="?"), TABLE)


def test_a_design_of_words_is_refused(written):
    text = written.read_text().replace("0.125", "an eighth").replace("0.25", "a quarter")
    with pytest.raises(ValueError, match=r"'audit_probability'.* holds 'an eighth'"):
        read_answers(pd.read_csv(io.StringIO(text)), TABLE)
