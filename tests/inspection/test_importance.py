"""What a model uses: importance without true classes, and the class by one column."""

import importlib.util

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sarlearn import SARClassifier, SAREMClassifier
from sarlearn.inspection import ProbabilityDisplay, column_importance


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    age, plan = rng.normal(50, 10, 1500), rng.choice(["none", "full"], 1500)
    y = rng.random(1500) < expit((np.abs(age - 50) - 7) / 1.5)
    s = y & (rng.random(1500) < np.where(plan == "none", 0.2, 0.8))
    return pd.DataFrame({"age": age, "noise": rng.normal(size=1500), "plan": plan}), s.astype(int)


@pytest.fixture(scope="module")
def model(table):
    return SARClassifier(["plan"]).fit(*table)


def test_columns_of_class_and_labelling_matter(table, model):
    found = column_importance(model, *table)
    assert found.features == ["age", "plan", "noise"]
    assert found.loss[1] > 5 * found.loss[2]
    assert str(found).startswith("The labels rest most on age, plan and")
    assert "<table" in found._repr_html_()


def test_importance_by_hand():
    """One column, and its shuffles drawn again: the loss is a difference of log-likelihoods."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 2))
    s = (rng.random(400) < expit(3 * X[:, 0])) & (rng.random(400) < 0.6)
    model = SAREMClassifier().fit(X, s)
    found = column_importance(model, X, s, n_repeats=40)
    chance = model.predict_proba(X)[:, 1] * model.predict_propensity(X)
    assert found.log_likelihood == pytest.approx(
        np.mean(np.log(np.where(s, chance, 1 - chance))), abs=1e-6
    )
    # The mean over all pairs of rows is what shuffles estimate.
    pairs = np.repeat(X[:80, None], 400, axis=1)
    pairs[:, :, 0] = X[:, 0]
    f = model.predict_proba(pairs.reshape(-1, 2))[:, 1].reshape(80, 400)
    shuffled = np.clip(f * model.predict_propensity(X[:80])[:, None], 1e-6, 1 - 1e-6)
    lost = np.log(np.where(s[:80, None], shuffled, 1 - shuffled)).mean()
    own = np.log(np.where(s[:80], chance[:80], 1 - chance[:80])).mean()
    place = found.features.index("x0")
    assert found.loss[place] == pytest.approx(own - lost, abs=0.15)


def test_every_kind_of_table_gives_the_same():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    s = (rng.random(300) < expit(3 * X[:, 0])) & (rng.random(300) < expit(X[:, 2]))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    expected = column_importance(SAREMClassifier([2]).fit(X, s), X, s)
    assert expected.features[0] == "x0"
    tables = {"sparse": sparse.csr_array(X), "pandas": frame}
    if importlib.util.find_spec("polars"):
        tables["polars"] = pytest.importorskip("polars").from_pandas(frame)
    for kind, table in tables.items():
        found = column_importance(SAREMClassifier([2]).fit(table, s), table, s)
        np.testing.assert_allclose(found.loss, expected.loss, atol=1e-5, err_msg=kind)
    assert found.features[0] == "a"


def test_a_pipeline_is_shuffled_in_the_columns_of_the_table():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    s = (rng.random(300) < expit(3 * X["a"])) & (rng.random(300) < 0.6)
    found = column_importance(make_pipeline(StandardScaler(), SAREMClassifier()).fit(X, s), X, s)
    assert found.features == ["a", "b"]
    assert found.loss[0] > 10 * abs(found.loss[1])


def test_displays(table, model):
    pytest.importorskip("matplotlib")
    ax = column_importance(model, *table, n_repeats=2).plot()
    assert ax.get_yticklabels()[0].get_text() == "age"
    curve = ProbabilityDisplay.from_estimator(model, table[0], feature="age")
    middle = int(np.argmin(np.abs(np.array(curve.values) - 50)))
    assert min(curve.probability[0], curve.probability[-1]) > curve.probability[middle] + 0.3
    bars = ProbabilityDisplay.from_estimator(model, table[0], feature="plan")
    assert bars.ax_.get_xlabel() == "probability of being positive"
    assert "chance that" not in bars.ax_.get_xlabel()


def test_bad_settings_are_named(table, model):
    with pytest.raises(ValueError, match="n_repeats must be a whole number"):
        column_importance(model, *table, n_repeats=0)
