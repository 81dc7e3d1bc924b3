"""Data of other studies: what is in them, which class is positive, and what is refused."""

import gzip

import numpy as np
import pytest
from experiments.data_sets.outside import UCI

from conftest import needs_data
from experiments.data_sets import load_uci

# Rows and positives as in the tables of the studies (ECAI 2023 and 2024) and of UCI.
CONTENTS = {
    "Abalone": (4177, 8, 689),
    "Banknote-authentication": (1372, 4, 610),
    "Breast-w": (699, 9, 241),
    "Diabetes": (768, 8, 268),
    "Haberman": (306, 3, 81),
    "Heart-statlog": (270, 13, 120),
    "Ionosphere": (351, 34, 225),
    "Kc1": (2109, 21, 326),
    "Semeion": (1593, 256, 162),
    "Sonar": (208, 60, 111),
    "Vehicle": (846, 18, 218),
    "Waveform-5000": (5000, 40, 1692),
    "Wdbc": (569, 30, 212),
    "Yeast": (1484, 8, 463),
}


def test_every_set_has_its_contents_here():
    assert CONTENTS.keys() == UCI.keys()


@needs_data
@pytest.mark.parametrize("name", CONTENTS)
def test_uci_sets_hold_what_their_studies_say(name):
    data = load_uci(name)
    rows, columns, positive = CONTENTS[name]
    assert data.X.shape == (rows, columns)
    assert len(data.feature_names) == columns
    assert data.y.sum() == positive
    assert set(np.unique(data.y)) == {0, 1}
    assert np.isfinite(data.X).all()
    assert not {"Class", "BinClass"} & set(data.feature_names)
    assert data.target_names[1] in data.DESCR


@needs_data
def test_the_class_is_not_among_the_columns():
    for name in ("Wdbc", "Diabetes"):
        data = load_uci(name)
        correlations = [abs(np.corrcoef(column, data.y)[0, 1]) for column in data.X.T]
        assert max(correlations) < 0.9


def test_names_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match=r"one of Abalone, .*; got 'iris'"):
        load_uci("iris")


def test_other_content_is_refused_and_absence_explained(tmp_path, monkeypatch):
    monkeypatch.setenv("SARLEARN_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SARLEARN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data" / "uci").mkdir(parents=True)
    (tmp_path / "data" / "uci" / "Sonar.csv.gz").write_bytes(
        gzip.compress(b"a,Class,BinClass\n1,0,1\n")
    )
    with pytest.raises(OSError, match=r"not the expected Sonar\.csv"):
        load_uci("Sonar")
    with pytest.raises(OSError, match=r"Yeast\.csv: sha256 dc5c1bf9"):
        load_uci("Yeast", download_if_missing=False)
