"""A known propensity, used in two ways: EM (SAR-e), or P(s=1|x) divided by e(x).

The paper says that EM is the more stable. Here the rows are labelled several times over, learned
from on the same training rows, and the spread of what is predicted for the same test rows is taken.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from sarlearn.labelling import ProductLabelling, label
from sarlearn.metrics import probabilistic_f1_score

from ..harness.cells import Fields, seed_from
from ..harness.data import folds, load
from .learners import Setting
from .three_attributes import attribute_order

METHODS = ["EM", "scaled by 1/e"]


def cells(settings: Fields) -> Iterator[Fields]:
    """Settings: ``datasets``; ``combinations`` of three attributes; ``labellings`` of each."""
    for number, dataset, method in product(
        range(settings["combinations"]), settings["datasets"], METHODS
    ):
        yield {
            "dataset": dataset,
            "features": "+".join(attribute_order(dataset, 3)[number]),
            "labellings": settings["labellings"],
            "method": method,
        }


def measure(dataset: str, features: str, labellings: int, method: str) -> dict[str, Any]:
    """Spread over labellings of each test row's probability and of F1, and the mean F1."""
    data = load(dataset)
    columns = data.columns(features)
    train, test = next(folds(dataset, len(data.y), 0))
    predicted = []
    for number in range(labellings):
        seed = seed_from("stability", dataset, features, number)
        s, e = label(data.X, data.y, ProductLabelling(columns), random_state=seed)
        if method == "EM":
            model = Setting().fit(
                "SAR-e", data.X[train], data.y[train], s[train], e[train], columns
            )
            predicted.append(model.predict_proba(data.X[test])[:, 1])
        else:
            model = LogisticRegression(C=1.0, max_iter=1000).fit(data.X[train], s[train])
            predicted.append(model.predict_proba(data.X[test])[:, 1] / e[test])
    p = np.array(predicted)
    f1 = [probabilistic_f1_score(data.y[test], row) for row in np.minimum(p, 1.0)]
    return {
        "f1": float(np.mean(f1)),
        "f1_sd": float(np.std(f1, ddof=1)),
        "probability_sd": float(np.minimum(p, 1.0).std(axis=0, ddof=1).mean()),
        "above_one": float(np.mean(p > 1.0)),
    }
