"""Goodness of fit: what is found in data that the model is right or wrong about."""

import numpy as np
import pytest
from scipy.special import expit

pytest.importorskip("matplotlib")

from sarlearn import SARClassifier, SAREMClassifier
from sarlearn.exceptions import TrustWarning
from sarlearn.inspection import goodness_of_fit
from sarlearn.inspection._goodness import misfit, score_tests


def make(n_rows=1500, bend=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    y = rng.random(n_rows) < expit(3 * X[:, 0] + bend * (X[:, 1] ** 2 - 1))
    return X, y, (y & (rng.random(n_rows) < expit(1 + 1.5 * X[:, 2]))).astype(int)


@pytest.fixture(scope="module")
def right():
    X, _, s = make()
    model = SAREMClassifier([2]).fit(X, s)
    return goodness_of_fit(model, X, s), model, s


def test_nothing_is_found_where_the_model_is_right(right):
    found, _, s = right
    assert found.problems == []
    assert "Nothing in the labels contradicts the model" in str(found)
    assert found.by_score["observed"].sum() == s.sum()
    assert found.by_score["rows"].sum() == found.by_propensity["rows"].sum() == len(s)


def test_the_display_shows_both_tables(right):
    drawn = right[0].plot()
    assert [ax.get_xlabel() for ax in drawn] == ["class probability", "propensity"]
    assert len(drawn[0].patches) == len(right[0].by_score["rows"])
    assert right[0].plot(drawn) is drawn


def test_a_bend_of_the_class_is_named():
    X, _, s = make(n_rows=3000, bend=2.0)
    found = goodness_of_fit(SAREMClassifier([2]).fit(X, s), X, s)
    assert next(iter(found.nonlinear)) == "x1"
    assert any("x1" in problem for problem in found.problems)


def test_a_leak_is_named():
    X, _, s = make()
    X = np.column_stack([X, s + 0.1 * X[:, 0]])
    found = goodness_of_fit(SAREMClassifier([2]).fit(X, s), X, s)
    assert found.leaks == ["x3"]


def test_a_treatment_of_some_of_the_labelled_is_named():
    """It says nothing of most rows; but whoever has it is labelled."""
    X, y, s = make()
    rng = np.random.default_rng(1)
    treated = (s == 1) & (rng.random(len(s)) < 0.4)
    cured = y & (rng.random(len(s)) < 0.4)  # a sign of the class is no leak
    X = np.column_stack([X, np.where(treated, rng.choice([1, 2], len(s)), 0), cured])
    assert goodness_of_fit(SAREMClassifier([2]).fit(X, s), X, s).leaks == ["x3"]
    with pytest.warns(TrustWarning, match="x3 gives the label away"):
        model = SARClassifier([2], max_iter=30).fit(X, s)
    assert model.certainty_ == "not at all"
    assert model.class_prior_range_[1] == 1


def test_labels_that_are_elsewhere_are_a_misfit(right):
    """A model held against labels that it did not see, and that follow another class."""
    _, model, _ = right
    X, _, _ = make()
    rng = np.random.default_rng(5)
    other = (rng.random(len(X)) < 0.8 * expit(-3 * X[:, 0])).astype(int)
    found = goodness_of_fit(model, X, other)
    assert found.misfit > 20
    assert "are labelled and" in found.problems[0]


def test_visits_of_one_patient_count_once(right):
    """Each row eight times, with its label: without groups chance differences are a misfit."""
    X, _, s = make(seed=3)
    visits, patients = (np.tile(X, (8, 1)), np.tile(s, 8)), np.tile(np.arange(len(s)), 8)
    once = goodness_of_fit(right[1], X, s)
    assert goodness_of_fit(right[1], *visits).misfit > 10
    together = goodness_of_fit(right[1], *visits, groups=patients)
    assert together.misfit == pytest.approx(once.misfit, abs=1)
    wide = together.by_score["variance"] / once.by_score["variance"]
    np.testing.assert_allclose(wide, 64, rtol=0.2)


def test_a_column_that_visits_share_counts_once():
    rng = np.random.default_rng(0)
    score, column = rng.normal(size=(2, 300))
    zeta, patients = np.zeros(300), np.arange(300)
    labelled = rng.random(300) < expit(score) * expit(zeta + column)

    def statistic(times: int, groups=None) -> float:
        given = (np.tile(each, times) for each in (score, zeta, labelled))
        columns = np.empty((300 * times, 0)), np.tile(column[:, None], (times, 1))
        return score_tests(*given, *columns, of_class=False, groups=groups)[0]

    once = statistic(1, patients)
    assert once > 3
    assert statistic(8, np.tile(patients, 8)) == pytest.approx(once, rel=0.2)
    assert statistic(8) > 2 * once


def test_a_few_per_cent_more_labels_than_expected_are_no_misfit():
    """However many rows there are: every model is refuted by enough of them."""

    def of(observed: float) -> float:
        one = {"observed": observed, "expected": 1e6, "variance": 1e5}
        return misfit({name: np.full(24, value) for name, value in one.items()})

    assert of(1.02e6) < 0
    assert of(1.2e6) > 20
