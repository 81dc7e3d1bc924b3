"""How groups compare: ratios that hold whatever the level is, with intervals that cover."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

pytest.importorskip("matplotlib")

from sarlearn import SARClassifier, SAREMClassifier
from sarlearn.exceptions import TrustWarning
from sarlearn.inspection import relative_prevalence


def make(n_rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    f = expit(1.2 * X[:, 0] - 0.5)
    y = rng.random(n_rows) < f
    return X, y, (y & (rng.random(n_rows) < expit(X[:, 2]))).astype(int)


def halves(X):
    return np.where(X[:, 0] > 0, "upper", "lower")


def test_intervals_hold_the_ratio_about_as_often_as_they_say():
    held = []
    for seed in range(30):
        X, y, s = make(1000, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrustWarning)  # it is of the level, which cancels
            model = SARClassifier([2], class_models=["linear"]).fit(X, s)
        found = relative_prevalence(model, X, s, halves(X), reference="lower")
        upper = X[:, 0] > 0
        truth = y[upper].mean() / y[~upper].mean()
        held.append(found.low[1] < truth < found.high[1])
    assert np.mean(held) > 0.88


def test_ratios_do_not_change_with_the_level():
    """Half the propensity, twice the positives: the same ratios."""
    X, _, s = make()
    model = SAREMClassifier([2]).fit(X, s)
    first = relative_prevalence(model, X, s, halves(X))
    e = model.predict_propensity
    model.predict_propensity = lambda X: e(X) / 2
    second = relative_prevalence(model, X, s, halves(X))
    assert second.ratio == pytest.approx(first.ratio)


def test_of_two_samples_the_background_alone_is_counted():
    X, _, s = make()
    model = SAREMClassifier([2], single_sample=False).fit(X, s)
    found = relative_prevalence(model, X, s, halves(X), reference="lower")
    e, upper = model.predict_propensity(X), X[:, 0] > 0
    shares = [np.sum(s[half] / e[half]) / np.sum(s[half] == 0) for half in (~upper, upper)]
    assert found.ratio[1] == pytest.approx(shares[1] / shares[0])


def test_words_values_and_plot():
    X, _, s = make()
    model = SAREMClassifier([2]).fit(X, s)
    found = relative_prevalence(model, X, s, halves(X), reference="lower", level=0.9)
    assert found.ratio[0] == 1
    assert found.low[0] == found.high[0] == 1
    assert "divided by that of lower (90% intervals" in str(found)
    assert found.groups[1] == "upper"
    assert f"upper: {found.ratio[1]:.2f} ({found.low[1]:.2f} to" in str(found)
    assert found.plot().get_xlabel() == "share of positives, times that of lower"


def test_intervals_are_as_wide_as_their_level_says():
    X, _, s = make()
    model = SAREMClassifier([2]).fit(X, s)
    width = []
    for level in (0.5, 0.95):
        found = relative_prevalence(model, X, s, halves(X), reference="lower", level=level)
        width.append(np.log(found.high[1] / found.low[1]))
    assert width[1] / width[0] == pytest.approx(norm.ppf(0.975) / norm.ppf(0.75))


def test_an_attribute_is_cut_in_quarters_and_the_first_is_taken():
    X, _, s = make()
    model = SAREMClassifier([2]).fit(X, s)
    assert len(relative_prevalence(model, X, s, "x0").groups) == 4
    assert relative_prevalence(model, X, s).by == "x2"


def test_a_group_without_labels_has_an_upper_end():
    X, _, s = make()
    model = SAREMClassifier([2]).fit(X, s)
    group = np.where(np.arange(len(s)) < 40, "few", "others")
    s = np.where(group == "few", 0, s)
    found = relative_prevalence(model, X, s, group)
    assert found.ratio[0] == found.low[0] == 0
    assert 0 < found.high[0] < 3


def test_bad_input_is_named():
    X, _, s = make(n_rows=300)
    model = SAREMClassifier([2]).fit(X, s)
    with pytest.raises(ValueError, match="level must lie between 0 and 1; got 2"):
        relative_prevalence(model, X, s, level=2)
    with pytest.raises(ValueError, match="no group 'east'"):
        relative_prevalence(model, X, s, halves(X), reference="east")
    with pytest.raises(ValueError, match="a group for each of the 300 rows"):
        relative_prevalence(model, X, s, ["a", "b"])
    with pytest.raises(ValueError, match="at most 12 are compared"):
        relative_prevalence(model, X, s, np.arange(300))
