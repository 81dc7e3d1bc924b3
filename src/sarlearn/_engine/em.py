"""SAR-EM with two logistic models: the pass over the data, one iteration, the start, the loops.

Letters are the paper's: ``f`` the classifier, ``e`` the propensity, ``d`` the decay, ``q`` the
expected class of a row (its target in the M-step). A pass at some parameters gives everything an
iteration needs: the E-step's new targets ("fresh"), the gradient towards them, and the gradient
that is left towards the targets the last M-step aimed at. The latter says how well that M-step
was solved, so that one Newton step, often with an old Hessian, can be trusted or mended.

Targets stay with their rows. A request says from which parameters they come; a block that has
them not, because it moved to another machine, computes them again, to the same bits.
"""

import math
from dataclasses import dataclass

import numpy as np

from sarlearn._engine.blocks import Block, RowBlocks
from sarlearn._engine.kernels import em_sums, hessian, logits
from sarlearn._engine.logistic import (
    DENSE_COLUMNS,
    HALVINGS,
    Curvature,
    RowCurvature,
    Sums,
    WideCurvature,
    curvature_at,
    fit_logistic,
    ridge_of,
    weight_of,
)
from sarlearn._engine.stopping import EMResult, History, ModelSlopeRule

# An M-step counts as solved when its gradient has fallen to this share.
FORCING = 0.05
# The Hessian is renewed in the next pass when a step left more than this share of the gradient.
REFRESH = 0.1
# Parts of a step of the M-step, tried one after the other.
SIZES = HALVINGS[:21]
MAX_LABEL_FREQUENCY = 1 - 1e-6


@dataclass
class EMSums(Sums):
    """What one pass adds up. Gradients are of the M-step's objective, without the penalty."""

    log_likelihood: float
    expected_positives: float
    positives: np.ndarray
    fresh: np.ndarray
    aimed: np.ndarray
    e_fresh: np.ndarray | None = None
    e_aimed: np.ndarray | None = None
    hessian: np.ndarray | None = None
    e_hessian: np.ndarray | None = None


class Point:
    """Parameters at which a pass runs, as a block needs them; ``key`` tells them from others.

    Parameters
    ----------
    theta : ndarray of shape (n_columns + 1,)
    propensity : the propensity at its parameters, of one of the kinds in ``_propensity``
    decay : float
    """

    def __init__(self, theta: np.ndarray, propensity, decay: float):
        self.theta, self.propensity, self.decay = theta, propensity, decay
        self.key = decay, theta.tobytes(), propensity.key


def em_pass(block: Block, here: Point, aim: Point | None, bend: str | None, wide: bool) -> EMSums:
    """E-step and all statistics of one block (Algorithm 1, lines 3-7).

    Parameters
    ----------
    here : Point
        Where the pass runs; its targets are left in the block.
    aim : Point or None
        Where the targets of the current M-step come from; None counts them as 0.
    bend : {"complete", "observed"} or None
        Which Hessians are wanted: of the M-step, with its targets held, or of the map's fixed
        point, where targets follow. Where ``wide``, the curvature of each row, left in the block.
    """
    X = block.X_for_kernels
    aimed, fresh = _targets(block, here, aim)
    propensity = here.propensity.of_rows(block)
    h = None if bend is None else np.empty(block.n_rows)
    h_e = None if h is None or propensity.X is None else np.empty(block.n_rows)
    given = X, here.theta, propensity, block.labelled, block.weight, here.decay
    sums = EMSums(*em_sums(*given, aimed, fresh, h, h_e, bend == "observed"))
    if h_e is not None:
        sums.e_hessian = hessian(propensity.X, h_e)
    if h is not None and bend is not None:
        if wide:
            PointCurvature(here, bend).keep(block, h)
        else:
            # Negative curvature counts as positive: a step away from it is the right one.
            sums.hessian = hessian(X, np.abs(h) if bend == "observed" else h)
    return sums


def _targets(block: Block, here: Point, aim: Point | None) -> tuple[np.ndarray, np.ndarray]:
    """Targets times weights that the M-step aims at, and room for the fresh ones."""
    pair = block.kept.get("targets") or [
        (None, np.zeros(block.n_rows)),
        (None, np.empty(block.n_rows)),
    ]
    key = None if aim is None else aim.key
    if pair[1][0] == key != pair[0][0]:
        pair = pair[::-1]
    (known, aimed), (_, fresh) = pair
    if known != key:
        if aim is None:
            aimed.fill(0.0)
        else:
            X, propensity = block.X_for_kernels, aim.propensity.of_rows(block)
            given = X, aim.theta, propensity, block.labelled, block.weight, aim.decay
            em_sums(*given, np.zeros(block.n_rows), aimed, None, None)
    block.kept["targets"] = [(key, aimed), (here.key, fresh)]
    return aimed, fresh


class PointCurvature(RowCurvature):
    """The curvature of each row of a block at some point: kept by a pass there, or made again."""

    def __init__(self, point: Point, bend: str):
        self.point, self.bend, self._key = point, bend, (bend, *point.key)

    def _of(self, block: Block) -> np.ndarray:
        propensity = self.point.propensity.of_rows(block)
        given = self.point.theta, propensity, block.labelled, block.weight, self.point.decay
        h, zero, unused = np.zeros((3, block.n_rows))
        em_sums(block.X_for_kernels, *given, zero, unused, h, None, self.bend == "observed")
        return h


class LogisticEM:
    """The state of SAR-EM: parameters of both models, and the sums of the last pass.

    Parameters
    ----------
    blocks : RowBlocks of X
    labelled : boolean ndarray of shape (n_rows,), or None where the blocks have it
    weight : ndarray of shape (n_rows,) or None
    propensity : one of the kinds in ``_propensity``
    decay, C : the paper's d, and the inverse penalty of the classifier
    """

    def __init__(self, blocks: RowBlocks, labelled, weight, propensity, *, decay: float, C: float):
        self.blocks = blocks.attach(labelled=labelled, weight=weight, **propensity.columns)
        self.propensity, self.decay, self.C = propensity, decay, C
        n_columns = blocks.shape[1]
        self.total_weight = self.blocks.total(weight_of)
        self.ridge = ridge_of(C, n_columns, self.total_weight)
        self.wide = n_columns > DENSE_COLUMNS
        self._aim: Point | None = None
        self._bend: str | None = "complete"
        self.passes = 0
        self._here: Point
        self.curvature: Curvature | WideCurvature

    # -- the pass ---------------------------------------------------------------------------

    def _request(self, here: Point) -> tuple:
        return here, self._aim, self._bend, self.wide

    def _arrive(self, here: Point, sums: EMSums) -> None:
        self.passes += 1
        self._here, self.sums = here, sums
        self.propensity.here = here.propensity
        self._new_curvature = self._bend

    # -- one iteration ----------------------------------------------------------------------

    def iterate(self) -> None:
        """One EM iteration. Needs the pass at the current parameters, leaves the next one.

        The M-step takes Newton steps towards the targets of the last E-step until a twentieth of
        the gradient is left; mostly that is one step. A step that leaves more than it found is
        halved. Measured against exact M-steps: the same iterations, give or take one.
        """
        self._aim, sums = self._here, self.sums
        if not self.propensity.newton:
            solved = self.propensity.theta + self.propensity.improve(sums)[0]
            self.propensity.here = self.propensity.at(solved)
        left = self._gradients(sums.fresh, sums.e_fresh)
        before = self._norm(left)
        goal = max(FORCING * before, 1e-11 * self.total_weight**0.5)
        for _ in range(20):
            base, found = self._newton_parameters(), left
            steps = [-side.solve(g) for side, g in zip(self._curvatures(), left, strict=True)]
            passes = self.blocks.totals(em_pass, self._tries(base, steps))
            for (here, *_), passed in passes:
                self._arrive(here, passed)
                left = self._gradients(passed.aimed, passed.e_aimed)
                after = self._norm(left)
                if after < before or after <= goal:
                    break
            gone = [now - t for now, t in zip(self._newton_parameters(), base, strict=True)]
            for side, step, old, new in zip(self._curvatures(), gone, found, left, strict=True):
                side.learn(step, new - old)
            self._renew_curvature()
            self._bend = "complete" if after > REFRESH * before else None
            if after <= goal:
                break
            before = self._norm(left)

    def _tries(self, base, steps):
        """Requests for passes at ever smaller parts of a step."""
        for size in SIZES:
            theta, *rest = [t + size * step for t, step in zip(base, steps, strict=True)]
            propensity = self.propensity.at(*rest) if rest else self.propensity.here
            yield self._request(Point(theta, propensity, self.decay))

    def _renew_curvature(self) -> None:
        """Take over the Hessians of the last pass, if it had any."""
        if not self._new_curvature:
            return
        rows = PointCurvature(self._here, self._new_curvature)
        self.curvature = curvature_at(self.blocks, rows, self.sums.hessian, self.ridge)
        if self.propensity.newton:
            self.propensity.bend(self.sums)
        self._new_curvature = None

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

    def _newton_parameters(self):
        return [self.theta] + ([self.propensity.theta] if self.propensity.newton else [])

    # -- what is read off --------------------------------------------------------------------

    @property
    def theta(self) -> np.ndarray:
        return self._here.theta

    @property
    def class_prior(self) -> float:
        return self.sums.expected_positives / self.total_weight

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

    def respond(self) -> tuple[np.ndarray, np.ndarray]:
        """The step of the EM map from here, and how it feels: both sides, one vector each."""
        gradient = self.sums.fresh + self.ridge * self.theta
        step_e, feel_e = self.propensity.improve(self.sums)
        step = np.concatenate([-self.curvature.solve(gradient), step_e])
        return step, np.concatenate([self.curvature.whiten(gradient), feel_e])

    # -- where it goes -----------------------------------------------------------------------

    def start(self, label_frequency: float | None = None) -> None:
        """Algorithm 2: fit P(s|x), take c = max over unlabelled rows, fit f under SCAR with c.

        In logits: with ``c = sigmoid(eta_max)`` the target (1-c)/c * s/(1-s) is
        ``exp(eta - eta_max)``. Another c may be given; targets then stop at 1. Ends with a pass at
        the start.
        """
        naive = fit_logistic(self.blocks, labels_of, None, self.C, tol=1e-4)
        if label_frequency is None:
            top = max(self.blocks.each(_top_logit, naive.theta))
        else:
            top = float(np.log(label_frequency / (1 - label_frequency)))
        fit = fit_logistic(
            self.blocks,
            ScarTargets(naive.theta, top),
            None,
            self.C,
            start=naive.theta,
            curvature=naive.curvature,
            tol=1e-4,
        )
        theta_e = np.zeros_like(self.propensity.theta)
        if len(theta_e):
            theta_e[-1] = min(top, float(np.log(MAX_LABEL_FREQUENCY / (1 - MAX_LABEL_FREQUENCY))))
        self.move(np.concatenate([fit.theta, theta_e]))

    def move(self, parameters: np.ndarray, bend: str | None = "complete") -> None:
        """Go to some parameters: one pass there, with new Hessians of this kind."""
        theta, theta_e = np.split(parameters, [self.blocks.shape[1] + 1])
        here = Point(theta, self.propensity.at(theta_e), self.decay)
        self._aim, self._bend = None, bend
        self._arrive(here, self.blocks.total(em_pass, *self._request(here)))
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
        return block.remember("scar", self._key, lambda: self._of(block))

    def _of(self, block: Block) -> np.ndarray:
        chance = np.exp(np.minimum(logits(block.X, self.theta) - self.top, 0.0))
        return np.where(block.labelled, 1.0, chance)


def run_to_slope(
    em: LogisticEM, rule: ModelSlopeRule, max_iter: int, report=lambda: None
) -> EMResult:
    """Plain EM from the start until the paper's slope rule is met."""
    history, converged, n_iter = History(report), False, 0
    rule.follow(em.watched)
    while n_iter < max_iter and not converged:
        em.iterate()
        n_iter += 1
        converged = rule.follow(em.watched)
        history.add(em, rule.slope)
    return EMResult(n_iter, converged, history.as_dict())
