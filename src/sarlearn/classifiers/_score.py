"""How well a learner explains labels: a score that needs no true class."""

from collections.abc import Callable

import numpy as np
from sklearn.utils.metaestimators import available_if

from sarlearn._engine import likelihood
from sarlearn._engine.likelihood import evidence_of_labels
from sarlearn._validation import check_weights, encode_new_labels
from sarlearn.backends import lazily

# A propensity of 0 is taken for so near to it: one label there is no proof.
LEAST_PROPENSITY = 1e-15
# What a background sample weighs, in units of the labelled rows. Between 10 and 100 the answer
# still moves with the number of background rows; at 1,000 EM crawls.
BACKGROUND = 100.0


def _knows_propensities(model) -> bool:
    """Whether labels of new rows have a probability; some baselines only rank."""
    return hasattr(model, "_propensity")


class ScoresLabels:
    """``score`` is the log-likelihood of the labels, not their agreement with ``predict``."""

    classes_: np.ndarray
    _check_predict: Callable
    _logit: Callable
    _propensity: Callable

    @available_if(_knows_propensities)
    def score(self, X, y, sample_weight=None) -> float:
        """Mean of ``log P(s|x)`` over the rows: how well the labels are explained.

        No true class is needed, and the right model has the highest expected score, which accuracy
        against labels does not say of it: that is best for whoever finds no hidden positive. So
        ``cross_val_score`` and ``GridSearchCV`` choose by held-out log-likelihood, without
        ``scoring``. Compare scores on the same rows only; they are negative, 0 would be perfect.
        Class and propensity are judged together: a wrong pair with the right product scores as
        well.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Observed labels, in the values that ``fit`` saw; a missing one means unlabelled.
        sample_weight : array-like of shape (n_rows,), default=None
            What each row counts.

        Returns
        -------
        float
        """
        return self._mean_score(X, y, sample_weight)

    def _mean_score(self, X, y, sample_weight, **about) -> float:
        found = self._log_chance(X, y, **about)
        if isinstance(found, np.ndarray):
            weight = check_weights(sample_weight, found)
            if not getattr(self, "single_sample", True):  # as in fit
                weight = np.ones(len(found)) if weight is None else weight
                labelled = encode_new_labels(y, self.classes_, len(found))
                share = np.average(labelled, weights=weight)
                if 0 < share < 1:
                    weight = np.where(labelled, weight, BACKGROUND * share / (1 - share) * weight)
            return float(np.average(found, weights=weight))
        if sample_weight is None:
            return float(found.mean())
        return float((found * sample_weight).sum() / sample_weight.sum())

    @lazily()
    def _log_chance(self, X, s, **about) -> np.ndarray:
        """``log P(s|x)`` of each row."""
        X = self._check_predict(X)
        labelled = encode_new_labels(s, self.classes_, X.shape[0])
        e = np.maximum(self._propensity(X, **about), LEAST_PROPENSITY)
        f, not_f = likelihood.sigmoids(np.array(self._logit(X), dtype=np.float64))
        seen = evidence_of_labels(e, 1.0 - e, labelled)
        return np.log(likelihood.terms(f, not_f, seen).chance)
