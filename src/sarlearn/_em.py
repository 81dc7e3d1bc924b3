"""SAR-EM with two logistic models: the pass over the data, one iteration, the start, the loops.

Letters are the paper's: ``f`` the classifier, ``e`` the propensity, ``d`` the decay, ``q`` the
expected class of a row (its target in the M-step). A pass at some parameters gives everything an
iteration needs: the E-step's new targets ("fresh"), the gradient towards them, and the gradient
that is left towards the targets the last M-step aimed at. The latter says how well that M-step
was solved, so that one Newton step, often with an old Hessian, can be trusted or mended.
"""

from dataclasses import dataclass

import numpy as np

from sarlearn._acceleration import Anderson
from sarlearn._blocks import RowBlocks
from sarlearn._kernels import e_step
from sarlearn._logistic import (
    DENSE_COLUMNS,
    Curvature,
    Sums,
    WideCurvature,
    fit_logistic,
    hessian,
    ridge_of,
    with_intercept,
)
from sarlearn._stopping import EMResult, History, ModelSlopeRule

# An M-step counts as solved when its gradient has fallen to this share.
FORCING = 0.05
# The Hessian is renewed in the next pass when a step left more than this share of the gradient.
REFRESH = 0.1
MAX_LABEL_FREQUENCY = 1 - 1e-6


@dataclass
class EMSums(Sums):
    """What one pass adds up. Gradients are of the M-step's objective, without the penalty."""

    log_likelihood: float
    expected_positives: float
    fresh: np.ndarray
    aimed: np.ndarray
    hessian: np.ndarray | None = None
    positives: np.ndarray | None = None
    e_fresh: np.ndarray | None = None
    e_aimed: np.ndarray | None = None
    e_hessian: np.ndarray | None = None


class LogisticEM:
    """The state of SAR-EM: parameters of both models, and the targets of every row.

    Parameters
    ----------
    blocks : RowBlocks of X
    labelled : boolean ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
    propensity : one of the kinds in ``_propensity``
    decay, C : the paper's d, and the inverse penalty of the classifier
    """

    def __init__(self, blocks: RowBlocks, labelled, weight, propensity, *, decay: float, C: float):
        self.blocks, self.labelled, self.weight, self.propensity = (
            blocks,
            labelled,
            weight,
            propensity,
        )
        self.decay, self.C = decay, C
        n_rows, n_columns = blocks.shape
        self.total_weight = float(n_rows if weight is None else weight.sum())
        self.labelled_weight = float(labelled.sum() if weight is None else weight[labelled].sum())
        self._ridge = ridge_of(C, n_columns, self.total_weight)
        # Targets times weights: the fresh ones, and those the current M-step aims at.
        self._fresh, self._aim = np.zeros(n_rows), np.zeros(n_rows)
        self._row_curvature = np.empty(n_rows) if n_columns > DENSE_COLUMNS else None
        self._stale = True
        self.passes = 0
        self.theta = np.zeros(n_columns + 1)
        self.curvature: Curvature | WideCurvature

    # -- the pass ---------------------------------------------------------------------------

    def run_pass(self) -> None:
        """E-step and all statistics at the current parameters (Algorithm 1, lines 3-7)."""
        self.passes += 1
        self.sums = self.blocks.sum(self._block)
        self._new_curvature = self._stale

    def _block(self, X, rows: slice) -> EMSums:
        labelled, aim, fresh = self.labelled[rows], self._aim[rows], self._fresh[rows]
        weight = None if self.weight is None else self.weight[rows]
        bend = np.empty(len(labelled)) if self._stale else None
        e, not_e = self.propensity.of_rows(rows)
        eta = X @ self.theta[:-1]
        eta += self.theta[-1]
        log_likelihood, expected, surplus, left = e_step(
            eta, e, not_e, labelled, weight, self.decay, aim, fresh, bend
        )
        sums = EMSums(
            log_likelihood,
            expected,
            with_intercept(X, surplus),
            with_intercept(X, left),
            **self.propensity.row_sums(rows, e, fresh, aim, self._stale),
        )
        if bend is not None:
            if self._row_curvature is None:
                sums.hessian = hessian(X, bend)
            else:
                self._row_curvature[rows] = bend
        return sums

    # -- one iteration ----------------------------------------------------------------------

    def iterate(self) -> None:
        """One EM iteration. Needs the pass at the current parameters, leaves the next one.

        The M-step takes Newton steps towards the targets of the last E-step until a twentieth of
        the gradient is left; mostly that is one step. A step that leaves more than it found is
        halved. Measured against exact M-steps: the same iterations, give or take one.
        """
        self._aim, self._fresh = self._fresh, self._aim
        sums = self.sums
        if not self.propensity.newton:
            self.propensity.set(self.propensity.theta + self.propensity.improve(sums)[0])
        left = self._gradients(sums.fresh, sums.e_fresh)
        goal = max(FORCING * self._norm(left), 1e-11 * self.total_weight**0.5)
        for _ in range(20):
            before, base, found = self._norm(left), self._newton_parameters(), left
            steps = [-side.solve(g) for side, g in zip(self._curvatures(), left, strict=True)]
            size = 1.0
            while True:
                self._set_newton([t + size * s for t, s in zip(base, steps, strict=True)])
                self.run_pass()
                left = self._gradients(self.sums.aimed, self.sums.e_aimed)
                after = self._norm(left)
                if after < before or after <= goal or size < 1e-6:
                    break
                size /= 2
            for side, step, old, new in zip(self._curvatures(), steps, found, left, strict=True):
                side.learn(size * step, new - old)
            self._renew_curvature()
            self._stale = after > REFRESH * before
            if after <= goal:
                break

    def _renew_curvature(self) -> None:
        """Take over the Hessians of the last pass, if it had any."""
        if not self._new_curvature:
            return
        if self._row_curvature is None:
            assert self.sums.hessian is not None
            self.curvature = Curvature(self.sums.hessian, self._ridge)
        else:
            self.curvature = WideCurvature(self.blocks, self._row_curvature.copy(), self._ridge)
        if self.propensity.newton:
            self.propensity.bend(self.sums)
        self._new_curvature = False

    def _gradients(self, raw, raw_e) -> list[np.ndarray]:
        out = [raw + self._ridge * self.theta]
        if self.propensity.newton:
            out.append(self.propensity.gradient(raw_e))
        return out

    def _curvatures(self):
        return [self.curvature] + ([self.propensity.curvature] if self.propensity.newton else [])

    def _norm(self, gradients) -> float:
        pairs = zip(self._curvatures(), gradients, strict=True)
        return float(np.hypot.reduce([side.norm(g) for side, g in pairs]))

    def _newton_parameters(self):
        return [self.theta] + ([self.propensity.theta] if self.propensity.newton else [])

    def _set_newton(self, thetas) -> None:
        self.theta = thetas[0]
        if self.propensity.newton:
            self.propensity.set(thetas[1])

    # -- what is read off --------------------------------------------------------------------

    @property
    def class_prior(self) -> float:
        return self.sums.expected_positives / self.total_weight

    @property
    def log_likelihood(self) -> float:
        return self.sums.log_likelihood

    @property
    def penalized_log_likelihood(self) -> float:
        return self.log_likelihood - self._ridge @ self.theta**2 / 2 - self.propensity.penalty()

    @property
    def watched(self) -> np.ndarray:
        """Parameters of the model the slope rule looks at: the learned propensity, else f."""
        return self.propensity.theta if len(self.propensity.theta) else self.theta

    @property
    def parameters(self) -> np.ndarray:
        return np.concatenate([self.theta, self.propensity.theta])

    def respond(self) -> tuple[np.ndarray, np.ndarray]:
        """The step of the EM map from here, and how it feels: both sides, one vector each."""
        gradient = self.sums.fresh + self._ridge * self.theta
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
        labels = self.labelled.astype(float)
        naive = fit_logistic(self.blocks, labels, self.weight, self.C, tol=1e-4)
        eta = self.blocks.matvec(naive.theta[:-1]) + naive.theta[-1]
        if label_frequency is None:
            top = float(eta[~self.labelled].max())
        else:
            top = float(np.log(label_frequency / (1 - label_frequency)))
        target = np.where(self.labelled, 1.0, np.exp(np.minimum(eta - top, 0.0)))
        fit = fit_logistic(
            self.blocks,
            target,
            self.weight,
            self.C,
            start=naive.theta,
            curvature=naive.curvature,
            tol=1e-4,
        )
        theta_e = np.zeros_like(self.propensity.theta)
        if len(theta_e):
            theta_e[-1] = min(top, float(np.log(MAX_LABEL_FREQUENCY / (1 - MAX_LABEL_FREQUENCY))))
        self.move(np.concatenate([fit.theta, theta_e]))

    def move(self, parameters: np.ndarray, *, new_hessian: bool = True) -> None:
        """Go to some parameters: one pass there."""
        n_classifier = self.blocks.shape[1] + 1
        self.theta = parameters[:n_classifier]
        self.propensity.set(parameters[n_classifier:])
        self._stale = new_hessian
        self.run_pass()
        self._renew_curvature()


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


def run_to_fixed_point(em: LogisticEM, tol: float, max_iter: int, report=lambda: None) -> EMResult:
    """Accelerated EM until the EM map no longer moves: root mean square change of logits < tol.

    A mixed point is kept only if it is no worse than the last: by likelihood where EM maximises
    it (decay 1), else by the size of the next step. From a worse one it goes back, and on by a
    plain EM iteration.
    """
    history, mixer = History(report), Anderson()
    for _ in range(min(3, max_iter)):
        em.iterate()
        history.add(em, np.nan)
    best_size, best_likelihood, best = np.inf, -np.inf, em.parameters
    for tries in range(4, max_iter + 1):
        step, feel = em.respond()
        size = float(np.linalg.norm(feel)) / em.total_weight**0.5
        likelihood = em.penalized_log_likelihood
        if em.decay == 1:
            worse = likelihood < best_likelihood - 1e-13 * abs(likelihood)
        else:
            worse = size > 2 * best_size
        if worse:
            mixer.entries.clear()
            em.move(best)
            em.iterate()
            best_size = np.inf
            continue
        if len(mixer.entries):
            history.add(em, np.nan)
        if size < tol:
            return EMResult(len(history), True, history.as_dict())
        best, best_size, best_likelihood = em.parameters, size, likelihood
        mixer.entries.append((best, step, feel))
        # New Hessians at tries 4, 8, 16, ...: an old one only slows the map down.
        em.move(mixer.mix(), new_hessian=tries & (tries - 1) == 0)
    return EMResult(len(history), False, history.as_dict())
