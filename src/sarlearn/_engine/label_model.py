"""The low-dimensional label model of the cross-fit: maximum likelihood, and its profile.

One held-out logit ``g`` a row, and the propensity attributes ``x_e``:

    P(s=1|x) = sigmoid(a g + b) * sigmoid(phi . x_e + phi_0),    a >= 0.

Few parameters, so nothing needs a penalty: the scale of the class probabilities is read from
where ``P(s=1|x)`` saturates. Inputs are standardised inside. Parameters are kept in the order
``a, b, phi, phi_0``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import expit, logit

# On slopes of standardised inputs, and on intercepts: enough to keep the optimum finite.
RIDGE, INTERCEPT_RIDGE = 1e-2, 1e-6
# Label frequencies the search starts from.
STARTS = (0.15, 0.5, 0.9)
# Starts are compared on about this many rows; the best is then fitted on all.
START_ROWS = 20_000
# Half the 95 % quantile of chi-square with one degree of freedom: the profile's drop.
PROFILE_DROP = 1.92
_LIMIT = 40.0  # logits beyond it are 0 or 1 for every purpose


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
    slope_pull : (float, float) or None
        Mean and standard deviation of a normal pull on ``log a``, the slope in the units of the
        scores; None leaves the slope free.
    known_propensity : ndarray of shape (n_rows,) or None
        The propensity itself, where it is not to be found; ``attributes`` then has no columns,
        and only ``a`` and ``b`` are free.
    """

    def __init__(
        self,
        scores,
        attributes,
        labelled,
        weight=None,
        *,
        propensity_ridge: float = RIDGE,
        slope_pull: tuple[float, float] | None = None,
        known_propensity: np.ndarray | None = None,
    ):
        weight = np.ones(len(scores)) if weight is None else weight
        self._weight, self._total = weight, float(weight.sum())
        self._labelled = labelled
        self.label_share = float(weight[labelled].sum()) / self._total
        self._g, self._g_center, self._g_scale = _standardised(scores, weight)
        self._Z, self._centers, self._scales = _standardised(attributes, weight)
        n_slopes = self._Z.shape[1]
        ridge = np.full(n_slopes + 3, RIDGE)
        ridge[2:-1] = propensity_ridge
        ridge[[1, -1]] = INTERCEPT_RIDGE
        self._ridge, self._slope_pull = ridge, slope_pull
        self._free = np.eye(n_slopes + 3)
        self._zeta = None
        if known_propensity is not None:
            self._zeta = logit(known_propensity)
            self._free = self._free[:, :2]

    # -- the likelihood ----------------------------------------------------------------------

    def _parts(self, theta):
        """``f, 1-f, e, 1-e, 1-fe``, none by a difference of near equals."""
        eta = np.clip(theta[0] * self._g + theta[1], -_LIMIT, _LIMIT)
        zeta = self._Z @ theta[2:-1] + theta[-1] if self._zeta is None else self._zeta
        zeta = np.clip(zeta, -_LIMIT, _LIMIT)
        f, not_f, e, not_e = expit(eta), expit(-eta), expit(zeta), expit(-zeta)
        return f, not_f, e, not_e, not_f + f * not_e

    def log_likelihood(self, theta) -> float:
        f, _, e, _, unlabelled = self._parts(theta)
        return float(self._weight @ np.log(np.where(self._labelled, f * e, unlabelled)))

    def _value(self, theta) -> float:
        penalty = float(self._ridge @ theta**2) / 2
        if self._slope_pull is not None:
            if theta[0] <= 0:
                return np.inf
            penalty += self._off_the_pull(theta[0]) ** 2 / 2
        return -self.log_likelihood(theta) + penalty

    def _off_the_pull(self, slope: float) -> float:
        """How many standard deviations the log of the slope is off where it is pulled to."""
        assert self._slope_pull is not None
        mean, deviation = self._slope_pull
        return (np.log(slope / self._g_scale) - mean) / deviation

    def _derivatives(self, theta):
        """Gradient and expected information of the penalised loss; ``dP(s=1)/dlogit`` is
        ``f e (1-f)`` and ``f e (1-e)``."""
        f, not_f, e, not_e, unlabelled = self._parts(theta)
        odds = f * e / unlabelled
        surplus = self._weight * np.where(self._labelled, -1.0, odds)
        root = np.sqrt(self._weight * odds)
        ones = np.ones((len(f), 1))
        design = np.hstack([self._g[:, None], ones, self._Z, ones])
        design[:, :2] *= not_f[:, None]
        design[:, 2:] *= not_e[:, None]
        gradient = surplus @ design + self._ridge * theta
        design *= root[:, None]
        information = design.T @ design
        information.flat[:: len(theta) + 1] += self._ridge
        if self._slope_pull is not None:
            by_slope = 1 / (self._slope_pull[1] * theta[0])
            gradient[0] += self._off_the_pull(theta[0]) * by_slope
            information[0, 0] += by_slope**2
        return gradient, information

    def class_prior(self, theta) -> float:
        return float(self._weight @ self._parts(theta)[0]) / self._total

    # -- its maximum -------------------------------------------------------------------------

    def fit(
        self, slope: float = 1.0, *, warm: LabelFit | None = None, max_steps: int = 200
    ) -> LabelFit:
        """The best maximum from several label frequencies; the scores start with ``slope``.

        From ``warm``, a fit to other scores of these rows, at most ``max_steps`` scoring steps.
        """
        if warm is not None:
            return self.described(self._climb(self._at(warm), max_steps=max_steps))
        part = self._part()
        if self._zeta is None:
            starts: Sequence[float] = STARTS
        else:
            starts = [float(self._weight @ expit(self._zeta)) / self._total]
        found = [part._climb(part._start(c, slope)) for c in starts]
        theta = min(found, key=part._value)
        if part is not self:
            theta = self._climb(theta)
        return self.described(theta)

    def described(self, theta: np.ndarray) -> LabelFit:
        """What these parameters say, in the units of the data."""
        coef = theta[2:-1] / self._scales
        return LabelFit(
            slope=theta[0] / self._g_scale,
            intercept=float(theta[1] - theta[0] * self._g_center / self._g_scale),
            propensity_coef=coef,
            propensity_intercept=float(theta[-1] - coef @ self._centers),
            class_prior=self.class_prior(theta),
            log_likelihood=self.log_likelihood(theta),
            theta=theta,
        )

    def _at(self, fit: LabelFit) -> np.ndarray:
        """The parameters here of what another fit says in the units of the data."""
        slope, coef = fit.slope * self._g_scale, fit.propensity_coef * self._scales
        intercept = fit.intercept + fit.slope * self._g_center
        propensity_intercept = fit.propensity_intercept + fit.propensity_coef @ self._centers
        return np.concatenate([[slope, intercept], coef, [propensity_intercept]])

    def _part(self) -> "LabelModel":
        every = len(self._g) // START_ROWS
        if every < 2:
            return self
        rows = slice(None, None, every)
        part = object.__new__(LabelModel)
        part.__dict__.update(self.__dict__)
        part._g, part._Z, part._labelled = self._g[rows], self._Z[rows], self._labelled[rows]
        part._weight = self._weight[rows]
        part._zeta = None if self._zeta is None else self._zeta[rows]
        part._total = float(part._weight.sum())
        return part

    def _start(self, label_frequency: float, slope: float) -> np.ndarray:
        theta = np.zeros(len(self._ridge))
        theta[0] = slope * self._g_scale
        theta[-1] = logit(label_frequency) if self._zeta is None else 0.0
        prior = min(self.label_share / label_frequency, 0.95)
        theta[1] = self._intercept_for(prior, theta[0])
        return theta

    def _climb(self, theta, prior: float | None = None, max_steps: int = 200) -> np.ndarray:
        """Scoring steps with step halving; along ``class_prior = prior`` where one is given."""
        value = self._value(theta)
        for _ in range(max_steps):
            gradient, information = self._derivatives(theta)
            if prior is None:
                free = self._free
            else:  # the intercept follows the slope so that the prior stays
                free = np.delete(self._free, 1, axis=1)
                free[1, 0] = self._follow(theta)
            if theta[0] <= 0 and (free.T @ gradient)[0] > 0:
                free = free[:, 1:]
            reduced = free.T @ information @ free
            step = -free @ linalg.solve(reduced, free.T @ gradient, assume_a="pos")
            promise = -float(gradient @ step)
            if promise < 1e-9:
                break
            size = min(1.0, 8.0 / float(np.abs(step).max()))
            while size > 1e-9:
                trial = theta + size * step
                trial[0] = max(trial[0], 0.0)
                if prior is not None:
                    trial[1] = self._intercept_for(prior, trial[0], trial[1])
                trial_value = self._value(trial)
                if trial_value < value:
                    break
                size /= 2
            else:
                break
            theta, value = trial, trial_value
        return theta

    def _follow(self, theta) -> float:
        """Change of the intercept with the slope along an unchanged class prior."""
        f, not_f, *_ = self._parts(theta)
        h = self._weight * f * not_f
        return -float(h @ self._g) / max(float(h.sum()), 1e-300)

    def _intercept_for(self, prior: float, slope: float, guess: float | None = None) -> float:
        """``b`` with mean ``sigmoid(slope g + b) = prior``: Newton inside a shrinking bracket."""
        eta = slope * self._g
        low, high = logit(prior) - float(eta.max()), logit(prior) - float(eta.min())
        b = (low + high) / 2 if guess is None else min(max(guess, low), high)
        for _ in range(100):
            f = expit(eta + b)
            surplus = float(self._weight @ f) / self._total - prior
            if surplus > 0:
                high = b
            else:
                low = b
            steepness = float(self._weight @ (f * (1 - f))) / self._total
            move = -surplus / steepness if steepness > 1e-12 else np.inf
            new = b + move if low < b + move < high else (low + high) / 2
            if abs(new - b) < 1e-10:
                return new
            b = new
        return b

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

    def _spread(self, theta) -> float:
        """Standard error of the class prior by the expected information: where to look first."""
        f, not_f, *_ = self._parts(theta)
        h = self._weight * f * not_f / self._total
        slant = np.zeros(len(theta))
        slant[:2] = float(h @ self._g), float(h.sum())
        slant, information = self._free.T @ slant, self._derivatives(theta)[1]
        reduced = self._free.T @ information @ self._free
        return float(np.sqrt(slant @ linalg.solve(reduced, slant)))

    def _end(self, fit: LabelFit, bound: float, seen: dict[float, float]) -> float:
        top = -self._value(fit.theta)
        inside, outside, theta = (fit.class_prior, 0.0), None, fit.theta
        last = bound + (fit.class_prior - bound) * 1e-3  # the bound itself has no finite logits
        room = abs(last - fit.class_prior)
        first = min(1.96 * self._spread(fit.theta), 0.5 * room)
        prior = fit.class_prior + float(np.copysign(first, last - fit.class_prior))
        for _ in range(20):
            trial = theta.copy()
            trial[1] = self._intercept_for(prior, trial[0], trial[1])
            trial = self._climb(trial, prior)
            seen[prior] = self.log_likelihood(trial)
            drop = float(np.sqrt(max(top + self._value(trial), 0.0) / PROFILE_DROP))
            if abs(drop - 1) < 0.03:
                return prior
            if drop < 1:
                inside, theta = (prior, drop), trial
                if prior == last:
                    return bound
            else:
                outside = (prior, drop)
            if outside is None:
                reach = 2.0 * (prior - fit.class_prior) / max(drop, 0.3)
                prior = fit.class_prior + reach
                if abs(reach) >= room:
                    prior = last
            else:
                share = (1 - inside[1]) / (outside[1] - inside[1])
                prior = inside[0] + min(max(share, 0.1), 0.9) * (outside[0] - inside[0])
        return prior


def _standardised(values, weight):
    center = np.average(values, axis=0, weights=weight)
    centered = values - center
    scale = np.sqrt(np.average(centered**2, axis=0, weights=weight))
    scale = np.where(scale > 1e-12, scale, 1.0)
    return centered / scale, center, scale
