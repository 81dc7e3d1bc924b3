"""Learners on the data and mechanisms of ECAI 2023 (scenarios) and AISTATS 2025 (strategies).

Labels are drawn in the training rows, three quarters of all, as both studies do. ``told`` is what a
learner is told of the columns that drive labelling: "truth", "all" or "none". The published methods
are told nothing, and give every column to the propensity, which is "all".
"""

import time
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, roc_auc_score
from sklearn.model_selection import train_test_split

from experiments.data_sets import load_adult, load_uci
from sarlearn import SARClassifier, SAREMClassifier

from ..harness.cells import Fields, seed_from
from .labelling import scenario, strategy
from .threshold import ThresholdClassifier

TEST_SHARE = 0.25
# Learners that have no use for the columns that drive labelling.
UNTOLD = ["supervised", "naive", "NTC-tMI"]
TOLD = ["SAR-EM", "SAR-EM, C=10", "SARClassifier"]


@lru_cache(maxsize=4)
def load(name: str):
    """Rows and true classes of a set; in Adult the study's positives are those above 50K."""
    if name == "Adult":
        data = load_adult()
        return data.X, 1 - data.y
    data = load_uci(name)
    return data.X, data.y


def cells(settings: Fields) -> Iterator[Fields]:
    """Repeats outermost, methods innermost.

    Settings: ``datasets``, ``mechanisms`` ("scenario 1" to "scenario 3", "S1" to "S4"), ``levels``
    by mechanism (c or g of a scenario; none is one cell of level 0), ``repeats``, ``labelled_once``
    (data sets that are not repeated), ``methods``, ``told``.
    """
    for repeat, mechanism, dataset in product(
        range(settings["repeats"]), settings["mechanisms"], settings["datasets"]
    ):
        if repeat and dataset in settings.get("labelled_once", ()):
            continue
        levels = settings.get("levels", {}).get(mechanism, [0.0])
        for level, method in product(levels, settings["methods"]):
            for told in settings["told"] if method in TOLD else ["none"]:
                if told == "truth" and mechanism != "scenario 3":
                    continue  # the truth is then all columns, or none
                yield {
                    "dataset": dataset,
                    "mechanism": mechanism,
                    "level": level,
                    "repeat": repeat,
                    "method": method,
                    "told": told,
                }


def measure(
    dataset: str, mechanism: str, level: float, repeat: int, method: str, told: str
) -> dict[str, Any]:
    """Split, label the training rows, learn, and score the rest with the true classes."""
    X, y = load(dataset)
    rng = np.random.default_rng(seed_from("outside", dataset, mechanism, level, repeat))
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=TEST_SHARE, random_state=int(rng.integers(2**32))
    )
    if mechanism.startswith("scenario "):
        e, columns = scenario(int(mechanism.split()[1]), level, X, y, rng)
    else:
        e, columns = strategy(mechanism, X, y), []
    s = draw(y, e, rng)
    seed = int(rng.integers(2**32))
    chosen = {"truth": columns, "all": list(range(X.shape[1])), "none": []}[told]
    began = time.process_time()
    model = fit(method, X, y, s, chosen, seed)
    seconds = time.process_time() - began
    p = model.predict_proba(X_test)[:, 1]
    return {
        "accuracy": accuracy_score(y_test, p > 0.5),
        "balanced_accuracy": balanced_accuracy_score(y_test, p > 0.5),
        "f1_at_half": f1_score(y_test, p > 0.5, zero_division=0.0),
        "auc": roc_auc_score(y_test, p),
        "prior_error": float(getattr(model, "class_prior_", p.mean()) - y.mean()),
        "n_labelled": int(s.sum()),
        "cpu_seconds": seconds,
    }


def draw(y, e, rng) -> np.ndarray:
    """Labels of the positives, drawn anew until there are two at least, as the studies do."""
    for _ in range(1000):
        s = (y == 1) & (rng.random(len(y)) < e)
        if s.sum() >= 2:
            return s.astype(int)
    raise ValueError(f"In 1000 draws no two of {int(y.sum())} positives were labelled.")


def fit(method: str, X, y, s, columns, seed: int):
    """The fitted learner of a name; only "supervised" sees the true class."""
    plain = LogisticRegression(max_iter=1000)
    if method == "supervised":
        return plain.fit(X, y)
    known = {
        "naive": plain,
        "NTC-tMI": ThresholdClassifier(),
        "SAR-EM": SAREMClassifier(columns),
        "SAR-EM, C=10": SAREMClassifier(columns, C=10.0),
        "SARClassifier": SARClassifier(columns, random_state=seed),
    }
    if method not in known:
        raise ValueError(f"method is one of supervised, {', '.join(known)}; got {method!r}.")
    return known[method].fit(X, s)
