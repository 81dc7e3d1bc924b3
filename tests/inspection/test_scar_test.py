"""The SCAR test: level and power on a few data sets, words, plots, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import spearmanr

from sarlearn import TableEncoder
from sarlearn.inspection import scar_test, select_propensity_features
from sarlearn.inspection._scar_test import _simulated, _Test
from sarlearn.inspection._selection import held_out_trees


def make(seed, *, slope=0.0, n=600):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = rng.random(n) < expit(3 * X[:, 0] + X[:, 1])
    return X, y & (rng.random(n) < expit(slope * X[:, 2]))


def test_scar_is_rarely_rejected_and_a_strong_bias_nearly_always():
    p_null = [scar_test(*make(i), [2], n_draws=19, random_state=i).p_value for i in range(30)]
    p_bias = [
        scar_test(*make(i, slope=2), [2], n_draws=19, random_state=i).p_value for i in range(10)
    ]
    # At 5 % six or more of 30 has probability 0.003; the p-values of SCAR are spread out.
    assert np.sum(np.array(p_null) <= 0.05) <= 5
    assert 0.3 < np.mean(p_null) < 0.75
    assert np.sum(np.array(p_bias) <= 0.05) >= 9


def test_the_result_is_reproducible_whatever_the_processes_and_the_format():
    X, s = make(0, slope=1)
    first = scar_test(X, s, [2], n_draws=19, random_state=5)
    again = scar_test(sparse.csr_array(X), s, [2], n_draws=19, n_jobs=2, random_state=5)
    frame = pd.DataFrame(X, columns=["a", "b", "site"])
    named = scar_test(frame, s, "site", n_draws=19, random_state=5)
    np.testing.assert_allclose(again.null_statistics, first.null_statistics, atol=1e-3)
    np.testing.assert_allclose(named.null_statistics, first.null_statistics)
    assert first.p_value == again.p_value == named.p_value
    assert named.features == ["site"]
    assert first.statistic > 0
    assert np.all(first.null_statistics >= 0)


def test_a_table_is_tested_as_it_comes():
    """Words, dates and gaps: as its terms would be, and under the user's names."""
    rng = np.random.default_rng(0)
    n = 1200
    plan, y = rng.choice(["none", "some", None], n), rng.random(n) < 0.5
    s = y & (rng.random(n) < np.where(plan == "none", 0.1, 0.8))
    table = pd.DataFrame({"mark": y + rng.normal(size=n) / 4, "plan": plan})
    table["seen"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    table.loc[::7, "mark"] = np.nan
    table["one"] = "same"
    found = scar_test(table, s, ["plan", "mark"], n_draws=19, random_state=0)
    assert found.features == ["plan", "mark"]
    assert found.p_value == 0.05
    terms = TableEncoder(terms=True).fit_transform(table)
    expected = scar_test(terms, s, ["mark", "plan"], n_draws=19, random_state=0)
    assert found.statistic == pytest.approx(expected.statistic)
    assert "one" not in scar_test(table, s, "all", n_draws=19, random_state=0).features
    with pytest.raises(ValueError, match="one holds one value only"):
        scar_test(table, s, ["one"], n_draws=19)
    chosen = select_propensity_features(table, s, random_state=0)
    assert set(chosen.weights) <= {"mark", "plan", "seen"}
    assert "plan" in chosen.features
    assert [table.columns[j] for j in chosen.columns] == sorted(chosen.features)


@pytest.mark.parametrize("slope", [0.0, 0.5, 2.0])
def test_the_p_value_counts_the_data_set_itself(slope):
    """Of 20 data sets, the observed one among them, the share with a ratio as large."""
    found = scar_test(*make(3, slope=slope), [2], n_draws=19, random_state=0)
    everything = np.append(found.null_statistics, found.statistic)
    assert found.p_value == pytest.approx(np.mean(everything >= found.statistic))


def test_the_statistic_is_twice_the_difference_of_two_likelihoods():
    """By a general optimiser, from the maximum of the smaller model."""
    X, s = make(4, slope=1)
    found = scar_test(X, s, [2], n_draws=19, C=10.0, random_state=0)
    Z = X / X.std(axis=0)

    def loss(theta, attributes):
        f, e = expit(Z @ theta[:3] + theta[3]), expit(attributes @ theta[4:-1] + theta[-1])
        logs = np.where(s, np.log(f * e), np.log1p(-f * e))
        return (theta[:3] @ theta[:3] + theta[4:-1] @ theta[4:-1]) / 20 - logs.sum()

    none = minimize(loss, np.append(np.zeros(4), 0.5), (Z[:, :0],), tol=1e-9)
    start = np.append(none.x[:4], [0.0, none.x[4]])
    some = minimize(loss, start, (Z[:, 2:],), tol=1e-9)
    assert found.statistic == pytest.approx(2 * (none.fun - some.fun), rel=1e-3)


def test_labels_are_simulated_from_both_models():
    """The simulated data sets have as many labels as there are, give or take chance."""
    X, s = make(5)
    columns = np.array([2])
    test = _Test(X, columns, 10.0, None)
    null = test.null.fit(s)
    f, e = test.null.probabilities(null.theta)
    counts = []
    test.statistic = lambda labelled, start: counts.append(labelled.sum())
    for seed in range(40):
        _simulated(test, null.theta, np.random.default_rng(seed))
    assert np.mean(counts) == pytest.approx(np.sum(f * e), abs=4 * np.sqrt(s.sum() / 40))


def test_the_scale_and_the_zero_of_the_columns_do_not_matter():
    X, s = make(1, slope=1)
    one = scar_test(X, s, [2], n_draws=19, random_state=0)
    far = scar_test(X + [0, 1e6, 1e4], s, [2], n_draws=19, random_state=0)
    assert far.statistic == pytest.approx(one.statistic, abs=1e-4)
    assert far.p_value == one.p_value
    other = scar_test(X * [10, 5, 0.02], s, [2], n_draws=19, random_state=0)
    assert other.statistic == pytest.approx(one.statistic, abs=1e-6)
    np.testing.assert_allclose(other.null_statistics, one.null_statistics, atol=1e-4)
    constant = scar_test(np.column_stack([X, np.ones(len(s))]), s, [2], n_draws=19, random_state=0)
    assert constant.statistic == pytest.approx(one.statistic, abs=1e-3)


def test_the_words_say_the_verdict_and_what_the_test_cannot_see():
    X, s = make(2, slope=2)
    text = str(scar_test(X, s, [2], n_draws=99, random_state=0))
    assert "speak clearly against the assumption (SCAR)" in text
    assert "regardless of x2 (p at most 0.01," in text
    assert "can hardly see a propensity that rises" in text
    X, s = make(4)
    result = scar_test(X, s, [1, 2], n_draws=19, random_state=0)
    result.p_value = 0.4
    assert "do not contradict the assumption (SCAR)" in str(result)
    assert "x1 and x2" in str(result)
    result.p_value = 0.04
    assert str(result).startswith("The labels speak against")


def test_a_flexible_class_model_takes_the_blame_for_a_wrong_form():
    # A class that needs two things at once looks like a propensity to a linear class model.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    f = expit(4 * X[:, 0]) * expit(4 * X[:, 2])
    s = (rng.random(2000) < f) & (rng.random(2000) < 0.6)
    score = held_out_trees(X, s, np.random.default_rng(0))
    assert score.shape == (2000, 1)
    assert spearmanr(score[:, 0], f).statistic > 0.9
    straight = scar_test(X, s, [2], n_draws=19, random_state=0)
    flexible = scar_test(X, s, [2], n_draws=19, flexible=True, random_state=0)
    assert straight.p_value == 0.05
    assert flexible.statistic < straight.statistic / 2
    with pytest.raises(ValueError, match="two different rows of each label"):
        held_out_trees(X[:3], np.array([True, False, False]), rng)


def test_plot_shows_the_null_and_the_observed():
    X, s = make(0)
    ax = scar_test(X, s, [2], n_draws=19, random_state=0).plot()
    assert ax.get_xlabel() == "likelihood ratio against SCAR"
    assert sum(patch.get_height() for patch in ax.patches) == 19


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_draws": 5}, "n_draws must be a whole number of at least 19; got 5"),
        ({"n_draws": 99.5}, "n_draws"),
        ({"C": 0}, "C must be a number above 0; got 0"),
        ({"propensity_features": []}, "propensity_features is empty"),
        ({"propensity_features": [7]}, "index 7 is out of range"),
        ({"s": np.zeros(600)}, "no row is labelled"),
        ({"s": np.ones(20)}, "every row is labelled"),
        ({"X": np.full((600, 3), np.nan)}, "NaN"),
    ],
)
def test_bad_input_is_named(change, message):
    X, s = make(0)
    given = {"X": X, "s": s, "propensity_features": [2]} | change
    with pytest.raises(ValueError, match=message):
        scar_test(**given)


def test_a_random_state_may_be_a_generator_of_either_kind():
    X, s = make(0)
    for state in (np.random.default_rng(1), np.random.RandomState(1)):
        assert 0 < scar_test(X, s, [2], n_draws=19, random_state=state).p_value <= 1
