"""Look into a fitted model, and ask whether to trust it: plots, tests, intervals, sensitivity."""

from ._bootstrap import BootstrapResult, bootstrap
from ._identifiability import IdentifiabilityResult, identifiability
from ._scar_test import SCARTestResult, scar_test
from ._selection import PropensitySelection, SelectionStep, select_propensity_features
from ._sensitivity import ScaledPropensity, SensitivityResult, SensitivityRow, sensitivity
from .displays import (
    ConvergenceDisplay,
    LabelCalibrationDisplay,
    PosteriorDisplay,
    PropensityDisplay,
)

__all__ = [
    "BootstrapResult",
    "ConvergenceDisplay",
    "IdentifiabilityResult",
    "LabelCalibrationDisplay",
    "PosteriorDisplay",
    "PropensityDisplay",
    "PropensitySelection",
    "SCARTestResult",
    "ScaledPropensity",
    "SelectionStep",
    "SensitivityResult",
    "SensitivityRow",
    "bootstrap",
    "identifiability",
    "scar_test",
    "select_propensity_features",
    "sensitivity",
]
