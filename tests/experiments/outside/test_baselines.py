"""Other people's learners keep their defining formulas."""

import numpy as np
import pytest
from experiments.outside.baselines import (
    ThresholdClassifier,
    TwoModelsClassifier,
    candidate_range,
    shared_information,
)
from scipy import sparse
from scipy.special import logit
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import LogisticRegression

from conftest import make_pu

BASELINES = [TwoModelsClassifier(n_iter=3), ThresholdClassifier()]


def naive(X, s):
    """``P(s=1|x)`` by scikit-learn."""
    model = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(X, s)
    return model.predict_proba(X)[:, 1]


def two_models(X, s, n_iter):
    """The published loop, written with scikit-learn and rows stored twice."""
    f_model = LogisticRegression(tol=1e-10, max_iter=1000)
    e_model = LogisticRegression(tol=1e-10, max_iter=1000)
    sx = naive(X, s)
    ex = (sx + 1) / 2
    labelled, unlabelled = np.flatnonzero(s), np.flatnonzero(~s)

    def fit_f():
        odds = (1 - ex) / ex * sx / (1 - sx)
        share = np.clip(odds[unlabelled], 0, 1)
        rows = np.concatenate([labelled, unlabelled, unlabelled])
        target = np.repeat([1, 1, 0], [len(labelled), len(unlabelled), len(unlabelled)])
        f_model.fit(X[rows], target, np.concatenate([np.ones(len(labelled)), share, 1 - share]))
        return f_model.predict_proba(X)[:, 1]

    for _ in range(n_iter):
        f = fit_f()
        chosen = (f > np.quantile(f[s], s.mean())) | s
        e_model.fit(X[chosen], s[chosen])
        ex = np.maximum(e_model.predict_proba(X)[:, 1], sx)
        sx = ex * f
    return fit_f(), e_model.predict_proba(X)[:, 1]


def test_two_models_is_the_published_loop():
    data = make_pu(600)
    model = TwoModelsClassifier(n_iter=20).fit(data.X, data.s)
    f, e = two_models(data.X, data.s, 20)
    np.testing.assert_allclose(model.predict_proba(data.X)[:, 1], f, atol=1e-4)
    np.testing.assert_allclose(model.predict_propensity(data.X), e, atol=1e-4)
    assert model.class_prior_ == pytest.approx(f.mean(), abs=1e-4)
    assert model.label_frequency_ == pytest.approx(data.s.mean() / f.mean(), abs=1e-3)


def test_two_models_with_known_attributes():
    data = make_pu(3000)
    told = TwoModelsClassifier([0, 1]).fit(data.X, data.s)
    assert told.propensity_coef_.shape == (1, 2)
    error = np.abs(told.predict_propensity(data.X) - data.e).mean()
    untold = TwoModelsClassifier().fit(data.X, data.s)
    assert error < np.abs(untold.predict_propensity(data.X) - data.e).mean()
    posterior = told.predict_posterior(data.X, data.s)
    assert (posterior[data.s] == 1).all()


def test_two_models_without_attributes_has_one_propensity():
    data = make_pu(300)
    model = TwoModelsClassifier((), n_iter=2).fit(data.X, data.s)
    assert model.propensity_features_.tolist() == []
    assert np.ptp(model.predict_propensity(data.X)) == 0


def test_threshold_shifts_the_naive_logit():
    data = make_pu(600)
    model = ThresholdClassifier().fit(data.X, data.s)
    z = logit(naive(data.X, data.s))
    np.testing.assert_allclose(model.decision_function(data.X), z - model.threshold_, atol=1e-3)
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


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.DataWarning")
def test_threshold_without_enough_rows_is_the_median():
    X = np.arange(12.0)[:, None]
    s = np.arange(12) >= 6
    model = ThresholdClassifier(n_neighbors=3).fit(X, s)
    z = X[~s] @ model.coef_[0] + model.intercept_
    assert model.threshold_ == pytest.approx(np.median(z))
    assert candidate_range(3, 3) == (0, 2)


@pytest.mark.parametrize("model", BASELINES, ids=lambda model: type(model).__name__)
def test_sparse_is_dense(model):
    data = make_pu(300, discrete=True)
    dense = model.fit(data.X, data.s).predict_proba(data.X)
    thin = sparse.csr_array(data.X)
    np.testing.assert_allclose(model.fit(thin, data.s).predict_proba(thin), dense, atol=1e-5)


@pytest.mark.parametrize("model", BASELINES, ids=lambda model: type(model).__name__)
def test_a_column_far_from_zero_changes_nothing(model):
    data = make_pu(600)
    near = model.fit(data.X, data.s)
    f, prior = near.predict_proba(data.X)[:, 1], near.class_prior_
    X = data.X + np.array([2_460_000.0, 0, -1e7, 0, 0, 0])
    far = model.fit(X, data.s)
    np.testing.assert_allclose(far.predict_proba(X)[:, 1], f, atol=1e-4)
    assert far.class_prior_ == pytest.approx(prior, abs=1e-4)


def test_two_models_says_whether_it_settled():
    data = make_pu(600)
    long = TwoModelsClassifier([0, 1]).fit(data.X, data.s)
    short = TwoModelsClassifier([0, 1], n_iter=2).fit(data.X, data.s)
    assert long.converged_
    assert not short.converged_


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.DataWarning")
@pytest.mark.parametrize("model", BASELINES, ids=lambda model: type(model).__name__)
def test_there_are_at_least_as_many_positives_as_labels(model):
    X = np.random.default_rng(0).standard_normal((120, 3))
    s = np.arange(120) > 0
    model.fit(X, s)
    assert model.class_prior_ >= s.mean()
    assert model.label_frequency_ <= 1
    if isinstance(model, ThresholdClassifier):
        assert model.predict_proba(X)[:, 1].mean() >= s.mean() - 1e-6
