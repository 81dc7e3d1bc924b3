"""What the baselines share."""

from numbers import Real

import numpy as np

from sarlearn._compat import Interval, fit_context, one_blas_thread
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.columns import conditioned
from sarlearn._engine.logistic import fit_logistic
from sarlearn._engine.rows import Rows
from sarlearn.classifiers.base import PUClassifier, store_prior

POSITIVE = [Interval(Real, 0, None, closed="neither")]
SMALLEST = 1e-12


class Baseline(PUClassifier):
    """What the baselines share: labels in, a linear model, the class prior from its mean."""

    C: float

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn from labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows, labelled and unlabelled together.
        y : array-like of shape (n_rows,)
            The observed labels s: 1 labelled, 0 or missing unlabelled (or other values, see
            ``pos_label``).
        sample_weight : array-like of shape (n_rows,), default=None
            How many rows each row counts for.

        Returns
        -------
        self
        """
        X, labelled, weight, _ = self._check_fit(X, y, sample_weight)
        with one_blas_thread():
            self._learn(X, labelled, weight)
        class_prior = np.average(self._class_probability(X), weights=weight)
        store_prior(self, class_prior, float(np.average(labelled, weights=weight)))
        return self

    def _learn(self, X, labelled, weight) -> None:
        raise NotImplementedError

    def _linear(self, rows: Rows, target, start=None) -> np.ndarray:
        """Logistic regression on fractional targets; sets ``coef_`` and ``intercept_``.

        Returns the parameters in the units of the rows: where the next fit may start.
        """
        theta = fit_logistic(rows, target, None, self.C, start=start).theta
        in_user_units = rows.units.to_user(theta)
        self.coef_, self.intercept_ = in_user_units[None, :-1], in_user_units[-1:]
        return theta

    def _score(self, X) -> np.ndarray:
        return RowBlocks(X).matvec(self.coef_[0]) + self.intercept_[0]


def solvable(X, weight) -> Rows:
    """Rows with their weights, whose columns a solver can work with."""
    return conditioned(RowBlocks(X).attach(weight=weight))


def quantile(values: np.ndarray, share: float, weight: np.ndarray | None) -> float:
    """NumPy's quantile of rows repeated as often as their weights say."""
    if weight is None:
        return float(np.quantile(values, share))
    order = np.argsort(values, kind="stable")
    last = np.cumsum(weight[order])
    first = np.append(0.0, last[:-1])
    # Each value lies at the places from its first repetition to its last.
    places = np.column_stack([first, np.maximum(last - 1, first)]).ravel()
    return float(np.interp(share * (last[-1] - 1), places, np.repeat(values[order], 2)))
