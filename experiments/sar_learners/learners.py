"""Learners from biased labels against each other: five ways to label, and wrong attributes.

Mechanisms, with ``z`` a column standardised: ``weak`` and ``along`` are
``e = sigmoid(-0.8 + 1.5 z)`` in the eligible column that says least, or most, about the class;
``against`` turns the latter round; ``rising`` is ``e = 0.05 + 0.75 r^2`` with ``r`` the rank of
``P(y=1|x)`` in [0, 1]; ``scar`` is 0.3 for all. ``three`` is the paper's
``0.9^k 0.5^(3-k)`` in three eligible columns.
"""

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss, f1_score, log_loss, roc_auc_score

from sarlearn import KnownPropensityClassifier, SAREMClassifier, baselines
from sarlearn.classifiers.crossfit import CrossFitSARClassifier
from sarlearn.labelling import ProductLabelling, label
from sarlearn.metrics import (
    class_prior_error,
    probabilistic_f1_score,
    propensity_mean_absolute_error,
)

from ..harness.cells import Fields, seed_from
from ..harness.data import Data, load
from .peers import PEERS, fit_peer

METHODS = [
    "SAR-e",
    "SAR-EM",
    "SAR-EM, C=10",
    "cross-fit",
    "cross-fit, C=10",
    "joint, C=10",
    "weighting",
    "SCAR-EM",
    "TM",
    "PUSB",
    "PGlin",
    "NTC-tMI",
    *PEERS,
]
ATTRIBUTES = ["true", "one missing", "one superfluous", "all", "none"]


def cells(settings: Fields) -> Iterator[Fields]:
    """Repeats outermost, methods innermost.

    Settings: ``datasets``, ``mechanisms``, ``repeats``, ``methods``, ``max_rows``, ``attributes``
    (what the learners are told, some of ATTRIBUTES).
    """
    for repeat, dataset, mechanism, told, method in product(
        range(settings["repeats"]),
        settings["datasets"],
        settings["mechanisms"],
        settings.get("attributes", ["true"]),
        settings["methods"],
    ):
        if told == "one missing" and mechanism != "three":
            continue  # one less than one is none
        yield {
            "dataset": dataset,
            "mechanism": mechanism,
            "max_rows": settings["max_rows"],
            "told": told,
            "repeat": repeat,
            "method": method,
        }


def measure(
    dataset: str, mechanism: str, max_rows: int, told: str, repeat: int, method: str
) -> dict[str, Any]:
    """Draw rows, label them, learn from four fifths, score the rest."""
    data = load(dataset)
    rng = np.random.default_rng(seed_from("sar learners", dataset, mechanism, repeat))
    X, y = data.X, data.y
    if len(y) > max_rows:
        rows = np.sort(rng.choice(len(y), max_rows, replace=False))
        X, y = X[rows], y[rows]
    e, columns = propensity(data, X, y, mechanism, rng)
    s, _ = label(X, y, lambda X: e, random_state=int(rng.integers(2**32)))
    test = rng.random(len(s)) < 0.2
    seed = int(rng.integers(2**32))
    columns = attributes(told, columns, data, rng)  # last: all see the same rows and labels
    began = time.process_time()
    model = fit(method, X[~test], s[~test], e[~test], columns, seed)
    seconds = time.process_time() - began
    p = model.predict_proba(X[test])[:, 1]
    found = {
        "cpu_seconds": seconds,
        "accuracy": accuracy_score(y[test], p > 0.5),
        "f1": probabilistic_f1_score(y[test], p),
        "f1_at_half": f1_score(y[test], p > 0.5, zero_division=0.0),
        "auc": roc_auc_score(y[test], p),
        "log_loss": log_loss(y[test], p),
        "brier": brier_score_loss(y[test], p),
        "prior_error": class_prior_error(y[~test], model.class_prior_),
    }
    if hasattr(model, "predict_propensity"):
        e_hat = model.predict_propensity(X[test])
        found["propensity_error"] = propensity_mean_absolute_error(e[test], e_hat, y_true=y[test])
    return found


def propensity(data: Data, X, y, mechanism: str, rng) -> tuple[np.ndarray, list[int]]:
    """``e`` of every row, and the columns it depends on."""
    if mechanism == "scar":
        return np.full(len(y), 0.3), []
    if mechanism == "rising":
        p = LogisticRegression(max_iter=1000).fit(X, y).predict_proba(X)[:, 1]
        return 0.05 + 0.75 * (rankdata(p) / len(p)) ** 2, list(range(X.shape[1]))
    eligible = [data.names.index(name) for name in data.eligible]
    if mechanism == "three":
        columns = rng.choice(eligible, 3, replace=False).tolist()
        return ProductLabelling(columns)(X), columns
    if mechanism not in ("weak", "along", "against"):
        raise ValueError(
            f"mechanism is weak, along, against, rising, scar or three; got {mechanism!r}."
        )
    Z = X[:, eligible]
    Z = np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z)
    Z = (Z - Z.mean(axis=0)) / np.maximum(Z.std(axis=0), 1e-12)
    relation = Z.T @ (y - y.mean()) / len(y)
    chosen = int((np.argmin if mechanism == "weak" else np.argmax)(np.abs(relation)))
    z = Z[:, chosen] * (1.0 if mechanism == "weak" else np.sign(relation[chosen]))
    return expit(-0.8 + (-1.5 if mechanism == "against" else 1.5) * z), [eligible[chosen]]


def attributes(told: str, columns: list[int], data: Data, rng) -> list[int]:
    """What the learner is told in place of the true columns."""
    if told == "true":
        return columns
    if told == "none":
        return []
    if told == "all":
        return list(range(len(data.names)))
    if told == "one missing":
        return columns[1:]
    others = [data.names.index(name) for name in data.eligible]
    others = [column for column in others if column not in columns]
    return [*columns, int(rng.choice(others))] if others else columns


def fit(method: str, X, s, e, columns, seed: int):
    """The fitted learner of a method's name; only SAR-e is told the propensity."""
    if method in PEERS:
        return fit_peer(method, X, s, columns, seed)
    if method == "SAR-e":
        return KnownPropensityClassifier().fit(X, s, propensity=e)
    if method == "weighting":
        e_hat = SAREMClassifier(columns).fit(X, s).predict_propensity(X)
        return KnownPropensityClassifier("weighting").fit(X, s, propensity=e_hat)
    known = {
        "SAR-EM": SAREMClassifier(columns),
        "SAR-EM, C=10": SAREMClassifier(columns, C=10.0),
        "cross-fit": CrossFitSARClassifier(columns, random_state=seed),
        "cross-fit, C=10": CrossFitSARClassifier(columns, C=10.0, random_state=seed),
        "joint, C=10": SAREMClassifier(columns, decay=1.0, C=10.0, stop="fixed_point"),
        "SCAR-EM": SAREMClassifier(),
        "TM": baselines.TwoModelsClassifier(),
        "PUSB": baselines.PUSBClassifier(),
        "PGlin": baselines.SquareRootPropensityClassifier(),
        "NTC-tMI": baselines.ThresholdClassifier(),
    }
    if method not in known:
        raise ValueError(f"method is one of {'; '.join(METHODS)}; got {method!r}.")
    return known[method].fit(X, s)
