"""The numbers behind the displays and the report, as plain dicts of lists."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sarlearn._view.parts import Parts


def propensity_by(parts: Parts, feature=None, **settings) -> dict:
    """The data of a :class:`PropensityDisplay`, by partial dependence."""
    found = dependence(parts, parts.final.predict_propensity, feature, **settings)
    return {"propensity" if key == "mean" else key: value for key, value in found.items()}


def probability_by(parts: Parts, feature, **settings) -> dict:
    """The same for the class probability."""

    def probability(matrix) -> np.ndarray:
        return parts.final.predict_proba(matrix)[:, 1]

    return dependence(parts, probability, feature, **settings)


def dependence(
    parts: Parts,
    predict: Callable[[Any], np.ndarray],
    feature=None,
    n_points: int = 40,
    max_categories: int = 12,
    max_rows: int = 1000,
    random_state: int = 0,
) -> dict:
    """Partial dependence of a prediction on one attribute: mean, 10th and 90th percentile."""
    attribute = parts.attribute(feature)
    share = None
    if attribute.is_curve:
        first, last = np.nanquantile(attribute.values, [0.01, 0.99])
        values = list(np.linspace(first, last, n_points))
    else:
        values = list(attribute.distinct[:max_categories])
        share = [float(np.mean(attribute.values == value)) for value in values]
    sample = parts.sample(max_rows, random_state)
    chosen = []
    for block in attribute.encode(values):
        sample[:, attribute.positions] = block
        found = predict(parts.like_matrix(sample))
        chosen.append([float(np.mean(found)), *map(float, np.quantile(found, [0.1, 0.9]))])
    mean, low, high = (list(column) for column in zip(*chosen, strict=True))
    return {
        "feature": attribute.name,
        "values": [v.item() if isinstance(v, np.generic) else v for v in values],
        "mean": mean,
        "low": low,
        "high": high,
        "share": share,
    }
