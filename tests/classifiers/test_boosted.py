"""Boosted trees learned from biased labels."""

import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import KFold

from sarlearn import BoostedSARClassifier
from sarlearn._view.parts import take_apart
from sarlearn.exceptions import EveryColumnWarning, FewerFoldsWarning, UnidentifiedWarning
from sarlearn.inspection import goodness_of_fit, relative_prevalence
from sarlearn.reporting.effects import importance

pytest.importorskip("lightgbm", reason="LightGBM is not installed")


class Data:
    """An exclusive or, with labels that follow one of the other columns."""

    def __init__(self, n=2500, seed=0):
        rng = np.random.default_rng(seed)
        self.X = rng.random((n, 5))
        self.y = rng.random(n) < expit(60 * (self.X[:, 0] - 0.5) * (self.X[:, 1] - 0.5))
        self.e = expit(4 * self.X[:, 2] - 2)
        self.s = self.y & (rng.random(n) < self.e)


@pytest.fixture(scope="module")
def data():
    return Data()


@pytest.fixture(scope="module")
def model(data):
    return BoostedSARClassifier([2], random_state=0).fit(data.X, data.s)


def test_it_finds_what_no_line_tells(data, model):
    new = Data(4000, seed=1)
    told = BoostedSARClassifier(random_state=0).fit(data.X, data.s, propensity=data.e)
    auc = roc_auc_score(new.y, model.predict_proba(new.X)[:, 1])
    assert auc > 0.9
    assert auc > roc_auc_score(new.y, told.predict_proba(new.X)[:, 1]) - 0.02
    assert model.class_prior_ == pytest.approx(data.y.mean(), abs=0.05)
    assert told.class_prior_ == pytest.approx(data.y.mean(), abs=0.04)
    assert np.abs(model.predict_propensity(new.X) - new.e).mean() < 0.07


def test_attributes_agree_with_each_other(data, model):
    low, high = model.class_prior_range_
    assert low < model.class_prior_ < high
    assert model.identification_width_ == high - low
    assert model.class_prior_ == pytest.approx(model.class_priors_.mean())
    assert model.label_frequency_ == pytest.approx(data.s.mean() / model.class_prior_)
    assert model.predict_proba(data.X)[:, 1].mean() == pytest.approx(model.class_prior_, abs=0.05)
    assert model.propensity_terms_ == ["x2"]
    e = expit(data.X[:, 2] * model.propensity_coef_[0, 0] + model.propensity_intercept_[0])
    np.testing.assert_allclose(model.predict_propensity(data.X), e)
    strength = np.abs(model.propensity_coef_[0, 0]) * data.X[:, 2].std()
    assert model.propensity_strength_ == pytest.approx(strength)
    assert model.sure_propensity_share_ == np.mean((e < 0.02) | (e > 0.98))
    assert set(model.history_) == {"run", "round", "log_likelihood", "class_prior"}
    assert set(model.history_["run"]) == {0.0, 1.0}
    np.testing.assert_allclose(model.decision_function(data.X), _logit(model, data.X))
    posterior = model.predict_posterior(data.X, data.s)
    assert (posterior[data.s] == 1).all()


def _logit(model, X):
    f = model.predict_proba(X)[:, 1]
    return np.log(f / (1 - f))


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.UnidentifiedWarning")
def test_any_number_of_threads_gives_the_same_in_silence(fits_alone, capfd):
    """LightGBM would print from every thread but the first, into the output of a command."""
    data = Data(300)
    model = BoostedSARClassifier([2], max_iter=30, random_state=0).fit(data.X, data.s)
    for n_jobs in (2, -1):
        other = clone(model).set_params(n_jobs=n_jobs).fit(data.X, data.s)
        np.testing.assert_array_equal(other.predict_proba(data.X), model.predict_proba(data.X))
        assert other.class_prior_ == model.class_prior_
    assert capfd.readouterr() == ("", "")


def test_pickled_models_predict_the_same_bits(data, model):
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(data.X), model.predict_proba(data.X))


def test_sparse_is_dense(data):
    X = np.where(data.X > 0.4, data.X, 0.0)
    sizes = np.abs(X).max(axis=0)
    model = BoostedSARClassifier([2], random_state=0)
    dense = clone(model).fit(X / sizes, data.s)
    thin = clone(model).fit(sparse.csr_array(X / sizes), data.s)
    # Linear starts are scaled in another way; the trees see the same. Where boosting ends may
    # differ, and the class prior then by as much as it does between draws of the folds.
    for one, other in ((dense, thin), (thin, dense)):
        low, high = one.class_prior_range_
        assert low < other.class_prior_ < high
        assert other.class_prior_ == pytest.approx(one.class_prior_, abs=0.05)
    f, g = (m.predict_proba(X / sizes)[:, 1] for m in (dense, thin))
    assert np.corrcoef(f, g)[0, 1] > 0.98
    of_columns = thin.predict_proba(sparse.csc_array(X / sizes))[:, 1]
    np.testing.assert_allclose(of_columns, g, rtol=1e-12)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_tables_with_categories_and_gaps(data, make):
    rng = np.random.default_rng(3)
    plan = np.where(data.X[:, 2] > 0.5, "full", np.where(data.X[:, 3] > 0.5, "basic", "none"))
    age = np.where(rng.random(len(plan)) < 0.1, np.nan, data.X[:, 0])
    columns = {"age": age, "b": data.X[:, 1], "plan": plan, "c": data.X[:, 2]}
    table = make(columns)
    model = BoostedSARClassifier(["plan", "age"], random_state=0).fit(table, data.s)
    expected = ["plan=basic", "plan=full", "plan=none", "age", "age=(missing)"]
    assert model.propensity_terms_ == expected
    assert model.predict_propensity(table)[plan == "full"].mean() > 0.6
    assert model.categories_.values == [["basic", "full", "none"]]
    # Codes by hand give the same model.
    codes = np.unique(plan, return_inverse=True)[1].astype(float)
    X = np.column_stack([age, data.X[:, 1], codes, data.X[:, 2]])
    by_hand = BoostedSARClassifier([2, 0], categorical_features=[2], random_state=0)
    by_hand.fit(X, data.s)
    np.testing.assert_array_equal(by_hand.predict_proba(X), model.predict_proba(table))
    # A value that was never seen counts as missing.
    new = make({**columns, "plan": np.where(plan == "none", "other", plan)})
    gap = make({**columns, "plan": [None if p == "none" else p for p in plan]})
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(gap))


def test_weights_are_felt_and_zero_is_absent(data):
    model = BoostedSARClassifier([2], random_state=0)
    weight = np.where(data.X[:, 0] > 0.5, 3.0, 1.0)
    weighted = clone(model).fit(data.X, data.s, sample_weight=weight)
    prior = np.average(data.y, weights=weight)
    assert weighted.class_prior_ == pytest.approx(prior, abs=0.06)
    kept = np.arange(len(data.s)) % 3 > 0
    without = clone(model).fit(data.X, data.s, sample_weight=kept.astype(float))
    removed = clone(model).fit(data.X[kept], data.s[kept])
    # Weights of one and none at all are added up in another order.
    np.testing.assert_allclose(
        without.predict_proba(data.X), removed.predict_proba(data.X), rtol=1e-5
    )


def test_known_propensity(data):
    model = BoostedSARClassifier(random_state=0).fit(data.X, data.s, propensity=data.e)
    assert not hasattr(model, "propensity_coef_")
    low, high = model.class_prior_range_
    assert low < model.class_prior_ < high
    with pytest.raises(ValueError, match="told the propensity"):
        model.predict_propensity(data.X)
    s = data.y & (np.random.default_rng(0).random(len(data.y)) < 0.5)
    one = BoostedSARClassifier(random_state=0).fit(data.X, s, propensity=0.5)
    assert one.class_prior_ == pytest.approx(data.y.mean(), abs=0.04)
    with pytest.raises(ValueError, match="must be empty; it names 1"):
        BoostedSARClassifier([2]).fit(data.X, data.s, propensity=data.e)
    with pytest.raises(ValueError, match=r"must lie in \(0, 1\]"):
        BoostedSARClassifier().fit(data.X, data.s, propensity=2.0)
    again = model.set_params(propensity_features=[2]).fit(data.X, data.s)
    assert again.predict_propensity(data.X).std() > 0.1


def test_every_column_named_keeps_the_first_propensity():
    data = Data(600)
    with pytest.warns(EveryColumnWarning), pytest.warns(UnidentifiedWarning) as caught:
        model = BoostedSARClassifier(range(5), random_state=0).fit(data.X, data.s)
    assert model.class_prior_range_ == (pytest.approx(data.s.mean()), 1.0)
    said = [w.message for w in caught if isinstance(w.message, UnidentifiedWarning)]
    assert not said[0].debiased
    assert model.propensity_coef_.shape == (1, 5)


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
def test_few_labels_mean_fewer_folds():
    data = Data(200)
    labelled = np.flatnonzero(data.s)[:2]
    s = np.isin(np.arange(200), labelled)
    with pytest.warns(FewerFoldsWarning) as caught:
        BoostedSARClassifier(random_state=0).fit(data.X, s)
    assert sum(issubclass(w.category, FewerFoldsWarning) for w in caught) == 1


def test_folds_of_the_user(data):
    splitter = KFold(3, shuffle=True, random_state=5)
    a = BoostedSARClassifier([2], cv=splitter).fit(data.X, data.s)
    b = BoostedSARClassifier([2], cv=splitter.split(data.X)).fit(data.X, data.s)
    np.testing.assert_array_equal(a.predict_proba(data.X), b.predict_proba(data.X))


def test_bad_input_is_refused_with_its_name(data):
    X = sparse.csr_array(np.where(data.X > 0.9, np.nan, data.X))
    with pytest.raises(ValueError, match="sparse and holds NaN"):
        BoostedSARClassifier().fit(X, data.s)
    with pytest.raises(ValueError, match="categorical_features are for tables"):
        BoostedSARClassifier(categorical_features=[1]).fit(sparse.csr_array(data.X), data.s)
    with pytest.raises(ValueError, match="infinity"):
        BoostedSARClassifier().fit(np.where(data.X > 0.9, np.inf, data.X), data.s)
    with pytest.raises(ValueError, match="max_leaf_nodes"):
        BoostedSARClassifier(max_leaf_nodes=1).fit(data.X, data.s)
    with pytest.raises(ValueError, match="categorical_features: X has no column 'colour'"):
        BoostedSARClassifier(categorical_features=["colour"]).fit(
            pd.DataFrame(data.X, columns=list("abcde")), data.s
        )


def test_without_lightgbm_the_error_names_the_extra(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ImportError, match=r"sarlearn\[boost\]"):
        BoostedSARClassifier().fit(data.X, data.s)


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.UnidentifiedWarning")
def test_columns_that_say_nothing():
    data = Data(400)
    X = np.column_stack([data.X, np.full(400, 3.0), np.full(400, np.nan)])
    model = BoostedSARClassifier([2], random_state=0).fit(X, data.s)
    assert np.isfinite(model.predict_proba(X)).all()
    constant = BoostedSARClassifier(random_state=0).fit(X[:, 5:], data.s)
    assert np.ptp(constant.predict_proba(X[:, 5:])[:, 1]) < 1e-9
    # Labels tell nothing but their share; the rest is what pseudo-counts of four and two prefer.
    prior = np.linspace(data.s.mean(), 1, 100_001)[1:-1]
    frequency = data.s.mean() / prior
    loss = -4 * np.log(prior * (1 - prior)) - 2 * np.log(frequency * (1 - frequency))
    guess = prior[np.argmin(loss)]
    assert constant.class_prior_ == pytest.approx(guess, rel=1e-3)
    alone = constant.set_params(pseudo_counts=0).fit(X[:, 5:], data.s)
    assert abs(alone.class_prior_ - guess) > 0.01


# -- the rest of the package with it ---------------------------------------------------------


def test_saved_models_predict_the_same_bits_and_are_checked(data, model, tmp_path):
    import sarlearn

    pytest.importorskip("skops.io", reason="skops is not installed")
    path = tmp_path / "model.skops"
    sarlearn.save(model, path)
    again = sarlearn.load(path)
    np.testing.assert_array_equal(again.predict_proba(data.X), model.predict_proba(data.X))
    np.testing.assert_array_equal(
        again.predict_propensity(data.X), model.predict_propensity(data.X)
    )
    # Trees that point to a feature that does not exist are not handed to LightGBM.
    trees = next(t for one in again.ensembles_ for t in one.trees if "split_feature=" in t.text)
    trees.text = trees.text.replace("split_feature=", "split_feature=7", 1)
    sarlearn.save(again, path)
    with pytest.raises(ValueError, match="stored trees are damaged"):
        sarlearn.load(path).predict_proba(data.X)


def test_prior_estimator_is_the_model_s(data):
    from sarlearn.priors import BoostedPrior, compare_priors

    table = pd.DataFrame(data.X, columns=list("abcde"))
    prior = BoostedPrior(["c"], n_runs=1, random_state=0).fit(table, data.s)
    model = BoostedSARClassifier([2], n_runs=1, random_state=0).fit(data.X, data.s)
    assert prior.class_prior_ == pytest.approx(model.class_prior_)
    assert prior.class_prior_range_ == model.class_prior_range_
    s = data.y & (np.random.default_rng(0).random(len(data.y)) < 0.5)
    found = compare_priors(data.X, s, ["boosted"], random_state=0)
    assert found.rows[0].class_prior == pytest.approx(data.y.mean(), abs=0.05)


def test_sensitivity(data, model):
    from sarlearn.inspection import sensitivity

    tried = sensitivity(model, data.X, data.s, propensity_bounds=(0.8, 1.25), n_factors=2)
    low, high = (row.class_prior for row in tried.scaled)
    assert low > model.class_prior_ > high - 0.02  # lower propensities, more positives


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
def test_bootstrap_moves_with_the_rows():
    from sarlearn.inspection import bootstrap

    data = Data(400)
    model = BoostedSARClassifier([2], n_runs=1, cv=2, max_iter=10, random_state=0)
    found = bootstrap(model.fit(data.X, data.s), data.X, data.s, n_resamples=20, random_state=0)
    low, high = found.interval("class_prior")
    assert low < high


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
def test_inspection_takes_categories_and_gaps(data):
    """What the learner takes as it comes, everything that looks at it does, too."""
    rng = np.random.default_rng(3)
    plan = np.where(data.X[:, 2] > 0.5, "full", np.where(data.X[:, 3] > 0.5, "basic", "none"))
    age = np.where(rng.random(len(plan)) < 0.1, np.nan, data.X[:, 0])
    table = pd.DataFrame({"age": age, "b": data.X[:, 1], "plan": plan, "c": data.X[:, 2]})
    model = BoostedSARClassifier(["plan", "age"], n_runs=1, random_state=0).fit(table, data.s)
    compared = relative_prevalence(model, table, data.s, "plan")
    assert set(compared.groups) == {"none", "full", "basic"}
    found = goodness_of_fit(model, table, data.s)
    assert found.flexible
    assert not found.nonlinear
    assert "boost" not in " ".join(found.problems)
    # Held out: trees are surer of the rows that they were grown from.
    assert found.misfit == pytest.approx(model.goodness_["misfit"], abs=2.0)
    assert {row["attribute"] for row in importance(take_apart(model, table))} == set(table.columns)


def test_checks_look_at_held_out_logits(model, data):
    """Trees are surer of the rows that they were grown from; a right model is not to blame."""
    f, held_out = model.predict_proba(data.X)[:, 1], expit(model.held_out_logit_)
    assert log_loss(data.s, held_out * data.e) > log_loss(data.s, f * data.e)
    assert roc_auc_score(data.y, held_out) > 0.9
    assert model.goodness_["misfit"] < 4
    assert model.certainty_ in ("well", "roughly")
    assert goodness_of_fit(model, data.X, data.s).problems == []
