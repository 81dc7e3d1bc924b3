"""Logistic ``f`` with a known propensity, by Newton's method on the observed likelihood.

The loss of a row is ``-log f`` where labelled and ``-log(1 - f e)`` elsewhere, plus the penalty
``|coef|^2 / (2 C)``: what EM with a known propensity minimises, some hundred passes more slowly.

What is known of a class prior from elsewhere, exactly, within bounds, or from a survey, stands here
as well: a survey with mean ``m`` and standard error ``sigma`` adds ``(mean f - m)^2 / (2 sigma^2)``
to a loss, and a share that is known exactly is the limit of small ``sigma``.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from sarlearn._engine.em import SAREM, EMSums, Point, PointCurvature, em_pass
from sarlearn._engine.newton import (
    DENSE_COLUMNS,
    Climb,
    Curvature,
    Iterate,
    WideCurvature,
    climb,
    curvature_at,
)
from sarlearn._engine.propensity import KnownAt
from sarlearn._engine.rows import Rows
from sarlearn._engine.stopping import EMResult, History


class KnownPropensityProblem:
    """The problem on rows that know their labels, weights and propensities.

    ``metric`` is that of :class:`~sarlearn._engine.newton.Curvature`. There are several optima on
    few rows; with it, which of them is found does not depend on where columns have their zero.
    """

    def __init__(self, rows: Rows, ridge: np.ndarray, tol: float, metric: np.ndarray | None = None):
        self.rows, self.ridge, self.tol, self.metric = rows, ridge, tol, metric
        self._wide = rows.shape[1] > DENSE_COLUMNS

    def passes(self, points: Iterable[np.ndarray], with_hessian: bool) -> Iterator[Iterate]:
        kind = "signed" if with_hessian else None
        requests = ((known_at(theta), None, kind, self._wide) for theta in points)
        for (here, *_), sums in self.rows.totals(em_pass, requests):
            yield self.iterate(here.theta, sums, with_hessian)

    def iterate(self, theta: np.ndarray, sums: EMSums, with_hessian: bool) -> Iterate:
        value = float(self.ridge @ theta**2) / 2 - sums.log_likelihood
        return Iterate(theta, value, sums.next_gradient + self.ridge * theta, sums, with_hessian)

    def curvature(self, iterate: Iterate) -> Curvature | WideCurvature:
        of_rows = PointCurvature(known_at(iterate.theta), "signed")
        hessian = iterate.sums.hessian
        return curvature_at(self.rows, of_rows, hessian, self.ridge, 1e-2, self.metric)


def known_at(theta: np.ndarray) -> Point:
    """Where a pass with known propensities runs."""
    return Point(theta, KnownAt(), 1.0)


def fit_known(
    rows: Rows,
    C: float,
    start: np.ndarray,
    *,
    tol: float,
    max_iter: int = 500,
    metric: np.ndarray | None = None,
    report: Callable[[Iterate], None] = lambda iterate: None,
) -> Climb:
    """Minimise from ``start`` until one more step promises less than ``tol`` (in nats)."""
    ridge = rows.units.ridge(C, rows.total_weight())
    problem = KnownPropensityProblem(rows, ridge, tol, metric)
    return climb(problem, start, max_iter=max_iter, report=report)


def run_known(em: SAREM, tol: float, max_iter: int, report: Callable[[], None]) -> EMResult:
    """From EM's start to where EM with a known propensity comes to rest.

    ``tol`` is the root mean square change of the logits in a step.
    """
    history = History(report)

    def record(iterate: Iterate) -> None:
        prior = iterate.sums.expected_positives / em.total_weight
        history.record(iterate.sums.log_likelihood, -iterate.value, np.nan, prior)

    nats = tol**2 * em.total_weight / 2
    metric = getattr(em.curvature, "lower", None)  # many columns have no factor
    found = fit_known(
        em.rows, em.C, em.theta, tol=nats, max_iter=max_iter, metric=metric, report=record
    )
    em.move(found.theta, None)
    return EMResult(len(history), found.converged, history.as_dict())


# So tight a penalty holds the class prior fast: labels of a million rows move it by a millionth.
HELD = 1e-6


class PriorPenalty(NamedTuple):
    """A normal prior on the class prior, as a penalty: its mean and its standard deviation."""

    mean: float
    deviation: float


class KnownPrior(NamedTuple):
    """What is known of the class prior beforehand.

    Between ``low`` and ``high``, and, with a ``deviation``, normal about ``low``, which is then
    equal to ``high``.
    """

    low: float
    high: float
    deviation: float = 0.0

    def penalty(self, class_prior: float) -> PriorPenalty | None:
        """The penalty on a fit that without one has this class prior; None where it needs none."""
        if self.deviation:
            return PriorPenalty(self.low, self.deviation)
        if self.low <= class_prior <= self.high and self.low < self.high:
            return None
        return PriorPenalty(min(max(class_prior, self.low), self.high), HELD)

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds, or what a survey admits with 95 % confidence."""
        low, high = (self.low - 1.96 * self.deviation, self.high + 1.96 * self.deviation)
        return max(low, 0.0), min(high, 1.0)
