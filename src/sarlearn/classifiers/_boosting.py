"""Settings of boosted trees, checked and handed on."""

from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from sarlearn._compat import Interval, StrOptions
from sarlearn._engine.boosting_data import BoostingSettings
from sarlearn._engine.known_prior import KnownPrior, PseudoCounts
from sarlearn._engine.trees import TreeSettings

# Pseudo-count of labelled positives, per positive. With as many, class priors come out too low
# where one positive in ten is labelled; with a quarter, too high elsewhere.
LABELLED_SHARE = 0.5

BOOSTING_CONSTRAINTS: dict = {
    "propensity_features": "no_validation",
    "classifier_features": "no_validation",
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left")],
    "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
    "l2_regularization": [Interval(Real, 0, None, closed="left")],
    "max_bins": [Interval(Integral, 2, 255, closed="both")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "cv": ["cv_object"],
    "n_runs": [Interval(Integral, 1, None, closed="left")],
    "propensity_ridge": [Interval(Real, 0, None, closed="neither")],
    "pseudo_counts": [Interval(Real, 0, None, closed="left")],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), callable, None],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
}


def boosting_settings(model, prior: KnownPrior | None) -> BoostingSettings:
    """What a user has set, but for the folds."""
    trees = TreeSettings(
        learning_rate=float(model.learning_rate),
        max_leaf_nodes=int(model.max_leaf_nodes),
        min_samples_leaf=int(model.min_samples_leaf),
        l2_regularization=float(model.l2_regularization),
        max_bins=int(model.max_bins),
    )
    count = float(model.pseudo_counts)
    return BoostingSettings(
        trees=trees,
        max_iter=int(model.max_iter),
        propensity_ridge=float(model.propensity_ridge),
        pseudo_counts=PseudoCounts(count, LABELLED_SHARE * count),
        n_jobs=effective_n_jobs(model.n_jobs),
        prior=prior,
    )


def refuse_sparse_gaps(X) -> None:
    if sparse.issparse(X) and np.isnan(X.data).any():
        raise ValueError(
            "X is sparse and holds NaN. Missing values are for dense input; X.toarray() makes it."
        )
