"""The same as ``parameter_cases.py``, for functions and for what is not fitted."""

import copy
from functools import cache

import numpy as np
import pandas as pd
from scipy.special import expit

from parameter_cases import (
    AUDITED,
    CHANCES,
    PROBABILITY,
    ROUND,
    VISITS,
    WEIGHT,
    Case,
    E,
    N,
    S,
    X,
    Y,
)
from sarlearn import (
    RepeatedSARClassifier,
    SAREMClassifier,
    TableEncoder,
    audit,
    datasets,
    inspection,
    labelling,
    metrics,
    priors,
)

FITTED = SAREMClassifier([0])
REPEATED = RepeatedSARClassifier([1])
TABLE = pd.DataFrame(X, columns=["region", "age", "wage", "height"])
TABLE["region"] = np.repeat(["north", "east", "south", "west", "else"], [100, 60, 20, 8, 2])
TABLE["wage"] = np.exp(3 * X[:, 2])
TABLE["visit"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(N) % 90, "D")
GROUP = np.where(X[:, 1] > 0, "upper", "lower")
FEATURES = {"features": [0, 1]}


@cache
def _fit(which: str):
    if which == "one label":
        return copy.copy(FITTED).fit(X, S)
    return copy.copy(REPEATED).fit(X, VISITS, CHANCES)


def about(function):
    """The function, called with a model that is fitted when first needed."""

    def call(**settings):
        which = "repeated" if function is inspection.history_test else "one label"
        return function(_fit(which), **settings)

    call.__name__, call.wrapped = function.__name__, function
    return call


def propensities(kind):
    def call(**settings):
        return kind(**settings)(X)

    call.__name__, call.wrapped = kind.__name__, kind
    return call


def drawn(function):
    def call(**settings):
        found = function(**settings)
        return found.frame.to_csv(), found.propensity

    call.__name__, call.wrapped = function.__name__, function
    return call


def encode(**settings):
    encoder = TableEncoder(**settings)
    return [encoder.fit_transform(TABLE), list(encoder.get_feature_names_out())]


encode.__name__, encode.wrapped = "TableEncoder", TableEncoder


ROWS = {"X": X, "s": S}
# Labelling depends on two columns, and plainly.
_RNG = np.random.default_rng(0)
MANY = _RNG.standard_normal((1200, 4))
_POSITIVE = _RNG.random(1200) < expit(3 * MANY[:, 0])
DRIVEN = {"X": MANY, "s": _POSITIVE & (_RNG.random(1200) < expit(2 * MANY[:, 2] + MANY[:, 3]))}
OF_COLUMNS = {"min_rows": [2, 30], "terms": [True], "words": [["age"]]}
OF_COLUMNS |= {"drop": [["visit", "wage"], ["visit", "height"]]}
INSPECTION = [
    Case(
        inspection.scar_test,
        ROWS | {"propensity_features": [0], "n_draws": 19, "random_state": 0},
        {
            "n_draws": [20, 25],
            "C": [0.1, 1.0],
            "flexible": [True],
            "groups": [np.arange(N) // 3, np.arange(N) // 5],
            "random_state": [1, 2],
        },
        {"groups": {"flexible": True}},
    ),
    Case(
        inspection.select_propensity_features,
        ROWS | {"random_state": 0},
        {
            "candidates": [[0, 1], [1, 2]],
            "groups": [np.arange(N) // 3, np.arange(N) // 5],
            "random_state": [1, 2],
        },
    ),
    Case(
        about(inspection.sensitivity),
        ROWS,
        {"factors": [(0.5, 1.1), (0.9, 1.3)]},
    ),
    Case(
        about(inspection.bootstrap),
        ROWS | {"n_resamples": 20, "random_state": 0},
        {
            "n_resamples": [21, 25],
            "rows": [X[:3], X[:4]],
            "groups": [np.arange(N) // 3, np.arange(N) // 5],
            "random_state": [1, 2],
        },
    ),
    Case(
        about(inspection.goodness_of_fit),
        ROWS,
        {"n_bins": [4, 6], "groups": [np.asarray(S), np.asarray(S) * (1 + np.arange(N) % 3)]},
    ),
    Case(
        about(inspection.relative_prevalence),
        ROWS | {"by": GROUP},
        {"by": [1, 2], "reference": ["upper", "lower"], "level": [0.8, 0.9]},
    ),
    Case(
        about(inspection.history_test),
        {"X": X, "s": VISITS, "chances": CHANCES, "n_draws": 19, "random_state": 0},
        {"n_draws": [20, 25], "random_state": [1, 2], "chances": [-CHANCES]},
    ),
    Case(
        lambda **settings: [row.class_prior for row in priors.compare_priors(**settings).rows],
        ROWS | {"estimators": ["EN", "BBE"], "random_state": 0},
        {
            "estimators": [["EN"], ["BBE", "DEDPUL"]],
            "single_sample": [False],
            "groups": [np.arange(N) // 3, np.arange(N) // 5],
            "random_state": [1, 2],
        },
    ),
]
INSPECTION[-1].call.__name__ = "compare_priors"
INSPECTION[-1].call.wrapped = priors.compare_priors

LABELLING = [
    Case(propensities(labelling.ConstantLabelling), {"label_frequency": 0.4}),
    Case(
        propensities(labelling.LogisticLabelling),
        FEATURES,
        {"coef": [2.0, [1.0, -1.0]], "intercept": [-1.0, 1.0]},
    ),
    Case(
        propensities(labelling.ProductLabelling),
        {"features": [0]},
        {"high": [0.8, 1.0], "low": [0.1, 0.3]},
    ),
    Case(drawn(datasets.make_patients), {}, {"n_rows": [10, 20], "random_state": [0, 1]}),
    Case(
        labelling.label,
        {"X": X, "y": Y, "mechanism": labelling.ConstantLabelling(0.5), "random_state": 0},
        {"random_state": [1, 2]},
    ),
]

WEIGHTS = {"sample_weight": [WEIGHT]}
TRUE = {"y_true": Y, "y_prob": E}
METRICS = [
    Case(
        metrics.ipw_score,
        {"s": S, "y_pred": X[:, 1] > 0, "propensity": E},
        {"metric": ["accuracy", "precision", "recall", "brier", "roc_auc"]},
    ),
    Case(
        metrics.ipw_scores,
        {"s": S, "y_prob": E, "propensity": E},
        {"threshold": [0.3, 0.7]},
    ),
    Case(metrics.probabilistic_f1_score, TRUE, WEIGHTS),
    Case(metrics.propensity_accuracy_score, {"y_true": Y, "s": S, "propensity": E}, WEIGHTS),
    Case(
        audit.class_prior_from_audit,
        {"s": S, "audited": AUDITED, "audit_probability": PROBABILITY},
        WEIGHTS | {"audit_round": [ROUND], "level": [0.8, 0.9]},
    ),
    Case(
        about(audit.suggest_audit),
        ROWS | {"random_state": 0},
        {
            "n": [10, 20],
            "audited": [AUDITED],
            "audit_probability": [PROBABILITY],
            "audit_round": [ROUND],
            "random_state": [1, 2],
        },
        {
            "audit_probability": {"audited": AUDITED},
            "audit_round": {"audited": AUDITED, "audit_probability": PROBABILITY},
        },
    ),
]

COLUMNS = [
    Case(encode, {"drop": ["visit"]}, OF_COLUMNS),
]
TOOLS = [*INSPECTION, *LABELLING, *METRICS, *COLUMNS]
