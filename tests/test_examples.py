"""Examples answer the question in their first line."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_how_many_are_hidden_and_how_sure(capsys):
    runpy.run_path(str(EXAMPLES / "how_many_are_hidden.py"))["main"]()
    clear, weak = capsys.readouterr().out.split("\n\n")
    number = r" +(\d+) hidden"
    found = int(re.search("by clinic" + number, clear).group(1))
    at_random = int(re.search("at random" + number, clear).group(1))
    truth = int(re.search("in truth" + number, clear).group(1))
    low, high = map(int, re.search(r"admit (\d+) to (\d+)", clear).groups())
    assert abs(found - truth) < abs(at_random - truth)
    assert low < truth < high
    assert "the labels say how many" in clear
    assert "No number to use" in weak


def test_how_sure(capsys):
    runpy.run_path(str(EXAMPLES / "how_sure.py"))["main"]()
    out = capsys.readouterr().out
    assert re.search(r"Share of positives: \d+\.\d%, between", out)
    assert "Over 9 settings it would be" in out


def test_more_rows_than_memory(capsys):
    pytest.importorskip("distributed")
    runpy.run_path(str(EXAMPLES / "more_rows_than_memory.py"))["main"]()
    out = capsys.readouterr().out
    assert "8 partitions" in out
    chances = [float(c) for c in re.findall(r"with probability (\d\.\d\d)", out)]
    assert len(chances) == 3
    assert chances == sorted(chances)


def test_classes_that_are_not_linear(capsys, tmp_path):
    pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    figure = tmp_path / "figure.png"
    main = runpy.run_path(str(EXAMPLES / "classes_that_are_not_linear.py"))["main"]
    main(["--figure", str(figure)])
    out = capsys.readouterr().out
    auc = {
        name: float(re.search(rf"{name} .* (0\.\d+)\n", out).group(1))
        for name in ("linear", "splines", "kernel", "boosted trees")
    }
    assert min(auc["splines"], auc["kernel"], auc["boosted trees"]) > auc["linear"] + 0.1
    assert figure.stat().st_size > 10_000
