"""The learner: one label model on the held-out scores of several class models.

1. *Starts.* A linear f and a logistic e, together, twice: as they come, and with hardly any slope
   of f on the columns that are named, so that labelling has first claim on them. Two propensities.
2. *Scores.* Each class model gives held-out logits of f under a propensity. Trees grow twice and
   renew the propensity while they grow: from nothing under the second start, from linear logits
   under the first. Their logits are averaged, by how well each explains the held-out labels.
3. *Stack.* f = sigmoid(sum_j a_j g_j + b) with a_j >= 0, and e, by the label model: class prior,
   weights and propensity, and the standard error of the class prior.
4. *Model.* The mean of the folds' models, weighted in the same way. Nothing is fitted again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, logit

from sarlearn._engine.blocks import Block, RowBlocks
from sarlearn._engine.known import KnownPrior
from sarlearn._engine.label_model import WIDE, LabelFit, LabelModel, Penalties
from sarlearn._engine.linear_scores import FoldFit, FoldLogistic, held_out
from sarlearn._engine.rows import Rows
from sarlearn._engine.terms import Terms
from sarlearn._engine.tree_scores import COARSER, LARGER, PARAMETERS, TreeRows, Trees

# Held-out logits are cut there.
LIMIT = 12.0
# Propensities given to a class model stay within these.
LEAST_E, MOST_E = 0.01, 0.999
# Rounds between looks at the held-out labels, before the propensity moves, and after the best look.
LOOK, CALM, PATIENCE = 5, 10, 10
# Label models see this many rows at a look.
LOOK_ROWS, LOOK_STEPS = 10_000, 3
# Ridges: on slopes of the joint start at least, and of its propensity; of a single score towards
# 1; of the stack towards equal weights; of the propensity's slopes.
START_RIDGE, START_RIDGE_E, SCORE_RIDGE, STACK_RIDGE, RIDGE_E = 2.0, 1.0, 20.0, 50.0, 3.0
# Where all columns are named, the ridge on the start's propensity is so many times larger.
MANY_NAMED = 15.0
# Where labelling has first claim on a column, the ridge on its slope in the start's f is so many
# times larger.
FIRST_CLAIM = 100.0
# What two looks weigh: held-out log-likelihoods count half, as they share rows and folds; half of
# all is the second's that is ahead by so much then; a share below the last is none.
TEMPER, AHEAD, LEAST_SHARE = 0.5, 1.0, 0.02


@dataclass
class Choices:
    """What a fit found that refits to much the same rows need not look for.

    Attributes
    ----------
    starts : list of ndarray
        The parameters of the joint starts: with first claim of labelling, and as they come.
    v : float
        The penalty of the linear scores, as the prior variance of a logit.
    rounds : list of int
        Of trees that grow from nothing, and from linear logits.
    shares : list of float
        What these weigh in their average.
    for_rows : bool
        Whether refits are asked for probabilities of rows, or for class prior and propensity alone.
    """

    starts: list[np.ndarray] = field(default_factory=list)
    v: float | None = None
    rounds: list[int] = field(default_factory=lambda: [0, 0])
    shares: list[float] = field(default_factory=lambda: [1.0, 0.0])
    for_rows: bool = True


@dataclass(frozen=True)
class Settings:
    """What a fit is told: see the parameters of ``SARClassifier``."""

    class_models: tuple = ("linear", "trees")
    n_folds: int = 5
    n_runs: int = 1
    pseudo_counts: float = 4.0
    max_trees: int = 300
    known: KnownPrior | None = None
    many: bool = False  # whether the rows, or those of which they are a sample, are many
    boost_twice: bool = True  # from linear logits, too
    chosen: Choices | None = None  # by another fit, to be kept
    report: Callable[[], None] = lambda: None

    def start_penalties(self, share: float, n_terms: int, n_attributes: int) -> Penalties:
        """Of the joint start; where many columns are named, e must not take the class's place."""
        ridge = max(START_RIDGE, n_terms / 10)
        named = n_attributes / max(n_terms, 1)
        ridge_e = START_RIDGE_E * (1 + MANY_NAMED * named**2)
        return self._penalties(share, ridge=ridge, ridge_e=ridge_e)

    def score_penalties(self, share: float) -> Penalties:
        """Of the label model on one score whose slope is sought."""
        return self._penalties(share, ridge=SCORE_RIDGE, towards=1.0, ridge_e=RIDGE_E)

    def stack_penalties(self, share: float, m: int) -> Penalties:
        """Of the label model on ``m`` scores."""
        return self._penalties(share, ridge=STACK_RIDGE, towards=1 / m, ridge_e=RIDGE_E)

    def _penalties(self, share: float, **ridges) -> Penalties:
        """With pseudo-counts of classes that fade where labels are rare, so that rare classes stay
        rare; those of labels count twice as much there."""
        counts, common = self.pseudo_counts, min(1.0, 4 * share)
        return Penalties(
            **ridges,
            of_class=2 * counts * common,
            of_labels=counts * (2 - common) / 2,
            of_few=0.75 * counts,
            known=self.known,
        )


@dataclass
class Sample:
    """Rows in memory, with what class models and propensity take of each.

    Attributes
    ----------
    X : ndarray or csr
        Columns of the class model, for trees.
    Z, B : ndarray or csr, and ndarray
        Terms of the class model, and of the propensity.
    columns, attributes : ndarray
        Which column each term of ``Z``, and of ``B``, is of.
    folds : list of ndarray
        The fold of each row, for each run.
    """

    X: Any
    Z: Any
    B: np.ndarray
    columns: np.ndarray
    attributes: np.ndarray
    labelled: np.ndarray
    weight: np.ndarray
    audited: np.ndarray | None
    folds: list[np.ndarray]
    categorical: list[int] = field(default_factory=list)

    def naming(self, columns) -> "Sample":
        """The same rows, with some columns of the propensity alone."""
        here = np.isin(self.attributes, columns)
        return replace(self, B=self.B[:, here], attributes=self.attributes[here])

    @cached_property
    def share(self) -> float:
        return float(np.average(self.labelled, weights=self.weight))

    def rows(self, matrix, **columns) -> Rows:
        """As rows that know their labels, weights and audits."""
        seen = {"labelled": self.labelled, "weight": self.weight, "audited": self.audited}
        return RowBlocks(matrix).attach(**seen, **columns)

    def scored(self, scores: np.ndarray, some=slice(None)) -> Rows:
        """Rows for a label model: held-out scores, one column each."""
        columns = (self.labelled, self.weight, self.audited)
        labelled, weight, audited = (None if c is None else c[some] for c in columns)
        scores = np.clip(scores[some].reshape(-1, scores.shape[1]), -LIMIT, LIMIT)
        return RowBlocks(scores).attach(
            score=scores, Xe=self.B[some], labelled=labelled, weight=weight, audited=audited
        )


@dataclass
class Additive:
    """A logit: linear in the terms, plus trees and classifiers with a factor each."""

    coef: np.ndarray  # the intercept is last
    trees: list[tuple[float, Trees]] = field(default_factory=list)
    classifiers: list[tuple[float, Any]] = field(default_factory=list)

    def logit(self, X, terms: Terms, every) -> np.ndarray:
        """Of the class columns ``X`` of some rows, ``every`` has all that the terms may be of."""
        out = terms.times(every, self.coef)
        for factor, trees in self.trees:
            out = out + factor * trees.predict(X)
        for factor, classifier in self.classifiers:
            from sarlearn._engine.em_any import probability

            f = probability(classifier, X)
            out = out + factor * logit(np.clip(f, 1e-9, 1 - 1e-9))
        return out

    def scaled(self, factor: float, shift: float = 0.0) -> "Additive":
        coef = factor * self.coef
        coef[-1] += shift
        return Additive(
            coef,
            [(factor * each, trees) for each, trees in self.trees],
            [(factor * each, classifier) for each, classifier in self.classifiers],
        )

    def __add__(self, other: "Additive") -> "Additive":
        return Additive(
            self.coef + other.coef,
            self.trees + other.trees,
            self.classifiers + other.classifiers,
        )


@dataclass
class Scores:
    """Held-out logits by a class model, and the mean of the models that gave them."""

    held: np.ndarray
    model: Additive


@dataclass
class Look:
    """Held-out logits under one propensity, the label model on them, and the mean of the models."""

    held: np.ndarray
    labels: LabelFit
    model: Additive
    rounds: int = 0  # of trees


@dataclass
class SARFit:
    """What was found.

    Attributes
    ----------
    stack : LabelFit
        The label model on all scores.
    last : LabelFit
        The label model on the last score by itself.
    held : ndarray of shape (n_rows, n_models)
        Held-out logits of each class model.
    model : Additive
        The class logit of any row.
    choices : Choices
    history : list of (rounds, log-likelihood, class prior)
        One per look at held-out labels.
    """

    stack: LabelFit
    last: LabelFit
    held: np.ndarray
    model: Additive
    choices: Choices
    history: list[tuple[int, float, float]]


class Recipe:
    """The steps on one sample in memory; ``phi`` is the propensity so far."""

    def __init__(self, sample: Sample, settings: Settings):
        self._sample, self._settings = sample, settings
        self.phi = np.zeros(sample.B.shape[1] + 1)
        self.choices = Choices() if settings.chosen is None else replace(settings.chosen)
        self.history: list[tuple[int, float, float]] = []
        self._starts: list[np.ndarray] = []

    def fit(self) -> SARFit:
        self._start()
        names = self._settings.class_models
        runs = [self._run(folds) for folds in self._sample.folds]
        held = [np.mean([run[j].held for run in runs], axis=0) for j in range(len(names))]
        held = np.clip(np.column_stack(held), -LIMIT, LIMIT)
        stack = self.stack_model(held)
        one = len(names) == 1 or self._settings.chosen is not None  # of a refit no range is asked
        last = stack if one else self.stack_model(held[:, -1:])
        model = Additive(np.zeros(self._sample.Z.shape[1] + 1)).scaled(1.0, stack.intercept)
        for run in runs:
            for weight, scores in zip(stack.weights, run, strict=True):
                model = model + scores.model.scaled(weight / len(runs))
        return SARFit(stack, last, held, model, self.choices, self.history)

    def _start(self) -> None:
        """Step 1: of each start the propensity, that with first claim of labelling first."""
        sample, p = self._sample, self._sample.Z.shape[1]
        Z = sample.Z.toarray() if hasattr(sample.Z, "toarray") and p <= WIDE else sample.Z
        if p <= WIDE:  # sparse terms are not centred, and dense ones are cut after they were
            Z = Z - np.average(Z, axis=0, weights=sample.weight)
        rows = sample.rows(Z, Xe=sample.B).map(_terms_as_scores)
        penalties = self._settings.start_penalties(sample.share, p, sample.B.shape[1])
        named = np.isin(sample.columns, sample.attributes)
        claim = replace(penalties, ridge=penalties.ridge * np.where(named, FIRST_CLAIM, 1.0))
        found, chosen = [], self._settings.chosen
        for k, each in enumerate([claim, penalties] if named.any() else [penalties]):
            model = LabelModel(rows, each)
            begin = self.choices.starts[k] if self.choices.starts else model.start(self.phi)
            idle = named.any() and chosen is not None and not chosen.shares[k]
            found.append(model.fit(begin, steps=0 if idle else 100))
            self._settings.report()
        self.choices.starts = [fit.theta for fit in found]
        self._starts = [found[0].phi, found[-1].phi]

    def _run(self, folds: np.ndarray) -> list[Scores]:
        """Step 2 with one draw of folds: scores of each class model."""
        names = self._settings.class_models
        found: dict[Any, Scores] = {}
        if "trees" in names:
            rows = self.tree_rows(folds)
            found["trees"] = self._averaged(lambda k: self._tree_look(rows, folds, k))
        else:  # the propensity that goes with the linear scores, before the last ones are made
            self._averaged(lambda k: self._linear_look(folds, k))
        if "linear" in names:
            found["linear"] = self._linear(folds, self.e())[1]
        for classifier in names:
            if not isinstance(classifier, str):
                found[id(classifier)] = self._classifier(folds, classifier)
        return [found[name if isinstance(name, str) else id(name)] for name in names]

    def _averaged(self, look: Callable[[int], Look]) -> Scores:
        """Of a look from each start, by their shares; ``phi`` becomes the propensity beside it."""
        chosen = self._settings.chosen
        if chosen is None:
            looks = [look(k) for k in range(1 + self._settings.boost_twice)]
            shares = _shares(looks)
        else:
            shares = [share for share in chosen.shares if share]
            looks = [look(k) for k, share in enumerate(chosen.shares) if share]
        held, model = np.zeros(()), Additive(np.zeros(self._sample.Z.shape[1] + 1))
        for share, one in zip(shares, looks, strict=True):
            a, b = share * float(one.labels.weights[0]), share * one.labels.intercept
            held = held + a * np.clip(one.held, -LIMIT, LIMIT) + b
            model = model + one.model.scaled(a, b)
        self.phi = looks[int(np.argmax(shares))].labels.phi
        labels = self.score_model(held)
        self.phi, (a, b) = labels.phi, (float(labels.weights[0]), labels.intercept)
        if chosen is None:
            self.choices.rounds = [one.rounds for one in looks]
            self.choices.shares = shares
        return Scores(a * held + b, model.scaled(a, b))

    def e(self, phi: np.ndarray | None = None) -> np.ndarray:
        """Propensities of the rows, away from their ends."""
        phi = self.phi if phi is None else phi
        return np.clip(expit(self._sample.B @ phi[:-1] + phi[-1]), LEAST_E, MOST_E)

    def score_model(self, held: np.ndarray, warm: LabelFit | None = None, **limits) -> LabelFit:
        """Step 3 for one score; at a look, of some rows and in few steps from the last one."""
        every = max(1, len(held) // LOOK_ROWS) if limits else 1
        rows = self._sample.scored(held[:, None], slice(None, None, every))
        model = LabelModel(rows, self._settings.score_penalties(self._sample.share), positive=True)
        return model.fit(model.start(self.phi) if warm is None else warm.theta, **limits)

    def stack_model(self, held: np.ndarray) -> LabelFit:
        """Step 3."""
        penalties = self._settings.stack_penalties(self._sample.share, held.shape[1])
        model = LabelModel(self._sample.scored(held), penalties, positive=True)
        return model.fit(model.start(self.phi))

    def _linear(self, folds: np.ndarray, e: np.ndarray) -> tuple[FoldFit, Scores]:
        """Linear scores; the first call chooses the penalty, for all."""
        rows = self._sample.rows(self._sample.Z, e=e, not_e=1.0 - e, folds=folds)
        search = FoldLogistic(rows, self._settings.n_folds, self._settings.report)
        found = search.best(self.choices.v)
        self.choices.v = found.v
        return found, Scores(
            rows.gather(held_out, found.thetas), Additive(found.thetas.mean(axis=1))
        )

    def tree_rows(self, folds: np.ndarray) -> TreeRows:
        """The rows as trees take them."""
        sample = self._sample
        seen = sample.labelled, sample.weight, folds, sample.audited
        parameters = LARGER if self._settings.many else PARAMETERS
        if self._settings.chosen is not None:
            parameters = parameters | COARSER
        return TreeRows(sample.X, *seen, sample.categorical, parameters)

    def _linear_look(self, folds: np.ndarray, k: int) -> Look:
        """Linear scores under a start's propensity."""
        self.phi = self._starts[k]
        found = self._linear(folds, self.e())[1]
        return Look(found.held, self.score_model(found.held), found.model)

    # -- trees -----------------------------------------------------------------------------------

    def _tree_look(self, rows: TreeRows, folds: np.ndarray, k: int) -> Look:
        """Trees from nothing, or from linear logits; the propensity follows from a start's."""
        self.phi = self._starts[k]
        e = self.e()
        thetas = self.level(e) if k == 0 else self._linear(folds, e)[0].thetas
        return self.boost(rows, thetas, e, k)

    def level(self, e: np.ndarray) -> np.ndarray:
        """Linear models of the folds without slopes, with the class prior that ``e`` asks for."""
        share = self._sample.share / np.average(e, weights=self._sample.weight)
        thetas = np.zeros((self._sample.Z.shape[1] + 1, self._settings.n_folds))
        thetas[-1] = logit(np.clip(share, 0.02, 0.8))
        return thetas

    def boost(self, rows: TreeRows, thetas: np.ndarray, e, k: int, follow: bool = True) -> Look:
        """From linear models of the folds, until the held-out labels have not been explained better
        for some rounds; or for as many rounds as another fit has chosen."""
        start = self._sample.Z @ thetas[:-1] + thetas[-1]
        boosting, labels, best = rows.boost(start, e), None, None
        chosen = self._settings.chosen
        most = self._settings.max_trees if chosen is None else chosen.rounds[k]
        calm = min(CALM, most) if follow else 0
        while True:
            if boosting.rounds >= calm:
                labels = self.score_model(boosting.held, labels, steps=LOOK_STEPS)
                self.history.append((boosting.rounds, labels.log_likelihood, labels.class_prior))
                self._settings.report()
                if follow:
                    boosting.set_propensity(self.e(labels.phi))
                if chosen or best is None or labels.log_likelihood > best[0]:
                    best = labels.log_likelihood, boosting.rounds, boosting.held.copy(), labels
                if boosting.rounds >= min(most, max(best[1], calm) + PATIENCE):
                    break
            boosting.grow(min(LOOK, most - boosting.rounds))
        _, rounds, held, labels = best
        grown = [(1 / thetas.shape[1], trees) for trees in boosting.trees(rounds)]
        model = Additive(thetas.mean(axis=1), grown)
        return Look(held, self.score_model(held, labels), model, rounds)

    # -- a classifier of the user's --------------------------------------------------------------

    def _classifier(self, folds: np.ndarray, classifier) -> Scores:
        from sarlearn._engine.em_any import held_out_scores

        sample = self._sample
        held, fitted = held_out_scores(
            sample.X, classifier, folds, self.e(), sample.labelled, sample.weight, sample.audited
        )
        nothing = np.zeros(sample.Z.shape[1] + 1)
        return Scores(held, Additive(nothing, [], [(1 / len(fitted), one) for one in fitted]))


def _shares(looks: Sequence[Look]) -> list[float]:
    """What looks weigh in their average."""
    if len(looks) == 1:
        return [1.0]
    first, second = (one.labels.log_likelihood for one in looks)
    share = float(expit(TEMPER * (second - first) - AHEAD))
    share = 0.0 if share < LEAST_SHARE else 1.0 if share > 1 - LEAST_SHARE else share
    return [1.0 - share, share]


def _terms_as_scores(block: Block) -> Block:
    return block.with_columns(score=block.X)
