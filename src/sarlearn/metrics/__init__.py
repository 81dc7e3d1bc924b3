"""Scores of classifiers and propensities, with the truth and (``ipw_*``) without it.

Shared words: ``y_true`` the true classes (two values, the greater is positive), ``y_prob`` the
predicted ``P(y=1|x)``, ``s`` the observed labels, ``propensity`` the predicted ``P(s=1|y=1,x)``.
"""

from sarlearn.metrics.inverse_propensity import ipw_score, ipw_scorer, ipw_scores
from sarlearn.metrics.true_class import (
    observed_log_likelihood,
    probabilistic_f1_score,
    probabilistic_precision_score,
    probabilistic_recall_score,
    propensity_accuracy_score,
    propensity_mean_absolute_error,
)

__all__ = [
    "ipw_score",
    "ipw_scorer",
    "ipw_scores",
    "observed_log_likelihood",
    "probabilistic_f1_score",
    "probabilistic_precision_score",
    "probabilistic_recall_score",
    "propensity_accuracy_score",
    "propensity_mean_absolute_error",
]
