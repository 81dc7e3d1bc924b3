"""Look into a fitted model, and ask whether to trust it: plots, tests, intervals, sensitivity."""

from sarlearn.inspection._bootstrap import BootstrapResult, bootstrap
from sarlearn.inspection._drivers import unnamed_drivers
from sarlearn.inspection._goodness import (
    GoodnessOfFit,
    GoodnessOfFitDisplay,
    goodness_of_fit,
)
from sarlearn.inspection._history import HistoryTestResult, history_test
from sarlearn.inspection._relative import RelativePrevalence, relative_prevalence
from sarlearn.inspection._scar_test import SCARTestResult, scar_test
from sarlearn.inspection._selection import (
    PropensitySelection,
    SelectionStep,
    select_propensity_features,
)
from sarlearn.inspection._sensitivity import (
    ScaledPropensity,
    SensitivityResult,
    sensitivity,
)
from sarlearn.inspection.displays import (
    ColumnImportance,
    PosteriorDisplay,
    ProbabilityDisplay,
    PropensityDisplay,
    column_importance,
)

__all__ = [
    "BootstrapResult",
    "ColumnImportance",
    "GoodnessOfFit",
    "GoodnessOfFitDisplay",
    "HistoryTestResult",
    "PosteriorDisplay",
    "ProbabilityDisplay",
    "PropensityDisplay",
    "PropensitySelection",
    "RelativePrevalence",
    "SCARTestResult",
    "ScaledPropensity",
    "SelectionStep",
    "SensitivityResult",
    "bootstrap",
    "column_importance",
    "goodness_of_fit",
    "history_test",
    "relative_prevalence",
    "scar_test",
    "select_propensity_features",
    "sensitivity",
    "unnamed_drivers",
]
