"""A table as people have it, with what is hidden in it known: for tests of tables and surfaces."""

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.pipeline import make_pipeline

from sarlearn import SAREMClassifier, TableEncoder

ADULT_NAMES = ["age", "workclass", "weight", "education", "years_of_education", "marital"]
ADULT_NAMES += ["occupation", "relationship", "race", "sex", "gain", "loss", "hours", "country"]
ADULT_NAMES += ["income"]


def sarem_of_table(propensity_features=(), drop=(), **settings):
    """The paper's learner for tables."""
    encoder = TableEncoder(drop=tuple(drop), terms=True)
    return make_pipeline(encoder, SAREMClassifier(propensity_features, **settings))


def predicted(pipeline, method, table, *labels):
    """What the last step of a pipeline predicts for a table."""
    return getattr(pipeline[-1], method)(pipeline[:-1].transform(table), *labels)


def patients(n=1500, seed=0):
    """Mixed columns: numbers with gaps, words, truth values. Labelling follows age and plan."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 12, n).round()
    plan = rng.choice(["none", "basic", "full"], n, p=[0.5, 0.3, 0.2])
    smoker = rng.random(n) < 0.3
    bmi = rng.normal(26, 4, n)
    pressure = rng.normal(120, 15, n)
    region = rng.choice(["north", "south", "east", "west"], n)
    y = rng.random(n) < expit(2.5 * smoker + 0.25 * (bmi - 27) + 0.08 * (pressure - 120) - 1)
    shift = pd.Series(plan).map({"none": -1.0, "basic": 0.3, "full": 1.5}).to_numpy()
    e = expit(0.05 * (age - 50) + shift)
    s = y & (rng.random(n) < e)
    table = pd.DataFrame(
        {
            "patient_id": [f"{i:05d}" for i in range(n)],
            "age": age,
            "plan": plan,
            "smoker": smoker,
            "bmi": np.where(rng.random(n) < 0.05, np.nan, bmi),
            "pressure": pressure,
            "region": np.where(rng.random(n) < 0.03, None, region),
            "diagnosed": s.astype(int),
        }
    )
    return table, y, e


def curved(n=1500, seed=0):
    """A class that trees describe and lines do not; numbers and words with gaps, a skewed column.

    Gives columns, labels and the true class. Labelling follows age and plan.
    """
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 15, n),
            "bmi": rng.normal(27, 4, n),
            "plan": pd.Categorical(rng.choice(["none", "basic", "full", "it's"], n)),
            "region": rng.choice(["north", "south", "east"], n),
            "money": np.exp(2.5 * rng.standard_normal(n)),
            "visits": rng.integers(0, 5, n).astype(float),
        }
    )
    logit = ((X["age"] - 50) / 15) ** 2 + 1.5 * (X["region"] == "south") - 1.6
    y = (logit + 0.4 * rng.logistic(size=n) > 0).to_numpy()
    shift = X["plan"].map({"none": -1.5, "basic": -0.5, "full": 1.0, "it's": -0.5}).astype(float)
    s = y & (rng.random(n) < expit(shift + 0.02 * (X["age"] - 50)))
    for name, share in (("bmi", 0.1), ("age", 0.1), ("region", 0.05), ("plan", 0.05)):
        X.loc[rng.random(n) < share, name] = None
    return X, s.to_numpy().astype(int), y


def adult_like(n, seed=0):
    """Adult from the data folder where it is present, a generated table otherwise; n rows.

    Gives the table with a column ``labelled``, and the true class.
    """
    folder = os.environ.get("SARLEARN_DATA")
    rng = np.random.default_rng(seed)
    if folder is None:
        table, y, _ = patients(n, seed)
        return table.rename(columns={"diagnosed": "labelled"}), y
    path = Path(folder) / "adult" / "adult.data.gz"
    with gzip.open(path, "rt") as stream:
        table = pd.read_csv(
            stream, header=None, names=ADULT_NAMES, skipinitialspace=True, na_values="?"
        )
    table = table.iloc[rng.integers(0, len(table), n)].reset_index(drop=True)
    y = (table.pop("income") == ">50K").to_numpy()
    e = expit(0.05 * (table["age"] - 45) + np.where(table["sex"] == "Male", 0.5, -0.7))
    table.insert(0, "patient_id", [f"{i:06d}" for i in range(n)])
    table["labelled"] = (y & (rng.random(n) < e)).astype(int)
    return table, y


def hostile(n=400, n_columns=200, seed=0):
    """Names and cells that try to be HTML, script, formulas, emoji; thousands of categories."""
    rng = np.random.default_rng(seed)
    script = "<script>window.hacked = true</script>"
    columns = {
        script: rng.choice([script, "<img src=x onerror='window.hacked=true'>", "plain"], n),
        "$x_1^2$ & \"quotes\" 'single'": rng.normal(size=n),
        "emoji 🦄🔥": rng.choice(["🦄", "🔥", "</svg><script>window.hacked=true</script>"], n),
        # Every other row has a value of its own; of the others twenty share one.
        "many": [
            f"value {i if i % 2 else i // 40} {'{{ 7 * 7 }}' * (i % 4 < 2)}<b>" for i in range(n)
        ],
        "=cmd|' /C calc'!A0": rng.choice(["=1+1", "@x", "+1"], n),
        "name " + "long " * 60: rng.choice(["short", "long " * 80], n),
    }
    while len(columns) < n_columns:
        columns[f"<i>column {len(columns)}</i>"] = rng.normal(size=n)
    table = pd.DataFrame(columns)
    first = table.columns[1]
    y = table[first].to_numpy() + rng.normal(size=n) > 0
    s = y & (rng.random(n) < np.where(table[script] == "plain", 0.8, 0.3))
    table["<u>label</u>"] = s.astype(int)
    table["<id>"] = [f"<script>window.hacked=true</script> {i}" for i in range(n)]
    return table
