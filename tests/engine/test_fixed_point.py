"""Where EM comes to rest, with few columns and with many."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import expit

from conftest import make_pu
from sarlearn import KnownPropensityClassifier, SAREMClassifier
from sarlearn._engine import em as _em
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.em import Point, em_pass
from sarlearn._engine.propensity import choose_propensity


def slopes(model, X, s, columns, decay=0.9, weight=1.0):
    """Gradients of both M-steps after an E-step at the model: zero where EM stands still."""
    f, e = model.predict_proba(X)[:, 1], model.predict_propensity(X)
    q = np.where(s, 1.0, f * (1 - decay * e) / (1 - decay * f * e)) * weight
    of_f = X.T @ (weight * f - q) + model.coef_[0] / model.C
    Xe = X[:, columns]
    of_e = Xe.T @ (q * (e - s)) + model.propensity_coef_[0] / model.propensity_C
    return np.concatenate(
        [of_f, [(weight * f - q).sum()], np.asarray(of_e).ravel(), [(q * (e - s)).sum()]]
    )


@pytest.mark.parametrize("discrete", [True, False], ids=["groups", "columns"])
@pytest.mark.parametrize("decay", [0.9, 1.0])
@pytest.mark.parametrize("weighted", [True, False])
def test_many_columns_end_where_few_do(few_are_many, discrete, decay, weighted):
    data = make_pu(700, 7, discrete=discrete)
    weight = data.rng.integers(1, 4, len(data.s)).astype(float) if weighted else None
    model = SAREMClassifier(data.columns, stop="fixed_point", decay=decay, tol=1e-8)
    few = model.fit(data.X, data.s, sample_weight=weight).__dict__.copy()
    few_are_many()
    many = model.fit(sparse.csr_array(data.X), data.s, sample_weight=weight)
    assert many.converged_
    assert_allclose(many.coef_, few["coef_"], atol=2e-5)
    assert_allclose(many.propensity_coef_, few["propensity_coef_"], atol=2e-5)
    given = data.X, data.s, data.columns, decay, 1.0 if weight is None else weight
    assert_allclose(slopes(many, *given), 0.0, atol=2e-5)


def test_many_columns_with_a_known_propensity(few_are_many):
    data = make_pu(700, 7)
    model = KnownPropensityClassifier(stop="fixed_point", tol=1e-8)
    few = model.fit(data.X, data.s, propensity=data.e).coef_.copy()
    few_are_many()
    assert_allclose(model.fit(data.X, data.s, propensity=data.e).coef_, few, atol=1e-6)


def test_more_columns_than_the_data_can_tell_apart(few_are_many):
    """Rows of rare words: saddles and flat valleys on the way."""
    rng = np.random.default_rng(11)
    X = (rng.random((1500, 900)) < 0.01).astype(float)
    X[:, 0] = rng.random(1500) < 0.5
    X = sparse.csr_array(X)
    y = rng.random(1500) < expit(X @ (2 * rng.standard_normal(900)))
    s = y & (rng.random(1500) < np.where(X[:, [0]].toarray()[:, 0] > 0, 0.7, 0.3))
    few_are_many()
    model = SAREMClassifier([0], stop="fixed_point").fit(X, s)
    assert model.converged_
    assert np.abs(slopes(model, X, s, [0])).max() < 1e-4


@pytest.mark.parametrize("wide", [True, False])
def test_observed_curvature_is_the_slope_of_the_gradient(wide):
    data = make_pu(300, 4)
    rows = RowBlocks(data.X).attach(labelled=data.s)
    propensity, rows = choose_propensity(rows, data.columns, 1.0)
    theta = 0.3 * data.rng.standard_normal(5)

    def at(theta, curvature=None):
        here = Point(theta, propensity.at(np.array([0.4, -0.2, 0.1])), 0.9)
        return here, rows.total(em_pass, here, None, curvature, wide)

    numeric = np.column_stack(
        [
            (at(theta + h)[1].next_gradient - at(theta - h)[1].next_gradient) / 2e-5
            for h in 1e-5 * np.eye(5)
        ]
    )
    here, sums = at(theta, "observed")
    (block,) = rows._blocks
    design = np.column_stack([data.X, np.ones(300)])
    h = _em.PointCurvature(here, "observed")(block)
    assert (h < 0).any()
    assert_allclose(design.T @ (design * h[:, None]), numeric, rtol=1e-6, atol=1e-6)
    if not wide:  # a Hessian to solve with has to be positive
        assert_allclose(sums.hessian, design.T @ (design * np.abs(h)[:, None]))


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
@pytest.mark.parametrize("max_iter", [1, 2, 4, 10, 30])
@pytest.mark.parametrize("n", [40, 600])
def test_fits_that_run_out_of_iterations_end_at_one_of_them(n, max_iter):
    data = make_pu(n, 4)
    model = SAREMClassifier(data.columns, C=0.01, decay=1.0, stop="fixed_point", max_iter=max_iter)
    model.fit(data.X, data.s)
    assert not model.converged_
    assert model.n_iter_ <= max_iter
    probability = model.predict_proba(data.X)[:, 1].mean()
    assert probability == pytest.approx(model.history_["class_prior"][-1], rel=1e-6)
