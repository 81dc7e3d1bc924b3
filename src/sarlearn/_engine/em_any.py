"""SAR-EM around any scikit-learn classifier: the paper's Algorithm 1 as it is written.

Hard-labelled models need the unlabelled rows twice, weighted by their expected class and its
complement. A side left at its default is this package's logistic regression, which does not.
"""

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from sarlearn._engine import likelihood
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.columns import conditioned
from sarlearn._engine.likelihood import evidence_of_labels
from sarlearn._engine.logistic import fit_logistic
from sarlearn._engine.rows import Rows, stack
from sarlearn._engine.stopping import EMResult, History, SlopeRule

# EM iterations of a classifier whose held-out predictions feed the E-step.
HELD_OUT_ITERATIONS = 30
# Predictions of 0 or 1 are taken for so near to it.
LEAST_PROBABILITY = 1e-15


def weight_parameter(estimator, what: str) -> str:
    """The fit parameter that carries sample weights; refuses an estimator that has none."""
    name = type(estimator).__name__
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{what}={name} has no predict_proba; EM needs class probabilities. Use a "
            "probabilistic classifier, or wrap it in CalibratedClassifierCV."
        )
    prefix = ""
    while isinstance(estimator, Pipeline):
        step, estimator = estimator.steps[-1]
        prefix += f"{step}__"
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{what}={name} takes no sample_weight in fit; EM weights every row. Use a "
            "classifier that does, such as HistGradientBoostingClassifier."
        )
    return f"{prefix}sample_weight"


class LogisticSide:
    """The default model: logistic regression on fractional targets, warm from fit to fit."""

    def __init__(self, X, C: float):
        self._rows, self._C = conditioned(RowBlocks(X)), C
        self._theta = np.zeros(X.shape[1] + 1)

    @property
    def theta(self) -> np.ndarray:
        return self._rows.units.to_user(self._theta)

    def fit(self, target, weight) -> None:
        fit = fit_logistic(self._rows, target, weight, self._C, start=self._theta, tol=1e-5)
        self._theta = fit.theta

    def predict(self) -> np.ndarray:
        return expit(self._rows.matvec(self._theta[:-1]) + self._theta[-1])


def probability(fitted, X) -> np.ndarray:
    """``P(1)`` by a classifier; a class that was missing from its fit has probability 0."""
    column = np.flatnonzero(fitted.classes_ == 1)
    return fitted.predict_proba(X)[:, column[0]] if len(column) else np.zeros(X.shape[0])


class EstimatorSide:
    """A scikit-learn classifier fitted to fractional targets by storing rows twice."""

    def __init__(self, X, estimator, what: str):
        self.X, self._estimator = X, estimator
        self._weight_parameter = weight_parameter(estimator, what)

    def fit(self, target, weight) -> None:
        yes, no = np.flatnonzero(weight * target > 0), np.flatnonzero(weight * (1 - target) > 0)
        X = stack([self.X[yes], self.X[no]])
        y = np.repeat([1, 0], [len(yes), len(no)])
        w = np.concatenate([(weight * target)[yes], (weight * (1 - target))[no]])
        self.fitted = clone(self._estimator).fit(X, y, **{self._weight_parameter: w})

    def predict(self, X=None) -> np.ndarray:
        """``P(1)`` of the training rows, or of others."""
        return probability(self.fitted, self.X if X is None else X)


class EstimatorEM:
    """The state of SAR-EM with arbitrary models: their predictions for every row.

    Without a side for the propensity, it is that which the rows know.
    """

    def __init__(self, rows: Rows, classifier, propensity=None, decay: float = 1.0):
        self.classifier, self.propensity, self.decay = classifier, propensity, decay
        self.labelled, self.audited = rows.column("labelled"), rows.audited()
        self.weight = rows.column("weights")
        self.total_weight = float(self.weight.sum())
        self.e = rows.column("e") if propensity is None else np.empty(0)

    def start(self) -> None:
        """Algorithm 2 with the classifier at hand."""
        labels = self.labelled.astype(float)
        self.classifier.fit(labels, self.weight)
        s_hat = np.clip(self.classifier.predict(), 1e-6, 1 - 1e-6)
        c = float(s_hat[~self.labelled].max())
        target = np.minimum((1 - c) / c * s_hat / (1 - s_hat), 1.0)
        if self.propensity is not None:
            self.e = np.full(len(labels), c)
        elif target.min() > 1 - 1e-6:  # no row tells from others; e does
            f = np.minimum(s_hat / np.maximum(self.e, LEAST_PROBABILITY), 1 - 1e-6)
            target = f * (1 - self.e) / (1 - f * self.e)
        target = np.where(self.labelled, 1.0, target)
        if self.audited is not None:
            target = np.where(np.isnan(self.audited), target, self.audited)
        self.classifier.fit(target, self.weight)
        self.f = self.classifier.predict()

    def iterate(self) -> None:
        """The E-step, and the M-step of both models."""
        target = self._terms(self.decay).target
        self.classifier.fit(target, self.weight)
        self.f = self.classifier.predict()
        if self.propensity is not None:
            self.propensity.fit(self.labelled.astype(float), self.weight * target)
            self.e = self.propensity.predict()

    def _terms(self, decay: float) -> likelihood.Terms:
        f = np.clip(self.f, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        e = np.clip(self.e, LEAST_PROBABILITY, 1.0)
        seen = evidence_of_labels(e, 1 - e, self.labelled, decay, self.audited)
        return likelihood.terms(f, 1 - f, seen)

    @property
    def watched(self) -> np.ndarray:
        return (self.f if self.propensity is None else self.e)[~self.labelled]

    @property
    def class_prior(self) -> float:
        return float(self.weight @ self.f) / self.total_weight

    @property
    def log_likelihood(self) -> float:
        return likelihood.log_likelihood(self._terms(1.0).chance, self.weight)

    @property
    def penalized_log_likelihood(self) -> float:
        return np.nan  # the penalties of arbitrary models are their own business


def run_estimators(
    em: EstimatorEM, stop: str, window: int, tol: float, max_iter: int, report=lambda: None
) -> EMResult:
    """Plain EM until the slope rule is met, or until no prediction moves by ``tol`` (RMS)."""
    em.start()
    history = History(report)
    rule = SlopeRule(em.weight[~em.labelled], window, tol)
    rule.update(em.watched)
    for n_iter in range(1, max_iter + 1):
        before = np.concatenate([em.f, em.e])
        em.iterate()
        met = rule.update(em.watched)
        if stop == "fixed_point":
            change = np.concatenate([em.f, em.e]) - before
            met = float(np.sqrt(np.mean(change**2))) < tol
        history.add(em, rule.slope)
        if met:
            return EMResult(n_iter, True, history.as_dict())
    return EMResult(max_iter, False, history.as_dict())


def held_out_scores(
    X, classifier, folds: np.ndarray, e: np.ndarray, labelled, weight, audited
) -> tuple[np.ndarray, list]:
    """Held-out logits by EM round a classifier with the propensity known, and its fitted copies.

    The E-step too sees held-out predictions only: a flexible model that grades its own training
    rows finds no hidden positive among them.
    """
    side = HeldOutSide(X, classifier, folds)
    em = EstimatorEM(
        RowBlocks(X).attach(e=e, labelled=labelled, weight=weight, audited=audited), side
    )
    run_estimators(em, "slope", 5, 1e-3, HELD_OUT_ITERATIONS)
    return logit(np.clip(em.f, 1e-9, 1 - 1e-9)), [one.fitted for one in side.sides]


class HeldOutSide:
    """A classifier whose predictions for a row come from a fit without the row's fold."""

    def __init__(self, X, classifier, folds: np.ndarray):
        self._X, self._tests = X, [folds == fold for fold in range(int(folds.max()) + 1)]
        self.sides = [EstimatorSide(X[~test], classifier, "classifier") for test in self._tests]

    def fit(self, target, weight) -> None:
        for side, test in zip(self.sides, self._tests, strict=True):
            side.fit(target[~test], weight[~test])

    def predict(self) -> np.ndarray:
        out = np.empty(self._X.shape[0])
        for side, test in zip(self.sides, self._tests, strict=True):
            out[test] = side.predict(self._X[test])
        return out
