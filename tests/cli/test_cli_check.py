"""``sarlearn check``: suggests the column that drives labelling, in words and as JSON."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from sarlearn._view.refits import WATCHER
from sarlearn.cli import run


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    n_rows = 1200
    marker, site = rng.normal(size=n_rows), rng.choice(["north", "south"], n_rows)
    ill = rng.random(n_rows) < 1 / (1 + np.exp(-3 * marker))
    known = ill & (rng.random(n_rows) < np.where(site == "north", 0.2, 0.9))
    path = tmp_path / "patients.csv"
    columns = {"marker": marker, "site": site, "age": rng.normal(50, 9, n_rows), "one": 1}
    pd.DataFrame(columns | {"known": known.astype(int)}).to_csv(path, index=False)
    return str(path)


OPTIONS = ["--candidates", "site", "--candidates", "age"]


@pytest.fixture(autouse=True)
def few_refits(monkeypatch):
    monkeypatch.setattr("sarlearn.cli.check.DRAWS", 19)


def test_words(table, capsys):
    assert run(["check", table, "--label", "known", *OPTIONS]) == 0
    out = capsys.readouterr().out
    assert "regardless of site and age (p at most 0.05" in out
    assert "Labelling may follow site (" in out
    assert "name all that you know of" in out
    command = out.splitlines()[-1]
    assert command.startswith(f"Next: sarlearn fit {table} --label known --propensity ")
    assert command.endswith(" -o model.skops")


def test_json(table, capsys):
    assert run(["check", table, "--label", "known", *OPTIONS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["weights"]["site"] > 0.5 > found["weights"]["age"]
    assert found["selected"] == [name for name, w in found["weights"].items() if w >= 0.7]
    assert found["scar_test"]["p_value"] == 0.05
    assert set(found["weights"]) == {"site", "age"}


@pytest.mark.parametrize(
    ("candidate", "message"),
    [("hospital", "no column 'hospital'"), ("known", "cannot be both"), ("one", "one value only")],
)
def test_bad_candidates_are_named(table, capsys, candidate, message):
    assert run(["check", table, "--label", "known", "--candidates", candidate]) == 2
    assert message in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_person_who_watches_sees_how_far_it_is(table, capsys, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    assert run(["check", table, "--label", "known", *OPTIONS]) == 0
    assert "19 of 19" in screen.getvalue()
    assert "SCAR test: " not in screen.getvalue()  # one display, not two
    assert WATCHER.get() is None


def test_without_candidates_every_column_is_tried(table, capsys):
    assert run(["check", table, "--label", "known", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["weights"]) == {"site", "age", "marker"}
