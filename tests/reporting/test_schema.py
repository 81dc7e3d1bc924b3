"""What ``--json`` prints is what ``docs/_static/summary.schema.json`` says, and no more."""

import json
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from conftest import make_pu
from sarlearn import SARClassifier, SAREMClassifier
from sarlearn.reporting import summarize
from table_data import patients, sarem_of_table

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs/_static/summary.schema.json").read_text(encoding="utf-8")
)
LEFT_OUT = ["patient_id", "diagnosed"]
CASES = ["paper", "leak", "other rows", "two samples", "known", "audited", "no name"]


def complaints(summary):
    found = json.loads(json.dumps(summary, allow_nan=False))
    return [(list(e.path), e.message) for e in Draft202012Validator(SCHEMA).iter_errors(found)]


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)


def test_the_command_line(filled):
    found = json.loads((filled / "fit.json").read_text())
    assert complaints(found) == []
    assert complaints(found | {"more": 1}) != []
    del found["estimates"]["class_prior"]
    assert complaints(found) != []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_models_of_every_kind(case):
    table, y, _ = patients(500)
    X, s = table.drop(columns=LEFT_OUT), table["diagnosed"].to_numpy()
    model, known = SARClassifier(["plan"], max_iter=10, n_folds=2), {}
    if case == "paper":
        X = table
        model = sarem_of_table(["age", "plan"], drop=LEFT_OUT)
    elif case == "leak":
        X = X.assign(code=np.where(s == 1, 1.0, 0.0))
    elif case == "two samples":
        model.set_params(single_sample=False)
    elif case == "no name":
        model.set_params(propensity_features="auto")
    elif case == "known":
        model.set_params(class_prior=0.5)
    elif case == "audited":
        looked = np.random.default_rng(0).random(500) < 0.2
        known["audited"] = np.where(looked & (s == 0), y, np.nan)
        known["audit_probability"] = np.where(looked & (s == 0), 0.2, np.nan)
    model.fit(X, s, **known)
    rows = slice(0, 300) if case == "other rows" else slice(None)
    assert complaints(summarize(model, X[rows], s[rows])) == []


def test_a_matrix():
    data = make_pu(400, 4)
    model = SAREMClassifier().fit(data.X, data.s)
    assert complaints(summarize(model, data.X, data.s)) == []
