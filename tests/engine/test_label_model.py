"""Cross-fitting: the label model and its profile."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit, logit
from scipy.stats import chi2

from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.known_prior import PseudoCounts
from sarlearn._engine.label_model import LabelModel, PriorPenalty, _Objective
from sarlearn._engine.label_pass import label_pass

PENALTIES = {"propensity_ridge": 70.0, "slope_penalty": (0.1, 0.02)}
# By which the log-likelihood falls where a range of 95 % ends.
DROP = chi2.ppf(0.95, 1) / 2


def scores_and_labels(n=1500, seed=0, n_attributes=2):
    rng = np.random.default_rng(seed)
    g = 3 * rng.standard_normal(n)
    Z = rng.random((n, n_attributes))
    y = rng.random(n) < expit(1.5 * g - 1)
    e = expit(Z @ np.resize([2.0, -1.0], n_attributes) - 0.3)
    return g, Z, y & (rng.random(n) < e), y


@pytest.mark.parametrize("factor", [1e-20, 1e20])
def test_the_scale_of_an_attribute_is_of_no_account(factor):
    g, Z, s, _ = scores_and_labels(400)
    plain, scaled = LabelModel(g, Z, s).fit(), LabelModel(g, factor * Z, s).fit()
    assert scaled.class_prior == pytest.approx(plain.class_prior, abs=1e-6)
    np.testing.assert_allclose(factor * scaled.propensity_coef, plain.propensity_coef, rtol=1e-4)


@pytest.mark.parametrize("where", ["random", "extreme"])
def test_label_model_derivatives(where):
    g, Z, s, _ = scores_and_labels()
    weight = np.random.default_rng(1).random(len(s))
    model = LabelModel(g, Z, s, weight)
    theta = np.array([0.2, -0.5, 0.3, -0.7, 0.2]) * (1 if where == "random" else 6)
    check_gradient(_Objective(model), theta)
    check_gradient(_Objective(model, PriorPenalty(0.3, 0.05)), theta)


def check_gradient(objective, theta):
    def value(theta):
        (iterate,) = objective.passes([theta], False)
        return iterate.value

    (iterate,) = objective.passes([theta], True)
    slope = approx_fprime(theta, value, 1e-6)
    np.testing.assert_allclose(iterate.gradient, slope, rtol=1e-4, atol=1e-3)
    step = objective.curvature(iterate).solve(iterate.gradient)
    assert step @ iterate.gradient > 0


def test_label_model_information_is_the_mean_curvature():
    """Over labels drawn from the model the outer product of the gradient averages to it."""
    g, Z, _, _ = scores_and_labels(400)
    theta = np.array([np.log(2.0), -0.5, 0.4, -0.3, 0.2])
    rng = np.random.default_rng(0)
    f, e = expit(2.0 * g - 0.5), expit(Z @ theta[2:-1] + theta[-1])
    rows, total = RowBlocks(Z).attach(score=g), np.zeros((5, 5))
    for _ in range(400):
        drawn = rows.attach(labelled=rng.random(len(g)) < f * e)
        sums = drawn.total(label_pass, theta, False, True)
        total += np.outer(sums.gradient, sums.gradient)
    information = sums.information
    np.testing.assert_allclose(total / 400, information, atol=0.15 * information.max())


def plain_loss(theta, g, Z, s):
    f, e = expit(theta[0] * g + theta[1]), expit(Z @ theta[2:-1] + theta[-1])
    return -np.log(np.where(s, f * e, 1 - f * e)).sum()


def test_label_model_finds_what_a_generic_optimiser_finds():
    g, Z, s, y = scores_and_labels(4000)
    fit = LabelModel(g, Z, s).fit()
    start = [1.0, 0.0, 0.0, 0.0, 0.0]
    other = minimize(plain_loss, start, (g, Z, s), method="BFGS", options={"gtol": 1e-6})
    found = [fit.slope, fit.intercept, *fit.propensity_coef, fit.propensity_intercept]
    np.testing.assert_allclose(found, other.x, atol=0.02)  # its ridge is 0.01
    assert fit.log_likelihood == pytest.approx(-other.fun, abs=0.02)
    assert fit.class_prior == pytest.approx(expit(fit.slope * g + fit.intercept).mean())
    assert fit.class_prior == pytest.approx(y.mean(), abs=0.03)


def test_the_best_of_several_maxima_is_found():
    """Climbs that start where most positives are labelled end 4 nats below it."""
    rng = np.random.default_rng(8)
    g, Z = 0.5 * rng.standard_normal(200), rng.standard_normal((200, 2))
    y = rng.random(200) < expit(2 * g - 1)
    s = y & (rng.random(200) < expit(Z @ [2.0, -1.0] - 2))
    found = []
    for c in (0.1, 0.3, 0.5, 0.7, 0.9):
        start = [0.0, logit(min(s.mean() / c, 0.95)), 0.0, 0.0, logit(c)]
        given = (g, Z, s, 0.01, 0.0, 10.0)  # penalties no stronger than its own
        found.append(-minimize(penalised_loss, start, given, method="BFGS").fun)
    assert LabelModel(g, Z, s).fit().log_likelihood > max(found) - 0.1


@pytest.mark.parametrize("n_attributes", [0, 2])
def test_profile_ends_where_the_constrained_likelihood_has_dropped(n_attributes):
    g, Z, s, _ = scores_and_labels(1000, n_attributes=n_attributes)
    model = LabelModel(g, Z, s)
    fit = model.fit()
    profile = model.profile(fit)
    assert profile.low < fit.class_prior < profile.high
    assert profile.width == profile.high - profile.low
    for end in (profile.low, profile.high):
        held = {"type": "eq", "fun": lambda t, end=end: expit(t[0] * g + t[1]).mean() - end}
        start = [fit.slope, fit.intercept, *fit.propensity_coef, fit.propensity_intercept]
        best = minimize(
            plain_loss, start, (g, Z, s), method="SLSQP", constraints=held, options={"ftol": 1e-10}
        )
        assert best.fun + fit.log_likelihood == pytest.approx(DROP, rel=0.12)
    assert (np.diff(profile.class_prior) > 0).all()
    assert profile.log_likelihood.max() == fit.log_likelihood


def test_range_reaches_the_label_share_where_all_positives_may_be_labelled():
    rng = np.random.default_rng(0)
    g = rng.standard_normal(300)
    s = rng.random(300) < expit(g)
    model = LabelModel(g, np.empty((300, 0)), s)
    profile = model.profile(model.fit())
    assert profile.low == pytest.approx(s.mean())
    assert s.mean() < profile.high < 1


def test_slope_stops_at_zero_for_scores_that_point_the_wrong_way():
    g, _, s, _ = scores_and_labels(500)
    fit = LabelModel(-g, np.empty((500, 0)), s).fit()
    assert fit.slope < 1e-3
    assert s.mean() < fit.class_prior < 1


@pytest.mark.parametrize("penalties", [{}, PENALTIES], ids=["free", "penalised"])
def test_label_model_weights_are_repetitions(penalties):
    """Also in the standards of the columns, which the penalties are in units of."""
    g, Z, s, _ = scores_and_labels(300)
    times = np.random.default_rng(0).integers(1, 4, 300)
    weighted = LabelModel(g, Z, s, times.astype(float), **penalties)
    repeated = LabelModel(*(np.repeat(part, times, axis=0) for part in (g, Z, s)), **penalties)
    one, two = weighted.fit(), repeated.fit()
    assert one.class_prior == pytest.approx(two.class_prior, rel=1e-6)
    np.testing.assert_allclose(one.propensity_coef, two.propensity_coef, rtol=1e-4)
    ends = [(m.profile(f).low, m.profile(f).high) for m, f in [(weighted, one), (repeated, two)]]
    np.testing.assert_allclose(*ends, rtol=1e-4)


def test_large_label_model_starts_on_a_part_and_ends_on_all_rows():
    g, Z, s, y = scores_and_labels(50_000)
    model = LabelModel(g, Z, s)
    assert model._part() is model
    more = LabelModel(*(np.concatenate([part, part]) for part in (g, Z, s)))
    assert 15_000 < more._part()._rows.shape[0] < 25_000
    fit = more.fit()
    (iterate,) = _Objective(more).passes([fit.theta], False)
    assert np.abs(iterate.gradient).max() < 0.1
    assert fit.class_prior == pytest.approx(y.mean(), abs=0.01)


def penalised_loss(parameters, g, Z, s, ridge, mean, deviation):
    """The loss with both penalties, in the units of the data; the slope by its logarithm."""
    theta = np.concatenate([[np.exp(parameters[0])], parameters[1:]])
    slopes = theta[2:-1] * Z.std(axis=0)
    pull = ((parameters[0] - mean) / deviation) ** 2 / 2
    return plain_loss(theta, g, Z, s) + ridge / 2 * slopes @ slopes + pull


def test_ridge_and_pull_against_a_generic_optimiser():
    g, Z, s, _ = scores_and_labels(1500)
    model = LabelModel(g, Z, s, **PENALTIES)
    fit, free = model.fit(), LabelModel(g, Z, s).fit()
    given = (g, Z, s, PENALTIES["propensity_ridge"], *PENALTIES["slope_penalty"])
    other = minimize(penalised_loss, np.zeros(5), given, method="BFGS", options={"gtol": 1e-6})
    found = [np.log(fit.slope), fit.intercept, *fit.propensity_coef, fit.propensity_intercept]
    # The intercepts' ridge of 1e-6, and the slope's of 0.01, are not in the other loss.
    np.testing.assert_allclose(found, other.x, atol=2e-3)
    assert abs(np.log(fit.slope) - 0.1) < 0.5 * abs(np.log(free.slope) - 0.1)
    assert np.abs(fit.propensity_coef).sum() < 0.95 * np.abs(free.propensity_coef).sum()


PSEUDO_COUNTS = PseudoCounts(of_each_class=30.0, labelled=20.0)


def test_pseudo_counts_against_a_generic_optimiser():
    """Rows of a known class, and positives of a mean propensity, that nobody has seen."""
    g, Z, s, _ = scores_and_labels(1500)
    fit, free = LabelModel(g, Z, s, pseudo_counts=PSEUDO_COUNTS).fit(), LabelModel(g, Z, s).fit()

    def loss(parameters):
        theta = np.concatenate([[np.exp(parameters[0])], parameters[1:]])
        prior = expit(theta[0] * g + theta[1]).mean()
        e = expit(Z.mean(axis=0) @ theta[2:-1] + theta[-1])
        prior_terms = 30 * np.log(prior * (1 - prior)) + 20 * np.log(e * (1 - e))
        return plain_loss(theta, g, Z, s) - prior_terms

    other = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-6})
    found = [np.log(fit.slope), fit.intercept, *fit.propensity_coef, fit.propensity_intercept]
    np.testing.assert_allclose(found, other.x, atol=2e-3)  # but for the ridges, as above
    assert abs(fit.class_prior - 0.5) < abs(free.class_prior - 0.5) - 0.003


@pytest.mark.parametrize(
    "pseudo_counts", [PSEUDO_COUNTS, PseudoCounts(of_each_class=30.0), PseudoCounts(labelled=20.0)]
)
def test_derivatives_with_ridge_and_penalties(pseudo_counts):
    g, Z, s, _ = scores_and_labels()
    model = LabelModel(g, Z, s, pseudo_counts=pseudo_counts, **PENALTIES)
    check_gradient(_Objective(model), np.array([0.7, -0.5, 0.3, -0.7, 0.2]))


def test_warm_start_takes_at_most_so_many_steps_and_ends_at_the_same_place():
    g, Z, s, _ = scores_and_labels()
    model = LabelModel(g, Z, s, **PENALTIES)
    cold = model.fit()
    other = LabelModel(0.5 * g - 0.3, Z, s).fit()  # what it says, carried to other scores
    still = model.fit(warm=other, max_steps=0)
    assert (still.slope, still.intercept) == pytest.approx((other.slope, other.intercept))
    np.testing.assert_allclose(still.propensity_coef, other.propensity_coef)
    assert still.propensity_intercept == pytest.approx(other.propensity_intercept)
    few = model.fit(warm=other, max_steps=2)
    assert still.log_likelihood < few.log_likelihood < cold.log_likelihood
    warm = model.fit(warm=other)
    np.testing.assert_allclose(warm.theta, cold.theta, atol=1e-5)


def test_a_known_propensity_leaves_slope_and_intercept():
    g, Z, s, _ = scores_and_labels(1200)
    e = expit(Z @ [2.0, -1.0] - 0.3)
    e[:50] = 1.0  # also where every positive is labelled
    model = LabelModel(g, np.empty((len(g), 0)), s, known_propensity=e)
    fit = model.fit()

    def loss(theta):
        f = expit(theta[0] * g + theta[1])
        return -np.log(np.where(s, f * e, 1 - f * e)).sum()

    other = minimize(loss, [1.0, 0.0], method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose([fit.slope, fit.intercept], other.x, atol=5e-3)  # ridge of 0.01
    assert fit.log_likelihood == pytest.approx(-other.fun, abs=1e-3)
    profile = model.profile(fit)
    for end in (profile.low, profile.high):
        held = {"type": "eq", "fun": lambda t, end=end: expit(t[0] * g + t[1]).mean() - end}
        best = minimize(loss, other.x, method="SLSQP", constraints=held, options={"ftol": 1e-10})
        assert best.fun - other.fun == pytest.approx(DROP, rel=0.12)
