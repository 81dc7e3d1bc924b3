"""The two scores of Bekker and Davis (2018), where the true classes are known."""

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_consistent_length

from sarlearn._validation import check_probabilities, check_weights, encode_classes
from sarlearn.exceptions import warn


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
    ipw_scores : Scores without true classes.

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
    y = encode_classes(y_true, name="y_true")
    p = check_probabilities(y_prob, "y_prob", len(y))
    weights = _weights(sample_weight, len(y))
    tp, fp, fn = (float(np.average(q, weights=weights)) for q in (p * y, p * ~y, (1 - p) * y))
    if tp + fp + fn > 0:
        return 2 * tp / (2 * tp + fp + fn)
    text = "no row of y_true is positive and every predicted probability is 0"
    warn(UndefinedMetricWarning(f"Probabilistic F1 is undefined and set to 0: {text}."))
    return 0.0


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
    probabilistic_f1_score : Of the class probabilities.

    Examples
    --------
    >>> from sarlearn.metrics import propensity_accuracy_score
    >>> propensity_accuracy_score([1, 1, 0], s=[1, 0, 0], propensity=[0.8, 0.4, 0.9])
    0.7
    """
    labelled = encode_classes(s, name="s")
    e = check_probabilities(propensity, "propensity", len(labelled), one_for_all=True)
    positive = encode_classes(y_true, name="y_true")
    check_consistent_length(positive, labelled)
    weights = _weights(sample_weight, len(e)) * positive
    if weights.any():
        return float(np.average(1 - np.abs(e - labelled), weights=weights))
    more = " with a positive weight" if positive.any() else ""
    text = "The propensity accuracy is undefined and set to NaN: no row of y_true is positive"
    warn(UndefinedMetricWarning(f"{text}{more}."))
    return float("nan")


def _weights(sample_weight, n_rows: int) -> np.ndarray:
    weights = check_weights(sample_weight, np.empty((n_rows, 1)))
    return np.ones(n_rows) if weights is None else weights
