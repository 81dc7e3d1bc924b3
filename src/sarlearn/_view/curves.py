"""The numbers behind the displays and the report, as plain dicts of lists."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sarlearn._view.parts import Parts
from sarlearn.classifiers.base import TOLERANCE


def propensity_by(parts: Parts, feature=None, *settings) -> dict:
    """The data of a :class:`PropensityDisplay`, by partial dependence."""
    found = dependence(parts, parts.final.predict_propensity, feature, *settings)
    return {"propensity" if key == "mean" else key: value for key, value in found.items()}


def probability_by(parts: Parts, feature, *settings) -> dict:
    """The same for the class probability."""

    def probability(matrix) -> np.ndarray:
        return parts.final.predict_proba(matrix)[:, 1]

    return dependence(parts, probability, feature, *settings)


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


def convergence(estimator) -> dict:
    """The data of a :class:`ConvergenceDisplay`."""
    check_is_fitted(estimator)
    final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(final, "history_"):
        raise TypeError(f"{type(final).__name__} keeps no history of its fit (history_).")
    history = {name: np.asarray(values).tolist() for name, values in final.history_.items()}
    # A cross-fit keeps the history of its first step, SAR-EM as the paper has it.
    by_slope = "slope" in history and getattr(final, "stop", "slope") == "slope"
    return {
        "log_likelihood": history["log_likelihood"],
        "class_prior": history["class_prior"],
        "slope": history.get("slope", [np.nan] * len(history["class_prior"])),
        "tol": float(getattr(final, "tol", None) or TOLERANCE["slope"]) if by_slope else None,
    }


def label_calibration(s, predicted, n_bins: int = 10) -> dict:
    """The data of a :class:`LabelCalibrationDisplay`: bins with equal numbers of rows."""
    s, predicted = np.asarray(s, dtype=float), np.asarray(predicted, dtype=float)
    if len(s) != len(predicted):
        raise ValueError(f"s has {len(s)} rows, predicted has {len(predicted)}.")
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1; got {n_bins}.")
    edges = np.unique(np.quantile(predicted, np.linspace(0, 1, n_bins + 1)[1:-1]))
    codes = np.searchsorted(edges, predicted, side="right")
    count = np.bincount(codes, minlength=len(edges) + 1)
    used = count > 0
    count = count[used]
    observed = np.bincount(codes, weights=s, minlength=len(used))[used] / count
    mean = np.bincount(codes, weights=predicted, minlength=len(used))[used] / count
    z = 1.959964  # Wilson's interval (JASA 22, 209, 1927) at 95 %
    middle = (observed + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z * np.sqrt(observed * (1 - observed) / count + z**2 / (4 * count**2))
    half /= 1 + z**2 / count
    return {
        "predicted": mean.tolist(),
        "observed": observed.tolist(),
        "low": np.maximum(middle - half, 0).tolist(),
        "high": np.minimum(middle + half, 1).tolist(),
        "count": count.tolist(),
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
