"""Whatever the table, every public estimator gives a class prior; what carries no news moves none.

The suite tries the same few examples each time; ``make fuzz`` tries thousands of new ones.
"""

import inspect
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit
from sklearn.utils import get_tags

from sarlearn import SARClassifier
from sarlearn.priors import AlphaMaxN
from test_not_fooled import ESTIMATORS, in_parts

pl = pytest.importorskip("polars")

pytestmark = [
    pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning"),
    pytest.mark.filterwarnings("ignore:Maximum number of iterations"),
]
MANY = int(os.environ.get("SARLEARN_FUZZ", "0"))
FUZZ = settings(
    max_examples=MANY or 3,
    derandomize=not MANY,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
DENSE = {
    "Fortran": np.asfortranarray,
    "pandas": lambda X: pd.DataFrame(X, columns=named(X)),
    "polars": lambda X: pl.DataFrame(X, schema=named(X)),
}
SPARSE = {
    "CSR in parts": in_parts,
    "CSC": sparse.csc_matrix,
    "COO": sparse.coo_array,
}
ROWS = ["order", "copies", "copies by weight", "1e12", "nothing weighs", "offset", "sparse"]
# These deal folds by what rows hold, or draw nothing.
BY_CONTENT = ["SARClassifier", "SAREMClassifier", "KnownPropensityClassifier"]
CASES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**31),
        "n": st.integers(60, 250),
        "p": st.integers(1, 6),
        "digits": st.sampled_from([0, 1, 8]),
        "zeros": st.sampled_from([0.0, 0.5, 0.9]),
        "scale": st.sampled_from([1.0, 1e-9, 1e9]),
        "offset": st.sampled_from([0.0, 0.0, 1000.0]),
        "constant": st.booleans(),
        "share": st.sampled_from([0.15, 0.5, 1.0]),
        "how": st.sampled_from([*ROWS, *DENSE, *SPARSE]),
    }
)


def table(case):
    rng = np.random.default_rng(case["seed"])
    n, p = case["n"], case["p"]
    X = np.round(rng.normal(size=(n, p)), case["digits"])
    y = rng.random(n) < expit(2 * X[:, 0] - 0.5)
    s = y & (rng.random(n) < case["share"] * expit(1 + X[:, -1]))
    s[:6], s[-6:] = True, False
    X[rng.random((n, p)) < case["zeros"]] = 0.0
    X = (X + case["offset"]) * case["scale"]
    if case["constant"]:
        X = np.column_stack([X, np.full(n, 3.0)])
    return X, s, rng


def named(X):
    return [f"x{j}" for j in range(X.shape[1])]


def transformed(how, X, s, rng):
    """The same table in other words: rows, labels and weights, of the two that are compared."""
    n, plain = len(s), (X, s, None)
    times = rng.integers(1, 4, n)
    if how == "order":
        order = rng.permutation(n)
        return plain, (X[order], s[order], None)
    if how == "copies":
        return plain, (np.vstack([X, X]), np.r_[s, s], None)
    if how == "copies by weight":
        copies = np.repeat(X, times, axis=0), np.repeat(s, times), None
        return copies, (X, s, times.astype(float))
    if how == "1e12":
        return plain, (X, s, 1e12 ** (times - 2.0))
    if how == "nothing weighs":
        more = np.vstack([X, X[::-1] * 2]), np.r_[s, ~s], np.r_[np.ones(n), np.zeros(n)]
        return plain, more
    if how == "offset":  # values that it rounds are other data: both see them rounded
        offset = 1e4 * np.abs(X).max()
        rounded = (X + offset) - offset
        return (rounded, s, None), (rounded + offset, s, None)
    if how in DENSE:
        return plain, (DENSE[how](X), s, None)
    tidy = sparse.csr_array(X), s, None
    return (plain, tidy) if how == "sparse" else (tidy, (SPARSE[how](X), s, None))


def same_prior(estimator, how) -> bool:
    """Whether the class priors of both must be the same.

    Copies and larger weights are more rows, on which penalties weigh less; other values are dealt
    to other folds. What the others draw follows the place of rows, and their scores centre no
    sparse columns.
    """
    if how in ("copies", "1e12") or (how == "offset" and estimator is SARClassifier):
        return False
    return how in DENSE or how in SPARSE or estimator.__name__ in BY_CONTENT


@pytest.mark.parametrize("estimator", ESTIMATORS)
@given(case=CASES)
@FUZZ
def test_any_table_in_other_words(estimator, case):
    parameters = inspect.signature(estimator).parameters
    takes_weights = "sample_weight" in inspect.signature(estimator.fit).parameters
    X, s, rng = table(case)
    found = []
    for rows, labels, weight in transformed(case["how"], X, s, rng):
        if sparse.issparse(rows) and not get_tags(estimator()).input_tags.sparse:
            return
        if weight is not None and not takes_weights:
            return
        model = estimator(**({"random_state": 0} if "random_state" in parameters else {}))
        weights = {} if weight is None else {"sample_weight": weight}
        try:
            model.fit(rows, labels, **weights)
        except ValueError:  # of rows too few or too alike for a method on distances or densities
            assert estimator.__module__.startswith("sarlearn.priors")
            return
        share = np.average(labels, weights=weight)
        if estimator is not AlphaMaxN:  # for labels that may be wrong
            assert share - 1e-9 <= model.class_prior_
        assert 0 <= model.class_prior_ <= 1
        found.append(model.class_prior_)
        if hasattr(model, "predict_proba"):
            f = model.predict_proba(rows)[:, 1]
            assert ((f >= 0) & (f <= 1)).all()
    if same_prior(estimator, case["how"]):
        assert found[1] == pytest.approx(found[0], abs=5e-3)
