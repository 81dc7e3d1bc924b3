"""What the baselines share."""

from numbers import Real

import numpy as np

from sarlearn._compat import Interval, fit_context, one_blas_thread
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.logistic import fit_logistic
from sarlearn.classifiers.base import PUClassifier

POSITIVE = [Interval(Real, 0, None, closed="neither")]
SMALLEST = 1e-12


class Baseline(PUClassifier):
    """What the baselines share: labels in, a linear model, the class prior from its mean."""

    C: float

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Learn from labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows, labelled and unlabelled together.
        y : array-like of shape (n_rows,)
            The observed labels s: 1 labelled, 0 or missing unlabelled (or other values, see
            ``pos_label``).

        Returns
        -------
        self
        """
        X, labelled, _, _ = self._check_fit(X, y, None)
        with one_blas_thread():
            self._learn(X, labelled)
        self.class_prior_ = float(self._class_probability(X).mean())
        self.label_frequency_ = min(float(labelled.mean()) / max(self.class_prior_, 1e-300), 1.0)
        return self

    def _learn(self, X, labelled) -> None:
        raise NotImplementedError

    def _linear(self, X, target, start=None) -> np.ndarray:
        """Logistic regression on fractional targets; sets ``coef_`` and ``intercept_``."""
        theta = fit_logistic(RowBlocks(X), target, None, self.C, start=start).theta
        self.coef_, self.intercept_ = theta[None, :-1], theta[-1:]
        return theta

    def _score(self, X) -> np.ndarray:
        return RowBlocks(X).matvec(self.coef_[0]) + self.intercept_[0]
