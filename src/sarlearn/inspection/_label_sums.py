"""Do ``f`` and ``e`` together explain the labels? Sums over rows that answer it.

``P(s=1|x) = f(x) e(x)`` can be compared with the labels seen, whatever the true classes are. Two
kinds of sums, each of one pass:

- a grid of logits of ``f`` and ``e`` with the labels observed and expected in every cell, from
  which deciles, levels, quantiles and the statistic of misfit are read;
- score tests: would the likelihood rise if a column entered the logit of ``f`` or that of ``e``?

Both are functions of the rows of one block and add up over blocks.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from sarlearn._engine.likelihood import label_odds, label_residual, sigmoids

# Ends and step of the grid of logits. Beyond the ends f and e are 0 or 1 to four digits.
SCORE_END, PROPENSITY_END, STEP = 10.0, 6.0, 0.1
# Labels expected in a stratum may be wrong by this share before it counts: with millions of rows
# every model is refuted, and few of them matter.
TOLERANCE = 0.05
# Strata with less variance than this say nothing.
LEAST_VARIANCE = 0.5
# Strata of the statistic: quantiles of the score by quantiles of the propensity.
N_SCORES, N_PROPENSITIES = 6, 4
# A column carried by fewer rows than this, weighted by what they tell, is not tested.
LEAST_ROWS = 20
# Squares and products of standardised columns are cut here: the test is of curvature, not of
# outliers.
CUT = 4.0


@dataclass
class LabelGrid:
    """Weight of rows, labels observed, expected and their variance by logits of ``f`` and ``e``."""

    weight: np.ndarray
    observed: np.ndarray
    expected: np.ndarray
    variance: np.ndarray
    probability: np.ndarray
    propensity: np.ndarray

    def __iadd__(self, other: "LabelGrid") -> "LabelGrid":
        for name, value in vars(other).items():
            getattr(self, name).__iadd__(value)
        return self

    def strata(self, n_scores: int, n_propensities: int) -> "LabelGrid":
        """The same by about so many quantiles of the score and of the propensity."""
        by_score = _groups(self.weight.sum(axis=1), n_scores)
        by_propensity = _groups(self.weight.sum(axis=0), n_propensities)
        return LabelGrid(
            *(
                np.add.reduceat(np.add.reduceat(value, by_score, axis=0), by_propensity, axis=1)
                for value in vars(self).values()
            )
        )

    @property
    def misfit(self) -> float:
        """Squared differences of observed and expected labels, standardised: 0 on average, and
        above 2 in few samples from the model itself."""
        strata = self.strata(N_SCORES, N_PROPENSITIES)
        some = strata.variance > LEAST_VARIANCE
        if not some.any():
            return 0.0
        allowed = strata.variance[some] + (TOLERANCE * strata.expected[some]) ** 2
        squares = (strata.observed - strata.expected)[some] ** 2 / allowed
        return float((squares.sum() - len(squares)) / np.sqrt(2 * len(squares)))


def label_grid(eta, zeta, labelled, weight=None) -> LabelGrid:
    """The grid of some rows: logits of ``f`` and ``e``, who is labelled, what each row counts."""
    f, e = expit(eta), expit(zeta)
    chance = f * e
    weight = np.ones(len(f)) if weight is None else weight
    shape = (_n_cells(SCORE_END), _n_cells(PROPENSITY_END))
    code = _code(eta, SCORE_END) * shape[1] + _code(zeta, PROPENSITY_END)
    # A weight is a repetition: its labels vary with it, not with its square.
    columns = (1.0, labelled, chance, chance * (1 - chance), f, e)
    counts = (np.bincount(code, weight * column, shape[0] * shape[1]) for column in columns)
    return LabelGrid(*(count.reshape(shape) for count in counts))


def _n_cells(end: float) -> int:
    return round(2 * end / STEP) + 2


def _code(logits, end: float) -> np.ndarray:
    return np.floor(
        np.clip(logits, -end - STEP / 2, end + STEP / 2) / STEP + end / STEP + 1
    ).astype(np.intp)


def _groups(counts: np.ndarray, n_groups: int) -> np.ndarray:
    """First cells of about equally heavy runs; never a run without rows."""
    total = np.cumsum(counts) / counts.sum()
    wanted = np.searchsorted(total, np.arange(1, n_groups) / n_groups - 1e-12) + 1
    # A cut after the last row, or two in one place, would leave a run empty.
    last = int(np.flatnonzero(counts)[-1])
    return np.unique([0, *wanted[wanted <= last]])


@dataclass
class ScoreSums:
    """What score tests need: information and gradient of the design and of the columns tried.

    The rows of ``cross`` are the design's, its columns those tried; ``information`` and
    ``gradient`` are those of each column tried alone, ``fourth`` the sum of the squares of what
    each row gives to ``information``.
    """

    design: np.ndarray
    cross: np.ndarray
    information: np.ndarray
    fourth: np.ndarray
    gradient: np.ndarray
    design_gradient: np.ndarray

    def __iadd__(self, other: "ScoreSums") -> "ScoreSums":
        for name, value in vars(other).items():
            getattr(self, name).__iadd__(value)
        return self

    @property
    def z(self) -> np.ndarray:
        """One standard normal number per column, where the column has nothing to add.

        The column's gradient, less what the design explains of it. Zero where the design holds the
        column already, or where so few rows carry it that nothing is normal about it.
        """
        scale = 1 / np.sqrt(np.maximum(self.design.diagonal(), 1e-300))
        inverse = np.linalg.pinv(self.design * scale * scale[:, None], rcond=1e-10)
        projection = scale[:, None] * (inverse @ (self.cross * scale[:, None]))
        left = self.information - np.einsum("ij,ij->j", self.cross, projection)
        gradient = self.gradient - projection.T @ self.design_gradient
        many = self.information**2 > LEAST_ROWS * self.fourth
        new = many & (left > 1e-6 * self.information)
        return np.where(new, gradient / np.sqrt(np.where(new, left, 1.0)), 0.0)


def score_sums(eta, zeta, labelled, attributes, tried, *, of_class: bool, weight=None) -> ScoreSums:
    """Sums of the tests whether columns belong into the logit of ``f`` (``of_class``) or of ``e``.

    The design is that of the label model: the score and an intercept in ``f``, the propensity
    attributes and an intercept in ``e``. With ``P = f e``, a column ``z`` enters the likelihood's
    gradient as ``r (1-f) z`` or ``r (1-e) z``, ``r`` being 1 where labelled and ``-P/(1-P)``
    elsewhere, and its information as the square with weight ``P/(1-P)``.
    """
    (f, not_f), (e, not_e) = sigmoids(np.asarray(eta)), sigmoids(np.asarray(zeta))
    odds = label_odds(f, not_f, e, not_e)
    weight = np.ones(len(f)) if weight is None else weight
    residual = weight * label_residual(odds, labelled)
    ones = np.ones((len(f), 1))
    design = np.hstack([np.asarray(eta)[:, None], ones, attributes, ones])
    design[:, :2] *= not_f[:, None]
    design[:, 2:] *= not_e[:, None]
    columns = tried * (not_f if of_class else not_e)[:, None]
    weighted = design * (weight * odds)[:, None]
    return ScoreSums(
        design=weighted.T @ design,
        cross=weighted.T @ columns,
        information=(weight * odds) @ columns**2,
        fourth=(weight * odds**2) @ columns**4,
        gradient=residual @ columns,
        design_gradient=residual @ design,
    )


def nonlinear_terms(standardised: np.ndarray) -> np.ndarray:
    """Squares of standardised columns, cut: what a class that is not linear shows first."""
    return np.clip(standardised, -CUT, CUT) ** 2
