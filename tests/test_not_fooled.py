"""Tables as they come fool no public estimator: copies, orders, formats, sizes, constants."""

import inspect

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import get_tags

from sarlearn import KnownPropensityClassifier, SARClassifier, SAREMClassifier
from test_sklearn_checks import public_estimators, reads_arrays

pytestmark = pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
ESTIMATORS = [estimator for estimator in public_estimators() if reads_arrays(estimator)]
N = 300


def made(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1)
    X[rng.random((n, 4)) < 0.2] = 0.0
    y = rng.random(n) < expit(2 * X[:, 1] + X[:, 2] - 0.3)
    return X, y & (rng.random(n) < expit(0.3 + X[:, 0]))


def in_parts(X):
    """As CSR with every value in two entries, zeros too, from the last column to the first."""
    n, p = X.shape
    columns = np.tile(np.repeat(np.arange(p)[::-1], 2), n)
    values = X[np.repeat(np.arange(n), 2 * p), columns] / 2
    return sparse.csr_matrix((values, columns, np.arange(0, 2 * p * n + 1, 2 * p)), shape=X.shape)


def locked(X):
    """The same, which cannot be written to."""
    names = ("data", "indices", "indptr") if sparse.issparse(X) else ()
    for part in [getattr(X, name) for name in names] or [X]:
        part.setflags(write=False)
    return X


FORMATS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "single": lambda X: X.astype(np.float32),
    "frame": lambda X: pd.DataFrame(X, columns=list("abcd")),
    "CSR": sparse.csr_array,
    "CSR in parts": in_parts,
    "CSC": sparse.csc_matrix,
    "COO": sparse.coo_array,
}


def prior_of(estimator, X, s, seed=0, **weights):
    parameters = inspect.signature(estimator).parameters
    settings = {"random_state": seed} if "random_state" in parameters else {}
    return float(estimator(**settings).fit(X, s, **weights).class_prior_)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_what_was_given_stays_as_it_was(estimator, name):
    X, s = made()
    given = FORMATS[name](X)
    if sparse.issparse(given) and not get_tags(estimator()).input_tags.sparse:
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            estimator().fit(given, s)
        return
    labels, weight = s.astype(int), np.random.default_rng(0).integers(0, 3, N).astype(float)
    for array in (labels, weight):
        array.setflags(write=False)
    if name == "COO":
        given.data.setflags(write=False)
    elif name == "frame":
        before = given.copy()
    else:
        locked(given)
    takes_weights = "sample_weight" in inspect.signature(estimator.fit).parameters
    weights = {"sample_weight": weight} if takes_weights else {}
    found = estimator().fit(given, labels, **weights)
    if hasattr(found, "predict_proba"):
        found.predict_proba(given)
    if name == "frame":
        pd.testing.assert_frame_equal(given, before)
    if name == "CSR in parts":
        assert given.nnz == 8 * N


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_how_a_matrix_is_stored_does_not_matter(estimator):
    X, s = made()
    X = np.unique(X, axis=0)  # copies are told apart by their place where all else is equal
    s = s[: len(X)]
    expected = prior_of(estimator, X, s)
    assert prior_of(estimator, np.asfortranarray(X), s) == pytest.approx(expected, abs=1e-9)
    if get_tags(estimator()).input_tags.sparse:
        tidy = prior_of(estimator, sparse.csr_array(X), s)
        assert prior_of(estimator, in_parts(X), s) == pytest.approx(tidy, abs=1e-9)
        assert tidy == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_table_stacked_twice_has_the_class_prior_of_doubled_weights(estimator):
    """Within what another seed would do; learners that draw nothing give the same number."""
    takes_weights = "sample_weight" in inspect.signature(estimator.fit).parameters
    draws = "random_state" in inspect.signature(estimator).parameters
    moved, spread = [], []
    for data in range(2 if draws else 1):
        X, s = made(data)
        weights = {"sample_weight": np.full(N, 2.0)} if takes_weights else {}
        stack = np.vstack([X, X]), np.r_[s, s]
        seeds = range(3 if draws else 1)
        once = [prior_of(estimator, X, s, seed, **weights) for seed in seeds]
        twice = [prior_of(estimator, *stack, seed) for seed in seeds]
        moved.append(np.mean(twice) - np.mean(once))
        spread.append(np.std(once))
    if takes_weights and not draws:
        assert moved[0] == pytest.approx(0, abs=1e-6)
    # Methods whose bounds or penalties narrow with the number of rows move a little for that.
    assert np.abs(moved).mean() < 0.03 + 2 * np.mean(spread)


@pytest.mark.parametrize(
    "classifier",
    [None, HistGradientBoostingClassifier(max_iter=5)],
    ids=["ours", "boosting"],
)
@pytest.mark.parametrize("e", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("stop", ["slope", "fixed_point"])
def test_a_known_propensity_on_constant_columns(stop, e, classifier):
    """All rows are alike: the class prior is the share of labels by the propensity."""
    X, s = np.ones((300, 3)), np.arange(300) < 57
    model = KnownPropensityClassifier(stop=stop, classifier=classifier).fit(X, s, propensity=e)
    assert model.class_prior_ == pytest.approx(0.19 / e, abs=2e-3)
    assert model.converged_


SIZES = {"tiny": 1e-160, "huge": 1e160, "far": 1.0}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("learner", [SAREMClassifier, KnownPropensityClassifier, SARClassifier])
@pytest.mark.parametrize("where", ["dask", "batches"])
def test_columns_of_extreme_sizes_are_as_in_memory(where, learner, size):
    """Offsets of a million, and columns whose squares are too large or too small for a number."""
    X, s = made(n=600)
    X[:, 1] = X[:, 1] * SIZES[size] + (1e6 if size == "far" else 0.0)
    settings = {"class_models": ["linear"]} if learner is SARClassifier else {}
    if learner is not KnownPropensityClassifier:
        settings["propensity_features"] = [1]
    model = learner(**settings)
    expected = learner(**settings).fit(X, s)
    if where == "dask":
        da = pytest.importorskip("dask.array")
        import dask

        with dask.config.set(scheduler="synchronous"):
            model.fit(da.from_array(X, chunks=(170, 4)), da.from_array(s, chunks=170))
    else:
        pa = pytest.importorskip("pyarrow")
        from sarlearn import Batches

        table = pa.table({f"x{j}": X[:, j] for j in range(4)} | {"s": s.astype(int)})
        model.fit(Batches(lambda: iter(table.to_batches(max_chunksize=170))), "s")
        del model.feature_names_in_
    assert model.class_prior_ == pytest.approx(expected.class_prior_, abs=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=2e-3)
    # And it is no other answer than that of columns of usual sizes.
    usual = X.copy()
    usual[:, 1] = made(n=600)[0][:, 1]
    if learner is SARClassifier:
        plain = learner(**settings).fit(usual, s)
        assert model.class_prior_ == pytest.approx(plain.class_prior_, abs=0.02)


@pytest.mark.parametrize("class_models", [["linear"], ["linear", "trees"]])
@pytest.mark.parametrize("kept", [0.0, 1e6])
def test_offsets_of_a_million_move_nothing(kept, class_models):
    X, s = made()
    plain = SARClassifier([0], class_models=class_models).fit(X, s)
    far = SARClassifier([0], class_models=class_models).fit(X + kept, s)
    assert far.class_prior_ == pytest.approx(plain.class_prior_, abs=0.05)
