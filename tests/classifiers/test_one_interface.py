"""Every learner is asked in the same words: weights in, the same attributes and methods out."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import LeaveOneGroupOut

from conftest import make_pu
from sarlearn import classifiers
from sarlearn.classifiers import (
    KnownPropensityClassifier,
    MultiSCARClassifier,
    SAREMClassifier,
    SCARClassifier,
)
from sarlearn.exceptions import DataWarning, NotConvergedWarning, TrustWarning
from sarlearn.priors import DEDPUL, BestBinEstimator

LEARNERS = [getattr(classifiers, name) for name in classifiers.__all__]
HISTORY = {"log_likelihood", "class_prior"}


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_has_the_same_attributes(learner):
    assert "sample_weight" in inspect.signature(learner.fit).parameters
    data = make_pu(600, 4)
    model = learner().fit(data.X, data.s, sample_weight=np.ones(600))
    assert data.s.mean() <= model.class_prior_ <= 1
    assert model.label_frequency_ == pytest.approx(data.s.mean() / model.class_prior_, rel=0.05)
    assert model.converged_ in (True, False)
    assert set(model.history_) >= HISTORY
    assert {np.ndim(values) for values in model.history_.values()} == {1}
    assert model.predict_propensity(data.X).shape == (600,)
    posterior = model.predict_posterior(data.X, data.s)
    assert (posterior[data.s] == 1).all()
    assert ((posterior >= 0) & (posterior <= 1)).all()


def test_a_known_propensity_of_each_row_is_asked_for_again():
    data = make_pu(600, 4)
    model = KnownPropensityClassifier().fit(data.X, data.s, propensity=data.e)
    assert not hasattr(model, "predict_propensity")
    with pytest.raises(ValueError, match="propensity is needed"):
        model.predict_posterior(data.X, data.s)
    found = model.predict_posterior(data.X, data.s, propensity=data.e)
    f = model.predict_proba(data.X)[:, 1]
    expected = np.where(data.s, 1.0, f * (1 - data.e) / (1 - f * data.e))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    audited = np.where(np.arange(600) < 5, 0.0, np.nan)
    audited[data.s] = np.nan
    seen = model.predict_posterior(data.X, data.s, audited, propensity=data.e)
    assert (seen[:5][~data.s[:5]] == 0).all()
    np.testing.assert_array_equal(seen[5:], found[5:])


def test_one_known_propensity_is_remembered():
    data = make_pu(600, 4)
    model = KnownPropensityClassifier().fit(data.X, data.s, propensity=0.7)
    assert (model.predict_propensity(data.X) == 0.7).all()
    given = model.predict_posterior(data.X, data.s, propensity=np.full(600, 0.7))
    np.testing.assert_array_equal(model.predict_posterior(data.X, data.s), given)


def test_weighting_has_a_history():
    data = make_pu(600, 4)
    model = KnownPropensityClassifier("weighting").fit(data.X, data.s, propensity=data.e)
    scar = SCARClassifier(BestBinEstimator(random_state=0), method="weighting")
    for one in (model, scar.fit(data.X, data.s)):
        values = one.history_["penalized_log_likelihood"]
        assert (np.diff(values) >= -1e-9 * np.abs(values[1:])).all()
        assert one.n_iter_ >= len(values) >= 3
    assert model.history_["class_prior"][-1] == pytest.approx(model.class_prior_, abs=1e-6)
    targets, f = data.s / data.e, model.predict_proba(data.X)[:, 1]
    risk = -np.sum(targets * np.log(f) + (1 - targets) * np.log1p(-f))
    assert model.history_["log_likelihood"][-1] == pytest.approx(-risk, rel=1e-6)


def test_names_of_columns_mean_the_same_everywhere():
    for learner in LEARNERS:
        parameters = inspect.signature(learner).parameters
        if "propensity_features" in parameters:
            default = "auto" if learner.__name__ == "SARClassifier" else ()
            assert parameters["propensity_features"].default == default


def test_strata_are_told_of_together():
    data = make_pu(2000, 4, discrete=True)
    model = MultiSCARClassifier(data.columns, tol=1e-3).fit(data.X, data.s)
    parts = [part.history_ for part in model.estimators_]
    assert len(parts) == 4
    assert model.converged_
    last = sum(part["log_likelihood"][-1] for part in parts)
    assert model.history_["log_likelihood"][-1] == pytest.approx(last)
    assert (
        len(model.history_["slope"]) == model.n_iter_ == max(p.n_iter_ for p in model.estimators_)
    )
    assert model.history_["class_prior"][-1] == pytest.approx(model.class_prior_, abs=1e-3)
    with pytest.warns(NotConvergedWarning):
        assert not clone(model).set_params(max_iter=2).fit(data.X, data.s).converged_


def test_weights_of_strata_are_repetitions():
    data = make_pu(2000, 4, discrete=True)
    weight = np.where(data.X[:, 0] == 1, 3, 1)
    repeated = np.repeat(np.arange(2000), weight)
    model = MultiSCARClassifier(data.columns, stop="fixed_point", tol=1e-9)
    by_weight = clone(model).fit(data.X, data.s, sample_weight=weight)
    by_rows = clone(model).fit(data.X[repeated], data.s[repeated])
    assert by_weight.class_prior_ == pytest.approx(by_rows.class_prior_, rel=1e-6)
    assert by_weight.label_frequency_ == pytest.approx(by_rows.label_frequency_, rel=1e-6)
    history = by_weight.history_["class_prior"]
    assert history[-1] == pytest.approx(by_rows.history_["class_prior"][-1], rel=1e-6)


def test_a_configuration_without_labels_is_told_of():
    data = make_pu(600, 4, discrete=True)
    bare = (data.X[:, 0] == 1) & (data.X[:, 1] == 1)
    with pytest.warns(DataWarning, match="1 of 4 configurations"):
        SAREMClassifier(data.columns).fit(data.X, data.s & ~bare)


def test_scar_weights_are_repetitions():
    data = make_pu(400, 4)
    weight = np.random.default_rng(1).integers(0, 4, 400)
    groups = np.arange(400) % 5
    repeated = np.repeat(np.arange(400), weight)

    def fit(rows, **weights):
        folds = list(LeaveOneGroupOut().split(rows, groups=groups[rows]))
        model = SCARClassifier(BestBinEstimator(cv=folds), tol=1e-6)
        return model.fit(data.X[rows], data.s[rows], **weights)

    kept = np.flatnonzero(weight)
    by_weight, by_rows = fit(kept, sample_weight=weight[kept]), fit(repeated)
    assert by_weight.label_frequency_ == pytest.approx(by_rows.label_frequency_, rel=1e-9)
    np.testing.assert_allclose(by_weight.coef_, by_rows.coef_, rtol=1e-4)
    assert by_weight.label_frequency_ != fit(kept).label_frequency_


def test_copies_and_order_of_rows_do_not_move_scar():
    data = make_pu(300, 4)
    model = SCARClassifier(random_state=0, tol=1e-6)
    once = clone(model).fit(data.X, data.s, sample_weight=np.full(300, 2.0))
    order = np.random.default_rng(0).permutation(np.tile(np.arange(300), 2))
    twice = clone(model).fit(data.X[order], data.s[order])
    assert once.class_prior_ == twice.class_prior_
    np.testing.assert_allclose(once.coef_, twice.coef_, rtol=1e-6)


def test_labelled_copies_of_one_row_are_no_held_out_scores_for_scar():
    data = make_pu(200, 3)
    X = np.where(data.s[:, None], data.X[0], data.X)
    with pytest.warns(TrustWarning, match="at the boundary of its range"):
        assert SCARClassifier(random_state=0).fit(X, data.s).class_prior_ == 1


def test_rows_without_weight_count_for_nothing_in_scar():
    data = make_pu(400, 4)
    weight = np.where(np.arange(400) % 4 == 1, 0.0, 1.5)
    kept = weight > 0
    model = SCARClassifier(BestBinEstimator(random_state=0))
    some = clone(model).fit(data.X[kept], data.s[kept], sample_weight=weight[kept])
    assert model.fit(data.X, data.s, sample_weight=weight).class_prior_ == some.class_prior_


def test_known_propensities_stay_beside_their_rows():
    data = make_pu(400, 4)
    weight = np.where(np.arange(400) % 4 == 1, 0.0, 1.0)
    kept = weight > 0
    some = KnownPropensityClassifier().fit(data.X[kept], data.s[kept], propensity=data.e[kept])
    found = KnownPropensityClassifier().fit(data.X, data.s, propensity=data.e, sample_weight=weight)
    np.testing.assert_allclose(found.coef_, some.coef_, rtol=1e-6)


def test_weights_that_leave_labels_of_one_kind_are_refused():
    data = make_pu(200, 3)
    with pytest.raises(ValueError, match="positive sample_weight are all labelled, or all unlab"):
        BestBinEstimator().fit(data.X, data.s, sample_weight=1.0 * ~data.s)


def test_a_prior_estimator_without_weights_is_named():
    data = make_pu(200, 3)
    with pytest.raises(ValueError, match=r"prior estimator DEDPUL\(\) does not take it"):
        SCARClassifier(DEDPUL()).fit(data.X, data.s, sample_weight=np.ones(200))


def test_all_columns_by_one_word():
    data = make_pu(300, 3)
    with pytest.warns(UserWarning, match="Every column is a propensity feature"):
        model = SAREMClassifier("all").fit(data.X, data.s)
    assert model.propensity_features_.tolist() == [0, 1, 2]
