"""A table and a fit that tests of the learner share."""

import warnings

import pytest

from sar_data import made
from sarlearn import SARClassifier


@pytest.fixture(scope="session")
def data():
    return made()


@pytest.fixture(scope="session")
def model(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SARClassifier([0]).fit(data.X, data.s)
