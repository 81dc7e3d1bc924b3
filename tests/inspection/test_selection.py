"""Columns that labelling may follow: recovery, groups, words, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit

from sarlearn import SARClassifier
from sarlearn.exceptions import TrustWarning
from sarlearn.inspection import select_propensity_features


def make(seed=0, n=2000):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    y = rng.random(n) < expit(3 * X[:, 0] + X[:, 1])
    return X, y & (rng.random(n) < expit(X[:, 2] - X[:, 3]))


@pytest.fixture(scope="module")
def found():
    return select_propensity_features(*make(n=1200), [1, 2, 3, 4], random_state=0)


def test_true_columns_are_found_and_most_others_left():
    chosen = [
        set(
            select_propensity_features(
                *make(seed, 1500), [1, 2, 3, 4, 5], random_state=0
            ).columns.tolist()
        )
        for seed in range(5)
    ]
    assert all({2, 3} <= columns for columns in chosen)
    assert sum(columns == {2, 3} for columns in chosen) >= 3


def test_weights_are_those_of_the_fits_that_name_a_candidate(found):
    assert sum(weight for _, weight, _ in found.fits) == pytest.approx(1)
    for name, total in found.weights.items():
        naming = [weight for names, weight, _ in found.fits if name in names]
        assert total == pytest.approx(sum(naming))
    assert list(found.weights.values()) == sorted(found.weights.values(), reverse=True)
    assert found.features == [name for name, weight in found.weights.items() if weight >= 0.7]
    assert all(0 < prior < 1 for _, _, prior in found.fits)


def test_labels_at_random_name_little():
    """No candidate is suggested in most of the data sets."""
    named = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1000, 5))
        s = (rng.random(1000) < expit(3 * X[:, 0])) & (rng.random(1000) < 0.5)
        named += bool(select_propensity_features(X, s, [1, 2, 3], random_state=0).features)
    assert named <= 2


def test_a_class_that_is_not_linear_is_not_taken_for_labelling():
    """A class that needs two things at once, under SCAR: to a linear class model it looks as if
    labelling followed one of them."""
    times = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2000, 3))
        f = expit(8 * X[:, 0]) * expit(8 * X[:, 2])
        s = (rng.random(2000) < f) & (rng.random(2000) < 0.6)
        times += "x2" in select_propensity_features(X, s, [1, 2], random_state=seed).features
    assert times <= 1


def test_groups_enter_together():
    X, s = make(n=1200)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    groups = {"bias": ["c", "d"], "noise": ["e", "f"]}
    named = select_propensity_features(frame, s, groups, random_state=0)
    assert named.features == ["bias"]
    assert named.columns.tolist() == [2, 3]
    listed = select_propensity_features(sparse.csr_array(X), s, [(2, 3), (4,)], random_state=0)
    assert listed.features == ["x2 + x3"]


def test_without_candidates_every_column_is_one_as_in_the_learner():
    X, s = make(n=1200)
    every = select_propensity_features(X, s, random_state=0)
    assert set(every.weights) <= {f"x{j}" for j in range(6)}
    assert all(len(names) < 6 for names, _, _ in every.fits)
    with pytest.warns(TrustWarning):
        model = SARClassifier("auto").fit(X, s)
    assert {2, 3} <= set(every.columns) <= set(model.propensity_features_)


def test_not_all_columns_of_the_class_are_named_together():
    """With all of them in the propensity nothing would tell class from labelling."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    y = rng.random(1000) < expit(3 * X[:, 0] + 1.5 * X[:, 1])
    s = y & (rng.random(1000) < expit(-1.5 * X.sum(axis=1)))
    fits = select_propensity_features(X, s, random_state=0).fits
    assert {len(names) for names, _, _ in fits} == {0, 1}


def test_words_and_plot(found):
    text = str(found)
    assert text.startswith("Labelling may follow x")
    assert "name all that you know of" in text
    assert found.plot().get_xlabel() == "weight of fits that name it"


@pytest.mark.parametrize(
    ("candidates", "change", "message"),
    [
        ([2], {"groups": np.zeros(200)}, "groups holds one value only"),
        ([], {}, "candidates is empty"),
        ({}, {}, "candidates is empty"),
        ([(1, 2), (2, 3)], {}, "twice: x2"),
        (["age"], {}, "X has no column names"),
    ],
)
def test_bad_input_is_named(candidates, change, message):
    X, s = make(n=200)
    with pytest.raises(ValueError, match=message):
        select_propensity_features(X, s, candidates, **change)
