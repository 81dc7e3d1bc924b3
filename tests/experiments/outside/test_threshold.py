"""Another study's learner keeps its defining formulas."""

import numpy as np
import pytest
from experiments.outside.threshold import (
    ThresholdClassifier,
    candidate_range,
    shared_information,
    threshold,
)
from scipy.special import logit
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import LogisticRegression

from conftest import make_pu


def test_threshold_shifts_the_naive_logit():
    data = make_pu(600)
    model = ThresholdClassifier().fit(data.X, data.s)
    z = LogisticRegression().fit(data.X, data.s).decision_function(data.X)
    found = logit(model.predict_proba(data.X)[:, 1])
    np.testing.assert_allclose(found, z - model.threshold_, atol=1e-3)
    assert z[~data.s].min() < model.threshold_ < z[~data.s].max()


def test_shared_information_is_ross_estimate():
    """Against scikit-learn's, which differs by a constant (and by noise of 1e-10)."""
    rng = np.random.default_rng(0)
    z = np.sort(np.concatenate([rng.normal(size=80), 4 + rng.normal(size=120)]))
    thresholds = [-0.5, 1.0, 2.2, 4.0, 5.0]
    ours = [shared_information(z, t, 3) for t in thresholds]
    theirs = [
        mutual_info_classif(z[:, None], z > t, n_neighbors=3, random_state=0)[0] for t in thresholds
    ]
    assert np.ptp(np.subtract(ours, theirs)) < 1e-9
    assert np.isnan(shared_information(z, z[1], 3))  # too few rows on one side
    assert np.isnan(shared_information(z, z[-2], 3))


@pytest.mark.parametrize("n_rows", [50, 400, 5000])
def test_candidates_hold_the_best_threshold(n_rows):
    rng = np.random.default_rng(n_rows)
    z = np.sort(np.concatenate([rng.normal(size=n_rows // 2), 5 + rng.normal(size=n_rows // 2)]))
    low, high = candidate_range(n_rows, 3)
    assert 0 <= low < n_rows / 2 < high <= n_rows - 1
    between = (z[4:-5] + z[5:-4]) / 2
    best = between[np.nanargmax([shared_information(z, t, 3) for t in between])]
    assert z[low] <= best <= z[high]


def test_threshold_without_enough_rows_is_the_median():
    z = np.array([-3.0, -1.0, -2.0, -5.0])
    assert threshold(z) == pytest.approx(-2.5)
    assert candidate_range(3, 3) == (0, 2)
    assert threshold(-z) == 0  # there are at least as many positives as labels
