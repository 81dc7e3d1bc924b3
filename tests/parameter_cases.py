"""For every public estimator and function: a small problem, and values of each parameter.

The results of the values of one parameter, and of the case without it, must all differ.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB

from sarlearn import (
    KnownPropensityClassifier,
    MultiSCARClassifier,
    RepeatedSARClassifier,
    SARClassifier,
    SAREMClassifier,
    SCARClassifier,
    priors,
)

N = 190  # below 200 rows learners take no second look, which would take most of the time
RNG = np.random.default_rng(5)
X = RNG.standard_normal((N, 4))
X[:, 0] = X[:, 0] > 0
Y = RNG.random(N) < expit(X @ [0.5, 1.5, -1.5, 1.0])
E = expit(X[:, 0] - 0.5 + 0.5 * X[:, 1])
S = Y & (RNG.random(N) < E)
WEIGHT = RNG.uniform(0.5, 2.0, N)
# Half of the unlabelled rows, and every third of those, have been looked at.
AUDITED = np.where(~S & (np.arange(N) % 3 == 0), Y, np.nan).astype(float)
PROBABILITY = np.where(np.isnan(AUDITED), np.nan, np.where(X[:, 1] > 0, 0.5, 0.25))
ROUND = np.where(np.isnan(AUDITED), np.nan, np.arange(N) % 2 + 1.0)
WORDS = np.where(S, 1, 2)  # without pos_label the greater value is taken, with a warning
VISITS = Y[:, None] & (RNG.random((N, 3)) < expit(X[:, [1]] + RNG.standard_normal((N, 3))))
CHANCES = RNG.standard_normal((N, 3, 1))


NOISE = RNG.standard_normal((N, 4))


@dataclass(eq=False)
class Case:
    """A callable, the settings of its small problem, and other values of its parameters."""

    call: Callable
    base: dict[str, Any]
    changes: dict[str, list[Any]] = field(default_factory=dict)
    #: Settings beside which a parameter has its effect.
    beside: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: What tells it from another case of the same callable.
    of: str = ""


EM = {"C": [0.1, 5.0], "stop": ["fixed_point"], "window": [3, 6], "tol": [1e-2, 1e-3]}
EM |= {"max_iter": [2, 5]}
FEW = {"max_iter": {"stop": "fixed_point"}}
ON_AUDITS = {
    "audited": [AUDITED, np.where(X[:, 2] > 0, AUDITED, np.nan)],
    "audit_probability": [PROBABILITY, np.where(X[:, 1] > 0, 0.3, 0.4) + 0 * AUDITED],
    "audit_round": [ROUND],
}
BESIDE_AUDITS = {
    "audit_probability": {"audited": AUDITED},
    "audit_round": {"audited": AUDITED, "audit_probability": PROBABILITY},
}
KNOWN_PRIOR = [0.4, (0.31, 0.33), {"mean": 0.6, "standard_error": 0.02}]
COLUMNS = [[0, 1], [1], "all"]
POS_LABEL = {"pos_label": [1, 2]}
AS_WORDS = {"pos_label": {"y": WORDS}}
SCORES = {"scorer": [GaussianNB(var_smoothing=0.3)], "cv": [3, 4, KFold(3)]}
GROUPS = [np.arange(N) // 2, np.arange(N) // 3]
SCORES |= {"single_sample": [False], "random_state": [1, 2], "groups": GROUPS}

SMALL = {"max_iter": 8, "n_runs": 1, "cv": 2}

LEARNERS = [
    Case(
        SAREMClassifier,
        {"propensity_features": [0], "X": X, "y": S},
        EM
        | ON_AUDITS
        | POS_LABEL
        | {
            "propensity_features": COLUMNS,
            "classifier_features": [[0, 1, 2], [1, 2]],
            "decay": [1.0, 0.7, 0.5],
            "propensity_C": [0.01, 0.1],
            "single_sample": [False],
            "classifier": [GaussianNB()],
            "propensity_estimator": [GaussianNB()],
            "sample_weight": [WEIGHT],
        },
        BESIDE_AUDITS | AS_WORDS,
    ),
    Case(
        KnownPropensityClassifier,
        {"X": X, "y": S, "propensity": E},
        EM
        | ON_AUDITS
        | POS_LABEL
        | {
            "method": ["weighting"],
            "propensity": [0.3, 0.6, np.minimum(1.2 * E, 1.0)],
            "classifier": [GaussianNB()],
            "sample_weight": [WEIGHT],
        },
        BESIDE_AUDITS | AS_WORDS,
    ),
    Case(
        KnownPropensityClassifier,
        {"X": X, "y": S, "propensity": 0.9, "method": "weighting"},
        {"C": [0.1, 5.0], "tol": [1.0], "max_iter": [1, 2], "sample_weight": [WEIGHT]},
        of="weighting",
    ),
    Case(
        SCARClassifier,
        {"X": X, "y": S, "random_state": 0},
        EM
        | POS_LABEL
        | {
            "prior_estimator": [
                priors.LearnerPrior(SAREMClassifier()),
                priors.DEDPUL(random_state=0),
            ],
            "method": ["weighting"],
            "classifier": [GaussianNB()],
            "random_state": [1, 2],
            "sample_weight": [WEIGHT],
        },
        AS_WORDS,
    ),
    Case(
        MultiSCARClassifier,
        {"X": X.round(), "y": S, "propensity_features": [0]},
        EM
        | POS_LABEL
        | {
            "propensity_features": [[1], [2]],
            "decay": [1.0, 0.7, 0.5],
            "sample_weight": [WEIGHT],
        },
        AS_WORDS,
    ),
    Case(
        RepeatedSARClassifier,
        {"X": X, "y": VISITS, "chances": CHANCES, "propensity_features": [1]},
        {
            "propensity_features": [[0, 1], [2]],
            "classifier_features": [[0, 1], [0, 1, 3]],
            "C": [0.1, 5.0],
            "propensity_C": [0.1, 5.0],
            "tol": [1e-1, 1e-3],
            "max_iter": [1, 2],
            "chances": [None, -(CHANCES**2)],
            "sample_weight": [WEIGHT],
            "audited": [np.where(VISITS.any(axis=1), np.nan, AUDITED)],
        },
    ),
    Case(
        SARClassifier,
        {"propensity_features": [0], "X": X, "y": S, "max_iter": 30},
        ON_AUDITS
        | POS_LABEL
        | {
            "propensity_features": [[0, 1], [1]],
            "classifier_features": [[1, 2], [0, 2]],
            "class_models": [("linear",), ("trees",), ("linear", GaussianNB())],
            "class_prior": KNOWN_PRIOR,
            "pseudo_counts": [0.0, 20.0],
            "n_folds": [3, 4],
            "n_runs": [2, 3],
            "max_iter": [1, 10],
            "categorical_features": [[1], [2]],
            "single_sample": [False],
            "random_state": [1, 2],
            "sample_weight": [WEIGHT],
            "groups": GROUPS,
        },
        BESIDE_AUDITS | AS_WORDS | {"categorical_features": {"X": np.abs(X.round())}},
    ),
]

ROWS = {"X": X, "y": S}
SEEDED = ROWS | {"random_state": 0}
PRIORS = [
    Case(priors.DEDPUL, SEEDED, SCORES),
    Case(
        priors.AlphaMax,
        SEEDED | {"random_state": 3},
        SCORES | {"cv": [4, KFold(3)], "random_state": [1, 4]},
    ),
    Case(priors.AlphaMaxN, SEEDED, SCORES | {"cv": [4, KFold(3)]}),
    Case(
        priors.BestBinEstimator,
        SEEDED | {"random_state": 2},
        SCORES | {"random_state": [0, 1], "sample_weight": [WEIGHT]},
    ),
    Case(priors.ElkanNoto, SEEDED, SCORES),
    Case(
        priors.KernelMean,
        SEEDED,
        {
            "variant": ["KM2"],
            "max_rows": [80, 100],
            "single_sample": [False],
            "random_state": [1, 2],
        },
        {"random_state": {"max_rows": 60}},
    ),
    Case(
        priors.PearsonDivergence,
        SEEDED,
        {
            "cv": [3, 4],
            "single_sample": [False],
            "random_state": [1, 2],
            "groups": GROUPS,
        },
        {"cv": {"X": NOISE}, "groups": {"X": NOISE}, "random_state": {"X": NOISE}},
    ),
    Case(
        priors.PenalizedL1,
        SEEDED,
        {
            "cv": [3, KFold(4)],
            "single_sample": [False],
            "random_state": [1, 2],
            "groups": GROUPS,
        },
    ),
    Case(
        priors.TIcE,
        SEEDED | {"random_state": 1},
        {
            "bounds_from": ["tree_fold"],
            "cv": [3, 4],
            "single_sample": [False],
            "random_state": [0, 2],
            "groups": GROUPS,
        },
    ),
    Case(
        priors.LearnerPrior,
        ROWS | {"learner": SAREMClassifier([0])},
        {
            "learner": [SAREMClassifier([1]), SCARClassifier(random_state=0)],
            "single_sample": [False],
            "by_subtype": [True],
            "groups": GROUPS,
        },
        {"groups": {"learner": None}},
    ),
]
