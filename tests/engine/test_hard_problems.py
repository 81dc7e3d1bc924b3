"""Degenerate and hard problems end, converge or warn, and give finite numbers."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

from conftest import make_pu
from sarlearn import SAREMClassifier
from sarlearn._engine.rows import LEAST_RIDGE
from sarlearn.exceptions import SarlearnWarning


def hard_problems():
    rng = np.random.default_rng(0)
    n = 200
    X = rng.standard_normal((n, 5))
    y = X[:, 0] > 0
    some = rng.random(n) < 0.5
    yield "separable", X, y & some
    yield "label frequency near 1", X, y & (rng.random(n) < 0.99)
    yield "constant column", np.column_stack([X, np.ones(n)]), y & some
    yield "wild scales", X * np.array([1e-8, 1, 1e8, 1e3, 1e-3]), y & some
    yield "more columns than rows", rng.standard_normal((n, 210)), y & some
    yield "stratum all labelled", np.column_stack([y, X]), y & ((X[:, 1] > 0) | some)
    yield "pure noise", X, rng.random(n) < 0.3
    yield "three labels", X, np.arange(n) < 3
    yield "one unlabelled row", X, np.arange(n) > 0
    yield "duplicated columns", np.column_stack([X, X]), y & some
    yield "huge values", 1e100 * X, y & some


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("problem", list(hard_problems()), ids=lambda problem: problem[0])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"stop": "fixed_point"}, {"stop": "fixed_point", "decay": 1}, {"C": 1e8}],
    ids=str,
)
def test_hard_problems_stay_finite(problem, parameters):
    _, X, s = problem
    for columns in ([], [0], [0, 1]):
        model = SAREMClassifier(columns, max_iter=100, **parameters).fit(X, s)
        f, e = model.predict_proba(X)[:, 1], model.predict_propensity(X)
        assert np.isfinite(f).all()
        assert np.isfinite(e).all()
        assert 0 <= model.class_prior_ <= 1
        assert np.isfinite(model.predict_posterior(X, s)).all()
        assert np.isfinite(model.history_["log_likelihood"]).all()


def test_values_too_large_to_square():
    """The user's penalty on such columns vanishes; the least one is left, in their units."""
    data = make_pu(200)
    unit = data.X / np.abs(data.X).max(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SarlearnWarning)
        huge = SAREMClassifier(stop="fixed_point").fit(1e160 * data.X, data.s)
        free = SAREMClassifier(stop="fixed_point", C=1 / (LEAST_RIDGE * 200)).fit(unit, data.s)
    f = huge.predict_proba(1e160 * data.X)
    np.testing.assert_allclose(f, free.predict_proba(unit), atol=1e-9)


# Column, value, label and number of rows: each column is zero but in a few rows, most unlabelled.
RARE = [(0, -2, 0, 1), (0, -1, 0, 1), (0, 2, 0, 1), (1, -2, 0, 2), (1, 1, 0, 1), (1, 2, 0, 1)]
RARE += [(1, 2, 1, 1), (2, 1, 0, 1), (2, 2, 1, 2), (0, 0, 0, 49), (0, 0, 1, 11)]


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.DataWarning")
def test_rounding_does_not_choose_where_em_goes_along_columns_that_tell_rows_apart():
    """Hardly penalised, logits of such rows grow; steps along them were up to 1e10 long."""
    column, value, s, times = np.array(RARE).T
    X = (value[:, None] * np.eye(3)[column]).repeat(times, axis=0)
    s = s.repeat(times)
    cases = (1e9 * X, s, 1.0), (X, s, 1e18), (X[:, ::-1], s, 1e18), (X[::-1], s[::-1], 1e18)
    found = [SAREMClassifier(C=C).fit(X, s).class_prior_ for X, s, C in cases]
    np.testing.assert_allclose(found, found[0], atol=1e-9)


def test_a_fit_stores_no_second_copy_of_the_data():
    """100,000 x 50: peak memory during the fit grows by less than the data themselves."""
    script = """
import resource, numpy as np
from sarlearn import SAREMClassifier
from sarlearn.exceptions import SarlearnWarning
rng = np.random.default_rng(0)
X = rng.standard_normal((100_000, 50))
y = X[:, 0] + X[:, 1] > 0
s = y & (rng.random(100_000) < 0.5)
SAREMClassifier([2], max_iter=2).fit(X[:6000], s[:6000])  # its second look has all it takes
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
SAREMClassifier([2], max_iter=15).fit(X, s)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / X.nbytes)
"""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True
    )
    assert float(run.stdout) < 0.6
