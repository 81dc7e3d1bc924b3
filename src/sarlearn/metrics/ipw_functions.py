"""Single scores by inverse propensity, called as scikit-learn's are, and scorers of them."""

from collections.abc import Callable

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.utils.validation import column_or_1d

from sarlearn.metrics import _influence as influence
from sarlearn.metrics.inverse_propensity import check_scores, weigh

__all__ = [
    "ipw_accuracy_score",
    "ipw_average_precision_score",
    "ipw_brier_score_loss",
    "ipw_f1_score",
    "ipw_precision_score",
    "ipw_recall_score",
    "ipw_roc_auc_score",
    "ipw_scorer",
]


def ipw_recall_score(s, y_pred, propensity, *, clip=None) -> float:
    """``sum(v y_pred) / sum(v)``, ``v = s / e``: recall without true classes.

    The assumption is that of :func:`ipw_scores`, which has standard errors, too.

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        Observed labels: 1 for a labelled positive, 0 for an unlabelled row.
    y_pred : array-like of shape (n_samples,)
        Predicted classes, 0 or 1.
    propensity : float or array-like of shape (n_samples,)
        ``P(s=1 | y=1, x)``, known or estimated.
    clip : float, default=None
        Propensities below it are raised to it.

    Returns
    -------
    float
        The score; with few labels it may lie outside of the range of the ordinary one.

    See Also
    --------
    ipw_scores :
        Recall, precision, F1, accuracy, Brier, ROC AUC and average precision from labels alone.
    ipw_scorer : A scikit-learn scorer that gets ``propensity`` routed: tuning on labels alone.

    Examples
    --------
    >>> from sarlearn.metrics import ipw_recall_score
    >>> ipw_recall_score([1, 1, 0, 0], [1, 0, 1, 0], [0.5, 0.25, 0.5, 0.5])
    0.333...
    """
    return _one(influence.recall, s, y_pred, propensity, clip, hard=True)


def ipw_precision_score(s, y_pred, propensity, *, clip=None) -> float:
    """``sum(v y_pred) / sum(y_pred)``, ``v = s / e``: precision without true classes.

    The assumption is that of :func:`ipw_scores`, which has standard errors, too.

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        Observed labels: 1 for a labelled positive, 0 for an unlabelled row.
    y_pred : array-like of shape (n_samples,)
        Predicted classes, 0 or 1.
    propensity : float or array-like of shape (n_samples,)
        ``P(s=1 | y=1, x)``, known or estimated.
    clip : float, default=None
        Propensities below it are raised to it.

    Returns
    -------
    float
        The score; with few labels it may lie outside of the range of the ordinary one.

    See Also
    --------
    ipw_scores :
        Recall, precision, F1, accuracy, Brier, ROC AUC and average precision from labels alone.
    ipw_scorer : A scikit-learn scorer that gets ``propensity`` routed: tuning on labels alone.

    Examples
    --------
    >>> from sarlearn.metrics import ipw_precision_score
    >>> ipw_precision_score([1, 0, 0, 0], [1, 1, 1, 0], 0.5)
    0.666...
    """
    return _one(influence.precision, s, y_pred, propensity, clip, hard=True)


def ipw_f1_score(s, y_pred, propensity, *, clip=None) -> float:
    """``2 sum(v y_pred) / (sum(v) + sum(y_pred))``, ``v = s / e``: F1 without true classes.

    The assumption is that of :func:`ipw_scores`, which has standard errors, too.

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        Observed labels: 1 for a labelled positive, 0 for an unlabelled row.
    y_pred : array-like of shape (n_samples,)
        Predicted classes, 0 or 1.
    propensity : float or array-like of shape (n_samples,)
        ``P(s=1 | y=1, x)``, known or estimated.
    clip : float, default=None
        Propensities below it are raised to it.

    Returns
    -------
    float
        The score; with few labels it may lie outside of the range of the ordinary one.

    See Also
    --------
    ipw_scores :
        Recall, precision, F1, accuracy, Brier, ROC AUC and average precision from labels alone.
    ipw_scorer : A scikit-learn scorer that gets ``propensity`` routed: tuning on labels alone.

    Examples
    --------
    >>> from sarlearn.metrics import ipw_f1_score
    >>> ipw_f1_score([1, 0, 0, 0], [1, 1, 0, 0], 0.5)
    1.0
    """
    return _one(influence.f1, s, y_pred, propensity, clip, hard=True)


def ipw_accuracy_score(s, y_pred, propensity, *, clip=None) -> float:
    """``mean(v y_pred + (1-v)(1-y_pred))``, ``v = s / e``: accuracy without true classes.

    The assumption is that of :func:`ipw_scores`, which has standard errors, too.

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        Observed labels: 1 for a labelled positive, 0 for an unlabelled row.
    y_pred : array-like of shape (n_samples,)
        Predicted classes, 0 or 1.
    propensity : float or array-like of shape (n_samples,)
        ``P(s=1 | y=1, x)``, known or estimated.
    clip : float, default=None
        Propensities below it are raised to it.

    Returns
    -------
    float
        The score; with few labels it may lie outside of the range of the ordinary one.

    See Also
    --------
    ipw_scores :
        Recall, precision, F1, accuracy, Brier, ROC AUC and average precision from labels alone.
    ipw_scorer : A scikit-learn scorer that gets ``propensity`` routed: tuning on labels alone.

    Examples
    --------
    >>> from sarlearn.metrics import ipw_accuracy_score
    >>> ipw_accuracy_score([1, 0, 0, 0], [1, 1, 0, 0], 0.5)
    1.0
    """
    return _one(influence.accuracy, s, y_pred, propensity, clip, hard=True)


def ipw_brier_score_loss(s, y_prob, propensity, *, clip=None) -> float:
    """``mean(v (1-p)^2 + (1-v) p^2)``, ``v = s / e``: the Brier score without true classes.

    The assumption is that of :func:`ipw_scores`, which has standard errors, too.

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        Observed labels: 1 for a labelled positive, 0 for an unlabelled row.
    y_prob : array-like of shape (n_samples,)
        Predicted probabilities ``P(y=1 | x)``.
    propensity : float or array-like of shape (n_samples,)
        ``P(s=1 | y=1, x)``, known or estimated.
    clip : float, default=None
        Propensities below it are raised to it.

    Returns
    -------
    float
        The score; with few labels it may lie outside of the range of the ordinary one.

    See Also
    --------
    ipw_scores :
        Recall, precision, F1, accuracy, Brier, ROC AUC and average precision from labels alone.
    ipw_scorer : A scikit-learn scorer that gets ``propensity`` routed: tuning on labels alone.

    Examples
    --------
    >>> from sarlearn.metrics import ipw_brier_score_loss
    >>> ipw_brier_score_loss([1, 0], [0.5, 0.5], 0.5)
    0.25
    """
    return _one(influence.brier, s, y_prob, propensity, clip)


def ipw_roc_auc_score(s, y_score, propensity, *, clip=None) -> float:
    """``sum_{i≠j} v_i (1-v_j) [y_i > y_j] / sum_{i≠j} v_i (1-v_j)``: ROC AUC without true classes.

    ``v = s / e``; ties count half. The assumption is that of :func:`ipw_scores`, which has standard
    errors, too.

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        Observed labels: 1 for a labelled positive, 0 for an unlabelled row.
    y_score : array-like of shape (n_samples,)
        Scores by which rows are ranked, the highest first.
    propensity : float or array-like of shape (n_samples,)
        ``P(s=1 | y=1, x)``, known or estimated.
    clip : float, default=None
        Propensities below it are raised to it.

    Returns
    -------
    float
        The score; with few labels it may lie outside of the range of the ordinary one.

    See Also
    --------
    ipw_scores :
        Recall, precision, F1, accuracy, Brier, ROC AUC and average precision from labels alone.
    ipw_scorer : A scikit-learn scorer that gets ``propensity`` routed: tuning on labels alone.

    Examples
    --------
    >>> from sarlearn.metrics import ipw_roc_auc_score
    >>> ipw_roc_auc_score([1, 0, 1, 0], [0.9, 0.2, 0.8, 0.1], 1.0)
    1.0
    """
    return _one(influence.roc_auc, s, y_score, propensity, clip)


def ipw_average_precision_score(s, y_score, propensity, *, clip=None) -> float:
    """``sum_i v_i precision_i / sum v``, ``v = s / e``: average precision without true classes.

    ``precision_i`` is that of the rows scored as high as row i, itself counted as positive. The
    assumption is that of :func:`ipw_scores`, which has standard errors, too.

    Parameters
    ----------
    s : array-like of shape (n_samples,)
        Observed labels: 1 for a labelled positive, 0 for an unlabelled row.
    y_score : array-like of shape (n_samples,)
        Scores by which rows are ranked, the highest first.
    propensity : float or array-like of shape (n_samples,)
        ``P(s=1 | y=1, x)``, known or estimated.
    clip : float, default=None
        Propensities below it are raised to it.

    Returns
    -------
    float
        The score; with few labels it may lie outside of the range of the ordinary one.

    See Also
    --------
    ipw_scores :
        Recall, precision, F1, accuracy, Brier, ROC AUC and average precision from labels alone.
    ipw_scorer : A scikit-learn scorer that gets ``propensity`` routed: tuning on labels alone.

    Examples
    --------
    >>> from sarlearn.metrics import ipw_average_precision_score
    >>> ipw_average_precision_score([1, 0, 1, 0], [0.9, 0.2, 0.8, 0.1], 1.0)
    1.0
    """
    return _one(influence.average_precision, s, y_score, propensity, clip)


_SCORERS: dict[str, tuple[Callable, str, bool]] = {
    "recall": (ipw_recall_score, "predict", True),
    "precision": (ipw_precision_score, "predict", True),
    "f1": (ipw_f1_score, "predict", True),
    "accuracy": (ipw_accuracy_score, "predict", True),
    "neg_brier": (ipw_brier_score_loss, "predict_proba", False),
    "roc_auc": (ipw_roc_auc_score, "decision_function", True),
    "average_precision": (ipw_average_precision_score, "decision_function", True),
}


def ipw_scorer(name: str, *, clip: float | None = None):
    """A scikit-learn scorer that gets ``propensity`` routed: tuning on labels alone.

    Parameters
    ----------
    name : {"recall", "precision", "f1", "accuracy", "neg_brier", "roc_auc", "average_precision"}
        Which score; the greater is the better.
    clip : float in (0, 1), default=None
        Propensities below are raised to it.

    Returns
    -------
    scorer
        It asks for ``propensity``, which ``GridSearchCV.fit(X, s, propensity=e)`` hands on. Needs
        ``sklearn.set_config(enable_metadata_routing=True)``.

    See Also
    --------
    ipw_scores :
        Recall, precision, F1, accuracy, Brier, ROC AUC and average precision from labels alone.
    sarlearn.model_selection.PropensityStratifiedKFold :
        Folds with equal shares of labelled rows in each stratum of the propensity attributes.

    Examples
    --------
    >>> import numpy as np, sklearn
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sarlearn import SAREMClassifier
    >>> from sarlearn.metrics import ipw_scorer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = rng.random(500) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> e = 1 / (1 + np.exp(-X[:, 2]))
    >>> s = y & (rng.random(500) < e)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     search = GridSearchCV(SAREMClassifier([2]), {"C": [0.1, 10]}, scoring=ipw_scorer("f1"))
    ...     best = search.fit(X, s, propensity=e).best_params_["C"]
    >>> best in (0.1, 10)
    True
    """
    if name not in _SCORERS:
        raise ValueError(f"There is no scorer {name!r}; there are {', '.join(_SCORERS)}.")
    function, method, greater = _SCORERS[name]
    methods = (method, "predict_proba") if method == "decision_function" else method
    scorer = make_scorer(function, response_method=methods, greater_is_better=greater, clip=clip)
    try:
        return scorer.set_score_request(propensity=True)
    except RuntimeError as error:
        raise RuntimeError(
            "Scoring by propensity needs metadata routing: "
            "sklearn.set_config(enable_metadata_routing=True)."
        ) from error


def _one(estimate, s, predicted, propensity, clip, *, hard: bool = False) -> float:
    values = column_or_1d(predicted)
    if hard:
        classes = np.unique(values)
        if len(classes) > 2:
            raise ValueError(
                f"y_pred must hold two classes; got {len(classes)} values. Threshold them first."
            )
        values = values == (classes[1] if len(classes) == 2 else 1)
    else:
        values = check_scores(values, "y_score")
    _, v, _, _ = weigh(s, propensity, clip, len(values))
    return estimate(v, values)[0]
