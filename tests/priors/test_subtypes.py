"""Hidden subtypes of the positives: clusters, and shares that are added up."""

import numpy as np
import pytest

from sarlearn import SARClassifier
from sarlearn.priors import LearnerPrior
from sarlearn.priors.learner import subtypes

pytestmark = pytest.mark.filterwarnings("ignore::sarlearn.exceptions.TrustWarning")


@pytest.fixture(scope="module")
def rows():
    """Two subtypes apart from each other, of which one is labelled eight times as often."""
    rng = np.random.default_rng(0)
    y, kind = rng.random(2000) < 0.4, rng.integers(2, size=2000)
    X = rng.normal(size=(2000, 4)) + y[:, None] * (4 * np.eye(2, 4))[kind]
    return X, y & (rng.random(2000) < np.where(kind == 0, 0.8, 0.1)), y


def test_shares_of_subtypes_are_added_up(rows):
    X, s, y = rows
    plain = LearnerPrior().fit(X, s)
    found = LearnerPrior(by_subtype=True).fit(X, s)
    assert plain.n_subtypes_ == 1
    assert found.n_subtypes_ == 2
    assert abs(found.class_prior_ - y.mean()) < 0.5 * abs(plain.class_prior_ - y.mean())
    cluster = subtypes(X[s])
    by_hand = 0.0
    for k in range(2):
        of_one = ~s
        of_one[np.flatnonzero(s)[cluster == k]] = True
        model = SARClassifier(()).fit(X[of_one], s[of_one])
        share = s[of_one].mean()
        by_hand += (model.class_prior_ - share) / (1 - share)
    assert found.unlabelled_prior_ == pytest.approx(by_hand)
    assert found.learner_.class_prior_ == plain.class_prior_


def test_one_cluster_is_the_plain_fit(rows):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 2)) * [1, 1e6]
    s = (X[:, 0] > 0) & (rng.random(400) < 0.5)
    X[s] = rng.normal(size=(s.sum(), 2)) * [1, 1e6] + [2, 0]
    found = LearnerPrior(by_subtype=True).fit(X, s)
    assert found.n_subtypes_ == 1
    assert found.class_prior_ == LearnerPrior().fit(X, s).class_prior_


def test_small_clusters_go_to_larger_ones():
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 9, [[30, -30]] * 3])
    found = subtypes(X)
    assert np.bincount(found).min() >= 10
    assert len(set(found[:60])) == len(set(found[60:120])) == 1
    assert set(subtypes(X[:12])) == {0}


def test_words_cannot_be_clustered():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": np.arange(60.0), "region": ["north", "south", "west"] * 20})
    s = np.arange(60) % 4 == 0
    with pytest.raises(ValueError, match="could not convert string to float: 'north'"):
        LearnerPrior(by_subtype=True).fit(table, s)
