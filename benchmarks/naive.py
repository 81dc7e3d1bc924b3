"""SAR-EM the way the published code works: nothing is clever here, on purpose.

liblinear through scikit-learn, the data stacked twice with weights ``q`` and ``1 - q``, a cold
start in every M-step, predictions of every unlabelled row kept for the stop rule. Start, decay and
stop are the paper's (Bekker and Davis, 2018, Algorithms 1 and 2).
"""

import time
from collections import deque

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression


class NaiveSAREM:
    """Classifier and propensity by plain EM with stacked data.

    Parameters
    ----------
    columns : list of int
        Propensity attributes.
    tol, intercept_scaling : float
        liblinear's. It penalises the intercept as if it were one more coefficient; a large scale
        takes that away.
    """

    def __init__(self, columns, *, decay=0.9, window=10, slope_tol=1e-4, max_iter=500, tol=1e-4,
                 intercept_scaling=1.0):  # fmt: skip
        self.columns = list(columns)
        self.decay, self.window, self.slope_tol, self.max_iter = decay, window, slope_tol, max_iter
        self._options = {"tol": tol, "intercept_scaling": intercept_scaling}

    def fit(self, X, s) -> "NaiveSAREM":
        """Run to the stop rule."""
        self.start(X, s)
        self.converged_, self.n_iter_ = False, 0
        while self.n_iter_ < self.max_iter and not self.converged_:
            self.converged_ = self.iterate(X)
            self.n_iter_ += 1
        return self

    def start(self, X, s) -> None:
        """Algorithm 2, with ``c = max(s_hat)``."""
        began = time.process_time()
        self._labelled = np.asarray(s, dtype=bool)
        s_hat = self._regression(X, self._labelled, None).predict_proba(X)[:, 1]
        c = s_hat[~self._labelled].max()
        y_hat = np.minimum((1 - c) / c * s_hat / (1 - s_hat), 1.0)
        y_hat[self._labelled] = 1.0
        self._fit_classifier(X, y_hat)
        self.e = np.full(X.shape[0], c)
        self._seen: deque[np.ndarray] = deque([self.e[~self._labelled]], maxlen=self.window)
        self.start_seconds, self.seconds = time.process_time() - began, []

    def iterate(self, X) -> bool:
        """E-step, both M-steps from scratch, the stop rule (Algorithm 1); True when it is met."""
        began = time.process_time()
        f, de = self.f, self.decay * self.e
        q = np.where(self._labelled, 1.0, f * (1 - de) / (f * (1 - de) + 1 - f))
        self._fit_classifier(X, q)
        Xe = X[:, self.columns]
        self.propensity = self._regression(Xe, self._labelled, q)
        self.e = self.propensity.predict_proba(Xe)[:, 1]
        self._seen.append(self.e[~self._labelled])
        met = len(self._seen) == self.window and self._slope() < self.slope_tol
        self.seconds.append(time.process_time() - began)
        return met

    def jump(self, X, classifier: np.ndarray, propensity: np.ndarray) -> None:
        """Go on from other parameters (coefficients, then intercept)."""
        self.f = expit(X @ classifier[:-1] + classifier[-1])
        self.e = expit(X[:, self.columns] @ propensity[:-1] + propensity[-1])

    def _fit_classifier(self, X, q) -> None:
        n = X.shape[0]
        stacked = sparse.vstack([X, X], format="csr") if sparse.issparse(X) else np.vstack([X, X])
        target = np.concatenate([np.ones(n), np.zeros(n)])
        self.classifier = self._regression(stacked, target, np.concatenate([q, 1 - q]))
        self.f = self.classifier.predict_proba(X)[:, 1]

    def _regression(self, X, target, weight) -> LogisticRegression:
        model = LogisticRegression(solver="liblinear", **self._options)
        return model.fit(X, target, sample_weight=weight)

    def _slope(self) -> float:
        steps = np.arange(self.window) - (self.window - 1) / 2
        slopes = steps @ np.array(self._seen) / (steps @ steps)
        return float(np.abs(slopes).mean())

    @property
    def parameters(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients, then intercept: of the classifier, and of the propensity."""
        f, e = (
            np.append(model.coef_[0], model.intercept_[0])
            for model in (self.classifier, self.propensity)
        )
        return f, e
