"""Labels as people have them: words, gaps, other pairs of values; in Python, on Dask."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sarlearn
from sarlearn._validation import encode_labels, encode_new_labels
from sarlearn.exceptions import DataWarning

N = 400


def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 3))
    s = (2 * X[:, 0] + X[:, 1] > 0) & (rng.random(N) < 1 / (1 + np.exp(-X[:, 2])))
    return X, s


PAIRS = [
    ("labelled", "unlabelled"),
    ("Labeled", "Unlabeled"),
    ("positive", "unlabelled"),
    ("positive", "negative"),
    ("P", "U"),
    ("yes", "no"),
    ("Y", "N"),
    ("ja", "nein"),
    ("oui", "non"),
    ("True", "False"),
    ("case", "control"),
    ("WAHR", "FALSCH"),
    ("да", "нет"),
    ("はい", "いいえ"),
    ("labelled", "not labelled"),
    ("1", "0"),
    ("+", "-"),
]


@pytest.mark.parametrize(("word", "other"), PAIRS)
def test_known_words_are_taken_the_right_way_round(word, other):
    _, s = rows()
    labelled, classes = encode_labels(np.where(s, word, other))  # warnings are errors
    np.testing.assert_array_equal(labelled, s)
    assert classes.tolist() == [other, word]


GAPS = {
    "NaN": lambda s: np.where(s, 1.0, np.nan),
    "NaN and zeros": lambda s: np.where(s, 1.0, np.where(np.arange(N) % 2, 0.0, np.nan)),
    "None": lambda s: np.where(s, "x", None),
    "the text of NaN": lambda s: np.where(s, "found", "nan"),
    "empty": lambda s: np.where(s, "yes", ""),
    "yes, no, missing": lambda s: np.where(s, "yes", np.where(np.arange(N) % 2, "no", None)),
    "nullable pandas": lambda s: pd.Series(s, dtype="boolean").where(s),
    "nullable pandas integers": lambda s: pd.Series(s.astype(int), dtype="Int64").where(s),
    "categorical pandas": lambda s: pd.Series(np.where(s, "ill", None), dtype="category"),
    "polars": lambda s: pl.Series([1 if value else None for value in s]),
    "polars text": lambda s: pl.Series(["yes" if value else None for value in s]),
    "list": lambda s: [1 if value else None for value in s],
}


@pytest.mark.parametrize("labels", GAPS.values(), ids=GAPS)
def test_a_missing_label_means_unlabelled(labels):
    X, s = rows()
    told = sarlearn.SAREMClassifier([2]).fit(X, s)
    model = sarlearn.SAREMClassifier([2]).fit(X, labels(s))
    assert model.class_prior_ == told.class_prior_
    np.testing.assert_array_equal(model.predict(X) == model.classes_[1], told.predict(X))
    np.testing.assert_array_equal(
        model.predict_posterior(X, labels(s)), told.predict_posterior(X, s)
    )


@pytest.mark.parametrize(
    ("taken", "other"), [("two", "one"), (1, 2), ("yes", "perhaps"), ("seen", "no"), (4, 3)]
)
def test_any_other_pair_is_warned_of_with_the_value_and_its_rows(taken, other):
    _, s = rows()
    with pytest.warns(DataWarning, match="was taken to mean labelled") as caught:
        labelled, _ = encode_labels(np.where(s, taken, other))
    np.testing.assert_array_equal(labelled, s)
    warning = caught[0].message
    assert warning.code == "guessed-label"
    assert f"The label {taken!r} was taken" in str(warning)
    assert f"{s.sum()} of {N} rows" in str(warning)
    assert f"pass pos_label={other!r}" in str(warning)


def learners():
    return [
        sarlearn.SAREMClassifier([2]),
        sarlearn.SARClassifier([2], max_iter=20),
        sarlearn.KnownPropensityClassifier(),
        sarlearn.SCARClassifier(random_state=0),
        sarlearn.MultiSCARClassifier(),
    ]


@pytest.mark.parametrize("learner", learners(), ids=lambda learner: type(learner).__name__)
def test_every_learner_takes_pos_label(learner):
    X, s = rows()
    given = {"propensity": 0.5} if "Known" in type(learner).__name__ else {}
    told = learner.fit(X, s, **given).predict_proba(X)
    labels = np.where(s, "alpha", "beta")
    fitted = learner.set_params(pos_label="alpha").fit(X, labels, **given)
    np.testing.assert_array_equal(fitted.predict_proba(X), told)
    assert fitted.classes_.tolist() == ["beta", "alpha"]
    assert set(fitted.predict(X)) <= {"alpha", "beta"}
    with pytest.raises(ValueError, match=r"pos_label='gamma' is none of the labels.*'alpha'"):
        learner.set_params(pos_label="gamma").fit(X, labels, **given)


def test_a_labelled_share_above_one_half_is_warned_of():
    _, s = rows()
    with pytest.warns(DataWarning, match="More than half.*pos_label=0") as caught:
        encode_labels(~s * 1)
    assert caught[0].message.code == "mostly-labelled"
    assert f"{(~s).sum()} of {N} hold 1" in str(caught[0].message)
    encode_labels(~s * 1, pos_label=1)  # told, so not doubted


def test_inside_of_another_learner_a_guess_is_told_once():
    X, s = rows()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sarlearn.SCARClassifier(random_state=0).fit(X, np.where(s, "two", "one"))
    assert sum(getattr(w.message, "code", "") == "guessed-label" for w in caught) == 1


def test_missing_labels_at_predict_time():
    classes = np.array(["no", "yes"])
    found = encode_new_labels(["yes", None, "no", "nan"], classes, 4)
    np.testing.assert_array_equal(found, [True, False, False, False])


def test_words_and_gaps_on_dask(here):
    da = pytest.importorskip("dask.array")
    X, s = rows()
    told = sarlearn.SAREMClassifier([2]).fit(X, s)
    parts = da.from_array(X, chunks=(100, 3))
    for labels, pos_label in [
        (np.where(s, "labelled", "unlabelled"), None),
        (np.where(s, "alpha", "beta"), "alpha"),
        (np.where(s, 1.0, np.nan), None),
        (np.where(s, "x", None), None),
    ]:
        model = sarlearn.SAREMClassifier([2], pos_label=pos_label)
        model.fit(parts, da.from_array(labels, chunks=100))
        assert model.class_prior_ == pytest.approx(told.class_prior_, abs=1e-8)
    with pytest.warns(DataWarning, match=f"{s.sum()} of {N} rows"):
        sarlearn.SAREMClassifier([2]).fit(
            parts, da.from_array(np.where(s, "two", "one"), chunks=100)
        )


def test_three_kinds_of_labels_are_refused_and_the_way_for_checked_rows_is_named():
    """-1 is unlabelled to some and negative to others."""
    X, s = rows()
    three = np.where(s, 1, np.where(np.arange(len(s)) % 2, 0, -1))
    with pytest.raises(ValueError, match=r"3 values \(-1, 0 and 1\).*fit\(X, s, audited=\.\.\.\)"):
        sarlearn.SAREMClassifier().fit(X, three)
