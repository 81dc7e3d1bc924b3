"""When compiled functions are used: where the cache holds them, or the fit repays them."""

import json
import shutil

import numpy as np
import pytest
from scipy import sparse

import warm
from conftest import make_pu
from sarlearn import SAREMClassifier
from sarlearn._engine import on_demand

pytest.importorskip("numba", reason="compiled functions need sarlearn[fast]")


@pytest.fixture
def fresh(monkeypatch):
    """A process that has not decided anything yet, with a cache that holds nothing."""
    monkeypatch.setattr(on_demand, "_open", {})
    monkeypatch.setattr(on_demand, "_lost", 0.0)
    monkeypatch.setattr(on_demand, "is_cached", lambda *kind: False)
    monkeypatch.delenv("SARLEARN_COMPILED", raising=False)


def in_use() -> bool:
    return on_demand.compiled() is not None


def test_a_small_fit_stays_in_numpy(fresh):
    data = make_pu(300, 4)
    SAREMClassifier([0]).fit(data.X, data.s)
    assert not in_use()


def test_work_that_repays_the_compiler_is_compiled(fresh):
    on_demand.expect(500_000, 500_000 * 20, False, "float64")
    assert not in_use()
    on_demand.expect(500_000, 500_000 * 20, False, "float64", fits=4)
    assert in_use()


def test_many_fits_add_up(fresh):
    for _ in range(100):
        on_demand.expect(50_000, 50_000 * 20, False, "float64")
    assert in_use()


def test_only_the_kind_of_rows_that_was_expected(fresh):
    on_demand.expect(10**8, 10**9, False, "float64")
    X = np.ones((3, 2))
    assert on_demand.compiled_for(X) is not None
    for other in (X.astype(np.float32), np.asfortranarray(X), sparse.csr_array(X), X > 0):
        assert on_demand.compiled_for(other) is None


@pytest.mark.parametrize(("switch", "used"), [("0", False), ("1", True)])
def test_the_switch(fresh, monkeypatch, switch, used):
    monkeypatch.setenv("SARLEARN_COMPILED", switch)
    on_demand.expect(100, 300, False, "float64")
    on_demand.expect(10**9, 10**10, True, "float32") if switch == "0" else None
    assert in_use() == used


def test_without_numba(fresh, monkeypatch):
    monkeypatch.setattr(on_demand.importlib.util, "find_spec", lambda name: None)
    on_demand.expect(10**9, 10**10, False, "float64")
    assert not in_use()


def test_numba_that_must_not_compile(fresh, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    on_demand.expect(10**9, 10**10, False, "float64")
    assert not in_use()


FIT = """
import json, sys
import numpy as np
from sarlearn import SAREMClassifier
from sarlearn._engine import on_demand
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
s = (X[:, 0] > 0) & (rng.random(400) < 0.5)
coef = SAREMClassifier([2]).fit(X, s).coef_.tolist()
print(json.dumps([on_demand.compiled() is not None, "numba" in sys.modules, coef]))
"""
WHERE = "from sarlearn._engine import on_demand; print(on_demand.cache_folder())"


def run(code: str, folder) -> str:
    """What code prints in a process that has not imported numba."""
    env = {"NUMBA_CACHE_DIR": str(folder), "SARLEARN_COMPILED": None}
    process = warm.start("-c", code, env=env)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out


def test_a_fresh_install_then_a_warm_one(tmp_path):
    """numba is not even imported for a small fit, until its cache holds what is needed."""
    used, imported, first = json.loads(run(FIT, tmp_path))
    assert (used, imported) == (False, False)
    on_demand.compile_all()
    shutil.copytree(on_demand.cache_folder(), run(WHERE, tmp_path).strip(), dirs_exist_ok=True)
    used, imported, later = json.loads(run(FIT, tmp_path))
    assert (used, imported) == (True, True)
    np.testing.assert_allclose(later, first, rtol=1e-8)


def test_a_folder_that_cannot_be_written_to(tmp_path):
    """Compiled all the same, and compiled again in the next process."""
    (tmp_path / "no").write_text("a file where the folder should be")
    code = FIT.replace(
        "import json, sys", "import json, sys, os; os.environ['SARLEARN_COMPILED']='1'"
    )
    used, _, _ = json.loads(run(code, tmp_path / "no"))
    assert used


def test_every_function_is_compiled_for_every_type():
    """The second time at once."""
    on_demand.compile_all()
    assert on_demand.compile_all() == 0
    for name in on_demand._module().KERNELS:
        for float_type in on_demand.FLOATS:
            assert on_demand._module().in_cache(name, float_type), name
