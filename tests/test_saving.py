"""Saved models: exact round trips, refusals, versions."""

import io
import json
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
from sarlearn import _model_file, priors, saving
from sarlearn.exceptions import ForeignTypesWarning
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
    with pytest.warns(ForeignTypesWarning, match=r"holds .*double, which sarlearn.load refuses"):
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
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    save(model, tmp_path / "m.skops")
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"sarlearn\[skops\]"):
        save(model, tmp_path / "other.skops")
    with pytest.raises(ImportError, match=r"sarlearn\[skops\]"):
        load(tmp_path / "m.skops")


# -- files of the package's own models, which need no skops ----------------------------------------


def odd_content():
    """Every kind of value that the package writes itself, in awkward places."""
    words = np.array(["a", None, 3, ("x", 1.5)], dtype=object)
    return {
        "plain": [None, True, -3, 2.5, float("inf"), 'a"b\u00e9', ""],
        "empty": [[], (), {}, np.empty((0, 3))],
        "keys": {1: "one", "b": "text", -2: [{3: (4,)}]},
        "arrays": [np.arange(6.0).reshape(2, 3), np.array([1, 2], np.int8), np.array("text")],
        "objects": [words, np.array([["a", "b"], ["c", None]], dtype=object)],
        "scalars": (np.float32(1.5), np.int64(-1), np.bool_(True)),
        "types": [str, float, np.float64, np.dtype("float32"), np.dtype([("a", "i4")])],
        "step": StandardScaler().fit([[0.0], [2.0]]),
    }


def assert_same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            assert_same(found[key], expected[key])
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    elif isinstance(expected, BaseEstimator):
        assert_same(vars(found), vars(expected))
    else:
        assert found == expected


def by_skops(data):
    return skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))


def test_own_files_are_those_of_skops():
    content = odd_content()
    own, theirs = _model_file.dumps(content, saving._is_known), skops.io.dumps(content)
    assert_same(_model_file.loads(own, saving._is_known), content)
    assert_same(_model_file.loads(theirs, saving._is_known), content)
    assert_same(by_skops(own), by_skops(theirs))


def test_own_models_do_not_need_skops(monkeypatch, tmp_path):
    table, _, _ = patients(300)
    model = make_table_classifier(["plan"], drop=["patient_id", "diagnosed"], method="cross-fit")
    model.fit(table, table["diagnosed"].to_numpy())
    theirs = tmp_path / "theirs.skops"
    with monkeypatch.context() as at_that_time:  # files written by skops, as before
        at_that_time.setattr(saving, "_is_known", lambda name: False)
        save(model, theirs)
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    save(model, tmp_path / "own.skops")
    for path in (tmp_path / "own.skops", theirs):
        np.testing.assert_array_equal(load(path).predict_proba(table), model.predict_proba(table))


@pytest.mark.parametrize(
    ("loader", "module", "name"),
    [
        ("ObjectNode", "subprocess", "Popen"),
        ("ObjectNode", "sarlearn.saving", "Path"),
        ("TypeNode", "os", "system"),
        ("TypeNode", "numpy", "load"),
        ("NdArrayNode", "os", "system"),
        ("FunctionNode", "os", "system"),
        ("ListNode", "subprocess", "Popen"),
        ("DictNode", "subprocess", "Popen"),
    ],
)
def test_a_file_cannot_name_what_it_likes(loader, module, name, tmp_path):
    """Nothing of it is imported or built, here or by skops."""
    path = tmp_path / "m.skops"
    save(sarlearn.SAREMClassifier([0]), path)
    with zipfile.ZipFile(path) as archive:
        schema = json.loads(archive.read("schema.json"))
    bad = {"__class__": name, "__module__": module, "__loader__": loader, "content": []}
    numbers = io.BytesIO()
    np.save(numbers, np.arange(2.0))
    bad |= {"key_types": schema["key_types"], "type": "numpy", "file": "bad.npy"}
    schema["content"]["model"] = bad
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
        archive.writestr("bad.npy", numbers.getvalue())
    with pytest.raises(_model_file.Unknown):
        _model_file.loads(path.read_bytes(), saving._is_known)
    with pytest.raises(ValueError, match=f"{module}.{name}|damaged"):
        load(path)


def test_what_says_itself_how_it_is_rebuilt_is_left_to_skops():
    class Odd(StandardScaler):
        def __reduce__(self):
            return Odd, ()

    with pytest.raises(_model_file.Unknown):
        _model_file.dumps(Odd(), lambda name: True)
    with pytest.raises(_model_file.Unknown):
        _model_file.dumps({1.5: 2}, lambda name: True)
