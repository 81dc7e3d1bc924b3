"""Cross-fitting and the class prior under SCAR: fresh rows, labels and folds for every repeat.

Seeds are derived from the names below, so none was seen while the method was designed.
"""

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier

from sarlearn import SAREMClassifier
from sarlearn.labelling import ConstantLabelling, label
from sarlearn.metrics import class_prior_error
from sarlearn.priors import BestBinEstimator
from sarlearn.priors.crossfit import CrossFitPrior

from ..harness.cells import Fields, seed_from
from ..harness.data import load


def cells(settings: Fields) -> Iterator[Fields]:
    """Repeats outermost, methods innermost: a run cut short has seen all methods alike.

    Settings: ``datasets``, ``label_frequencies``, ``repeats``, ``max_rows`` (0 keeps all rows) and
    ``methods``.
    """
    for repeat, frequency, dataset, method in product(
        range(settings["repeats"]),
        settings["label_frequencies"],
        settings["datasets"],
        settings["methods"],
    ):
        yield {
            "dataset": dataset,
            "max_rows": settings["max_rows"],
            "label_frequency": frequency,
            "repeat": repeat,
            "method": method,
        }


def measure(
    dataset: str, max_rows: int, label_frequency: float, repeat: int, method: str
) -> dict[str, Any]:
    """Draw rows, label with one frequency, estimate the class prior."""
    data = load(dataset)
    X, y = data.X, data.y
    if max_rows and len(y) > max_rows:
        rng = np.random.default_rng(seed_from("crossfit rows", dataset, max_rows, repeat))
        rows = np.sort(rng.choice(len(y), max_rows, replace=False))
        X, y = X[rows], y[rows]
    seed = seed_from("crossfit labels", dataset, max_rows, label_frequency, repeat)
    s, _ = label(X, y, ConstantLabelling(label_frequency), random_state=seed)
    model = learner(method, seed_from("crossfit folds", dataset, label_frequency, repeat))
    if "boosting" in method and sparse.issparse(X):
        X = X.toarray()
    began = time.process_time()
    model.fit(X, s)
    found = {
        "cpu_seconds": time.process_time() - began,
        "class_prior": float(y.mean()),
        "estimate": model.class_prior_,
        "prior_error": class_prior_error(y, model.class_prior_),
        "n_labelled": int(s.sum()),
    }
    if isinstance(model, CrossFitPrior):
        low, high = model.class_prior_range_
        found |= {"low": low, "high": high, "slope": model.slope_}
    return found


def learner(method: str, seed: int):
    """The estimator of a method's name. Columns are in [0, 1] as loaded; nothing scales again."""
    boosting = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=8, early_stopping=False, random_state=0
    )
    known = {
        "SAR-EM": SAREMClassifier(),
        "SAR-EM, C=10": SAREMClassifier(C=10.0),
        "cross-fit": CrossFitPrior(scaling="none", random_state=seed),
        "cross-fit, boosting": CrossFitPrior(
            classifier=boosting, scaling="none", random_state=seed
        ),
        "BBE, boosting": BestBinEstimator(scorer=boosting, random_state=seed),
    }
    if method not in known:
        raise ValueError(f"method is one of {', '.join(known)}; got {method!r}.")
    return known[method]
