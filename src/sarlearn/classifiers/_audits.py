"""Audited rows in a fit: known to the likelihood and, where drawn by chance, to the prior."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sarlearn._engine.blocks import Block
from sarlearn._engine.logistic import mean_of_sigmoids, shift_for_mean
from sarlearn._engine.survey import rows_needed, strata_of
from sarlearn._validation import check_audit, check_audited
from sarlearn.exceptions import UnansweredStrataWarning, warn

if TYPE_CHECKING:
    from sarlearn.classifiers.base import Input

__all__ = ["posterior_of", "shift_to_mean", "store_audit", "with_audits"]

LEVEL = 0.95
# A range of five points: who checks rows is told how many would bring it there.
NARROW = 0.05


def with_audits(given: "Input", audited, probability=None, round_of=None) -> "Input":
    """The input of a fit, with rows that know which classes audits have found."""
    labelled = given.rows.gather(_labelled)
    columns = [_in_memory(column, given.kept) for column in (audited, probability, round_of)]
    audit = check_audit(*columns, labelled)  # type: ignore[call-arg]
    if audit is None:
        return given
    rows = given.rows.attach(audited=audit.known).map(_without_empty)
    return replace(given, rows=rows, audit=audit)


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


def posterior_of(posterior: np.ndarray, audited, labelled: np.ndarray) -> np.ndarray:
    """Posteriors, with the class in place of them where it is known."""
    if audited is None:
        return posterior
    known = check_audited(audited, labelled)
    return np.where(np.isnan(known) | labelled, posterior, known)


def _in_memory(column, kept: np.ndarray | None):
    """A column in memory, without the rows of weight zero."""
    if column is None:
        return None
    column = column.compute() if hasattr(column, "compute") else column
    if kept is None:
        return column
    column = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    return column[kept] if len(column) == len(kept) else column


def _without_empty(block: Block) -> Block:
    """Blocks in which nobody has looked stay as they were, and compiled."""
    return block.with_columns(audited=None) if np.isnan(block.audited).all() else block


def _labelled(block: Block) -> np.ndarray:
    return block.labelled


def _weight(block: Block) -> np.ndarray:
    return np.ones(block.n_rows) if block.weight is None else block.weight
