"""Where SAR-EM comes to rest, by fewer passes than EM itself would take."""

import math
from collections import deque
from functools import partial

import numpy as np
from scipy import linalg
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

from sarlearn._engine.blocks import Block
from sarlearn._engine.em import SAREM, Point, PointCurvature, em_pass
from sarlearn._engine.kernels import Propensities, logits, sigmoids
from sarlearn._engine.newton import WideCurvature, row_product
from sarlearn._engine.stopping import EMResult, History

MEMORY = 8


class Anderson:
    """Mixes the last few steps of ``theta -> theta + step`` so that they cancel.

    Each entry has its step also scaled, in units in which sizes compare. With differences D of the
    entries, the weights g minimise ``|scaled - D_scaled g|`` and the next point is
    ``theta + step - (D_theta + D_step) g`` (Walker and Ni, 2011).
    """

    def __init__(self) -> None:
        self.entries: deque[tuple[np.ndarray, np.ndarray, np.ndarray]] = deque(maxlen=MEMORY + 1)

    def mix(self) -> np.ndarray:
        theta, step, scaled = self.entries[-1]
        if len(self.entries) == 1:
            return theta + step
        thetas, steps, all_scaled = (
            np.diff(np.array(part), axis=0).T for part in zip(*self.entries, strict=True)
        )
        weights = linalg.lstsq(all_scaled, scaled, cond=1e-10, check_finite=False)[0]
        return theta + step - (thetas + steps) @ weights


# Far from the fixed point good mixtures take larger steps for a while; with less room it takes more
# passes.
ROOM = 4.0
# Steps above this, as root mean square change of the logits, are far off.
FAR = 1e-2
# On few rows the map has several fixed points, and rounding may decide at which of them mixed steps
# end. There EM itself goes most of the way, until its steps are so small (root mean square change
# of the logits) or it has taken so many. With larger steps or fewer of them, dense and sparse
# copies of the data now and then end apart; mixed steps of limited length did worse.
FEW_ROWS, NEAR, WALK = 200, 1e-6, 2000
# With many columns the classifier is solved to at most this share of what is left to move.
SHARE = 0.1


def run_to_fixed_point(em: SAREM, tol: float, max_iter: int, report=lambda: None) -> EMResult:
    """Accelerated EM until the EM map no longer moves: root mean square change of logits < tol."""
    history = History(report)
    first = min(3, max_iter)
    if em.rows.shape[0] <= FEW_ROWS:  # a fifth of the iterations is left to mixed steps
        first = min(WALK, max(first, 4 * max_iter // 5))
    for _ in range(first):
        em.iterate()
        history.add(em, np.nan)
        if len(history) >= 3 and _size(em, em.map_step()[1]) < NEAR:
            break
    converged = (_solve_in_turn if em.wide else _mix)(em, history, tol, max_iter)
    return EMResult(len(history), converged, history.as_dict())


def _size(em: SAREM, scaled_step: np.ndarray) -> float:
    """Root mean square change of the logits."""
    return float(np.linalg.norm(scaled_step)) / em.total_weight**0.5


def _mix(em: SAREM, history: History, tol: float, max_iter: int) -> bool:
    """Anderson's mixing of the steps of both models; whether it came to rest.

    A mixed point is kept only if it is no worse than the last: by likelihood where EM maximises
    it (decay 1), else by the size of the next step. From a worse one it goes back, and on by a
    plain EM iteration.
    """
    mixer = Anderson()
    best_size, best_likelihood, best = np.inf, -np.inf, em.parameters
    kind = "complete"
    for tries in range(4, max_iter - len(history) + 4):
        step, scaled = em.map_step()
        size = _size(em, scaled)
        likelihood = em.penalized_log_likelihood
        if em.decay == 1:
            worse = likelihood < best_likelihood - 1e-13 * abs(likelihood)
        else:
            worse = size > ROOM * best_size
        if worse:
            mixer.entries.clear()
            em.move(best)
            em.iterate()
            history.add(em, np.nan)
            best_size, kind = np.inf, "complete"
            continue
        if len(mixer.entries):
            history.add(em, np.nan)
        best, best_size, best_likelihood = em.parameters, size, likelihood
        mixer.entries.append((best, step, scaled))
        if size < tol:  # the step that is known is still taken
            em.move(mixer.mix(), None)
            return True
        # New Hessians while far off, then at tries 8, 16, ...: an old one only slows the map down.
        # Near, those in which targets follow, which take fewer passes. They lead
        # astray far off, and where only what raises the likelihood is kept.
        curvature = kind if size > FAR or tries & (tries - 1) == 0 else None
        if size <= FAR and em.decay < 1 and kind == "complete":
            kind = curvature = "observed"
            best_size = np.inf  # sizes are larger in their units
            mixer.entries.clear()
            mixer.entries.append((best, step, scaled))
        em.move(mixer.mix(), curvature)
    em.move(best)  # the last mixture was not looked at
    return False


class Decayed:
    """A propensity times the decay, as something that is given."""

    has_columns = False

    def __init__(self, propensity, decay: float):
        self.propensity, self.decay = propensity, decay
        self.key = "decayed", decay, propensity.key

    def of_rows(self, block: Block) -> Propensities:
        e, _, codes, X, theta = self.propensity.of_rows(block)
        e = self.decay * (e if X is None else sigmoids(logits(X, theta))[0])
        return Propensities(e, 1.0 - e, codes)


def _solve_in_turn(em: SAREM, history: History, tol: float, max_iter: int) -> bool:
    """Many columns: an iteration over the propensity, with the classifier solved for each.

    Given the propensity, the fixed point of EM is where ``-sum(log f) - sum(log(1 - d e f))``, over
    labelled and unlabelled rows, plus the penalty, has no slope: EM with decay is maximum
    likelihood with the propensity ``d e``. With many columns that function has saddles and long
    valleys, in which mixing a few steps gets lost (100,000 x 20,000: no end in 500 iterations).
    Newton's method in a trust region goes through them.
    """
    mixer = Anderson()
    size, best_size = SHARE, np.inf
    target = em.propensity.theta
    for _ in range(len(history), max_iter):
        # Coarsely while the propensity is far off; finely at last, or its step is noise.
        inner = max(min(SHARE, size**0.5) * size, tol / 2)
        theta, slope = solve_classifier(em, target, inner)
        em.move(np.concatenate([theta, target]))
        history.add(em, np.nan)
        step, scaled = em.propensity.map_step(em.sums)
        moved = _size(em, scaled)
        size = math.hypot(slope, moved)
        if size < tol:
            return True
        if moved > ROOM * best_size:  # a mixed propensity that was worse: on from before it
            target = mixer.entries[-1][0] + mixer.entries[-1][1]
            mixer.entries.clear()
            best_size = np.inf
            continue
        best_size = moved
        mixer.entries.append((target, step, scaled))
        target = mixer.mix()
    return False


def solve_classifier(em: SAREM, theta_e: np.ndarray, tol: float) -> tuple[np.ndarray, float]:
    """Coefficients for a propensity, and what is left of their slope: RMS change of the logits."""
    propensity = Decayed(em.propensity.at(theta_e), em.decay)
    curvature = em.curvature
    assert isinstance(curvature, WideCurvature)
    root, ridge = np.sqrt(curvature.diagonal), em.ridge

    def point(x) -> Point:
        return Point(x / root, propensity, 1.0, em.compiled)

    def loss(x):
        here = point(x)
        em.passes += 1
        sums = em.rows.total(em_pass, here, None, "observed", True)
        value = ridge @ here.theta**2 / 2 - sums.log_likelihood
        return value, (sums.next_gradient + ridge * here.theta) / root

    def product(x, v):
        of_rows = PointCurvature(point(x), "observed")
        return em.rows.total(row_product, of_rows, v / root) / root + ridge * v / root**2

    x = em.theta * root
    value, gradient = loss(x)
    goal, reach = tol * em.total_weight**0.5, float(np.linalg.norm(gradient))
    # Below this slope, what a step gains drowns in the rounding of the sum.
    blind = math.sqrt(1e-13 * abs(value))
    if reach > max(goal, blind):
        options = {"gtol": max(goal, blind), "initial_trust_radius": reach, "maxiter": 500}
        options["max_trust_radius"] = np.inf
        found = minimize(loss, x, jac=True, hessp=product, method="trust-ncg", options=options)
        x, gradient = found.x, found.jac
    for _ in range(10):
        reach = float(np.linalg.norm(gradient))
        if reach <= goal:
            break
        operator = LinearOperator((len(x), len(x)), matvec=partial(product, x))
        trial = x - cg(operator, gradient, rtol=1e-3, maxiter=500)[0]
        trial_gradient = loss(trial)[1]
        if not np.linalg.norm(trial_gradient) < reach / 2:
            break
        x, gradient = trial, trial_gradient
    return x / root, float(np.linalg.norm(gradient)) / em.total_weight**0.5
