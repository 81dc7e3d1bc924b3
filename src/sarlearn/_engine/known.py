"""Logistic ``f`` with a known propensity, by Newton's method on the observed likelihood.

The loss of a row is ``-log f`` where labelled and ``-log(1 - f e)`` elsewhere, plus the penalty
``|coef|^2 / (2 C)``: what EM with a known propensity minimises, some hundred passes more slowly.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from sarlearn._engine.em import SAREM, Point, PointCurvature, em_pass
from sarlearn._engine.logistic import weight_of
from sarlearn._engine.newton import (
    DENSE_COLUMNS,
    Climb,
    Curvature,
    Place,
    WideCurvature,
    climb,
    curvature_at,
)
from sarlearn._engine.propensity import KnownAt
from sarlearn._engine.rows import Rows
from sarlearn._engine.stopping import EMResult, History


class KnownPropensityFit:
    """The problem on rows that know their labels, weights and propensities, for any ``C``.

    The last Hessian is kept for the next fit, which may be on other rows of the same kind: the
    cross-fit solves the problem for every fold and every ``C``, and few of them need one anew.
    """

    def __init__(self) -> None:
        self._hessian: np.ndarray | None = None

    def solve(
        self,
        rows: Rows,
        C: float,
        start: np.ndarray,
        *,
        tol: float,
        max_iter: int = 500,
        report: Callable[[Place], None] = lambda place: None,
    ) -> Climb:
        """Minimise from ``start`` until one more step promises less than ``tol`` (in nats)."""
        problem = _Problem(rows, C, tol)
        curvature = None
        if self._hessian is not None and not problem.wide:
            curvature = Curvature(self._hessian, problem.ridge)
        found = climb(problem, start, max_iter=max_iter, curvature=curvature, report=report)
        if problem.hessian is not None:
            self._hessian = problem.hessian
        return found


class _Problem:
    def __init__(self, rows: Rows, C: float, tol: float):
        self._rows, self.tol = rows, tol
        self.ridge = rows.units.ridge(C, float(rows.total(weight_of)))
        self.wide = rows.shape[1] > DENSE_COLUMNS
        self.hessian: np.ndarray | None = None

    def passes(self, points: Iterable[np.ndarray], curved: bool) -> Iterator[Place]:
        kind = "signed" if curved else None
        requests = ((Point(theta, KnownAt(), 1.0), None, kind, self.wide) for theta in points)
        for (here, *_), sums in self._rows.totals(em_pass, requests):
            theta = here.theta
            value = float(self.ridge @ theta**2) / 2 - sums.log_likelihood
            yield Place(theta, value, sums.next_gradient + self.ridge * theta, sums, curved)

    def curvature(self, place: Place) -> Curvature | WideCurvature:
        self.hessian = place.sums.hessian
        of_rows = PointCurvature(Point(place.theta, KnownAt(), 1.0), "signed")
        return curvature_at(self._rows, of_rows, self.hessian, self.ridge, rtol=1e-2)


def run_known(em: SAREM, tol: float, max_iter: int, report: Callable[[], None]) -> EMResult:
    """From EM's start to where EM with a known propensity comes to rest.

    ``tol`` is the root mean square change of the logits in a step.
    """
    history = History(report)

    def record(place: Place) -> None:
        prior = place.sums.expected_positives / em.total_weight
        history.record(place.sums.log_likelihood, -place.value, np.nan, prior)

    nats = tol**2 * em.total_weight / 2
    found = KnownPropensityFit().solve(
        em.rows, em.C, em.theta, tol=nats, max_iter=max_iter, report=record
    )
    em.move(found.theta, None)
    return EMResult(len(history), found.converged, history.as_dict())
