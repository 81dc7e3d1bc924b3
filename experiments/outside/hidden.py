"""Labelling that follows no column: how sure a positive is, or of which hidden subtype it is.

``score``
    The propensity is logistic in the true class logit, standardised, with the slope ``strength``:
    sure positives are found first, or with a negative slope the doubtful ones.
``subtypes``
    Three subtypes of positives, ``apart`` standard deviations from the negatives in directions of
    their own; of strength 0 all are labelled alike, of 1 one rarely, of 2 one never.

Two fifths of the positives are labelled on average. What a learner does that nobody tells anything:
"score" names the held-out class logit of a first fit as the one column that labelling follows, and
goes without where its slope is not positive; "clusters" names the clusters of the labelled rows;
"by cluster" is ``LearnerPrior(by_subtype=True)``, which fits each cluster beside the unlabelled and
adds up, as PULSNAR does; "told" is given the true logit or the true subtype, and names it.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.model_selection import cross_val_predict

from sarlearn import SARClassifier
from sarlearn.priors.learner import subtypes

from ..harness.cells import Fields, seed_from
from ..learner.cases import Case
from ..learner.cells import judge
from .labelling import intercept
from .pulsnar import ESTIMATORS, estimated

N_ROWS, N_COLUMNS, FREQUENCY = 2_000, 6, 0.4
CLASS_PRIOR = 0.35
# Label frequencies of the three subtypes by strength.
OF_SUBTYPES = {0: (0.4, 0.4, 0.4), 1: (0.75, 0.35, 0.1), 2: (0.8, 0.4, 0.0)}


def cells(settings: Fields) -> Iterator[Fields]:
    """Settings: ``score``, ``subtypes`` (lists of table and strength), ``seeds``, ``learners``."""
    names = ("seed", "follows", "table", "strength", "learner")
    for seed, follows in product(settings["seeds"], ("score", "subtypes")):
        for (table, strength), learner in product(settings[follows], settings["learners"]):
            yield dict(zip(names, (seed, follows, table, strength, learner), strict=True))


def measure(seed: int, follows: str, table: str, strength: float, learner: str) -> dict[str, Any]:
    """What a learner takes for the class prior, and the truth."""
    rng = np.random.default_rng(seed_from("hidden", seed, follows, table, strength))
    given, truth = (by_score if follows == "score" else by_subtype)(table, strength, rng)
    if learner in ESTIMATORS or learner in ("none", "auto"):
        return estimated(learner, given, seed)
    added = truth if learner == "told" else ADDED[learner](given)
    return judge(with_columns(added), given._replace(X=np.column_stack([given.X, added])))


def with_columns(added: np.ndarray) -> SARClassifier:
    """Labelling follows the columns that were added, and the class the others."""
    last = range(N_COLUMNS, N_COLUMNS + added.shape[1])
    return SARClassifier(list(last), classifier_features=list(range(N_COLUMNS)), random_state=0)


def held_out_score(given: Case) -> np.ndarray:
    """The class logit of a fit that takes labels as random; no column where e falls with it."""
    plain = SARClassifier((), random_state=0)
    p = cross_val_predict(plain, given.X, given.s, cv=3, method="predict_proba")[:, 1]
    score = logit(np.clip(p, 1e-4, 1 - 1e-4))[:, None]
    model = with_columns(score).fit(np.column_stack([given.X, score]), given.s)
    return score if model.propensity_coef_[0, 0] > 0 else score[:, :0]


def memberships(given: Case) -> np.ndarray:
    """The cluster that each row is nearest to, as columns of 0 and 1 but for one."""
    of_labelled = subtypes(given.X[given.s])
    kinds = np.unique(of_labelled)
    centres = np.array([given.X[given.s][of_labelled == k].mean(axis=0) for k in kinds])
    squares = ((given.X[:, None, :] - centres) ** 2).sum(axis=2)
    return np.eye(len(kinds))[squares.argmin(axis=1)][:, 1:]


ADDED = {"score": held_out_score, "clusters": memberships}


def by_score(table: str, strength: float, rng) -> tuple[Case, np.ndarray]:
    """Rows whose propensity follows the class logit, and that logit."""
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    g = {
        "linear": X @ rng.normal(0, 1.2, N_COLUMNS) - 0.5,
        "weak": X @ rng.normal(0, 0.5, N_COLUMNS) - 0.5,
        "steps": 4.0 * (X[:, 0] > 0.3) + 3.0 * (X[:, 1] > -0.2) - 4.0,
        "bent": 2 * X[:, 0] + 2 * X[:, 1] ** 2 - 3,
    }[table]
    y = rng.random(N_ROWS) < expit(g)
    direction = strength * (g - g.mean()) / g.std()
    e = expit(direction + intercept(direction[y], FREQUENCY, 1))
    return Case(X, y & (rng.random(N_ROWS) < e), [], y, e), g[:, None]


def by_subtype(table: str, strength: int, rng) -> tuple[Case, np.ndarray]:
    """Rows whose propensity follows a hidden subtype, and the nearest subtype of each row."""
    apart = {"near": 2.0, "far": 4.0, "nearer": 1.5, "farther": 3.0}[table]
    centres = apart * np.eye(3, N_COLUMNS)
    y = rng.random(N_ROWS) < CLASS_PRIOR
    subtype = rng.integers(3, size=N_ROWS)
    X = rng.normal(size=(N_ROWS, N_COLUMNS)) + y[:, None] * centres[subtype]
    e = np.array(OF_SUBTYPES[strength])[subtype]
    nearest = ((X[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    truth = np.eye(3)[np.where(y, subtype, nearest)][:, 1:]
    return Case(X, y & (rng.random(N_ROWS) < e), [], y, e), truth
