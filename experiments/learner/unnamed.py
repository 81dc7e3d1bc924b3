"""Cells whose columns nobody named: what a learner says that is told nothing."""

import time
from typing import Any

import numpy as np

from . import cases
from .cells import cells, drawn, judge

__all__ = ["cells", "measure"]


def measure(
    data_set: str, case: str, draw: int, seed: int, learner: str, max_rows: int
) -> dict[str, Any]:
    """Fit one learner; its class prior, range and warnings, and how far off its propensity is."""
    given = drawn(data_set, case, draw, seed, max_rows)
    if learner == "PULSNAR":
        return _by_pulsnar(given)
    model = learner_of(learner, given)
    found = judge(model, given)
    e = model.predict_propensity(given.X)[given.y]
    return found | {"propensity_error": float(np.mean(np.abs(e - given.propensity[given.y])))}


def _by_pulsnar(given: cases.Case) -> dict[str, Any]:
    from ..outside.pulscar import pulsnar

    began = time.process_time()
    found = pulsnar(given.X, given.s)
    return {
        "rows": len(given.s),
        "labels": int(given.s.sum()),
        "truth": float(given.y.mean()),
        "class_prior": found,
        "guess": min(1.0, 2 * float(given.s.mean())),
        "cpu_seconds": time.process_time() - began,
    }


def learner_of(name: str, given: cases.Case):
    """``told`` names the columns that drive labelling; the others know of none."""
    from sarlearn import SARClassifier, SCARClassifier

    if name == "scar":
        return SCARClassifier()
    named = {"told": given.named, "auto": "auto", "none": ()}
    if name not in named:
        raise ValueError(f"There is no learner {name!r}; there are told, auto, none and scar.")
    return SARClassifier(named[name], random_state=0)
