"""Cross-fitting: SAR-EM's propensity, held-out scores under it, and the label model on those.

The penalty and the decay that SAR-EM needs distort the scale of ``f``, hence of ``e``. Scores of
rows that the model has not seen, with a free slope, lose both distortions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from sarlearn._compat import HasMethods, Interval
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.em_any import EstimatorEM, EstimatorSide, run_estimators
from sarlearn._engine.known_fit import KnownPropensityFit
from sarlearn._engine.label_model import RIDGE, LabelFit, LabelModel, Profile
from sarlearn._engine.stopping import EMResult
from sarlearn._validation import fewer_folds
from sarlearn.exceptions import UnidentifiedWarning, warn

CS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
# The penalty of the first SAR-EM fit.
START_C = 10.0
# Times that scores and label model are fitted, the second time under the debiased propensity. Over
# 38 labellings with label frequency 0.1 it took the error of the class prior from 0.060 to 0.052;
# at other frequencies, and a third time, it changed little.
ROUNDS = 2
# A held-out score needs its fit only this close to the optimum, in nats of the whole sample.
FOLD_TOLERANCE = 1e-2
# EM iterations of a classifier whose held-out predictions feed the E-step.
ESTIMATOR_ITERATIONS = 30
WIDE = 0.2

CROSSFIT_CONSTRAINTS: dict = {
    "propensity_features": "no_validation",
    "Cs": ["array-like"],
    "cv": ["cv_object"],
    "decay": [Interval(Real, 0, 1, closed="right")],
    "propensity_C": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "classifier": [HasMethods(["fit"]), None],
    "random_state": ["random_state"],
}


@dataclass
class CrossFit:
    """What all steps but the last found.

    ``e`` is the debiased propensity of every row; ``start`` SAR-EM's parameters of ``f``; ``C``
    the one of the best held-out likelihood, NaN with a ``classifier``. Where ``kept``, ``e`` is
    SAR-EM's as it was: no column is left that could tell class from labelling.
    """

    e: np.ndarray
    scores: np.ndarray
    labels: LabelFit
    profile: Profile
    start: np.ndarray
    em: EMResult
    C: float
    held_out: np.ndarray
    kept: bool

    @property
    def wide(self) -> bool:
        return self.profile.width > WIDE


def cross_fit(
    X,
    labelled: np.ndarray,
    weight: np.ndarray | None,
    columns: np.ndarray,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    Cs: Sequence[float] = CS,
    decay: float = 0.9,
    propensity_C: float = 1.0,
    max_iter: int = 500,
    classifier=None,
    report: Callable[[], None] = lambda: None,
) -> CrossFit:
    """SAR-EM, then by turns held-out scores with the propensity fixed, and the label model.

    Where :func:`nothing_left`, SAR-EM's propensity stays: the label model would then be free to
    exchange the two factors, and did (class probabilities with an AUC of 0.07).

    ``report`` is called after each of at most :func:`n_steps` steps.
    """
    # Here, not above: classifiers import this module, and priors may be imported first.
    from sarlearn.classifiers.sarem import SAREMClassifier

    sar_em = SAREMClassifier(decay=decay, C=START_C, propensity_C=propensity_C, max_iter=max_iter)
    sar_em.propensity_features_ = columns
    em, result = sar_em._fit_logistic(X, labelled, weight, columns)
    e = sar_em._propensity(X)
    report()
    C, held_out, kept = np.nan, np.empty(0), nothing_left(X, columns)
    Xe = X[:, columns]
    Xe = np.asarray(Xe.toarray() if sparse.issparse(Xe) else Xe, dtype=float)
    for _ in range(ROUNDS):
        if classifier is None:
            logits = held_out_logits(X, labelled, weight, e, folds, Cs, em.theta, report)
            held_out = np.array([_log_likelihood(g, e, labelled, weight) for g in logits.T])
            best = int(np.argmax(held_out))
            C, scores = float(Cs[best]), logits[:, best]
        else:
            scores = held_out_estimator_logits(X, labelled, weight, e, folds, classifier, report)
        if kept:
            break
        model = LabelModel(scores, Xe, labelled, weight)
        labels = model.fit()
        e = expit(RowBlocks(Xe).matvec(labels.propensity_coef) + labels.propensity_intercept)
    if kept:
        labels = calibrate(scores, labelled, weight, e, sar_em)
        profile = _open(labels, float(np.average(labelled, weights=weight)))
    else:
        profile = model.profile(labels)
    return CrossFit(e, scores, labels, profile, em.theta, result, C, held_out, kept)


def nothing_left(X, columns: np.ndarray) -> bool:
    """Whether all columns that vary are propensity attributes.

    Then ``P(s=1|x) = f(x) e(x)`` holds for every ``f`` above ``P(s=1|x)``, with the matching ``e``:
    labels cannot tell the two apart, however many.
    """
    if not len(columns):
        return False
    for column in np.setdiff1d(np.arange(X.shape[1]), columns):
        values = X[:, [column]]
        values = values.toarray() if sparse.issparse(values) else values
        if (values != values[0]).any():
            return False
    return True


def calibrate(scores, labelled, weight, e, sar_em) -> LabelFit:
    """The label model with SAR-EM's propensity: only slope and intercept of the scores are free."""
    spread = max(float(np.std(scores)), 1e-12)
    problem = KnownPropensityFit(RowBlocks(scores[:, None] / spread), labelled, weight, e)
    a, b = problem.solve(1.0 / RIDGE, np.array([spread, 0.0]), tol=1e-9).theta
    if a < 0:  # scores that point the wrong way say nothing
        nothing = KnownPropensityFit(RowBlocks(np.zeros((len(e), 1))), labelled, weight, e)
        a, b = nothing.solve(1.0 / RIDGE, np.zeros(2), tol=1e-9).theta
    g = a / spread * scores + b
    return LabelFit(
        slope=float(a / spread),
        intercept=float(b),
        propensity_coef=sar_em.propensity_coef_[0],
        propensity_intercept=float(sar_em.propensity_intercept_[0]),
        class_prior=float(np.average(expit(g), weights=weight)),
        log_likelihood=_log_likelihood(g, e, labelled, weight),
        theta=np.array([a, b]),
    )


def _open(labels: LabelFit, label_share: float) -> Profile:
    """Every class prior from the share of labels to 1 explains the labels alike."""
    priors = np.unique([label_share, labels.class_prior, 1.0])
    return Profile(label_share, 1.0, priors, np.full(len(priors), labels.log_likelihood))


def n_steps(folds, classifier) -> int:
    """How often :func:`cross_fit` reports, at most: SAR-EM, then folds, or rounds of EM."""
    return 1 + ROUNDS * (len(folds) if classifier is None else ESTIMATOR_ITERATIONS)


def make_folds(X, labelled, kept, cv, random_state) -> list[tuple[np.ndarray, np.ndarray]]:
    """``(train, test)`` pairs of row numbers; every row held out at least once.

    A number is that many shuffled folds, stratified by label: rows often come sorted. ``kept`` says
    which rows of the input are left, for folds that count from the input.
    """
    from sklearn.model_selection import StratifiedKFold

    target = labelled.astype(int)
    cv = 5 if cv is None else cv
    if isinstance(cv, Integral):
        splits = fewer_folds(int(cv), labelled)
        cv = StratifiedKFold(splits, shuffle=True, random_state=random_state)
    if hasattr(cv, "split"):
        folds = [(np.asarray(a), np.asarray(b)) for a, b in cv.split(X, target)]
    else:
        folds = [(_among(kept, train), _among(kept, test)) for train, test in cv]
    for train, _ in folds:
        if labelled[train].all() or not labelled[train].any():
            raise ValueError(
                f"A training fold of cv={cv!r} holds only {'' if labelled[train].any() else 'un'}"
                "labelled rows; every fold needs both. Use stratified folds, or fewer."
            )
    never = int(np.sum(_times_held_out(folds, len(labelled)) == 0))
    if never:
        raise ValueError(
            f"cv={cv!r} leaves {never} rows in no test fold; each row needs a score from a model "
            "that did not see it."
        )
    return folds


def _among(kept: np.ndarray | None, rows) -> np.ndarray:
    """Row numbers of the input, or a mask, as numbers among the rows that were kept."""
    rows = np.asarray(rows)
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    if kept is None:
        return rows
    return (np.cumsum(kept) - 1)[rows[kept[rows]]]


def _times_held_out(folds, n_rows: int) -> np.ndarray:
    times = np.zeros(n_rows)
    for _, test in folds:
        times[test] += 1
    return times


def held_out_logits(
    X, labelled, weight, e, folds, Cs, start, report: Callable[[], None] = lambda: None
) -> np.ndarray:
    """Logits of ``f`` with known propensity, by fits without the row's fold; one column a ``C``.

    ``Cs`` ascend, each fit warm from the one before.
    """
    out = np.zeros((X.shape[0], len(Cs)))
    times = _times_held_out(folds, X.shape[0])
    for train, test in folds:
        part = None if weight is None else weight[train]
        problem = KnownPropensityFit(RowBlocks(X[train]), labelled[train], part, e[train])
        thetas, theta = np.empty((X.shape[1] + 1, len(Cs))), start
        for i in np.argsort(Cs):
            theta = problem.solve(float(Cs[i]), theta, tol=FOLD_TOLERANCE).theta
            thetas[:, i] = theta
        out[test] += RowBlocks(X[test]).matvec(thetas[:-1]) + thetas[-1]
        report()
    return out / times[:, None]


def held_out_estimator_logits(
    X, labelled, weight, e, folds, classifier, report: Callable[[], None] = lambda: None
) -> np.ndarray:
    """The same for any classifier. The E-step too sees held-out predictions only: a flexible model
    that grades its own training rows finds no hidden positive among them."""
    side = HeldOutSide(X, classifier, folds)
    em = EstimatorEM(side, e, labelled, weight, decay=1.0)
    em.start()
    run_estimators(em, "slope", 5, 1e-3, ESTIMATOR_ITERATIONS, report)
    return logit(np.clip(em.f, 1e-9, 1 - 1e-9))


class HeldOutSide:
    """A classifier whose predictions for a row come from a fit without the row's fold."""

    def __init__(self, X, classifier, folds):
        self._X, self._folds = X, folds
        self._times = _times_held_out(folds, X.shape[0])
        self._sides = [EstimatorSide(X[train], classifier, "classifier") for train, _ in folds]

    def fit(self, target, weight) -> None:
        for side, (train, _) in zip(self._sides, self._folds, strict=True):
            side.fit(target[train], weight[train])

    def predict(self) -> np.ndarray:
        out = np.zeros(self._X.shape[0])
        for side, (_, test) in zip(self._sides, self._folds, strict=True):
            out[test] += side.predict(self._X[test])
        return out / self._times


def _log_likelihood(g, e, labelled, weight) -> float:
    """Of the labels, for logits ``g`` of the class probability and propensities ``e``."""
    f, not_f = expit(g), expit(-g)
    logs = np.log(np.maximum(np.where(labelled, f * e, not_f + f * (1 - e)), 1e-300))
    return float(logs.sum() if weight is None else weight @ logs)


def check_Cs(Cs) -> list[float]:
    values = np.asarray(Cs, dtype=float)
    if values.ndim != 1 or not len(values) or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"Cs must be a sequence of positive numbers; got {Cs!r}.")
    return values.tolist()


def warn_wide(found: CrossFit) -> None:
    low, high = found.profile.low, found.profile.high
    if found.kept or found.wide:
        warn(UnidentifiedWarning(found.labels.class_prior, low, high, debiased=not found.kept))
