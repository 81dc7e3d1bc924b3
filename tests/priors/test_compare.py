"""Comparing class-prior estimators, and learning with their answer."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from sarlearn import KnownPropensityClassifier
from sarlearn.classifiers.scar import SCARClassifier
from sarlearn.exceptions import DataWarning
from sarlearn.priors import (
    DEDPUL,
    BestBinEstimator,
    KernelMean,
    LearnerPrior,
    TIcE,
    compare_priors,
)
from sarlearn.priors._compare import default_estimators


@pytest.fixture(scope="module")
def data():
    """Two Gaussians, labels that are a random sample of the positives."""
    rng = np.random.default_rng(0)
    y = rng.random(500) < 0.45
    X = rng.standard_normal((500, 3)) + np.where(y, 1.5, -1.5)[:, None]
    return X, y & (rng.random(500) < 0.5), y


@pytest.fixture(scope="module")
def comparison(data):
    X, s, _ = data
    return compare_priors(X, s, random_state=0)


def test_every_method_is_in_the_table(comparison, data):
    _, s, y = data
    assert [row.method for row in comparison.rows] == list(default_estimators())
    for row in comparison.rows:
        assert row.class_prior == pytest.approx(y.mean(), abs=0.12)
        assert row.class_prior == pytest.approx(
            s.mean() + (1 - s.mean()) * row.unlabelled_prior, abs=1e-9
        )
    text = str(comparison)
    assert all(row.method in text for row in comparison.rows)
    assert "The estimates " in text
    assert comparison.spread == pytest.approx(np.ptp([r.class_prior for r in comparison.rows]))


def test_methods_are_given_the_groups(data):
    X, s, _ = data
    groups = np.arange(len(s)) // 3
    (row,) = compare_priors(X, s, ["TIcE"], groups=groups, random_state=0).rows
    alone = (TIcE(random_state=0).fit(X, s, groups=given).class_prior_ for given in (groups, None))
    assert row.class_prior == next(alone) != next(alone)


def test_our_learner_is_among_them(comparison, data):
    X, s, _ = data
    row = comparison.rows[0]
    assert row.method == "SARClassifier"
    alone = LearnerPrior().fit(X, s)
    assert row.class_prior == alone.class_prior_ == alone.learner_.class_prior_
    learner = comparison.estimators["SARClassifier"].learner_
    assert learner.class_prior_range_ == alone.learner_.class_prior_range_


def test_labels_that_pin_nothing_down_are_noted():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((300, 3)), rng.random(300) < 0.25
    found = compare_priors(X, s, ["SARClassifier"], random_state=0)
    assert any("do not determine the class prior" in note for note in found.rows[0].notes)


def test_rows_make_a_data_frame(comparison):
    frame = pytest.importorskip("pandas").DataFrame(comparison.rows).set_index("method")
    assert frame.loc["BBE", "class_prior"] == comparison.rows[1].class_prior


def test_disagreement_is_said(data):
    X, s, _ = data
    priors = BestBinEstimator(single_sample=False), BestBinEstimator()
    chosen = dict(zip(("low", "high"), priors, strict=True))
    with pytest.warns(UserWarning, match=r"disagree by more than 0.1: .*\(low\) to .*\(high\)"):
        found = compare_priors(X, s, chosen, random_state=0)
    assert found.disagree
    assert "SARClassifier with propensity features" in found.verdict


def test_warnings_and_failures_are_in_the_notes():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((60, 2)), np.arange(60) < 1
    chosen = {"KM1": KernelMean(), "TIcE": TIcE(cv=5)}
    with pytest.warns(DataWarning, match="Only 1 labelled row") as caught:
        found = compare_priors(X, s, chosen)
    assert len(caught) == 1
    kernel, tice = found.rows
    assert any("look like samples of one distribution" in note for note in kernel.notes)
    assert np.isnan(tice.class_prior)
    assert tice.notes == [
        "failed: Held-out scores need at least two labelled and two unlabelled rows; there are 1 "
        "labelled of 60."
    ]
    assert "..." in str(found)
    with (
        pytest.raises(ValueError, match=r"No method gave an estimate\. failed: Held-out scores"),
        pytest.warns(DataWarning, match="Only 1 labelled row"),
    ):
        compare_priors(X, s, {"TIcE": TIcE(cv=5)})


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (["BBE", "XYZ"], "holds 'XYZ'; accepted are the names SARClassifier, BBE, KM1"),
        ([BestBinEstimator()], "accepted are the names"),
        ({"a": "BBE"}, r"estimators\['a'\] is 'BBE', not an estimator"),
        ([], "estimators is empty"),
    ],
)
def test_unknown_methods_are_refused(data, chosen, message):
    with pytest.raises(ValueError, match=message):
        compare_priors(data[0], data[1], chosen)


def test_bad_rows_are_refused_before_any_method_runs(data):
    X, s, _ = data
    with pytest.raises(ValueError, match="NaN"):
        compare_priors(np.where(X > 1, np.nan, X), s)
    with pytest.raises(ValueError, match="constant"):
        compare_priors(np.ones_like(X), s)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        compare_priors(X[:-1], s)


def test_one_name_and_case_control_data(data):
    X, s, y = data
    found = compare_priors(X, s, "BBE", single_sample=False, random_state=0)
    assert found.rows[0].class_prior == found.rows[0].unlabelled_prior
    assert found.rows[0].class_prior == pytest.approx(y[~s].mean(), abs=0.1)


@pytest.mark.parametrize("method", ["em", "weighting"])
def test_scar_classifier_is_the_known_propensity_learner_at_the_estimated_frequency(data, method):
    X, s, y = data
    model = SCARClassifier(DEDPUL(random_state=0), method=method, C=10).fit(X, s)
    frequency = DEDPUL(random_state=0).fit(X, s).label_frequency_
    assert model.label_frequency_ == frequency
    known = KnownPropensityClassifier(method, C=10).fit(X, s, propensity=frequency)
    np.testing.assert_allclose(model.coef_, known.coef_)
    np.testing.assert_allclose(model.predict_propensity(X), frequency)
    assert np.all(model.predict_posterior(X, s)[s] == 1)
    assert np.mean(model.predict(X) == y) > 0.95


def test_scar_classifier_takes_other_classifiers_and_column_names(data):
    pd = pytest.importorskip("pandas")
    X, s, y = data
    forest = RandomForestClassifier(30, min_samples_leaf=20, random_state=0)
    model = SCARClassifier(classifier=forest, random_state=0, max_iter=15, tol=0.01)
    model.fit(pd.DataFrame(X, columns=list("abc")), s)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.prior_estimator_.feature_names_in_.tolist() == ["a", "b", "c"]
    assert not hasattr(model, "coef_")
    assert np.mean(model.predict(pd.DataFrame(X, columns=list("abc"))) == y) > 0.9


def test_scar_classifier_says_few_labels_once(data):
    X, s, _ = data
    few = s & (np.cumsum(s) <= 20)
    with pytest.warns(UserWarning, match="Only 20 labelled rows") as caught:
        SCARClassifier(random_state=0).fit(X, few)
    assert sum("Only 20" in str(w.message) for w in caught) == 1


def test_the_example_answers_its_question(capsys):
    """The table of all estimators, and a number of patients whose range holds the truth."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    script = Path(__file__).parents[2] / "examples" / "how_many_positives.py"
    runpy.run_path(str(script))
    text = capsys.readouterr().out
    assert all(name in text for name in default_estimators())
    estimate, n_rows, low, high, truth = map(int, re.findall(r"\d+", text[text.index("About") :]))
    assert low <= estimate <= high <= n_rows
    assert low <= truth <= high
