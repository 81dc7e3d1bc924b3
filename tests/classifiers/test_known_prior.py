"""A class prior that is known: what is taken for one, and what is refused."""

import numpy as np
import pytest

from sarlearn import SARClassifier


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (0.05, "below the share of labelled rows"),
        ((0.5, 0.2), "lower end first"),
        (1.5, "between 0 and 1"),
        ({"mean": 0.2}, "'mean' and 'standard_error'"),
        ({"mean": 0.2, "standard_error": 0}, "standard_error between 0 and 1"),
        ((0.1, 0.2, 0.3), r"a number, \(low, high\), or a dict"),
    ],
)
def test_errors_name_the_value(prior, message):
    X = np.random.default_rng(0).standard_normal((300, 4))
    s = X[:, 0] > 0.5
    with pytest.raises(ValueError, match=message):
        SARClassifier([3], class_prior=prior).fit(X, s)
