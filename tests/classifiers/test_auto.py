"""No column named: fits that name different ones, averaged by evidence."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit, logit
from sklearn.base import clone

from sarlearn import SARClassifier
from sarlearn._engine import auto, sar_rows
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.sar import Sample, Settings
from sarlearn._engine.sar_rows import Columns, learn
from sarlearn.exceptions import InputWarning
from sarlearn.inspection import bootstrap
from sarlearn.saving import load, save


def made(n=1500, slope=1.5, seed=0, n_columns=6):
    """Column 0 decides who is labelled; the class is not linear in columns 1 and 2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    y = rng.random(n) < expit(3 * X[:, 1] + 2 * X[:, 2] ** 2 - 2)
    return X, y, y & (rng.random(n) < expit(0.3 + slope * X[:, 0]))


@pytest.fixture(scope="module")
def data():
    return made()


@pytest.fixture(scope="module")
def model(data):
    X, _, s = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SARClassifier("auto").fit(X, s)


def quiet(*args, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SARClassifier("auto", **settings).fit(*args)


def rows_of(X, s):
    return RowBlocks(X).attach(labelled=s)


def candidates(X):
    every = np.arange(X.shape[1])
    return Columns(every, every, [], auto=True)


def test_the_class_prior_is_nearer_than_with_no_column():
    """Where labelling follows a column strongly; over several data sets."""
    errors, weights = {"auto": [], (): []}, []
    for seed in range(4):
        X, y, s = made(seed=seed)
        for named in errors:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = SARClassifier(named).fit(X, s)
            errors[named].append(abs(found.class_prior_ - y.mean()))
            if named == "auto":
                low, high = found.class_prior_range_
                assert low < y.mean() < high
                weight = dict(
                    zip(found.propensity_features_, found.propensity_weights_, strict=True)
                )
                assert weight[0] == max(weight.values())
                weights.append(weight[0])
    assert np.mean(weights) > 0.9
    assert np.mean(errors["auto"]) < 0.6 * np.mean(errors[()])


def test_labels_at_random_are_left_to_the_fit_without_columns():
    weights = []
    for seed in range(3):
        X, _, s = made(slope=0.0, seed=seed)
        (none,) = (
            one["weight"] for one in quiet(X, s).averaged_fits_ if not one["propensity_features"]
        )
        weights.append(none)
    assert np.mean(weights) > 0.4


def test_what_was_averaged_is_said(model):
    fits = model.averaged_fits_
    assert sum(one["weight"] for one in fits) == pytest.approx(1)
    for j, weight in zip(model.propensity_features_, model.propensity_weights_, strict=True):
        naming = [one["weight"] for one in fits if j in one["propensity_features"]]
        assert weight == pytest.approx(sum(naming))
    priors = [one["class_prior"] for one in fits]
    assert min(priors) <= model.class_prior_ <= max(priors)
    assert model.propensity_terms_ == [f"x{j}" for j in model.propensity_features_]
    (only,) = SARClassifier([0]).fit(*made()[::2]).averaged_fits_
    assert (only["propensity_features"], only["weight"]) == ([0], 1.0)


def test_logits_are_averaged_by_weight():
    X, _, s = made(800, slope=0.7)
    found = learn(rows_of(X, s), candidates(X), Settings(max_trees=40), 0)
    assert len(found.members) > 1
    one_model, every = found.fit.model, candidates(X).of_class
    expected, prior = np.zeros(len(X)), 0.0
    propensity = np.zeros(len(X))
    for one in found.members:
        expected += one.weight * one.fit.model.logit(X, found.terms, X)
        prior += one.weight * logit(one.fit.stack.class_prior)
        own = found.attributes.part(one.terms)
        phi = one.fit.stack.phi
        propensity += one.weight * (own.transform(X) @ phi[:-1] + phi[-1])
    np.testing.assert_allclose(one_model.logit(X[:, every], found.terms, X), expected, atol=1e-9)
    phi = found.fit.stack.phi
    np.testing.assert_allclose(
        found.attributes.transform(X) @ phi[:-1] + phi[-1], propensity, atol=1e-9
    )
    assert found.fit.stack.class_prior == pytest.approx(expit(prior))


def test_weights_follow_evidence():
    X, _, s = made(800, slope=0.7)
    found = learn(rows_of(X, s), candidates(X), Settings(max_trees=40), 0)
    assert len(found.members) > 1
    evidence = [0.5 * one.fit.stack.log_likelihood - len(one.terms) for one in found.members]
    weights = np.exp(np.array(evidence) - max(evidence))
    np.testing.assert_allclose([one.weight for one in found.members], weights / weights.sum())


def test_copies_and_columns_that_do_not_vary_are_not_ranked():
    B = np.random.default_rng(0).normal(size=(50, 3))
    terms = np.column_stack([B, -B[:, 0], B[:, 1], np.zeros(50)])
    sample = Sample(*[terms] * 3, np.arange(6), np.arange(6), *[np.ones(50)] * 2, None, [])
    assert auto._different(sample).tolist() == [0, 1, 2]
    # Of a column of words all terms have to be the same.
    words = replace(sample, attributes=np.array([0, 0, 1, 2, 2, 3]))
    assert auto._different(words).tolist() == [0, 1, 2]


def test_copies_of_a_driver_do_not_hide_it():
    X, y, s = made()
    found = quiet(np.column_stack([X, X[:, 0], 2 - 3 * X[:, 0]]), s)
    assert not {6, 7} & set(found.propensity_features_)
    assert found.propensity_weights_[0] > 0.9
    assert abs(found.class_prior_ - y.mean()) < 0.1


def test_many_columns_are_ranked_in_two_steps(monkeypatch):
    X, _, s = made(n_columns=30)
    monkeypatch.setattr(auto, "MOST_RANKED", 8)
    found = quiet(X, s, class_models=("trees",), max_iter=30)
    assert found.propensity_features_[0] == 0
    assert found.propensity_weights_[0] > 0.9


def test_words_enter_together(data):
    X, _, s = data
    table = pd.DataFrame(X[:, 1:], columns=list("bcdef"))
    place = np.digitize(X[:, 0], [-0.7, 0.7])
    table["town"] = np.array(["far", "middle", "near"])[place]
    found = quiet(table, s)
    town = [term for term in found.propensity_terms_ if term.startswith("town=")]
    assert town == ["town=far", "town=middle", "town=near"]
    assert {table.columns[j] for j in found.propensity_features_} >= {"town"}
    mean = found.predict_propensity(table).reshape(-1)
    assert mean[place == 2].mean() > mean[place == 0].mean() + 0.2


def test_sparse_is_dense(data):
    X, _, s = data
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, few = quiet(X, s, max_iter=40), quiet(sparse.csr_array(X), s, max_iter=40)
    assert few.class_prior_ == pytest.approx(dense.class_prior_, abs=1e-6)
    np.testing.assert_allclose(
        few.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-6
    )


def test_many_rows(monkeypatch):
    """A sample weighs the fits; each is then made of all rows."""
    X, y, s = made(5000)
    monkeypatch.setattr(sar_rows, "MANY_ROWS", 2500)
    monkeypatch.setattr(sar_rows, "SAMPLE_ROWS", 2000)
    found = quiet(X, s)
    assert found.propensity_features_[0] == 0
    assert abs(found.class_prior_ - y.mean()) < 0.07
    assert abs(found.predict_proba(X)[:, 1].mean() - found.class_prior_) < 1e-6


@pytest.mark.parametrize("n_columns", [1, 2])
def test_never_every_column(n_columns):
    X, _, s = made(600)
    found = quiet(X[:, 1 : 1 + n_columns], s)
    assert len(found.propensity_features_) < n_columns
    assert 0 < found.class_prior_ < 1


def test_few_labels_leave_everything_open(data):
    X, _, s = data
    few = s & (np.cumsum(s) <= 12)
    found = quiet(X, few)
    assert found.certainty_ == "not at all"
    assert found.class_prior_range_[1] == 1


def test_a_leak_is_still_told(data):
    X, _, s = data
    noise = np.random.default_rng(1).normal(size=len(s))
    with pytest.warns(match="x6 gives the label away"):
        found = SARClassifier("auto", max_iter=20).fit(np.column_stack([X, s + 0.01 * noise]), s)
    assert found.certainty_ == "not at all"


def test_labels_that_follow_columns_are_told(data):
    X, _, s = data
    with pytest.warns(match=r"do not seem to fall at random\. They may follow x0") as caught:
        found = SARClassifier("auto").fit(X, s)
    assert len(caught) == 1
    assert found.certainty_ != "well"


def test_labels_that_follow_columns_are_told_where_none_is_named():
    """On most data sets of strong labelling, and on few where labels fall at random."""
    told = {2.0: 0, 0.0: 0}
    for slope in told:
        for seed in range(4):
            X, _, s = made(slope=slope, seed=seed)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = SARClassifier(()).fit(X, s)
            text = " ".join(str(one.message) for one in caught)
            if "do not seem to fall at random" in text:
                told[slope] += 1
                assert len(caught) == 1
                assert "Name the columns that labelling depends on" in text
                assert found.certainty_ != "well"
                assert "x0" in text or not slope
            assert found.propensity_features_.tolist() == []
    assert told[2.0] >= 3
    assert told[0.0] <= 2


def test_certainty_is_not_the_best_word_where_labels_follow_columns(monkeypatch):
    """Also where the range is narrow: here by a class prior that is known but for a little."""
    X, y, s = made(3000)
    known = (float(y.mean()) - 0.02, float(y.mean()) + 0.02)
    with pytest.warns(match="They may follow x0") as caught:
        found = SARClassifier("auto", class_prior=known, max_iter=60).fit(X, s)
    assert {one.message.code for one in caught} == {"not-at-random"}
    assert found.class_prior_range_[1] - found.class_prior_range_[0] < 0.05
    assert found.certainty_ == "roughly"


def test_a_column_of_that_name_is_meant(data):
    X, _, s = data
    table = pd.DataFrame(X, columns=["a", "auto", "c", "d", "e", "f"])
    assert SARClassifier("auto", max_iter=10).fit(table, s).propensity_features_.tolist() == [1]


@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        (sparse.random_array((300, 2001), density=0.01, format="csr"), {}, "up to 2,000 columns"),
        (np.eye(300, 3), {"single_sample": False}, "rows of one sample"),
    ],
)
def test_where_it_cannot_rank_no_column_is_named_and_that_is_said(X, settings, message):
    settings = settings | {"class_models": ["linear"]}
    with pytest.warns(InputWarning, match=message):
        found = SARClassifier(**settings).fit(X, np.arange(300) % 3 == 0)
    assert found.propensity_features_.tolist() == []


def test_saved_and_cloned(data, model, tmp_path):
    X, _, s = data
    save(model, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.averaged_fits_ == model.averaged_fits_
    assert quiet(X, s).class_prior_ == pytest.approx(model.class_prior_, abs=1e-12)
    assert clone(model).propensity_features == "auto"


def test_bootstrap_leaves_coefficients_out():
    X, _, s = made(400)
    found = bootstrap(quiet(X, s, max_iter=10), X, s, n_resamples=20, random_state=0)
    low, high = found.interval("class_prior")
    assert low < high
    assert "propensity_coef" not in found.estimates
    assert found.interval("propensity_curve")[0].shape == found.estimates["propensity_curve"].shape
