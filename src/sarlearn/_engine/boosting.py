"""Joint boosting: ``f`` by boosted trees, ``e`` by the label model on their held-out logits.

Trees climb the likelihood of the labels, ``P(s=1|x) = f(x) e(x_e)``, directly; no EM refits them.
Each fold has a booster that has not seen it. Their held-out logits ``F`` go into the label model,
``sigmoid(a F + b) sigmoid(phi . x_e + phi_0)``, which gives the next propensity. A run:

1. a first propensity, from a linear model;
2. boost from a constant; once the trees are calm, the propensity follows the held-out logits;
3. boost again, with that propensity held, from a linear start;
4. keep what explains the held-out labels better.

Two runs, with other folds and another first propensity, are averaged: which folds are drawn moves
the class prior more than anything else. Of more than MANY_ROWS rows the runs see a sample; one
more boosting on all rows, with the propensity they found held, then gives ``f``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.boosting_data import (
    BoostedFit,
    BoostingSettings,
    Ensemble,
    Rows,
    Run,
    mean_propensity,
)
from sarlearn._engine.boosting_loss import LOGIT_LIMIT, loss_derivatives
from sarlearn._engine.boosting_starts import (
    CS,
    Folds,
    LinearStart,
    Propensity,
    cross_fit_start,
    linear_start,
    sar_em_start,
)
from sarlearn._engine.known_prior import PseudoCounts
from sarlearn._engine.label_model import NO_PSEUDO_COUNTS, LabelFit, LabelModel, Profile
from sarlearn._engine.trees import BinnedRows, FoldBoosters, Trees
from sarlearn._engine.units import excluding

# The held-out logits are looked at every so many rounds,
CHECK_EVERY = 5
# boosting ends that many rounds after the best look,
PATIENCE = 15
# and the propensity stays at its first value until then: early logits are too flat to tell class
# from labelling, and one simulated labelling ran to e = 1.
CALM = 20
# Scoring steps of the label model between looks.
WARM_STEPS = 2
# From so many rows on the runs see a sample, with so many labels, before a last boosting on all.
# Twice the sample costs more and hardly lowers the error of e.
MANY_ROWS, SAMPLE_ROWS, SAMPLE_LABELS = 30_000, 10_000, 2_000


def n_looks(settings: BoostingSettings, n_runs: int) -> int:
    """How often at most a fit reports: two boostings per run, and one on all rows."""
    return (2 * n_runs + 1) * -(-settings.max_iter // CHECK_EVERY)


def fit_boosted(
    rows: Rows,
    folds: Sequence[Folds],
    settings: BoostingSettings,
    *,
    keep_first: bool = False,
    report: Callable[[], None] = lambda: None,
) -> BoostedFit:
    """The average of runs, one per element of ``folds``.

    Where ``keep_first``, no column is left that could tell class from labelling: the first
    propensity stays, and only slope and intercept of the logits are fitted to it.
    """
    history, sample = History(report), _sample(rows)
    part = rows if sample is None else rows.take(sample)
    starts, binned = _Starts(part, keep_first), _binned(part, settings)
    runs = []
    for number, each in enumerate(folds):
        of_run = each if sample is None else each.take(sample)
        history.run = number
        boosters = FoldBoosters(binned, of_run, settings.n_jobs)
        runs.append(_run(part, boosters, starts.of(number, of_run), starts, settings, history))
    if sample is not None:
        history.run = len(runs)
        runs = [_run_on_all(rows, folds[0], runs, keep_first, settings, history)]
    return BoostedFit(runs, history.as_dict())


class _Starts:
    """What the runs start from: SAR-EM's propensity, and that of the linear cross-fit, by turns;
    and linear models of the class."""

    def __init__(self, rows: Rows, keep: bool):
        self.rows, self.keep = rows, keep
        self.linear = rows.linear.transform(rows.X)
        self.attributes = rows.attributes()
        self._left_out = rows.terms_left_out()
        self._sar_em, self.theta = Propensity(np.empty(0), 0.0), np.zeros(len(rows.linear) + 1)
        self._Cs: Sequence[float] = CS
        if rows.known is None:
            self._sar_em, self.theta = sar_em_start(self._linear_rows(), rows.terms)

    def _linear_rows(self) -> RowBlocks:
        rows = RowBlocks(self.linear).attach(labelled=self.rows.labelled, weight=self.rows.weight)
        return excluding(rows, self._left_out)

    def of(self, number: int, folds: Folds) -> Propensity:
        if self.keep or self.rows.known is not None or number % 2 == 0:
            return self._sar_em
        given = self._linear_rows(), self.attributes, self.rows.labelled, self.rows.weight
        return cross_fit_start(*given, folds, self._sar_em, self.theta, self._Cs)

    def of_class(self, e: np.ndarray, folds: Folds) -> LinearStart:
        """Class logits for a propensity. The first run chooses the penalty, for all of them."""
        given = self._linear_rows(), self.rows.labelled, self.rows.weight
        found = linear_start(*given, e, folds, self.theta, self._Cs)
        self._Cs = (found.C,)
        return found


def _run(
    rows: Rows,
    boosters: FoldBoosters,
    first: Propensity,
    starts: _Starts,
    settings: BoostingSettings,
    history: "History",
) -> Run:
    labeller = Labeller(rows, starts.attributes, first if starts.keep else None, settings)
    e = first.of(starts.attributes) if rows.known is None else rows.known
    prior = float(np.clip(labeller.label_share / np.average(e, weights=rows.weight), 0.02, 0.8))
    known = first.labels() if labeller.learns else None
    one = _boost(
        rows,
        boosters,
        float(logit(prior)),
        e,
        labeller,
        settings,
        history,
        follow=True,
        known=known,
    )
    linear = starts.of_class(one.e, boosters.folds)
    two = _boost(rows, boosters, linear, one.e, labeller, settings, history, known=one.labels)
    return labeller.finish(max(one, two, key=lambda found: found.labels.log_likelihood))


def _binned(rows: Rows, settings: BoostingSettings) -> BinnedRows:
    X, categorical = rows.for_trees()
    return BinnedRows(X, settings.trees, categorical)


def _run_on_all(
    rows: Rows,
    folds: Folds,
    runs: list[Run],
    keep_first: bool,
    settings: BoostingSettings,
    history: "History",
) -> Run:
    """Boost on all rows, with the propensity of the runs on a sample, from the first one's start.

    Its linear start has not seen the row either: the sample's folds are parts of these.
    """
    attributes = rows.attributes()
    found = mean_propensity([run.labels for run in runs])
    labeller = Labeller(rows, attributes, found if keep_first else None, settings)
    boosters = FoldBoosters(_binned(rows, settings), folds, settings.n_jobs)
    e = found.of(attributes) if rows.known is None else rows.known
    last = _boost(
        rows,
        boosters,
        runs[0].ensemble.start,
        e,
        labeller,
        settings,
        history,
        known=runs[0].labels,
    )
    return labeller.finish(last)


@dataclass
class Boosted:
    """One boosting at its best look: trees, held-out logits, and what the label model says."""

    trees: list[Trees]
    start: LinearStart | float
    scores: np.ndarray
    labels: LabelFit
    e: np.ndarray
    rounds: int
    stopped: bool


def _boost(
    rows: Rows,
    boosters: FoldBoosters,
    start: LinearStart | float,
    e: np.ndarray,
    labeller: "Labeller",
    settings: BoostingSettings,
    history: "History",
    *,
    follow: bool = False,
    known: LabelFit | None = None,
) -> Boosted:
    """Rounds until the held-out likelihood has not risen for PATIENCE of them.

    Where ``follow``, the propensity is renewed at every look from CALM on. ``known`` is a label
    model to start from: that of other logits, or of the first propensity.
    """
    looks = Looks(labeller, history, known)
    if isinstance(start, LinearStart):
        boosting = boosters.start(list(start.logits(rows.X, rows.linear)))
        looks.take(boosting.held_out(), 0)  # a linear start may need no trees
    else:
        boosting = boosters.start([start] * len(boosters.folds))
    rounds, calm = 0, CALM if follow else 0
    while rounds < settings.max_iter and rounds - max(looks.best, calm) < PATIENCE:
        step = min(CHECK_EVERY, settings.max_iter - rounds)
        boosting.advance(step, labeller.derivatives(e))
        rounds += step
        if rounds >= min(calm, settings.max_iter):
            looks.take(boosting.held_out(), rounds)
            e = looks.e if follow else e
    stopped = rounds < settings.max_iter or looks.best < rounds
    labels = labeller.fit(looks.best_scores, looks.best_labels)
    e = labeller.propensity(labels)
    return Boosted(
        boosting.trees(looks.best), start, looks.best_scores, labels, e, looks.best, stopped
    )


class Looks:
    """Looks at the held-out logits: the label model on them, and which was the best."""

    def __init__(self, labeller: "Labeller", history: "History", known: LabelFit | None):
        self._labeller, self._history, self._labels = labeller, history, known
        self.best, self.best_scores = 0, np.empty(0)
        self.best_labels: LabelFit | None = None

    def take(self, scores: np.ndarray, rounds: int) -> None:
        self._labels = labels = self._labeller.look(scores, self._labels)
        if self.best_labels is None or labels.log_likelihood > self.best_labels.log_likelihood:
            self.best, self.best_scores, self.best_labels = rounds, scores, labels
        self._history.add(rounds, labels)

    @property
    def e(self) -> np.ndarray:
        """The propensity of the last look."""
        assert self._labels is not None
        return self._labeller.propensity(self._labels)


class Labeller:
    """The labels' side of a fit: derivatives by the logits, likelihood, the label model.

    ``held`` is a propensity that stays, as ``rows.known`` does.
    """

    def __init__(self, rows: Rows, attributes, held: Propensity | None, settings):
        self._rows, self._attributes, self._held, self._settings = rows, attributes, held, settings
        self._weight = rows.weight
        self.label_share = float(np.average(rows.labelled, weights=rows.weight))
        known = held.of(attributes) if held is not None else None
        self._known = rows.known if rows.known is not None else known
        self.learns = self._known is None
        # Where classes or propensities are known, no pseudo-counts are needed.
        nothing_known = self.learns and rows.audited is None
        self._pseudo_counts = settings.pseudo_counts if nothing_known else NO_PSEUDO_COUNTS

    def derivatives(self, e: np.ndarray):
        labelled, weight, not_e = self._rows.labelled, self._rows.weight, 1.0 - e
        audited = self._rows.audited

        def of(rows: np.ndarray, logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            part = None if weight is None else weight[rows]
            known = None if audited is None else audited[rows]
            return loss_derivatives(logits, e[rows], not_e[rows], labelled[rows], part, known)

        return of

    def _model(
        self,
        scores: np.ndarray,
        rows: slice | np.ndarray = slice(None),
        pseudo_counts: PseudoCounts = NO_PSEUDO_COUNTS,
    ) -> LabelModel:
        weight = self._rows.weight
        return LabelModel(
            np.clip(scores[rows], -LOGIT_LIMIT, LOGIT_LIMIT),
            self._attributes[rows] if self.learns else np.empty((len(scores[rows]), 0)),
            self._rows.labelled[rows],
            None if weight is None else weight[rows],
            propensity_ridge=self._settings.propensity_ridge,
            slope_penalty=self._settings.slope_penalty,
            pseudo_counts=pseudo_counts,
            known_propensity=None if self._known is None else self._known[rows],
            audited=None if self._rows.audited is None else self._rows.audited[rows],
        )

    def look(self, scores: np.ndarray, warm: LabelFit | None) -> LabelFit:
        """In full at first, then a few steps from the last look. Of many rows, at some."""
        every = len(scores) // SAMPLE_ROWS
        # Compiled passes ask for columns that lie in one piece, which a slice with steps does not.
        some = slice(None) if every < 2 else np.arange(0, len(scores), every)
        model = self._model(scores, some, self._pseudo_counts)
        found = model.fit() if warm is None else model.fit(warm=warm, max_steps=WARM_STEPS)
        return self._held_to_prior(model, found)

    def fit(self, scores: np.ndarray, warm: LabelFit | None = None) -> LabelFit:
        """On all rows, to the end."""
        model = self._model(scores, pseudo_counts=self._pseudo_counts)
        return self._held_to_prior(model, model.fit(warm=warm))

    def _held_to_prior(self, model: LabelModel, free: LabelFit) -> LabelFit:
        prior = self._settings.prior
        return free if prior is None else model.fit_with(prior, free)

    def propensity(self, labels: LabelFit) -> np.ndarray:
        if self._known is not None:
            return self._known
        return Propensity(labels.propensity_coef, labels.propensity_intercept).of(self._attributes)

    def finish(self, found: Boosted) -> Run:
        """The run that this boosting is: its ``f``, and the priors that the labels admit."""
        labels, labels_only = found.labels, found.labels.class_prior
        ensemble = Ensemble(
            found.trees,
            found.start,
            float(labels.slope),
            labels.intercept,
            self._rows.class_columns,
        )
        if self._held is not None:
            priors = np.unique([self.label_share, labels.class_prior, 1.0])
            values = np.full(len(priors), labels.log_likelihood)
            profile = Profile(self.label_share, 1.0, priors, values)
            labels.propensity_coef = self._held.coef
            labels.propensity_intercept = self._held.intercept
        else:  # the range is that of the data, without pseudo-counts
            model = self._model(found.scores)
            free = model.fit(warm=labels)
            labels_only = free.class_prior
            if self._settings.prior is None:
                profile = model.profile(free)
            else:
                held = self._held_to_prior(model, free)
                profile = model.profile_with(self._settings.prior, free, held)
        held_out = labels.slope * found.scores + labels.intercept
        return Run(ensemble, held_out, labels, profile, found.rounds, found.stopped, labels_only)


def _sample(rows: Rows) -> np.ndarray | None:
    """Rows that the runs see; None is all of them. Labels are rare: enough must be among them."""
    share = float(rows.labelled.mean())
    size = max(SAMPLE_ROWS, int(np.ceil(SAMPLE_LABELS / share)))
    if len(rows) < max(MANY_ROWS, 1.5 * size):
        return None
    return np.sort(np.random.default_rng(0).choice(len(rows), size, replace=False))


class History:
    """One record per look; as arrays under their names in the end."""

    NAMES = ("run", "round", "log_likelihood", "class_prior")

    def __init__(self, report: Callable[[], None]):
        self.run = 0
        self._report = report
        self._records: list[tuple[float, ...]] = []

    def add(self, rounds: int, labels: LabelFit) -> None:
        self._records.append((self.run, rounds, labels.log_likelihood, labels.class_prior))
        self._report()

    def as_dict(self) -> dict[str, np.ndarray]:
        table = np.array(self._records).reshape(-1, len(self.NAMES)).T
        return dict(zip(self.NAMES, table, strict=True))
