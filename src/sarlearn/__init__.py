"""Learning from positive and unlabelled data when the labelled positives are a biased sample."""

from sarlearn.classifiers import (
    KnownPropensityClassifier,
    MultiSCARClassifier,
    SAREMClassifier,
)

__version__ = "0.1.0"

__all__ = ["KnownPropensityClassifier", "MultiSCARClassifier", "SAREMClassifier"]
