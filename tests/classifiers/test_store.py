"""What is stored of a class prior: its range, and words for the width of it."""

from types import SimpleNamespace

import pytest
from scipy.special import expit, logit

from sarlearn.classifiers._store import certainty, range_of, store_prior, variances


def test_words_follow_the_width_of_the_range():
    assert certainty((0.3, 0.44)) == "well"
    assert certainty((0.3, 0.47)) == "roughly"
    assert certainty((0.3, 0.59)) == "roughly"
    assert certainty((0.3, 0.61)) == "not at all"


def learned(prior: float, error: float, m: int, last: float):
    """One fit, the standard error of its class prior, its scores, and what the last says alone."""
    stack = SimpleNamespace(class_prior=prior, prior_error=lambda: error, m=m)
    fit = SimpleNamespace(stack=stack, last=SimpleNamespace(class_prior=last))
    members = [SimpleNamespace(fit=fit, weight=1.0)]
    return SimpleNamespace(fit=fit, members=members, auto=False, share=0.1)


def test_the_range_is_made_of_error_disagreement_and_a_floor():
    """On logits, times 1.7; that of one score alone counts its error twice as much."""
    two = learned(0.4, 0.02, 2, 0.45)
    width = 1.7 * (4 * (0.02 / 0.24) ** 2 + 3 * (logit(0.45) - logit(0.4)) ** 2 + 0.01) ** 0.5
    expected = expit(logit(0.4) - width), expit(logit(0.4) + width)
    assert range_of(two) == pytest.approx(expected)
    assert variances(two) == pytest.approx(
        {
            "labels": 4 * (0.02 / 0.24) ** 2,
            "class models": 3 * (logit(0.45) - logit(0.4)) ** 2,
            "columns": 0.0,
            "assumptions": 0.01,
        }
    )
    width = 1.7 * (8 * (0.02 / 0.24) ** 2 + 0.01) ** 0.5
    one = learned(0.4, 0.02, 1, 0.4)
    assert range_of(one) == pytest.approx((expit(logit(0.4) - width), expit(logit(0.4) + width)))
    one.share = 0.38  # every labelled row is positive
    assert range_of(one)[0] == 0.38


def test_the_class_prior_is_at_least_the_share_of_labels():
    model = SimpleNamespace()
    store_prior(model, 0.2, 0.3)
    assert (model.class_prior_, model.label_frequency_) == (0.3, 1.0)
    store_prior(model, 1.2, 0.3)
    assert (model.class_prior_, model.label_frequency_) == (1.0, 0.3)
