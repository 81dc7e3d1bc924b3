"""The learners as scikit-learn classifiers."""

from sarlearn.classifiers.boosted import BoostedSARClassifier
from sarlearn.classifiers.crossfit import CrossFitSARClassifier
from sarlearn.classifiers.known import KnownPropensityClassifier
from sarlearn.classifiers.multiscar import MultiSCARClassifier
from sarlearn.classifiers.repeated import RepeatedSARClassifier
from sarlearn.classifiers.sar import SARClassifier
from sarlearn.classifiers.sarem import SAREMClassifier
from sarlearn.classifiers.scar import SCARClassifier

__all__ = [
    "BoostedSARClassifier",
    "CrossFitSARClassifier",
    "KnownPropensityClassifier",
    "MultiSCARClassifier",
    "RepeatedSARClassifier",
    "SARClassifier",
    "SAREMClassifier",
    "SCARClassifier",
]
