"""Scores of classifiers and propensities, with the truth and (``ipw_*``) without it.

Shared words: ``y_true`` the true classes (two values, the greater is positive), ``y_prob`` the
predicted ``P(y=1|x)``, ``s`` the observed labels, ``propensity`` the predicted ``P(s=1|y=1,x)``.
"""

from sarlearn.metrics.inverse_propensity import ipw_score, ipw_scorer, ipw_scores
from sarlearn.metrics.true_class import probabilistic_f1_score, propensity_accuracy_score

__all__ = [
    "ipw_score",
    "ipw_scorer",
    "ipw_scores",
    "probabilistic_f1_score",
    "propensity_accuracy_score",
]
