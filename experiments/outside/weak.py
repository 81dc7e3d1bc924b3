"""Estimators on tables whose columns hardly tell the class, beside what they say of no columns.

Every cell is measured twice: on its table, and with the rows of the columns shuffled, so that they
say nothing of class and labels. An estimator that is as good on shuffled columns as on real ones
knows nothing; what it says is a habit, and the cells happened to lie where the habit points.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from ..harness.cells import Fields, seed_from
from ..learner.cells import drawn
from .pulsnar import estimated


def cells(settings: Fields) -> Iterator[Fields]:
    """Settings: ``data_sets``, ``cases``, ``seeds``, ``learners``, ``signals`` ("real",
    "shuffled"), ``max_rows``."""
    for seed, data_set, signal in product(
        settings["seeds"], settings["data_sets"], settings["signals"]
    ):
        for (draw, case), learner in product(enumerate(settings["cases"]), settings["learners"]):
            yield {
                "data_set": data_set,
                "case": case,
                "draw": draw,
                "seed": seed,
                "signal": signal,
                "learner": learner,
                "max_rows": settings["max_rows"],
            }


def measure(
    data_set: str,
    case: str,
    draw: int,
    seed: int,
    signal: str,
    learner: str,
    max_rows: int,
) -> dict[str, Any]:
    """The class prior that one estimator finds."""
    given = drawn(data_set, case, draw, seed, max_rows)
    if signal == "shuffled":
        rng = np.random.default_rng(seed_from("shuffled", data_set, draw, seed))
        given = given._replace(X=rng.permutation(given.X))
    return estimated(learner, given, seed)
