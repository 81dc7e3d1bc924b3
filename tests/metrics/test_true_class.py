"""Scores with true labels: definitions, weights, extremes, refusals."""

import re
from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer, precision_score, recall_score
from sklearn.model_selection import cross_val_score

from sarlearn.labelling import ProductLabelling, label
from sarlearn.metrics import (
    observed_log_likelihood,
    probabilistic_f1_score,
    probabilistic_precision_score,
    probabilistic_recall_score,
    propensity_accuracy_score,
    propensity_mean_absolute_error,
)


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
    "precision": lambda y, f, e, s, **w: probabilistic_precision_score(y, f, **w),
    "recall": lambda y, f, e, s, **w: probabilistic_recall_score(y, f, **w),
    "f1": lambda y, f, e, s, **w: probabilistic_f1_score(y, f, **w),
    "propensity_accuracy": lambda y, f, e, s, **w: propensity_accuracy_score(y, s, e, **w),
    "propensity_error": lambda y, f, e, s, **w: propensity_mean_absolute_error(f, e, **w),
    "propensity_error_positives": lambda y, f, e, s, **w: propensity_mean_absolute_error(
        f, e, y_true=y, **w
    ),
    "log_likelihood": lambda y, f, e, s, **w: observed_log_likelihood(s, f, e, **w),
    "mean_log_likelihood": lambda y, f, e, s, **w: observed_log_likelihood(
        s, f, e, normalize=True, **w
    ),
}


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_weights_are_repetition(data, score):
    y, f, e, s, w = data
    repeated = score(*(np.repeat(a, w) for a in (y, f, e, s)))
    assert score(y, f, e, s, sample_weight=w) == pytest.approx(repeated, rel=1e-12)
    assert score(y, f, e, s, sample_weight=w) != pytest.approx(score(y, f, e, s), rel=1e-6)


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_scale_of_weights_does_not_matter_except_for_the_sum(data, score):
    y, f, e, s, w = data
    once, twice = (score(y, f, e, s, sample_weight=k * w) for k in (1.0, 2.0))
    factor = 2 if score is SCORES["log_likelihood"] else 1
    assert twice == pytest.approx(factor * once, rel=1e-12)


def test_hard_predictions_give_the_ordinary_scores(data):
    y, f, _, _, w = data
    hard = (f > 0.4).astype(int)
    for soft, ordinary in [
        (probabilistic_precision_score, precision_score),
        (probabilistic_recall_score, recall_score),
        (probabilistic_f1_score, f1_score),
    ]:
        expected = ordinary(y, hard, sample_weight=w)
        assert soft(y, hard, sample_weight=w) == pytest.approx(expected, rel=1e-12)


def test_probabilistic_scores_by_definition(data):
    y, f, _, _, _ = data
    tp, fp, fn = (f * y).mean(), (f * (1 - y)).mean(), ((1 - f) * y).mean()
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    assert probabilistic_precision_score(y, f) == pytest.approx(precision, rel=1e-12)
    assert probabilistic_recall_score(y, f) == pytest.approx(f[y == 1].mean(), rel=1e-12)
    assert probabilistic_f1_score(y, f) == pytest.approx(
        2 * precision * recall / (precision + recall), rel=1e-12
    )


def test_propensity_scores_by_definition(data):
    y, f, e, s, _ = data
    accuracy = np.mean([1 - abs(ei - si) for ei, si, yi in zip(e, s, y, strict=True) if yi])
    assert propensity_accuracy_score(y, s, e) == pytest.approx(accuracy, rel=1e-12)
    error = np.mean([abs(ei - fi) for ei, fi, yi in zip(e, f, y, strict=True) if yi])
    assert propensity_mean_absolute_error(f, e, y_true=y) == pytest.approx(error, rel=1e-12)
    assert propensity_mean_absolute_error(e, e) == 0


def test_one_propensity_stands_for_all_rows(data):
    y, f, _, s, _ = data
    constant = np.full(len(y), 0.4)
    assert propensity_accuracy_score(y, s, 0.4) == propensity_accuracy_score(y, s, constant)
    assert observed_log_likelihood(s, f, 0.4) == observed_log_likelihood(s, f, constant)
    assert propensity_mean_absolute_error(0.4, f) == propensity_mean_absolute_error(constant, f)
    assert propensity_mean_absolute_error(0.4, 0.6, y_true=y) == pytest.approx(0.2)


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


def test_log_likelihood_by_definition(data):
    _, f, e, s, _ = data
    expected = sum(
        log(fi * ei) if si else log(1 - fi * ei) for si, fi, ei in zip(s, f, e, strict=True)
    )
    assert observed_log_likelihood(s, f, e) == pytest.approx(expected, rel=1e-12)
    assert observed_log_likelihood(s, f, e, normalize=True) == pytest.approx(expected / 200)


@pytest.mark.parametrize(
    ("s", "f", "e"),
    [
        (1, 1e-200, 1e-200),  # the product underflows to 0
        (0, 1 - 2**-53, 1 - 2**-53),  # the product is 1 - 2^-52 only after rounding
        (0, 1.0, 1 - 2**-53),
        (0, 1e-18, 0.5),  # 1 - f e rounds to 1
        (0, 0.7, 0.72),
        (0, 0.7, 0.71),
    ],
)
def test_log_likelihood_keeps_its_digits_in_the_extremes(s, f, e):
    product = Fraction(f) * Fraction(e)
    if s:
        exact = log(product.numerator) - log(product.denominator)
    elif product < Fraction(1, 10**12):
        exact = -float(product)  # log(1-x) = -x to first order
    else:
        rest = 1 - product
        exact = log(rest.numerator) - log(rest.denominator)
    # The difference of two logs of big integers costs the expected value some digits near log(1).
    assert observed_log_likelihood([s], [f], [e]) == pytest.approx(exact, rel=1e-11)


def test_impossible_labels_have_likelihood_zero():
    assert observed_log_likelihood([1, 0], [0.0, 0.5], 0.5) == -np.inf
    assert observed_log_likelihood([0, 1], [1.0, 0.5], 1.0) == -np.inf
    weighted = observed_log_likelihood([1, 0], [0.0, 0.5], 0.5, sample_weight=[0, 1])
    assert weighted == pytest.approx(log(0.75))
    assert observed_log_likelihood([1], [1.0], 1.0) == 0


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=20
    )
)
def test_log_likelihood_is_never_positive_or_nan(rows):
    s, f, e = map(list, zip(*rows, strict=True))
    value = observed_log_likelihood(s, f, e)
    assert value <= 0


def test_as_scorer_in_cross_validation(data):
    y, f, *_ = data
    X = np.column_stack([f + y, f])
    scorer = make_scorer(probabilistic_f1_score, response_method="predict_proba")
    scores = cross_val_score(LogisticRegression(C=100), X, y, scoring=scorer, error_score="raise")
    assert scores.min() > 0.5


def test_undefined_scores_warn():
    with pytest.warns(UndefinedMetricWarning, match="every predicted probability is 0") as record:
        assert probabilistic_precision_score([0, 1], [0, 0]) == 0
    assert record[0].filename == __file__
    with pytest.warns(UndefinedMetricWarning, match="no row of y_true is positive"):
        assert probabilistic_recall_score([0, 0], [0.5, 0.1]) == 0
    with pytest.warns(UndefinedMetricWarning, match="no row of y_true is positive and every"):
        assert probabilistic_f1_score([0, 0], [0, 0]) == 0
    with pytest.warns(UndefinedMetricWarning, match="set to NaN: no row") as record:
        assert np.isnan(propensity_accuracy_score([0, 0], [0, 0], 0.5))
    assert record[0].filename == __file__
    with pytest.warns(UndefinedMetricWarning, match="with a positive weight"):
        assert np.isnan(
            propensity_mean_absolute_error([0.1, 0.2], 0.5, y_true=[0, 1], sample_weight=[1, 0])
        )


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
        (lambda: probabilistic_recall_score([0, 1], [0.5] * 2, sample_weight=[1, -1]), "Negative"),
        (lambda: probabilistic_recall_score([0, 1], [0.5] * 2, sample_weight=[0, 0]), "non-zero"),
        (lambda: propensity_accuracy_score([0, 1, 1], [0, 1], 0.5), "inconsistent numbers"),
        (lambda: propensity_accuracy_score([0, 1], [0, 1], [0.5, -1]), "propensity must lie in"),
        (lambda: propensity_accuracy_score([0, 1], [0, 0.3], 0.5), "s must hold two classes"),
        (lambda: propensity_mean_absolute_error([0.5] * 2, [0.5] * 3), "2 values for 3 rows"),
        (lambda: observed_log_likelihood([0, 1], [0.5, 2.0], 0.5), "y_prob must lie in"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
