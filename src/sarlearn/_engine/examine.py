"""A second look at a fit: what other class scores say, what the model lacks, what leaks.

All of it looks at a few thousand rows, however many there are. Thresholds were chosen on one half
of ``experiments/honesty`` and judged on the other.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.special import expit

from sarlearn._engine.averaging import (
    LEAST_PROPENSITY,
    MAX_ROWS,
    LabelModels,
    PriorAverage,
    PriorEstimate,
    average_of,
)
from sarlearn._engine.drivers import Driver, strong_driver
from sarlearn._engine.flexible import linear_scores, standardised
from sarlearn._engine.goodness import label_grid, nonlinear_terms, score_sums
from sarlearn._engine.leakage import leaking
from sarlearn._engine.magnitudes import moderate

# Score statistics above these are reported: of a column in the propensity, and of its square in
# the class.
DRIVER, NONLINEAR = 4.5, 7.0
# Standardised misfit above this is reported.
MISFIT = 5.0
# A flexible score that explains the labels better by so many nats per labelled row is reported.
GAIN = 0.5
# Where the 99th percentile of f is below this, no row is surely positive.
SURE = 0.75
# Marks of class and propensity that have changed places: a class score that counts for next to
# nothing, or a propensity of large effects that is 0 or 1 for most rows.
SLOPE, EFFECT, EXTREME = 0.2, 3.0, 0.5
# The logit of 0.98: beyond it, on either side, a propensity counts as 0 or 1.
EXTREME_LOGIT = 3.89


@dataclass
class Examination:
    """What was found.

    Attributes
    ----------
    average : PriorAverage
        Of the fit's own score and of flexible ones.
    gain : float
        Nats per labelled row by which the best flexible score explains the labels better.
    misfit : float
        Standardised differences of observed and expected labels.
    driver_z, nonlinear_z : ndarray of shape (n_columns,)
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

    average: PriorAverage
    gain: float
    misfit: float
    driver_z: np.ndarray = field(repr=False)
    strong_driver: dict[int, Driver]
    nonlinear_z: np.ndarray = field(repr=False)
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
        nonlinear = float(np.abs(self.nonlinear_z).max(initial=0.0)) > NONLINEAR
        return nonlinear or self.misfit > MISFIT or self.gain > GAIN

    @property
    def drivers(self) -> list[int]:
        """Columns that were not named and that labelling seems to follow, the best first."""
        by_score = np.argsort(-np.abs(self.driver_z), kind="stable")
        reported = [int(j) for j in by_score if abs(self.driver_z[j]) > DRIVER]
        return [*self.strong_driver, *(j for j in reported if j not in self.strong_driver)]

    def swapped(self, slope: float = 1.0) -> bool:
        """Whether class and propensity bear the marks of having changed places.

        ``slope`` is that of the held-out scores in the label model, where the learner has one. It
        says nothing where other scores count for more.
        """
        lost = slope < SLOPE and self.average.weights[0] > 0.5
        return lost or (self.propensity_effect > EFFECT and self.extreme > EXTREME)


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
    estimate: PriorEstimate | None = None,
    found: PriorAverage | None = None,
    shown: np.ndarray | None = None,
    start: float | None = None,
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
    estimate : PriorEstimate, default=None
        The learner's, of a held-out score. None: a linear held-out score takes its place.
    found : PriorAverage, default=None
        Where the learner has asked for it already.
    shown : ndarray of shape (n_rows,), default=None
        Logits of the propensity that the learner tells, where it is another one.
    start : float, default=None
        The class prior by SAR-EM, for the average.
    n_rows : int, default=None
        Of the whole table, where these rows are a sample: ranges shrink accordingly.
    linear : bool, default=True
        Whether the class model is linear, so that it may lack the square of a column.
    """
    raw = moderate(X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float))
    Z = standardised(raw, weight)
    attributes, e = Z[:, columns], expit(zeta)
    scores, at = eta, (eta, zeta)
    shown = zeta if shown is None else shown
    total = len(Z) if n_rows is None else n_rows
    if found is None:
        models = LabelModels(raw[:, columns], labelled, weight, float(np.sqrt(len(Z) / total)))
        if estimate is None:
            # Score tests ask for a maximum of the likelihood, where a decayed fit is not.
            inverse = labelled / np.maximum(e, LEAST_PROPENSITY)
            scores = linear_scores(Z, [inverse], weight)[:, 0]
            estimate, *at = models.estimate("linear", scores)  # type: ignore[assignment]
        others = models.flexible(Z, scores, e)
        found = average_of([estimate, *others], models.unbiased(scores), start)
    grid = label_grid(eta, zeta, labelled, weight)
    first, *others = found.estimates
    flexible = max(each.log_likelihood for each in others)
    free = np.setdiff1d(np.arange(Z.shape[1]), columns)
    driver_z = np.zeros(Z.shape[1])
    driver_z[free] = _score(at, labelled, attributes, Z[:, free], weight, of_class=False)
    nonlinear_z = np.zeros(Z.shape[1])
    if linear:
        nonlinear_z = _score(at, labelled, attributes, nonlinear_terms(Z), weight, of_class=True)
    design = np.column_stack([attributes, np.ones(len(Z))])
    effects = np.linalg.lstsq(design, shown, rcond=None)[0]
    return Examination(
        average=found,
        gain=float(flexible - first.log_likelihood) / max(float(labelled.sum()), 1.0),
        misfit=grid.misfit,
        driver_z=driver_z,
        strong_driver=strong_driver(Z, columns, labelled, weight) if linear else {},
        nonlinear_z=nonlinear_z,
        leaks=_leaks(raw, labelled),
        label_share=float(np.average(labelled, weights=weight)),
        chance=_chance(expit(eta), weight, total),
        sure=grid.probability_quantile(0.99),
        propensity_top=grid.propensity_quantile(0.99),
        propensity_effect=float(np.abs(effects[:-1]).sum()),
        extreme=float(np.mean(np.abs(shown) > EXTREME_LOGIT)),
    )


def _chance(f: np.ndarray, weight, n_rows: int) -> float:
    return float(np.sqrt(np.average(f * (1 - f), weights=weight) / n_rows))


def _score(at, labelled, attributes, tried: np.ndarray, weight, *, of_class: bool) -> np.ndarray:
    eta, zeta = at
    sums = score_sums(eta, zeta, labelled, attributes, tried, of_class=of_class, weight=weight)
    return sums.z


def _leaks(X, labelled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = leaking(X, labelled)
    return np.array([j for j, _ in found], dtype=np.intp), np.array([area for _, area in found])
