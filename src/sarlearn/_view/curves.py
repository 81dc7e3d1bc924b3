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


def posterior_by(parts: Parts, labelled: np.ndarray, feature=None, max_strata: int = 5) -> dict:
    """The data of a :class:`PosteriorDisplay`."""
    unlabelled = ~labelled
    s = parts.final.classes_[labelled.astype(int)]
    posterior = parts.final.predict_posterior(parts.matrix, s)[unlabelled]
    if feature is None and not parts.propensity_attributes:
        name, codes, names = None, np.zeros(len(posterior), dtype=int), ["all rows"]
    else:
        attribute = parts.attribute(feature)
        name = attribute.name
        codes, names = attribute.strata(max_strata)
        codes = codes[unlabelled]
    thresholds = np.linspace(0, 1, 101)
    chosen = [posterior[codes == code] for code in range(len(names))]
    kept = [(stratum, rows) for stratum, rows in zip(names, chosen, strict=True) if len(rows)]
    return {
        "thresholds": thresholds.tolist(),
        "strata": [stratum for stratum, _ in kept],
        "share": [_share_above(rows, thresholds) for _, rows in kept],
        "expected": [float(rows.mean()) for _, rows in kept],
        "count": [len(rows) for _, rows in kept],
        "feature": name,
    }


def _share_above(values: np.ndarray, thresholds: np.ndarray) -> list[float]:
    below = np.searchsorted(np.sort(values), thresholds, side="left")
    return (1 - below / len(values)).tolist()
