"""Every class-prior estimator keeps scikit-learn's contract and the package's own."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from sarlearn.priors import (
    DEDPUL,
    AlphaMax,
    AlphaMaxN,
    BestBinEstimator,
    ElkanNoto,
    KernelMean,
    PearsonDivergence,
    PenalizedL1,
    SAREMPrior,
    TIcE,
)
from sarlearn.scar import SCARClassifier

# Three folds: one of the checks has ten rows, three of them labelled, and fewer labelled rows than
# folds are refused.
ESTIMATORS = [
    ElkanNoto(cv=3),
    PearsonDivergence(cv=3),
    PenalizedL1(cv=3),
    KernelMean("KM1"),
    KernelMean("KM2"),
    AlphaMax(cv=3),
    AlphaMaxN(cv=3),
    TIcE(cv=3),
    DEDPUL(cv=3),
    BestBinEstimator(cv=3),
    SAREMPrior(),
]


@pytest.mark.filterwarnings("ignore:Only .* labelled rows", "ignore:.*at the boundary of its range")
@pytest.mark.filterwarnings("ignore:The (class prior|label frequency) was estimated")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([*ESTIMATORS, SCARClassifier(BestBinEstimator(cv=3))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
