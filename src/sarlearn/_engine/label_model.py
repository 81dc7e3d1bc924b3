"""The label model: few parameters, fitted to what was seen of all rows.

    f = sigmoid(sum_j a_j g_j + b),   e = sigmoid(phi . x_e + c), or given,

with scores ``g_j`` of the class. Three problems are this one: the stack of held-out scores (few
``g``, at 0 or above), the start (``g`` are the columns themselves), and ``f`` of given scores for a
known ``e``. Penalised maximum likelihood, by Fisher scoring with damping: the expected information
is always definite, and its inverse at the end gives the standard error of the class prior.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, logit

from sarlearn._engine import likelihood
from sarlearn._engine.blocks import Block
from sarlearn._engine.known import KnownPrior, PriorPenalty
from sarlearn._engine.likelihood import evidence_of_labels, sigmoids
from sarlearn._engine.newton import Sums
from sarlearn._engine.rows import Rows

# From so many scores on, L-BFGS climbs: the information would be large.
WIDE = 150
# No step changes a parameter by more.
MAX_STEP = 5.0
# Nearly no penalty, on intercepts.
FREE = 1e-8
# Lower frequencies of labels among the positives are less and less credible: labels that are not
# explained well do not tell a common class of which few are labelled from a rare one.
CREDIBLE = np.exp(-2.0)
# A class prior that is known exactly is approached by penalties of these deviations.
TIGHTENING = (3e-2, 1e-3, 3e-5)


@dataclass
class LabelSums(Sums):
    """What a pass over rows gives: the log-likelihood, expected positives, and derivatives."""

    log_likelihood: float
    gradient: np.ndarray
    positives: float
    squares: float
    by_positives: np.ndarray
    weight: float
    information: np.ndarray | None = None


def label_sums(block: Block, theta: np.ndarray, second: bool) -> LabelSums:
    """Of rows with scores ``block.score`` and attributes ``block.Xe``, or propensities known."""
    G, B, weight = block.score, block.Xe, block.weights
    m = G.shape[1]
    f, not_f = sigmoids(G @ theta[:m] + theta[m])
    known = B is None
    e, not_e = (block.e, block.not_e) if known else sigmoids(B @ theta[m + 1 : -1] + theta[-1])
    seen = evidence_of_labels(e, not_e, block.labelled, 1.0, block.audited)
    found = likelihood.terms(f, not_f, seen)
    spread = weight * f * not_f
    by_f = -weight * found.residual
    gradient = [G.T @ by_f, [by_f.sum()]]
    if not known:
        by_e = -weight * likelihood.propensity_residual(found.target, e, not_e, block.labelled)
        gradient += [B.T @ by_e, [by_e.sum()]]
    sums = LabelSums(
        likelihood.log_likelihood(found.chance, weight),
        np.concatenate(gradient),
        float(weight @ f),
        float(weight @ (f * f)),
        np.append(G.T @ spread, spread.sum()),
        float(weight.sum()),
    )
    if second:
        sums.information = _information(block, f, not_f, e, not_e, found, weight)
    return sums


def _information(block: Block, f, not_f, e, not_e, found, weight) -> np.ndarray:
    """Of a label the information has rank one: its root times ``[(1 - f) (g, 1), (1 - e) (x, 1)]``.

    Where the class is known, the two models have nothing to do with each other.
    """
    G, B, m = block.score, block.Xe, block.score.shape[1]
    root = np.sqrt(weight * likelihood.label_odds(f, not_f, e, not_e))
    if block.audited is not None:
        looked_at = ~np.isnan(block.audited)
        root[looked_at] = 0.0
    J = np.empty((len(f), m + 1 + (0 if B is None else B.shape[1] + 1)))
    _fill(J[:, : m + 1], G, root * not_f)
    if B is not None:
        _fill(J[:, m + 1 :], B, root * not_e)
    information = J.T @ J
    if block.audited is not None and looked_at.any():
        w, seen = weight[looked_at], slice(0, m + 1)
        J = _fill(None, G[looked_at], np.sqrt(w * (f * not_f)[looked_at]))
        information[seen, seen] += J.T @ J
        if B is not None:
            of_e = likelihood.propensity_curvature(found.target, e, not_e)[looked_at]
            J = _fill(None, B[looked_at], np.sqrt(w * of_e))
            information[m + 1 :, m + 1 :] += J.T @ J
    return information


def _fill(out: np.ndarray | None, columns: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """The columns, and a last one of ones, times a factor per row."""
    if out is None:
        out = np.empty((len(factor), columns.shape[1] + 1))
    np.multiply(columns, factor[:, None], out=out[:, :-1])
    out[:, -1] = factor
    return out


@dataclass(frozen=True)
class Penalties:
    """What draws the parameters: ridges on slopes, pseudo-counts, and a class prior that is known.

    Attributes
    ----------
    ridge, towards : float
        On the slopes of the scores, one for all or one each, and where to.
    ridge_e : float
        On the slopes of the propensity, to 0.
    of_class, of_labels : float
        Pseudo-counts: of positives and negatives together, half of each; of labelled and unlabelled
        positives, for the propensity at the mean of its attributes.
    of_few : float
        On the square of the log of the label frequency, below where it is credible.
    known : KnownPrior or None
        What is known of the class prior.
    """

    ridge: float | np.ndarray
    towards: float = 0.0
    ridge_e: float = 3.0
    of_class: float = 0.0
    of_labels: float = 0.0
    of_few: float = 0.0
    known: KnownPrior | None = None


@dataclass
class LabelFit:
    """The maximum: parameters ``a, b, phi, c``, and what they say."""

    theta: np.ndarray
    m: int
    log_likelihood: float
    class_prior: float
    spread: float  # variance of f over the rows
    by_positives: np.ndarray
    total: float
    information: np.ndarray | None

    @property
    def weights(self) -> np.ndarray:
        return self.theta[: self.m]

    @property
    def intercept(self) -> float:
        return float(self.theta[self.m])

    @property
    def phi(self) -> np.ndarray:
        """Slopes of the propensity, and its intercept last; nothing where it was given."""
        return self.theta[self.m + 1 :]

    def prior_error(self) -> float:
        """Standard error of the class prior: of the parameters, and of the sample of rows."""
        assert self.information is not None
        v = np.zeros(len(self.theta))
        v[: self.m + 1] = self.by_positives / self.total
        of_parameters = v @ np.linalg.solve(self.information, v)
        return float(np.sqrt(of_parameters + self.spread / self.total))


class LabelModel:
    """The problem on rows that know their scores, attributes or propensities, labels and weights.

    Parameters
    ----------
    rows : Rows
    penalties : Penalties
    positive : bool, default=False
        Whether weights of scores stay at 0 or above.
    """

    def __init__(self, rows: Rows, penalties: Penalties, *, positive: bool = False):
        self._rows, self._penalties, self._positive = rows, penalties, positive
        self._m, self._k, self.share, self._mean_e = rows.each(_sizes)[0][:2] + _shares(rows)
        of_f, of_e = np.full(self._m, penalties.ridge), np.full(self._k or 0, penalties.ridge_e)
        self._ridge = np.r_[of_f, FREE] if self._k is None else np.r_[of_f, FREE, of_e, FREE]
        self._towards = np.zeros(len(self._ridge))
        self._towards[: self._m] = penalties.towards
        self._penalty: PriorPenalty | None = None

    def start(self, phi: np.ndarray | None = None) -> np.ndarray:
        """Weights where they are drawn to, and the intercept that the share of labels asks for."""
        theta = self._towards.copy()
        if self._k is not None and phi is not None:
            theta[self._m + 1 :] = phi
        e = self._mean_e if self._k is None else float(expit(theta[-1]))
        theta[self._m] = logit(np.clip(self.share / e, 0.001, 0.9))
        return theta

    def fit(self, start: np.ndarray, steps: int = 100, tol: float = 1e-3) -> LabelFit:
        """The maximum from ``start``; with what is known of the class prior, where that binds."""
        self._penalty = None
        found = self._climb(start, steps, tol)
        known = self._penalties.known
        penalty = None if known is None else known.penalty(found.class_prior)
        if penalty is not None:
            last = max(penalty.deviation, TIGHTENING[-1])
            for deviation in [d for d in TIGHTENING if d > last] + [last]:
                self._penalty = PriorPenalty(penalty.mean, deviation)
                found = self._climb(found.theta, steps, tol)
        return found

    def at(self, theta: np.ndarray, second: bool = True) -> tuple[float, np.ndarray, LabelSums]:
        """Penalised log-likelihood, its gradient, and the sums, with the penalised information."""
        sums, excess, m = (
            self._rows.total(label_sums, theta, second),
            theta - self._towards,
            self._m,
        )
        value = sums.log_likelihood - float(self._ridge @ excess**2) / 2
        gradient = sums.gradient - self._ridge * excess
        if second:
            sums.information.flat[:: len(theta) + 1] += self._ridge
        prior = min(max(sums.positives / sums.weight, 1e-9), 1 - 1e-9)
        by_prior, (more, slope, curvature) = sums.by_positives / sums.weight, self._of_prior(prior)
        value += more
        gradient[: m + 1] += slope * by_prior
        if second and curvature:
            sums.information[: m + 1, : m + 1] += curvature * np.outer(by_prior, by_prior)
        count = self._penalties.of_labels / 2
        if count and self._k is not None:
            c = theta[-1]
            value += count * (log_expit(c) + log_expit(-c))
            gradient[-1] += 2 * count * (0.5 - expit(c))
            if second:
                sums.information[-1, -1] += 2 * count * expit(c) * expit(-c)
        return value, gradient, sums

    def _of_prior(self, prior: float) -> tuple[float, float, float]:
        """What the class prior adds to the log-likelihood, its slope, and how curved it is."""
        penalties, count = self._penalties, self._penalties.of_class / 2
        value = count * (np.log(prior) + np.log1p(-prior))
        slope = count * (1 / prior - 1 / (1 - prior))
        curvature = 2 * count / (prior * (1 - prior))
        if self._penalty is not None:
            mean, deviation = self._penalty
            value -= ((prior - mean) / deviation) ** 2 / 2
            slope -= (prior - mean) / deviation**2
            curvature += 1 / deviation**2
        if penalties.of_few and CREDIBLE * prior > self.share:
            beyond = np.log(CREDIBLE * prior / self.share)
            value -= penalties.of_few * beyond**2 / 2
            slope -= penalties.of_few * beyond / prior
            curvature += penalties.of_few / prior**2
        return float(value), float(slope), float(curvature)

    def _climb(self, theta: np.ndarray, steps: int, tol: float) -> LabelFit:
        if self._m > WIDE:
            theta = self._climb_wide(theta)
            sums = self._rows.total(label_sums, theta, False)
        else:
            theta, sums = self._climb_scoring(np.array(theta, dtype=float), steps, tol)
        prior = sums.positives / sums.weight
        return LabelFit(
            theta,
            self._m,
            sums.log_likelihood,
            prior,
            sums.squares / sums.weight - prior**2,
            sums.by_positives,
            sums.weight,
            sums.information,
        )

    def _climb_wide(self, theta: np.ndarray) -> np.ndarray:
        from scipy.optimize import minimize

        def loss(theta):
            value, gradient, _ = self.at(theta, second=False)
            return -value, -gradient

        return minimize(loss, theta, jac=True, method="L-BFGS-B", options={"maxiter": 100}).x

    def _climb_scoring(self, theta, steps: int, tol: float) -> tuple[np.ndarray, LabelSums]:
        """Fisher scoring, damped where a step does not climb."""
        slopes = np.arange(len(theta)) < self._m
        damping, (value, gradient, sums) = 1e-6, self.at(theta)
        for _ in range(steps):
            free = ~(self._positive & slopes & (theta <= 0) & (gradient < 0))
            assert sums.information is not None
            information, gain = sums.information[np.ix_(free, free)], 0.0
            while damping < 1e6 and not gain:
                step = np.zeros(len(theta))
                damped = information.copy()
                damped.flat[:: len(damped) + 1] += damping * np.diag(information)
                step[free] = np.linalg.solve(damped, gradient[free])
                new = theta + step / max(1.0, np.abs(step).max() / MAX_STEP)
                if self._positive:
                    new[slopes] = np.maximum(new[slopes], 0.0)
                found = self.at(new)
                if found[0] > value:
                    gain, damping = found[0] - value, max(damping / 30, 1e-6)
                    theta, (value, gradient, sums) = new, found
                else:
                    damping = max(damping * 10, 1e-2)
            if gain < tol:
                break
        return theta, sums


def _sizes(block: Block) -> tuple[int, int | None]:
    return block.score.shape[1], None if block.Xe is None else block.Xe.shape[1]


def _shares(rows: Rows) -> tuple[float, float]:
    """Share of labels, and the mean of propensities that are known."""
    labelled, e, total = rows.total(_share_sums)
    return labelled / total, e / total


def _share_sums(block: Block) -> np.ndarray:
    weight = block.weights
    known = 0.0 if block.e is None else float(weight @ np.broadcast_to(block.e, len(weight)))
    return np.array([float(weight @ block.labelled), known, float(weight.sum())])
