"""What a fitted learner says of itself, and what it says of a table it cannot take."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import sarlearn
from conftest import make_pu
from sarlearn._words import range_sentence
from sarlearn.reporting import summarize
from table_data import patients

LEARNERS = {
    "SAREMClassifier": {"propensity_features": [0]},
    "SARClassifier": {"propensity_features": [0]},
    "KnownPropensityClassifier": {},
    "MultiSCARClassifier": {},
    "SCARClassifier": {"random_state": 0},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_has_a_summary(name):
    data = make_pu(400, 3)
    model = getattr(sarlearn, name)(**LEARNERS[name]).fit(data.X, data.s)
    text = model.summary()
    assert text.startswith(
        f"{name}: an estimated {model.class_prior_:.1%} of the rows are positive"
    )
    assert f"{model.label_frequency_:.1%} of the positives are labelled" in text
    assert ("One more of x0 multiplies the odds" in text) == hasattr(model, "propensity_coef_")


def test_the_same_words_as_the_report():
    """One implementation: the range in a summary is the terminal's and the report's."""
    table = patients(800)[0].drop(columns="patient_id")
    s = table.pop("diagnosed")
    model = sarlearn.SARClassifier(["age", "plan", "smoker"]).fit(table, s)
    said = model.summary()
    low, high = model.class_prior_range_
    assert range_sentence(low, high, model.certainty_) in said
    found = summarize(model, table, s)
    assert f"{low:.1%} to {high:.1%}" in found["verdict"]["reason"]
    assert (found["certainty"]["low"], found["certainty"]["high"]) == (low, high)
    assert found["estimates"]["class_prior"] == model.class_prior_


@pytest.mark.parametrize(
    ("X", "what"),
    [
        (pd.DataFrame({"a": ["x", "y"] * 20, "b": range(40)}), "words"),
        (pd.DataFrame({"a": [1.0, None] * 20, "b": range(40)}), "gaps"),
        (np.array([["x", "y"]] * 40), "words"),
        (np.array([[1.0, np.nan]] * 40), "gaps"),
        (sparse.csr_matrix([[1.0, np.nan]] * 40), "gaps"),
    ],
)
def test_words_and_gaps_point_to_what_takes_them(X, what):
    s = np.tile([0, 1], 20)
    with pytest.raises(ValueError, match=f"X has {what}, .*SARClassifier takes a data"):
        sarlearn.SAREMClassifier().fit(X, s)


def test_other_mistakes_do_not():
    with pytest.raises(ValueError, match="inconsistent") as caught:
        sarlearn.SAREMClassifier().fit([[1.0], [2.0]], [0, 1, 1])
    assert "SARClassifier takes" not in str(caught.value)
