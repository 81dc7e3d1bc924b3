"""The paper's learners as scikit-learn classifiers."""

from sarlearn.classifiers._known import KnownPropensityClassifier
from sarlearn.classifiers._multiscar import MultiSCARClassifier
from sarlearn.classifiers._sarem import SAREMClassifier

__all__ = ["KnownPropensityClassifier", "MultiSCARClassifier", "SAREMClassifier"]
