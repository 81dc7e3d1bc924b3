"""Audited rows in a fit: known to the likelihood and, where drawn by chance, to the prior."""

from typing import TYPE_CHECKING

import numpy as np

from sarlearn._engine.blocks import Block
from sarlearn._engine.logistic import mean_of_sigmoids, shift_for_mean
from sarlearn._engine.survey import rows_needed, strata_of
from sarlearn.exceptions import UnansweredStrataWarning, warn

if TYPE_CHECKING:
    from sarlearn.classifiers.base import Input

__all__ = ["shift_to_mean", "store_audit"]

LEVEL = 0.95
# A range of five points: who checks rows is told how many would bring it there.
NARROW = 0.05


def store_audit(model, given: "Input") -> None:
    """Number of audited rows; where their draw is known, the class prior by design.

    The class probabilities are then shifted, in logits, to have that mean.
    """
    audit = given.audit
    labelled = given.rows.gather(_labelled)
    known = np.zeros(0) if audit is None else audit.known[~labelled]
    model.n_audited_ = int(np.sum(~np.isnan(known)))
    model.class_prior_by_design_ = False
    if audit is None or audit.probability is None:
        return
    strata = strata_of(
        labelled, audit.known, audit.probability, audit.round_of, given.rows.gather(_weight)
    )
    if strata is None:
        warn(UnansweredStrataWarning(model.n_audited_))
        return
    share = model.label_frequency_ * model.class_prior_
    model.class_prior_ = float(strata.estimate)
    model.class_prior_range_ = strata.interval(LEVEL)
    model.identification_width_ = model.class_prior_range_[1] - model.class_prior_range_[0]
    model.label_frequency_ = share / model.class_prior_
    model.class_prior_by_design_ = True
    model.audit_rows_needed_ = rows_needed(strata, NARROW, LEVEL)
    shift_to_mean(model, given, model.class_prior_)


def shift_to_mean(model, given: "Input", class_prior: float) -> None:
    """Shift the logits of ``f`` so that its mean over the rows of the fit is the class prior."""
    weight = given.rows.gather(_weight)
    mean_at = mean_of_sigmoids(model._fitted_logit(given), weight)
    goal = float(np.clip(class_prior, 1e-9, 1 - 1e-9))
    model._shift_to(shift_for_mean(mean_at, goal, tol=1e-14 * goal))
    if hasattr(model, "mean_probability_"):
        model.mean_probability_ = class_prior


def _labelled(block: Block) -> np.ndarray:
    return block.labelled


def _weight(block: Block) -> np.ndarray:
    return np.ones(block.n_rows) if block.weight is None else block.weight
