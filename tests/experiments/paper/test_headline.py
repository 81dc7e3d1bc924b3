"""The site's tables are made from the measurements, and the words of RESULTS.md follow them."""

from pathlib import Path

import pandas as pd
import pytest
from experiments.paper.checks import published_program_checks
from experiments.paper.grids import Grids, read_paper
from experiments.paper.headline import BEGIN, END, page_text
from experiments.paper.words import newer_priors, published_tice

ROOT = Path(__file__).parents[3]


@pytest.fixture
def grids(tmp_path):
    """Two data sets, one label frequency, three methods: what analyse would write."""
    tables = tmp_path / "results" / "reduced" / "tables"
    tables.mkdir(parents=True)
    errors = {"SAR-EM": 0.0512, "TIcE": 0.25, "DEDPUL": 0.0404}
    pd.DataFrame({"method": list(errors), "error": list(errors.values()), "blocks": 2}).to_csv(
        tables / "class_prior.csv", index=False
    )
    rows = [("IJCNN", 0.1, "TIcE", 0.3, 0.3), ("Comp-Rec", 0.1, "TIcE", 0.2, 0.2)]
    columns = ["dataset", "label_frequency", "method", "error", "bias"]
    pd.DataFrame(rows, columns=columns).to_csv(tables / "class_prior_curves.csv", index=False)
    rows += [("IJCNN", 0.1, "TIcE, as published", 0.16, 0.1)]
    rows += [("Comp-Rec", 0.1, "TIcE, as published", 0.06, -0.06)]
    pd.DataFrame(rows, columns=columns).to_csv(tables / "class_prior_programs.csv", index=False)
    return Grids(tmp_path / "results")


def test_tables_go_between_the_marks_best_first(grids, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nstale\n{END}\nafter\n")
    text = page_text(page, grids)
    assert text.startswith(f"before\n{BEGIN}\n\nClass prior under SCAR")
    assert text.endswith(f"\n{END}\nafter\n")
    assert "stale" not in text
    assert "over 2 pairs of a data set and a label frequency (reduced grid)" in text
    assert "| DEDPUL | 0.040 |  | | TIcE | 0.250 | 0.09 |" in text
    assert "| **SAR-EM** | 0.051 | 0.08 | |  | |  |" in text
    assert "TIcE has 0.110 on the labels of the reduced grid, where ours has 0.250" in text
    page.write_text(text)
    assert page_text(page, grids) == text


@pytest.mark.parametrize("text", ["no marks", f"{END}\n{BEGIN}\n", f"{BEGIN}\n"])
def test_a_page_without_marks_is_refused(grids, tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(ValueError, match=r"page\.md needs the lines"):
        page_text(page, grids)


def test_the_published_program_is_checked_apart(grids):
    table = pd.DataFrame({"method": ["EN", "PE", "TIcE"], "error": [0.12, 0.2, 0.25]})
    (check,) = published_program_checks(table, grids.table("class_prior_programs"))
    assert check.holds
    assert check.figure == "0.110 against EN 0.120, PE 0.200"
    (behind,) = published_program_checks(
        table.assign(error=[0.1, 0.2, 0.25]), grids.table("class_prior_programs")
    )
    assert not behind.holds
    assert published_program_checks(table, None) == []


def test_where_a_method_loses_is_said_in_numbers(grids):
    ours = grids.table("class_prior").set_index("method")["error"]
    theirs = read_paper("class_prior").set_index("method")["error"]
    (point,) = newer_priors(grids, ours, theirs)  # SAR-EM is no worse than in the paper
    assert point.startswith("**TIcE** (0.25 against 0.09). The error is 0.30 on IJCNN, 0.20 on the")
    assert "at label frequency 0.1 0.25." in point
    assert point.endswith(published_tice(grids))
    assert "the error is 0.11 in place of 0.25" in point
    assert "on the newsgroups 0.06 in place of 0.20 (bias +0.02)" in point
