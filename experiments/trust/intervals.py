"""Coverage of the 95 % intervals of class prior and label frequency, both models right.

``P(y=1|x) = sigmoid(3 x0 + x1 - 0.5)``, ``e = sigmoid(x2)``, standard normal attributes.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit

from sarlearn import SAREMClassifier
from sarlearn.inspection import bootstrap

from ..harness.cells import Fields, seed_from

NAMES = ("class_prior", "label_frequency")


def cells(settings: Fields) -> Iterator[Fields]:
    """Settings: ``decays``, ``n_rows``, ``batches`` of ``data_sets`` each, ``resamples``."""
    for batch in range(settings["batches"]):
        for n_rows in settings["n_rows"]:
            for decay in settings["decays"]:
                yield {
                    "decay": decay,
                    "n_rows": n_rows,
                    "batch": batch,
                    "data_sets": settings["data_sets"],
                    "resamples": settings["resamples"],
                }


def truth() -> dict[str, float]:
    """Class prior and label frequency of the population, by Gauss-Hermite quadrature."""
    points, weights = np.polynomial.hermite_e.hermegauss(200)
    weights = weights / weights.sum()
    prior = float(weights @ expit(np.sqrt(10.0) * points - 0.5))
    return {"class_prior": prior, "label_frequency": float(weights @ expit(points))}


def measure(
    decay: float, n_rows: int, batch: int, data_sets: int, resamples: int
) -> dict[str, Any]:
    """How many intervals of a batch hold the truth, their mean width, and the mean error."""
    true = truth()
    sums: dict[str, float] = {"tested": data_sets}
    for number in range(data_sets):
        seed = seed_from("intervals", n_rows, batch, number)
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_rows, 3))
        y = rng.random(n_rows) < expit(3 * X[:, 0] + X[:, 1] - 0.5)
        s = y & (rng.random(n_rows) < expit(X[:, 2]))
        if decay == 1:
            model = SAREMClassifier([2], decay=1, C=100, propensity_C=100, stop="fixed_point")
        else:
            model = SAREMClassifier([2], decay=decay, C=100, propensity_C=100)
        found = bootstrap(model.fit(X, s), X, s, n_resamples=resamples, random_state=seed)
        for name in NAMES:
            error = float(found.estimates[name]) - true[name]
            ends = {method: found.interval(name, method=method) for method in ("bca", "percentile")}
            for method, (low, high) in ends.items():
                covered = f"{name}_{method}"
                sums[covered] = sums.get(covered, 0) + int(low <= true[name] <= high)
                sums[f"{covered}_width"] = sums.get(f"{covered}_width", 0.0) + float(high - low)
            sums[f"{name}_error"] = sums.get(f"{name}_error", 0.0) + error
    means = ("_width", "_error")
    return {k: v / data_sets if k.endswith(means) else v for k, v in sums.items()}
