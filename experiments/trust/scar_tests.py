"""Size and power of the SCAR test: the share of simulated data sets it rejects at 5 %.

Five standard normal attributes, ``P(y=1|x) = sigmoid(2 x0 + x1)`` unless the generator says
otherwise.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit

from sarlearn.inspection import scar_test

from ..harness.cells import Fields, seed_from

COLUMNS = {1: [2], 5: [0, 1, 2, 3, 4]}


def cells(settings: Fields) -> Iterator[Fields]:
    """Batches outermost: a run cut short has seen all settings alike.

    Settings: ``generators``, ``n_rows``, ``label_frequencies`` (of SCAR generators), ``attributes``
    (1 is the third alone, 5 are all), ``batches`` of ``data_sets`` each, ``draws`` and ``C`` of the
    test.
    """
    for batch, generator, n_rows, c, attributes in product(
        range(settings["batches"]),
        settings["generators"],
        settings["n_rows"],
        settings.get("label_frequencies", [0.4]),
        settings["attributes"],
    ):
        yield {
            "generator": generator,
            "n_rows": n_rows,
            "label_frequency": c,
            "attributes": attributes,
            "batch": batch,
            "data_sets": settings["data_sets"],
            "draws": settings["draws"],
            "C": settings["C"],
        }


def simulate(generator: str, n_rows: int, label_frequency: float, rng) -> tuple:
    """Attributes, class, propensity and labels of one data set."""
    X = rng.normal(size=(n_rows, 5))
    logit = 2 * X[:, 0] + X[:, 1]
    propensity = np.full(n_rows, label_frequency)
    if generator == "scar separated":
        logit = 3 * logit
    elif generator == "scar, f has a square":
        logit = logit + X[:, 2] ** 2 - 1
    elif generator == "scar, f has a bend":
        logit = logit + 2 * np.maximum(X[:, 2], 0)
    elif generator == "strong":
        propensity = 0.1 + 0.8 * expit(3 * X[:, 2])
    elif generator == "weak":
        propensity = expit(-0.4 + 0.5 * X[:, 2])
    elif generator == "along the class":
        propensity = 0.1 + 0.8 * expit(3 * X[:, 0])
    elif generator == "rising with P(y|x)":
        propensity = 0.8 * expit(logit) ** 2
    elif generator != "scar":
        raise ValueError(f"There is no generator {generator!r}.")
    y = rng.random(n_rows) < expit(logit)
    return X, y, propensity, y & (rng.random(n_rows) < propensity)


def measure(
    generator: str,
    n_rows: int,
    label_frequency: float,
    attributes: int,
    batch: int,
    data_sets: int,
    draws: int,
    C: float,
) -> dict[str, Any]:
    """How many of a batch of data sets are rejected."""
    rejected = 0
    for number in range(data_sets):
        seed = seed_from("test", generator, n_rows, label_frequency, batch, number)
        X, _, _, s = simulate(generator, n_rows, label_frequency, np.random.default_rng(seed))
        result = scar_test(X, s, COLUMNS[attributes], n_draws=draws, C=C, random_state=seed)
        rejected += result.p_value <= 0.05
    return {"rejected": rejected, "tested": data_sets}
