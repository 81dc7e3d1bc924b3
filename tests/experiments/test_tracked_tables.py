"""Tracked tables belong to their grids: every finished cell is adopted, so a new clone goes on."""

import csv
from pathlib import Path

import pytest
from experiments.harness.cells import load_configuration

from conftest import needs_data
from experiments.harness import store

STUDIES = Path(__file__).parents[2] / "experiments"
GRIDS = sorted(path for path in STUDIES.glob("*/*.toml") if (path.parent / "results").is_dir())


@needs_data
@pytest.mark.parametrize("path", GRIDS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_finished_cell_is_adopted(path, tmp_path):
    for experiment in load_configuration(path).experiments:
        table = path.parent / "results" / path.stem / f"{experiment.name}.csv"
        if not table.exists():
            continue
        with table.open(encoding="utf-8", newline="") as stream:
            finished = sum(not row["error"] for row in csv.DictReader(stream))
        with store.Log(tmp_path / experiment.name) as log:
            assert store.adopt(experiment.cells(), table, log) == finished, experiment.name
