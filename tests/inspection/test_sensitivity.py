"""Sensitivity to a propensity that is off by a factor."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from sarlearn import KnownPropensityClassifier, SARClassifier, SAREMClassifier
from sarlearn.inspection import sensitivity


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    y = rng.random(800) < expit(3 * X[:, 0] + X[:, 1])
    s = y & (rng.random(800) < 0.8 * expit(X[:, 2]))
    return SAREMClassifier([2]).fit(X, s), X, s


def test_a_smaller_propensity_means_more_positives(fitted):
    model, X, s = fitted
    found = sensitivity(model, X, s, factors=(0.5, 0.7, 0.9, 1.2))
    factors = [row.factor for row in found.scaled]
    assert factors == [0.5, 0.7, 0.9, 1.2]
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
    found = sensitivity(model, X, s)
    text = str(found)
    assert text.startswith(f"The model says {model.class_prior_:.1%} positives.")
    assert "If all propensities were 0.8 to 1.25 times" in text
    most, fewest = (f"{found.scaled[j].class_prior:.1%}" for j in (0, -1))
    assert f"there would be {fewest} to {most} positives" in text
    as_they_are = found.scaled[2]  # the model's decay makes it another answer than its own
    assert (as_they_are.factor, as_they_are.class_prior) != (1.0, pytest.approx(model.class_prior_))
    assert f"a fit of the class alone says {as_they_are.class_prior:.1%}" in text
    assert len(found.plot().get_yticks()) == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"factors": (1.2, 0.8)}, "numbers that rise"),
        ({"factors": (0.0, 0.8)}, "above 0"),
        ({"factors": (1.0,)}, "two or more"),
    ],
)
def test_bad_input_is_named(fitted, change, message):
    with pytest.raises(ValueError, match=message):
        sensitivity(*fitted, **change)


def test_only_learned_propensities_are_scaled(fitted):
    _, X, s = fitted
    with pytest.raises(TypeError, match="predict_propensity"):
        sensitivity(LogisticRegression().fit(X, s), X, s)


def test_our_learner_is_scaled_too(fitted):
    _, X, s = fitted
    model = SARClassifier([2], class_models=["linear"]).fit(X, s)
    found = sensitivity(model, X, s, factors=(0.8, 1.0, 1.25))
    assert found.class_prior == model.class_prior_
    low, same, high = (one.class_prior for one in found.scaled)
    assert low > same > high
    assert same == pytest.approx(model.class_prior_, abs=0.03)


def test_the_class_is_refitted_with_the_penalty_of_the_model(fitted):
    _, X, s = fitted
    model = SAREMClassifier([2], C=0.01).fit(X, s)
    found = sensitivity(model, X, s, factors=(0.8, 1.25)).scaled[0].class_prior
    e = np.clip(0.8 * model.predict_propensity(X), 1e-6, 1)
    by_hand = KnownPropensityClassifier(C=0.01).fit(X, s, propensity=e).class_prior_
    assert found == pytest.approx(by_hand)
    assert abs(found - KnownPropensityClassifier().fit(X, s, propensity=e).class_prior_) > 0.01
