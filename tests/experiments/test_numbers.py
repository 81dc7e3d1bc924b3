"""Numbers in prose are those of the tracked tables."""

import re
from pathlib import Path

import pytest
from experiments.__main__ import main
from experiments.numbers import MARK, all_numbers, differences, update

from sarlearn import CrossFitSARClassifier

ROOT = Path(__file__).parents[2]
TEXTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def numbers():
    return all_numbers()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_marked_numbers_are_those_of_the_tables(path, numbers):
    assert differences(path.read_text(encoding="utf-8"), numbers) == []


def test_numbers_in_docstrings_are_those_of_the_tables(numbers):
    """A docstring has no marks: its sentences are made again of the tables."""
    text = " ".join(CrossFitSARClassifier.__doc__.split())
    for sentence in [
        "error of the class prior fell from {crossfit.prior.SAR-EM:.3f} to "
        "{crossfit.prior.cross-fit:.3f}.",
        "in {crossfit.prior.worse:.0f} of the {crossfit.prior.cells:.0f} cells, in "
        "{crossfit.prior.worse_by_0.05:.0f} of them by more than 0.05",
        "at worst {crossfit.prior.worst.cross-fit:.2f} against {crossfit.prior.worst.SAR-EM:.2f}",
        "bold probabilities: {crossfit.three.f1.cross-fit:.3f} against "
        "{crossfit.three.f1.SAR-EM:.3f} with three",
        "With ``C=10`` it is {crossfit.three.f1.cross-fit/C10:.3f};",
        "accuracy {sar_learners.told_none.accuracy.cross-fit:.2f} against "
        "{sar_learners.told_none.accuracy.SAR-EM:.2f} on pairs",
    ]:
        filled = re.sub(
            r"\{([^:]+):([^}]+)\}", lambda m: format(numbers[m.group(1)], m.group(2)), sentence
        )
        assert filled in text


def test_the_readme_marks_its_numbers():
    # The text is free to change; that it quotes measurements without a mark would go unnoticed.
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(list(MARK.finditer(text))) >= 10


def test_a_stale_number_is_found_and_mended():
    text = "Off by 0.050<!--= a.b --> in 7<!--= cells --> cells, 12 %<!--= share|.0% --> of all."
    numbers = {"a.b": 0.0301, "cells": 8.0, "share": 0.12}
    assert differences(text, numbers) == [
        "a.b: 0.050 in the text, 0.030 in the tables",
        "cells: 7 in the text, 8 in the tables",
        "share: 12 % in the text, 12% in the tables",
    ]
    mended = update(text, numbers)
    assert mended == (
        "Off by 0.030<!--= a.b --> in 8<!--= cells --> cells, 12%<!--= share|.0% --> of all."
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
    assert numbers["crossfit.prior.cross-fit"] == pytest.approx(0.0248, abs=5e-5)
    assert numbers["sar_learners.told_none.cost.cross-fit"] == pytest.approx(0.191, abs=5e-4)
    assert numbers["trust.size.high"] == pytest.approx(0.069, abs=5e-4)
    assert numbers["crossfit.prior.worse"] == 25
