"""The learners as scikit-learn classifiers."""

from sarlearn.classifiers.known import KnownPropensityClassifier
from sarlearn.classifiers.multiscar import MultiSCARClassifier
from sarlearn.classifiers.repeated import RepeatedSARClassifier
from sarlearn.classifiers.sar import SARClassifier
from sarlearn.classifiers.sarem import SAREMClassifier
from sarlearn.classifiers.scar import SCARClassifier

__all__ = [
    "KnownPropensityClassifier",
    "MultiSCARClassifier",
    "RepeatedSARClassifier",
    "SARClassifier",
    "SAREMClassifier",
    "SCARClassifier",
]
