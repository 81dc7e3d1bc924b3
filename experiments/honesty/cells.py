"""One cell: a learner on a case of a data set; what it said, what it warned of, and the truth."""

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from sarlearn import CrossFitSARClassifier, KnownPropensityClassifier, SAREMClassifier
from sarlearn import exceptions as said

from ..harness.cells import Fields
from . import cases, tables

# What counts as a warning that the class prior may be wrong, by the column that records it.
WARNINGS = {
    "unidentified": said.UnidentifiedWarning,
    "shape": said.ShapeWarning,
    "misfit": said.MisfitWarning,
    "swap": said.SwapWarning,
    "leak": said.LeakageWarning,
    "driver": said.UnnamedDriverWarning,
    "boundary": said.BoundaryWarning,
    "few_labels": said.FewLabelsWarning,
}
WORDS = ("well", "roughly", "only by the model's shape", "not at all")


def cells(settings: Fields) -> Iterator[Fields]:
    """Every data set, case and seed for every learner; rare cases with the first seed only."""
    for number, seed in enumerate(settings["seeds"]):
        chosen = settings["cases"] + (settings["rare_cases"] if number == 0 else [])
        for learner in settings["learners"]:
            for case in chosen:
                for name in settings["data_sets"]:
                    yield {
                        "data_set": name,
                        "case": case,
                        "seed": seed,
                        "learner": learner,
                        "max_rows": settings["max_rows"],
                    }


def measure(data_set: str, case: str, seed: int, learner: str, max_rows: int) -> dict[str, Any]:
    """Fit one learner; its prior and range, its warnings, and how far a told learner is ahead."""
    given = cases.draw(tables.load(data_set, max_rows, seed), case, seed)
    model = _learner(learner, given.named)
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(given.X, given.s)
    seconds = time.process_time() - began
    f = model.predict_proba(given.X)[:, 1]
    low, high = model.class_prior_range_
    found: dict[str, Any] = {
        "rows": len(given.s),
        "labelled": int(given.s.sum()),
        "truth": float(given.y.mean()),
        "class_prior": float(model.class_prior_),
        "low": float(low),
        "high": float(high),
        "word": WORDS.index(model.certainty_),
        "accuracy": float(np.mean((f > 0.5) == given.y)),
        "auc": float(roc_auc_score(given.y, f)),
        "seconds": seconds,
    }
    found |= {
        name: any(isinstance(one.message, kind) for one in caught)
        for name, kind in WARNINGS.items()
    }
    return found | _told(given)


def _learner(name: str, named: list[int]):
    if name == "cross-fit":
        return CrossFitSARClassifier(named, random_state=0)
    if name == "sar-em":
        return SAREMClassifier(named)
    if name == "boosted":
        from sarlearn import BoostedSARClassifier

        return BoostedSARClassifier(named, random_state=0)
    raise ValueError(f"There is no learner {name!r}; there are cross-fit, sar-em and boosted.")


def _told(given: cases.Case) -> dict[str, float]:
    """A linear learner that knows the propensity: what no identification can take away."""
    X = (given.X - given.X.mean(axis=0)) / np.maximum(given.X.std(axis=0), 1e-12)
    told = KnownPropensityClassifier().fit(X, given.s, propensity=given.propensity)
    f = told.predict_proba(X)[:, 1]
    return {
        "told_prior": float(told.class_prior_),
        "told_accuracy": float(np.mean((f > 0.5) == given.y)),
    }
