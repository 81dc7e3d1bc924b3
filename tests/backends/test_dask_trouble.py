"""Trouble on Dask: workers that go, interrupts, bad input in some partition."""

import gc
import os
import signal
import time

import numpy as np
import pytest

from dask_tools import (
    N,
    a_cluster,
    agree,
    clone_fit,
    continuous,
    cut,
    da,
    frame,
    quiet,
    sar_em,
    weight,
)
from sarlearn import KnownPropensityClassifier, SAREMClassifier
from sarlearn.backends import dask_read as _partitions
from sarlearn.classifiers import base, sar
from sarlearn.priors import BestBinEstimator, ElkanNoto

pytestmark = quiet

# -- workers and interrupts ---------------------------------------------------------------------


@pytest.fixture
def at_iteration(monkeypatch):
    """Call it with what shall happen once, at an iteration of a fit; it counts them.

    By what a fit reports to: scikit-learn's callbacks, which would do, came with its version 1.9.
    """

    def apply(action, at: int = 2) -> list[int]:
        seen: list[int] = []

        def report() -> None:
            seen.append(len(seen))
            if len(seen) == at:
                action()

        for module in (base, sar):
            monkeypatch.setattr(module, "reporter", lambda *of_the_fit, **names: report)
        return seen

    return apply


@pytest.fixture
def kills(client, at_iteration, monkeypatch):
    """Call it, and the next fit kills one of two workers, which both have a part.

    Gives the iterations that the fit goes through. Another worker takes the place of the one.
    """
    monkeypatch.setattr(_partitions, "TASK_BYTES", 1)
    client.wait_for_workers(2, timeout=60)
    processes = set(client.run(os.getpid).values())
    yield lambda at=2: at_iteration(lambda: os.kill(min(processes), signal.SIGKILL), at)
    client.wait_for_workers(2, timeout=60)
    assert min(processes) not in client.run(os.getpid).values()


def test_a_killed_worker_changes_nothing(kills):
    model = sar_em(continuous.columns)
    expected = clone_fit(model, continuous)
    seen = kills()
    model.fit(cut(continuous.X, 7), continuous.s)
    assert len(seen) > 2
    agree(model, expected)


def test_our_learner_loses_a_worker(kills, at_iteration, monkeypatch):
    """Trees, grown here on a sample, score the rows on the workers: one goes just before."""
    from sarlearn import SARClassifier
    from sarlearn._engine import sar_rows

    for name, value in {"MANY_ROWS": 1500, "SAMPLE_ROWS": 1000, "TREE_ROWS": 1200}.items():
        monkeypatch.setattr(sar_rows, name, value)
    steps = at_iteration(lambda: None)
    expected = SARClassifier([0, 1]).fit(continuous.X, continuous.s)
    model, n_steps = SARClassifier([0, 1]), len(steps)
    seen = kills(n_steps)  # the last look at the trees on all rows
    model.fit(cut(continuous.X, 7), continuous.s)
    assert (len(seen), model.n_tree_rows_) == (n_steps, 1200)
    np.testing.assert_allclose(model.propensity_coef_, expected.propensity_coef_, atol=1e-8)
    assert model.class_prior_ == pytest.approx(expected.class_prior_, abs=1e-8)
    np.testing.assert_allclose(model.class_prior_range_, expected.class_prior_range_, atol=1e-6)
    np.testing.assert_allclose(
        model.predict_proba(continuous.X), expected.predict_proba(continuous.X), atol=1e-6
    )


@pytest.mark.parametrize("moment", ["tasks were sent", "results are waited for"])
def test_an_interrupt_leaves_nothing_behind(moment, at_iteration, client, monkeypatch):
    """At moments of its own: Python swallows one that comes at the end of some object."""
    sent = moment == "tasks were sent"
    owner, name = client, "get" if sent else "gather"
    call = getattr(owner, name)

    def interrupted(*arguments, **settings):
        monkeypatch.setattr(owner, name, call)
        found = call(*arguments, **settings) if sent else None
        signal.raise_signal(signal.SIGINT)
        return found

    at_iteration(lambda: monkeypatch.setattr(owner, name, interrupted))
    # A shell's background jobs ignore interrupts; here one is wanted whoever started the tests.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            sar_em(continuous.columns).fit(cut(continuous.X, 7), continuous.s)
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)
    deadline = time.monotonic() + 60
    while True:
        gc.collect()
        left = client.run_on_scheduler(
            lambda dask_scheduler: [k for k in dask_scheduler.tasks if "sarlearn" in str(k)]
        )
        if not left:
            break
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    sar_em(continuous.columns).fit(cut(continuous.X, 7), continuous.s)


def test_a_closed_cluster_is_told(at_iteration, tmp_path):
    with a_cluster(tmp_path, 1) as (cluster, _):
        at_iteration(cluster.close)
        with pytest.raises(RuntimeError, match="cluster was closed"):
            sar_em(continuous.columns).fit(cut(continuous.X, 7), continuous.s)


# -- bad input ----------------------------------------------------------------------------------


def spoil(values, row: int, value):
    out = np.array(values, dtype=float)
    out[row] = value
    return out


@pytest.mark.parametrize(
    ("X", "s", "fit", "message"),
    [
        (spoil(continuous.X, 1600, np.nan), continuous.s, {}, "Partition 5: Input X contains NaN"),
        (continuous.X, spoil(continuous.s, 2500, 2), {}, r"Partition 8: .*3 values"),
        (continuous.X, spoil(continuous.s, 1, 0.5), {}, "Partition 0: .*continuous"),
        (continuous.X, np.zeros(N), {}, "no row is labelled"),
        (
            continuous.X,
            continuous.s,
            {"sample_weight": spoil(weight, 1000, -1)},
            "Partition 3: sample_weight must not be negative",
        ),
    ],
)
def test_bad_values_name_their_partition(place, X, s, fit, message):
    X = da.from_array(X, chunks=(300, 6))
    with pytest.raises(ValueError, match=message):
        SAREMClassifier([0]).fit(X, s, **fit)


def test_bad_shapes_name_their_partition(place):
    X = da.from_array(continuous.X, chunks=(300, 6))
    s = continuous.s
    with pytest.raises(ValueError, match="s has 6 partitions and X has 10: partition 6"):
        SAREMClassifier().fit(X, da.from_array(s, chunks=500))
    moved = da.from_array(s, chunks=((300, 400, 200, *[300] * 7),))
    with pytest.raises(ValueError, match="Partition 1: X has 300 rows, and s has 400"):
        SAREMClassifier().fit(X, moved)
    with pytest.raises(ValueError, match="s has 2999 values, X has 3000 rows"):
        SAREMClassifier().fit(X, s[1:])
    with pytest.raises(ValueError, match="two dimensions"):
        SAREMClassifier().fit(X[:, 0], s)
    with pytest.raises(ValueError, match="no rows"):
        SAREMClassifier().fit(X, s, sample_weight=np.zeros(N))
    table = frame(continuous.X, 3).assign(a="word")
    with pytest.raises(ValueError, match="Partition 0: could not convert"):
        SAREMClassifier().fit(table, da.from_array(s, chunks=1000))


def test_bad_propensities_name_their_partition(place):
    X = da.from_array(continuous.X, chunks=(300, 6))
    model = KnownPropensityClassifier()
    with pytest.raises(ValueError, match="Partition 2: propensity must lie"):
        model.fit(X, continuous.s, propensity=spoil(continuous.e, 700, 1.5))
    labelled = int(np.flatnonzero(continuous.s)[-1])
    with pytest.raises(ValueError, match="Partition 9: propensity is 0 on a labelled row"):
        model.fit(X, continuous.s, propensity=spoil(continuous.e, labelled, 0.0))


def test_few_labels_are_warned_of(here):
    s = np.zeros(N)
    s[:5] = 1
    with pytest.warns(UserWarning, match="Only 5 labelled rows"):
        sar_em(max_iter=5, window=2, tol=10.0).fit(cut(continuous.X, 7), s)


def test_what_needs_memory_says_so(here):
    from sklearn.linear_model import LogisticRegression

    from sarlearn import MultiSCARClassifier, SARClassifier, SCARClassifier

    X, s = cut(continuous.X, 7), continuous.s
    for model in (
        MultiSCARClassifier([0]),
        SARClassifier([0], class_models=[LogisticRegression()]),
        ElkanNoto(),
        BestBinEstimator(),
        SCARClassifier(),
        SAREMClassifier([0], classifier=LogisticRegression()),
        KnownPropensityClassifier(classifier=LogisticRegression()),
    ):
        with pytest.raises(TypeError, match=f"{type(model).__name__}.* in memory.*sample") as told:
            model.fit(X, s)
        scar = isinstance(model, SCARClassifier)
        assert scar == ("SAREMClassifier() learns under the same assumption" in str(told.value))
