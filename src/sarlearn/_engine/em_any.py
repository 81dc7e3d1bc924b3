"""SAR-EM around any scikit-learn classifier: the paper's Algorithm 1 as it is written.

Hard-labelled models need the unlabelled rows twice, weighted by their expected class and its
complement. A side left at its default is this package's logistic regression, which does not.
"""

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.logistic import fit_logistic
from sarlearn._engine.stopping import EMResult, History, SlopeRule


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
        self.X, self._C = X, C
        self._blocks = RowBlocks(X)
        self.theta = np.zeros(X.shape[1] + 1)

    def fit(self, target, weight) -> None:
        self.theta = fit_logistic(
            self._blocks, target, weight, self._C, start=self.theta, tol=1e-5
        ).theta

    def predict(self) -> np.ndarray:
        return expit(self._blocks.matvec(self.theta[:-1]) + self.theta[-1])


class EstimatorSide:
    """A scikit-learn classifier fitted to fractional targets by storing rows twice."""

    def __init__(self, X, estimator, what: str):
        self.X, self._estimator = X, estimator
        self._weight_parameter = weight_parameter(estimator, what)

    def fit(self, target, weight) -> None:
        yes, no = np.flatnonzero(weight * target > 0), np.flatnonzero(weight * (1 - target) > 0)
        stack = sparse.vstack if sparse.issparse(self.X) else np.vstack
        X = stack([self.X[yes], self.X[no]])
        y = np.repeat([1, 0], [len(yes), len(no)])
        w = np.concatenate([(weight * target)[yes], (weight * (1 - target))[no]])
        self.fitted = clone(self._estimator).fit(X, y, **{self._weight_parameter: w})

    def predict(self, X=None) -> np.ndarray:
        """``P(1)`` of the training rows, or of others."""
        X = self.X if X is None else X
        # The class that is missing from a fit has probability 0.
        column = np.flatnonzero(self.fitted.classes_ == 1)
        if not len(column):
            return np.zeros(X.shape[0])
        return self.fitted.predict_proba(X)[:, column[0]]


class EstimatorEM:
    """The state of SAR-EM with arbitrary models: their predictions for every row."""

    def __init__(self, classifier, propensity, labelled, weight, decay: float):
        """``propensity`` is a side, or an array where the propensity is known."""
        self.classifier, self.labelled, self.decay = classifier, labelled, decay
        self.weight = np.ones(len(labelled)) if weight is None else weight
        self.total_weight = float(self.weight.sum())
        self.known = isinstance(propensity, np.ndarray)
        self.propensity = propensity

    def start(self) -> None:
        """Algorithm 2 with the classifier at hand."""
        labels = self.labelled.astype(float)
        self.classifier.fit(labels, self.weight)
        s_hat = np.clip(self.classifier.predict(), 1e-6, 1 - 1e-6)
        c = float(s_hat[~self.labelled].max())
        target = np.minimum((1 - c) / c * s_hat / (1 - s_hat), 1.0)
        self.classifier.fit(np.where(self.labelled, 1.0, target), self.weight)
        self.f = self.classifier.predict()
        self.e = self.propensity if self.known else np.full(len(labels), c)

    def iterate(self) -> None:
        positive = self.f * (1 - self.decay * self.e)
        with np.errstate(invalid="ignore"):
            q = positive / (positive + 1 - self.f)
        # f = 1 and e = 1 on an unlabelled row contradict each other: even odds.
        q = np.where(self.labelled, 1.0, np.where(np.isnan(q), 0.5, q))
        self.classifier.fit(q, self.weight)
        self.f = self.classifier.predict()
        if not self.known:
            self.propensity.fit(self.labelled.astype(float), self.weight * q)
            self.e = self.propensity.predict()

    @property
    def watched(self) -> np.ndarray:
        return (self.f if self.known else self.e)[~self.labelled]

    @property
    def class_prior(self) -> float:
        return float(self.weight @ self.f) / self.total_weight

    @property
    def log_likelihood(self) -> float:
        chance = np.where(self.labelled, self.f * self.e, 1 - self.f * self.e)
        return float(self.weight @ np.log(np.maximum(chance, 1e-300)))

    @property
    def penalized_log_likelihood(self) -> float:
        return np.nan  # the penalties of arbitrary models are their own business


def run_estimators(
    em: EstimatorEM, stop: str, window: int, tol: float, max_iter: int, report=lambda: None
) -> EMResult:
    """Plain EM until the slope rule is met, or until no prediction moves by ``tol`` (RMS)."""
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
