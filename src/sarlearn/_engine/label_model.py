"""The low-dimensional label model of the cross-fit: maximum likelihood, and its profile.

One held-out logit ``g`` per row, and the propensity attributes ``x_e``:

    P(s=1|x) = sigmoid(a g + b) * sigmoid(phi . x_e + phi_0),    a > 0.

Few parameters, so little needs a penalty: the scale of the class probabilities is read from
where ``P(s=1|x)`` saturates. Inputs are standardised inside. Parameters are kept in the order
``log a, b, phi, phi_0``.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.known_prior import (
    TIGHTENING,
    KnownPrior,
    PriorPenalty,
    PseudoCounts,
    pseudo_count_loss,
)
from sarlearn._engine.label_pass import (
    LabelSums,
    label_pass,
    standardised,
    standards,
    weighted_propensity,
)
from sarlearn._engine.logistic import shift_for_mean, weight_of
from sarlearn._engine.newton import Climb, Curvature, Iterate, climb
from sarlearn._engine.propensity import label_share
from sarlearn._engine.rows import Rows

# On slopes of standardised inputs, and on intercepts: enough to keep the optimum finite.
RIDGE, INTERCEPT_RIDGE = 1e-2, 1e-6
# Label frequencies the search starts from; with pseudo-counts, where the objective has hardly a
# second maximum, two of them end where three do.
STARTS, FEWER_STARTS = (0.15, 0.5, 0.9), (0.25, 0.8)
# Starts are compared on about this many rows; the best is then fitted on all.
START_ROWS = 20_000
# Half the 95 % quantile of chi-square with one degree of freedom: the profile's drop.
PROFILE_DROP = 1.92
# A climb ends when a step promises less than this, in nats: that to the maximum, those from several
# starts to compare them, and those along the profile.
TOLERANCE, START_TOLERANCE, PROFILE_TOLERANCE = 5e-10, 1e-2, 1e-4
# A point of the profile this near its end, by the root of the drop, gives the end by proportion.
NEAR_END = 0.2
# No parameter moves by more than this in a step.
MAX_STEP = 8.0
NO_PSEUDO_COUNTS = PseudoCounts()


@dataclass
class LabelFit:
    """The maximum: what each part of the model says, in the units of the inputs."""

    slope: float
    intercept: float
    propensity_coef: np.ndarray
    propensity_intercept: float
    class_prior: float
    log_likelihood: float
    theta: np.ndarray


@dataclass
class Profile:
    """Class priors that the labels admit: the ends of the range, and the points looked at."""

    low: float
    high: float
    class_prior: np.ndarray
    log_likelihood: np.ndarray

    @property
    def width(self) -> float:
        return self.high - self.low


class LabelModel:
    """The model on some rows.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Held-out logits of the class probability.
    attributes : ndarray of shape (n_rows, n_attributes)
        Propensity attributes; no columns is SCAR.
    labelled : boolean ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
    propensity_ridge : float
        Penalty on the propensity's slopes, of standardised attributes, in nats of the whole sample.
    slope_penalty : (float, float) or None
        Mean and standard deviation of a normal penalty on ``log a``, the slope in the units of the
        scores; None leaves the slope free.
    pseudo_counts : PseudoCounts
        They draw the class prior, and the propensity at the mean of the attributes, to a half.
    known_propensity : ndarray of shape (n_rows,) or None
        The propensity itself, where it is not to be found; ``attributes`` then has no columns,
        and only ``a`` and ``b`` are free.
    audited : ndarray of shape (n_rows,) or None
        Classes that are known, NaN elsewhere.
    """

    def __init__(
        self,
        scores,
        attributes,
        labelled,
        weight=None,
        *,
        propensity_ridge: float = RIDGE,
        slope_penalty: tuple[float, float] | None = None,
        pseudo_counts: PseudoCounts = NO_PSEUDO_COUNTS,
        known_propensity: np.ndarray | None = None,
        audited: np.ndarray | None = None,
    ):
        rows = RowBlocks(np.asarray(attributes, dtype=float)).attach(
            score=np.asarray(scores, dtype=float),
            labelled=labelled,
            weight=weight,
            audited=audited,
        )
        if known_propensity is not None:
            rows = rows.attach(e=known_propensity, not_e=1.0 - known_propensity)
        known = known_propensity is not None
        self._set(rows, rows.shape[1], propensity_ridge, slope_penalty, known, pseudo_counts)

    @classmethod
    def on_rows(
        cls,
        rows: Rows,
        n_attributes: int,
        *,
        propensity_ridge: float = RIDGE,
        pseudo_counts: PseudoCounts = NO_PSEUDO_COUNTS,
        known: bool = False,
    ) -> "LabelModel":
        """The same for rows whose matrix has the attributes, and that know their score."""
        model = cls.__new__(cls)
        model._set(rows, n_attributes, propensity_ridge, None, known, pseudo_counts)
        return model

    def _set(
        self, rows: Rows, n_attributes: int, propensity_ridge, slope_penalty, known, pseudo_counts
    ) -> None:
        rows = rows.settled()
        self.label_share, self._total = label_share(rows), float(rows.total(weight_of))
        self._center, self._scale = standards(rows)
        self._rows = rows.map(standardised, self._center, self._scale)
        self._slope_penalty, self._known = slope_penalty, known
        self._prior_penalty: PriorPenalty | None = None
        self._pseudo_counts: PseudoCounts = pseudo_counts
        self._ridge = np.full(n_attributes + 3, RIDGE)
        self._ridge[2:-1] = propensity_ridge
        self._ridge[[1, -1]] = INTERCEPT_RIDGE

    # -- its maximum -------------------------------------------------------------------------

    def fit(
        self, slope: float = 1.0, *, warm: LabelFit | None = None, max_steps: int = 200
    ) -> LabelFit:
        """The best maximum from several label frequencies; the scores start with ``slope``.

        From ``warm``, a fit to other scores of these rows, at most ``max_steps`` passes.
        """
        if warm is not None:
            return self.described(self._climb(self._at(warm), max_steps=max_steps).theta)
        part = self._part()
        by_labels = self._pseudo_counts == NO_PSEUDO_COUNTS
        starts: Sequence[float] = STARTS if by_labels else FEWER_STARTS
        if self._known:
            starts = [float(part._rows.total(weighted_propensity)) / part._total]
        tries = (part._climb(part._start(c, slope), tol=START_TOLERANCE) for c in starts)
        found = min(tries, key=lambda climb: climb.value)
        return self.described(self._climb(found.theta).theta)

    def described(self, theta: np.ndarray) -> LabelFit:
        """What these parameters say, in the units of the data."""
        sums = self._rows.total(label_pass, theta, self._known, False)
        slope = float(np.exp(theta[0])) / self._scale[0]
        coef = theta[2:-1] / self._scale[1:]
        return LabelFit(
            slope=slope,
            intercept=float(theta[1] - slope * self._center[0]),
            propensity_coef=coef,
            propensity_intercept=float(theta[-1] - coef @ self._center[1:]),
            class_prior=min(sums.positives / self._total, 1.0),
            log_likelihood=-sums.loss,
            theta=theta,
        )

    def fit_with(self, prior: KnownPrior, free: LabelFit) -> LabelFit:
        """The maximum with what is known of the class prior, from the one without, ``free``.

        Later fits of this model know it as well.
        """
        penalty = prior.penalty(free.class_prior)
        if penalty is None:
            return free
        theta = free.theta
        for deviation in TIGHTENING:
            if deviation > penalty.deviation:
                theta = self._climb(theta, PriorPenalty(penalty.mean, deviation)).theta
        self._prior_penalty = penalty
        return self.described(self._climb(theta).theta)

    def _at(self, fit: LabelFit) -> np.ndarray:
        """The parameters here of what another fit says in the units of the data."""
        slope, coef = fit.slope * self._scale[0], fit.propensity_coef * self._scale[1:]
        intercept = fit.intercept + fit.slope * self._center[0]
        propensity_intercept = fit.propensity_intercept + fit.propensity_coef @ self._center[1:]
        return np.concatenate([[np.log(slope), intercept], coef, [propensity_intercept]])

    def _part(self) -> "LabelModel":
        rows = self._rows.part(START_ROWS)
        if rows is None:
            return self
        part = copy(self)
        part._rows, part._total = rows, float(rows.total(weight_of))
        return part

    def _start(self, label_frequency: float, slope: float) -> np.ndarray:
        theta = np.zeros(len(self._ridge))
        theta[0] = np.log(slope * self._scale[0])
        theta[-1] = 0.0 if self._known else logit(label_frequency)
        prior = min(self.label_share / label_frequency, 0.95)
        theta[1] = self._intercept_for(prior, theta)
        return theta

    def _intercept_for(self, prior: float, theta: np.ndarray) -> float:
        """About the ``b`` that gives a class prior, to start from."""
        theta = theta.copy()

        def mean_at(intercept: float) -> tuple[float, float]:
            theta[1] = intercept
            sums = self._rows.total(label_pass, theta, self._known, False)
            return sums.positives / self._total, sums.positives_gradient[1] / self._total

        return shift_for_mean(mean_at, prior, tol=1e-2, max_iter=30)

    def _climb(
        self, theta, penalty: PriorPenalty | None = None, max_steps=200, tol=TOLERANCE
    ) -> Climb:
        objective = _Objective(self, penalty, tol)
        return climb(objective, theta, max_iter=max_steps, max_step=MAX_STEP)

    # -- its profile -------------------------------------------------------------------------

    def profile(self, fit: LabelFit) -> Profile:
        """Class priors whose best log-likelihood is within 1.92 of the maximum.

        The drop's root is nearly linear in the prior, so secant steps find each end. The range
        ends at the share of labels (all positives labelled) and at 1.
        """
        seen = {fit.class_prior: fit.log_likelihood}
        ends = [self._end(fit, bound, seen) for bound in (self.label_share, 1.0)]
        priors = np.array(sorted(seen))
        values = np.array([seen[prior] for prior in priors])
        return Profile(ends[0], ends[1], priors, values)

    def profile_of_labels(self, fit: LabelFit) -> Profile:
        """The same by the labels alone, without pseudo-counts; it holds the prior of ``fit``."""
        alone = copy(self)
        alone._pseudo_counts = NO_PSEUDO_COUNTS
        found = alone.profile(alone.fit(warm=fit))
        found.low, found.high = min(found.low, fit.class_prior), max(found.high, fit.class_prior)
        return found

    def profile_with(self, prior: KnownPrior, free: LabelFit, fit: LabelFit) -> Profile:
        """The same with what is known of the class prior, which ``fit`` knows and ``free`` not.

        Bounds cut what the labels admit; a survey is part of the likelihood.
        """
        if prior.deviation:
            return self.profile(fit)
        if prior.low == prior.high:
            at = np.array([fit.class_prior])
            return Profile(prior.low, prior.high, at, np.array([fit.log_likelihood]))
        self._prior_penalty = None
        found = self.profile(free)
        found.low, found.high = prior.within((found.low, found.high))
        return found

    def _end(self, fit: LabelFit, bound: float, seen: dict[float, float]) -> float:
        """One end of the range.

        A penalty towards some class prior, the goal, ends in a point of the profile: no other
        parameters explain the labels better for the prior that it reaches.
        """
        (top,) = _Objective(self).passes([fit.theta], True)
        spread = self._spread(top)
        inside, outside, theta = (fit.class_prior, 0.0), None, fit.theta
        last = bound + (fit.class_prior - bound) * 1e-3  # the bound itself has no finite logits
        room = abs(last - fit.class_prior)
        away = float(np.copysign(1.0, last - fit.class_prior))
        goal = fit.class_prior + away * min(1.96 * spread, 0.5 * room)
        for _ in range(20):
            penalty = PriorPenalty(goal, min(max(spread / 3, 1e-5), 0.03))
            found = self._climb(theta, penalty, tol=PROFILE_TOLERANCE)
            (iterate,) = _Objective(self).passes([found.theta], False)
            prior = min(iterate.sums.positives / self._total, 1.0)
            # With the penalty and the pseudo-counts: it falls from the maximum of both.
            seen[prior] = fit.log_likelihood - (iterate.value - top.value)
            drop = float(np.sqrt(max(iterate.value - top.value, 0.0) / PROFILE_DROP))
            if abs(drop - 1) < NEAR_END:
                return fit.class_prior + (prior - fit.class_prior) / drop
            if drop < 1:
                inside, theta = (goal, drop), found.theta
                if goal == last:
                    return bound
            else:
                outside = (goal, drop)
            if outside is None:
                reach = 2.0 * (goal - fit.class_prior) / max(drop, 0.3)
                goal = last if abs(reach) >= room else fit.class_prior + reach
            else:
                share = (1 - inside[1]) / (outside[1] - inside[1])
                goal = inside[0] + min(max(share, 0.1), 0.9) * (outside[0] - inside[0])
        return prior

    def _spread(self, iterate: Iterate) -> float:
        """Standard error of the class prior by the expected information: where to look first."""
        prior_gradient = np.zeros(len(self._ridge))
        prior_gradient[:2] = iterate.sums.positives_gradient / self._total
        prior_gradient[0] *= np.exp(iterate.theta[0])
        curvature = _Objective(self).curvature(iterate)
        return float(np.linalg.norm(curvature.scaled_step(prior_gradient)))


class _Objective:
    """The penalised loss of a label model, to climb; there may be a penalty on the prior."""

    def __init__(self, model: LabelModel, penalty: PriorPenalty | None = None, tol=TOLERANCE):
        self._model, self.tol = model, tol
        self._prior_penalties = [one for one in (model._prior_penalty, penalty) if one is not None]

    def passes(self, points: Iterable[np.ndarray], with_hessian: bool) -> Iterator[Iterate]:
        model = self._model
        requests = ((theta, model._known, with_hessian) for theta in points)
        for (theta, *_), sums in model._rows.totals(label_pass, requests):
            slope = np.exp(theta[0])
            natural = np.concatenate([[slope], theta[1:]])
            value = sums.loss + float(model._ridge @ natural**2) / 2
            gradient = sums.gradient + model._ridge * natural
            for penalty in self._prior_penalties:
                residual = penalty.residual(sums.positives, model._total)
                value += residual**2 / 2
                gradient[:2] += residual * penalty.gradient(sums.positives_gradient, model._total)
            if model._pseudo_counts.of_each_class:
                prior, by_logit = self._prior(sums)
                loss, derivative, _ = pseudo_count_loss(model._pseudo_counts.of_each_class, prior)
                value += loss
                gradient[:2] += derivative * by_logit
            if model._pseudo_counts.labelled:
                loss, derivative, _ = pseudo_count_loss(
                    model._pseudo_counts.labelled, float(expit(theta[-1]))
                )
                value += loss
                gradient[-1] += derivative
            gradient[0] *= slope
            if model._slope_penalty is not None:
                mean, deviation = model._slope_penalty
                residual = (theta[0] - np.log(model._scale[0]) - mean) / deviation
                value += residual**2 / 2
                gradient[0] += residual / deviation
            if model._known:
                gradient[2:] = 0.0
            yield Iterate(theta, value, gradient, sums, with_hessian)

    def _prior(self, sums: LabelSums) -> tuple[float, np.ndarray]:
        """The class prior, and the derivative of its logit by ``a`` and ``b``."""
        total = self._model._total
        prior = min(max(sums.positives / total, 1e-12), 1 - 1e-12)
        return prior, sums.positives_gradient / total / (prior * (1 - prior))

    def curvature(self, iterate: Iterate) -> Curvature:
        model, slope = self._model, np.exp(iterate.theta[0])
        H = iterate.sums.information + np.diag(model._ridge)
        for penalty in self._prior_penalties:
            prior_gradient = penalty.gradient(iterate.sums.positives_gradient, model._total)
            H[:2, :2] += np.outer(prior_gradient, prior_gradient)
        if model._pseudo_counts.of_each_class:
            prior, by_logit = self._prior(iterate.sums)
            _, _, curvature = pseudo_count_loss(model._pseudo_counts.of_each_class, prior)
            H[:2, :2] += curvature * np.outer(by_logit, by_logit)
        if model._pseudo_counts.labelled:
            H[-1, -1] += pseudo_count_loss(
                model._pseudo_counts.labelled, float(expit(iterate.theta[-1]))
            )[2]
        H[0] *= slope
        H[:, 0] *= slope
        if model._slope_penalty is not None:
            H[0, 0] += 1 / model._slope_penalty[1] ** 2
        return Curvature(H, np.full(len(H), 1e-12))
