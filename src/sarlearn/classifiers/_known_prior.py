"""A class prior that is known from elsewhere, in a fit."""

from numbers import Real
from typing import TYPE_CHECKING

from sarlearn._engine.known_prior import KnownPrior
from sarlearn._engine.propensity import label_share
from sarlearn._engine.rows import Rows
from sarlearn._validation import check_class_prior
from sarlearn.classifiers._audits import shift_to_mean
from sarlearn.classifiers._trust import range_only

if TYPE_CHECKING:
    from sarlearn.classifiers.base import Input

__all__ = ["KNOWN_PRIOR", "known_prior", "settle"]

KNOWN_PRIOR: dict = {"class_prior": [Real, "array-like", dict, None]}


def known_prior(class_prior, rows: Rows) -> KnownPrior | None:
    """What the parameter ``class_prior`` says, checked against the labels."""
    known = check_class_prior(class_prior, label_share(rows))
    return None if known is None else KnownPrior(*known)


def settle(model, given: "Input", prior: KnownPrior, ends: tuple[float, float]) -> None:
    """Class probabilities with exactly the class prior as their mean, and its range."""
    share = model.label_frequency_ * model.class_prior_
    if not prior.deviation:
        model.class_prior_ = min(max(model.class_prior_, prior.low), prior.high)
    model.label_frequency_ = share / model.class_prior_
    shift_to_mean(model, given, model.class_prior_)
    low, high = ends
    range_only(model, (min(low, model.class_prior_), max(high, model.class_prior_)))
