"""What every learner does: ``score``, how well labels are explained, and a summary in words."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.model_selection import GridSearchCV, cross_val_score

import sarlearn
from conftest import make_pu
from sarlearn import classifiers
from sarlearn._words import range_sentence
from sarlearn.classifiers import (
    KnownPropensityClassifier,
    MultiSCARClassifier,
    RepeatedSARClassifier,
    SARClassifier,
    SAREMClassifier,
)
from sarlearn.reporting import summarize
from table_data import patients

pytestmark = pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
LEARNERS = [getattr(classifiers, name) for name in classifiers.__all__]


@pytest.fixture(scope="module")
def data():
    return make_pu(500, 4)


@pytest.mark.parametrize("learner", LEARNERS)
def test_it_is_the_mean_log_likelihood_of_the_labels(learner, data):
    model = learner().fit(data.X, data.s)
    both = model.predict_proba(data.X)[:, 1] * model.predict_propensity(data.X)
    expected = np.log(np.where(data.s, both, 1 - both))
    assert model.score(data.X, data.s) == pytest.approx(expected.mean())
    weight = data.rng.uniform(0, 2, 500)
    found = model.score(data.X, data.s, sample_weight=weight)
    assert found == pytest.approx(np.average(expected, weights=weight))
    assert model.score(data.X, data.s) > model.score(data.X, ~data.s)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.score(data.X, data.s, sample_weight=-weight)


def test_the_true_model_scores_best_and_accuracy_does_not_see_it():
    """Who finds no hidden positive agrees best with the labels."""
    data = make_pu(4000, 4, scale=3)
    right = KnownPropensityClassifier(C=100).fit(data.X, data.s, propensity=data.e)
    naive = KnownPropensityClassifier(C=100).fit(data.X, data.s, propensity=1.0)
    scores = [
        right.score(data.X, data.s, propensity=data.e),
        naive.score(data.X, data.s, propensity=1.0),
    ]
    assert scores[0] > scores[1] + 0.005
    agreement = [np.mean(model.predict(data.X) == data.s) for model in (right, naive)]
    assert agreement[0] < agreement[1]


def test_searches_choose_by_it():
    """The penalty that held-out labels ask for, not that of the fewest positives."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    f, e = expit(4 * X[:, 0] - 4 * X[:, 1]), 0.35
    s = (rng.random(1500) < f) & (rng.random(1500) < e)
    grid = {"C": [1e-3, 1.0]}
    search = GridSearchCV(KnownPropensityClassifier(), grid, cv=3)
    assert search.fit(X, s, propensity=e).best_params_["C"] == 1.0
    by_agreement = GridSearchCV(KnownPropensityClassifier(), grid, cv=3, scoring="accuracy")
    assert by_agreement.fit(X, s, propensity=e).best_params_["C"] == 1e-3
    scores = cross_val_score(SARClassifier(class_models=["linear"]), X, s, cv=3)
    entropy = s.mean() * np.log(s.mean()) + (1 - s.mean()) * np.log(1 - s.mean())
    assert (scores < 0).all()
    assert scores.mean() > entropy + 0.05


def test_propensities_of_new_rows_are_asked_for(data):
    model = KnownPropensityClassifier().fit(data.X, data.s, propensity=data.e)
    with pytest.raises(ValueError, match="propensity is needed"):
        model.score(data.X, data.s)
    found = model.score(data.X, data.s, propensity=data.e)
    f = model.predict_proba(data.X)[:, 1]
    expected = np.log(np.where(data.s, f * data.e, 1 - f * data.e)).mean()
    assert found == pytest.approx(expected)


def test_two_samples_weigh_as_in_fit(data):
    """A background ten times over is the same background."""
    model = SAREMClassifier([0], single_sample=False).fit(data.X, data.s)
    X = np.vstack([data.X[data.s], np.tile(data.X[~data.s], (10, 1))])
    s = np.arange(len(X)) < data.s.sum()
    assert model.score(X, s) == pytest.approx(model.score(data.X, data.s))
    other = data.X[:, [0, 2, 1, 3]]  # columns mixed up
    assert model.score(other, data.s) < model.score(data.X, data.s)


def test_a_label_where_none_was_expected_is_finite():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 50, axis=0)
    s = np.arange(100) % 5 == 0
    model = MultiSCARClassifier([0]).fit(X, s)
    assert np.isfinite(model.score(np.array([[7.0, 7.0]]), [True]))


def test_labels_of_several_chances_count_together(data):
    visits = np.column_stack([data.s, data.y & (data.rng.random(500) < 0.5)]).astype(float)
    visits[:9, 1] = np.nan
    model = RepeatedSARClassifier().fit(data.X, visits)
    f, e = model.predict_proba(data.X)[:, 1], model.predict_propensity(data.X)
    given_positive = np.prod(
        np.where(np.isnan(visits), 1.0, np.where(visits == 1, e[:, None], 1 - e[:, None])), axis=1
    )
    seen = (visits == 1).any(axis=1)
    expected = np.log(f * given_positive + np.where(seen, 0.0, 1 - f)).mean()
    assert model.score(data.X, visits) == pytest.approx(expected)


def test_dask_scores_where_rows_lie(data):
    da = pytest.importorskip("dask.array")
    import dask

    model = SAREMClassifier([0]).fit(data.X, data.s)
    weight = data.rng.uniform(0.5, 2, 500)
    X, s, w = (da.from_array(a, chunks=(200, *a.shape[1:])) for a in (data.X, data.s, weight))
    with dask.config.set(scheduler="synchronous"):
        assert model.score(X, s) == pytest.approx(model.score(data.X, data.s))
        assert model.score(X, s, w) == pytest.approx(model.score(data.X, data.s, weight))


SUMMARISED = {
    "SAREMClassifier": {"propensity_features": [0]},
    "SARClassifier": {"propensity_features": [0]},
    "KnownPropensityClassifier": {},
    "MultiSCARClassifier": {},
    "SCARClassifier": {"random_state": 0},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SUMMARISED)
def test_every_learner_has_a_summary(name):
    data = make_pu(400, 3)
    model = getattr(sarlearn, name)(**SUMMARISED[name]).fit(data.X, data.s)
    text = model.summary()
    assert text.startswith(
        f"{name}: an estimated {model.class_prior_:.1%} of the rows are positive"
    )
    assert f"{model.label_frequency_:.1%} of the positives are labelled" in text


def test_the_same_words_as_the_report():
    """One implementation: the range in a summary is the terminal's and the report's."""
    table = patients(800)[0].drop(columns="patient_id")
    s = table.pop("diagnosed")
    model = sarlearn.SARClassifier(["age", "plan", "smoker"]).fit(table, s)
    said = model.summary()
    low, high = model.class_prior_range_
    assert range_sentence(low, high, model.certainty_) in said
    found = summarize(model, table, s)
    assert f"\n{found['verdict']['name']}: " in said
    assert f"{low:.1%} to {high:.1%}" in found["verdict"]["reason"]
    assert (found["certainty"]["low"], found["certainty"]["high"]) == (low, high)
    assert found["estimates"]["class_prior"] == model.class_prior_
