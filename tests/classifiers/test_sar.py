"""The learner: what it finds, and what it can be told."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit, logit
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import GaussianNB

from sar_data import made, same
from sarlearn import SARClassifier
from sarlearn.exceptions import DataWarning, TrustWarning

pytestmark = pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")


# -- what it finds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("class_models", [("linear", "trees"), ("trees",)])
def test_it_recovers_the_class_prior(class_models):
    """Mean error over eight tables within twice the standard error of one."""
    errors, ses, of_e = [], [], []
    for seed in range(8):
        data = made(1500, seed)
        found = SARClassifier([0], class_models=class_models).fit(data.X, data.s)
        errors.append(found.class_prior_ - data.y.mean())
        low, high = found.class_prior_range_
        assert low < found.class_prior_ < high
        ses.append((high - low) / 4)
        of_e.append(np.abs(found.predict_propensity(data.X) - data.e).mean())
    assert abs(np.mean(errors)) < 2 * np.mean(ses)
    assert np.abs(errors).mean() < 0.05
    assert np.mean(of_e) < 0.06
    assert np.mean(np.abs(errors) < 2.5 * np.array(ses)) >= 7 / 8


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"class_models": ["linear"]},
        {"class_models": ["trees"]},
        {"n_runs": 2, "n_folds": 3},
        {"class_prior": 0.5},
        {"class_prior": (0.2, 0.3)},
        {"classifier_features": [1, 2]},
    ],
    ids=str,
)
def test_the_mean_probability_is_the_class_prior(settings, data):
    weight = np.random.default_rng(0).uniform(0, 2, data.n)
    weight[:30] = 0
    found = SARClassifier([0], **settings).fit(data.X, data.s, sample_weight=weight)
    mean = np.average(found.predict_proba(data.X)[:, 1], weights=weight)
    assert mean == pytest.approx(found.class_prior_, abs=1e-9)
    mean = np.average(found.predict_posterior(data.X, data.s), weights=weight)
    assert mean == pytest.approx(found.class_prior_, abs=1e-9)
    share = np.average(data.s, weights=weight)
    assert found.label_frequency_ == pytest.approx(share / found.class_prior_)


def test_attributes_agree_with_each_other(data, model):
    assert model.class_prior_range_[0] < model.class_prior_ < model.class_prior_range_[1]
    assert model.class_prior_from_labels_ == pytest.approx(model.class_prior_)
    zeta = data.X[:, [0]] @ model.propensity_coef_[0] + model.propensity_intercept_
    near = np.abs((data.X[:, 0] - data.X[:, 0].mean()) / data.X[:, 0].std()) < 5
    np.testing.assert_allclose(model.predict_propensity(data.X)[near], expit(zeta)[near])
    assert model.propensity_terms_ == ["x0"]
    assert (model.score_weights_ >= 0).all()
    assert set(model.history_) == {"round", "log_likelihood", "class_prior"}
    assert model.n_iter_ in model.history_["round"]
    f, e = model.predict_proba(data.X)[:, 1], model.predict_propensity(data.X)
    surer = expit(logit(f) + model.posterior_shift_)
    expected = np.where(data.s, 1.0, surer * (1 - e) / (1 - surer * e))
    np.testing.assert_allclose(model.predict_posterior(data.X, data.s), expected, atol=1e-12)
    np.testing.assert_array_equal(
        model.predict_posterior(data.X), model.predict_posterior(data.X, 0 * data.s)
    )
    np.testing.assert_array_equal(model.predict(data.X), f > 0.5)
    np.testing.assert_allclose(expit(model.decision_function(data.X)), f)


def test_linear_alone_misses_what_trees_find():
    """Half of what decides the class is a square."""
    data = made(2000, 3)
    better = SARClassifier([0]).fit(data.X, data.s)
    linear = SARClassifier([0], class_models=["linear"]).fit(data.X, data.s)
    right = [np.mean(one.predict(data.X) == data.y) for one in (linear, better)]
    assert right[1] > right[0] + 0.05


# -- what it can be told ---------------------------------------------------------------------------


def test_audits_bring_the_class_prior_nearer():
    errors = {"none": [], "audited": []}
    for seed in range(4):
        data = made(600, seed)
        s = data.s & (np.random.default_rng(seed).random(600) < 0.3)
        looked = ~s & (np.random.default_rng(seed + 9).random(600) < 0.4)
        audited = np.where(looked, data.y, np.nan)
        plain = SARClassifier([0]).fit(data.X, s)
        told = SARClassifier([0]).fit(data.X, s, audited=audited)
        assert told.n_audited_ == looked.sum()
        assert not told.class_prior_by_design_
        widths = [np.diff(one.class_prior_range_)[0] for one in (plain, told)]
        assert widths[1] < 0.8 * widths[0]
        errors["none"].append(abs(plain.class_prior_ - data.y.mean()))
        errors["audited"].append(abs(told.class_prior_ - data.y.mean()))
        assert (told.predict_posterior(data.X, s, audited)[looked] == data.y[looked]).all()
    assert np.mean(errors["audited"]) < 0.05
    assert np.mean(errors["audited"]) < np.mean(errors["none"])


def test_audits_take_the_place_of_pseudo_counts(data):
    looked = ~data.s & (np.arange(data.n) % 5 == 0)
    audited = np.where(looked, data.y, np.nan)
    plain, pulled = (
        SARClassifier([0], class_models=["linear"], pseudo_counts=counts)
        .fit(data.X, data.s, audited=audited)
        .class_prior_
        for counts in (0.0, 50.0)
    )
    assert plain == pulled


def test_audits_by_design_hold_whatever_the_model(data):
    drawn = ~data.s & (np.random.default_rng(0).random(data.n) < 0.25)
    audited = np.where(drawn, data.y, np.nan)
    given = {"audited": audited, "audit_probability": np.where(drawn, 0.25, np.nan)}
    wrong = SARClassifier([3], class_models=["linear"]).fit(data.X, data.s, **given)
    assert wrong.class_prior_by_design_
    hidden = data.y[drawn].mean() * np.mean(~data.s)
    assert wrong.class_prior_ == pytest.approx(data.s.mean() + hidden, abs=0.01)
    low, high = wrong.class_prior_range_
    assert low < data.y.mean() < high
    assert wrong.audit_rows_needed_ > 0
    mean = wrong.predict_proba(data.X)[:, 1].mean()
    assert mean == pytest.approx(wrong.class_prior_, abs=1e-9)


@pytest.mark.parametrize(
    ("known", "low", "high"),
    [
        (0.6, 0.6, 0.6),
        ((0.2, 0.4), 0.2, 0.4),
        ((0.7, 0.8), 0.7, 0.8),
        ({"mean": 0.4, "standard_error": 0.01}, 0.36, 0.44),
    ],
)
def test_a_known_class_prior(known, low, high, data, model):
    found = SARClassifier([0], class_prior=known).fit(data.X, data.s)
    assert low - 1e-9 <= found.class_prior_ <= high + 1e-9
    ends = found.class_prior_range_
    assert ends[0] >= low - 0.01
    assert ends[1] <= high + 0.01
    assert found.class_prior_from_labels_ == pytest.approx(model.class_prior_, abs=1e-12)


def test_bounds_that_hold_anyway_change_nothing(data, model):
    found = SARClassifier([0], class_prior=(0.01, 0.99)).fit(data.X, data.s)
    assert found.class_prior_ == pytest.approx(model.class_prior_, abs=1e-9)


def test_two_samples(data):
    """Case-control: probabilities are right up to a factor, and the share of positives is not."""
    rng = np.random.default_rng(0)
    cases = data.X[data.s][rng.integers(0, data.s.sum(), 300)]
    X, s = np.vstack([cases, data.X]), np.arange(300 + data.n) < 300
    found = SARClassifier([0], single_sample=False).fit(X, s)
    assert np.isnan(found.class_prior_)
    assert np.isnan(found.label_frequency_)
    score = found.decision_function(data.X)
    ranks = np.argsort(np.argsort(score))
    auc = (ranks[data.y].mean() - (data.y.sum() - 1) / 2) / np.sum(~data.y)
    assert auc > 0.8


def test_columns_that_only_label_stay_out_of_the_class(data):
    found = SARClassifier([0], classifier_features=[1, 2]).fit(data.X, data.s)
    moved = data.X.copy()
    moved[:, [0, 3]] += 3
    np.testing.assert_array_equal(found.predict_proba(moved), found.predict_proba(data.X))
    assert (found.predict_propensity(moved) > found.predict_propensity(data.X)).all()
    with pytest.raises(ValueError, match="classifier_features is empty"):
        SARClassifier([0], classifier_features=[]).fit(data.X, data.s)


def test_a_classifier_of_one_s_own(data, model):
    own = SARClassifier([0], class_models=[GaussianNB()]).fit(data.X, data.s)
    assert own.class_prior_ == pytest.approx(data.y.mean(), abs=0.12)
    mixed = SARClassifier([0], class_models=["trees", LogisticRegression()]).fit(data.X, data.s)
    assert mixed.score_weights_.shape == (2,)
    assert mixed.predict_proba(data.X)[:, 1].mean() == pytest.approx(mixed.class_prior_, abs=1e-9)
    again = clone(mixed).fit(data.X, data.s)
    same(again, mixed, data.X)
    for models, message in (
        ([], "names no class model"),
        (["linear", "linear"], "one twice"),
        (["forest"], "class_models holds 'forest'"),
        ([object()], "with predict_proba"),
    ):
        with pytest.raises(ValueError, match=message):
            SARClassifier(class_models=models).fit(data.X, data.s)


def tables(n=800, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "clinic": rng.choice(["north", "south", "west"], n),
            "age": rng.normal(50, 15, n),
            "mark": rng.normal(size=n),
            "kind": pd.Categorical(rng.choice(list("abcd"), n)),
        }
    )
    kind = frame["kind"].map({"a": -2.0, "b": 0.0, "c": 1.0, "d": -1.0}).astype(float)
    y = rng.random(n) < expit(2 * frame["mark"] + kind)
    e = frame["clinic"].map({"north": 0.8, "south": 0.3, "west": 0.5})
    s = y & (rng.random(n) < e)
    frame.loc[rng.random(n) < 0.1, "mark"] = np.nan
    frame.loc[rng.random(n) < 0.1, "clinic"] = None
    return frame, y.to_numpy(), s.to_numpy()


def test_words_and_gaps():
    frame, y, s = tables()
    found = SARClassifier(["clinic"]).fit(frame, s)
    assert found.class_prior_ == pytest.approx(y.mean(), abs=0.1)
    assert found.propensity_terms_ == [
        "clinic=north",
        "clinic=south",
        "clinic=west",
        "clinic=(missing)",
    ]
    assert np.ravel(found.propensity_coef_)[0] > np.ravel(found.propensity_coef_)[1]
    assert list(found.feature_names_in_) == list(frame.columns)
    expected = found.predict_proba(frame)
    # Categories of another order, of plain words, and rows one by one.
    words = frame.assign(kind=frame["kind"].astype(object))
    np.testing.assert_allclose(found.predict_proba(words), expected)
    np.testing.assert_allclose(found.predict_proba(frame[5:6]), expected[5:6])
    new = frame[:3].assign(clinic="east")  # as if it were missing
    np.testing.assert_array_equal(
        found.predict_propensity(new), found.predict_propensity(new.assign(clinic=None))
    )
    moved = frame[["age", "clinic", "mark", "kind"]]
    assert list(moved.columns) != list(frame.columns)
    np.testing.assert_array_equal(found.predict_proba(moved), expected)
    with pytest.raises(ValueError, match="feature names"):
        found.predict_proba(frame[["age", "clinic", "mark"]])
    with pytest.raises(ValueError, match="clinik"):
        SARClassifier(["clinik"]).fit(frame, s)


def test_polars_is_pandas():
    pl = pytest.importorskip("polars")
    frame, _, s = tables(400)
    expected = SARClassifier(["clinic"]).fit(frame, s)
    other = pl.from_pandas(frame)
    found = SARClassifier(["clinic"]).fit(other, s)
    np.testing.assert_allclose(found.predict_proba(other), expected.predict_proba(frame))


@pytest.mark.parametrize("n_labelled", [1, 3, 12])
def test_few_labels(n_labelled, data):
    s = np.zeros(data.n, bool)
    s[np.flatnonzero(data.s)[:n_labelled]] = True
    with pytest.warns(DataWarning, match="Only .* labelled rows"):
        found = SARClassifier([0]).fit(data.X, s)
    low, high = found.class_prior_range_
    assert s.mean() <= low <= found.class_prior_ <= high
    assert (low, high) == (s.mean(), 1.0)
    assert found.certainty_ == "not at all"
    assert np.isfinite(found.predict_proba(data.X)).all()


def test_columns_that_do_not_identify_anything(data):
    """Every column that varies may decide about labels: any class prior above their share fits."""
    X = np.column_stack([data.X[:, :2], np.ones(data.n)])
    with pytest.warns(TrustWarning, match="do not determine the class prior"):
        found = SARClassifier([0, 1]).fit(X, data.s)
    assert found.class_prior_range_ == (data.s.mean(), 1.0)
    assert found.certainty_ == "not at all"


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_columns_that_say_nothing(make):
    X = np.column_stack([np.ones(300), np.zeros(300)])
    s = np.arange(300) % 4 == 0
    found = SARClassifier().fit(make(X), s)
    assert 0.25 <= found.class_prior_ <= 1
    assert found.certainty_ == "not at all"
    assert np.ptp(found.predict_proba(make(X))[:, 1]) < 1e-9


# -- scikit-learn's ways ---------------------------------------------------------------------------


def test_pickles_and_clones(data, model):
    for copy in (pickle.loads(pickle.dumps(model)), clone(model).fit(data.X, data.s)):
        for ask in ("predict_proba", "predict_propensity"):
            np.testing.assert_array_equal(getattr(copy, ask)(data.X), getattr(model, ask)(data.X))
    settings = {"n_folds": 3, "class_models": ("trees",), "random_state": 4, "pseudo_counts": 1.0}
    other = clone(model).set_params(**settings)
    assert other.get_params().items() >= settings.items()
    assert other.fit(data.X, data.s).class_prior_ != model.class_prior_


def test_groups_and_weights_are_routed(data):
    weight = np.random.default_rng(0).uniform(0.5, 2, data.n)
    groups = np.arange(data.n) // 2
    with config_context(enable_metadata_routing=True):
        learner = SARClassifier([0], class_models=["linear"])
        learner = learner.set_fit_request(sample_weight=True, groups=True)
        learner = learner.set_score_request(sample_weight=True)
        half = np.arange(data.n) < data.n // 2
        found = cross_validate(
            learner,
            data.X,
            data.s,
            cv=[(half, ~half)],
            params={"sample_weight": weight, "groups": groups},
            return_estimator=True,
        )["estimator"][0]
    alone = clone(learner).fit(
        data.X[half], data.s[half], sample_weight=weight[half], groups=groups[half]
    )
    same(found, alone, data.X)


def test_labels_may_be_words_and_may_be_missing(data, model):
    words = np.where(data.s, "ill", "unknown")
    found = SARClassifier([0], pos_label="ill").fit(data.X, words)
    np.testing.assert_array_equal(found.classes_, ["unknown", "ill"])
    same(found, model, data.X)
    assert set(found.predict(data.X)) == {"ill", "unknown"}
    same(SARClassifier([0]).fit(data.X, np.where(data.s, 1.0, np.nan)), model, data.X)


def test_columns_are_named_by_names_and_masks(data, model):
    frame = pd.DataFrame(data.X, columns=["effort", "a", "b", "c"])
    for chosen in (["effort"], lambda name: name == "effort", [True, False, False, False], [-4]):
        found = SARClassifier(chosen).fit(frame, data.s)
        np.testing.assert_allclose(found.predict_proba(frame), model.predict_proba(data.X))


@pytest.mark.parametrize(
    ("X", "weight", "message"),
    [
        (np.full((40, 2), np.inf), None, "infinity"),
        (np.ones((40, 2)) * [1.0, 1e-160], None, "column 1 is 1e-160"),
        (np.ones((40, 2)), np.r_[np.ones(39), 1e31], r"largest sample_weight is 1e\+31"),
        (np.ones((40, 2)), -np.ones(40), r"[Nn]egative"),
        (np.ones((40, 2)), np.r_[np.ones(39), np.nan], "NaN"),
    ],
)
def test_bad_input_is_refused(X, weight, message):
    with pytest.raises(ValueError, match=message):
        SARClassifier().fit(X, np.arange(40) < 20, sample_weight=weight)


def test_sparse_rows_with_gaps_are_refused(data, model):
    X = sparse.csr_array(np.where(data.X > 2, np.nan, data.X))
    with pytest.raises(ValueError, match=re.compile("sparse", re.IGNORECASE)):
        SARClassifier().fit(X, data.s)
    with pytest.raises(ValueError, match=re.compile("sparse", re.IGNORECASE)):
        model.predict_proba(X)


def test_progress_is_reported(data):
    callbacks = pytest.importorskip("sklearn.callback")
    bar = callbacks.ProgressBar()
    SARClassifier([0], class_models=["linear"]).set_callbacks(bar).fit(data.X, data.s)
