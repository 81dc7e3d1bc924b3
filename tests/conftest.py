"""Shared by the tests: simulated PU data, and fixtures that several modules use."""

import contextlib
import gc
import os
import shutil
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from scipy.special import expit

# How long an example takes depends on what else the machine does.
settings.register_profile("any load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any load")

# Begun first, the longest before: what comes last is short, and both test processes end together.
# Tests of such a folder share what takes long to make: a cluster, a model fitted by the command,
# refits for a page, the compiled pass. Elsewhere a file shares what it makes.
FIRST = ["backends", "engine", "classifiers", "test_sklearn_checks.py", "cli", "reporting"]
FIRST += ["priors/test_reference.py", "test_parameters.py", "audit/test_page.py"]
FIRST += ["inspection/test_bootstrap.py", "priors/test_properties.py", "experiments/paper"]
FIRST += ["test_sql.py", "inspection/test_relative.py"]
FIRST += ["experiments/data_sets"]


def room_of(nodeid: str) -> str:
    """A file, or one of the files and folders above."""
    path = nodeid.split("::")[0]
    return next((name for name in FIRST if path.startswith(f"tests/{name}")), path)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """For ``--dist loadfile``: tests of a room stay in one test process."""
    from xdist.scheduler import LoadScopeScheduling

    class Rooms(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return room_of(nodeid)

    config.option.loadscopereorder = False  # else by the number of tests, which tells no time
    return Rooms(config, log) if config.option.dist == "loadfile" else None


def pytest_collection_modifyitems(items):
    rank = {name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: rank.get(room_of(item.nodeid), len(FIRST)))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """What collecting makes stays to the end: the garbage collector need not look at it.

    Going through it again and again took a quarter of the time of small tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def make_pu(n=600, p=6, n_propensity=2, *, discrete=False, seed=0, scale=1.5):
    """Logistic class, logistic propensity in the first columns; everything known."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    if discrete:
        X[:, :n_propensity] = X[:, :n_propensity] > 0
    coef = scale * rng.standard_normal(p)
    f = expit(X @ coef - np.median(X @ coef))
    e = expit(-0.3 + X[:, :n_propensity] @ np.resize([1.0, -1.0], n_propensity))
    y = rng.random(n) < f
    s = y & (rng.random(n) < e)
    columns = np.arange(n_propensity)
    return SimpleNamespace(X=X, y=y, s=s, f=f, e=e, columns=columns, rng=rng)


@pytest.fixture
def few_are_many(monkeypatch):
    """Call it, and more than three columns count as many: solved by products, not by factors."""
    from sarlearn._engine import em, known, logistic

    def apply():
        for module in (em, known, logistic):
            monkeypatch.setattr(module, "DENSE_COLUMNS", 3)

    return apply


@pytest.fixture(autouse=True)
def no_figures_left():
    """Figures of one test are not there in the next: from the 21st on, matplotlib warns."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


needs_data = pytest.mark.skipif(
    "SARLEARN_DATA" not in os.environ,
    reason="SARLEARN_DATA is not set: the real data sets are not here",
)


_CLUSTERS = []  # one at most, with its client: only here can modules share it


@pytest.fixture
def client(tmp_path_factory):
    """Two workers, started once for the tests of a folder."""
    from dask_tools import a_cluster

    if not _CLUSTERS:
        stack = contextlib.ExitStack()
        _, client = stack.enter_context(a_cluster(tmp_path_factory.mktemp("dask"), 2))
        _CLUSTERS.append((stack, client))
    return _CLUSTERS[0][1]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Workers that wait for tasks take a twelfth of a core: they go with their last test."""
    if _CLUSTERS and (nextitem is None or room_of(nextitem.nodeid) != room_of(item.nodeid)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what goes unclosed
            _CLUSTERS.pop()[0].close()
            gc.collect()


@pytest.fixture
def here():
    """No cluster: Dask's own scheduler in this thread, although a client may be about."""
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(params=["cluster", "here"])
def place(request):
    """Where tasks run."""
    return request.getfixturevalue("client" if request.param == "cluster" else "here")


@pytest.fixture(scope="session")
def checked():
    """A table whose labels determine the class prior roughly, and a model of it, made once."""
    from sarlearn import SARClassifier
    from table_data import patients

    table = patients(1_500)[0]
    X, s = table.drop(columns=["patient_id", "diagnosed"]), table["diagnosed"]
    model = SARClassifier(["age", "plan"], max_iter=10, n_folds=3).fit(X, s)
    return SimpleNamespace(table=table, X=X, model=model)


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    """Tables and a model that the command has fitted, made once."""
    from cli_tools import fill

    return fill(tmp_path_factory.mktemp("filled"))


@pytest.fixture(scope="module")
def folder(filled, tmp_path_factory):
    """A copy of them, which the tests of a module may add to."""
    return shutil.copytree(filled, tmp_path_factory.mktemp("work") / "copy")


@pytest.fixture
def call(capsys, monkeypatch, folder):
    """Run the command in this process; gives code, output and errors."""
    from sarlearn import cli

    monkeypatch.chdir(folder)

    def run(*arguments):
        code = cli.run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run
