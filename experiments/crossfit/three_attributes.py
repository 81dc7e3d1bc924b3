"""Cross-fitting in the paper's three-attribute setting: fresh attributes, labels and test rows.

Seeds are derived from the names below, so none was seen while the method was designed.
"""

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, brier_score_loss, f1_score, log_loss, roc_auc_score

from sarlearn import KnownPropensityClassifier, SAREMClassifier
from sarlearn.classifiers.crossfit import CrossFitSARClassifier
from sarlearn.labelling import ProductLabelling, label
from sarlearn.metrics import (
    class_prior_error,
    probabilistic_f1_score,
    propensity_accuracy_score,
    propensity_mean_absolute_error,
)

from ..harness.cells import Fields, seed_from
from ..harness.data import load


def cells(settings: Fields) -> Iterator[Fields]:
    """Labellings outermost, methods innermost.

    Settings: ``datasets``, ``labellings``, ``methods``.
    """
    for labelling, dataset, method in product(
        range(settings["labellings"]), settings["datasets"], settings["methods"]
    ):
        yield {"dataset": dataset, "labelling": labelling, "method": method}


def measure(dataset: str, labelling: int, method: str) -> dict[str, Any]:
    """Label by three eligible attributes, learn from four fifths of the rows, score the rest."""
    data = load(dataset)
    rng = np.random.default_rng(seed_from("crossfit three attributes", dataset, labelling))
    columns = data.columns("+".join(rng.choice(data.eligible, 3, replace=False)))
    seed = int(rng.integers(2**32))
    s, e = label(data.X, data.y, ProductLabelling(columns), random_state=seed)
    test = rng.random(len(s)) < 0.2
    X, y = data.X, data.y
    began = time.process_time()
    model = fit(method, X[~test], s[~test], e[~test], columns, int(rng.integers(2**32)))
    seconds = time.process_time() - began
    p = model.predict_proba(X[test])[:, 1]
    known = isinstance(model, KnownPropensityClassifier)
    e_hat = e[test] if known else model.predict_propensity(X[test])
    found = {
        "cpu_seconds": seconds,
        "f1": probabilistic_f1_score(y[test], p),
        "f1_at_half": f1_score(y[test], p > 0.5, zero_division=0.0),
        "accuracy": accuracy_score(y[test], p > 0.5),
        "auc": roc_auc_score(y[test], p),
        "log_loss": log_loss(y[test], p),
        "brier": brier_score_loss(y[test], p),
        "prior_error": class_prior_error(y[~test], model.class_prior_),
        "propensity_accuracy": propensity_accuracy_score(y[test], s[test], e_hat),
        "propensity_error": propensity_mean_absolute_error(e[test], e_hat, y_true=y[test]),
    }
    if isinstance(model, CrossFitSARClassifier):
        found |= {"C": model.C_, "slope": model.slope_, "width": model.identification_width_}
    return found


def fit(method: str, X, s, propensity, columns, seed: int):
    """The fitted learner of a method's name; only SAR-e is told the propensity."""
    if method == "SAR-e, C=10":
        return KnownPropensityClassifier(C=10.0).fit(X, s, propensity=propensity)
    if method == "SAR-e, C=10, fixed point":
        model = KnownPropensityClassifier(C=10.0, stop="fixed_point", tol=1e-6)
        return model.fit(X, s, propensity=propensity)
    known = {
        "SAR-EM": SAREMClassifier(columns),
        "SAR-EM, C=10": SAREMClassifier(columns, C=10.0),
        "cross-fit, C=10": CrossFitSARClassifier(columns, C=10.0, random_state=seed),
        "cross-fit": CrossFitSARClassifier(columns, random_state=seed),
    }
    if method not in known:
        names = ["SAR-e, C=10", "SAR-e, C=10, fixed point", *known]
        raise ValueError(f"method is one of {'; '.join(names)}; got {method!r}.")
    return known[method].fit(X, s)
