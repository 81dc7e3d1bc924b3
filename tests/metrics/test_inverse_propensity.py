"""Scores without true classes: exact where all is labelled, unbiased, errors, scorers."""

import numpy as np
import pytest
import sklearn
from scipy.special import expit
from sklearn import metrics
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

from sarlearn import SAREMClassifier
from sarlearn.metrics import ipw_score, ipw_scorer, ipw_scores

HARD = {
    "recall": metrics.recall_score,
    "precision": metrics.precision_score,
    "f1": metrics.f1_score,
    "accuracy": metrics.accuracy_score,
}
SOFT = {
    "brier": metrics.brier_score_loss,
    "roc_auc": metrics.roc_auc_score,
}


def make(seed, n=400):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    y = rng.random(n) < expit(2 * z)
    e = expit(0.3 + rng.normal(size=n))
    p = np.round(expit(1.2 * z + 0.5 * rng.normal(size=n)), 2)  # with ties
    return y, p, e, y & (rng.random(n) < e)


def with_classes(y, p):
    found = {name: true(y, p > 0.5) for name, true in HARD.items()}
    return found | {name: true(y, p) for name, true in SOFT.items()}


def test_where_every_positive_is_labelled_scores_are_the_ordinary_ones():
    y, p, _, _ = make(0)
    found = ipw_scores(y, p, 1.0)
    for name, value in with_classes(y, p).items():
        assert found.scores[name] == pytest.approx(value, abs=1e-12), name
        one = ipw_score(y, p > 0.5 if name in HARD else p, 1.0, metric=name)
        assert one == pytest.approx(value), name
    assert found.class_prior == pytest.approx(y.mean())
    assert found.effective_sample_size == pytest.approx(y.sum())


def test_scores_are_unbiased_and_their_errors_right():
    errors, values, stated = [], [], []
    for seed in range(200):
        y, p, e, s = make(seed)
        found = ipw_scores(s, p, e)
        errors.append([found.scores[name] - true for name, true in with_classes(y, p).items()])
        values.append(list(found.scores.values()))
        stated.append(list(found.standard_errors.values()))
    errors, values = np.array(errors), np.array(values)
    z = errors.mean(axis=0) / (errors.std(axis=0, ddof=1) / np.sqrt(len(errors)))
    assert np.all(np.abs(z) < 3.5), z
    ratio = np.mean(stated, axis=0) / values.std(axis=0, ddof=1)
    assert np.all((ratio > 0.85) & (ratio < 1.35)), ratio


def test_products_of_pairs_leave_out_a_row_with_itself():
    """By the definition, over all pairs of distinct rows."""
    _y, p, e, s = make(1, n=60)
    v = s / e
    wins = (p[:, None] > p) + 0.5 * (p[:, None] == p)
    pairs = v[:, None] * (1 - v)
    np.fill_diagonal(pairs, 0)
    assert ipw_score(s, p, e, metric="roc_auc") == pytest.approx(np.sum(pairs * wins) / pairs.sum())


def test_the_threshold_says_what_counts_as_predicted():
    _, p, e, s = make(2)
    for threshold in (0.2, 0.7):
        found = ipw_scores(s, p, e, threshold=threshold).scores
        for metric in ("recall", "precision", "f1", "accuracy"):
            assert found[metric] == ipw_score(s, p > threshold, e, metric=metric)


def test_few_effective_rows_are_warned_of():
    s = np.repeat([1, 0], [40, 60])
    e = np.full(100, 0.9)
    e[0] = 0.001
    with pytest.warns(UserWarning, match="40 labelled rows are worth 1 equally likely"):
        ipw_scores(s, np.linspace(0, 1, 100), e)


def test_the_words_hold_every_score_and_its_error():
    _y, p, e, s = make(3)
    text = str(ipw_scores(s, p, e))
    for word in ("recall", "precision", "f1", "accuracy", "brier", "roc auc"):
        assert f"{word} 0." in text
    assert "right if the propensities are" in text


def test_no_predicted_positive_has_no_precision():
    with pytest.warns(UndefinedMetricWarning, match="precision is undefined and set to 0"):
        assert ipw_score([1, 0, 0], [0, 0, 0], 0.5, metric="precision") == 0.0


@pytest.mark.parametrize("name", ["recall", "precision", "f1", "accuracy", "neg_brier", "roc_auc"])
def test_scorers_get_the_propensity_of_their_rows(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    e = expit(X[:, 2])
    s = (rng.random(300) < expit(3 * X[:, 0])) & (rng.random(300) < e)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = ipw_scorer(name)
        scores = cross_val_score(
            SAREMClassifier([2]), X, s, scoring=scorer, cv=3, params={"propensity": e}
        )
    assert scores.shape == (3,)
    assert np.all(np.isfinite(scores))
    assert np.all(scores < 0) if name == "neg_brier" else np.all(scores > 0.2)


def test_a_grid_search_prefers_the_model_that_ranks_well():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    e = expit(2 * X[:, 2])
    s = (rng.random(600) < expit(3 * X[:, 0])) & (rng.random(600) < e)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            SAREMClassifier(), {"propensity_features": [[2], []]}, scoring=ipw_scorer("roc_auc")
        )
        assert search.fit(X, s, propensity=e).best_params_ == {"propensity_features": [2]}


def test_a_scorer_without_routing_says_how_to_get_it():
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        ipw_scorer("f1")
    with pytest.raises(ValueError, match="no scorer 'mcc'; there are recall"):
        ipw_scorer("mcc")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([1, 0, 0], [0.5, 0.2], 0.5), "y_prob has 2 values for 3 rows"),
        (([1, 0], [0.5, 1.2], 0.5), r"y_prob must lie in \[0, 1\]"),
        (([1, 0], [0.5, np.nan], 0.5), r"y_prob must lie in \[0, 1\]; row 1 has nan"),
        (([1, 0], [[0.5, 0.5], [0.1, 0.9]], 0.5), "one probability per row; .*1\\]"),
        (([1, 0], [0.5, 0.2], [0.0, 0.5]), "propensity is 0 on labelled row 0"),
        (([1, 0], [0.5, 0.2], 1.5), "propensity must lie in"),
        (([0, 0], [0.5, 0.2], 0.5), "no row is labelled"),
    ],
)
def test_bad_input_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        ipw_scores(*given)


def test_bad_options_are_named():
    with pytest.raises(ValueError, match="two classes for 'recall'; got 3 values"):
        ipw_score([1, 0, 0], [0.1, 0.2, 0.3], 0.5, metric="recall")
    with pytest.raises(ValueError, match="no metric 'mcc'; there are recall, precision, f1"):
        ipw_score([1, 0], [1, 0], 0.5, metric="mcc")
    with pytest.raises(ValueError, match="y_pred contains NaN"):
        ipw_score([1, 0], [2.0, np.nan], 0.5, metric="roc_auc")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ipw_score([1, 0], [2.0, 1.0, 0.0], 0.5, metric="roc_auc")
    with pytest.raises(ValueError, match=r"y_pred must lie in \[0, 1\]"):
        ipw_score([1, 0], [2.0, 0.5], 0.5, metric="brier")


def test_a_score_beyond_one_is_not_printed_bare():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    s = (rng.random(400) < p) & (rng.random(400) < 0.6)
    found = ipw_scores(s, p, 0.3)  # half of what it is
    assert found.scores["precision"] > 1
    assert "Beyond 1, as " in str(found)
    assert "precision" in str(found).partition("Beyond 1")[2]
    assert "Beyond 1" not in str(ipw_scores(s, p, 0.9))
