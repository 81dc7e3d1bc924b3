"""The climb: where it ends, and what it makes of a curvature from elsewhere."""

import numpy as np
import pytest

from sarlearn._engine.newton import Curvature, Iterate, cholesky, climb


class Bowl:
    """``sum(cosh(a x) - 1) - b x``: convex, with a curvature that grows away from the bottom."""

    def __init__(self, a, b, tol):
        self.a, self.b, self.tol = np.asarray(a), np.asarray(b), tol
        self.hessians = 0

    def value(self, x):
        return float(np.sum(np.cosh(self.a * x) - 1) - self.b @ x)

    def passes(self, points, with_hessian):
        for x in points:
            self.hessians += with_hessian
            gradient = self.a * np.sinh(self.a * x) - self.b
            yield Iterate(x, self.value(x), gradient, None, with_hessian)

    def curvature(self, iterate):
        return Curvature(np.diag(self.a**2 * np.cosh(self.a * iterate.theta)), np.zeros(2))


@pytest.fixture
def bowl():
    return Bowl([1.0, 3.0], [2.0, -5.0], 1e-12)


def test_it_ends_at_the_minimum(bowl):
    found = climb(bowl, np.array([3.0, 2.0]), max_iter=50)
    expected = np.arcsinh(bowl.b / bowl.a) / bowl.a
    np.testing.assert_allclose(found.theta, expected, atol=1e-6)
    assert found.converged
    assert found.value == pytest.approx(bowl.value(found.theta))


@pytest.mark.parametrize("factor", [0.1, 1.0, 1e12])
def test_a_curvature_from_elsewhere_may_be_wrong_by_any_factor(bowl, factor):
    """One that is far too large promises next to nothing: that is no reason to stay."""
    stale = Curvature(factor * np.diag(bowl.a**2), np.zeros(2))
    found = climb(bowl, np.array([1.0, -1.0]), max_iter=200, curvature=stale)
    assert found.converged
    np.testing.assert_allclose(found.theta, np.arcsinh(bowl.b / bowl.a) / bowl.a, atol=1e-5)


def test_a_good_curvature_from_elsewhere_spares_hessians(bowl):
    start = climb(bowl, np.zeros(2), max_iter=50).theta
    good = bowl.curvature(Iterate(start, 0.0, np.zeros(2), None, True))
    bowl.hessians = 0
    assert climb(bowl, start + 1e-2, max_iter=50, curvature=good).converged
    assert bowl.hessians == 0


def test_too_few_passes_are_told(bowl):
    found = climb(bowl, np.array([3.0, 2.0]), max_iter=2)
    assert not found.converged
    assert found.passes == 2


def test_the_last_step_doubles_the_digits(bowl):
    """The step that promises less than ``tol`` is taken where it is asked for."""
    bowl.tol = 1e-3
    minimum = np.arcsinh(bowl.b / bowl.a) / bowl.a
    start, ends = np.array([3.0, 2.0]), []
    for last_step in (False, True):
        found = climb(bowl, start, max_iter=50, refresh=0.0, last_step=last_step)
        ends.append(np.abs(found.theta - minimum).max())
    assert ends[1] < 10 * ends[0] ** 2 < 0.1 * ends[0]


def test_negative_curvature_counts_by_its_size():
    """The eigenvalues of [[1, 2], [2, 1]] are 3 and -1: a step leads away from the saddle."""
    lower = np.tril(cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros(2)))
    np.testing.assert_allclose(lower @ lower.T, [[2.0, 1.0], [1.0, 2.0]])


def test_with_a_metric_steps_do_not_depend_on_the_parameters():
    """``theta = A @ other``: the step of one is that of the other, also from negative curvature."""
    rng = np.random.default_rng(0)
    H, A, root = rng.standard_normal((3, 4, 4))
    H, metric, gradient, zero = H + H.T, root @ root.T, rng.standard_normal(4), np.zeros(4)
    assert np.linalg.eigvalsh(H).min() < -0.1
    step = Curvature(H, zero, np.linalg.cholesky(metric)).solve(gradient)
    other = Curvature(A.T @ H @ A, zero, np.linalg.cholesky(A.T @ metric @ A)).solve(A.T @ gradient)
    np.testing.assert_allclose(A @ other, step, rtol=1e-7)
    # Without one they do.
    other = Curvature(A.T @ H @ A, zero).solve(A.T @ gradient)
    assert np.abs(A @ other - Curvature(H, zero).solve(gradient)).max() > 0.1


def test_a_place_that_is_known_spares_its_pass(bowl):
    start = np.array([3.0, 2.0])
    (iterate,) = bowl.passes([start], True)
    found, again = (climb(bowl, each, max_iter=50) for each in (iterate, start))
    np.testing.assert_array_equal(found.theta, again.theta)
    assert found.passes == again.passes - 1
    assert found.iterate.value == again.value
