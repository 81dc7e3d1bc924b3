"""Several chances to be labelled: the joint maximum likelihood (occupancy with visits).

A row is positive with probability ``f``; given that it is, its chances ``j`` label it independently
with their own ``e_j``. In the words of ``likelihood.py``, with labels ``s_j`` and gaps left out,

    positive = prod_j e_j^s_j (1 - e_j)^(1 - s_j),    negative = 1 where no s_j is 1, else 0.

Newton's method on both sets of parameters at once. The curvature is what complete data would have,
less what is lost by not knowing the class: ``w q (1 - q) v v'`` of a row whose complete-data score
is ``y v``, up to what does not depend on y (Louis, 1982).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from sarlearn._engine import likelihood
from sarlearn._engine.blocks import Block
from sarlearn._engine.kernels import hessian, logits, with_intercept
from sarlearn._engine.likelihood import Evidence, sigmoids
from sarlearn._engine.newton import Climb, Curvature, Iterate, Sums, climb
from sarlearn._engine.rows import Rows, Units, sizes, unit_of
from sarlearn._engine.stopping import History


class Models(NamedTuple):
    """Probabilities of the class and of a label at each chance, with their complements."""

    f: np.ndarray
    not_f: np.ndarray
    e: np.ndarray
    not_e: np.ndarray


# Propensities of a chance from which the search starts.
STARTS = (0.1, 0.3, 0.6, 0.9)
# The likelihood may have several maxima, and those with steep class models are out of reach of
# these starts: on camera traps for bobcats by 8 nats. So the search goes on from the best one, with
# its slopes times these.
STEEPER = (2.5, 5.0)
# Along a steep class model the likelihood is so flat that even the least ridge, which keeps
# parameters finite elsewhere, would show in the fifth digit; here it is so much smaller.
FLAT = 1e-4
# Maxima that are lower by less than this leave their class prior open, too.
NEARLY_AS_HIGH = 1.92
MAX_STEP = 5.0
LEAST_PRODUCT = 1e-150


@dataclass
class ChanceSums(Sums):
    """Of a pass: loss, its gradient by theta and phi, expected positives and their gradient."""

    loss: float
    gradient: np.ndarray
    positives: float
    positives_gradient: np.ndarray
    squares: float
    hessian: np.ndarray | None = None


@dataclass
class ChanceFit:
    """The maximum, in the user's units.

    ``error`` is the standard error of the class prior; ``other_maxima`` are the least and greatest
    class prior of maxima that are about as high; ``history`` is that of the climb which reached the
    maximum.
    """

    theta: np.ndarray
    phi: np.ndarray
    class_prior: float
    error: float
    log_likelihood: float
    passes: int
    converged: bool
    other_maxima: tuple[float, float]
    history: dict[str, np.ndarray]


def chance_pass(block: Block, parameters: np.ndarray, with_hessian: bool) -> ChanceSums:
    """The sums of a block that knows labels and attributes of each chance."""
    X, Z = block.X, _with_ones(block.chances)
    models = models_at(block, *np.split(parameters, [X.shape[1] + 1]))
    found, score = posterior_terms(block, models)
    f, not_f, e, not_e = models
    w, q = block.weights, found.target
    v_e = np.einsum("ij,ijk->ik", score, Z)
    sums = ChanceSums(
        -likelihood.log_likelihood(found.chance, block.weight),
        np.concatenate([with_intercept(X, w * found.residual), -(w * q) @ v_e]),
        float(w @ f),
        with_intercept(X, w * f * not_f),
        float(w @ f**2),
    )
    if with_hessian:
        of_class = likelihood.class_curvature(f, not_f, found, observed=True)
        lost = -(w * q * found.not_target)[:, None] * v_e
        across = np.vstack([X.T @ lost, lost.sum(axis=0)])
        h = (w * q)[:, None] * np.where(np.isnan(block.visits), 0.0, e * not_e)
        flat = Z.reshape(-1, Z.shape[2])
        of_e = (flat.T * h.ravel()) @ flat + v_e.T @ lost
        sums.hessian = np.block([[hessian(X, w * of_class), across], [across.T, of_e]])
    return sums


def models_at(block: Block, theta: np.ndarray, phi: np.ndarray) -> Models:
    """The two models at the rows and their chances."""
    f, e = sigmoids(logits(block.X, theta)), sigmoids(logits(block.chances, phi))
    return Models(*f, *e)


def posterior_terms(block: Block, models: Models) -> tuple[likelihood.Terms, np.ndarray]:
    """The likelihood's terms of the rows, and the derivative of ``log positive`` by each chance."""
    f, not_f, e, not_e = models
    s, seen = block.visits == 1, ~np.isnan(block.visits)
    # A product of many chances must not vanish: far from the optimum it may come near.
    product = np.prod(np.where(seen, np.where(s, e, not_e), 1.0), axis=1)
    positive = np.maximum(product, LEAST_PRODUCT)
    negative = np.where(s.any(axis=1), 0.0, 1.0)
    if block.audited is not None:
        positive = np.where(block.audited == 0, 0.0, positive)
        negative = np.where(block.audited == 1, 0.0, negative)
    evidence = Evidence(positive, negative, positive, negative - positive)
    score = np.where(seen, np.where(s, not_e, -e), 0.0)
    return likelihood.terms(f, not_f, evidence), score


def _with_ones(values: np.ndarray) -> np.ndarray:
    return np.concatenate([values, np.ones((*values.shape[:-1], 1))], axis=-1)


class ChanceProblem:
    """The penalised loss as a problem to climb."""

    def __init__(self, rows: Rows, ridge: np.ndarray, tol: float):
        self._rows, self._ridge, self.total = rows, ridge, rows.total_weight()
        self.tol = tol

    def passes(self, points: Iterable[np.ndarray], with_hessian: bool) -> Iterator[Iterate]:
        requests = ((parameters, with_hessian) for parameters in points)
        for (parameters, _), sums in self._rows.totals(chance_pass, requests):
            value = sums.loss + float(self._ridge @ parameters**2) / 2
            gradient = sums.gradient + self._ridge * parameters
            yield Iterate(parameters, value, gradient, sums, with_hessian)

    def curvature(self, iterate: Iterate) -> Curvature:
        return Curvature(iterate.sums.hessian, self._ridge)


def fit_chances(
    rows: Rows,
    *,
    C: float,
    propensity_C: float,
    tol: float = 1e-12,
    max_iter: int = 500,
    starts: Sequence[float] = STARTS,
) -> ChanceFit:
    """The best maximum from several propensities of a chance.

    ``rows`` know ``visits``, labels of shape (n, J) with gaps as NaN, and ``chances``, attributes
    of shape (n, J, k).
    """
    units, rows = _chance_units(rows)
    total = rows.total_weight()
    ridge = np.concatenate(
        [rows.units.ridge(C, FLAT * total), units.ridge(propensity_C, FLAT * total)]
    )
    n_theta = rows.shape[1] + 1
    problem = ChanceProblem(rows, ridge, tol * max(total, 1.0))
    detected, chances = rows.total(_counts) / total
    found = []
    for e in starts:
        start = np.zeros(len(ridge))
        prior = np.clip(detected / (1 - (1 - e) ** max(chances, 1.0)), 0.02, 0.95)
        start[n_theta - 1], start[-1] = logit(prior), logit(e)
        found.append(_climb(problem, start, max_iter))
    found += _steeper(problem, min(found, key=_value), n_theta, max_iter)
    best, history = min(found, key=_value)
    near = [one.theta for one, _ in found if one.value <= best.value + NEARLY_AS_HIGH]
    other_maxima = [iterate.sums.positives / total for iterate in problem.passes(near, False)]
    (iterate,) = problem.passes([best.theta], True)
    gradient_of_prior = np.zeros(len(ridge))
    gradient_of_prior[:n_theta] = iterate.sums.positives_gradient / total
    prior = iterate.sums.positives / total
    variance = np.linalg.norm(problem.curvature(iterate).scaled_step(gradient_of_prior)) ** 2
    # Of the parameters, and of which rows there are.
    variance += (iterate.sums.squares / total - prior**2) / total
    theta, phi = np.split(best.theta, [n_theta])
    return ChanceFit(
        rows.units.to_user(theta),
        units.to_user(phi),
        prior,
        float(np.sqrt(variance)),
        -iterate.sums.loss,
        sum(one.passes for one, _ in found),
        best.converged,
        (min(other_maxima), max(other_maxima)),
        history.as_dict(),
    )


def _value(found: tuple[Climb, History]) -> float:
    return found[0].value


def _steeper(
    problem: ChanceProblem, best, n_theta: int, max_iter: int
) -> list[tuple[Climb, History]]:
    """Further maxima, from steeper class models, for as long as they are higher ones."""
    tried: list[tuple[Climb, History]] = []
    while len(tried) < 6:
        for factor in STEEPER:
            start = best[0].theta.copy()
            start[: n_theta - 1] *= factor
            tried.append(_climb(problem, start, max_iter))
        top = min(tried, key=_value)
        if top[0].value > best[0].value - 1e-6:
            break
        best = top
    return tried


def _climb(problem: ChanceProblem, start: np.ndarray, max_iter: int) -> tuple[Climb, History]:
    history = History()

    def record(iterate: Iterate) -> None:
        prior = iterate.sums.positives / problem.total
        history.record(-iterate.sums.loss, -iterate.value, np.nan, prior)

    # New curvatures throughout: where a class model is steep, what an old one promises of the last
    # digits is too little, and the climb would end early.
    found = climb(problem, start, max_iter=max_iter, max_step=MAX_STEP, refresh=0.0, report=record)
    return found, history


def _chance_units(rows: Rows) -> tuple[Units, Rows]:
    """Attributes of chances centred and scaled; a gap's attributes count for nothing."""
    unit = unit_of(np.max(rows.each(_chance_sizes), axis=0))
    rows = rows.map(_divided, unit)
    sums = rows.total(_chance_moments)
    center = sums[1] / sums[0]
    scale = np.sqrt(np.maximum(sums[2] / sums[0] - center**2, 0.0))
    units = Units(center, np.where(scale > 1e-12 * (1 + np.abs(center)), scale, 1.0))
    in_user_units = Units(units.center * unit, units.scale * unit, unit != 1)
    return in_user_units, rows.map(_standardised, units)


def _chance_sizes(block: Block) -> np.ndarray:
    return sizes(block.chances[~np.isnan(block.visits)])


def _divided(block: Block, unit: np.ndarray) -> Block:
    return block if (unit == 1).all() else block.with_columns(chances=block.chances / unit)


def _chance_moments(block: Block) -> np.ndarray:
    z = block.chances[~np.isnan(block.visits)]
    return np.array([np.full(z.shape[1], float(len(z))), z.sum(axis=0), (z**2).sum(axis=0)])


def _standardised(block: Block, units: Units) -> Block:
    chances = (block.chances - units.center) / units.scale
    chances[np.isnan(block.visits)] = 0.0
    return block.with_columns(chances=chances)


def _counts(block: Block) -> np.ndarray:
    """Weight of rows labelled at some chance, and of chances."""
    labelled, n_chances = (block.visits == 1).any(axis=1), (~np.isnan(block.visits)).sum(axis=1)
    return np.array([block.weights @ labelled, block.weights @ n_chances])
