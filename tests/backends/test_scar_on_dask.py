"""SCARClassifier on Dask and in memory: the same where the prior estimator takes no folds."""

import numpy as np
import pytest

from conftest import make_pu
from sarlearn import SCARClassifier
from sarlearn.priors import SAREMPrior

da = pytest.importorskip("dask.array")


@pytest.fixture(scope="module")
def data():
    return make_pu(2000, 3)


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
def test_a_prior_without_folds_gives_the_same_coefficients(data):
    lazy = da.from_array(data.X, chunks=(700, -1)), da.from_array(data.s, chunks=700)
    here = SCARClassifier(SAREMPrior()).fit(data.X, data.s)
    there = SCARClassifier(SAREMPrior()).fit(*lazy)
    assert there.label_frequency_ == pytest.approx(here.label_frequency_, rel=1e-8)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-8)


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
def test_the_default_prior_differs_as_other_folds_would(data):
    lazy = da.from_array(data.X, chunks=(700, -1)), da.from_array(data.s, chunks=700)
    there = SCARClassifier(random_state=0).fit(*lazy)
    here = [
        SCARClassifier(random_state=seed).fit(data.X, data.s).label_frequency_ for seed in range(8)
    ]
    spread = max(here) - min(here)
    assert spread > 0
    assert min(here) - 3 * spread <= there.label_frequency_ <= max(here) + 3 * spread
    # What is learned under the label frequency found is the same.
    assert there.class_prior_ == pytest.approx(data.s.mean() / there.label_frequency_)
