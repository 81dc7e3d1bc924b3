"""Scores with true classes: definitions, weights, refusals."""

import re

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import cross_val_score

from sarlearn.labelling import ProductLabelling, label
from sarlearn.metrics import probabilistic_f1_score, propensity_accuracy_score


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    n = 200
    y = rng.integers(0, 2, n)
    f = rng.uniform(size=n)
    e = rng.uniform(0.1, 0.9, n)
    s = y * (rng.uniform(size=n) < e)
    return y, f, e, s, rng.integers(0, 4, n)


SCORES = {
    "f1": lambda y, f, e, s, **w: probabilistic_f1_score(y, f, **w),
    "propensity_accuracy": lambda y, f, e, s, **w: propensity_accuracy_score(y, s, e, **w),
}


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_weights_are_repetition(data, score):
    y, f, e, s, w = data
    repeated = score(*(np.repeat(a, w) for a in (y, f, e, s)))
    assert score(y, f, e, s, sample_weight=w) == pytest.approx(repeated, rel=1e-12)
    assert score(y, f, e, s, sample_weight=w) != pytest.approx(score(y, f, e, s), rel=1e-6)


def test_hard_predictions_give_the_ordinary_scores(data):
    y, f, _, _, w = data
    hard = (f > 0.4).astype(int)
    expected = f1_score(y, hard, sample_weight=w)
    found = probabilistic_f1_score(y, hard, sample_weight=w)
    assert found == pytest.approx(expected, rel=1e-12)


def test_probabilistic_scores_by_definition(data):
    y, f, _, _, _ = data
    tp, fp, fn = (f * y).mean(), (f * (1 - y)).mean(), ((1 - f) * y).mean()
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    assert probabilistic_f1_score(y, f) == pytest.approx(
        2 * precision * recall / (precision + recall), rel=1e-12
    )


def test_propensity_scores_by_definition(data):
    y, _, e, s, _ = data
    accuracy = np.mean([1 - abs(ei - si) for ei, si, yi in zip(e, s, y, strict=True) if yi])
    assert propensity_accuracy_score(y, s, e) == pytest.approx(accuracy, rel=1e-12)


def test_one_propensity_stands_for_all_rows(data):
    y, _, _, s, _ = data
    constant = np.full(len(y), 0.4)
    assert propensity_accuracy_score(y, s, 0.4) == propensity_accuracy_score(y, s, constant)


def test_true_propensity_scores_about_two_thirds_in_the_papers_setting():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (100_000, 3))
    y = rng.integers(0, 2, 100_000)
    s, e = label(X, y, ProductLabelling([0, 1, 2]), random_state=0)
    # Expected accuracy of the truth: mean of e^2 + (1-e)^2 over the eight configurations.
    values = [0.9**k * 0.5 ** (3 - k) for k in (0, 1, 1, 1, 2, 2, 2, 3)]
    expected = np.mean([v**2 + (1 - v) ** 2 for v in values])
    assert propensity_accuracy_score(y, s, e) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    "encode", [lambda a: a.astype(bool), lambda a: 2 * a - 1, np.ndarray.tolist]
)
def test_classes_and_labels_in_any_two_values(data, encode):
    y, f, e, s, _ = data
    for score in SCORES.values():
        assert score(encode(y), f, e, encode(s)) == score(y, f, e, s)


def test_as_scorer_in_cross_validation(data):
    y, f, *_ = data
    X = np.column_stack([f + y, f])
    scorer = make_scorer(probabilistic_f1_score, response_method="predict_proba")
    scores = cross_val_score(LogisticRegression(C=100), X, y, scoring=scorer, error_score="raise")
    assert scores.min() > 0.5


def test_undefined_scores_warn():
    with pytest.warns(UndefinedMetricWarning, match="no row.*positive and every") as record:
        assert probabilistic_f1_score([0, 0], [0, 0]) == 0
    assert record[0].filename == __file__
    with pytest.warns(UndefinedMetricWarning, match="set to NaN: no row") as record:
        assert np.isnan(propensity_accuracy_score([0, 0], [0, 0], 0.5))
    assert record[0].filename == __file__
    with pytest.warns(UndefinedMetricWarning, match="with a positive weight"):
        assert np.isnan(propensity_accuracy_score([0, 1], [0, 1], 0.5, sample_weight=[1, 0]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: probabilistic_f1_score([0, 1], [0.5, 1.5]), "row 1 has 1.5"),
        (lambda: probabilistic_f1_score([0, 1], [np.nan, 0.5]), "row 0 has nan"),
        (lambda: probabilistic_f1_score([0, 1], [0.5]), "y_prob has 1 values for 2 rows"),
        (lambda: probabilistic_f1_score([0, 1], 0.5), "one probability per row; got shape ()"),
        (lambda: probabilistic_f1_score([0, 1], np.eye(2)), "pass predict_proba(X)[:, 1]"),
        (lambda: probabilistic_f1_score([0, 1, 2], [0.5] * 3), "y_true must hold two classes"),
        (lambda: probabilistic_f1_score([7, 7], [0.5] * 2), "could be either class"),
        (lambda: probabilistic_f1_score([0, 1], [0.5] * 2, sample_weight=[1, -1]), "Negative"),
        (lambda: probabilistic_f1_score([0, 1], [0.5] * 2, sample_weight=[0, 0]), "non-zero"),
        (lambda: propensity_accuracy_score([0, 1, 1], [0, 1], 0.5), "inconsistent numbers"),
        (lambda: propensity_accuracy_score([0, 1], [0, 1], [0.5, -1]), "propensity must lie in"),
        (lambda: propensity_accuracy_score([0, 1], [0, 0.3], 0.5), "s must hold two classes"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
