"""Whatever the data, a learner gives finite numbers, and the same ones for the same data.

The suite tries the same examples each time; ``make fuzz`` tries thousands of new ones.
"""

import os
import warnings
from dataclasses import dataclass, replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, reject, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit

from sarlearn import KnownPropensityClassifier, SAREMClassifier
from sarlearn._engine import em
from sarlearn.exceptions import SarlearnWarning

MANY = int(os.environ.get("SARLEARN_FUZZ", "0"))
# Shrinking a failing example takes minutes: by hand, with SARLEARN_FUZZ.
PHASES = [phase for phase in Phase if MANY or phase is not Phase.shrink]
FUZZ = settings(
    max_examples=MANY or 8,
    derandomize=not MANY,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=PHASES,
)


@dataclass
class Case:
    """Data and settings of a fit. The first columns drive the labelling."""

    X: np.ndarray
    s: np.ndarray
    weight: np.ndarray | None
    e: np.ndarray
    n_propensity: int
    decay: float
    C: float
    propensity_C: float

    def fit(self, learner: str, **changes):
        """A fitted learner."""
        case = replace(self, **changes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SarlearnWarning)
            return LEARNERS[learner](case).fit(case.X, case.s, **case.extras(learner))

    def extras(self, learner: str) -> dict:
        extras = {} if self.weight is None else {"sample_weight": self.weight}
        if learner == "known":
            extras["propensity"] = self.e
        return extras


LEARNERS = {
    "slope": lambda case: SAREMClassifier(
        propensity_features=np.arange(case.n_propensity),
        decay=case.decay,
        C=case.C,
        propensity_C=case.propensity_C,
        max_iter=200,
    ),
    "fixed point": lambda case: SAREMClassifier(
        propensity_features=np.arange(case.n_propensity),
        decay=case.decay,
        C=case.C,
        propensity_C=case.propensity_C,
        stop="fixed_point",
        max_iter=2000 if MANY else 400,
    ),
    "known": lambda case: KnownPropensityClassifier(C=case.C, method="em", stop="fixed_point"),
}


@st.composite
def cases(draw, smallest: int = 6, largest: int = 60) -> Case:
    """Data of a logistic class and propensity, or labels by lot; columns of several kinds."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(smallest, largest)), draw(st.integers(1, 5))
    X = rng.standard_normal((n, p))
    for column, kind in enumerate(draw(st.lists(st.sampled_from(KINDS), min_size=p, max_size=p))):
        X[:, column] = _column(kind, X[:, column])
    n_propensity = draw(st.integers(0, p))
    if draw(st.booleans()):
        s = rng.random(n) < draw(st.floats(0.1, 0.6))
    else:
        f, e = expit(3 * X.sum(axis=1)), expit(X[:, :n_propensity].sum(axis=1))
        s = rng.random(n) < f * e
    assume(0 < s.sum() < n)
    return Case(
        X=X,
        s=s.astype(int),
        weight=rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else None,
        e=rng.uniform(0.2, 0.9, n),
        n_propensity=n_propensity,
        decay=draw(st.sampled_from([0.8, 0.9, 0.95])),
        C=draw(st.sampled_from([0.1, 1.0, 5.0])),
        propensity_C=draw(st.sampled_from([0.1, 1.0, 3.0])),
    )


KINDS = ("normal", "normal", "heavy", "binary", "constant", "copies")


def _column(kind: str, x: np.ndarray) -> np.ndarray:
    if kind == "heavy":
        return np.sign(x) * np.exp(2 * np.abs(x))
    if kind == "binary":
        return (x > 0).astype(float)
    if kind == "constant":
        return np.full_like(x, 3.0)
    return np.round(x) if kind == "copies" else x


def chances(model, X) -> np.ndarray:
    return model.predict_proba(X)[:, 1]


def assert_same(model, other, X, Z=None, atol=2e-5):
    """Both come to rest, with the same class prior and probabilities, the second one for rows Z.

    Some few rows have valleys in which EM goes on for thousands of iterations; then both must have
    used theirs up, and there is nothing to compare.
    """
    for each in (model, other):
        if not each.converged_:
            assert each.n_iter_ > 0.8 * each.max_iter
            reject()
    assert other.class_prior_ == pytest.approx(model.class_prior_, abs=atol)
    np.testing.assert_allclose(chances(other, X if Z is None else Z), chances(model, X), atol=atol)


learners = pytest.mark.parametrize("learner", LEARNERS)
# With a tight stop, so that rounding cannot decide on an iteration more or less.
tight = pytest.mark.parametrize("learner", ["fixed point", "known"])


@learners
@FUZZ
@given(
    case=cases(largest=30),
    power=st.integers(-300, 300),
    C=st.sampled_from([1e-4, 1e-2, 1.0, 100.0]),
    decay=st.sampled_from([0.8, 0.9, 0.99, 1.0]),
    known=st.sampled_from([None, 0.5, 0.999, 1.0]),
)
def test_all_numbers_are_finite_and_chances_are_chances(learner, case, power, C, decay, known):
    case = replace(
        case, C=C, decay=decay, e=case.e if known is None else np.full(len(case.s), known)
    )
    X = case.X * 10.0 ** np.clip(power, -250, 250)
    before = X.copy(), case.s.copy()
    model = case.fit(learner, X=X)
    f = chances(model, X)
    assert np.isfinite(f).all()
    assert f.min() >= 0
    assert f.max() <= 1
    share = np.average(case.s, weights=case.weight)
    assert share * (1 - 1e-9) <= model.class_prior_ <= 1
    if model.converged_:
        assert np.average(f, weights=case.weight) == pytest.approx(model.class_prior_, abs=0.02)
    if learner != "known":
        e = model.predict_propensity(X)
        assert np.isfinite(e).all()
        assert e.min() >= 0
        assert e.max() <= 1
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(case.s, before[1])


@tight
@FUZZ
@given(case=cases(), seed=st.integers(0, 1000))
def test_the_order_of_rows_does_not_matter(learner, case, seed):
    order = np.random.default_rng(seed).permutation(len(case.s))
    weight = None if case.weight is None else case.weight[order]
    changes = {"X": case.X[order], "s": case.s[order], "e": case.e[order], "weight": weight}
    shuffled = case.fit(learner, **changes)
    assert_same(case.fit(learner), shuffled, case.X)


@tight
@FUZZ
@given(case=cases(), power=st.floats(-9, 9))
def test_the_unit_of_the_columns_does_not_matter(learner, case, power):
    scale = 10.0**power
    other = case.fit(
        learner, X=case.X * scale, C=case.C / scale**2, propensity_C=case.propensity_C / scale**2
    )
    assert_same(case.fit(learner), other, case.X, case.X * scale)


@tight
@FUZZ
@given(case=cases(), power=st.floats(0, 9))
def test_where_columns_have_their_zero_does_not_matter(learner, case, power):
    # Values that the shift rounds are other data: both fits see them rounded.
    shift = np.round(10.0**power)
    X = (case.X + shift) - shift
    other = case.fit(learner, X=X + shift)
    assert_same(case.fit(learner, X=X), other, X, X + shift)


@tight
@FUZZ
@given(case=cases())
def test_a_weight_of_two_is_a_row_twice(learner, case):
    assume(case.weight is not None)
    rows = np.repeat(np.arange(len(case.s)), case.weight.astype(int))
    repeated = case.fit(learner, X=case.X[rows], s=case.s[rows], e=case.e[rows], weight=None)
    assert_same(case.fit(learner), repeated, case.X)


def _strided(X):
    return np.repeat(X, 2, axis=1)[:, ::2]


@tight
@FUZZ
@given(case=cases())
def test_how_the_matrix_is_stored_does_not_matter(learner, case):
    plain = case.fit(learner)
    for form in (np.asfortranarray, _strided, sparse.csr_array):
        Z = form(case.X)
        assert_same(plain, case.fit(learner, X=Z), case.X, Z)


@tight
@FUZZ
@given(case=cases())
def test_float32_gives_the_same_to_its_digits(learner, case):
    X = case.X.astype(np.float32)
    exact = case.fit(learner, X=X.astype(np.float64))
    assert_same(exact, case.fit(learner, X=X), X, atol=1e-3)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@tight
@FUZZ
@given(case=cases())
def test_compiled_pass_gives_the_same(learner, form, case):
    X = form(case.X)
    plain = case.fit(learner, X=X)
    with mock.patch.object(em, "COMPILED_ELEMENTS", 0):
        fast = case.fit(learner, X=X)
        assert_same(plain, fast, X)
