"""Sensitivity to settings and to a propensity that is off."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

from sarlearn import CrossFitSARClassifier, KnownPropensityClassifier, SAREMClassifier
from sarlearn.inspection import sensitivity


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    y = rng.random(800) < expit(3 * X[:, 0] + X[:, 1])
    s = y & (rng.random(800) < 0.8 * expit(X[:, 2]))
    return SAREMClassifier([2]).fit(X, s), X, s


def test_the_grid_has_every_combination_and_each_is_a_fit(fitted):
    model, X, s = fitted
    found = sensitivity(model, X, s, decay=[0.8, 0.9], C=[1.0, 10.0], propensity_features=[[2], []])
    assert len(found.rows) == 8
    same = next(
        row
        for row in found.rows
        if row.setting == {"decay": 0.9, "C": 1.0, "propensity_features": [2]}
    )
    assert same.class_prior == pytest.approx(model.class_prior_)
    assert same.rank_agreement == pytest.approx(1.0)
    assert same.top_agreement == 1.0
    other = next(row for row in found.rows if row.setting["propensity_features"] == [])
    by_hand = SAREMClassifier([], decay=0.8, C=1.0).fit(X, s)
    assert other.class_prior == pytest.approx(by_hand.class_prior_)
    assert other.label_frequency == pytest.approx(by_hand.label_frequency_)
    assert other.rank_agreement < 1
    scores = [each.predict_proba(X)[~s, 1] for each in (model, by_hand)]
    n_top = (~s).sum() // 10
    tops = [set(np.argsort(-score)[:n_top]) for score in scores]
    assert other.top_agreement == pytest.approx(len(tops[0] & tops[1]) / n_top)
    assert other.top_agreement < 1
    everywhere = [each.predict_proba(X)[:, 1] for each in (model, by_hand)]
    assert other.rank_agreement == pytest.approx(spearmanr(*everywhere).statistic)


def test_a_smaller_propensity_means_more_positives(fitted):
    model, X, s = fitted
    found = sensitivity(model, X, s, propensity_bounds=(0.5, 1.2), n_factors=4)
    factors = [row.factor for row in found.scaled]
    np.testing.assert_allclose(factors, np.geomspace(0.5, 1.2, 4))
    priors = [row.class_prior for row in found.scaled]
    assert np.all(np.diff(priors) < 0)
    # With e scaled by k, the estimated precision is that over k.
    precisions = np.array([row.precision for row in found.scaled])
    np.testing.assert_allclose(precisions * factors, precisions[0] * factors[0], rtol=0.02)
    recalls = [row.recall for row in found.scaled]
    np.testing.assert_allclose(recalls, recalls[0], atol=0.01)
    by_hand = KnownPropensityClassifier(C=1.0).fit(
        X, s, propensity=np.clip(0.5 * model.predict_propensity(X), 1e-6, 1)
    )
    assert priors[0] == pytest.approx(by_hand.class_prior_)


def test_words_and_plot(fitted):
    model, X, s = fitted
    found = sensitivity(model, X, s, decay=[0.8, 1.0])
    text = str(found)
    assert text.startswith(f"The model says {model.class_prior_:.1%} positives. Over 2 settings")
    assert "It moves most with decay=" in text
    assert "If all propensities were 0.8 to 1.25 times" in text
    as_they_are = found.scaled[2]  # the model's decay makes it another answer than its own
    assert (as_they_are.factor, as_they_are.class_prior) != (1.0, pytest.approx(model.class_prior_))
    assert f"a fit of the class alone says {as_they_are.class_prior:.1%}" in text
    assert len(found.plot().get_yticks()) == 7
    alone = sensitivity(model, X, s, n_factors=2)
    assert alone.rows == []
    assert "settings" not in str(alone)
    assert len(alone.plot().get_yticks()) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decay": 0.9}, "decay must be a list of values to try; got 0.9"),
        ({"propensity_features": "site"}, "propensity_features must be a list"),
        ({"C": []}, "C is empty"),
        ({"C": [-1.0]}, "C"),
        ({"propensity_bounds": (1.2, 0.8)}, "two rising factors"),
        ({"propensity_bounds": (0.0, 0.8)}, "above 0"),
        ({"n_factors": 1}, "n_factors"),
    ],
)
def test_bad_input_is_named(fitted, change, message):
    with pytest.raises(ValueError, match=message):
        sensitivity(*fitted, **change)


def test_only_learned_propensities_have_settings(fitted):
    _, X, s = fitted
    with pytest.raises(TypeError, match="predict_propensity"):
        sensitivity(LogisticRegression().fit(X, s), X, s)


@pytest.mark.parametrize("classifier", [None, LogisticRegression()])
def test_a_cross_fit_has_settings_too(fitted, classifier):
    _, X, s = fitted
    model = CrossFitSARClassifier([2], cv=2, random_state=0, classifier=classifier).fit(X, s)
    found = sensitivity(model, X, s, propensity_features=[[2], []], n_factors=2)
    same, scar = found.rows
    assert same.class_prior == pytest.approx(model.class_prior_)
    assert same.rank_agreement == pytest.approx(1)
    assert scar.class_prior != same.class_prior
    assert found.scaled[0].class_prior > found.scaled[1].class_prior
