"""A second opinion on a fit: what other class scores say, what the model lacks, what leaks.

The estimate of the class prior rests on one class score. Other scores that explain the labels as
well, held out like the first, may put the prior elsewhere; the range of all of them is what the
labels leave open. All of it looks at a few thousand rows, however many there are.

Thresholds were chosen on one half of ``experiments/honesty`` and judged on the other.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

from sarlearn._engine.blocks import Block
from sarlearn._engine.drivers import Driver, strong_driver
from sarlearn._engine.flexible import kernel_scores, linear_scores, standardised
from sarlearn._engine.goodness import bends, label_grid, score_sums
from sarlearn._engine.label_model import LabelModel
from sarlearn._engine.leakage import leaking
from sarlearn._engine.rows import Rows, stack

# Rows that are looked at, at most; and rows and labelled rows that it takes at least.
MAX_ROWS = 2000
MIN_ROWS, MIN_LABELLED = 200, 20
# A score counts whose label model explains the labels this well, in nats: below the fit's own, or
# below the best where the fit has no held-out score.
DROP, DROP_FROM_BEST = 5.0, 10.0
# Ridge on the propensity's standardised slopes, as in the cross-fit.
PROPENSITY_RIDGE = 1.0
# Labels are divided by no smaller propensity.
LEAST_PROPENSITY = 0.05
# Score statistics above these are told: of a column in the propensity, of its square in the class.
DRIVER, BEND = 4.5, 7.0
# Standardised misfit above this is told.
MISFIT = 5.0
# A flexible score that explains the labels better by so many nats per labelled row is told.
GAIN = 0.3
# Where the 99th percentile of f is below this, no row is surely positive.
SURE = 0.75
# Marks of class and propensity that have changed places: a class score that counts for next to
# nothing, or a propensity of large effects that is 0 or 1 for most rows.
SLOPE, EFFECT, EXTREME = 0.2, 3.0, 0.5


@dataclass(frozen=True)
class Opinion:
    """What one class score says of the class prior: estimate, range, and how well it explains."""

    score: str
    class_prior: float
    low: float
    high: float
    log_likelihood: float


@dataclass
class Examination:
    """What was found.

    Attributes
    ----------
    opinions : list of Opinion
        Of the fit's own score first, then of others.
    class_prior_range : (float, float)
        Of the opinions that count, and with a strong driver named.
    gain : float
        Nats per labelled row by which the best flexible score explains the labels better.
    misfit : float
        Standardised differences of observed and expected labels.
    driver_z, bend_z : ndarray of shape (n_columns,)
        Score statistics of adding a column to the propensity, and its square to the class; 0 where
        it is there already, and where the class model is not linear.
    strong_driver : dict of int to Driver
        The column that would explain much more of the labels in the propensity; empty is none.
    leaks : (ndarray of int, ndarray)
        Columns that all but determine the label, and their areas under the curve.
    label_share : float
        Share of labelled rows.
    chance : float
        Standard deviation of the share of positives among the rows, given ``f``.
    sure, propensity_top : float
        99th percentiles of ``f`` and ``e``.
    propensity_effect, extreme : float
        Sum of the propensity's standardised effects; share of rows whose propensity is 0 or 1.
    """

    opinions: list[Opinion]
    class_prior_range: tuple[float, float]
    gain: float
    misfit: float
    driver_z: np.ndarray = field(repr=False)
    strong_driver: dict[int, Driver]
    bend_z: np.ndarray = field(repr=False)
    leaks: tuple[np.ndarray, np.ndarray]
    label_share: float
    chance: float
    sure: float
    propensity_top: float
    propensity_effect: float
    extreme: float

    @property
    def misfits(self) -> bool:
        """Whether the labels contradict the form of the models."""
        bent = float(np.abs(self.bend_z).max(initial=0.0)) > BEND
        return bent or self.misfit > MISFIT or self.gain > GAIN

    @property
    def drivers(self) -> list[int]:
        """Columns that were not named and that labelling seems to follow, the best first."""
        by_score = np.argsort(-np.abs(self.driver_z), kind="stable")
        told = [int(j) for j in by_score if abs(self.driver_z[j]) > DRIVER]
        return [*self.strong_driver, *(j for j in told if j not in self.strong_driver)]

    def swapped(self, slope: float = 1.0) -> bool:
        """Whether class and propensity bear the marks of having changed places.

        ``slope`` is that of the held-out scores in the label model, where the learner has one.
        """
        return slope < SLOPE or (self.propensity_effect > EFFECT and self.extreme > EXTREME)


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


# type: ignore[assignment]
def sample_rows(labelled: np.ndarray, most: int = MAX_ROWS) -> np.ndarray:
    """Numbers of rows spread evenly over labelled and unlabelled ones, in their proportion."""
    if len(labelled) <= most:
        return np.arange(len(labelled))
    order = np.argsort(labelled, kind="stable")
    return np.sort(order[np.linspace(0, len(order) - 1, most).astype(np.intp)])


def examine(
    X,
    columns: np.ndarray,
    labelled: np.ndarray,
    eta: np.ndarray,
    zeta: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    own: Opinion | None = None,
    n_rows: int | None = None,
    linear: bool = True,
) -> Examination:
    """Look at a fit on some rows.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
    columns : ndarray of int
        The propensity attributes.
    labelled : boolean ndarray of shape (n_rows,)
    eta, zeta : ndarray of shape (n_rows,)
        Logits of ``f``, held out where the learner has such, and of ``e``.
    weight : ndarray of shape (n_rows,) or None
    own : Opinion, default=None
        The learner's, of a held-out score. None: a linear held-out score takes its place.
    n_rows : int, default=None
        Of the whole table, where these rows are a sample: ranges shrink accordingly.
    linear : bool, default=True
        Whether the class model is linear, so that it may lack the square of a column.
    """
    raw = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    Z = standardised(raw, weight)
    seen = _Seen(Z, Z[:, columns], labelled, weight)
    grid = label_grid(eta, zeta, labelled, weight)
    e = expit(zeta)
    inverse = labelled / np.maximum(e, LEAST_PROPENSITY)
    # Score tests ask for a maximum of the likelihood, where a decayed fit is not.
    at, drop = (eta, zeta), DROP
    if own is None:
        drop = DROP_FROM_BEST
        own, *at = seen.opinion("linear", linear_scores(Z, [inverse], weight)[:, 0])  # type: ignore[assignment]
    kernel = kernel_scores(Z, [labelled, inverse], weight)
    opinions = [
        own,
        seen.opinion("kernel, of labels", kernel[:, 0])[0],
        seen.opinion("kernel, of labels by inverse propensity", kernel[:, 1])[0],
    ]
    if n_rows is not None:
        opinions[1:] = [shrunk(each, float(np.sqrt(len(Z) / n_rows))) for each in opinions[1:]]
    others = np.setdiff1d(np.arange(Z.shape[1]), columns)
    driver_z = np.zeros(Z.shape[1])
    bend_z = seen.score(*at, bends(Z), of_class=True) if linear else np.zeros(Z.shape[1])
    driver_z[others] = seen.score(*at, Z[:, others], of_class=False)
    strong = strong_driver(Z, columns, labelled, weight) if linear else {}
    design = np.column_stack([seen.attributes, np.ones(len(Z))])
    effects = np.linalg.lstsq(design, zeta, rcond=None)[0]
    flexible = max(each.log_likelihood for each in opinions[1:])
    best = own.log_likelihood if drop == DROP else max(own.log_likelihood, flexible)
    low, high = hull(opinions, best - drop)
    with_driver = [one.class_prior for one in strong.values()]
    return Examination(
        opinions=opinions,
        class_prior_range=(min([low, *with_driver]), max([high, *with_driver])),
        gain=float(flexible - own.log_likelihood) / max(float(labelled.sum()), 1.0),
        misfit=grid.misfit,
        driver_z=driver_z,
        strong_driver=strong,
        bend_z=bend_z,
        leaks=leaking(raw, labelled),
        label_share=float(np.average(labelled, weights=weight)),
        chance=_chance(expit(eta), weight, len(Z) if n_rows is None else n_rows),
        sure=grid.probability_quantile(0.99),
        propensity_top=grid.propensity_quantile(0.99),
        propensity_effect=float(np.abs(effects[:-1]).sum()),
        extreme=float(np.mean((e < 0.02) | (e > 0.98))),
    )


def _chance(f: np.ndarray, weight, n_rows: int) -> float:
    return float(np.sqrt(np.average(f * (1 - f), weights=weight) / n_rows))


def hull(opinions: list[Opinion], least: float) -> tuple[float, float]:
    """The range of the opinions that explain the labels at least so well."""
    counted = [each for each in opinions if each.log_likelihood >= least]
    return min(each.low for each in counted), max(each.high for each in counted)


def shrunk(opinion: Opinion, factor: float) -> Opinion:
    """The same with a range that many times as wide about its estimate."""
    prior = opinion.class_prior
    low, high = (prior + factor * (end - prior) for end in (opinion.low, opinion.high))
    return replace(opinion, low=low, high=high)


@dataclass
class _Seen:
    """Some rows: standardised columns, those of the propensity among them, and labels."""

    columns: np.ndarray
    attributes: np.ndarray
    labelled: np.ndarray
    weight: np.ndarray | None

    def opinion(self, name: str, scores: np.ndarray) -> tuple[Opinion, np.ndarray, np.ndarray]:
        """What a held-out score says, and the logits of ``f`` and ``e`` by its label model."""
        model = LabelModel(
            scores,
            self.attributes,
            self.labelled,
            self.weight,
            propensity_ridge=PROPENSITY_RIDGE,
        )
        fit = model.fit()
        profile = model.profile(fit)
        found = Opinion(name, fit.class_prior, profile.low, profile.high, fit.log_likelihood)
        eta = fit.slope * scores + fit.intercept
        return found, eta, self.attributes @ fit.propensity_coef + fit.propensity_intercept

    def score(self, eta, zeta, tried: np.ndarray, *, of_class: bool) -> np.ndarray:
        sums = score_sums(
            eta,
            zeta,
            self.labelled,
            self.attributes,
            tried,
            of_class=of_class,
            weight=self.weight,
        )
        return sums.z
