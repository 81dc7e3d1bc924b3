"""Numbers in prose are those of the tracked tables."""

import re
from pathlib import Path

import pytest
from experiments.__main__ import main
from experiments.numbers import MARK, all_numbers, differences, update

from experiments import tracked

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def numbers():
    return all_numbers()


@pytest.fixture(scope="module")
def made():
    """The generated files, made once for all tests."""
    return tracked.reports()


@pytest.fixture
def read_once(monkeypatch, numbers, made):
    monkeypatch.setattr("experiments.numbers.all_numbers", lambda: numbers)
    monkeypatch.setattr(tracked, "reports", lambda: made)


def test_all_texts_and_reports_say_what_the_tables_do(read_once, capsys):
    status = main(["numbers", "--check"])
    assert capsys.readouterr().out == "Every number is that of the tables.\n"
    assert status == 0


def test_everything_that_has_numbers_is_looked_at(made):
    looked_at = {path.relative_to(ROOT).as_posix() for path in [*tracked.prose(), *made]}
    assert looked_at >= {
        "README.md",
        "docs/how_good/index.md",
        "docs/user_guide/priors.md",
        "experiments/README.md",
        "experiments/paper/RESULTS.md",
        "experiments/paper/results/full/tables/class_prior.csv",
        "benchmarks/README.md",
        *(f"experiments/{study}/REPORT.md" for study in tracked.studies() if study != "paper"),
    }


def test_rows_of_tables_are_as_wide_as_their_headers(made):
    written = {path: path.read_text(encoding="utf-8") for path in tracked.prose()}
    for path, text in (made | written).items():
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            widths = {line.count("|") for line in table.replace("\\|", "").splitlines()}
            assert len(widths) == 1, f"{path.name}: {table}"


def test_a_difference_names_the_line():
    assert list(tracked.changed_lines("a\nb 1\nc\n", "a\nb 2\nc\n")) == [
        "line 2 is 'b 1', and 'b 2' from the tables"
    ]
    assert list(tracked.changed_lines("a\n", "a\n")) == []


def test_a_stale_report_is_found(read_once, monkeypatch, capsys):
    path = ROOT / "experiments" / "learner" / "REPORT.md"
    other = path.read_text(encoding="utf-8").replace("# How good is", "# How bad is")
    monkeypatch.setattr(tracked, "reports", lambda: {path: other})
    assert main(["numbers", "--check"]) == 1
    assert "experiments/learner/REPORT.md: line 1 is '# How good is" in capsys.readouterr().out


def test_the_readme_marks_its_numbers():
    # The text is free to change; that it quotes measurements without a mark would go unnoticed.
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(list(MARK.finditer(text))) >= 10


def test_a_stale_number_is_found_and_mended():
    text = "Off by 0.050<!--= a.b --> in 7<!--= cells --> cells, 12 %<!--= share\\|.0% --> of all."
    numbers = {"a.b": 0.0301, "cells": 8.0, "share": 0.12}
    assert differences(text, numbers) == [
        "a.b: 0.050 in the text, 0.030 in the tables",
        "cells: 7 in the text, 8 in the tables",
        "share: 12 % in the text, 12% in the tables",
    ]
    mended = update(text, numbers)
    assert mended == (
        "Off by 0.030<!--= a.b --> in 8<!--= cells --> cells, 12%<!--= share\\|.0% --> of all."
    )
    assert differences(mended, numbers) == []


def test_a_name_that_does_not_exist_is_said():
    with pytest.raises(ValueError, match=r"no number 'a\.c'"):
        update("1<!--= a.c -->", {"a.b": 1.0})


def test_the_command_checks_and_writes(tmp_path, capsys, numbers):
    path = tmp_path / "text.md"
    path.write_text("It is 9.9<!--= paper.prior.SAR-EM --> here.\n")
    assert main(["numbers", "--check", str(path)]) == 1
    assert "paper.prior.SAR-EM: 9.9 in the text" in capsys.readouterr().out
    assert main(["numbers", str(path)]) == 0
    assert path.read_text().startswith(f"It is {numbers['paper.prior.SAR-EM']:.3f}<!--=")
    assert main(["numbers", "--check", str(path)]) == 0


def test_some_numbers_by_hand(numbers):
    """Read off the reports, which are made by other code from the same tables."""
    assert numbers["learner.judge.cross-fit.error/usual"] == pytest.approx(0.095, abs=5e-4)
    assert numbers["learner.judge.boosted.good/warned"] == pytest.approx(0.390, abs=5e-4)
    assert numbers["outside.balanced_accuracy.NTC-tMI"] == pytest.approx(0.721, abs=5e-4)
    assert numbers["evidence.audit.uniform.50"] == pytest.approx(0.050, abs=5e-4)
