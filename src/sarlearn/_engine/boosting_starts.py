"""Where joint boosting starts: first propensities, and class logits, of linear models.

A flexible ``f`` absorbs what labelling depends on, and nothing pulls that out again; so the first
propensity decides. Terms are those of ``LinearColumns``.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from sarlearn._engine import held_out, likelihood
from sarlearn._engine.blocks import Block, RowBlocks
from sarlearn._engine.folds import Folds
from sarlearn._engine.label_model import LabelFit, LabelModel
from sarlearn._engine.likelihood import evidence_of_labels
from sarlearn._engine.linear_columns import LinearColumns
from sarlearn._engine.sarem import fit_sar_em

# Inverse penalty of SAR-EM's class model, and of the class models that held-out scores come from.
SAR_EM_C, SAR_EM_DECAY = 10.0, 0.9
CS = (0.1, 1.0, 10.0)
# Penalty on the propensity's slopes in the linear cross-fit.
CROSS_FIT_RIDGE = 3.0
# Linear logits are no surer than this: the trees could not take them back.
START_LIMIT = 6.0
CHUNK_ROWS = 20_000


@dataclass
class Propensity:
    """A logistic propensity of its terms."""

    coef: np.ndarray
    intercept: float

    def of(self, attributes: np.ndarray) -> np.ndarray:
        return expit(attributes @ self.coef + self.intercept)

    def labels(self) -> LabelFit:
        """A label model to start from: this propensity, and logits of the class as they come."""
        return LabelFit(1.0, 0.0, self.coef, self.intercept, np.nan, -np.inf, np.empty(0))


@dataclass
class LinearStart:
    """Class logits of linear models, one per fold, calibrated by their held-out rows.

    ``C`` is the inverse penalty that the held-out labels prefer.
    """

    thetas: np.ndarray  # (n_folds, n_terms + 1), intercepts last
    slope: float
    intercept: float
    C: float

    def logits(self, X, linear: LinearColumns) -> np.ndarray:
        """Of shape (n_folds, n_rows); terms are made of a part of the rows at a time."""
        out = np.empty((len(self.thetas), X.shape[0]))
        for first in range(0, X.shape[0], CHUNK_ROWS):
            rows = slice(first, first + CHUNK_ROWS)
            raw = linear.transform(X[rows]) @ self.thetas[:, :-1].T + self.thetas[:, -1]
            out[:, rows] = (self.slope * raw + self.intercept).T
        return np.clip(out, -START_LIMIT, START_LIMIT, out=out)


def sar_em_start(rows: RowBlocks, terms: np.ndarray) -> tuple[Propensity, np.ndarray]:
    """SAR-EM's propensity of the terms with these numbers, and its parameters of ``f``."""
    fit = fit_sar_em(rows, terms, decay=SAR_EM_DECAY, C=SAR_EM_C, propensity_C=1.0)
    theta = fit.propensity_theta
    return Propensity(theta[:-1], float(theta[-1])), fit.theta


def cross_fit_start(
    rows: RowBlocks, attributes, labelled, weight, folds: Folds, first: Propensity, theta, Cs
) -> Propensity:
    """The linear cross-fit's propensity, from another one."""
    found, labels = first, first.labels()
    for _ in range(2):
        e = found.of(attributes)
        _, logits = fold_fits(rows, e, folds, theta, Cs)
        scores = logits[:, _best(logits, e, labelled, weight)]
        model = LabelModel(scores, attributes, labelled, weight, propensity_ridge=CROSS_FIT_RIDGE)
        labels = model.fit(warm=labels)
        found = Propensity(labels.propensity_coef, labels.propensity_intercept)
    return found


def linear_start(rows: RowBlocks, labelled, weight, e, folds: Folds, theta, Cs) -> LinearStart:
    """Linear class models without each fold, with the penalty that the held-out labels prefer."""
    thetas, logits = fold_fits(rows, e, folds, theta, Cs)
    best = _best(logits, e, labelled, weight)
    none = np.empty((len(e), 0))
    fit = LabelModel(logits[:, best], none, labelled, weight, known_propensity=e).fit()
    return LinearStart(thetas[:, best], float(fit.slope), fit.intercept, float(Cs[best]))


def fold_fits(rows: RowBlocks, e, folds: Folds, theta, Cs) -> tuple[np.ndarray, np.ndarray]:
    """Class models with known propensity without each fold, for each of ``Cs``.

    Returns the parameters, (n_folds, n_Cs, n_terms + 1), and the held-out logits, (n_rows, n_Cs).
    """
    given = rows.attach(e=e, not_e=1.0 - e, folds=folds.flags)
    thetas = held_out.fold_fits(given, len(folds), Cs, theta)
    logits = given.map(held_out.with_scores, thetas).gather(_scores)
    return thetas.transpose(0, 2, 1), logits


def _scores(block: Block) -> np.ndarray:
    return block.score


def _best(logits, e, labelled, weight) -> int:
    return int(np.argmax([log_likelihood(g, e, labelled, weight) for g in logits.T]))


def log_likelihood(g, e, labelled, weight) -> float:
    """Of the labels, for logits ``g`` of the class probability and propensities ``e``."""
    f, not_f = likelihood.sigmoids(np.array(g, dtype=np.float64))
    found = likelihood.terms(f, not_f, evidence_of_labels(e, 1.0 - e, labelled))
    return likelihood.log_likelihood(found.chance, weight)
