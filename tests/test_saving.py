"""Saved models: exact round trips, refusals, versions."""

import io
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import sarlearn
from conftest import make_pu
from sarlearn import priors, saving
from sarlearn.saving import load, load_file, save
from table_data import curved, patients, sarem_of_table


def public_estimators():
    """Every public estimator class of the package that fits a matrix."""
    found = {}
    for module in (sarlearn, priors):
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type) and issubclass(thing, BaseEstimator):
                found[name] = thing
    del found["TableEncoder"]
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


def test_round_trip_of_the_table_pipeline(tmp_path):
    table, _, _ = patients(600)
    s = table["diagnosed"].to_numpy()
    model = sarem_of_table(["plan"], drop=["patient_id", "diagnosed"]).fit(table, s)
    save(model, tmp_path / "m.skops", notes={"label": "diagnosed", "n": 3})
    found = load_file(tmp_path / "m.skops")
    np.testing.assert_array_equal(found.model.predict_proba(table), model.predict_proba(table))
    encoded = model[:-1].transform(table)
    np.testing.assert_array_equal(
        found.model[-1].predict_posterior(encoded, s), model[-1].predict_posterior(encoded, s)
    )
    assert found.notes == {"label": "diagnosed", "n": 3}
    assert found.versions["sarlearn"] == sarlearn.__version__
    assert os.listdir(tmp_path) == ["m.skops"]


def test_round_trip_of_words_gaps_and_trees(tmp_path):
    X, s, _ = curved(900)
    model = sarlearn.SARClassifier(["age", "plan"]).fit(X, s)
    assert model.class_logit_.trees, "the test is of trees"
    save(model, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    for method in ("predict_proba", "predict_propensity"):
        np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    assert again.class_prior_range_ == model.class_prior_range_
    assert again.summary() == model.summary()
    # Trees that point to a feature that does not exist are not handed to LightGBM.
    trees = again.class_logit_.trees[0][1]
    trees.text = trees.text.replace("split_feature=", "split_feature=7", 1)
    save(again, tmp_path / "forged.skops")
    with pytest.raises(ValueError, match="stored trees are damaged"):
        load(tmp_path / "forged.skops").predict_proba(X)


@pytest.mark.filterwarnings("ignore")  # how well each fits the small data is not the question
@pytest.mark.parametrize(
    "classifier",
    [GaussianNB(), SVC(probability=True), CalibratedClassifierCV(GaussianNB(), cv=2)],
    ids=lambda classifier: type(classifier).__name__,
)
def test_round_trip_of_other_classifiers(classifier, tmp_path):
    data = make_pu(300, 4)
    model = sarlearn.SAREMClassifier([0], classifier=classifier, max_iter=3)
    model.fit(data.X, data.s)
    save(model, tmp_path / "m.skops")
    found = load(tmp_path / "m.skops").predict_proba(data.X)
    np.testing.assert_array_equal(found, model.predict_proba(data.X))


def test_pipelines_with_other_steps(tmp_path):
    data = make_pu(300, 4)
    model = make_pipeline(StandardScaler(), sarlearn.SAREMClassifier([0])).fit(data.X, data.s)
    save(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(load(tmp_path / "m.skops").predict(data.X), model.predict(data.X))


def double(X):
    return 2 * X


@pytest.mark.parametrize(
    ("step", "named"),
    [
        (FunctionTransformer(double), "builtins.function"),
        (DecisionTreeClassifier(), "sklearn.tree._tree.Tree"),
    ],
    ids=["function", "tree"],
)
def test_what_cannot_be_saved_is_named_and_nothing_is_written(step, named, tmp_path):
    step.fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(TypeError, match=rf"holds a {named}, .*joblib\.dump saves it"):
        save(make_pipeline(step), tmp_path / "m.skops")
    assert os.listdir(tmp_path) == []


def test_unknown_types_are_refused_by_name(tmp_path):
    content = {"format": "sarlearn-model", "model": make_pipeline(FunctionTransformer(double))}
    skops.io.dump(content, tmp_path / "m.skops")
    with pytest.raises(ValueError, match=r"holds .*double.*FunctionNode.*no part of a saved model"):
        load(tmp_path / "m.skops")


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("sarlearn.classifiers.SAREMClassifier", True),
        ("sarlearn.tables.encoder.TableEncoder", True),
        ("sarlearn.cli.main", False),
        ("sarlearn.tables.read.Path", False),
        ("sarlearn.no_such_module.Thing", False),
        ("sarlearn.tables.NoSuchThing", False),
        ("sarlearnevil.Thing", False),
        ("os.system", False),
        ("sklearn.linear_model.LogisticRegression", True),
        ("sklearn.utils.deprecation.deprecated", False),
        ("scipy.sparse.csr_array", False),
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
    model = LogisticRegression().fit(np.eye(20), [0, 1] * 10)
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


# -- the format, which is that of skops ------------------------------------------------------------


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
        "types": [str, float, np.float64],
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


def written(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        schema = saving._Writer(archive).node(content) | {"protocol": 2}
        archive.writestr("schema.json", json.dumps(schema))
    return file.getvalue()


def read(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return saving._Reader(archive, 2**20).content()


def by_skops(data):
    return skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))


def test_own_files_are_those_of_skops():
    content = odd_content()
    own, theirs = written(content), skops.io.dumps(content)
    assert_same(read(own), content)
    assert_same(read(theirs), content)
    assert_same(by_skops(own), by_skops(theirs))


def test_opening_a_model_does_not_import_skops(tmp_path):
    save(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), tmp_path / "m.skops")
    code = "import sys, sarlearn; sarlearn.load(sys.argv[1]); assert 'skops' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, tmp_path / "m.skops"], check=True, timeout=120)


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
    """Nothing of it is imported or built."""
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
    with pytest.raises(ValueError, match=f"{module}.{name}.*was not built"):
        load(path)


def test_what_says_itself_how_it_is_rebuilt_is_not_written():
    class Odd(StandardScaler):
        def __reduce__(self):
            return Odd, ()

    with pytest.raises(TypeError, match=r"holds a .*Odd"):
        written(Odd())
    with pytest.raises(TypeError, match=r"holds a builtins\.dict"):
        written({1.5: 2})


def bomb(path, kind):
    """A small file that unpacks to much more than a model takes."""
    large = b'"' + b"x" * 2**25 + b'"'
    if kind == "many values":
        large = b"[" + b"[]," * 1_500_000 + b"[]]"
    save(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), path)
    with zipfile.ZipFile(path) as archive:
        schema = json.loads(archive.read("schema.json"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("schema.json", json.dumps(schema) if kind == "an array" else large)
        for number in range(4):
            archive.writestr(f"{number}.npy", large)
    if kind == "a lying header":  # the size is said to be small, in both of its places
        size = len(large).to_bytes(4, "little")
        path.write_bytes(path.read_bytes().replace(size, (2**20).to_bytes(4, "little")))
    assert path.stat().st_size < 2**23


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("text", "unpacks to more than the 8,388,608 bytes"),
        ("an array", "unpacks to more than the 8,388,608 bytes"),
        ("many values", "holds more than 2,000,000 values"),
        ("a lying header", "damaged"),
    ],
)
def test_a_small_file_cannot_fill_the_memory(kind, message, tmp_path):
    path = tmp_path / "m.skops"
    bomb(path, kind)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            load(path, max_bytes=2**23)
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()
