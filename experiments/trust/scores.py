"""Scores without true classes against the scores with them, on rows held out.

A logistic regression with one attribute missing is scored: ``P(y=1|x) = sigmoid(2 x0 + x1 - 0.5)``,
``e = 0.1 + 0.8 sigmoid(2 x2 + x1)``. Propensities are the true ones, or SAR-EM's from as many
training rows.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

from sarlearn import SAREMClassifier
from sarlearn.metrics import ipw_scores

from ..harness.cells import Fields, seed_from


def cells(settings: Fields) -> Iterator[Fields]:
    """Settings: ``n_rows``, ``batches`` of ``data_sets`` each."""
    for batch in range(settings["batches"]):
        for n_rows in settings["n_rows"]:
            yield {"n_rows": n_rows, "batch": batch, "data_sets": settings["data_sets"]}


def measure(n_rows: int, batch: int, data_sets: int) -> dict[str, Any]:
    """For each score: mean and variance over data sets of estimate minus truth; mean error."""
    rows: dict[str, list[float]] = {}
    for number in range(data_sets):
        rng = np.random.default_rng(seed_from("scores", n_rows, batch, number))
        X, y, e, s = _draw(2 * n_rows, rng)
        train, test = slice(n_rows), slice(n_rows, None)
        judged = LogisticRegression().fit(X[train][:, [0, 3]], y[train])
        p = judged.predict_proba(X[test][:, [0, 3]])[:, 1]
        model = SAREMClassifier([1, 2], decay=1, C=100, propensity_C=100, stop="fixed_point")
        model.fit(X[train], s[train])
        true = _with_classes(y[test], p)
        for kind, propensity in (
            ("true", e[test]),
            ("estimated", model.predict_propensity(X[test])),
        ):
            found = ipw_scores(s[test], p, propensity)
            for name, value in found.scores.items():
                rows.setdefault(f"{kind}_{name}", []).append(value - true[name])
                rows.setdefault(f"{kind}_{name}_se", []).append(found.standard_errors[name])
    out: dict[str, Any] = {"tested": data_sets}
    for key, values in rows.items():
        out[f"{key}_mean"] = float(np.mean(values))
        if not key.endswith("_se"):
            out[f"{key}_variance"] = float(np.var(values, ddof=1))
    return out


def _draw(n_rows: int, rng):
    X = rng.normal(size=(n_rows, 4))
    y = rng.random(n_rows) < expit(2 * X[:, 0] + X[:, 1] - 0.5)
    e = 0.1 + 0.8 * expit(2 * X[:, 2] + X[:, 1])
    return X, y, e, y & (rng.random(n_rows) < e)


def _with_classes(y, p) -> dict[str, float]:
    hard = p > 0.5
    return {
        "recall": metrics.recall_score(y, hard),
        "precision": metrics.precision_score(y, hard),
        "f1": metrics.f1_score(y, hard),
        "accuracy": metrics.accuracy_score(y, hard),
        "brier": metrics.brier_score_loss(y, p),
        "roc_auc": metrics.roc_auc_score(y, p),
        "average_precision": metrics.average_precision_score(y, p),
    }
