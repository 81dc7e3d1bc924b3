"""Ideas to improve the cross-fit, each against what the library does, on the same labels and folds.

``phase`` is part of every seed: "design" for what may guide a choice, "verdict" for what judges it.
Without ``attributes`` labels fall at random (SCAR); with three of them as in the paper.
"""

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, f1_score, log_loss

from sarlearn.labelling import ConstantLabelling, ProductLabelling, label
from sarlearn.metrics import class_prior_error, propensity_mean_absolute_error

from ..harness.cells import Fields, seed_from
from ..harness.data import load
from .variants import FirthLabelModel, cross_fit, entropy_label_model, sar_em


def cells(settings: Fields) -> Iterator[Fields]:
    """Repeats outermost, methods innermost.

    Settings: ``phase``, ``datasets``, ``max_rows`` (numbers), ``repeats``, ``methods``, and
    ``label_frequencies`` or, for three attributes, none.
    """
    for repeat, max_rows, frequency, dataset, method in product(
        range(settings["repeats"]),
        settings["max_rows"],
        settings.get("label_frequencies", [0.0]),
        settings["datasets"],
        settings["methods"],
    ):
        yield {
            "phase": settings["phase"],
            "dataset": dataset,
            "max_rows": max_rows,
            "label_frequency": frequency,
            "repeat": repeat,
            "method": method,
        }


def measure(
    phase: str, dataset: str, max_rows: int, label_frequency: float, repeat: int, method: str
) -> dict[str, Any]:
    """A label frequency of 0 stands for three attributes, with a fifth of the rows held out."""
    data = load(dataset)
    rng = np.random.default_rng(
        seed_from("crossfit ideas", phase, dataset, max_rows, label_frequency, repeat)
    )
    X, y = data.X, data.y
    if len(y) > max_rows:
        rows = np.sort(rng.choice(len(y), max_rows, replace=False))
        X, y = X[rows], y[rows]
    if label_frequency:
        columns, mechanism = [], ConstantLabelling(label_frequency)
        test = np.zeros(len(y), bool)
    else:
        columns = data.columns("+".join(rng.choice(data.eligible, 3, replace=False)))
        mechanism = ProductLabelling(columns)
        test = rng.random(len(y)) < 0.2
    s, e = label(X, y, mechanism, random_state=int(rng.integers(2**32)))
    s, seed = s.astype(bool), int(rng.integers(2**32))
    train = ~test
    began = time.process_time()
    model = fit(method, X[train], s[train], np.asarray(columns, int), seed, bool(test.any()))
    found = {
        "cpu_seconds": time.process_time() - began,
        "prior_error": class_prior_error(y[train], model.class_prior),
    }
    if test.any() and hasattr(model, "class_probability"):
        p, e_hat = model.class_probability(X[test]), model.propensity(X[test])
        found |= {
            "propensity_error": propensity_mean_absolute_error(e[test], e_hat, y_true=y[test]),
            "accuracy": accuracy_score(y[test], p > 0.5),
            "f1_at_half": f1_score(y[test], p > 0.5, zero_division=0.0),
            "log_loss": log_loss(y[test], p),
        }
    return found


def fit(method: str, X, s, columns, seed: int, final: bool):
    """``"SAR-EM"`` or ``"cross-fit"``, then ideas, each after a comma."""
    name, *ideas = method.split(", ")
    start: Fields = {}
    options: Fields = {"final": final}
    for idea in ideas:
        word, _, number = idea.partition(" ")
        if word in ("annealed", "rising"):
            start["decay"] = word
        elif word.startswith("C="):
            start["C"] = float(word[2:])
        elif word == "Firth":
            options["label_model"] = FirthLabelModel
        elif word == "entropy":
            options["label_model"] = entropy_label_model(float(number))
        else:
            raise ValueError(f"No idea is called {idea!r}.")
    first = sar_em(X, s, columns, **start)
    if name == "SAR-EM":
        return first
    return cross_fit(X, s, columns, seed, start=first, **options)
