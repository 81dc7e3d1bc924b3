"""One learner on one labelling."""

import time
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import f1_score, log_loss, roc_auc_score

from sarlearn import BoostedSARClassifier, CrossFitSARClassifier
from sarlearn.exceptions import MisfitWarning, TrustWarning

from ..harness.cells import Fields
from .data import make


def cells(settings: Fields) -> Iterator[Fields]:
    """Repeats outermost, methods innermost: a run that is broken off has seen every data set."""
    for repeat, mechanism, attributes, dataset, method in product(
        range(settings["repeats"]),
        settings["mechanisms"],
        settings["attributes"],
        settings["datasets"],
        settings["methods"],
    ):
        yield {
            "phase": settings["phase"],
            "dataset": dataset,
            "mechanism": mechanism,
            "attributes": attributes,
            "max_rows": settings["max_rows"],
            "repeat": repeat,
            "method": method,
        }


def measure(method: str, **fields) -> dict[str, Any]:
    """Errors on rows that were not labelled; the class prior is that of the training rows."""
    cell = make(**fields)
    about = {"n_rows": len(cell.s), "n_labelled": int(cell.s.sum())}
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = _fit(method, cell)
    seconds = time.process_time() - began
    f = model.predict_proba(cell.X_test)[:, 1]
    found = {
        "cpu_seconds": seconds,
        "prior_error": float(model.class_prior_ - cell.y.mean()),
        "auc": float(roc_auc_score(cell.y_test, f)),
        "log_loss": float(log_loss(cell.y_test, np.clip(f, 1e-6, 1 - 1e-6))),
        "f1": float(f1_score(cell.y_test, f > 0.5, zero_division=0.0)),
        "width": float(model.identification_width_),
        "slope": float(model.slope_),
        "warned": any(isinstance(one.message, TrustWarning) for one in caught),
        "misfit": any(isinstance(one.message, MisfitWarning) for one in caught),
    }
    if method != "boosted, told e":
        e = model.predict_propensity(cell.X_test)
        found["propensity_error"] = float(np.abs(e - cell.e_test)[cell.y_test].mean())
    if method == "boosted":
        found["strength"] = model.propensity_strength_
        found["sure_share"] = model.sure_propensity_share_
        found["run_gap"] = float(np.ptp(model.class_priors_))
        found["rounds"] = model.n_iter_
    return about | found


def _fit(method: str, cell):
    if method == "cross-fit":
        return CrossFitSARClassifier(cell.columns, random_state=0).fit(cell.X, cell.s)
    if method == "boosted":
        return BoostedSARClassifier(cell.columns, random_state=0).fit(cell.X, cell.s)
    return BoostedSARClassifier(random_state=0).fit(cell.X, cell.s, propensity=cell.e)
