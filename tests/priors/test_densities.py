"""Densities and bins inside the estimators that work on scores, against plain formulas."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import gaussian_kde

from sarlearn.priors.best_bin import BestBinEstimator, bound
from sarlearn.priors.dedpul import (
    _density,
    _mean_negative,
    density_ratio,
    rolling_median,
    spread_ties,
)


def test_binned_density_is_the_kernel_density():
    rng = np.random.default_rng(0)
    sample = np.concatenate([rng.standard_normal(300), 4 + 0.2 * rng.standard_normal(100)])
    at = np.sort(rng.uniform(-4, 6, 200))
    exact = gaussian_kde(sample, bw_method=0.05)(at)
    np.testing.assert_allclose(_density(sample, 0.05, at), exact, atol=2e-3 * exact.max())


def test_the_bound_of_the_best_bin_is_the_papers():
    """Garg et al. (2021), Algorithm 1."""
    rng = np.random.default_rng(0)
    s = np.arange(300) < 100
    scores = np.where(s, rng.beta(4, 2, 300), rng.beta(2, 3, 300))
    found = BestBinEstimator().fit_scores(scores, s)
    bounds, shares = [], []
    for z in np.unique(scores):
        q_p, q_u = np.mean(scores[s] >= z), np.mean(scores[~s] >= z)
        if 100 * q_p >= 2 and 200 * q_u >= 2:
            slack = np.sqrt(np.log(4 / 0.1) / 400) + np.sqrt(np.log(4 / 0.1) / 200)
            bounds.append((q_u / q_p + 1.01 * slack / q_p, q_u / q_p))
            shares.append((q_u, q_p))
    computed = bound(*np.transpose(shares), 200, 100)
    np.testing.assert_allclose(computed, [value for value, _ in bounds], rtol=1e-12)
    assert found.unlabelled_prior_ == pytest.approx(min(bounds)[1])


def test_the_best_bin_takes_weights_for_repetitions():
    rng = np.random.default_rng(0)
    labelled = np.arange(200) < 60
    scores = rng.normal(labelled + (np.arange(200) < 110), 1.0)
    weight = rng.integers(1, 5, 200)
    rows = np.repeat(np.arange(200), weight)
    one, other = BestBinEstimator(), BestBinEstimator()
    by_weight = one._estimate_from_scores(scores, labelled, weight.astype(float))
    by_rows = other._estimate_from_scores(scores[rows], labelled[rows])
    assert by_weight.kappa == pytest.approx(by_rows.kappa)
    assert one.threshold_ == other.threshold_


def test_rolling_median_shrinks_at_the_ends():
    values = np.array([5.0, 1.0, 4.0, 2.0, 3.0, 9.0, 7.0])
    expected = [5.0, 4.0, 3.0, 3.0, 4.0, 7.0, 7.0]
    np.testing.assert_array_equal(rolling_median(values, 2), expected)
    np.testing.assert_array_equal(rolling_median(values[:2], 5), values[:2])


def test_tied_scores_are_spread_and_distinct_ones_left():
    positive, mixture = np.array([0.0, 1.0, 1.0, 1.0]), np.repeat([0.0, 1.0], 50)
    spread_p, spread_m = spread_ties(positive, mixture)
    assert len(np.unique(spread_m)) == 100
    np.testing.assert_allclose(spread_m[:50].mean(), 0.0, atol=1e-12)
    assert np.all(np.abs(spread_p[1:] - 1) <= 0.5)
    alone = np.random.default_rng(0).random(20)
    assert spread_ties(alone[:5], alone[5:])[1] is not None
    np.testing.assert_array_equal(spread_ties(alone[:5], alone[5:])[0], alone[:5])


def test_density_ratio_of_few_distinct_scores_is_the_ratio_of_shares():
    """A forest of five trees: at an atom the ratio is p_P/p_U, not that of the kernel widths."""
    scores = np.repeat([0.2, 0.8, 0.2, 0.8], [20, 180, 800, 200])
    s = np.repeat([True, True, False, False], [20, 180, 800, 200])
    ratio = density_ratio(scores, s)
    assert np.all(np.diff(ratio) <= 0)
    assert np.median(ratio[:200]) == pytest.approx(0.9 / 0.2, rel=0.1)
    assert np.median(ratio[200:]) == pytest.approx(0.1 / 0.8, rel=0.2)


def test_density_ratio_is_that_of_plain_formulas():
    """Kernels of 0.1 and 0.05 deviations, medians of neighbours, falling up to the middle."""
    rng = np.random.default_rng(0)
    labelled = np.arange(900) < 300
    scores = expit(rng.normal(np.where(labelled | (np.arange(900) < 500), 0.0, -1.5), 1.0))
    value = np.log(300 / 600) - logit(scores)
    share = expit(value)
    value = np.log(share / (1 - share + 1e-5))
    at = np.sort(value[~labelled])
    ratio = gaussian_kde(value[labelled], 0.1)(at) / (
        gaussian_kde(value[~labelled], 0.05)(at) + 1e-5
    )
    ratio = plain_median(np.minimum(ratio, 50.0), 5)
    middle = (share[labelled].mean() + share[~labelled].mean()) / 2
    below = np.flatnonzero(np.sort(share[~labelled]) < middle)
    rising = np.diff(ratio[below])
    assert rising.max() > 0.05  # there is something to be made monotone
    ratio[below] = [ratio[i : below[-1] + 1].max() for i in below]
    expected = np.sort(plain_median(ratio, 30))[::-1]
    np.testing.assert_allclose(density_ratio(scores, labelled), expected, atol=0.01)


def plain_median(values, half):
    halves = np.minimum(np.minimum(np.arange(len(values)), np.arange(len(values))[::-1]), half)
    return np.array([np.median(values[i - h : i + h + 1]) for i, h in enumerate(halves)])


def test_mean_of_negatives_by_prefix_sums_is_the_direct_mean():
    rng = np.random.default_rng(0)
    ratio = np.sort(rng.exponential(size=200))[::-1]
    nu = np.linspace(0, 1, 11)
    direct = [np.mean(np.maximum(0, 1 - ratio * (1 - v))) for v in nu]
    np.testing.assert_allclose(_mean_negative(ratio, nu), direct, atol=1e-12)
