"""Nobody named the columns that labelling follows: fits that name different ones, averaged.

1. *None.* A fit that names no column, and so takes labels as random.
2. *Ranking.* A label model on its held-out scores, with every column in the propensity under a
   ridge. The columns that move this propensity most come first; fits name the first one, the first
   three, and the first five.
3. *Average.* Logits of class prior, rows and propensity, weighted by evidence:
   ``exp(log-likelihood of the labels / 2 - terms of the propensity)``.

The labels hardly tell which columns labelling follows, so nothing is chosen. What they do tell is
whether a fit that names some of them explains the labels better than one that names none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from sarlearn._engine.label_model import LabelModel
from sarlearn._engine.sar import Additive, Recipe, Sample, SARFit, Settings

# How many columns the fits name.
SIZES = (1, 3, 5)
# The less is told, the more pseudo-counts: so many times those of a fit with named columns.
MORE_COUNTS = 3.0
# On slopes of the propensity when columns are ranked; so many columns are ranked together at most.
RANK_RIDGE, MOST_RANKED = 10.0, 60
# Held-out log-likelihoods count half: members share rows and folds.
TEMPER = 0.5
# Members that weigh less are left out of the average.
LEAST_WEIGHT = 0.02
# Where none is named, labels visibly follow the first so many columns if naming them gains so much
# log-likelihood beyond one per term. With labels at random a sixth of the choosing cells had as
# much, with labels that follow three columns strongly a half of them: no sharper sign was found.
LOOKED_AT, VISIBLE = 3, 3.0


@dataclass
class Member:
    """A fit that names some terms, by their numbers, and what it counts in an average."""

    terms: np.ndarray
    fit: SARFit
    weight: float = 1.0


def cautious(settings: Settings) -> Settings:
    """For members: more pseudo-counts, and trees grown once, which is as good here."""
    counts = MORE_COUNTS * settings.pseudo_counts
    return replace(settings, pseudo_counts=counts, boost_twice=False)


def members(
    sample: Sample, settings: Settings, sizes: Sequence[int] = SIZES, others: bool = False
) -> list[Member]:
    """Fits to a sample whose ``B`` holds the terms of candidates.

    Where the class has no ``others`` one is always left out: with all of them named, nothing would
    tell class from labelling.
    """

    def naming(columns) -> Member:
        terms = np.flatnonzero(np.isin(sample.attributes, columns))
        return Member(terms, Recipe(sample.naming(columns), settings).fit())

    found = [naming([])]
    order = ranked(sample, settings, found[0].fit)
    most = len(order) if others else len(order) - 1
    found += [naming(order[:size]) for size in sorted({min(k, most) for k in sizes}) if size > 0]
    evidence = [TEMPER * one.fit.stack.log_likelihood - len(one.terms) for one in found]
    weights = np.exp(np.array(evidence) - max(evidence))
    weights[weights < LEAST_WEIGHT * weights.sum()] = 0.0
    for one, weight in zip(found, weights / weights.sum(), strict=True):
        one.weight = float(weight)
    return [one for one in found if one.weight]


@dataclass
class Unnamed:
    """Columns that labels seem to follow, though nobody named them, and the class prior then."""

    columns: list[int]
    class_prior: float


def follows(sample: Sample, settings: Settings, none: SARFit) -> Unnamed | None:
    """Whether a fit that names the first columns explains the labels much better than ``none``."""
    first = ranked(sample, settings, none)[:-1][:LOOKED_AT]
    named = sample.naming(first)
    stack = Recipe(named, cautious(settings)).fit().stack
    if stack.log_likelihood - none.stack.log_likelihood <= len(named.attributes) + VISIBLE:
        return None
    return Unnamed(first.tolist(), stack.class_prior)


def ranked(sample: Sample, settings: Settings, fit: SARFit) -> np.ndarray:
    """Columns by how much they move the propensity beside the scores of a fit that names none.

    Copies and columns that do not vary are left out.
    """
    columns = _different(sample)
    if len(columns) > MOST_RANKED:
        slopes = _first_slopes(sample, settings, fit) ** 2
        gain = np.bincount(sample.attributes, slopes)[columns]
        columns = np.sort(columns[np.argsort(-gain, kind="stable")[:MOST_RANKED]])
    sample = sample.naming(columns)
    model = _label_model(sample, settings, fit)
    phi = model.fit(model.start(np.zeros(len(sample.attributes) + 1))).phi[:-1]
    moved = [
        float(np.std(sample.B[:, terms] @ phi[terms]))
        for terms in (sample.attributes == j for j in columns)
    ]
    return columns[np.argsort(-np.array(moved), kind="stable")]


def _label_model(sample: Sample, settings: Settings, fit: SARFit) -> LabelModel:
    penalties = settings.stack_penalties(sample.share, fit.held.shape[1])
    penalties = replace(penalties, ridge_e=RANK_RIDGE)
    return LabelModel(sample.scored(fit.held), penalties, positive=True)


def _first_slopes(sample: Sample, settings: Settings, fit: SARFit) -> np.ndarray:
    """Of the log-likelihood by the slope of each term, where none has any."""
    theta = fit.stack.theta
    theta = np.r_[theta[:-1], np.zeros(sample.B.shape[1]), theta[-1]]
    gradient = _label_model(sample, settings, fit).at(theta, second=False)[1]
    return gradient[fit.stack.m + 1 : -1]


def _different(sample: Sample) -> np.ndarray:
    """Columns that vary, the first of those whose terms are the same up to sign."""
    found: dict[bytes, int] = {}
    for j in np.unique(sample.attributes):
        part = np.round(sample.B[:, sample.attributes == j], 6)
        if part.any():
            sign = np.sign(part.flat[np.flatnonzero(part)[0]])
            found.setdefault((sign * part + 0.0).tobytes(), int(j))
    return np.array(sorted(found.values()), dtype=np.intp)


def renumbered(found: Sequence[Member]) -> np.ndarray:
    """The terms that any member names, by which members count theirs from here on."""
    used = np.unique(np.concatenate([one.terms for one in found]))
    for one in found:
        one.terms = np.searchsorted(used, one.terms)
    return used


def average(found: Sequence[Member], n_terms: int) -> SARFit:
    """One fit from members, by their weights; that of the heaviest in what cannot be averaged."""
    if len(found) == 1:
        return found[0].fit
    first, m = max(found, key=lambda one: one.weight).fit, found[0].fit.stack.m
    theta, model = np.zeros(m + n_terms + 2), Additive(np.zeros_like(first.model.coef))
    prior, likelihood = 0.0, 0.0
    for one in found:
        stack, here = one.fit.stack, np.r_[: m + 1, m + 1 + one.terms, len(theta) - 1]
        theta[here] += one.weight * stack.theta
        model = model + one.fit.model.scaled(one.weight)
        prior += one.weight * logit(np.clip(stack.class_prior, 1e-9, 1 - 1e-9))
        likelihood += one.weight * stack.log_likelihood
    stack = replace(
        first.stack,
        theta=theta,
        class_prior=float(expit(prior)),
        log_likelihood=likelihood,
        information=None,
    )
    return replace(first, stack=stack, model=model)
