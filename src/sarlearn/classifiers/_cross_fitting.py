"""What the cross-fit of a classifier and of a class prior share: settings and folds."""

from collections.abc import Callable
from numbers import Integral, Real

import numpy as np

from sarlearn._compat import HasMethods, Interval, reporter
from sarlearn._engine.blocks import Block
from sarlearn._engine.crossfit import ROUNDS, CrossFit, LinearScorer, Scorer, cross_fit
from sarlearn._engine.em_any import HELD_OUT_ITERATIONS, EstimatorScorer
from sarlearn._engine.folds import Folds, make_folds
from sarlearn._engine.known_prior import KnownPrior, PseudoCounts
from sarlearn.classifiers.base import Input, warn_every_column

CROSSFIT_CONSTRAINTS: dict = {
    "propensity_features": "no_validation",
    "Cs": ["array-like"],
    "cv": ["cv_object"],
    "decay": [Interval(Real, 0, 1, closed="right")],
    "propensity_C": [Interval(Real, 0, None, closed="neither")],
    "pseudo_counts": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "classifier": [HasMethods(["fit"]), None],
    "random_state": ["random_state"],
}


def run_cross_fit(
    settings,
    given: Input,
    columns: np.ndarray,
    class_columns: np.ndarray | None = None,
    prior: KnownPrior | None = None,
    groups=None,
    *,
    labels_alone: bool = True,
) -> CrossFit:
    """The cross-fit but for its last step, with the settings of an estimator."""
    rows, Cs = given.rows, check_Cs(settings.Cs)
    class_columns = np.arange(rows.shape[1]) if class_columns is None else class_columns
    warn_every_column(columns, class_columns)
    labelled = rows.gather(_labelled)
    # Splitters look at the number of rows alone, but for those of a user's own.
    X = np.empty((len(labelled), 0)) if given.X is None else given.X
    folds = make_folds(X, labelled, given.kept, settings.cv, settings.random_state, groups)
    rows = rows.attach(folds=folds.flags)
    report = reporter(settings, n_steps(Cs, settings.classifier), "step")
    found = cross_fit(
        rows,
        columns,
        _scorer(settings.classifier, given, class_columns, folds, Cs, report),
        decay=settings.decay,
        propensity_C=settings.propensity_C,
        max_iter=settings.max_iter,
        prior=prior,
        pseudo_counts=PseudoCounts(settings.pseudo_counts, settings.pseudo_counts),
        labels_alone=labels_alone,
        report=report,
    )
    report()
    return found


def n_steps(Cs: list[float], classifier) -> int:
    """How often a cross-fit reports, at most: SAR-EM, then Cs or rounds of EM, then its end."""
    return 2 + ROUNDS * (len(Cs) if classifier is None else HELD_OUT_ITERATIONS)


def _scorer(
    classifier, given: Input, class_columns, folds: Folds, Cs, report: Callable[[], None]
) -> Scorer:
    if classifier is None:
        return LinearScorer(len(folds), Cs, report)
    X = given.X if len(class_columns) == given.X.shape[1] else given.X[:, class_columns]
    return EstimatorScorer(X, classifier, folds, report)


def check_Cs(Cs) -> list[float]:
    values = np.asarray(Cs, dtype=float)
    if values.ndim != 1 or not len(values) or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"Cs must be a sequence of positive numbers; got {Cs!r}.")
    return values.tolist()


def _labelled(block: Block) -> np.ndarray:
    return block.labelled
