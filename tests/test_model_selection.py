"""Folds in proportion: by label, and by strata of the propensity attributes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import cross_val_score

from sarlearn import SAREMClassifier
from sarlearn.model_selection import PropensityStratifiedKFold


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 7), st.integers(1, 3))
def test_every_fold_has_its_share_of_each_stratum(seed, n_splits, n_columns):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(150, n_columns)).astype(float)
    s = rng.random(150) < 0.3
    folds = PropensityStratifiedKFold(range(n_columns), n_splits=n_splits, random_state=seed)
    tests = [test for _, test in folds.split(X, s)]
    assert folds.get_n_splits() == len(tests) == n_splits
    np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(150))
    stratum = X @ 3 ** np.arange(n_columns) + 100 * s
    for value in np.unique(stratum):
        counts = [np.sum(stratum[test] == value) for test in tests]
        assert max(counts) - min(counts) <= 1
    labelled = [s[test].sum() for test in tests]
    assert max(labelled) - min(labelled) <= 1


def test_numbers_are_cut_and_formats_agree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    s = rng.random(400) < 0.3
    folds = PropensityStratifiedKFold([1], n_bins=4, random_state=3)
    found = [test for _, test in folds.split(X, s)]
    quarter = np.searchsorted(np.quantile(X[:, 1], [0.25, 0.5, 0.75]), X[:, 1], side="right")
    for test in found:
        counts = np.bincount(quarter[test], minlength=4)
        assert counts.max() - counts.min() <= 2
    for other in (sparse.csr_array(X), pd.DataFrame(X, columns=["a", "b"]), X.tolist()):
        again = [test for _, test in folds.split(other, s)]
        for one, two in zip(found, again, strict=True):
            np.testing.assert_array_equal(one, two)
    named = PropensityStratifiedKFold("b", random_state=3)
    assert len(list(named.split(pd.DataFrame(X, columns=["a", "b"]), s))) == 5


def test_it_serves_as_cv():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    s = (X[:, 0] > 0) & (rng.random(300) < 0.5)
    cv = PropensityStratifiedKFold([1], n_splits=3, random_state=0)
    assert cross_val_score(SAREMClassifier([1]), X, s, cv=cv).shape == (3,)
    plain = PropensityStratifiedKFold(n_splits=3, random_state=0)
    assert {s[test].sum() for _, test in plain.split(X, s)} <= {s.sum() // 3, s.sum() // 3 + 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_splits": 1}, "n_splits must be a whole number of at least 2; got 1"),
        ({"n_bins": 2.5}, "n_bins must be a whole number"),
        ({"n_splits": 8}, "n_splits=8 is more than the 5 rows of the rarer label"),
        ({"propensity_features": [4]}, "index 4 is out of range"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        next(
            PropensityStratifiedKFold(**options).split(
                np.zeros((20, 2)), np.repeat([1, 0], [5, 15])
            )
        )


def test_rows_must_agree():
    with pytest.raises(ValueError, match="y has 3 rows, X has 20"):
        next(PropensityStratifiedKFold().split(np.zeros((20, 2)), [1, 0, 0]))
