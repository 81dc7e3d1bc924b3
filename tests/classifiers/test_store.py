"""What is stored of a class prior: its range, and words for the width of it."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, logit

from sarlearn.classifiers._store import (
    FLOOR_MANY,
    FLOOR_UNNAMED,
    _covariance,
    _store_prior,
    certainty,
    range_of,
    store_prior,
    variances,
)


def test_words_follow_the_width_of_the_range():
    assert certainty((0.3, 0.44)) == "well"
    assert certainty((0.3, 0.47)) == "roughly"
    assert certainty((0.3, 0.59)) == "roughly"
    assert certainty((0.3, 0.61)) == "not at all"


def learned(prior: float, error: float, m: int, last: float):
    """One fit, the standard error of its class prior, its scores, and what the last says alone."""
    stack = SimpleNamespace(class_prior=prior, prior_error=lambda: error, m=m)
    fit = SimpleNamespace(stack=stack, last=SimpleNamespace(class_prior=last))
    members = [SimpleNamespace(fit=fit, weight=1.0, terms=np.arange(1))]
    said = {"auto": False, "many": False, "share": 0.1, "leaks": [], "unnamed": None}
    return SimpleNamespace(fit=fit, members=members, **said)


def stored(found, named=(0,), unidentified=False):
    """A model in which this is stored, beside nothing that is known otherwise."""
    priors = [{"class_prior": one.fit.stack.class_prior} for one in found.members]
    model = SimpleNamespace(single_sample=True, n_features_in_=3, averaged_fits_=priors)
    model.propensity_features_ = np.array(named, dtype=int)
    rows = SimpleNamespace(column=lambda name: np.array([True, False]))
    given = SimpleNamespace(audit=None, rows=rows)
    _store_prior(model, given, found, None, unidentified)
    return model


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


def test_the_range_is_wider_where_no_column_is_named():
    found = learned(0.4, 0.001, 2, 0.4)
    assert stored(found).class_prior_range_ == pytest.approx(range_of(found))
    wide = stored(found, named=()).class_prior_range_
    assert wide == pytest.approx(range_of(found, FLOOR_UNNAMED))
    assert wide[1] - wide[0] > 2 * np.diff(range_of(found))[0]


def test_of_many_rows_the_error_of_shape_is_what_is_left():
    found = learned(0.5, 0.0, 2, 0.5)
    found.many = True
    assert stored(found).class_prior_range_ == pytest.approx(range_of(found, FLOOR_MANY))
    assert stored(found).certainty_ == "well"
    assert stored(found, named=()).class_prior_range_ == range_of(found, FLOOR_UNNAMED)


def test_what_leaves_the_class_prior_open_opens_the_range():
    found = learned(0.4, 0.001, 2, 0.4)
    assert stored(found).certainty_ == "well"
    unidentified = stored(found, unidentified=True)
    assert unidentified.class_prior_range_ == (0.1, 1.0)
    found.leaks = [2]
    leaking = stored(found)
    assert leaking.class_prior_range_ == pytest.approx((range_of(found)[0], 1.0))
    assert unidentified.certainty_ == leaking.certainty_ == "not at all"


def test_fits_with_other_class_priors_are_not_called_well_known():
    """However little they weigh, and however narrow the range is."""
    found, other = learned(0.4, 0.001, 2, 0.4), learned(0.55, 0.001, 2, 0.55)
    (one,) = other.members
    one.weight = 1e-3
    found.members.append(one)
    ends = stored(found).class_prior_range_
    assert certainty(ends) == "well"
    assert stored(found).certainty_ == "roughly"
    one.fit.stack.class_prior = 0.45
    assert stored(found).certainty_ == "well"


def test_errors_of_an_average_are_those_within_fits_and_between_them():
    """Two fits of equal weight, one of which names the column: its slope is 2, and 1 on average."""
    members = [
        SimpleNamespace(
            terms=np.arange(len(phi) - 1),
            weight=0.5,
            fit=SimpleNamespace(
                stack=SimpleNamespace(m=1, phi=np.array(phi), information=np.eye(len(phi) + 2))
            ),
        )
        for phi in ([2.0, 0.0], [1.0])
    ]
    average = SimpleNamespace(stack=SimpleNamespace(phi=np.array([1.0, 0.5])))
    found = SimpleNamespace(members=members, attributes=range(1), fit=average)
    between = [[1.0, -0.5], [-0.5, 0.25]]
    np.testing.assert_allclose(_covariance(found), np.diag([0.5, 1.0]) + between)
