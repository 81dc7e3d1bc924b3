"""Data sets as files: known by their content, refused when damaged, parsed once."""

import bz2
import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from experiments.data_sets.files import DataFile, obtain

from conftest import needs_data
from dataset_tools import CONTENT, DATA, DIGEST, TEXT
from experiments import data_sets
from experiments.data_sets import files, loaders

pytestmark = pytest.mark.usefixtures("no_data")


def put(root: Path, name: str, raw: bytes) -> Path:
    path = root / "set" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize(
    ("name", "compress"),
    [("set.data", bytes), ("set.data.gz", gzip.compress), ("set.data.bz2", bz2.compress)],
)
@pytest.mark.parametrize("place", ["SARLEARN_DATA", "SARLEARN_CACHE"])
def test_a_file_is_known_by_its_content(monkeypatch, tmp_path, name, compress, place):
    monkeypatch.setenv(place, str(tmp_path / "place"))
    put(tmp_path / "place", name, compress(CONTENT))
    assert obtain([TEXT], download=False) == [CONTENT]


def test_member_of_a_zip_file(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("inner/list", CONTENT)
    zipped = DataFile("set", "list.zip", (), TEXT.contents, ("list.txt",), zip_member="inner/list")
    put(tmp_path / "cache", "list.zip", buffer.getvalue())
    assert obtain([zipped], download=False) == [CONTENT]
    put(tmp_path / "cache", "list.zip", buffer.getvalue().replace(b"inner", b"other"))
    with pytest.raises(OSError, match="damaged: it cannot be decompressed"):
        obtain([zipped], download=False)
    (tmp_path / "cache/set/list.zip").unlink()
    put(tmp_path / "cache", "list.txt", CONTENT)
    assert obtain([zipped], download=False) == [CONTENT]


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        (
            "set.data",
            CONTENT[:-1],
            rf"content has sha256 [0-9a-f]{{64}} \(279,999 bytes\).*{DIGEST}",
        ),
        ("set.data", CONTENT.replace(b"two", b"tow", 1), r"not the expected set\.data"),
        ("set.data.gz", gzip.compress(CONTENT)[:-9], "cannot be decompressed"),
        ("set.data.bz2", bz2.compress(CONTENT)[:50], "cannot be decompressed"),
        ("set.data.gz", gzip.compress(b"0" * 10_000_000), r"1,048,576 bytes"),
        ("set.data", b"", r"\(0 bytes\)"),
    ],
)
def test_a_corrupted_file_is_refused_and_named(tmp_path, name, raw, message):
    path = put(tmp_path / "cache", name, raw)
    with pytest.raises(OSError, match=message) as caught:
        obtain([TEXT], download=True)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == raw  # the user's file is not touched


@needs_data
def test_a_corrupted_data_set_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("SARLEARN_DATA", str(tmp_path))
    original = Path(DATA, "breast_cancer_wisconsin", "breast-cancer-wisconsin.data").read_bytes()
    (tmp_path / "breast_cancer_wisconsin").mkdir()
    target = tmp_path / "breast_cancer_wisconsin" / "breast-cancer-wisconsin.data"
    target.write_bytes(original.replace(b"1000025,5", b"1000025,6"))
    monkeypatch.setenv("SARLEARN_CACHE", str(tmp_path.parent / f"{tmp_path.name}-cache"))
    with pytest.raises(OSError, match=r"not the expected breast-cancer-wisconsin\.data"):
        data_sets.load_breast_cancer_wisconsin()
    target.write_bytes(original)
    assert data_sets.load_breast_cancer_wisconsin().X.shape == (683, 9)


def test_cache_inside_the_data_directory_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("SARLEARN_DATA", str(tmp_path))
    monkeypatch.setenv("SARLEARN_CACHE", str(tmp_path / "here"))
    with pytest.raises(ValueError, match="never written to; set SARLEARN_CACHE"):
        files.cache_dir()


def test_default_cache_is_in_the_home_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("SARLEARN_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.cache_dir() == tmp_path / ".cache" / "sarlearn"


# The cache of parsed data -----------------------------------------------------------------------


@needs_data
def test_parsed_once(monkeypatch, tmp_path):
    data, cache = tmp_path / "data", tmp_path / "cache"
    source = Path(DATA, "mushroom", "agaricus-lepiota.data")
    target = data / "mushroom" / source.name
    target.parent.mkdir(parents=True)
    target.write_bytes(source.read_bytes())
    monkeypatch.setenv("SARLEARN_DATA", str(data))
    first = data_sets.load_mushroom()
    assert [path.name for path in data.rglob("*") if path.is_file()] == [source.name]
    (parsed,) = (cache / "parsed").iterdir()

    target.unlink()  # from here on only what was parsed is left
    again = data_sets.load_mushroom()  # from this process
    loaders._parsed.cache_clear()
    stored = data_sets.load_mushroom()  # from the cache
    for other in (again, stored):
        np.testing.assert_array_equal(other.X, first.X)
        np.testing.assert_array_equal(other.y, first.y)
        assert other.feature_names == first.feature_names

    # Damaged, the parsed file is made again from the source, not believed.
    target.write_bytes(source.read_bytes())
    whole = parsed.read_bytes()
    for damaged in (whole[:1000], b"", whole[:5000] + b"\xff" + whole[5001:]):
        parsed.write_bytes(damaged)
        loaders._parsed.cache_clear()
        np.testing.assert_array_equal(data_sets.load_mushroom().X, first.X)
        assert parsed.read_bytes() == whole


@needs_data
def test_a_cache_that_cannot_be_written_only_warns(monkeypatch, tmp_path):
    monkeypatch.setenv("SARLEARN_DATA", str(DATA))
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SARLEARN_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="Could not keep .* set SARLEARN_CACHE"):
        data = data_sets.load_breast_cancer_wisconsin()
    assert data.X.shape == (683, 9)
