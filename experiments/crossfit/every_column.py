"""Cross-fitting where many columns, or all, are said to drive labelling.

``told`` is "true"; "half" or "most": the true columns and as many others as make half or nine
tenths of all; or "all". Mechanisms are those of ``sar_learners``. ``phase`` is part of every seed.
"""

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, brier_score_loss, f1_score, log_loss, roc_auc_score

from sarlearn import CrossFitSARClassifier, SAREMClassifier
from sarlearn.labelling import label
from sarlearn.metrics import class_prior_error, propensity_mean_absolute_error

from ..harness.cells import Fields, seed_from
from ..harness.data import load
from ..sar_learners.learners import propensity
from .variants import Fitted, RidgeLabelModel, cross_fit, sar_em

SHARES = {"true": 0.0, "half": 0.5, "most": 0.9, "all": 1.0}


def cells(settings: Fields) -> Iterator[Fields]:
    """Repeats outermost, methods innermost.

    Settings: ``phase``, ``datasets``, ``mechanisms``, ``told``, ``max_rows``, ``repeats``,
    ``methods``. Under "rising" every column drives labelling, and only "all" is told.
    """
    for repeat, dataset, mechanism, told, method in product(
        range(settings["repeats"]),
        settings["datasets"],
        settings["mechanisms"],
        settings["told"],
        settings["methods"],
    ):
        if mechanism != "rising" or told == "all":
            yield {
                "phase": settings["phase"],
                "dataset": dataset,
                "mechanism": mechanism,
                "told": told,
                "max_rows": settings["max_rows"],
                "repeat": repeat,
                "method": method,
            }


def measure(
    phase: str, dataset: str, mechanism: str, told: str, max_rows: int, repeat: int, method: str
) -> dict[str, Any]:
    """Draw rows, label them, learn from four fifths, score the rest."""
    data = load(dataset)
    rng = np.random.default_rng(seed_from("every column", phase, dataset, mechanism, repeat))
    X, y = data.X, data.y
    if len(y) > max_rows:
        rows = np.sort(rng.choice(len(y), max_rows, replace=False))
        X, y = X[rows], y[rows]
    e, columns = propensity(data, X, y, mechanism, rng)
    s, _ = label(X, y, lambda X: e, random_state=int(rng.integers(2**32)))
    s, test = s.astype(bool), rng.random(len(s)) < 0.2
    seed = int(rng.integers(2**32))
    others = rng.permutation(np.setdiff1d(np.arange(X.shape[1]), columns))
    more = max(round(SHARES[told] * X.shape[1]) - len(columns), 0)
    columns = np.sort(np.append(columns, others[:more])).astype(int)
    began = time.process_time()
    model = fit(method, X[~test], s[~test], columns, seed)
    found: dict[str, Any] = {"cpu_seconds": time.process_time() - began}
    if isinstance(model, Fitted):
        p, e_hat = model.class_probability(X[test]), model.propensity(X[test])
        prior = model.class_prior
        found |= {"explained": model.explained, "spread": model.spread, "C": model.C}
    else:
        p, e_hat = model.predict_proba(X[test])[:, 1], model.predict_propensity(X[test])
        prior = model.class_prior_
        found["width"] = getattr(model, "identification_width_", None)
    return found | {
        "n_told": len(columns),
        "n_columns": X.shape[1],
        "accuracy": accuracy_score(y[test], p > 0.5),
        "f1_at_half": f1_score(y[test], p > 0.5, zero_division=0.0),
        "auc": roc_auc_score(y[test], p),
        "log_loss": log_loss(y[test], p),
        "brier": brier_score_loss(y[test], p),
        "prior_error": class_prior_error(y[~test], prior),
        "propensity_error": propensity_mean_absolute_error(e[test], e_hat, y_true=y[test]),
    }


def fit(method: str, X, s, columns, seed: int):
    """The library's learners, and the cross-fit with its propensity free, kept or scaled."""
    if method == "SAR-EM":
        return SAREMClassifier(columns).fit(X, s)
    if method == "SAR-EM, C=10":
        return SAREMClassifier(columns, C=10.0).fit(X, s)
    if method == "cross-fit":
        return CrossFitSARClassifier(columns, random_state=seed).fit(X, s)
    if method == "cross-fit, ridge":
        first = sar_em(X, s, columns)
        return cross_fit(X, s, columns, seed, start=first, label_model=RidgeLabelModel)
    name, how, *C = method.split(", ")
    if name != "cross-fit" or how not in ("free", "kept", "scaled") or C not in ([], ["C=1"]):
        raise ValueError(
            "method is SAR-EM; SAR-EM, C=10; cross-fit; or cross-fit, {free, kept, scaled, ridge}; "
            f"got {method!r}."
        )
    first = sar_em(X, s, columns, C=1.0 if C else 10.0)
    return cross_fit(X, s, columns, seed, start=first, propensity=how)
