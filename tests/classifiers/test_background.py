"""Presence and background: labelled rows and a background of all rows, collected apart."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from sarlearn import SARClassifier, SAREMClassifier
from sarlearn.inspection import relative_prevalence


def presence(n_background, seed=0):
    """500 labelled positives, and a background of the whole population, collected apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200_000, 4))
    f = expit(2 * X[:, 0] + X[:, 1] - 2)
    y = rng.random(len(X)) < f
    labelled = np.flatnonzero(y & (rng.random(len(X)) < expit(X[:, 2] - 0.5)))
    rows = np.concatenate([rng.permutation(labelled)[:500], rng.permutation(len(X))[:n_background]])
    return X[rows], np.arange(len(rows)) < 500, y[rows], f[rows]


@pytest.mark.parametrize("learner", [SAREMClassifier, SARClassifier], ids=lambda one: one.__name__)
def test_presence_and_background(learner):
    """No class prior; ranking and ratios do not follow the number of background rows."""
    widths = []
    for n_background, seed in ((1000, 0), (1000, 1), (1000, 2), (8000, 0)):
        X, s, y, f = presence(n_background, seed)
        model = learner([2], single_sample=False).fit(X, s)
        assert np.isnan(model.class_prior_)
        assert np.isnan(model.label_frequency_)
        some = ~s
        assert roc_auc_score(y[some], model.predict_proba(X)[some, 1]) > 0.85
        upper = np.where(X[:, 1] > 0, "upper", "lower")
        found = relative_prevalence(model, X, s, upper, reference="lower")
        truth = f[some & (X[:, 1] > 0)].mean() / f[some & (X[:, 1] <= 0)].mean()
        assert found.low[1] < truth < found.high[1]
        widths.append(found.high[1] / found.low[1])
    # Of few rows labels may not tell class from labelling: the interval is wide then, and right.
    assert np.median(widths[:3]) < 4
    assert widths[3] < 4


def test_a_background_given_twice_weighs_as_much():
    """What counts is the ratio to the labelled rows, not the number of background rows."""
    X, s, *_ = presence(1000)
    model = SAREMClassifier([2], single_sample=False, stop="fixed_point")
    once, again = model.fit(X, s).coef_, np.concatenate([np.arange(len(s)), np.flatnonzero(~s)])
    np.testing.assert_allclose(model.fit(X[again], s[again]).coef_, once, rtol=1e-4)
