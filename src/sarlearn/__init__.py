"""Learning from positive and unlabelled data when the labelled positives are a biased sample."""

from sarlearn.classifiers import KnownPropensityClassifier, SAREMClassifier

__version__ = "0.1.0"

__all__ = ["KnownPropensityClassifier", "SAREMClassifier"]
