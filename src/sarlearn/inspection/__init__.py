"""Look into a fitted model: plots of propensity, posterior, calibration and convergence."""

from .displays import (
    ConvergenceDisplay,
    LabelCalibrationDisplay,
    PosteriorDisplay,
    PropensityDisplay,
)

__all__ = [
    "ConvergenceDisplay",
    "LabelCalibrationDisplay",
    "PosteriorDisplay",
    "PropensityDisplay",
]
