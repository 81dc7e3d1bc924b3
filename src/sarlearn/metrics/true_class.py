"""Scores of classifiers and propensities where the true classes are known."""

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_consistent_length

from sarlearn._engine.likelihood import log_chance
from sarlearn._validation import check_probabilities, check_weights, encode_classes
from sarlearn.exceptions import warn


def probabilistic_precision_score(y_true, y_prob, *, sample_weight=None) -> float:
    """Precision that counts each row with its probability, without a threshold.

    ``tp / (tp + fp)`` with ``tp = mean(p y)`` and ``fp = mean(p (1-y))``.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    y_prob : array-like of shape (n_samples,)
        Predicted probabilities of the positive class, in [0, 1].
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Non-negative weights.

    Returns
    -------
    float in [0, 1]
        0 with an ``UndefinedMetricWarning`` where every probability is 0.

    See Also
    --------
    probabilistic_f1_score : No threshold.
    probabilistic_recall_score : No threshold.

    Examples
    --------
    >>> from sarlearn.metrics import probabilistic_precision_score
    >>> probabilistic_precision_score([1, 1, 0, 0], [0.9, 0.6, 0.4, 0.1])
    0.75
    """
    tp, fp, _ = _soft_counts(y_true, y_prob, sample_weight)
    return _ratio(tp, tp + fp, "precision", "every predicted probability is 0")


def probabilistic_recall_score(y_true, y_prob, *, sample_weight=None) -> float:
    """Recall that counts each row with its probability, without a threshold.

    ``tp / (tp + fn)`` with ``tp = mean(p y)`` and ``fn = mean((1-p) y)``: the mean predicted
    probability of the true positives.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    y_prob : array-like of shape (n_samples,)
        Predicted probabilities of the positive class, in [0, 1].
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Non-negative weights.

    Returns
    -------
    float in [0, 1]
        0 with an ``UndefinedMetricWarning`` where no row is positive.

    See Also
    --------
    probabilistic_f1_score : No threshold.
    probabilistic_precision_score : No threshold.

    Examples
    --------
    >>> from sarlearn.metrics import probabilistic_recall_score
    >>> probabilistic_recall_score([1, 1, 0, 0], [0.9, 0.6, 0.4, 0.1])
    0.75
    """
    tp, _, fn = _soft_counts(y_true, y_prob, sample_weight)
    return _ratio(tp, tp + fn, "recall", "no row of y_true is positive")


def probabilistic_f1_score(y_true, y_prob, *, sample_weight=None) -> float:
    """F1 that counts each row with its probability, without a threshold.

    ``2 tp / (2 tp + fp + fn)`` with ``tp = mean(p y)``, ``fp = mean(p (1-y))`` and ``fn =
    mean((1-p) y)``, as in Bekker and Davis (2018). For probabilities that are all 0 or 1 it is the
    ordinary F1.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    y_prob : array-like of shape (n_samples,)
        Predicted probabilities of the positive class, in [0, 1].
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Non-negative weights.

    Returns
    -------
    float in [0, 1]
        0 with an ``UndefinedMetricWarning`` where no row is positive and every probability is 0.

    See Also
    --------
    probabilistic_precision_score : No threshold.
    probabilistic_recall_score : No threshold.

    Examples
    --------
    As a score in cross-validation:

    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.metrics import make_scorer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sarlearn.metrics import probabilistic_f1_score
    >>> X, y = make_classification(random_state=0)
    >>> scorer = make_scorer(probabilistic_f1_score, response_method="predict_proba")
    >>> cross_val_score(LogisticRegression(), X, y, scoring=scorer).mean().round(2)
    np.float64(0.78)
    """
    tp, fp, fn = _soft_counts(y_true, y_prob, sample_weight)
    return _ratio(
        2 * tp,
        2 * tp + fp + fn,
        "F1",
        "no row of y_true is positive and every predicted probability is 0",
    )


def propensity_accuracy_score(y_true, s, propensity, *, sample_weight=None) -> float:
    """How well the propensity predicts which positives are labelled.

    ``mean over y=1 of (1 - |e - s|)``, the propensity score accuracy of Bekker and Davis (2018). It
    compares a probability with a draw from it, so even the true propensity does not reach 1.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes; only the positive rows count.
    s : array-like of shape (n_samples,)
        Observed labels.
    propensity : float or array-like of shape (n_samples,)
        Predicted propensities, in [0, 1]; one number for all rows under SCAR.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Non-negative weights.

    Returns
    -------
    float in [0, 1]
        NaN with an ``UndefinedMetricWarning`` where no row is positive.

    See Also
    --------
    propensity_mean_absolute_error : Distance from the true propensities.

    Examples
    --------
    >>> from sarlearn.metrics import propensity_accuracy_score
    >>> propensity_accuracy_score([1, 1, 0], s=[1, 0, 0], propensity=[0.8, 0.4, 0.9])
    0.7
    """
    labelled = encode_classes(s, name="s")
    e = check_probabilities(propensity, "propensity", len(labelled), one_for_all=True)
    return _mean_over_positives(1 - np.abs(e - labelled), y_true, sample_weight, "accuracy")


def propensity_mean_absolute_error(
    propensity_true, propensity, *, y_true=None, sample_weight=None
) -> float:
    """Mean absolute difference of predicted and true propensities.

    Parameters
    ----------
    propensity_true : float or array-like of shape (n_samples,)
        True propensities, in [0, 1].
    propensity : float or array-like of shape (n_samples,)
        Predicted propensities, in [0, 1]; one number for all rows under SCAR.
    y_true : array-like of shape (n_samples,) or None, default=None
        True classes: the mean is then over the positive rows alone, the only ones that a propensity
        acts on. None: over all rows.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Non-negative weights.

    Returns
    -------
    float in [0, 1]
        NaN with an ``UndefinedMetricWarning`` where ``y_true`` has no positive row.

    See Also
    --------
    propensity_accuracy_score : How well the labels are predicted.

    Examples
    --------
    >>> from sarlearn.metrics import propensity_mean_absolute_error
    >>> propensity_mean_absolute_error([0.5, 0.9], [0.5, 0.5])
    0.2
    >>> propensity_mean_absolute_error([0.5, 0.9], 0.5, y_true=[0, 1])
    0.4
    """
    n_rows = max(np.size(rows) for rows in (propensity_true, propensity, y_true))
    e_true = check_probabilities(propensity_true, "propensity_true", n_rows, one_for_all=True)
    e = check_probabilities(propensity, "propensity", n_rows, one_for_all=True)
    if y_true is None:
        return _mean(np.abs(e - e_true), sample_weight)
    return _mean_over_positives(np.abs(e - e_true), y_true, sample_weight, "error")


def observed_log_likelihood(
    s, y_prob, propensity, *, sample_weight=None, normalize: bool = False
) -> float:
    """Log-likelihood of the labels, given class probabilities and propensities.

    ``sum_i s_i log(f_i e_i) + (1 - s_i) log(1 - f_i e_i)``, since ``P(s=1|x) = f e``. It compares
    fits, but cannot choose between settings: ``e = 1, f = P(s=1|x)`` always explains the labels as
    well.

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        Observed labels.
    y_prob : array-like of shape (n_samples,)
        Predicted probabilities of the positive class, in [0, 1].
    propensity : float or array-like of shape (n_samples,)
        Predicted propensities, in [0, 1]; one number for all rows under SCAR.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Non-negative weights.
    normalize : bool, default=False
        Whether to divide by the sum of the weights (the number of rows).

    Returns
    -------
    float
        At most 0; ``-inf`` where a row of positive weight has a label that the model excludes.

    See Also
    --------
    ipw_scores : All scores, with standard errors.
    sarlearn.inspection.goodness_of_fit : Compare the labels with what the model expects.

    Examples
    --------
    >>> from sarlearn.metrics import observed_log_likelihood
    >>> observed_log_likelihood([1, 0], [0.5, 0.5], 1.0)
    -1.386...
    """
    labelled = encode_classes(s, name="s")
    f = check_probabilities(y_prob, "y_prob", len(labelled))
    e = check_probabilities(propensity, "propensity", len(labelled), one_for_all=True)
    weights = _weights(sample_weight, len(labelled))
    counted = weights > 0  # 0 * -inf would be NaN
    labelled, f, e, weights = labelled[counted], f[counted], e[counted], weights[counted]
    total = float(weights @ log_chance(f, e, labelled))
    return total / float(weights.sum()) if normalize else total


def _soft_counts(y_true, y_prob, sample_weight) -> tuple[float, float, float]:
    """Probabilistic true positives, false positives and false negatives, as means."""
    y = encode_classes(y_true, name="y_true")
    p = check_probabilities(y_prob, "y_prob", len(y))
    tp = _mean(p * y, sample_weight)
    fp = _mean(p * ~y, sample_weight)
    fn = _mean((1 - p) * y, sample_weight)
    return tp, fp, fn


def _ratio(numerator: float, denominator: float, what: str, reason: str) -> float:
    if denominator > 0:
        return numerator / denominator
    warn(UndefinedMetricWarning(f"Probabilistic {what} is undefined and set to 0: {reason}."))
    return 0.0


def _mean_over_positives(values: np.ndarray, y_true, sample_weight, what: str) -> float:
    positive = encode_classes(y_true, name="y_true")
    check_consistent_length(positive, values)
    weights = _weights(sample_weight, len(values)) * positive
    if not weights.any():
        more = " with a positive weight" if positive.any() else ""
        text = f"The propensity {what} is undefined and set to NaN: no row of y_true is positive"
        warn(UndefinedMetricWarning(f"{text}{more}."))
        return float("nan")
    return _mean(values, weights)


def _mean(values: np.ndarray, sample_weight) -> float:
    return float(np.average(values, weights=_weights(sample_weight, len(values))))


def _weights(sample_weight, n_rows: int) -> np.ndarray:
    weights = check_weights(sample_weight, np.empty((n_rows, 1)))
    return np.ones(n_rows) if weights is None else weights
