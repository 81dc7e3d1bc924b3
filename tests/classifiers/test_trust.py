"""Never confidently wrong: each case was once answered with a wrong number and no warning."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from sarlearn import CrossFitSARClassifier, SAREMClassifier
from sarlearn.classifiers._trust import centred_deviation, certainty, no_second_look
from sarlearn.exceptions import (
    LeakageWarning,
    MisfitWarning,
    ShapeWarning,
    TrustWarning,
    UnidentifiedWarning,
    UnnamedDriverWarning,
)
from sarlearn.inspection import relative_prevalence, unnamed_drivers
from sarlearn.labelling import GeometricLabelling, label

LEARNERS = [CrossFitSARClassifier(random_state=0), SAREMClassifier()]


def told(model, X, s):
    """The model, fitted, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, s)
    return model, [one.message for one in caught if isinstance(one.message, TrustWarning)]


def holds(model, truth):
    low, high = model.class_prior_range_
    return low <= truth <= high


def fresh(learner, features):
    return type(learner)(**(learner.get_params() | {"propensity_features": features}))


@pytest.fixture(params=LEARNERS, ids=lambda learner: type(learner).__name__)
def learner(request):
    return request.param


def linear(n_rows=1500, seed=0, slope=3.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    y = rng.random(n_rows) < expit(slope * X[:, 0] + X[:, 1])
    return X, y, y & (rng.random(n_rows) < expit(1.5 * X[:, 2])), rng


def test_a_class_that_is_known_well_is_told_so_without_a_warning():
    X, y, s, _ = linear(seed=1, slope=6.0)
    model, warned = told(CrossFitSARClassifier([2], random_state=0), X, s)
    assert not warned
    assert model.certainty_ in ("well", "roughly")
    assert holds(model, y.mean())
    assert model.identification_width_ == pytest.approx(np.diff(model.class_prior_range_)[0])


def test_1_class_and_labelling_do_not_change_places_in_silence():
    """Five columns that tell the class drive labelling, too, in its direction; few rows."""
    X, benign = load_breast_cancer(return_X_y=True)
    y = benign == 0
    columns = [0, 7, 20, 22, 27]
    for seed in range(3):
        s, _ = label(X, y, GeometricLabelling(columns), random_state=seed)
        model, warned = told(CrossFitSARClassifier(columns, random_state=0), X, s)
        ranked = roc_auc_score(y, model.predict_proba(X)[:, 1])
        assert ranked > 0.9 or warned


def test_2_a_class_that_is_not_linear(learner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = rng.random(1500) < expit(4 * np.sign(X[:, 0] * X[:, 1]))
    s = y & (rng.random(1500) < expit(X[:, 2]))
    model, warned = told(fresh(learner, [2]), X, s)
    if isinstance(model, SAREMClassifier):
        assert abs(model.class_prior_ - y.mean()) > 0.1
    else:  # scores that bend have a say
        assert abs(model.class_prior_ - y.mean()) < 0.05
    assert holds(model, y.mean())
    # The class stays linear, and ranks at random.
    assert any(isinstance(one, UnidentifiedWarning | MisfitWarning) for one in warned)


def test_3_a_weak_signal(learner):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 5))
    y = rng.random(2000) < expit(0.6 * X[:, 0] - 0.2)
    s = y & (rng.random(2000) < expit(X[:, 2]))
    model, warned = told(fresh(learner, [2]), X, s)
    assert model.certainty_ in ("only by the model's shape", "not at all")
    assert any(isinstance(one, UnidentifiedWarning | ShapeWarning) for one in warned)
    assert holds(model, y.mean())


def test_4_heavy_tails(learner):
    """Raw amounts; the class follows their logarithms."""
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(3000, 4))
    y = rng.random(3000) < expit(3 * Z[:, 0] + 2 * Z[:, 1] - 4)
    s = y & (rng.random(3000) < expit(Z[:, 2]))
    model, warned = told(fresh(learner, [2]), np.column_stack([np.exp(2 * Z[:, :2]), Z[:, 2:]]), s)
    assert holds(model, y.mean())
    if isinstance(model, SAREMClassifier):
        assert abs(model.class_prior_ - y.mean()) > 0.1
        assert any(isinstance(one, UnidentifiedWarning) for one in warned)
    else:
        assert abs(model.class_prior_ - y.mean()) < 0.1


def test_5_a_driver_that_was_not_named_is_found():
    X, y, _, rng = linear()
    s = y & (rng.random(len(y)) < expit(X[:, 2] + 3 * X[:, 3]))
    assert "x3" in unnamed_drivers(X, s, [2])
    assert "x3" not in unnamed_drivers(X, s, [2, 3])


def test_5_a_strong_driver_left_out_is_told_with_the_fit(learner):
    """The class model absorbs it, and takes every positive for labelled: no score test sees it."""
    X, y, _, rng = linear(2000, seed=5)
    s = y & (rng.random(len(y)) < expit(X[:, 2] + 3 * X[:, 3]))
    model, warned = told(fresh(learner, [2]), X, s)
    assert y.mean() - model.class_prior_ > 0.1 or holds(model, y.mean())
    (found,) = [one for one in warned if isinstance(one, UnnamedDriverWarning)]
    assert "x3" in found.columns
    assert model.certainty_ in ("only by the model's shape", "not at all")
    _, warned = told(fresh(learner, [2, 3]), X, s)
    assert not any(isinstance(one, UnnamedDriverWarning) for one in warned)


def test_6_a_column_that_follows_from_the_label_is_named(learner):
    X, _, s, rng = linear()
    drug = np.where(s, rng.uniform(1, 2, len(s)), 0.0)
    wrong = rng.random(len(s)) < 0.01
    for leak in (drug, s ^ wrong):
        model, warned = told(fresh(learner, [2]), np.column_stack([X, leak]), s)
        (found,) = [one for one in warned if isinstance(one, LeakageWarning)]
        assert list(found.columns) == ["x4"]
        assert model.certainty_ == "not at all"
        assert model.class_prior_range_[1] == 1


def presence(n_background, seed=0):
    """500 labelled positives, and a background of the whole population, collected apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200_000, 4))
    f = expit(2 * X[:, 0] + X[:, 1] - 2)
    y = rng.random(len(X)) < f
    labelled = np.flatnonzero(y & (rng.random(len(X)) < expit(X[:, 2] - 0.5)))
    rows = np.concatenate([rng.permutation(labelled)[:500], rng.permutation(len(X))[:n_background]])
    return X[rows], np.arange(len(rows)) < 500, y[rows], f[rows]


def test_7_presence_and_background(learner):
    """No class prior; ranking and ratios do not follow the number of background rows."""
    for n_background in (1000, 8000):
        X, s, y, f = presence(n_background)
        model = fresh(learner, [2]).set_params(single_sample=False)
        model, warned = told(model, X, s)
        assert not warned
        assert np.isnan(model.class_prior_)
        assert np.isnan(model.label_frequency_)
        assert model.certainty_ == "not at all"
        some = ~s
        assert roc_auc_score(y[some], model.predict_proba(X)[some, 1]) > 0.85
        upper = np.where(X[:, 1] > 0, "upper", "lower")
        found = relative_prevalence(model, X, s, upper, reference="lower")
        truth = f[some & (X[:, 1] > 0)].mean() / f[some & (X[:, 1] <= 0)].mean()
        assert found.low[1] < truth < found.high[1]
        assert found.high[1] / found.low[1] < 4


def test_7_a_background_given_twice_weighs_as_much():
    """What counts is the ratio to the labelled rows, not the number of background rows."""
    X, s, *_ = presence(1000)
    model = SAREMClassifier([2], single_sample=False, stop="fixed_point")
    once, again = model.fit(X, s).coef_, np.concatenate([np.arange(len(s)), np.flatnonzero(~s)])
    np.testing.assert_allclose(model.fit(X[again], s[again]).coef_, once, rtol=1e-4)


def test_one_sample_is_taken_where_nothing_else_is_said():
    """Without it the class prior follows the number of background rows."""
    priors = []
    for n_background in (1000, 8000):
        X, s, *_ = presence(n_background)
        priors.append(CrossFitSARClassifier([2], random_state=0).fit(X, s).class_prior_)
    assert priors[0] - priors[1] > 0.1


def test_words_follow_width_and_sure_rows():
    assert certainty(0.17, 1.0) == "well"
    assert certainty(0.19, 1.0) == "roughly"
    assert certainty(0.39, 1.0) == "roughly"
    assert certainty(0.3, 0.5) == "only by the model's shape"
    assert certainty(0.41, 1.0) == "not at all"


def test_an_estimate_that_others_contradict_is_as_good_as_a_wider_one():
    for deviation in (0.02, 0.1, 0.3):
        assert centred_deviation(deviation, 0.0) == pytest.approx(deviation)
        assert centred_deviation(deviation, 0.05) == centred_deviation(deviation, -0.05)
        assert centred_deviation(deviation, 0.05) > deviation
    # Half of the time further off than 0.1; of a normal variable half is beyond 0.674 deviations.
    assert centred_deviation(0.01, 0.1) == pytest.approx(0.1 / 0.6745, rel=1e-3)
    assert centred_deviation(0.001, 0.5) == np.inf


def test_few_rows_get_no_second_look_and_the_widest_range():
    X, _, s, _ = linear(n_rows=100)
    model, warned = told(SAREMClassifier([2]), X, s)
    assert not warned
    assert model.class_prior_range_ == (s.mean(), 1.0)
    assert model.certainty_ == "not at all"


def test_resamples_do_without_a_second_look():
    X, _, s, _ = linear(n_rows=600)
    with no_second_look():
        model = SAREMClassifier([2]).fit(X, s)
    assert model.goodness_ == {}
    assert SAREMClassifier([2]).fit(X, s).goodness_ != {}


def test_a_driver_that_bends_the_class_is_no_well_known_class_prior():
    """SCAR is taken, and labelling follows a column: what f absorbs of it is not linear."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(4000, 3))
    y = rng.random(4000) < expit(8 * X[:, 0])
    s = y & (rng.random(4000) < expit(3 * X[:, 2]))
    model, warned = told(CrossFitSARClassifier(random_state=0), X, s)
    assert abs(model.class_prior_ - y.mean()) > 0.1
    (found,) = [one for one in warned if isinstance(one, MisfitWarning)]
    assert "x2" in found.columns
    assert model.certainty_ == "only by the model's shape"


def test_weights_are_repetitions_for_the_range():
    X, _, s, rng = linear(n_rows=500)
    times = rng.integers(1, 3, 500)
    weighted = SAREMClassifier([2]).fit(X, s, sample_weight=times.astype(float))
    repeated = SAREMClassifier([2]).fit(np.repeat(X, times, axis=0), np.repeat(s, times))
    assert weighted.class_prior_ == pytest.approx(repeated.class_prior_, abs=1e-6)
    # The kernel's centres are drawn from the rows, so the ranges agree roughly only.
    assert weighted.class_prior_range_ == pytest.approx(repeated.class_prior_range_, abs=0.1)


def test_few_rows_with_a_wide_range_are_warned_of():
    """Without a second look the learner's own range has to speak."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = rng.random(150) < expit(X[:, 0])
    s = y & (rng.random(150) < 0.5)
    model, warned = told(CrossFitSARClassifier([2], random_state=0), X, s)
    assert model.goodness_ == {}
    assert model.certainty_ == "not at all"
    assert any(isinstance(one, UnidentifiedWarning) for one in warned)
