"""What a fit found of the class prior, as fitted attributes: the one place that writes them.

All that ``SARClassifier`` learned; of the other learners what audits say.
"""

from numbers import Real

import numpy as np
from scipy.special import expit, logit

from sarlearn._engine.blocks import Block
from sarlearn._engine.folds import MOST_GAPS
from sarlearn._engine.known import KnownPrior
from sarlearn._engine.sar import Additive
from sarlearn._engine.sar_rows import Columns, Learned
from sarlearn._engine.stopping import EMResult
from sarlearn._engine.survey import Strata, rows_needed, strata_of
from sarlearn._engine.terms import Terms
from sarlearn._validation import check_class_prior
from sarlearn._words import leak_sentence, listed, number_text
from sarlearn.classifiers.base import Input, shift_to_mean
from sarlearn.exceptions import NotConvergedWarning, TrustWarning, warn

KNOWN_PRIOR: dict = {"class_prior": [Real, "array-like", dict, None]}
LEVEL = 0.95
# A range of five points: who checks rows is told how many would bring it there.
NARROW_AUDIT = 0.05
# The range, on logits: REACH * sqrt(SAMPLING * SE^2 + SHAPE * (stack - one score)^2 + FLOOR^2).
# What the scores disagree on is an error of shape, which more rows do not make smaller.
# One score alone has nothing to disagree with, so that its standard error counts for more.
REACH, SAMPLING, SAMPLING_ALONE, SHAPE, FLOOR = 1.7, 4.0, 8.0, 3.0, 0.1
# Of fits that name different columns: BETWEEN times the variance between their class priors comes
# in, and all of it reaches farther. Where their class priors differ by more than APART, the labels
# do not determine the class prior well, however narrow the range. Nor do they where the fit that
# names no column weighs little: labels do not fall at random then, and who knows what they follow.
REACH_AUTO, BETWEEN, APART, LITTLE = 2.5, 3.0, 0.1, 0.08
# Where no column is named, labels are taken to fall at random, which labels can hardly check: on
# choosing cells with biased labels the median error was 0.48 then, with columns named 0.16.
FLOOR_UNNAMED = 0.3
# Of many rows the sampling part is small, and what is left is error of shape: in 40 simulations of
# 20,000 rows with other shapes than the model's the range covered 85 % with the floor of few rows.
FLOOR_MANY = 0.17
# Widths of the range up to which the labels determine the class prior well, and roughly.
WELL, ROUGHLY = 0.15, 0.3


def known_prior(class_prior, label_share: float) -> KnownPrior | None:
    """What the parameter ``class_prior`` says, checked against the labels."""
    known = check_class_prior(class_prior, label_share)
    return None if known is None else KnownPrior(*known)


def store_evidence(model, given: Input) -> bool:
    """What audits by design say of the class prior; whether there are any.

    The class probabilities are then to be shifted to have the class prior as their mean.
    """
    strata = _store_audit(model, given)
    if strata is None:
        return False
    goal, ends = float(strata.estimate), strata.interval(LEVEL)
    share = model.label_frequency_ * model.class_prior_
    model.class_prior_, model.label_frequency_ = goal, share / goal
    store_range(model, min(ends[0], goal), max(ends[1], goal))
    return True


def store_result(model, result: EMResult, class_prior: float, label_share: float) -> None:
    model.n_iter_, model.converged_, model.history_ = (
        result.n_iter,
        result.converged,
        result.history,
    )
    store_prior(model, class_prior, label_share)
    if not result.converged:
        warn_not_converged(model.max_iter)


def warn_not_converged(max_iter: int) -> None:
    text = (
        f"No convergence in {max_iter} iterations. Raise max_iter, or scale the columns to similar "
        "ranges."
    )
    warn(NotConvergedWarning("max-iter", text))


def store_prior(model, class_prior: float, label_share: float) -> None:
    # Every labelled row is a positive, whatever rounding or an unfinished fit says.
    model.class_prior_ = float(min(max(class_prior, label_share), 1.0))
    model.label_frequency_ = label_share / model.class_prior_


def store_range(model, low: float, high: float) -> None:
    """A range of class priors, and how well it determines the class prior."""
    model.class_prior_range_ = (float(low), float(high))
    model.certainty_ = certainty(model.class_prior_range_)
    if getattr(model, "class_prior_by_design_", False) and model.certainty_ == "not at all":
        model.certainty_ = "roughly"  # few rows are checked yet, and each more makes it narrower


def store_fit(
    model,
    given: Input,
    found: Learned,
    columns: Columns,
    known: KnownPrior | None,
    unidentified: bool,
    labels_alone: Learned,
) -> None:
    """Write all that was learned; warn where the labels leave the class prior open."""
    fit = found.fit
    model.terms_, model.attributes_ = found.terms, found.attributes
    model.class_logit_, model.phi_ = fit.model, fit.stack.phi
    model.score_weights_ = fit.stack.weights
    model.n_tree_rows_ = found.n_tree_rows
    model.choices_ = fit.choices
    named = found.attributes.column
    model.propensity_features_ = np.unique(named) if columns.auto else columns.of_propensity
    _store_members(model, found)
    _store_propensity(model, found)
    grown = max(fit.choices.rounds)
    model.n_iter_, model.converged_ = max(grown, 1), grown < model.max_iter
    rounds, values, priors = np.array(fit.history).reshape(-1, 3).T
    model.history_ = {"round": rounds, "log_likelihood": values, "class_prior": priors}
    model.class_prior_from_labels_ = max(labels_alone.fit.stack.class_prior, found.share)
    _store_prior(model, given, found, known, unidentified)
    _store_level(model, given, found)
    _tell(model, found)


def _store_propensity(model, found: Learned) -> None:
    """Slopes per unit of each term, and what the terms are called."""
    phi, terms = model.phi_, found.attributes
    slopes = phi[:-1] / terms.scale
    model.propensity_coef_ = slopes[None, :]
    model.propensity_intercept_ = np.array([phi[-1] - slopes @ terms.center])
    model.phi_covariance_ = _covariance(found)
    errors = np.sqrt(np.diag(model.phi_covariance_)[:-1]) / terms.scale
    model.propensity_coef_se_ = errors[None, :]
    model.propensity_terms_ = _names(model, terms)


def _covariance(found: Learned) -> np.ndarray:
    """Of the propensity's parameters: within members, and between them."""
    total = np.zeros((len(found.attributes) + 1,) * 2)
    for one in found.members:
        stack, here = one.fit.stack, np.r_[one.terms, len(total) - 1]
        assert stack.information is not None
        within = np.linalg.inv(stack.information)[stack.m + 1 :, stack.m + 1 :]
        total[np.ix_(here, here)] += one.weight * within
        apart = -found.fit.stack.phi
        apart[here] += stack.phi
        total += one.weight * np.outer(apart, apart)
    return total


def _store_members(model, found: Learned) -> None:
    """What was averaged, and how much of it names each column of the propensity."""
    columns = found.attributes.column
    model.averaged_fits_ = [
        {
            "propensity_features": np.unique(columns[one.terms]).tolist(),
            "weight": one.weight,
            "class_prior": max(one.fit.stack.class_prior, found.share),
        }
        for one in found.members
    ]
    model.propensity_weights_ = np.array(
        [
            sum(one.weight for one in found.members if j in columns[one.terms])
            for j in model.propensity_features_
        ]
    )


def _feature_names(model) -> list[str]:
    """What the columns are called."""
    numbered = [f"x{j}" for j in range(model.n_features_in_)]
    return [str(name) for name in getattr(model, "feature_names_in_", numbered)]


def _names(model, terms) -> list[str]:
    """What terms are called: ``age``, ``plan=basic``, ``log(1 + wage / 900)``."""
    names, levels = _feature_names(model), None
    if model.reader_ is not None:
        levels = model.reader_.levels_by_place()
        for name, unit in model.reader_.log_units_.items():
            names[names.index(name)] = f"log(1 + {name} / {number_text(unit)})"
    return terms.names(names, levels)


def _store_prior(model, given, found: Learned, known: KnownPrior | None, unidentified) -> None:
    share, stack = found.share, found.fit.stack
    prior = min(max(stack.class_prior, share), 1.0)
    named = found.auto or len(model.propensity_features_)
    floor = (FLOOR_MANY if found.many else FLOOR) if named else FLOOR_UNNAMED
    low, high = range_of(found, floor)
    causes = variances(found, floor)
    if found.unnamed is not None:
        other = logit(np.clip(found.unnamed.class_prior, 1e-6, 1 - 1e-6))
        causes["columns"] += float(other - logit(np.clip(prior, 1e-6, 1 - 1e-6))) ** 2
        low, high = min(low, found.unnamed.class_prior), max(high, found.unnamed.class_prior)
    if unidentified:
        low, high = share, 1.0
    elif found.leaks:  # hidden positives then look like negatives: they may be many
        high = 1.0
    if known is not None:
        prior = prior if known.deviation else min(max(prior, known.low), known.high)
        low, high = max(low, known.interval[0]), min(high, known.interval[1])
    strata = _store_audit(model, given)
    if strata is not None:
        prior, (low, high) = float(strata.estimate), strata.interval(LEVEL)
    if not model.single_sample:
        prior, low, high, share = np.nan, 0.0, 1.0, np.nan
    model.class_prior_ = prior
    store_range(model, min(low, prior), max(high, prior))
    model.label_frequency_ = share / prior
    model.range_causes_ = {name: part / sum(causes.values()) for name, part in causes.items()}
    if strata is None and (unidentified or found.leaks):
        model.certainty_ = "not at all"
    priors = [one["class_prior"] for one in model.averaged_fits_]
    ambiguous = max(priors) - min(priors) > APART or bool(_follows(model, found))
    if strata is None and ambiguous and model.certainty_ == "well":
        model.certainty_ = "roughly"


def _follows(model, found: Learned) -> list[str]:
    """Columns that labels seem to follow, and that nobody named, by their names."""
    none = sum(one.weight for one in found.members if not len(one.terms))
    columns = [] if found.unnamed is None else found.unnamed.columns
    if found.auto and none < LITTLE:
        columns = model.propensity_features_[np.argsort(-model.propensity_weights_, kind="stable")]
    return [_feature_names(model)[j] for j in columns]


def range_of(found: Learned, floor: float = FLOOR) -> tuple[float, float]:
    """Class priors that the data are compatible with, of one fit or of an average."""
    p = float(np.clip(found.fit.stack.class_prior, 1e-6, 1 - 1e-6))
    reach = REACH_AUTO if found.auto else REACH
    spread = np.sqrt(sum(variances(found, floor).values()))
    low, high = expit(logit(p) + reach * spread * np.array([-1, 1]))
    return float(min(max(low, found.share), p)), float(high)


def variances(found: Learned, floor: float = FLOOR) -> dict[str, float]:
    """Of the logit of the class prior, by what they come from.

    Few labels are an error of sampling; class models that disagree, one of shape; and fits may
    differ in the columns that they name.
    """
    parts = {"labels": 0.0, "class models": 0.0, "columns": 0.0, "assumptions": floor**2}
    of_all = float(logit(np.clip(found.fit.stack.class_prior, 1e-6, 1 - 1e-6)))
    for one in found.members:
        stack = one.fit.stack
        p, last = np.clip([stack.class_prior, one.fit.last.class_prior], 1e-6, 1 - 1e-6)
        sampling = SAMPLING if stack.m > 1 else SAMPLING_ALONE
        parts["labels"] += one.weight * sampling * (stack.prior_error() / (p * (1 - p))) ** 2
        parts["class models"] += one.weight * SHAPE * (logit(p) - logit(last)) ** 2
        parts["columns"] += one.weight * BETWEEN * (logit(p) - of_all) ** 2
    return {name: float(part) for name, part in parts.items()}


def certainty(ends: tuple[float, float]) -> str:
    """How well the labels determine the class prior, in a word, by the width of the range."""
    width = ends[1] - ends[0]
    if width > ROUGHLY:
        return "not at all"
    return "well" if width <= WELL else "roughly"


def _store_level(model, given: Input, found: Learned) -> None:
    """Shift the logits of ``f`` so that its mean over the rows of the fit is the class prior.

    What posteriors lack for adding up to it, too, is stored beside.
    """
    model.posterior_shift_ = 0.0
    if np.isnan(model.class_prior_) or not found.fit.choices.for_rows:
        return
    of_class, attributes, rows = found.fit.model, found.attributes, given.rows
    eta = rows.gather(_class_logits, of_class, found.terms, model.classifier_features_)
    shift = shift_to_mean(eta, rows.column("weights"), model.class_prior_)
    of_class.coef[-1] += shift
    unlabelled = ~rows.column("labelled")
    eta = (eta + shift + rows.gather(_log_unlabelled, attributes, model.phi_))[unlabelled]
    goal = (model.class_prior_ - found.share) / (1 - found.share)
    model.posterior_shift_ = shift_to_mean(eta, rows.column("weights")[unlabelled], goal)


def _class_logits(block: Block, of_class: Additive, terms: Terms, columns: np.ndarray):
    return of_class.logit(block.matrix[:, columns], terms, block.matrix)


def _log_unlabelled(block: Block, attributes: Terms, phi: np.ndarray) -> np.ndarray:
    """``log(1 - e)``: the log of a positive row's chance to have no label."""
    return -np.logaddexp(0.0, attributes.dense(block.matrix) @ phi[:-1] + phi[-1])


def _store_audit(model, given: Input) -> Strata | None:
    """How many rows were audited, and what their draw says where it is known."""
    audit, labelled = given.audit, given.rows.column("labelled")
    answers = np.zeros(0) if audit is None else audit.known[~labelled]
    model.n_audited_ = int(np.sum(~np.isnan(answers)))
    model.class_prior_by_design_ = False
    if audit is None or audit.probability is None:
        return None
    drawn = labelled, audit.known, audit.probability, audit.round_of
    strata = strata_of(*drawn, given.rows.column("weights"))
    if strata is None:
        text = (
            f"Some strata of the audit have no answer yet (of {model.n_audited_}), so the class "
            "prior rests on the likelihood, and on the model. Check the rows in the order "
            "suggested: its first rows reach every stratum."
        )
        warn(TrustWarning("unanswered-strata", text))
        return None
    model.class_prior_by_design_ = True
    model.audit_rows_needed_ = rows_needed(strata, NARROW_AUDIT, LEVEL)
    return strata


def _tell(model, found: Learned) -> None:
    """One warning at most: of near copies, a leak, or a class prior that the labels leave open."""
    if found.near_copies > MOST_GAPS:
        text = (
            f"About {found.near_copies:.0%} of the rows have near copies among the others, as "
            "several visits of one patient are. Folds that part them make class prior and "
            "probabilities wrong: say what belongs together in fit(..., groups=...), or merge "
            "these rows."
        )
        warn(TrustWarning("near-copies", text))
        return
    if np.isnan(model.class_prior_):
        return
    open_ = model.certainty_ == "not at all"
    if found.leaks and open_:
        columns = found.terms.column[found.leaks]
        text = leak_sentence(list(dict.fromkeys(_feature_names(model)[j] for j in columns)))
        warn(TrustWarning("leak", text))
        return
    follows = [] if model.class_prior_by_design_ else _follows(model, found)
    text = ""
    if open_:
        low, high = model.class_prior_range_
        text = (
            f"The labels do not determine the class prior: the data are compatible with {low:.2f} "
            f"to {high:.2f}. "
        )
    if follows:
        text += (
            "Labels do not seem to fall at random. They may follow "
            f"{listed(follows, 3)}, though the labels hardly tell which columns it is. "
        )
    if open_ or follows:
        text += (
            "Name the columns that labelling depends on, check some rows (an audit), or give a "
            "class prior that is known from elsewhere."
        )
    if open_:
        warn(TrustWarning("open-class-prior", text))
    elif follows:
        warn(TrustWarning("not-at-random", text))
