"""SAR-EM with two logistic models: the pass over the data, E-step, M-step, the start, the loop.

Letters are the paper's: ``f`` the classifier, ``e`` the propensity, ``d`` the decay, ``q`` the
expected class of a row (its target in the M-step). A pass at some parameters gives everything an
iteration needs: the targets of the E-step there, the gradient of the M-step towards them, and the
gradient that is left towards the targets of the M-step under way. The latter says how well that
M-step is solved, so that one Newton step, often with an old Hessian, can be trusted or mended.

Targets stay with their rows. A request says from which parameters they come; a block that does not
have them, because it moved to another machine, computes them again, to the same bits.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from sarlearn._engine.blocks import Block
from sarlearn._engine.kernels import Written, em_sums, hessian, logits
from sarlearn._engine.logistic import RowCurvature, fit_logistic
from sarlearn._engine.newton import (
    DENSE_COLUMNS,
    HALVINGS,
    Curvature,
    Sums,
    WideCurvature,
    curvature_at,
    reach_of,
)
from sarlearn._engine.rows import Rows
from sarlearn._engine.stopping import EMResult, History, ModelSlopeRule

# An M-step counts as solved when its gradient has fallen to this share.
FORCING = 0.05
# New Hessians are asked for when a step left more than this share.
REFRESH = 0.1
# Where the fits of the start end: root mean square change of their logits.
START_TOL = 1e-4
# Parts of a step of the M-step, tried one after the other.
SIZES = HALVINGS[:21]
MAX_LABEL_FREQUENCY = 1 - 1e-6
# From this many elements on a fit saves more than the half second that importing numba takes; the
# first one on a machine also waits for the compiler.
COMPILED_ELEMENTS = 2**23


@dataclass
class EMSums(Sums):
    """What one pass adds up. Gradients are of M-steps' objectives, without the penalty.

    Those called ``next`` are towards the targets of this pass, the others towards the targets of
    the M-step under way.
    """

    log_likelihood: float
    expected_positives: float
    positives: np.ndarray
    next_gradient: np.ndarray
    gradient: np.ndarray
    next_propensity_gradient: np.ndarray | None = None
    propensity_gradient: np.ndarray | None = None
    hessian: np.ndarray | None = None
    propensity_hessian: np.ndarray | None = None


class Point:
    """Parameters at which a pass runs, as a block needs them; ``key`` tells them from others.

    Parameters
    ----------
    theta : ndarray of shape (n_columns + 1,)
    propensity : the propensity at its parameters, of one of the kinds in ``propensity.py``
    decay : float
    compiled : bool
        Whether a pass here is to run compiled, where it can.
    """

    def __init__(self, theta: np.ndarray, propensity, decay: float, compiled: bool = False):
        self.theta, self.propensity, self.decay = theta, propensity, decay
        self.compiled = compiled
        self.key = decay, theta.tobytes(), propensity.key

    def sums_of(self, block: Block, held: np.ndarray | None, out: Written) -> tuple:
        """The kernel's sums of a block; see :func:`sarlearn._engine.kernels.em_sums`."""
        given = block, self.theta, self.propensity.of_rows(block), self.decay
        return em_sums(*given, held, out, compiled=self.compiled)


def em_pass(
    block: Block, here: Point, held: Point | None, curvature: str | None, wide: bool
) -> EMSums:
    """E-step and all statistics of one block (Algorithm 1, lines 3-7).

    Parameters
    ----------
    here : Point
        Where the pass runs; its targets are left in the block.
    held : Point or None
        Where the targets of the M-step under way come from; None where none is.
    curvature : {"complete", "observed", "signed"} or None
        Which Hessians are wanted: of the M-step, with its targets held, or of the map's fixed
        point, where targets follow. Observed curvatures are taken by their absolute values, which
        is safe far from the fixed point, or with their sign. Where ``wide``, the curvature of each
        row is left in the block.
    """
    target, new_target = _targets(block, here, held)
    has_columns = here.propensity.has_columns
    h = None if curvature is None else np.empty(block.n_rows)
    h_e = None if h is None or not has_columns else np.empty(block.n_rows)
    out = Written(new_target, h, h_e, observed=curvature != "complete")
    sums = EMSums(*here.sums_of(block, target, out))
    if h_e is not None:
        sums.propensity_hessian = hessian(here.propensity.of_rows(block).X, h_e)
    if h is not None and curvature is not None:
        if wide:
            PointCurvature(here, curvature).keep(block, h)
        else:
            # Negative curvature counts as positive: a step away from it is the right one.
            h = np.abs(h) if curvature == "observed" else h
            sums.hessian = hessian(block.X, h)
    return sums


def _targets(block: Block, here: Point, held: Point | None) -> tuple:
    """Targets times weights that the M-step is fitted to, and room for those of this pass."""
    pair = block.cache.get("targets") or [(None, np.empty(block.n_rows)) for _ in range(2)]
    target = None
    if held is not None:
        if pair[1][0] == held.key != pair[0][0]:
            pair = pair[::-1]
        known, target = pair[0]
        if known != held.key:
            held.sums_of(block, None, Written(target))
            pair[0] = held.key, target
    room = pair[1][1]
    block.cache["targets"] = [pair[0], (here.key, room)]
    return target, room


class PointCurvature(RowCurvature):
    """The curvature of each row of a block at some point: kept by a pass there, or made again."""

    def __init__(self, point: Point, kind: str):
        self.point, self.kind, self._key = point, kind, (kind, *point.key)

    def _of(self, block: Block) -> np.ndarray:
        h, unused = np.empty((2, block.n_rows))
        self.point.sums_of(block, None, Written(unused, h, observed=self.kind != "complete"))
        return h


class SAREM:
    """SAR-EM: the problem, and where it stands.

    Parameters
    ----------
    rows : Rows
        With labels, weights and what the propensity needs of each row.
    propensity : one of the kinds in ``propensity.py``
    decay, C : the paper's d, and the inverse penalty of the classifier
    """

    def __init__(self, rows: Rows, propensity, *, decay: float, C: float):
        self.rows, self.propensity, self.decay, self.C = rows, propensity, decay, C
        self.total_weight = rows.total_weight()
        self.ridge = rows.units.ridge(C, self.total_weight)
        self.wide = rows.shape[1] > DENSE_COLUMNS
        self.compiled = rows.nnz >= COMPILED_ELEMENTS
        sizes = rows.sizes()
        self._reaches = [reach_of(sizes)]
        if propensity.newton:
            self._reaches.append(reach_of(sizes[propensity.columns]))
        self.passes = 0
        # Where it stands: the last pass, where the targets of the M-step come from, and the
        # curvature that steps are taken with.
        self._here: Point
        self.sums: EMSums
        self._held: Point | None = None
        self.curvature: Curvature | WideCurvature
        self._wanted: str | None = "complete"

    # -- one iteration ----------------------------------------------------------------------

    def iterate(self) -> None:
        """One EM iteration. Needs the pass at the current parameters, leaves the next one."""
        self.e_step()
        self.m_step()

    def e_step(self) -> None:
        """Hold the targets that the last pass has formed (Algorithm 1, lines 3-7)."""
        self._held = self._here

    def m_step(self) -> None:
        """Fit both models to the targets (Algorithm 1, lines 8-16).

        Newton steps until a twentieth of the gradient is left; mostly that is one step. A step
        that leaves more than it found is halved. Each pass also forms the targets of the next
        E-step. Not ``newton.climb``: the value of the M-step's objective would be one more sum
        per pass, and what is left of the gradient is at hand.
        """
        if not self.propensity.newton:
            self.propensity.here = self.propensity.solve(self.sums)
        gradients = self._gradients(self.sums.next_gradient, self.sums.next_propensity_gradient)
        size = self._norm(gradients)
        goal = max(FORCING * size, 1e-11 * self.total_weight**0.5)
        for _ in range(20):
            before, found = self._parameters_of_steps(), gradients
            gradients, left = self._step(before, gradients, size, goal)
            steps = [b - a for a, b in zip(before, self._parameters_of_steps(), strict=True)]
            for side, step, old, new in zip(
                self._curvatures(), steps, found, gradients, strict=True
            ):
                side.learn(step, new - old)
            self._renew_curvature()
            self._wanted = "complete" if left > REFRESH * size else None
            if left <= goal:
                return
            size = self._norm(gradients)

    def _step(self, base, gradients, size: float, goal: float):
        """A Newton step, halved until it leaves less than it found; gradients and size left."""
        sides = zip(self._curvatures(), gradients, self._reaches, strict=True)
        steps = [side.step(gradient, reach) for side, gradient, reach in sides]
        for (here, *_), sums in self.rows.totals(em_pass, self._tries(base, steps)):
            self._arrive(here, sums)
            gradients = self._gradients(sums.gradient, sums.propensity_gradient)
            left = self._norm(gradients)
            if left < size or left <= goal:
                break
        return gradients, left

    def _tries(self, base, steps):
        """Requests for passes at ever smaller parts of a step."""
        for size in SIZES:
            theta, *rest = [t + size * step for t, step in zip(base, steps, strict=True)]
            propensity = self.propensity.at(*rest) if rest else self.propensity.here
            yield self._request(Point(theta, propensity, self.decay, self.compiled))

    def _request(self, here: Point) -> tuple:
        return here, self._held, self._wanted, self.wide

    def _arrive(self, here: Point, sums: EMSums) -> None:
        self.passes += 1
        self._here, self.sums, self._made = here, sums, self._wanted
        self.propensity.here = here.propensity

    def _renew_curvature(self) -> None:
        """Take over the Hessians of the last pass, if it had any."""
        if not self._made:
            return
        of_rows = PointCurvature(self._here, self._made)
        self.curvature = curvature_at(self.rows, of_rows, self.sums.hessian, self.ridge)
        if self.propensity.newton:
            self.propensity.renew_curvature(self.sums)
        self._made = None

    def _gradients(self, raw, raw_e) -> list[np.ndarray]:
        out = [raw + self.ridge * self.theta]
        if self.propensity.newton:
            out.append(self.propensity.gradient(raw_e))
        return out

    def _curvatures(self):
        return [self.curvature] + ([self.propensity.curvature] if self.propensity.newton else [])

    def _norm(self, gradients) -> float:
        pairs = zip(self._curvatures(), gradients, strict=True)
        return math.hypot(*[side.norm(g) for side, g in pairs])

    def _parameters_of_steps(self):
        return [self.theta] + ([self.propensity.theta] if self.propensity.newton else [])

    # -- what is read off --------------------------------------------------------------------

    @property
    def theta(self) -> np.ndarray:
        return self._here.theta

    @property
    def class_prior(self) -> float:
        return min(self.sums.expected_positives / self.total_weight, 1.0)

    @property
    def log_likelihood(self) -> float:
        return self.sums.log_likelihood

    @property
    def penalized_log_likelihood(self) -> float:
        return self.log_likelihood - self.ridge @ self.theta**2 / 2 - self.propensity.penalty()

    @property
    def watched(self) -> np.ndarray:
        """Parameters of the model the slope rule looks at: the learned propensity, else f."""
        return self.propensity.theta if len(self.propensity.theta) else self.theta

    @property
    def parameters(self) -> np.ndarray:
        return np.concatenate([self.theta, self.propensity.theta])

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients and intercept of the classifier, in the user's units."""
        return self.rows.units.to_user(self.theta)

    def map_step(self) -> tuple[np.ndarray, np.ndarray]:
        """The step of the EM map from here, as it is and scaled: both sides, one vector each."""
        gradient = self.sums.next_gradient + self.ridge * self.theta
        step_e, scaled_e = self.propensity.map_step(self.sums)
        step = np.concatenate([-self.curvature.solve(gradient), step_e])
        return step, np.concatenate([self.curvature.scaled_step(gradient), scaled_e])

    # -- where it goes -----------------------------------------------------------------------

    def start(self, label_frequency: float | None = None) -> None:
        """Algorithm 2: fit P(s|x), take c = max over unlabelled rows, fit f under SCAR with c.

        In logits: with ``c = sigmoid(eta_max)`` the target (1-c)/c * s/(1-s) is
        ``exp(eta - eta_max)``. Another c may be given; targets then stop at 1. Ends with a pass at
        the start.
        """
        naive = fit_logistic(self.rows, labels_of, None, self.C, tol=START_TOL)
        if label_frequency is None:
            top = max(self.rows.each(_top_logit, naive.theta))
        else:
            top = float(np.log(label_frequency / (1 - label_frequency)))
        fit = fit_logistic(
            self.rows,
            ScarTargets(naive.theta, top),
            None,
            self.C,
            start=naive.theta,
            curvature=naive.curvature,
            tol=START_TOL,
        )
        theta_e = np.zeros_like(self.propensity.theta)
        if len(theta_e):
            theta_e[-1] = min(top, float(np.log(MAX_LABEL_FREQUENCY / (1 - MAX_LABEL_FREQUENCY))))
        self.move(np.concatenate([fit.theta, theta_e]))

    def move(self, parameters: np.ndarray, curvature: str | None = "complete") -> None:
        """Go to some parameters: one pass there, with new Hessians of this kind."""
        theta, theta_e = np.split(parameters, [self.rows.shape[1] + 1])
        here = Point(theta, self.propensity.at(theta_e), self.decay, self.compiled)
        self._held, self._wanted = None, curvature
        self._arrive(here, self.rows.total(em_pass, *self._request(here)))
        self._renew_curvature()


def labels_of(block: Block) -> np.ndarray:
    return block.labelled.astype(float)


def _top_logit(block: Block, theta: np.ndarray) -> float:
    """The largest logit of an unlabelled row."""
    return float(logits(block.X, theta)[~block.labelled].max(initial=-np.inf))


class ScarTargets:
    """The targets under SCAR: ``exp(eta - top)`` for the logits at ``theta``, at most 1."""

    def __init__(self, theta: np.ndarray, top: float):
        self.theta, self.top = theta, top
        self._key = top, theta.tobytes()

    def __call__(self, block: Block) -> np.ndarray:
        return block.remember("scar", self._key, partial(self._of, block))

    def _of(self, block: Block) -> np.ndarray:
        chance = np.exp(np.minimum(logits(block.X, self.theta) - self.top, 0.0))
        chance = np.where(block.labelled, 1.0, chance)
        if block.audited is None:
            return chance
        return np.where(np.isnan(block.audited), chance, block.audited)


def run_to_slope(em: SAREM, rule: ModelSlopeRule, max_iter: int, report=lambda: None) -> EMResult:
    """Plain EM from the start until the paper's slope rule is met."""
    history, converged = History(report), False
    rule.follow(em.watched)
    while len(history) < max_iter and not converged:
        em.iterate()
        converged = rule.follow(em.watched)
        history.add(em, rule.slope)
    return EMResult(len(history), converged, history.as_dict())
