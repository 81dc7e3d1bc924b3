"""One cell: a learner on a labelling of a table; what it said, what it warned of, and the truth."""

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from ..harness.cells import Fields
from . import cases, tables

# Codes of the warnings that a class prior should not be relied upon.
OPEN = {"open-class-prior", "leak", "near-copies"}
WORDS = ("well", "roughly", "not at all", "only by the model's shape")
# Of equal width, as in most papers on calibration.
BINS = 10


def cells(settings: Fields) -> Iterator[Fields]:
    """Every table and labelling for every learner; ``draw`` is the labelling's place in the list.

    A name that is in the list several times is drawn as often.
    """
    for learner in settings["learners"]:
        for name in settings["data_sets"]:
            for seed in settings["seeds"]:
                for draw, case in enumerate(settings["cases"]):
                    yield {
                        "data_set": name,
                        "case": case,
                        "draw": draw,
                        "seed": seed,
                        "learner": learner,
                        "max_rows": settings["max_rows"],
                    }


def measure(
    data_set: str, case: str, draw: int, seed: int, learner: str, max_rows: int
) -> dict[str, Any]:
    """Fit one learner; its class prior, range and warnings, and how well it ranks and predicts."""
    given = drawn(data_set, case, draw, seed, max_rows)
    return judge(named_learner(learner, given.named), given)


def drawn(data_set: str, case: str, draw: int, seed: int, max_rows: int) -> cases.Case:
    """Rows and labels of a cell."""
    table = tables.load(data_set)
    number = 1000 * seed + draw + sum(map(ord, data_set))
    return cases.draw(table.X, table.y, case, number, max_rows)


def named_learner(name: str, named: list[int]):
    from sarlearn import SARClassifier, SAREMClassifier

    if name == "sar":
        return SARClassifier(named, random_state=0)
    if name == "linear":
        return SARClassifier(named, class_models=("linear",), random_state=0)
    if name == "sar-em":
        return SAREMClassifier(named)
    raise ValueError(f"There is no learner {name!r}; there are sar, linear and sar-em.")


def judge(model, given: cases.Case) -> dict[str, Any]:
    """Fit a learner, and compare what it says with the truth."""
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(given.X, given.s)
    seconds = time.process_time() - began
    f = model.predict_proba(given.X)[:, 1]
    found = {
        "rows": len(given.s),
        "columns": given.X.shape[1],
        "labels": int(given.s.sum()),
        "truth": float(given.y.mean()),
        "class_prior": float(model.class_prior_),
        "guess": min(1.0, 2 * float(given.s.mean())),
        "warned": any(getattr(one.message, "code", "") in OPEN for one in caught),
        "auc": float(roc_auc_score(given.y, f)),
        "calibration_error": calibration_error(f, given.y),
        "cpu_seconds": seconds,
    }
    # The paper's learner gives no range.
    if hasattr(model, "class_prior_range_"):
        low, high = model.class_prior_range_
        found |= {"low": float(low), "high": float(high), "word": WORDS.index(model.certainty_)}
    return found


def calibration_error(f: np.ndarray, y: np.ndarray) -> float:
    """Mean distance between predicted and true share of positives, over bins of the prediction."""
    bins = np.minimum((f * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, weights=f - y)).sum() / len(f))
