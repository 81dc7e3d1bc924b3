"""Scores of a classifier without true classes, by inverse propensities.

With ``v = s / e`` the mean of ``v`` given ``x`` is ``P(y=1|x)``: whatever is linear in the true
classes is estimated without bias by putting ``v`` in their place. Where a score multiplies the
classes of two rows, a row is never multiplied with itself. Each estimate comes with the influence
of every row on it, which gives the standard error.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import make_scorer
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.validation import column_or_1d

from sarlearn._validation import check_probabilities, check_propensity, encode_labels
from sarlearn._words import listed
from sarlearn.exceptions import TrustWarning, warn

# Fewer effective labelled rows than this, and a score says little.
FEW_EFFECTIVE = 30


@dataclass
class IPWScores:
    """Scores and their standard errors; ``print`` gives them in words.

    Attributes
    ----------
    scores, standard_errors : dict of str to float
        ``recall``, ``precision``, ``f1``, ``accuracy``, ``brier``, ``roc_auc``.
    class_prior : float
        ``mean(s / e)``.
    effective_sample_size : float
        ``sum(1/e)^2 / sum(1/e^2)`` over labelled rows: how many equally likely labels would say as
        much.
    n_labelled : int
        Labelled rows.

    See Also
    --------
    ipw_scores : All scores, with standard errors.
    """

    scores: dict[str, float]
    standard_errors: dict[str, float]
    class_prior: float
    effective_sample_size: float
    n_labelled: int

    def __str__(self) -> str:
        shown = (
            f"{name.replace('_', ' ')} {value:.3f} ± {self.standard_errors[name]:.3f}"
            for name, value in self.scores.items()
        )
        text = "Estimated without true classes: " + ", ".join(shown) + ". "
        text += (
            f"They rest on {self.n_labelled} labelled rows worth {self.effective_sample_size:.0f} "
            "equally likely ones, and are right if the propensities are."
        )
        beyond = [name.replace("_", " ") for name, value in self.scores.items() if value > 1]
        if beyond:
            text += (
                f" Beyond 1, as {listed(beyond)} here, an estimate is so by chance, or because the "
                "propensities are too low: take it for 1 at best, and check the propensities."
            )
        return text


def ipw_scores(s, y_prob, propensity, *, threshold: float = 0.5) -> IPWScores:
    r"""Recall, precision, F1, accuracy, Brier score and ROC AUC without true classes.

    With the weights :math:`v_i = s_i / e_i` and the prediction :math:`\hat y_i`,

    .. math::

        \text{recall} = \frac{\sum v \hat y}{\sum v},\quad
        \text{precision} = \frac{\sum v \hat y}{\sum \hat y},\quad
        F_1 = \frac{2 \sum v \hat y}{\sum v + \sum \hat y},\quad
        \text{accuracy} = \overline{v \hat y + (1-v)(1-\hat y)}

    and likewise for the others. Standard errors are those of the linearised estimates, for
    independent rows.

    **Assumption.** The propensities are right (known, or estimated on other rows), none is 0 where
    a positive may be, and only positives are labelled. Rows must not have been used to fit the
    classifier. Scores are unbiased then, and can leave [0, 1] by chance; with propensities that are
    a guess, so are the scores.

    Parameters
    ----------
    s : array-like of shape (n_rows,)
        Labels of held-out rows: 1 labelled, 0 unlabelled.
    y_prob : array-like of shape (n_rows,)
        Predicted ``P(y=1|x)``.
    propensity : float or array-like of shape (n_rows,)
        ``P(s=1|y=1,x)``, in (0, 1]. ``np.maximum(propensity, 0.05)`` has less variance, and some
        bias.
    threshold : float, default=0.5
        Rows with more count as predicted positive.

    Returns
    -------
    IPWScores
        Print it, or take its ``scores`` and ``standard_errors``.

    See Also
    --------
    ipw_score : One of them.
    ipw_scorer : A scorer for searches.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.metrics import ipw_scores
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < p
    >>> e = np.where(rng.random(5000) < 0.5, 0.2, 0.6)
    >>> s = y & (rng.random(5000) < e)
    >>> found = ipw_scores(s, p, e)
    >>> round(found.scores["recall"], 2), round(found.standard_errors["recall"], 2)
    (0.75, 0.02)
    """
    labelled, v = _weigh(s, propensity)
    p = check_probabilities(y_prob, "y_prob", len(v))
    predicted = p > threshold
    found = {
        name: estimate(v, predicted if name in _OF_CLASSES else p)
        for name, estimate in _ESTIMATES.items()
    }
    effective = float(v.sum() ** 2 / (v**2).sum())
    if effective < FEW_EFFECTIVE:
        text = (
            f"The {labelled.sum()} labelled rows are worth {effective:.0f} equally likely ones: "
            "the propensities are too unequal for these scores. Use more rows, or raise the least "
            "propensities."
        )
        warn(TrustWarning("unequal-propensities", text))
    return IPWScores(
        scores={name: value for name, (value, _) in found.items()},
        standard_errors={name: _standard_error(by_row) for name, (_, by_row) in found.items()},
        class_prior=float(v.mean()),
        effective_sample_size=effective,
        n_labelled=int(labelled.sum()),
    )


def ipw_score(s, y_pred, propensity, *, metric: str = "f1") -> float:
    """One of the scores of :func:`ipw_scores`, for predictions of any learner.

    Formulas and assumptions are those of :func:`ipw_scores`, which also has standard errors.

    Parameters
    ----------
    s : array-like of shape (n_rows,)
        Labels of held-out rows: 1 labelled, 0 unlabelled.
    y_pred : array-like of shape (n_rows,)
        Predicted classes for recall, precision, F1 and accuracy; predicted ``P(y=1|x)`` for
        ``"brier"``; scores that rank the rows, the highest first, for ``"roc_auc"``.
    propensity : float or array-like of shape (n_rows,)
        ``P(s=1|y=1,x)``, in (0, 1].
    metric : str, default="f1"
        ``"recall"``, ``"precision"``, ``"f1"``, ``"accuracy"``, ``"brier"`` or ``"roc_auc"``.

    Returns
    -------
    float
        The score; with few labels it may lie outside of the range of the ordinary one.

    See Also
    --------
    ipw_scores : All scores, with standard errors.
    ipw_scorer : A scorer for searches.

    Examples
    --------
    >>> from sarlearn.metrics import ipw_score
    >>> ipw_score([1, 1, 0, 0], [1, 0, 1, 0], [0.5, 0.25, 0.5, 0.5], metric="recall")
    0.333...
    >>> ipw_score([1, 0, 1, 0], [0.9, 0.2, 0.8, 0.1], 1.0, metric="roc_auc")
    1.0
    """
    _check_name(metric, _ESTIMATES, "metric")
    _, v = _weigh(s, propensity)
    values = column_or_1d(y_pred)
    check_consistent_length(v, values)
    if metric in _OF_CLASSES:
        classes = np.unique(values)
        if len(classes) > 2:
            raise ValueError(
                f"y_pred must hold two classes for {metric!r}; got {len(classes)} values. "
                "Threshold them first."
            )
        values = values == (classes[1] if len(classes) == 2 else 1)
    elif metric == "brier":
        values = check_probabilities(values, "y_pred", len(v))
    else:
        assert_all_finite(values, input_name="y_pred")
    return _ESTIMATES[metric](v, values)[0]


def ipw_scorer(metric: str = "f1"):
    """Make a scikit-learn scorer that uses propensities, to tune on labels alone.

    Parameters
    ----------
    metric : str, default="f1"
        As in :func:`ipw_score`, but ``"neg_brier"``: the greater is the better.

    Returns
    -------
    scorer
        It asks for ``propensity``, which ``GridSearchCV.fit(X, s, propensity=e)`` passes on. Needs
        ``sklearn.set_config(enable_metadata_routing=True)``.

    See Also
    --------
    ipw_scores : All scores, with standard errors.

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
    _check_name(metric, [name.replace("brier", "neg_brier") for name in _ESTIMATES], "scorer")
    ranks = ("decision_function", "predict_proba")
    method = {"neg_brier": "predict_proba"} | dict.fromkeys(_OF_CLASSES, "predict")
    scorer = make_scorer(
        ipw_score,
        response_method=method.get(metric, ranks),
        greater_is_better=metric != "neg_brier",
        metric=metric.removeprefix("neg_"),
    )
    return scorer.set_score_request(propensity=True)


def _check_name(name: str, known, what: str) -> None:
    if name not in known:
        raise ValueError(f"There is no {what} {name!r}; there are {', '.join(known)}.")


def _weigh(s, propensity) -> tuple[np.ndarray, np.ndarray]:
    """Who is labelled, and ``v = s / e``."""
    labelled, _ = encode_labels(s, warn_few=False)
    e = check_propensity(propensity, labelled)
    return labelled, np.where(labelled, 1 / np.where(labelled, e, 1.0), 0.0)


def _recall(v, predicted):
    return _quotient(v * predicted, v, "recall", "no row is labelled")


def _precision(v, predicted):
    return _quotient(v * predicted, predicted * 1.0, "precision", "no row is predicted positive")


def _f1(v, predicted):
    return _quotient(2 * v * predicted, v + predicted, "F1", "no row is labelled or predicted")


def _accuracy(v, predicted):
    right = np.where(predicted, v, 1 - v)
    return float(right.mean()), right - right.mean()


def _brier(v, p):
    loss = v * (1 - p) ** 2 + (1 - v) * p**2
    return float(loss.mean()), loss - loss.mean()


def _quotient(numerator, denominator, what: str, reason: str):
    bottom = float(denominator.mean())
    if bottom == 0:
        warn(UndefinedMetricWarning(f"{what} is undefined and set to 0: {reason}."))
        return 0.0, np.zeros(len(numerator))
    value = float(numerator.mean()) / bottom
    return value, (numerator - value * denominator) / bottom


def _roc_auc(v, p):
    n, u = len(v), 1 - v
    below, equal = _at_ranks(p, u)
    below = below + (equal - u) / 2  # weight of negatives each row beats
    lower, equal = _at_ranks(p, v)
    above = v.sum() - lower - equal + (equal - v) / 2
    pairs = n * (n - 1)
    numerator = float(v @ below) / pairs
    # Of distinct rows only: v (1 - v) of one row is not the product of two.
    denominator = float(v.sum() * u.sum() - v @ u) / pairs
    value = numerator / denominator
    influence_top = (v * below + u * above) / (n - 1) - 2 * numerator
    influence_bottom = (v * (u.sum() - u) + u * (v.sum() - v)) / (n - 1) - 2 * denominator
    return value, (influence_top - value * influence_bottom) / denominator


def _at_ranks(p, weight) -> tuple[np.ndarray, np.ndarray]:
    """Sums of a weight over the rows scored below each row, and over those scored as it is."""
    _, code = np.unique(p, return_inverse=True)
    sums = np.bincount(code, weights=weight)
    return (np.cumsum(sums) - sums)[code], sums[code]


def _standard_error(influence: np.ndarray) -> float:
    return float(np.sqrt(np.mean(influence**2) / len(influence)))


_OF_CLASSES = {"recall": _recall, "precision": _precision, "f1": _f1, "accuracy": _accuracy}
_ESTIMATES = {
    **_OF_CLASSES,
    "brier": _brier,
    "roc_auc": _roc_auc,
}
