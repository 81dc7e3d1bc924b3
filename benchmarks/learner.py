"""What ``SARClassifier`` costs: ``python -m benchmarks.learner JOB`` prints JSON.

The unit is one fit of scikit-learn's ``HistGradientBoostingClassifier`` to the same rows and
labels, or of its ``LogisticRegression`` where rows are sparse. CPU seconds, the best of several.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from benchmarks.memory import memory_now, memory_peak
from benchmarks.workloads import sparse_words

RESAMPLES, OF_RESAMPLES = 20, 200


class Case(NamedTuple):
    """Rows and columns, and at most how much of what one fit may take."""

    rows: int
    columns: int
    limits: dict[str, float]
    sparse: bool = False
    quick: bool = True

    @property
    def name(self) -> str:
        return f"{self.rows:,} x {self.columns:,}" + (", sparse" if self.sparse else "")


# "fits" and "linear_fits" are fits of the unit, by all class models and by the linear one alone.
CASES = [
    Case(500, 8, {"cpu": 0.06}),
    Case(2_000, 20, {"fits": 6}),
    Case(20_000, 20, {"fits": 3}),
    Case(3_000, 160, {"linear_fits": 1}),
    Case(3_000, 640, {"linear_fits": 2}),
    Case(5_000, 20_000, {"fits": 40, "memory": 3}, sparse=True),
    Case(200_000, 20, {"fits": 3}, quick=False),
    Case(1_000_000, 20, {"fits": 3, "peak_gb": 1.5}, quick=False),
]
SAID = {
    "cpu": "CPU s",
    "fits": "in fits of {unit}",
    "linear_fits": "linear alone, in fits of {unit}",
    "memory": "added memory over X",
    "peak_gb": "peak of memory, GB",
}


def problem(rows: int, columns: int, is_sparse: bool = False):
    """Rows, labels, and the columns that drive labelling; no line tells the class of dense rows."""
    if is_sparse:
        words = sparse_words(rows, columns, 115, "f")
        return words.X, words.s, words.columns
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    y = X[:, 0] ** 2 + X[:, 1] ** 2 + X[:, 3] > 1.4
    return X, y & (rng.random(rows) < expit(X[:, 2])), [2]


def cost(rows: int, columns: int, is_sparse: bool, repeats: int) -> dict:
    """A fit of the unit, of the linear class model alone, and of both, in CPU seconds."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    from sarlearn import SARClassifier

    X, s, named = problem(rows, columns, is_sparse)
    unit = LogisticRegression(max_iter=1000) if is_sparse else HistGradientBoostingClassifier()
    linear, both = SARClassifier(named, class_models=("linear",)), SARClassifier(named)
    for model in (unit, linear, both):  # what a first fit loads is no cost of these rows
        _least(lambda model=model: model.fit(X[:500, :8], s[:500]), 1)
    before = memory_now()
    found = {"unit": type(unit).__name__, "cpu": _least(lambda: both.fit(X, s), 1)}
    found |= {"added_bytes": max(memory_peak() - before, 0), "peak_gb": memory_peak() / 1e9}
    found["linear_cpu"] = _least(lambda: linear.fit(X, s), repeats)
    found["unit_cpu"] = _least(lambda: unit.fit(X, s), repeats)
    if repeats > 1:
        found["cpu"] = min(found["cpu"], _least(lambda: both.fit(X, s), repeats - 1))
    kept = (X.data, X.indices, X.indptr) if is_sparse else (X,)
    return found | {
        "fits": found["cpu"] / found["unit_cpu"],
        "linear_fits": found["linear_cpu"] / found["unit_cpu"],
        "memory": found["added_bytes"] / sum(part.nbytes for part in kept),
    }


def bootstrap(rows: int = 2_000, columns: int = 20) -> dict:
    """How many fits two hundred resamples take, by twenty of them."""
    from sarlearn import SARClassifier
    from sarlearn.inspection import bootstrap as resample

    X, s, named = problem(rows, columns)
    model = SARClassifier(named).fit(X, s)
    fit = _least(lambda: model.fit(X, s), 3)
    again = _least(lambda: resample(model, X, s, n_resamples=RESAMPLES, random_state=0), 1)
    return {"cpu": again, "fits": again / fit * OF_RESAMPLES / RESAMPLES}


def first(rows: int = 2_000, columns: int = 20) -> dict:
    """By how many CPU seconds the first fit of a process exceeds the second."""
    from sarlearn import SARClassifier

    X, s, named = problem(rows, columns)
    one, two = (_least(lambda: SARClassifier(named).fit(X, s), 1) for _ in range(2))
    return {"cpu": one, "more": one - two}


def _least(function: Callable[[], object], repeats: int) -> float:
    """The least CPU seconds of some calls."""
    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(repeats):
            began = time.process_time()
            function()
            times.append(time.process_time() - began)
    return min(times)


JOBS = {"cost": cost, "bootstrap": bootstrap, "first": first}

if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    print(json.dumps(JOBS[job.pop("kind")](**job)))
