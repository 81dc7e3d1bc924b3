"""Columns of the class model alone, of the propensity alone, and of both."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

from conftest import make_pu
from evidence_reference import Reference
from sarlearn import BoostedSARClassifier, CrossFitSARClassifier, SAREMClassifier
from sarlearn.saving import load, save


@pytest.fixture(scope="module")
def data():
    return make_pu(800, seed=8)


@pytest.mark.parametrize("form", ["dense", "sparse", "weighted", "far away"])
def test_the_solution_is_that_of_a_plain_solver(fits_alone, data, form):
    """Column 0 drives labelling alone, column 1 both, the others the class."""
    X = data.X.copy()
    if form == "far away":
        X[:, 0] += 1e6
    weight = np.random.default_rng(0).uniform(0.5, 2, 800) if form == "weighted" else None
    model = SAREMClassifier(
        [0, 1],
        classifier_features=[1, 2, 3, 4, 5],
        decay=1,
        C=3.0,
        propensity_C=0.7,
        stop="fixed_point",
        tol=1e-10,
    )
    model.fit(sparse.csr_array(X) if form == "sparse" else X, data.s, sample_weight=weight)
    assert model.coef_[0, 0] == 0
    assert model.classifier_features_.tolist() == [1, 2, 3, 4, 5]
    reference = Reference(data.X[:, 1:], data.s, data.X[:, :2], None, weight, C=3.0, C_e=0.7)
    moved = 1e6 * model.propensity_coef_[0, 0] if form == "far away" else 0.0
    start = np.concatenate(
        [
            model.coef_[0, 1:],
            model.intercept_,
            model.propensity_coef_[0],
            model.propensity_intercept_ + moved,
        ]
    )
    np.testing.assert_allclose(start, reference.solve(start), atol=1e-6)


def test_cross_fit_is_that_of_the_columns_alone(data):
    """A propensity attribute that the class model may not use has no coefficient there."""
    model = CrossFitSARClassifier([0, 1], classifier_features=[1, 2, 3, 4, 5], random_state=0)
    model.fit(data.X, data.s)
    assert model.coef_[0, 0] == 0
    assert (model.coef_[0, 1:] != 0).all()
    other = data.X.copy()
    other[:, 0] = 0
    np.testing.assert_allclose(model.predict_proba(data.X), model.predict_proba(other))
    assert not np.allclose(model.predict_propensity(data.X), model.predict_propensity(other))


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_trees_and_their_linear_start_are_those_of_the_columns_alone(data, form):
    pytest.importorskip("lightgbm")
    as_given = sparse.csr_array if form == "sparse" else np.asarray
    model = BoostedSARClassifier([0, 1], classifier_features=[5, 1, 2, 3, 4], random_state=0)
    model.fit(as_given(data.X), data.s)
    assert model.classifier_features_.tolist() == [5, 1, 2, 3, 4]
    other = data.X.copy()
    other[:, 0] = np.random.default_rng(0).permutation(other[:, 0])
    moved = as_given(other)
    np.testing.assert_array_equal(model.predict_proba(as_given(data.X)), model.predict_proba(moved))
    assert not np.allclose(
        model.predict_propensity(as_given(data.X)), model.predict_propensity(moved)
    )
    whole = BoostedSARClassifier([0, 1], random_state=0).fit(as_given(data.X), data.s)
    assert not np.allclose(whole.predict_proba(as_given(data.X)), whole.predict_proba(moved))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_trees_of_a_table_with_categories_left_out_and_kept(data, tmp_path):
    """Codes of the columns that are left find their trees again, also in a saved model."""
    pytest.importorskip("lightgbm")
    frame = pd.DataFrame(data.X, columns=list("abcdef"))
    frame["a"] = pd.Categorical(np.where(frame["a"] > 0, "often", "rarely"))
    frame["f"] = pd.Categorical(np.where(frame["f"] > 0, "old", "young"))
    model = BoostedSARClassifier(
        ["a"], classifier_features=["c", "f", "b"], max_iter=20, random_state=0
    ).fit(frame, data.s)
    without = frame.assign(a="often")
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(without))
    # Without the column, and told the propensity, it is the same class model.
    e = model.predict_propensity(frame)
    known = {"max_iter": 20, "random_state": 0}
    left_out = BoostedSARClassifier(classifier_features=["c", "f", "b"], **known)
    dropped = BoostedSARClassifier(**known)
    np.testing.assert_allclose(
        left_out.fit(frame, data.s, propensity=e).predict_proba(frame),
        dropped.fit(frame[["c", "f", "b"]], data.s, propensity=e).predict_proba(
            frame[["c", "f", "b"]]
        ),
        rtol=1e-6,
    )
    save(model, tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    # LightGBM writes its trees as text, older versions not to the last bit.
    np.testing.assert_allclose(loaded.predict_proba(frame), model.predict_proba(frame), rtol=1e-14)


@pytest.mark.parametrize("learner", [SAREMClassifier, CrossFitSARClassifier])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_classifier_of_the_users_sees_its_columns(data, learner):
    seen = []

    class Watching(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append(X.shape[1])
            return super().fit(X, y, sample_weight)

    model = learner([0], classifier=Watching(), classifier_features=[2, 3], max_iter=3)
    model.fit(data.X, data.s)
    assert set(seen) == {2}
    assert model.predict_proba(data.X).shape == (800, 2)


def test_names_and_errors(data):
    frame = pd.DataFrame(data.X, columns=list("abcdef"))
    model = SAREMClassifier(["a"], classifier_features=["b", "c"]).fit(frame, data.s)
    assert model.classifier_features_.tolist() == [1, 2]
    with pytest.raises(ValueError, match="classifier_features: X has no column 'z'"):
        SAREMClassifier(["a"], classifier_features=["z"]).fit(frame, data.s)
    with pytest.raises(ValueError, match="classifier_features is empty"):
        SAREMClassifier(["a"], classifier_features=[]).fit(frame, data.s)
