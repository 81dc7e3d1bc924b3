"""What a fitted learner says of itself, and what it says of a table it cannot take."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils import estimator_html_repr

import sarlearn
from conftest import make_pu
from sarlearn._words import range_sentence
from sarlearn.reporting import summarize
from sarlearn.tables import make_table_classifier
from table_data import patients

LEARNERS = {
    "SAREMClassifier": {"propensity_features": [0]},
    "CrossFitSARClassifier": {"propensity_features": [0], "cv": 2, "random_state": 0},
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


@pytest.fixture(scope="module")
def table():
    return patients(800)[0]


@pytest.fixture(scope="module")
def model(table):
    model = make_table_classifier(
        ["age", "plan", "smoker"],
        drop=["patient_id", "diagnosed"],
        method="cross-fit",
        cv=2,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows
        return model.fit(table, table["diagnosed"])


def test_a_table_pipeline_knows_what_its_last_step_learned(model):
    for name in ("class_prior_", "class_prior_range_", "label_frequency_", "converged_", "n_iter_"):
        assert getattr(model, name) == getattr(model[-1], name)
    assert model.history_ is model[-1].history_
    plain = make_table_classifier(["age"])
    assert not hasattr(plain, "class_prior_")
    assert not hasattr(plain.set_params(sarem__tol=0.1), "class_prior_range_")


def test_a_table_pipeline_speaks_of_the_columns_of_the_table(model):
    lines = model.summary().splitlines()
    assert any(line.startswith("  age: One standard deviation more of age") for line in lines)
    assert any(line.startswith("  plan = full: The odds of being labelled are") for line in lines)
    assert any("smoker = True" in line and "all other values" in line for line in lines)


def test_the_same_words_as_the_report(model, table):
    """One implementation: the range in a summary is the terminal's and the report's."""
    said = model.summary()
    low, high = model.class_prior_range_
    word = model[-1].certainty_
    assert range_sentence(low, high, word) in said
    found = summarize(model, table, table["diagnosed"])
    hidden = found["certainty"]["hidden_positives"]
    assert found["text"]["sure"] == range_sentence(low, high, word, hidden)
    assert (found["certainty"]["low"], found["certainty"]["high"]) == (low, high)
    assert found["estimates"]["class_prior"] == model.class_prior_


def test_diagrams_are_scikit_learns(model):
    diagram = estimator_html_repr(model)
    assert "TableEncoder" in diagram
    assert "CrossFitSARClassifier" in diagram


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
def test_words_and_gaps_point_to_the_table_classifier(X, what):
    s = np.tile([0, 1], 20)
    with pytest.raises(ValueError, match=f"X has {what}, .*make_table_classifier"):
        sarlearn.SAREMClassifier().fit(X, s)


def test_other_mistakes_do_not():
    with pytest.raises(ValueError, match="inconsistent") as caught:
        sarlearn.SAREMClassifier().fit([[1.0], [2.0]], [0, 1, 1])
    assert "make_table_classifier" not in str(caught.value)
