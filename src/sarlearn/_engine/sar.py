"""The learner: one label model on the held-out scores of several class models.

1. *Start.* A linear f and a logistic e, together: a first propensity.
2. *Scores.* Each class model gives held-out logits of f under the propensity. Trees renew the
   propensity while they grow; then they grow once more from the linear logits, with e held, and the
   better of the two stays.
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
from sarlearn._engine.tree_scores import LARGER, PARAMETERS, TreeRows, Trees

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


@dataclass
class Choices:
    """What a fit found that refits to much the same rows need not look for.

    Attributes
    ----------
    start : ndarray
        The parameters of the joint start.
    v : float
        The penalty of the linear scores, as the prior variance of a logit.
    rounds : int
        Of the boosting that was kept; ``from_linear`` says whether it began from linear logits.
    """

    start: np.ndarray = field(default_factory=lambda: np.empty(0))
    v: float | None = None
    rounds: int = 0
    from_linear: bool = False


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
    boost_twice: bool = True  # once more from linear logits, and the better of the two
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
        """With pseudo-counts that fade where labels are rare, so that rare classes stay rare."""
        count = 2 * self.pseudo_counts
        of_class = count * min(1.0, 4 * share)
        return Penalties(**ridges, of_class=of_class, of_labels=count / 4, known=self.known)


@dataclass
class Sample:
    """Rows in memory, with what class models and propensity take of each.

    Attributes
    ----------
    X : ndarray or csr
        Columns of the class model, for trees.
    Z, B : ndarray or csr, and ndarray
        Terms of the class model, and of the propensity.
    folds : list of ndarray
        The fold of each row, for each run.
    """

    X: Any
    Z: Any
    B: np.ndarray
    labelled: np.ndarray
    weight: np.ndarray
    audited: np.ndarray | None
    folds: list[np.ndarray]
    categorical: list[int] = field(default_factory=list)

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
        self.choices = Choices() if settings.chosen is None else replace(settings.chosen, rounds=0)
        self.history: list[tuple[int, float, float]] = []

    def fit(self) -> SARFit:
        self.start()
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

    def start(self) -> None:
        """Step 1."""
        sample, p = self._sample, self._sample.Z.shape[1]
        Z = sample.Z.toarray() if hasattr(sample.Z, "toarray") and p <= WIDE else sample.Z
        if p <= WIDE:  # sparse terms are not centred, and dense ones are cut after they were
            Z = Z - np.average(Z, axis=0, weights=sample.weight)
        penalties = self._settings.start_penalties(sample.share, p, sample.B.shape[1])
        rows = sample.rows(Z, Xe=sample.B).map(_terms_as_scores)
        model = LabelModel(rows, penalties)
        begin = model.start(self.phi)
        if len(self.choices.start) == len(begin):
            begin = self.choices.start
        found = model.fit(begin)
        self.phi, self.choices.start = found.phi, found.theta
        self._settings.report()

    def _run(self, folds: np.ndarray) -> list[Scores]:
        """Step 2 with one draw of folds: scores of each class model."""
        names = self._settings.class_models
        found: dict[Any, Scores] = {}
        if "trees" in names:
            found["trees"] = self._trees(folds)
        else:  # the propensity that goes with the linear scores, before the last ones are made
            self.phi = self.score_model(self._linear(folds, self.e())[1].held).phi
        if "linear" in names:
            found["linear"] = self._linear(folds, self.e())[1]
        for classifier in names:
            if not isinstance(classifier, str):
                found[id(classifier)] = self._classifier(folds, classifier)
        return [found[name if isinstance(name, str) else id(name)] for name in names]

    def e(self, phi: np.ndarray | None = None) -> np.ndarray:
        """Propensities of the rows, away from their ends."""
        phi = self.phi if phi is None else phi
        return np.clip(expit(self._sample.B @ phi[:-1] + phi[-1]), LEAST_E, MOST_E)

    def level(self, e: np.ndarray) -> float:
        """The logit of the class that the share of labels asks for."""
        share = self._sample.share / np.average(e, weights=self._sample.weight)
        return float(logit(np.clip(share, 0.02, 0.8)))

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
        return TreeRows(sample.X, *seen, sample.categorical, parameters)

    # -- trees -----------------------------------------------------------------------------------

    def _trees(self, folds: np.ndarray) -> Scores:
        """Boosted with the propensity that follows, then from linear logits with it held."""
        rows, chosen = self.tree_rows(folds), self._settings.chosen
        if self.choices.from_linear and chosen is not None:
            best, begun = self._from_linear(rows, folds, self.e(), True)
        else:
            best, begun = self._from_level(rows)
        if self._settings.boost_twice and chosen is None:
            again, linear = self._from_linear(rows, folds, best.e, False)
            if again.labels.log_likelihood > best.labels.log_likelihood:
                best, begun, self.choices.from_linear = again, linear, True
        labels = best.labels
        self.phi, self.choices.rounds = labels.phi, max(self.choices.rounds, best.rounds)
        grown = [(1 / self._settings.n_folds, trees) for trees in best.trees]
        a, b = float(labels.weights[0]), labels.intercept
        model = Additive(begun.mean(axis=1), grown).scaled(a, b)
        return Scores(a * np.clip(best.held, -LIMIT, LIMIT) + b, model)

    def _from_level(self, rows: TreeRows) -> tuple["Boosted", np.ndarray]:
        """Trees alone, and linear models without slopes, where they begin."""
        e, sample = self.e(), self._sample
        thetas = np.zeros((sample.Z.shape[1] + 1, self._settings.n_folds))
        thetas[-1] = self.level(e)
        return self.boost(rows, np.tile(thetas[-1], (len(e), 1)), e, True), thetas

    def _from_linear(self, rows: TreeRows, folds, e, follow: bool) -> tuple["Boosted", np.ndarray]:
        """Trees that begin from linear models of the folds, and these."""
        thetas = self._linear(folds, e)[0].thetas
        start = self._sample.Z @ thetas[:-1] + thetas[-1]
        return self.boost(rows, start, e, follow), thetas

    def boost(self, rows: TreeRows, start: np.ndarray, e, follow: bool) -> "Boosted":
        """Until the held-out labels have not been explained better for some rounds; or for as many
        rounds as another fit has chosen."""
        boosting, labels, best = rows.boost(start, e), None, None
        chosen = self._settings.chosen
        most = self._settings.max_trees if chosen is None else chosen.rounds
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
        labels = self.score_model(held, labels)
        return Boosted(boosting.trees(rounds), held, rounds, labels, self.e(labels.phi))

    # -- a classifier of the user's --------------------------------------------------------------

    def _classifier(self, folds: np.ndarray, classifier) -> Scores:
        from sarlearn._engine.em_any import held_out_scores

        sample = self._sample
        held, fitted = held_out_scores(
            sample.X, classifier, folds, self.e(), sample.labelled, sample.weight, sample.audited
        )
        nothing = np.zeros(sample.Z.shape[1] + 1)
        return Scores(held, Additive(nothing, [], [(1 / len(fitted), one) for one in fitted]))


@dataclass
class Boosted:
    """A boosting at its best look, and the label model there."""

    trees: Sequence[Trees]
    held: np.ndarray
    rounds: int
    labels: LabelFit
    e: np.ndarray


def _terms_as_scores(block: Block) -> Block:
    return block.with_columns(score=block.X)
