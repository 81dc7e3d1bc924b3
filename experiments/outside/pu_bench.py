"""Our learners under the labellings of PU-Bench (Chen et al., ICLR 2026).

Labelled positives are collected beside all rows of the training part (case-control), a share
``frequency`` of the positives, drawn with weights that follow a logistic regression on the true
classes: "lbe A" and "lbe B" prefer sure and unsure positives, "pusb" takes each with its
probability. Accuracy, F1 and AUC are those of a fifth of the rows, held out. As all methods of the
benchmark are told the class prior, so are the learners that say so.
"""

import time
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from sklearn.model_selection import train_test_split

from experiments.data_sets import load_mushroom, load_spambase
from sarlearn import SARClassifier, SAREMClassifier

from ..harness.cells import Fields, seed_from

POWER = 10
# Of "lbe A": share of the weights that is the same for all.
EVEN = 0.1


@lru_cache(maxsize=2)
def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Dense columns and classes, of Spambase standardised as the benchmark has them."""
    if name == "Spambase":
        X, y = load_spambase()
        return (X - X.mean(axis=0)) / X.std(axis=0), y
    if name == "Mushrooms":
        found = load_mushroom()
        return found.X.toarray() if hasattr(found.X, "toarray") else found.X, found.y == 1
    raise ValueError(f"data_set is Mushrooms or Spambase; got {name!r}.")


def cells(settings: Fields) -> Iterator[Fields]:
    """Settings: ``data_sets``, ``mechanisms``, ``frequencies``, ``seeds``, ``methods``."""
    names = ("seed", "data_set", "mechanism", "frequency", "method")
    for values in product(
        settings["seeds"],
        settings["data_sets"],
        settings["mechanisms"],
        settings["frequencies"],
        settings["methods"],
    ):
        yield dict(zip(names, values, strict=True))


def measure(
    seed: int, data_set: str, mechanism: str, frequency: float, method: str
) -> dict[str, Any]:
    """Split, collect labelled positives, learn, and score the rows held out."""
    X, y = load(data_set)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    rng = np.random.default_rng(seed_from("pu bench", seed, data_set, mechanism, frequency))
    rows = collected(mechanism, frequency, X, y, rng)
    s = np.concatenate([np.ones(len(rows), dtype=bool), np.zeros(len(y), dtype=bool)])
    began = time.process_time()
    model = fit(method, np.concatenate([X[rows], X]), s, X, y)
    seconds = time.process_time() - began
    p = model.predict_proba(X_test)[:, 1]
    return {
        "labels": len(rows),
        "accuracy": accuracy_score(y_test, p > 0.5),
        "f1": f1_score(y_test, p > 0.5, zero_division=0.0),
        "auc": roc_auc_score(y_test, p),
        "prior_error": float(p.mean() - y_test.mean()),
        "cpu_seconds": seconds,
    }


def collected(mechanism: str, frequency: float, X, y, rng) -> np.ndarray:
    """The positives that are labelled, by their place."""
    positives = np.flatnonzero(y)
    wanted = int(len(positives) * frequency)
    plain = LogisticRegression(max_iter=100).fit(X, y)
    p = plain.predict_proba(X[positives])[:, 1]
    if mechanism == "pusb":
        accepted = positives[p / p.max() > rng.random(len(p))]
        return rng.permutation(accepted)[:wanted]
    weights = {
        "random": np.ones(len(p)),
        "lbe A": p**POWER,
        "lbe B": (2.5 - p) ** POWER,
    }[mechanism]
    weights = weights / weights.sum()
    if mechanism == "lbe A":
        weights = (1 - EVEN) * weights + EVEN / len(p)
    return rng.choice(positives, wanted, replace=False, p=weights)


def fit(method: str, X, s, X_all, y):
    """The fitted learner of a name; "supervised" sees the true classes."""
    if method == "supervised":
        return LogisticRegression(max_iter=1000).fit(X_all, y)
    two_samples = {"single_sample": False}
    known = {
        "labels taken for classes": LogisticRegression(max_iter=1000),
        "SAR-EM": SAREMClassifier((), **two_samples),
        "SARClassifier": SARClassifier((), random_state=0, **two_samples),
        "SARClassifier, class prior": SARClassifier(
            class_prior=float(y.mean()), random_state=0, **two_samples
        ),
    }
    return known[method].fit(X, s)
