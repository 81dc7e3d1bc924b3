"""Look into a fitted model, and ask whether to trust it: plots, tests, intervals, sensitivity."""

from sarlearn.inspection._bootstrap import bootstrap
from sarlearn.inspection._goodness import goodness_of_fit
from sarlearn.inspection._history import history_test
from sarlearn.inspection._relative import relative_prevalence
from sarlearn.inspection._scar_test import scar_test
from sarlearn.inspection._selection import select_propensity_features
from sarlearn.inspection._sensitivity import sensitivity
from sarlearn.inspection.displays import ProbabilityDisplay, PropensityDisplay

__all__ = [
    "ProbabilityDisplay",
    "PropensityDisplay",
    "bootstrap",
    "goodness_of_fit",
    "history_test",
    "relative_prevalence",
    "scar_test",
    "select_propensity_features",
    "sensitivity",
]
