"""The likelihood of a row: derivatives against differences, its ends, other evidence."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from sarlearn._engine import likelihood
from sarlearn._engine.likelihood import Evidence, evidence_of_labels, sigmoids, terms

rng = np.random.default_rng(0)
# Ordinary logits, and both ends.
ETA, ZETA = (
    np.concatenate([3 * rng.standard_normal(200), rng.choice([-30.0, -12.0, 12.0, 30.0], 200)])
    for _ in range(2)
)
LABELLED = rng.random(400) < 0.4


def loss(eta, zeta):
    f, not_f = sigmoids(eta)
    e, not_e = sigmoids(zeta)
    return -np.log(terms(f, not_f, evidence_of_labels(e, not_e, LABELLED)).chance)


def parts(eta, zeta, decay=1.0):
    f, not_f = sigmoids(eta)
    e, not_e = sigmoids(zeta)
    return f, not_f, e, not_e, terms(f, not_f, evidence_of_labels(e, not_e, LABELLED, decay))


def gradient(eta, zeta):
    *_, e, not_e, found = parts(eta, zeta)
    return found.residual, likelihood.propensity_residual(found.target, e, not_e, LABELLED)


def test_first_derivatives_against_differences():
    step = 1e-5
    by_eta, by_zeta = gradient(ETA, ZETA)
    assert_allclose((loss(ETA + step, ZETA) - loss(ETA - step, ZETA)) / 2e-5, by_eta, atol=1e-8)
    assert_allclose((loss(ETA, ZETA + step) - loss(ETA, ZETA - step)) / 2e-5, by_zeta, atol=1e-8)


def test_observed_curvatures_against_differences():
    step = 1e-5
    f, not_f, e, not_e, found = parts(ETA, ZETA)
    over = (gradient(ETA + step, ZETA)[0] - gradient(ETA - step, ZETA)[0]) / 2e-5
    of_eta = likelihood.class_curvature(f, not_f, found, observed=True)
    assert_allclose(over, of_eta, atol=1e-8)
    complete = likelihood.propensity_curvature(found.target, e, not_e)
    assert_allclose(complete, found.target * e * not_e)


def test_expected_information_is_the_mean_over_labels():
    f, not_f, e, not_e, _ = parts(ETA, ZETA)
    chance = f * e
    mean = np.zeros((3, len(ETA)))
    for labelled, share in ((True, chance), (False, 1 - chance)):
        s = np.full(len(ETA), labelled)
        found = terms(f, not_f, evidence_of_labels(e, not_e, s))
        by_eta = found.residual
        by_zeta = likelihood.propensity_residual(found.target, e, not_e, s)
        mean += share * np.array([by_eta**2, by_eta * by_zeta, by_zeta**2])
    odds = likelihood.label_odds(f, not_f, e, not_e)
    information = [odds * not_f**2, odds * not_f * not_e, odds * not_e**2]
    usual = (np.abs(ETA) < 10) & (np.abs(ZETA) < 10)
    assert_allclose(np.array(information)[:, usual], mean[:, usual], rtol=1e-6, atol=1e-14)


@pytest.mark.parametrize("eta", [-300.0, -40.0, -3.0, 0.0, 3.0, 40.0, 300.0])
@pytest.mark.parametrize("zeta", [-300.0, -40.0, 0.5, 40.0, 300.0])
@pytest.mark.parametrize("decay", [0.9, 1.0])
def test_digits_at_the_ends(eta, zeta, decay):
    """Against arithmetic with 400 digits: no difference of near equals anywhere."""
    f, not_f = sigmoids(np.array([eta]))
    e, not_e = sigmoids(np.array([zeta]))
    found = terms(f, not_f, evidence_of_labels(e, not_e, np.array([False]), decay))
    with localcontext() as context:
        context.prec = 400
        F, E = (1 / (1 + (-Decimal(logit)).exp()) for logit in (eta, zeta))
        d = Decimal(decay)
        q = F * (1 - d * E) / (F * (1 - d * E) + 1 - F)
        expected = [float(x) for x in (1 - F * E, q, 1 - q, F - q)]
    # decay = 0.9 is itself known to 16 digits only, and 1 - d e to as many after the point.
    assert_allclose(np.ravel(found), expected, rtol=1e-11 if decay < 1 else 1e-13)


@pytest.mark.parametrize("n", [1, 3, 4, 7, 10])
@pytest.mark.parametrize("least", [0.3, 1e-200])
def test_the_sum_of_logarithms_has_every_row(n, least):
    """Also those that four do not divide, and values whose product would vanish."""
    values = np.linspace(least, 0.9, n)
    expected = sum(math.log(value) for value in values)
    assert likelihood.sum_of_logs(values) == pytest.approx(expected, rel=1e-13)


def test_other_evidence_is_a_case_of_it():
    """A row whose class is known; and two chances to be labelled, none of which was taken."""
    f, not_f, _, not_e, _ = parts(ETA, ZETA)
    one, zero = np.ones(len(f)), np.zeros(len(f))
    negative = terms(f, not_f, Evidence(zero, one, zero, one))
    assert_allclose(negative.chance, not_f)
    assert_allclose(negative.residual, f)
    hidden = terms(f, not_f, Evidence(not_e, zero, one, -one))
    assert_allclose(hidden.chance, f * not_e)
    assert_allclose(hidden.residual, -not_f)
    missed = not_e * 0.7
    twice = terms(f, not_f, Evidence(missed, one, missed, 1 - missed))
    assert_allclose(twice.target, f * missed / (f * missed + not_f))


@pytest.mark.parametrize("mean", [1e-9, 0.02, 0.5, 0.97, 1 - 1e-9])
@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0, 300.0])
def test_a_shift_gives_logits_any_mean(mean, spread):
    rng = np.random.default_rng(0)
    eta, weight = spread * rng.normal(size=200), rng.uniform(0.1, 2.0, 200)
    shift = likelihood.shift_for_mean(
        likelihood.mean_of_sigmoids(eta, weight), mean, tol=1e-14 * mean
    )
    assert np.average(expit(eta + shift), weights=weight) == pytest.approx(mean, rel=1e-9)
