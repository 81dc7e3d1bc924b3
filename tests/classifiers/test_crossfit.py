"""Cross-fitting: the classifier and the class prior."""

import pickle
from importlib import import_module
from operator import attrgetter

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, minmax_scale

from conftest import make_pu
from sarlearn import SAREMClassifier
from sarlearn._engine.crossfit import START_C
from sarlearn._engine.em import Point
from sarlearn._engine.known_prior import PseudoCounts
from sarlearn.classifiers.crossfit import CrossFitSARClassifier
from sarlearn.priors.crossfit import CrossFitPrior


@pytest.fixture(scope="module")
def biased():
    """Labels that depend on two columns, in a setting where SAR-EM's penalty hurts."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((4000, 30))
    X[:, :2] = X[:, :2] > 0
    y = rng.random(4000) < expit(X[:, 2:8] @ np.full(6, 1.5) - 0.5)
    e = 0.15 + 0.35 * X[:, 0] + 0.2 * X[:, 1]
    return X, y, e, y & (rng.random(4000) < e)


@pytest.fixture(scope="module")
def fitted(biased):
    X, _, _, s = biased
    return CrossFitSARClassifier([0, 1], random_state=0).fit(X, s)


def test_it_recovers_prior_and_propensity_better_than_sar_em(biased, fitted):
    X, y, e, s = biased
    plain = SAREMClassifier([0, 1]).fit(X, s)
    assert abs(fitted.class_prior_ - y.mean()) < 0.02
    assert abs(fitted.class_prior_ - y.mean()) < abs(plain.class_prior_ - y.mean())
    error = np.abs(fitted.predict_propensity(X) - e).mean()
    assert error < 0.03
    assert error < np.abs(plain.predict_propensity(X) - e).mean()
    assert np.mean(fitted.predict(X) == y) > 0.85


def test_the_average_hears_the_settings(monkeypatch):
    """Weights and pseudo-counts, and SAR-EM's answer under its own settings."""
    module, heard = import_module("sarlearn._engine.crossfit"), []
    ask = module.average_on_rows
    monkeypatch.setattr(
        module, "average_on_rows", lambda *given: heard.append(given) or ask(*given)
    )
    data = make_pu(260)
    weight = data.rng.uniform(0.5, 2.0, 260)
    settings = {"decay": 0.6, "propensity_C": 0.1, "max_iter": 100}
    model = CrossFitSARClassifier([0, 1], pseudo_counts=20.0, random_state=0, **settings)
    model.fit(data.X, data.s, sample_weight=weight)
    rows, _, _, _, start, pseudo_counts = heard[0]
    np.testing.assert_allclose(rows.gather(attrgetter("weight")), weight)
    assert pseudo_counts == PseudoCounts(20.0, 20.0)
    sar_em = SAREMClassifier([0, 1], C=START_C, **settings)
    sar_em.fit(data.X, data.s, sample_weight=weight)
    assert start == pytest.approx(sar_em.class_prior_, abs=1e-6)


@pytest.mark.usefixtures("fits_alone")
def test_columns_far_from_zero_have_coefficients_of_their_own_units():
    """Found by fuzzing: the class model's intercept was that of centred columns."""
    data = make_pu(300, 4)
    X = (data.X + 1024) - 1024  # as the shift rounds them
    near = CrossFitSARClassifier([0, 1], random_state=0).fit(X, data.s)
    far = CrossFitSARClassifier([0, 1], random_state=0).fit(X + 1024, data.s)
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-6)
    np.testing.assert_allclose(far.predict_proba(X + 1024), near.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(
        far.predict_propensity(X + 1024), near.predict_propensity(X), atol=1e-6
    )
    assert far.class_prior_ == pytest.approx(near.class_prior_, abs=1e-6)


def test_fitted_attributes(biased, fitted):
    X, _, _, s = biased
    low, high = fitted.class_prior_range_
    assert low < fitted.class_prior_ < high
    assert fitted.identification_width_ == high - low < 0.2
    assert fitted.label_frequency_ == pytest.approx(s.mean() / fitted.class_prior_)
    assert fitted.Cs[int(np.nanargmax(fitted.held_out_log_likelihood_))] == fitted.C_
    assert fitted.slope_ > 0
    assert fitted.propensity_coef_.shape == (1, 2)
    assert fitted.coef_.shape == (1, 30)
    assert len(fitted.history_["class_prior"]) == fitted.n_iter_
    assert fitted.predict_posterior(X, s)[s].min() == 1


def test_a_number_for_C_changes_the_last_step_only(biased, fitted):
    X, _, _, s = biased
    bold = clone(fitted).set_params(C=30.0).fit(X, s)
    assert bold.C_ == 30.0
    assert bold.class_prior_ == fitted.class_prior_
    np.testing.assert_array_equal(bold.propensity_coef_, fitted.propensity_coef_)
    assert np.linalg.norm(bold.coef_) > np.linalg.norm(fitted.coef_)


def test_names_sparse_and_pickles_agree(biased, fitted):
    X, _, _, s = biased
    names = [f"column {i}" for i in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    named = CrossFitSARClassifier(names[:2], random_state=0).fit(frame, s)
    np.testing.assert_allclose(named.predict_proba(frame), fitted.predict_proba(X))
    thin = sparse.csr_array(X)
    again = clone(fitted).fit(thin, s)
    np.testing.assert_allclose(again.predict_propensity(thin), fitted.predict_propensity(X))
    np.testing.assert_allclose(again.predict_proba(thin), fitted.predict_proba(X), atol=1e-4)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.UnidentifiedWarning")
def test_rows_of_weight_zero_are_absent_whatever_the_folds(biased):
    X, _, _, s = (part[:600] for part in biased)
    weight = np.ones(600)
    weight[::7] = 0
    kept = weight > 0
    numbers = np.arange(600)
    given = [(numbers % 3 != k, numbers[numbers % 3 == k]) for k in range(3)]  # a mask, numbers
    model = CrossFitSARClassifier([0], cv=given).fit(X, s, sample_weight=weight)
    left = numbers[kept]
    folds = [(np.flatnonzero(left % 3 != k), np.flatnonzero(left % 3 == k)) for k in range(3)]
    without = CrossFitSARClassifier([0], cv=folds).fit(X[kept], s[kept])
    assert model.class_prior_ == pytest.approx(without.class_prior_, rel=1e-9)
    np.testing.assert_allclose(model.coef_, without.coef_, rtol=1e-6)
    shuffled = CrossFitSARClassifier([0], cv=3, random_state=0)
    one = shuffled.fit(X, s, sample_weight=weight).class_prior_
    assert one == pytest.approx(shuffled.fit(X[kept], s[kept]).class_prior_, rel=1e-9)


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.UnidentifiedWarning")
def test_no_cv_is_five_folds(biased):
    X, _, _, s = (part[:800] for part in biased)
    priors = [CrossFitPrior([0], cv=cv, random_state=0).fit(X, s).class_prior_ for cv in (5, None)]
    assert priors[0] == priors[1]


def test_repeated_folds_average_scores(biased):
    X, y, _, s = (part[:1500] for part in biased)
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    model = CrossFitSARClassifier([0, 1], cv=cv).fit(X, s)
    assert abs(model.class_prior_ - y.mean()) < 0.05


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.UnidentifiedWarning")
def test_weights_are_routed(biased):
    X, _, _, s = (part[:800] for part in biased)
    weight = np.random.default_rng(0).random(800)
    with config_context(enable_metadata_routing=True):
        model = CrossFitSARClassifier(random_state=0, Cs=[1.0]).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        scaled = make_pipeline(scaler, model).fit(X, s, sample_weight=weight)
        results = cross_validate(model, X, s, params={"sample_weight": weight}, cv=2)
    direct = clone(model).fit(StandardScaler().fit_transform(X), s, sample_weight=weight)
    assert scaled[-1].class_prior_ == pytest.approx(direct.class_prior_)
    assert scaled[-1].class_prior_ != pytest.approx(
        clone(model).fit(StandardScaler().fit_transform(X), s).class_prior_, rel=1e-6
    )
    assert np.isfinite(results["test_score"]).all()


def test_boosting_is_held_out_in_every_step():
    """Rings: no linear model sees the class. Boosting that graded its own training rows would
    find no hidden positive."""
    rng = np.random.default_rng(0)
    # With weights, boosting spends its time on finding bins, unless each value can be its own.
    X = (40 * rng.standard_normal((3000, 3))).round().clip(-120, 120) / 40
    X[:, 2] = X[:, 2] > 0
    y = rng.random(3000) < expit(4 * (X[:, 0] ** 2 + X[:, 1] ** 2 - 2))
    e = np.where(X[:, 2] == 1, 0.8, 0.4)
    s = y & (rng.random(3000) < e)
    boosting = HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=16, random_state=0)
    model = CrossFitSARClassifier([2], classifier=boosting, cv=3, random_state=0).fit(X, s)
    assert abs(model.class_prior_ - y.mean()) < 0.03
    assert np.abs(model.predict_propensity(X) - e).mean() < 0.06
    assert np.mean(model.predict(X) == y) > 0.88
    assert model.classifier_.classes_.tolist() == [0, 1]
    assert not hasattr(model, "C_")
    assert not hasattr(model, "coef_")


def test_sparse_input_is_for_classifiers_that_take_it():
    for model in (CrossFitSARClassifier, CrossFitPrior):
        assert model().__sklearn_tags__().input_tags.sparse
        assert not model(classifier=GaussianNB()).__sklearn_tags__().input_tags.sparse


def test_it_warns_where_labels_leave_the_prior_open():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    s = rng.random(400) < 0.5 * expit(X[:, 0])  # no row is surely positive
    with pytest.warns(UserWarning, match="The labels do not pin the class prior down"):
        model = CrossFitSARClassifier(random_state=0).fit(X, s)
    assert model.identification_width_ > 0.2
    with pytest.warns(UserWarning, match="Label more rows"):
        CrossFitPrior(random_state=0).fit(X, s)


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.UnidentifiedWarning")
def test_it_warns_where_every_column_is_a_propensity_feature(biased):
    X, _, _, s = (part[:800] for part in biased)
    for model in (CrossFitSARClassifier, CrossFitPrior):
        with pytest.warns(UserWarning, match="Every column is a propensity feature"):
            model([0, 1, 2], random_state=0, Cs=[1.0]).fit(X[:, :3], s)


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.EveryColumnWarning")
def test_every_column_leaves_sar_em_its_propensity(biased):
    X, _, _, s = (part[:1500] for part in biased)
    X = X[:, :8]
    columns = list(range(8))
    with pytest.warns(UserWarning, match="not debiased. Leave out of propensity_features"):
        model = CrossFitSARClassifier(columns, random_state=0).fit(X, s)
    plain = SAREMClassifier(columns, C=10.0).fit(X, s)
    np.testing.assert_allclose(model.predict_propensity(X), plain.predict_propensity(X), rtol=1e-10)
    assert model.class_prior_range_ == (pytest.approx(s.mean()), 1.0)
    assert model.identification_width_ == pytest.approx(1 - s.mean())
    with pytest.warns(UserWarning, match="rests on SAR-EM"):
        prior = CrossFitPrior(columns, scaling="none", random_state=0).fit(X, s)
    assert prior.class_prior_ == pytest.approx(model.class_prior_)


@pytest.mark.filterwarnings(
    "ignore::sarlearn.exceptions.UnidentifiedWarning",
    "ignore::sarlearn.exceptions.EveryColumnWarning",
)
def test_every_column_does_not_exchange_class_and_propensity():
    """A label model that is free to choose gave AUCs of 0.98, 0.66, 0.29 and 0.08 here."""
    X, benign = load_breast_cancer(return_X_y=True)
    X, y = minmax_scale(X), benign == 0
    for seed in range(100, 104):
        s = y & (np.random.default_rng(seed).random(len(y)) < 0.3)
        model = CrossFitSARClassifier(range(30), random_state=0).fit(X, s)
        assert roc_auc_score(y, model.decision_function(X)) > 0.95


def test_it_warns_where_fits_were_cut_short(biased):
    X, _, _, s = (part[:500] for part in biased)
    with pytest.warns(UserWarning, match="No convergence in 3 iterations"):
        CrossFitSARClassifier(max_iter=3, random_state=0, Cs=[1.0]).fit(X, s)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": -1}, "'C' parameter"),
        ({"C": "best"}, "'C' parameter"),
        ({"Cs": []}, "Cs must be a sequence of positive numbers"),
        ({"Cs": [1.0, 0.0]}, "Cs must be a sequence of positive numbers"),
        ({"decay": 0}, "'decay' parameter"),
        ({"propensity_features": [99]}, "column index 99 is out of range"),
        ({"cv": [(np.arange(100), np.arange(100, 200))]}, "400 rows in no test fold"),
        ({"classifier": StandardScaler()}, "no predict_proba"),
    ],
)
def test_bad_parameters_are_named(biased, parameters, message):
    X, _, _, s = (part[:500] for part in biased)
    with pytest.raises(ValueError, match=message):
        CrossFitSARClassifier(**parameters).fit(X, s)


def test_folds_need_rows_of_both_kinds():
    X = np.random.default_rng(0).standard_normal((60, 2))
    s = np.arange(60) < 30
    with pytest.raises(ValueError, match="holds only unlabelled rows"):
        CrossFitSARClassifier(cv=KFold(2)).fit(X, s)
    s = np.arange(60) == 0
    with (
        pytest.warns(UserWarning, match="Only 1 labelled"),
        pytest.raises(ValueError, match="at least two labelled"),
    ):
        CrossFitSARClassifier().fit(X, s)


@pytest.mark.filterwarnings(
    "ignore::sarlearn.exceptions.FewLabelsWarning",
    "ignore::sarlearn.exceptions.UnidentifiedWarning",
)
def test_fewer_labels_than_folds():
    X = np.random.default_rng(0).standard_normal((60, 2))
    with pytest.warns(UserWarning, match="3 folds are used"):
        CrossFitSARClassifier(random_state=0).fit(X, np.arange(60) < 3)


def test_the_prior_is_the_classifiers(biased, fitted):
    X, _, _, s = biased
    prior = CrossFitPrior([0, 1], scaling="none", random_state=0).fit(X, s)
    assert prior.class_prior_ == pytest.approx(fitted.class_prior_)
    assert prior.class_prior_range_ == pytest.approx(fitted.class_prior_range_)
    assert prior.slope_ == fitted.slope_
    share = s.mean()
    assert prior.class_prior_ == pytest.approx(share + (1 - share) * prior.unlabelled_prior_)
    two_samples = CrossFitPrior([0, 1], scaling="none", single_sample=False, random_state=0)
    assert two_samples.fit(X, s).class_prior_ == pytest.approx(prior.unlabelled_prior_)


def test_the_prior_scales_columns(biased):
    X, y, _, s = biased
    prior = CrossFitPrior([0, 1], random_state=0).fit(X, s)
    assert abs(prior.class_prior_ - y.mean()) < 0.03
    units = np.geomspace(1e-3, 1e3, X.shape[1])
    again = CrossFitPrior([0, 1], random_state=0).fit(X * units, s)
    assert again.class_prior_ == pytest.approx(prior.class_prior_, rel=1e-3)


def test_the_whole_costs_a_few_times_the_passes_of_the_first_step(biased, monkeypatch):
    """Penalties in five folds, twice: shared sums and warm starts make them cheap.

    Counted in rows that are read: a pass without a fold reads fewer, in two pieces.
    """
    X, _, _, s = biased
    rows = []
    sums_of = Point.sums_of
    monkeypatch.setattr(
        Point, "sums_of", lambda *given: rows.append(given[1].n_rows) or sums_of(*given)
    )
    SAREMClassifier([0, 1], C=10.0).fit(X, s)
    of_em = sum(rows)
    rows.clear()
    CrossFitSARClassifier([0, 1], random_state=0).fit(X, s)
    assert sum(rows) < 6 * of_em


def test_groups_are_held_out_together():
    from sklearn.model_selection import GroupKFold

    from sarlearn._engine.folds import make_folds

    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(600, 3)), np.arange(600) // 6
    s = (3 * X[:, 0] + X[:, 1] > 0) & (rng.random(600) < 0.5)
    for cv in (5, GroupKFold(4)):
        for train, test in make_folds(X, s, None, cv, 0, groups):
            assert not set(groups[train]) & set(groups[test])
    apart = CrossFitSARClassifier([2], random_state=0).fit(X, s)
    together = CrossFitSARClassifier([2], random_state=0).fit(X, s, groups=groups)
    assert apart.class_prior_ != together.class_prior_
    with pytest.raises(ValueError, match="need as many groups; there are 2"):
        CrossFitSARClassifier([2]).fit(X, s, groups=groups % 2)
    with pytest.raises(ValueError, match="one value per row, 600"):
        CrossFitSARClassifier([2]).fit(X, s, groups=groups[:5])
