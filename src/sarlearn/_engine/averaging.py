"""What several class scores say of the class prior, and what follows from all of them.

A class prior rests on one class score. Other scores that explain the labels as well may put it
elsewhere: besides the learner's own there are two flexible ones, each held out and with a label
model of its own. They are averaged, each counting by how well it explains the labels; what they
leave open is filled from SAR-EM's answer. How far all of them, SAR-EM and an answer without any
bias of labelling are from the average says how far it may be off.

Constants were chosen on one half of ``experiments/honesty`` and judged on the other, but for
``OF_LABELS``, which was set after both had been seen.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from sarlearn._engine.blocks import Block
from sarlearn._engine.flexible import kernel_scores, standardised
from sarlearn._engine.known_prior import PseudoCounts
from sarlearn._engine.label_model import NO_PSEUDO_COUNTS, LabelModel
from sarlearn._engine.likelihood import log_chance
from sarlearn._engine.rows import Rows, stack

# Rows that are looked at, at most; and rows and labelled rows that it takes at least.
MAX_ROWS = 2000
MIN_ROWS, MIN_LABELLED = 200, 20
# Ridge on the propensity's standardised slopes, as in the cross-fit.
PROPENSITY_RIDGE = 1.0
# Unless a learner says otherwise. With equal pseudo-counts, class prior and label frequency have an
# equal share in what the labels leave open.
PSEUDO_COUNTS = PseudoCounts(4.0, 4.0)
# Labels are divided by no smaller propensity.
LEAST_PROPENSITY = 0.05
# An estimate that explains the labels worse by so many nats counts for a factor e less. The average
# does not depend on it much.
TEMPERATURE = 5.0
# A score of the labels holds what labelling follows, too. Where labelling is strongly biased its
# class prior is far too low, as on the digits of the demonstration; where the class is not what the
# others take it for, it is the one that is right. So it counts a tenth where the average is the
# answer, and in full in what may be wrong with an answer.
OF_LABELS = 0.1
# SAR-EM's class prior counts as an estimate with this standard error.
START_DEVIATION = 0.2
# Share of the squared distances from SAR-EM's class prior, and from that of no bias, which counts
# as variance of the average.
OUTSIDE = 0.1


@dataclass(frozen=True)
class PriorEstimate:
    """What one class score says of the class prior, and how well it explains the labels.

    ``propensity`` holds slopes and intercept of its propensity, in the units of the attributes,
    where it is linear in them. A score that is not ``of_class`` is one of the labels.
    """

    score: str
    class_prior: float
    low: float
    high: float
    log_likelihood: float
    propensity: np.ndarray | None = None
    of_class: bool = True

    @property
    def centre(self) -> float:
        """About the mean of the class prior by the likelihood, not its peak."""
        return (self.low + 2 * self.class_prior + self.high) / 4

    @property
    def variance(self) -> float:
        return ((self.high - self.low) / 3.92) ** 2

    def shrunk(self, factor: float) -> "PriorEstimate":
        """The same with a range that many times as wide about its estimate."""
        prior = self.class_prior
        low, high = (prior + factor * (end - prior) for end in (self.low, self.high))
        return replace(self, low=low, high=high)


@dataclass
class PriorAverage:
    """The average of some estimates, the learner's own first, and of SAR-EM's answer.

    ``deviation`` is the standard error of ``class_prior``; ``weights`` and ``start_weight`` are
    what the estimates and SAR-EM count.
    """

    estimates: list[PriorEstimate]
    weights: np.ndarray
    start_weight: float
    class_prior: float
    deviation: float

    def propensity(self, start: np.ndarray) -> np.ndarray:
        """The average of slopes and intercepts, ``start`` being SAR-EM's."""
        pairs = zip(self.weights, self.estimates, strict=True)
        linear = [(weight, one.propensity) for weight, one in pairs if one.propensity is not None]
        others, phis = (np.array(values) for values in zip(*linear, strict=True))
        if not others.any():  # all but nothing, of each: then the learner's own
            others[0] = 1.0
        others *= (1 - self.start_weight) / others.sum()
        return others @ phis + self.start_weight * start


def average_of(
    estimates: list[PriorEstimate], unbiased: float, start: float | None, of_labels: float = 1.0
) -> PriorAverage:
    """The average of estimates.

    Parameters
    ----------
    estimates : list of PriorEstimate
    unbiased : float
        The class prior if labelling were not biased.
    start : float or None
        The class prior by SAR-EM, where there is one.
    of_labels : float
        What a score of the labels counts in the average, beside one of the class.
    """
    values = np.array([each.log_likelihood for each in estimates])
    everyone = np.exp((values - values.max()) / TEMPERATURE)
    weights = everyone * [1.0 if each.of_class else of_labels for each in estimates]
    everyone, weights = everyone / everyone.sum(), weights / weights.sum()
    centres = np.array([each.centre for each in estimates])
    prior, share, outside = float(weights @ centres), 0.0, 0.0
    spread = np.array([each.variance for each in estimates]) + (centres - prior) ** 2
    if start is not None:
        outside = (start - prior) ** 2
        share = float(weights @ spread / (weights @ spread + START_DEVIATION**2))
        prior += share * (start - prior)
    outside += (unbiased - prior) ** 2
    deviation = float(np.sqrt(everyone @ spread + OUTSIDE * outside))
    return PriorAverage(estimates, (1 - share) * weights, share, prior, deviation)


class Sample(NamedTuple):
    """Some rows in memory, with what is known of each; None where nothing is."""

    X: Any
    labelled: np.ndarray
    weight: np.ndarray | None
    score: np.ndarray | None
    e: np.ndarray | None


def sample_of(rows: Rows) -> Sample:
    """A few thousand rows of those that lie anywhere, spread evenly."""
    pieces = (rows.part(MAX_ROWS) or rows).each(_known)
    X, *columns = zip(*pieces, strict=True)
    return Sample(stack(list(X)), *(None if c[0] is None else np.concatenate(c) for c in columns))  # type: ignore[arg-type]


def _known(block: Block) -> tuple:
    return block.matrix, block.labelled, block.weight, block.score, block.e


def enough(labelled: np.ndarray) -> bool:
    """Whether there are rows and labels enough to look at."""
    return len(labelled) >= MIN_ROWS and int(labelled.sum()) >= MIN_LABELLED


class LabelModels:
    """Label models of several class scores on the same rows.

    Parameters
    ----------
    attributes : ndarray of shape (n_rows, n_attributes)
        The propensity's, in any units.
    labelled : boolean ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
    shrink : float
        Ranges are that many times as wide: below 1 where the rows stand for more.
    pseudo_counts : PseudoCounts
        Those of all the rows that these stand for.
    """

    def __init__(
        self,
        attributes: np.ndarray,
        labelled: np.ndarray,
        weight,
        shrink: float = 1.0,
        pseudo_counts: PseudoCounts = PSEUDO_COUNTS,
    ):
        self._attributes, self._labelled = attributes, labelled
        self._weight, self._shrink = weight, shrink
        self._pseudo_counts = pseudo_counts.times(shrink**2)

    def estimate(
        self, name: str, scores: np.ndarray
    ) -> tuple[PriorEstimate, np.ndarray, np.ndarray]:
        """What a held-out score says, and the logits of ``f`` and ``e`` by its label model."""
        model = self._model(scores, self._attributes)
        fit = model.fit()
        profile = model.profile(fit)
        propensity = np.append(fit.propensity_coef, fit.propensity_intercept)
        found = PriorEstimate(
            name, fit.class_prior, profile.low, profile.high, fit.log_likelihood, propensity
        )
        eta = fit.slope * scores + fit.intercept
        return found.shrunk(self._shrink), eta, self.logits(propensity)

    def flexible(self, Z: np.ndarray, scores: np.ndarray, e: np.ndarray) -> list[PriorEstimate]:
        """Those of two kernel scores: of the labels, and of labels by inverse propensity.

        ``Z`` are the standardised columns of the class, ``scores`` any that order rows.
        """
        inverse = self._labelled / np.maximum(e, LEAST_PROPENSITY)
        targets = [self._labelled.astype(float), inverse]
        found = kernel_scores(Z, targets, self._weight, order=scores)
        of_labels = self.estimate("kernel, of labels", found[:, 0])[0]
        of_class = self.estimate("kernel, of labels by inverse propensity", found[:, 1])[0]
        return [replace(of_labels, propensity=None, of_class=False), of_class]

    def unbiased(self, scores: np.ndarray) -> float:
        """The class prior by these scores if labelling were not biased."""
        none = np.empty((len(scores), 0))
        return self._model(scores, none).fit().class_prior

    def logits(self, propensity: np.ndarray) -> np.ndarray:
        return self._attributes @ propensity[:-1] + propensity[-1]

    def log_likelihood(self, eta: np.ndarray, zeta: np.ndarray) -> float:
        logs = log_chance(expit(eta), expit(zeta), self._labelled)
        return float(logs.sum() if self._weight is None else self._weight @ logs)

    def _model(self, scores, attributes) -> LabelModel:
        data = (scores, attributes, self._labelled, self._weight)
        # One propensity for all rows is determined by the labels well enough.
        pseudo_counts = self._pseudo_counts if attributes.shape[1] else NO_PSEUDO_COUNTS
        return LabelModel(*data, propensity_ridge=PROPENSITY_RIDGE, pseudo_counts=pseudo_counts)


def average_on_rows(
    rows: Rows,
    columns: np.ndarray,
    estimate: PriorEstimate,
    line: tuple[float, float],
    start: float,
    pseudo_counts: PseudoCounts,
) -> PriorAverage | None:
    """The average on rows that know their held-out score; None where they are too few.

    ``line`` is slope and intercept of the logit of ``f`` in that score, ``start`` the class prior
    by SAR-EM. The likelihood of ``estimate``, the learner's own, is taken from the rows that are
    looked at.
    """
    some = sample_of(rows)
    if not enough(some.labelled):
        return None
    X = some.X.toarray() if hasattr(some.X, "toarray") else np.asarray(some.X, dtype=float)
    shrink = float(np.sqrt(len(X) / rows.shape[0]))
    models = LabelModels(X[:, columns], some.labelled, some.weight, shrink, pseudo_counts)
    zeta = models.logits(estimate.propensity)  # type: ignore[arg-type]
    scores: np.ndarray = some.score  # type: ignore[assignment]
    value = models.log_likelihood(line[0] * scores + line[1], zeta)
    excluded = rows.units.excluded
    of_class = X if excluded is None else X[:, ~excluded]
    others = models.flexible(standardised(of_class, some.weight), scores, expit(zeta))
    estimate = replace(estimate, log_likelihood=value)
    return average_of([estimate, *others], models.unbiased(scores), start, OF_LABELS)
