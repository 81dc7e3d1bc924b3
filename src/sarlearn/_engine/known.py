"""Logistic ``f`` with a known propensity, by Newton's method on the observed likelihood.

The loss of a row is ``-log f`` where labelled and ``-log(1 - f e)`` elsewhere, plus the penalty
``|coef|^2 / (2 C)``: what EM with a known propensity minimises, some hundred passes more slowly.

A class prior that is known from elsewhere, exactly, within bounds, or from a survey, comes in here,
too. A survey with mean ``m`` and standard error ``sigma`` adds ``(mean f - m)^2 / (2 sigma^2)`` to
the loss; a share that is known exactly is the limit of small ``sigma``. Solvers of the likelihood
take that term as it stands (:class:`PriorPenalty`). EM has no loss to add it to where it decays, so
there it enters the M-step by its multiplier (:class:`HeldSAREM`): the gradient of the M-step is
that of

    sum w [q log f + (1 - q) log(1 - f)] + multiplier * sum w f,

and the multiplier is the one with which the next step reaches the share.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sarlearn._engine.blocks import Block
from sarlearn._engine.em import SAREM, EMSums, Point, PointCurvature, em_pass, run_to_slope
from sarlearn._engine.fixed_point import run_to_fixed_point, walk
from sarlearn._engine.kernels import logits, sigmoids, with_intercept
from sarlearn._engine.newton import (
    DENSE_COLUMNS,
    Climb,
    Curvature,
    Iterate,
    Sums,
    WideCurvature,
    climb,
    curvature_at,
)
from sarlearn._engine.propensity import KnownAt, watch
from sarlearn._engine.rows import Rows
from sarlearn._engine.stopping import TOLERANCE, EMResult, History, ModelSlopeRule


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
# A penalty that tight is approached in steps, or the climb would have to follow a thin curved
# valley.
TIGHTENING = (3e-2, 3e-3, 3e-4, 3e-5)
# Multipliers that are tried for a fixed point of EM with the class prior held.
MAX_TRIES = 30


class PriorPenalty(NamedTuple):
    """A normal prior on the class prior, as a penalty: its mean and its standard deviation."""

    mean: float
    deviation: float

    def residual(self, positives: float, total: float) -> float:
        """The standardised residual of the class prior; half its square is the loss."""
        return (positives / total - self.mean) / self.deviation

    def gradient(self, positives_gradient: np.ndarray, total: float) -> np.ndarray:
        """The gradient of the residual; its outer product is the curvature of the loss."""
        return positives_gradient / total / self.deviation


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

    def within(self, ends: tuple[float, float]) -> tuple[float, float]:
        """A range cut at the bounds."""
        low, high = (float(min(max(end, self.low), self.high)) for end in ends)
        return low, high

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds, or what a survey admits with 95 % confidence."""
        low, high = (self.low - 1.96 * self.deviation, self.high + 1.96 * self.deviation)
        return max(low, 0.0), min(high, 1.0)


@dataclass
class PriorSums(Sums):
    """Expected positives, and their derivative by the parameters of the class model."""

    positives: float
    gradient: np.ndarray


def prior_pass(block: Block, theta: np.ndarray) -> PriorSums:
    """The positives that are expected in a block, by ``f`` alone."""
    X = block.X
    f, not_f = sigmoids(logits(X, theta))
    weighted = f if block.weight is None else f * block.weight
    return PriorSums(float(weighted.sum()), with_intercept(X, weighted * not_f))


class HeldSAREM(SAREM):
    """SAR-EM whose M-step knows something of the class prior."""

    def __init__(self, rows, propensity, *, decay: float, C: float, penalty: PriorPenalty):
        super().__init__(rows, propensity, decay=decay, C=C)
        self._penalty, self.multiplier, self.moving = penalty, 0.0, True
        self._expected: PriorSums
        # A share that is known exactly has a slack of 0.
        held = penalty.deviation <= HELD
        self.slack = 0.0 if held else (penalty.deviation * self.total_weight) ** 2

    @property
    def surplus(self) -> float:
        """Expected positives above what is known; 0 at the solution."""
        above = self._expected.positives - self._penalty.mean * self.total_weight
        return above + self.multiplier * self.slack

    @property
    def penalized_log_likelihood(self) -> float:
        lagrange_term = self.multiplier * self._expected.positives
        return super().penalized_log_likelihood + lagrange_term

    def begin(self) -> None:
        """Start under SCAR with the label frequency that the class prior would give."""
        frequency = self.rows.label_share() / max(self._penalty.mean, 1e-12)
        self.start(float(np.clip(frequency, 1e-3, 0.99)))

    def e_step(self) -> None:
        super().e_step()
        if self.moving:
            self.set_multiplier(self._next_multiplier())

    def set_multiplier(self, multiplier: float) -> None:
        """Change the multiplier where it stands."""
        change = (multiplier - self.multiplier) * self._expected.gradient
        self.multiplier = multiplier
        self.sums.next_gradient = self.sums.next_gradient - change
        self.sums.gradient = self.sums.gradient - change

    def _next_multiplier(self) -> float:
        """With which a Newton step of the M-step ends where the class prior should be."""
        gradient = self._expected.gradient
        raw = self.sums.next_gradient + self.multiplier * gradient + self.ridge * self.theta
        direction = self.curvature.solve(gradient)
        above = self._expected.positives - self._penalty.mean * self.total_weight
        return float((direction @ raw - above) / (direction @ gradient + self.slack))

    def _arrive(self, here: Point, sums: EMSums) -> None:
        self._expected = self.rows.total(prior_pass, here.theta)
        lagrange_term = self.multiplier * self._expected.gradient
        sums.next_gradient = sums.next_gradient - lagrange_term
        sums.gradient = sums.gradient - lagrange_term
        super()._arrive(here, sums)


def run_held(
    em: HeldSAREM,
    stop: str,
    window: int,
    tol: float,
    max_iter: int,
    report: Callable[[], None] = lambda: None,
) -> EMResult:
    """From the start to where the rule ``stop`` ends, with the class prior held."""
    em.begin()
    slope_tol = tol if stop == "slope" else TOLERANCE["slope"]
    rule = ModelSlopeRule(*watch(em.rows, em.propensity), window, slope_tol)
    result = run_to_slope(em, rule, max_iter, report)
    if stop == "slope":
        return result
    if em.wide:
        return walk(em, tol, max_iter, report)
    return _rest(em, tol, max_iter, report)


def _rest(em: HeldSAREM, tol: float, max_iter: int, report) -> EMResult:
    """The multiplier at whose fixed point the class prior is right."""
    em.moving = False
    slope = (float(em._expected.gradient[-1]) + em.slack) / em.total_weight
    multiplier, last = em.multiplier, None
    for _ in range(MAX_TRIES):
        em.set_multiplier(multiplier)
        result = run_to_fixed_point(em, tol, max_iter, report)
        surplus = em.surplus / em.total_weight
        if abs(surplus) < 10 * tol:
            return result
        if last is not None and (surplus - last[1]) / (multiplier - last[0]) > 0:
            slope = (surplus - last[1]) / (multiplier - last[0])
        last = multiplier, surplus
        multiplier -= surplus / slope
    return EMResult(result.n_iter, False, result.history)
