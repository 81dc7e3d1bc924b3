"""What 200 bootstrap resamples and 200 draws of the SCAR test cost, in seconds of one core.

Standard normal columns; the class follows six of them, labelling the eighth.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit

from sarlearn import SAREMClassifier
from sarlearn.inspection import bootstrap, scar_test

from ..harness.cells import Fields, seed_from

TASKS = ("bootstrap, decay 1", "bootstrap, decay 0.9", "scar_test, 1 attribute", "scar_test, 5")


def cells(settings: Fields) -> Iterator[Fields]:
    """Settings: ``n_rows``, ``n_columns``, ``draws``, ``repeats`` (each on other data)."""
    size = {name: settings[name] for name in ("n_rows", "n_columns", "draws")}
    for repeat in range(settings["repeats"]):
        for task in TASKS:
            yield {"task": task, "repeat": repeat, **size}


def measure(task: str, repeat: int, n_rows: int, n_columns: int, draws: int) -> dict[str, Any]:
    """Processor seconds of one call, the first fit not included."""
    rng = np.random.default_rng(seed_from("speed", n_rows, n_columns, repeat))
    X = rng.normal(size=(n_rows, n_columns))
    y = rng.random(n_rows) < expit(X[:, :6] @ np.array([2, 1, 0.5, -0.5, 0.5, -1]))
    s = y & (rng.random(n_rows) < expit(X[:, 7]))
    if task.startswith("bootstrap"):
        weak = {"C": 100, "propensity_C": 100}
        if task == "bootstrap, decay 1":
            model = SAREMClassifier([7], decay=1, stop="fixed_point", **weak).fit(X, s)
        else:
            model = SAREMClassifier([7]).fit(X, s)
        began = time.process_time()
        bootstrap(model, X, s, n_resamples=draws, random_state=repeat)
    else:
        columns = [7] if task == TASKS[2] else [7, 0, 1, 10, 11]
        began = time.process_time()
        scar_test(X, s, columns, n_draws=draws, random_state=repeat)
    return {"core_seconds": time.process_time() - began}
