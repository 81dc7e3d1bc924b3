"""Columns of the class model alone, of the propensity alone, and of both."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

from conftest import make_pu
from evidence_reference import Reference
from sarlearn import SAREMClassifier


@pytest.fixture(scope="module")
def data():
    return make_pu(800, seed=8)


@pytest.mark.parametrize("form", ["dense", "sparse", "weighted", "far away"])
def test_the_solution_is_that_of_a_plain_solver(data, form):
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


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_classifier_of_the_users_sees_its_columns(data):
    seen = []

    class Watching(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append(X.shape[1])
            return super().fit(X, y, sample_weight)

    model = SAREMClassifier([0], classifier=Watching(), classifier_features=[2, 3], max_iter=3)
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
