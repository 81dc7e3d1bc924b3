"""ONNX graphs against onnxruntime: the same classes, probabilities and propensities."""

import json

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from conftest import make_pu
from sarlearn import (
    KnownPropensityClassifier,
    SARClassifier,
    SAREMClassifier,
    SCARClassifier,
    TableEncoder,
)
from sarlearn.onnx import to_onnx
from table_data import curved

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def data():
    return make_pu(500, 5)


def run(graph, X):
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(["label", "probabilities", "propensity"], {"X": X})


@pytest.mark.parametrize("columns", [[], [3], [4, 0]])
def test_the_graph_agrees_with_the_model(data, columns):
    model = SAREMClassifier(columns).fit(data.X, data.s)
    X = data.X
    label, probabilities, propensity = run(to_onnx(model), X)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(propensity[:, 0], model.predict_propensity(X), atol=1e-12)
    assert (label == model.predict(X)).all()


def test_steps_before_the_model_are_part_of_the_graph(data):
    model = make_pipeline(StandardScaler(), SAREMClassifier([1])).fit(data.X * 9 + 4, data.s)
    X = data.X * 9 + 4
    _, probabilities, propensity = run(to_onnx(model), X)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-12)
    expected = model[-1].predict_propensity(model[:-1].transform(X))
    np.testing.assert_allclose(propensity[:, 0], expected, atol=1e-12)


@pytest.fixture(scope="module")
def tree_model():
    X, s, _ = curved(900)
    return SARClassifier(["age", "plan"], max_iter=40).fit(X, s)


def in_codes(model, X):
    """The matrix that the graph takes: categories by their places in its own list of them."""
    lists = json.loads(to_onnx(model).metadata_props[0].value)
    X = X.copy()
    for column, values in lists.items():
        name = X.columns[int(column)]
        X[name] = [values.index(v) if v in values else np.nan for v in X[name]]
    return X.to_numpy(dtype=float)


def test_trees_gaps_and_categories(tree_model):
    assert any("num_cat=1" in trees.text for _, trees in tree_model.class_logit_.trees)
    X, _, _ = curved(900, seed=3)
    X.loc[::3, ["money", "visits"]] = np.nan  # no gap in fit
    X.loc[::4, "money"] = 1e12  # far outside of what was seen
    X["region"] = X["region"].where(np.arange(900) % 5 > 0, "nowhere")
    label, probabilities, propensity = run(to_onnx(tree_model), in_codes(tree_model, X))
    assert probabilities.dtype == propensity.dtype == float
    np.testing.assert_allclose(probabilities, tree_model.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(propensity[:, 0], tree_model.predict_propensity(X), atol=1e-12)
    assert (label == tree_model.predict(X)).all()


@pytest.mark.parametrize(
    ("named", "class_models"),
    [((), ("linear",)), ((), ("trees",)), ("auto", ("linear", "trees"))],
)
@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.TrustWarning")  # none named
def test_class_models_on_numbers(data, named, class_models):
    model = SARClassifier(named, class_models=class_models).fit(data.X, data.s)
    _, probabilities, propensity = run(to_onnx(model), data.X)
    np.testing.assert_allclose(probabilities, model.predict_proba(data.X), atol=1e-12)
    np.testing.assert_allclose(propensity[:, 0], model.predict_propensity(data.X), atol=1e-12)


def test_trees_alone_with_a_gap_in_every_column(data):
    """There is no term then, and no number to take one from."""
    model = SARClassifier(class_models=["trees"]).fit(data.X, data.s)
    X = np.full((2, 5), np.nan)
    _, probabilities, propensity = run(to_onnx(model), X)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(propensity[:, 0], model.predict_propensity(X), atol=1e-12)


def test_a_table_encoder_before_a_linear_learner():
    X, s, _ = curved(400)
    model = make_pipeline(TableEncoder(terms=True), SAREMClassifier(["plan", "age"])).fit(X, s)
    _, probabilities, propensity = run(to_onnx(model), in_codes(model, X))
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-12)
    expected = model[-1].predict_propensity(model[:-1].transform(X))
    np.testing.assert_allclose(propensity[:, 0], expected, atol=1e-12)


def test_one_label_frequency_and_a_known_propensity(data):
    scar = SCARClassifier(random_state=0).fit(data.X, data.s)
    _, _, propensity = run(to_onnx(scar), data.X)
    np.testing.assert_allclose(propensity[:, 0], scar.predict_propensity(data.X), atol=1e-12)
    known = KnownPropensityClassifier().fit(data.X, data.s, propensity=data.e)
    assert [o.name for o in to_onnx(known).graph.output] == ["label", "probabilities"]


def test_other_models_are_refused(data):
    with pytest.raises(ValueError, match="not a LogisticRegression"):
        to_onnx(LogisticRegression().fit(data.X, data.s))
    boosting = HistGradientBoostingClassifier(max_iter=3, max_bins=8)
    model = SAREMClassifier([0], classifier=boosting, tol=0.1).fit(data.X, data.s)
    with pytest.raises(ValueError, match="not a HistGradientBoosting"):
        to_onnx(model)
    own = SARClassifier(class_models=["linear", GaussianNB()]).fit(data.X, data.s)
    with pytest.raises(ValueError, match="not a GaussianNB"):
        to_onnx(own)
    step = make_pipeline(PolynomialFeatures(), SAREMClassifier()).fit(data.X, data.s)
    with pytest.raises(ValueError, match=r"to_onnx does not know.*PolynomialFeatures"):
        to_onnx(step)
    other = SAREMClassifier([0], propensity_estimator=LogisticRegression(), tol=0.1)
    with pytest.raises(ValueError, match="not a LogisticRegression"):
        to_onnx(other.fit(data.X, data.s))


def test_the_extra_is_named_where_onnx_is_missing(monkeypatch, data):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install onnx"):
        to_onnx(SAREMClassifier([0]))
