"""CPU seconds of this tree against another one, fit by fit, in one run on one machine.

    git worktree add ../before COMMIT
    python -m benchmarks.against ../before/src

Each problem runs in a process of its own, by turns in either tree, the best of several, in NumPy,
with compiled functions, and in NumPy on a Dask cluster, whose workers are threads of that process,
so that their CPU counts. Learners of this tree go without their second look, which the other may
not have. The cross-fit is there twice: as it comes, and without the flexible scores that its
estimate is averaged with, which the other may not have either. Writes ``results/against.csv``,
problem by problem. The problems are made here with NumPy alone, so that any tree can run them.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
import warnings
from operator import itemgetter
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.store import RESULTS, merge

SHAPES = {
    "500 x 10": (500, 10),
    "5,000 x 20": (5_000, 20),
    "50,000 x 20": (50_000, 20),
    "200,000 x 20": (200_000, 20),
    "20,000 x 80": (20_000, 80),
    "10,000 x 300, sparse": (10_000, 300),
}
OWN_SCORE = "cross-fit, its own score"
LEARNERS = ("slope", "fixed_point", "known", OWN_SCORE, "cross-fit")
# How rows are worked on, and the switch of compiled functions for it.
WAYS = {"NumPy": "0", "compiled": "1", "Dask": "0"}
ON_DASK, PARTITIONS = "200,000 x 20", 8
REPEATS = 3


def problem(shape: str):
    """A logistic class, and a propensity that two columns drive."""
    n, p = SHAPES[shape]
    rng = np.random.default_rng(n + p)
    is_sparse = "sparse" in shape
    X = (rng.random((n, p)) < 0.05).astype(float) if is_sparse else rng.standard_normal((n, p))
    coef = rng.standard_normal(p) * (1.0 if is_sparse else 2 / np.sqrt(p))
    y = rng.random(n) < 1 / (1 + np.exp(-(X @ coef)))
    e = 1 / (1 + np.exp(-X[:, 0] + 0.5 * X[:, 1]))
    s = (y & (rng.random(n) < e)).astype(int)
    return (sparse.csr_array(X) if is_sparse else X), s, e


def fit(learner: str, X, s, e):
    from sarlearn import CrossFitSARClassifier, KnownPropensityClassifier, SAREMClassifier

    if learner == "known":
        return KnownPropensityClassifier().fit(X, s, propensity=e)
    if learner.startswith("cross-fit"):
        with _own_score() if learner == OWN_SCORE else contextlib.nullcontext():
            return CrossFitSARClassifier([0, 1], random_state=0).fit(X, s)
    return SAREMClassifier([0, 1], stop=learner).fit(X, s)


def measure(shape: str, way: str) -> dict[str, dict]:
    """In this process: the least CPU seconds of some fits, after one that is not counted."""
    X, s, e = problem(shape)
    found = {}
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(_fit_alone())
        warnings.simplefilter("ignore")
        if way == "Dask":
            X, s, e = stack.enter_context(_on_dask(X, s, e))
        for learner in _learners(way):
            fit(learner, X, s, e)
            times = []
            for _ in range(REPEATS):
                began = time.process_time()
                model = fit(learner, X, s, e)
                times.append(time.process_time() - began)
            found[learner] = {
                "cpu": min(times),
                "class_prior": float(model.class_prior_),
                "coef": np.ravel(model.coef_).tolist(),
            }
    return found


def _learners(way: str) -> tuple[str, ...]:
    """Those that both trees have there."""
    return LEARNERS if way != "Dask" else ("slope", "fixed_point", "known")


@contextlib.contextmanager
def _on_dask(*arrays: np.ndarray):
    """The same rows on two workers."""
    import dask.array as da
    from distributed import Client

    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None):
        chunk = -(-len(arrays[0]) // PARTITIONS)
        yield [da.from_array(a, chunks=(chunk, *a.shape[1:])).persist() for a in arrays]


def _fit_alone():
    try:
        from sarlearn.classifiers._trust import no_second_look
    except ImportError:  # a tree from before there was one
        return contextlib.nullcontext()
    return no_second_look()


@contextlib.contextmanager
def _own_score():
    """The cross-fit takes no other score than its own."""
    try:
        from sarlearn._engine.averaging import LabelModels
    except ImportError:  # a tree from before there were others
        yield
        return
    flexible, unbiased = LabelModels.flexible, LabelModels.unbiased
    LabelModels.flexible = lambda *_: []
    LabelModels.unbiased = lambda *_: 0.5
    try:
        yield
    finally:
        LabelModels.flexible, LabelModels.unbiased = flexible, unbiased


def main(other: str) -> None:
    here = str(Path(__file__).parents[1] / "src")
    for shape in SHAPES:
        for way in WAYS:
            if way == "Dask" and shape != ON_DASK:
                continue
            runs: dict[str, list] = {other: [], here: []}
            for tree in (other, here, other, here):
                runs[tree].append(_elsewhere(tree, shape, way))
            rows = []
            for learner in _learners(way):
                before, now = (
                    min((run[learner] for run in runs[tree]), key=itemgetter("cpu"))
                    for tree in (other, here)
                )
                row = {"problem": shape, "way": way, "learner": learner}
                row |= _compared(before, now)
                print(*row.values(), sep="\t", flush=True)
                rows.append(row)
            merge("against", rows, RESULTS)


def _compared(before: dict, now: dict) -> dict:
    """CPU seconds, and by how much results differ, coefficients relative to the largest."""
    old, new = np.array(before["coef"]), np.array(now["coef"])
    difference = np.abs(old - new).max() / np.abs(old).max()
    return {
        "cpu_before": round(before["cpu"], 4),
        "cpu": round(now["cpu"], 4),
        "ratio": round(now["cpu"] / before["cpu"], 2),
        "class_prior_before": round(before["class_prior"], 6),
        "class_prior": round(now["class_prior"], 6),
        "coefficient_difference": f"{difference:.1e}",
    }


def _elsewhere(tree: str, shape: str, way: str) -> dict:
    path = os.pathsep.join([tree, str(Path(__file__).parents[1])])
    settings = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.against", "--measure", shape, way],
        env={**os.environ, **settings, "SARLEARN_COMPILED": WAYS[way]},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        print(json.dumps(measure(*sys.argv[2:])))
    else:
        main(sys.argv[1])
