"""A class prior that is known, bounded, or known from a survey."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize, sparse
from scipy.special import expit

from evidence_reference import Reference
from sarlearn import (
    KnownPropensityClassifier,
    RepeatedSARClassifier,
    SARClassifier,
    SAREMClassifier,
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 5))
    y = rng.random(3000) < expit(1.2 * X[:, :3].sum(axis=1) - 0.5)
    s = y & (rng.random(3000) < expit(X[:, 3]))
    return X, y, s


SURVEY = {"mean": 0.6, "standard_error": 0.02}


def solution(reference, start, class_prior):
    """Where the likelihood has no slope along the class prior that is held, or under a survey.

    The multiplier is one more unknown; SciPy finds the root, away from where the learner ended.
    """
    total = reference.weight.sum()

    def prior_gradient(x):
        step = 1e-6 * np.eye(len(x))
        priors = [[reference.class_prior(x + sign * h) for h in step] for sign in (1, -1)]
        return np.subtract(*priors) / 2e-6

    def equations(both):
        x, multiplier = both[:-1], both[-1]
        above = reference.class_prior(x) - 0.6
        soft = SURVEY["standard_error"] ** 2 * total if isinstance(class_prior, dict) else 0.0
        stationary = reference.gradient(x) / total + multiplier * prior_gradient(x)
        return np.append(stationary, above - multiplier * soft)

    near = start + np.random.default_rng(0).normal(0, 0.02, len(start))
    found = optimize.root(equations, np.append(near, 0.0), tol=1e-13)
    assert np.abs(equations(found.x)).max() < 1e-9
    return found.x[:-1]


def parameters(model, learned=True):
    of_f = [model.coef_[0], model.intercept_]
    return np.concatenate(
        [*of_f, model.propensity_coef_[0], model.propensity_intercept_] if learned else of_f
    )


@pytest.mark.parametrize("class_prior", [0.6, SURVEY], ids=["held", "survey"])
@pytest.mark.parametrize("form", ["dense", "sparse", "weighted", "audited"])
@pytest.mark.parametrize("learner", [SAREMClassifier, RepeatedSARClassifier])
@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
def test_maximum_likelihood_under_a_known_prior_against_a_plain_solver(
    data, learner, form, class_prior
):
    X, y, s = (values[:1200] for values in data)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2, len(X)) if form == "weighted" else None
    known = np.where(~s & (rng.random(len(X)) < 0.1), y, np.nan) if form == "audited" else None
    settings = {"C": 2.0, "propensity_C": 0.7, "class_prior": class_prior}
    if learner is SAREMClassifier:
        settings |= {"decay": 1.0, "stop": "fixed_point", "tol": 1e-9}
    model = learner([3], **settings)
    given = sparse.csr_array(X) if form == "sparse" else X
    model.fit(given, s.astype(int), sample_weight=weight, audited=known)
    reference = Reference(X, s.astype(float), X[:, [3]], known, weight, C=2.0, C_e=0.7)
    found = solution(reference, parameters(model), class_prior)
    np.testing.assert_allclose(parameters(model), found, atol=2e-5)
    assert model.class_prior_ == pytest.approx(reference.class_prior(found), abs=1e-6)
    assert model.converged_
    if class_prior == 0.6:
        assert model.class_prior_ == pytest.approx(0.6, abs=1e-9)
        assert model.class_prior_range_ == pytest.approx((0.6, 0.6), abs=1e-5)


@pytest.mark.parametrize("class_prior", [0.6, SURVEY], ids=["held", "survey"])
def test_a_known_propensity_and_a_known_prior_against_a_plain_solver(data, class_prior):
    X, _, s = (values[:1200] for values in data)
    e = expit(X[:, 3])
    model = KnownPropensityClassifier(C=2.0, class_prior=class_prior, stop="fixed_point", tol=1e-9)
    model.fit(X, s, propensity=e)
    free = KnownPropensityClassifier(C=2.0, stop="fixed_point", tol=1e-9).fit(X, s, propensity=e)
    assert model.class_prior_from_labels_ == pytest.approx(free.class_prior_, abs=1e-9)

    whole = Reference(X, s.astype(float), np.empty((len(X), 0)), C=2.0, offset_e=X[:, [3]])
    reference = SimpleNamespace(
        weight=whole.weight,
        gradient=lambda theta: whole.gradient(np.append(theta, 0.0))[:-1],
        class_prior=lambda theta: whole.class_prior(np.append(theta, 0.0)),
    )
    found = solution(reference, parameters(model, learned=False), class_prior)
    np.testing.assert_allclose(parameters(model, learned=False), found, atol=2e-5)


@pytest.mark.parametrize(
    "learner",
    [
        SAREMClassifier([3]),
        RepeatedSARClassifier([3]),
        KnownPropensityClassifier(),
    ],
    ids=["sar-em", "repeated", "known propensity"],
)
@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
def test_every_learner_takes_a_share_bounds_or_a_survey(data, learner):
    X, _, s = (values[:1000] for values in data)
    known = isinstance(learner, KnownPropensityClassifier)
    given = {"propensity": expit(X[:, 3])} if known else {}
    free = learner.fit(X, s, **given).class_prior_
    held = learner.set_params(class_prior=0.6).fit(X, s, **given)
    assert held.class_prior_ == pytest.approx(0.6, abs=1e-6)
    assert held.predict_proba(X)[:, 1].mean() == pytest.approx(0.6, abs=1e-6)
    assert held.class_prior_from_labels_ == pytest.approx(free, abs=0.01)
    assert held.label_frequency_ == pytest.approx(s.mean() / 0.6, abs=1e-6)
    assert held.class_prior_range_ == pytest.approx((0.6, 0.6), abs=1e-5)
    soft = learner.set_params(class_prior=SURVEY).fit(X, s, **given).class_prior_
    assert free + 0.002 < soft < 0.6 - 0.002
    bounds = free - 0.1, free + 0.1
    assert learner.set_params(class_prior=bounds).fit(X, s, **given).class_prior_ == pytest.approx(
        free, abs=1e-6
    )
    above = learner.set_params(class_prior=(0.58, 0.9)).fit(X, s, **given)
    assert above.class_prior_ == pytest.approx(0.58, abs=1e-6)
    assert 0.58 - 1e-5 <= above.class_prior_range_[0] <= above.class_prior_range_[1] <= 0.9 + 1e-9


def test_other_classifiers_are_refused_with_the_way_out(data):
    from sklearn.linear_model import LogisticRegression

    X, _, s = data
    model = SAREMClassifier([3], class_prior=0.6, classifier=LogisticRegression())
    with pytest.raises(ValueError, match=r"SARClassifier\(class_models="):
        model.fit(X, s)
    weighting = KnownPropensityClassifier("weighting", class_prior=0.6)
    with pytest.raises(ValueError, match="class_prior is for method='em'"):
        weighting.fit(X, s, propensity=0.5)


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
        SARClassifier([3], class_prior=prior).fit(X, s)
