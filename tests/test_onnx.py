"""ONNX graphs against onnxruntime: the same classes, probabilities and propensities."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import make_pu
from sarlearn import SAREMClassifier
from sarlearn.onnx import to_onnx
from sarlearn.tables import make_table_classifier
from table_data import patients

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
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_graph_agrees_with_the_model(fits_alone, data, columns, dtype):
    model = SAREMClassifier(columns).fit(data.X, data.s)
    X = data.X.astype(dtype)
    label, probabilities, propensity = run(to_onnx(model, dtype=dtype), X)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(propensity[:, 0], model.predict_propensity(X), atol=1e-5)
    assert (label == model.predict(X)).all()


def test_steps_before_the_model_are_part_of_the_graph(data):
    model = make_pipeline(StandardScaler(), SAREMClassifier([1])).fit(data.X * 9 + 4, data.s)
    X = (data.X * 9 + 4).astype(np.float32)
    _, probabilities, propensity = run(to_onnx(model), X)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-5)
    expected = model[-1].predict_propensity(model[:-1].transform(X))
    np.testing.assert_allclose(propensity[:, 0], expected, atol=1e-5)


def test_the_last_step_of_a_table_classifier(data):
    table, _, _ = patients(500)
    model = make_table_classifier(["plan"], drop=["patient_id", "diagnosed"])
    model.fit(table, table["diagnosed"])
    with pytest.raises(TypeError, match=r"convert its last step, to_onnx\(model\[-1\]\)"):
        to_onnx(model)
    Z = model[0].transform(table).to_numpy(dtype=np.float32)
    _, _, propensity = run(to_onnx(model[-1]), Z)
    np.testing.assert_allclose(propensity[:, 0], model.predict_propensity(table), atol=1e-5)


def test_other_models_are_refused(data):
    with pytest.raises(TypeError, match="got LogisticRegression"):
        to_onnx(LogisticRegression().fit(data.X, data.s))
    boosting = HistGradientBoostingClassifier(max_iter=3, max_bins=8)
    model = SAREMClassifier([0], classifier=boosting, tol=0.1).fit(data.X, data.s)
    with pytest.raises(TypeError, match="with classifier=HistGradientBoosting"):
        to_onnx(model)
    other = SAREMClassifier([0], propensity_estimator=LogisticRegression(), tol=0.1)
    with pytest.raises(TypeError, match="takes a logistic propensity model"):
        to_onnx(other.fit(data.X, data.s))
    with pytest.raises(ValueError, match=r"dtype must be numpy\.float32"):
        to_onnx(SAREMClassifier([0]).fit(data.X, data.s), dtype=np.int64)


def test_the_extra_is_named_where_skl2onnx_is_missing(monkeypatch, data):
    monkeypatch.setitem(__import__("sys").modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"sarlearn\[onnx\]"):
        to_onnx(SAREMClassifier([0]))
