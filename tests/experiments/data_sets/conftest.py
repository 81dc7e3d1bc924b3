"""Where the tests of data sets find nothing, unless they say so."""

import pytest

from experiments.data_sets import loaders


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """No data sets, an empty cache, no proxy: each test says what it adds."""
    monkeypatch.delenv("SARLEARN_DATA", raising=False)
    monkeypatch.setenv("SARLEARN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "*")
    loaders._parsed.cache_clear()
    yield
    loaders._parsed.cache_clear()
