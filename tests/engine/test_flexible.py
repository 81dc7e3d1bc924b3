"""Held-out scores in closed form: against fits without each row, weights, and what they find."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from sarlearn._engine import flexible
from sarlearn._engine.flexible import kernel_scores, linear_scores, standardised


def test_a_row_is_predicted_by_the_fit_without_it(monkeypatch):
    monkeypatch.setattr(flexible, "PENALTIES", (2.5,))
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(40, 3)), rng.uniform(0.5, 3.0, 40)
    target = np.clip(0.5 + 0.1 * X[:, 0] + rng.normal(0, 0.1, 40), 0.1, 0.9)
    got = expit(linear_scores(X, [target], weight))[:, 0]
    rows = np.arange(40) != 7
    # The closed form keeps the centring by all rows; a fit without the row moves it a little.
    left_out = Ridge(alpha=2.5).fit(X[rows], target[rows], weight[rows]).predict(X[[7]])[0]
    assert got[7] == pytest.approx(left_out, abs=5e-3)
    within = Ridge(alpha=2.5).fit(X, target, weight).predict(X[[7]])[0]
    assert abs(got[7] - left_out) < abs(within - left_out)


def test_no_weights_are_equal_weights():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    target = rng.random(30)
    one = linear_scores(X, [target], np.ones(30))
    assert linear_scores(X, [target]) == pytest.approx(one)


def test_the_kernel_finds_what_a_line_cannot():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1200, 4))
    labelled = rng.random(1200) < expit(4 * np.sign(X[:, 0] * X[:, 1])) * 0.5
    bent = kernel_scores(standardised(X), [labelled])[:, 0]
    straight = linear_scores(standardised(X), [labelled])[:, 0]
    assert roc_auc_score(labelled, bent) > 0.7
    assert roc_auc_score(labelled, straight) < 0.6


def test_each_target_has_its_own_scores():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    targets = [X[:, 0] > 0, X[:, 1] > 0]
    both = kernel_scores(X, targets)
    for column, target in enumerate(targets):
        assert both[:, column] == pytest.approx(kernel_scores(X, [target])[:, 0])


def test_a_constant_column_is_zero():
    assert not standardised(np.ones((5, 1))).any()
