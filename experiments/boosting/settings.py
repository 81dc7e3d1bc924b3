"""Which settings? One fit with some of them, on cells to choose by."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
from sklearn.metrics import roc_auc_score

from sarlearn import BoostedSARClassifier
from sarlearn._engine.known_prior import PseudoCounts
from sarlearn.classifiers import _boosting, boosted
from sarlearn.classifiers._trust import no_second_look

from ..harness.cells import Fields
from .data import Cell, make


def cells(settings: Fields) -> Iterator[Fields]:
    """Settings innermost, so that a cell's rows are made once."""
    for repeat, mechanism, dataset, (of_each_class, labelled, ridge) in product(
        settings["repeats"], settings["mechanisms"], settings["datasets"], settings["tried"]
    ):
        yield {
            "phase": settings["phase"],
            "dataset": dataset,
            "mechanism": mechanism,
            "max_rows": settings["max_rows"],
            "repeat": repeat,
            "of_each_class": of_each_class,
            "labelled": labelled,
            "ridge": ridge,
        }


def measure(of_each_class: float, labelled: float, ridge: float, **fields) -> dict[str, Any]:
    """Errors of class prior and propensity, and the AUC on other rows."""
    cell = make(attributes="true", **fields)
    pseudo_counts = PseudoCounts(float(of_each_class), float(labelled))

    def settings(model, prior):
        return replace(_boosting.boosting_settings(model, prior), pseudo_counts=pseudo_counts)

    model = BoostedSARClassifier(cell.columns, propensity_ridge=ridge, random_state=0)
    with mock.patch.object(boosted, "boosting_settings", settings), no_second_look():
        model.fit(cell.X, cell.s)
    return {"n_labelled": int(cell.s.sum()), **errors(model, cell)}


def errors(model: BoostedSARClassifier, cell: Cell) -> dict[str, float]:
    e = model.predict_propensity(cell.X_test)
    return {
        "prior_error": float(model.class_prior_ - cell.y.mean()),
        "propensity_error": float(np.abs(e - cell.e_test)[cell.y_test].mean()),
        "auc": float(roc_auc_score(cell.y_test, model.decision_function(cell.X_test))),
    }
