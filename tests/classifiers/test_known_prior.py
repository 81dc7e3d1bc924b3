"""A class prior that is known, bounded, or known from a survey."""

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

from sarlearn import CrossFitSARClassifier
from sarlearn._engine.label_model import INTERCEPT_RIDGE, RIDGE, KnownPrior, LabelModel


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 5))
    y = rng.random(3000) < expit(1.2 * X[:, :3].sum(axis=1) - 0.5)
    s = y & (rng.random(3000) < expit(X[:, 3]))
    return X, y, s


def standardised(values):
    return (values - values.mean(axis=0)) / values.std(axis=0)


@pytest.mark.parametrize("prior", [KnownPrior(0.3, 0.3), KnownPrior(0.3, 0.3, 0.01)])
def test_the_label_model_under_a_known_prior_against_a_plain_solver(data, prior):
    """By SciPy with a constraint, or with the survey's normal term."""
    X, _, s = data
    g, Z = standardised(X[:, :3].sum(axis=1)), standardised(X[:, [3]])
    model = LabelModel(g, Z, s)
    found = model.fit_with(prior, model.fit())

    def loss(theta):
        f, e = expit(theta[0] * g + theta[1]), expit(Z[:, 0] * theta[2] + theta[3])
        logs = np.where(s, np.log(f * e), np.log1p(-f * e))
        ridge = RIDGE * (theta[0] ** 2 + theta[2] ** 2)
        ridge += INTERCEPT_RIDGE * (theta[1] ** 2 + theta[3] ** 2)
        pull = ((mean(theta) - 0.3) / prior.deviation) ** 2 if prior.deviation else 0.0
        return -logs.sum() + ridge / 2 + pull / 2

    def mean(theta):
        return expit(theta[0] * g + theta[1]).mean()

    start = [found.slope, found.intercept, found.propensity_coef[0], found.propensity_intercept]
    limits = [] if prior.deviation else [{"type": "eq", "fun": lambda t: mean(t) - 0.3}]
    options = {"ftol": 1e-13, "maxiter": 500}
    best = optimize.minimize(loss, start, method="SLSQP", constraints=limits, options=options)
    assert loss(np.array(start)) <= best.fun + 1e-4
    np.testing.assert_allclose(start, best.x, atol=2e-3)
    assert found.class_prior == pytest.approx(mean(best.x), abs=1e-4)
    if not prior.deviation:
        assert found.class_prior == pytest.approx(0.3, abs=1e-6)


def test_a_value_bounds_and_a_survey(data):
    X, _, s = data
    free = CrossFitSARClassifier([3], random_state=0).fit(X, s)
    held = CrossFitSARClassifier([3], class_prior=0.6, random_state=0).fit(X, s)
    assert held.class_prior_ == pytest.approx(0.6, abs=1e-4)
    assert held.predict_proba(X)[:, 1].mean() == pytest.approx(0.6, abs=1e-4)
    assert held.class_prior_range_ == pytest.approx((0.6, 0.6), abs=1e-4)
    assert held.predict_propensity(X).mean() < free.predict_propensity(X).mean()
    assert held.class_prior_from_labels_ == pytest.approx(free.class_prior_, abs=0.03)
    bounded = CrossFitSARClassifier([3], class_prior=(0.55, 0.7), random_state=0).fit(X, s)
    assert bounded.class_prior_ == pytest.approx(0.55, abs=1e-4)
    low, high = bounded.class_prior_range_
    assert 0.55 - 1e-6 <= low <= high <= 0.7
    inside = CrossFitSARClassifier([3], class_prior=(0.1 + s.mean(), 0.9), random_state=0)
    assert inside.fit(X, s).class_prior_ == pytest.approx(free.class_prior_, abs=1e-6)
    survey = {"mean": 0.6, "standard_error": 0.02}
    soft = CrossFitSARClassifier([3], class_prior=survey, random_state=0).fit(X, s)
    assert free.class_prior_ + 0.002 < soft.class_prior_ < 0.6
    assert soft.class_prior_range_[1] - soft.class_prior_range_[0] < 0.1


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (0.05, "below the share of labelled rows"),
        ((0.5, 0.2), "lower end first"),
        (1.5, "between 0 and 1"),
        ({"mean": 0.2}, "'mean' and 'standard_error'"),
        ({"mean": 0.2, "standard_error": 0}, "standard_error between 0 and 1"),
        ((0.1, 0.2, 0.3), r"a number, \(low, high\), or a dict"),
    ],
)
def test_errors_name_the_value(data, prior, message):
    X, _, s = data
    with pytest.raises(ValueError, match=message):
        CrossFitSARClassifier([3], class_prior=prior).fit(X, s)
