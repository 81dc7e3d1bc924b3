"""Saved models: exact round trips, refusals, versions."""

import os
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import sarlearn
from conftest import make_pu
from sarlearn import priors, saving
from sarlearn.saving import load, load_file, save
from sarlearn.tables import make_table_classifier
from table_data import patients


def public_estimators():
    """Every public estimator class of the package, ready to fit."""
    found = {}
    for module in (sarlearn, priors):
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type) and issubclass(thing, BaseEstimator):
                found[name] = thing
    return found


@pytest.mark.filterwarnings("ignore")  # how well each fits the small data is not the question
@pytest.mark.parametrize("name", list(public_estimators()))
def test_round_trip_of_every_public_estimator(name, tmp_path):
    data = make_pu(300, 4)
    model = public_estimators()[name]()
    parameters = model.get_params()
    if "propensity_features" in parameters:
        model.set_params(propensity_features=[0])
    if name == "MultiSCARClassifier":
        data.X[:, 0] = data.X[:, 0] > 0
    extra = {"propensity": data.e} if name == "KnownPropensityClassifier" else {}
    model.fit(data.X, data.s.astype(int), **extra)
    save(model, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    assert type(again) is type(model)
    assert str(again.get_params()) == str(model.get_params())
    for method in ("predict_proba", "predict_propensity", "score_samples"):
        if hasattr(model, method):
            # LightGBM writes its trees as text, older versions not to the last bit.
            np.testing.assert_allclose(
                getattr(again, method)(data.X), getattr(model, method)(data.X), rtol=1e-14
            )
    assert again.class_prior_ == model.class_prior_


@pytest.mark.parametrize("classifier", ["logistic", "boosting"])
def test_round_trip_of_the_table_pipeline(classifier, tmp_path):
    table, _, _ = patients(600)
    s = table["diagnosed"].to_numpy()
    model = make_table_classifier(
        ["plan"], drop=["patient_id", "diagnosed"], classifier=classifier, tol=1e-2, max_iter=40
    ).fit(table, s)
    save(model, tmp_path / "m.skops", notes={"label": "diagnosed", "n": 3})
    found = load_file(tmp_path / "m.skops")
    np.testing.assert_array_equal(found.model.predict_proba(table), model.predict_proba(table))
    np.testing.assert_array_equal(
        found.model.predict_posterior(table, s), model.predict_posterior(table, s)
    )
    assert found.notes == {"label": "diagnosed", "n": 3}
    assert found.versions["sarlearn"] == sarlearn.__version__
    assert os.listdir(tmp_path) == ["m.skops"]


def test_pipelines_with_other_steps(tmp_path):
    data = make_pu(300, 4)
    model = make_pipeline(StandardScaler(), sarlearn.SAREMClassifier([0])).fit(data.X, data.s)
    save(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(load(tmp_path / "m.skops").predict(data.X), model.predict(data.X))


def double(X):
    return 2 * X


def test_unknown_types_are_refused_by_name(tmp_path):
    data = make_pu(300, 4)
    model = make_pipeline(FunctionTransformer(double), sarlearn.SAREMClassifier([0]))
    model.fit(data.X, data.s)
    with pytest.warns(UserWarning, match=r"holds .*double, which sarlearn.load refuses"):
        save(model, tmp_path / "m.skops")
    with pytest.raises(ValueError, match=r"not known to be safe: .*double.*trusted") as caught:
        load(tmp_path / "m.skops")
    name = str(caught.value).split("safe: ")[1].split(". If")[0]
    again = load(tmp_path / "m.skops", trusted=[name])
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("sarlearn.classifiers.SAREMClassifier", True),
        ("sarlearn.tables.TableEncoder", True),
        ("sarlearn.tables.pipeline.FromColumns", True),
        ("sarlearn.cli.main", False),
        ("sarlearn.tables.read.Path", False),
        ("sarlearn.no_such_module.Thing", False),
        ("sarlearn.tables.NoSuchThing", False),
        ("sarlearnevil.Thing", False),
        ("os.system", False),
    ],
)
def test_only_estimators_of_the_package_are_trusted(name, safe):
    assert saving._is_safe(name) is safe


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "zip", "flip"])
def test_damaged_files_get_one_sentence(damage, tmp_path):
    path = tmp_path / "m.skops"
    save(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), path)
    whole = path.read_bytes()
    if damage == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("other.txt", "hello")
    else:
        middle = len(whole) // 3
        flipped = whole[:middle] + bytes(b ^ 255 for b in whole[middle : middle + 60])
        flipped += whole[middle + 60 :]
        content = {"cut": whole[:200], "text": b"a,b\n1,2\n", "empty": b"", "flip": flipped}
        path.write_bytes(content[damage])
    with pytest.raises(ValueError, match=r"not a model saved by sarlearn, or it is damaged") as e:
        load(path)
    assert "\n" not in str(e.value)


def test_other_contents_and_missing_files(tmp_path):
    skops.io.dump([1, 2], tmp_path / "list.skops")
    with pytest.raises(ValueError, match=r"holds a list, not a model saved by sarlearn\.save"):
        load(tmp_path / "list.skops")
    with pytest.raises(FileNotFoundError, match="There is no model file"):
        load(tmp_path / "none.skops")


def test_another_version_warns(tmp_path, monkeypatch):
    model = HistGradientBoostingClassifier(max_iter=2).fit(np.eye(20), [0, 1] * 10)
    monkeypatch.setattr(saving, "__version__", "0.0.1")
    save(model, tmp_path / "m.skops")
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=r"saved with sarlearn 0\.0\.1, and this is"):
        load(tmp_path / "m.skops")
    with monkeypatch.context() as at_that_time:
        at_that_time.setattr("sklearn.__version__", "1.2.3")
        save(model, tmp_path / "old.skops")
    with pytest.warns(UserWarning, match=r"saved with scikit-learn 1\.2\.3, and this is"):
        load(tmp_path / "old.skops")


def test_the_extra_is_named_where_skops_is_missing(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"sarlearn\[skops\]"):
        save(LogisticRegression(), tmp_path / "m.skops")
