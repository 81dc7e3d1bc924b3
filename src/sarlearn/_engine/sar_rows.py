"""The learner on rows wherever they lie: what is found on a sample, then on all of them.

Equal rows become one row with the sum of their weights, and rows are put in the order of a hash:
neither copies nor the order of rows change what is found. Of many rows a sample in memory says what
the propensity, the penalty and the start of the trees are; then linear scores, trees and the label
model are fitted once more, to all rows, with that propensity held until the last step.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import expit

from sarlearn._engine.auto import (
    Member,
    Unnamed,
    average,
    cautious,
    follows,
    members,
    renumbered,
)
from sarlearn._engine.blocks import Block
from sarlearn._engine.folds import deal_folds, fold_of, hash_rows, joined, mixed, near_copies
from sarlearn._engine.label_model import LabelFit, LabelModel
from sarlearn._engine.linear_scores import FoldLogistic, held_out
from sarlearn._engine.rows import Rows
from sarlearn._engine.sar import (
    LEAST_E,
    LIMIT,
    MOST_E,
    Additive,
    Look,
    Recipe,
    Sample,
    SARFit,
    Settings,
)
from sarlearn._engine.terms import Terms, leaking

# With more different rows than this, a sample of so many is looked at first.
MANY_ROWS, SAMPLE_ROWS = 15_000, 10_000
# No fit with fewer labels has been measured: nothing is said of the class prior then.
LEAST_LABELS = 15
# At least this share of a sample is labelled, if there are so many labels.
LABELLED_SHARE = 0.25
# Folds with many rows, and rows that trees are trained on at most.
MANY_FOLDS, TREE_ROWS = 3, 500_000


@dataclass
class Columns:
    """Which columns of the rows are for what.

    ``auto``: those of the propensity are candidates; fits that name some of them are averaged.
    ``unnamed``: where none is named, whether to look for columns that labels follow all the same.
    """

    of_class: np.ndarray
    of_propensity: np.ndarray
    categorical: list[int]
    auto: bool = False
    unnamed: bool = False

    @property
    def used(self) -> np.ndarray:
        return np.union1d(self.of_class, self.of_propensity)

    def codes(self) -> list[int]:
        """Places of the categorical columns among those of the class."""
        return np.flatnonzero(np.isin(self.of_class, self.categorical)).tolist()


@dataclass
class Learned:
    """What was found, how columns become terms, and terms that nearly determine the label."""

    fit: SARFit
    members: list[Member]  # of which ``fit`` is the average; a single one where columns were named
    terms: Terms
    attributes: Terms
    share: float
    leaks: list[int] = field(default_factory=list)
    near_copies: float = 0.0  # share of rows that have some
    auto: bool = False  # whether nobody named a column and the members are candidates
    unnamed: Unnamed | None = None  # a fit that names columns which labels visibly follow
    many: bool = False  # whether a sample of the rows settled the propensity
    n_tree_rows: int | None = None  # so many trees were grown on; None where that is all

    def logit(self, X, columns: Columns) -> np.ndarray:
        """The class logit of rows in memory."""
        return self.fit.model.logit(X[:, columns.of_class], self.terms, X)


def unidentified(rows: Rows, columns: Columns) -> bool:
    """Whether hardly any row is labelled, or all columns that vary are propensity attributes.

    In the second case ``P(s=1|x) = f(x) e(x)`` holds for every ``f`` above ``P(s=1|x)``, with the
    matching ``e``: labels cannot tell the two apart, however many.
    """
    if rows.column("labelled").sum() < LEAST_LABELS:
        return True
    if columns.auto or not len(columns.of_propensity):
        return False
    others = np.setdiff1d(columns.of_class, columns.of_propensity)
    ends = rows.each(_ends, others)
    low, high = np.min([end[0] for end in ends], axis=0), np.max([end[1] for end in ends], axis=0)
    return bool((low == high).all())  # a column with gaps counts as one that varies


def learn(
    rows: Rows, columns: Columns, settings: Settings, seed: int, groups: np.ndarray | None = None
) -> Learned:
    """The learner on rows that know their labels, weights and audits."""
    rows_of = _Distinct(rows, columns, groups)
    few = len(rows_of) <= MANY_ROWS or not set(settings.class_models) <= {"linear", "trees"}
    number = None if few else rows_of.sample(SAMPLE_ROWS)
    if not few:
        settings = replace(settings, n_folds=MANY_FOLDS, n_runs=1, many=True)
    X, seen = rows_of.take(number)
    terms = Terms.learn(X, columns.of_class, columns.categorical, seen.weight)
    attributes = Terms.learn(X, columns.of_propensity, columns.categorical, seen.weight)
    folds = [
        deal_folds(seen.folds, seen.labelled, settings.n_folds, seed + run)
        for run in range(settings.n_runs)
    ]
    # Of fewer different rows, or groups, there are fewer folds.
    settings = replace(settings, n_folds=int(folds[0].max()) + 1)
    sample = Sample(
        X[:, columns.of_class],
        terms.transform(X),
        attributes.dense(X),
        terms.column,
        attributes.column,
        seen.labelled,
        seen.weight,
        seen.audited,
        folds,
        columns.codes(),
    )
    leaks, copies = [], 0.0
    if settings.chosen is None:  # a refit tells nothing new of these
        leaks, copies = leaking(sample.Z, sample.labelled), near_copies(sample.Z, seen.folds)
    if columns.auto:
        settings = cautious(settings)
        fits = members(sample, settings)
    else:
        fits = [Member(np.arange(len(attributes)), Recipe(sample, settings).fit())]
    unnamed = None
    if columns.unnamed:
        every = Terms.learn(X, np.arange(X.shape[1]), columns.categorical, seen.weight)
        shown = replace(sample, B=every.dense(X), attributes=every.column)
        unnamed = follows(shown, settings, fits[0].fit)
    for one in fits:
        named = attributes.part(one.terms)
        found = Learned(one.fit, fits, terms, named, rows_of.share, leaks, copies)
        if number is not None:
            found = _Many(rows, rows_of, columns, settings, seed, found).fit()
        one.fit = found.fit
    found.auto, found.unnamed, found.many = columns.auto, unnamed, settings.many
    found.attributes = attributes.part(renumbered(fits))
    found.fit = average(fits, len(found.attributes))
    if rows.is_sparse:  # coefficients of terms as they are of dense rows
        model = found.fit.model
        found.fit.model = model.scaled(1.0, -float(terms.zero @ model.coef[:-1]))
    return found


class _Distinct:
    """The different rows, in the order of their hashes, and how much each counts."""

    def __init__(self, rows: Rows, columns: Columns, groups: np.ndarray | None):
        self._rows, self.columns = rows, columns
        used, of_class = columns.used, columns.of_class
        self._labelled, self._weight = rows.column("labelled"), rows.column("weights")
        self._audited = rows.audited()
        whole = rows.gather(_hash, used)
        if len(of_class) < len(used):
            by_class = joined(rows.gather(_hash, of_class), groups)
        else:
            by_class = joined(whole, groups)
        self.by_class = by_class
        key = mixed(whole ^ mixed(by_class))
        key = mixed(key + self._labelled.astype(np.uint64))
        if self._audited is not None:
            code = np.nan_to_num(self._audited, nan=2.0).astype(np.uint64)
            key = mixed(key + code)
        _, self._first, which = np.unique(key, return_index=True, return_inverse=True)
        self._total = np.bincount(which, self._weight)
        self.share = float(np.average(self._labelled, weights=self._weight))

    def __len__(self) -> int:
        return len(self._first)

    def sample(self, size: int) -> np.ndarray:
        """Numbers of different rows: evenly spread, but for labelled ones where they are rare."""
        labelled = self._labelled[self._first]
        n_labelled = int(labelled.sum())
        share = max(n_labelled / len(self), LABELLED_SHARE)
        most = min(n_labelled, round(share * size))
        order = np.arange(len(self))  # of hashes, which are as good as random
        return np.sort(np.r_[order[labelled][:most], order[~labelled][: size - most]])

    def take(self, number: np.ndarray | None) -> tuple[Any, "_Seen"]:
        """Rows by their numbers, and what was seen of them; weights as in all rows.

        ``folds`` holds the hashes that decide the folds.
        """
        weight = self._total
        if number is not None:
            labelled, weight = self._labelled[self._first], self._total[number]
            for kind in (False, True):
                of_kind = labelled[number] == kind
                all_of_kind = self._total[labelled == kind].sum()
                weight[of_kind] *= all_of_kind / weight[of_kind].sum()
            weight *= len(number) / weight.sum()
        first = self._first if number is None else self._first[number]
        order = np.argsort(first, kind="stable")
        back = np.empty(len(order), np.intp)
        back[order] = np.arange(len(order))
        X = self._rows.take(first[order])[back]
        audited = None if self._audited is None else self._audited[first]
        return X, _Seen(self._labelled[first], weight, self.by_class[first], audited)


@dataclass
class _Seen:
    labelled: np.ndarray
    weight: np.ndarray
    folds: np.ndarray
    audited: np.ndarray | None


class _Many:
    """The steps on all rows, given what a sample says."""

    def __init__(self, rows, distinct, columns, settings, seed, few: Learned):
        self._rows, self._distinct, self._columns = rows, distinct, columns
        self._settings = settings
        self._seed, self._few, self._phi = seed, few, few.fit.stack.phi

    def fit(self) -> Learned:
        few, columns = self._few, self._columns
        folds = fold_of(self._distinct.by_class, MANY_FOLDS, self._seed)
        rows = self._rows.attach(folds=folds)
        terms, attributes = few.terms, few.attributes
        as_terms = rows.map(_as_terms, terms, attributes, self._phi).settled()
        search = FoldLogistic(as_terms, MANY_FOLDS, self._settings.report)
        linear = search.best(few.fit.choices.v)
        models, boosted = [Additive(linear.thetas.mean(axis=1))], None
        if "trees" in self._settings.class_models:
            boosted, start = self._boost(linear.thetas)
            models.append(boosted.model)
            trees = [each for _, each in boosted.model.trees]
            args = (columns, terms, linear.thetas, start, trees)
            scored = rows.map(_with_scores, attributes, *args).settled()
        else:
            scored = as_terms.map(_with_linear_score, linear.thetas).settled()
        return self._stack(scored, models, boosted)

    def _boost(self, thetas: np.ndarray) -> tuple[Look, np.ndarray]:
        """Trees on all rows, or on as many as there is room for; where they start, by fold."""
        distinct, few, columns = self._distinct, self._few, self._columns
        number = distinct.sample(TREE_ROWS) if len(distinct) > TREE_ROWS else None
        X, seen = distinct.take(number)
        folds = fold_of(seen.folds, MANY_FOLDS, self._seed)
        sample = Sample(
            X[:, columns.of_class],
            few.terms.transform(X),
            few.attributes.dense(X),
            few.terms.column,
            few.attributes.column,
            seen.labelled,
            seen.weight,
            seen.audited,
            [folds],
            columns.codes(),
        )
        recipe = Recipe(sample, self._settings)
        recipe.phi = self._phi
        e, k = recipe.e(), int(np.argmax(few.fit.choices.shares))
        start = thetas if k else recipe.level(e)
        boosted = recipe.boost(recipe.tree_rows(folds), start, e, k, follow=False)
        self._few.n_tree_rows = None if number is None else len(number)
        return boosted, start

    def _stack(self, scored: Rows, models: list[Additive], boosted: Look | None) -> Learned:
        """The label model on all rows, warm from that of the sample."""
        few, settings = self._few, self._settings
        names = list(settings.class_models)
        share = self._distinct.share
        if boosted is not None:  # the slope of the trees' score, before it meets another
            model = LabelModel(
                scored.map(_pick, [1]), settings.score_penalties(share), positive=True
            )
            single = model.fit(np.r_[boosted.labels.theta[:2], self._phi])
            a, b = float(single.weights[0]), single.intercept
            models[1] = models[1].scaled(a, b)
            scored = scored.map(_rescaled, a, b).settled()
        place = [("linear", "trees").index(name) for name in names]

        def fit(columns: list[int], warm: np.ndarray) -> LabelFit:
            penalties = settings.stack_penalties(share, len(columns))
            model = LabelModel(scored.map(_pick, columns), penalties, positive=True)
            return model.fit(warm)

        stack = fit(place, few.fit.stack.theta)
        last = stack if len(place) == 1 else fit(place[-1:], few.fit.last.theta)
        whole = Additive(np.zeros_like(models[0].coef)).scaled(1.0, stack.intercept)
        for j, weight in zip(place, stack.weights, strict=True):
            whole = whole + models[j].scaled(float(weight))
        choices = few.fit.choices
        if boosted is not None:  # one boosting of them all
            rounds = [boosted.rounds] * len(choices.shares)
            choices = replace(choices, rounds=rounds)
        found = replace(
            few.fit, stack=stack, last=last, model=whole, choices=choices, held=np.empty(0)
        )
        return replace(few, fit=found)


# -- what is done to a block -------------------------------------------------------------------


def _ends(block: Block, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of some columns."""
    part = block.matrix[:, columns]
    low, high = part.min(axis=0), part.max(axis=0)
    if hasattr(low, "toarray"):
        low, high = low.toarray(), high.toarray()
    return np.ravel(low), np.ravel(high)


def _hash(block: Block, columns: np.ndarray) -> np.ndarray:
    whole = len(columns) == block.matrix.shape[1]
    return hash_rows(block.matrix if whole else block.matrix[:, columns])


def _as_terms(block: Block, terms: Terms, attributes: Terms, phi) -> Block:
    """Terms of the class in place of the matrix, those of the propensity, and propensities."""
    Z, B = terms.transform(block.matrix), attributes.dense(block.matrix)
    e = np.clip(expit(B @ phi[:-1] + phi[-1]), LEAST_E, MOST_E)
    return block.with_columns(matrix=Z, Xe=B, e=e, not_e=1.0 - e)


def _with_linear_score(block: Block, thetas: np.ndarray) -> Block:
    return _with_score(block, held_out(block, thetas)[:, None], block.Xe)


def _with_scores(
    block: Block, attributes: Terms, columns: Columns, terms: Terms, thetas, start, trees
) -> Block:
    """Held-out logits of the linear models and of the trees, and nothing else of the columns."""
    Z, fold = terms.transform(block.matrix), block.folds.astype(np.intp)
    every, begun = Z @ thetas[:-1] + thetas[-1], Z @ start[:-1] + start[-1]
    scores = np.column_stack([_own(every, fold), _own(begun, fold)])
    X = block.matrix[:, columns.of_class]
    for k, one in enumerate(trees):
        rows = np.flatnonzero(fold == k)
        if len(rows):
            scores[rows, 1] += one.predict(X[rows])
    return _with_score(block, scores, attributes.dense(block.matrix))


def _own(of_folds: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Of each row the column of its fold."""
    return np.take_along_axis(of_folds, fold[:, None], axis=1)[:, 0]


def _with_score(block: Block, scores: np.ndarray, B: np.ndarray) -> Block:
    scores = np.clip(scores, -LIMIT, LIMIT)
    return block.with_columns(matrix=scores, score=scores, Xe=B, e=None, not_e=None)


def _pick(block: Block, columns: list[int]) -> Block:
    return block.with_columns(score=np.ascontiguousarray(block.matrix[:, columns]))


def _rescaled(block: Block, a: float, b: float) -> Block:
    """The trees' score by its own slope and intercept."""
    scores = block.matrix.copy()
    scores[:, 1] = np.clip(a * scores[:, 1] + b, -LIMIT, LIMIT)
    return block.with_columns(matrix=scores)
