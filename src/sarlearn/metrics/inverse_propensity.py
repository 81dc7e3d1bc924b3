"""Scores of a classifier without true classes, by inverse propensities.

With ``v = s / e`` the mean of ``v`` given ``x`` is ``P(y=1|x)``: whatever is linear in the true
classes is estimated without bias by putting ``v`` in their place. Where a score multiplies the
classes of two rows, a row is never multiplied with itself.
"""

from dataclasses import dataclass, field

import numpy as np

from sarlearn._validation import check_propensity, encode_labels
from sarlearn._words import listed
from sarlearn.exceptions import UnequalPropensityWarning, warn
from sarlearn.metrics import _influence as influence

__all__ = ["IPWScores", "ipw_scores"]

# Fewer effective labelled rows than this, and a score says little.
FEW_EFFECTIVE = 30


@dataclass
class IPWScores:
    """Scores and their standard errors; ``print`` gives them in words.

    Attributes
    ----------
    scores, standard_errors : dict of str to float
        ``recall``, ``precision``, ``f1``, ``accuracy``, ``brier``, ``roc_auc``,
        ``average_precision``.
    class_prior : float
        ``mean(s / e)``.
    effective_sample_size : float
        ``sum(1/e)^2 / sum(1/e^2)`` over labelled rows: how many equally likely labels would say as
        much.
    n_labelled, n_clipped : int
        Labelled rows, and those among them whose propensity was raised to ``clip``.
    clip : float or None
        The least propensity that was used.

    See Also
    --------
    ipw_scores :
        Recall, precision, F1, accuracy, Brier, ROC AUC and average precision from labels alone.
    """

    scores: dict[str, float]
    standard_errors: dict[str, float]
    class_prior: float
    effective_sample_size: float
    n_labelled: int
    n_clipped: int = 0
    clip: float | None = field(default=None, repr=False)

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
        if self.n_clipped:
            text += (
                f" {self.n_clipped} propensities were raised to {self.clip:g}, which lowers the "
                "weight of those rows and shifts the scores."
            )
        return text


def ipw_scores(
    s, y_prob, propensity, *, threshold: float = 0.5, clip: float | None = None
) -> IPWScores:
    r"""Recall, precision, F1, accuracy, Brier, ROC AUC and average precision from labels alone.

    With :math:`v_i = s_i / e_i` and the prediction :math:`\hat y_i`:

    .. math::

        \text{recall} = \frac{\sum v \hat y}{\sum v},\quad
        \text{precision} = \frac{\sum v \hat y}{\sum \hat y},\quad
        F_1 = \frac{2 \sum v \hat y}{\sum v + \sum \hat y},\quad
        \text{accuracy} = \overline{v \hat y + (1-v)(1-\hat y)}

    and likewise for the others. Standard errors are those of the linearised estimates, rows taken
    as independent.

    **Assumption.** The propensities are right (known, or estimated on other rows), none is 0 where
    a positive may be, and labels are only given to positives. Rows must not have been used to fit
    the classifier. A score can leave [0, 1] by chance.

    **Measured** on 500 simulated sets of 2,000 held-out rows (``experiments/trust``): with
    the true propensities every score is unbiased, within 0.6 standard errors; with SAR-EM's, whose
    form was not quite the true one, ROC AUC came out 0.03 too high, precision 0.06 and average
    precision 0.07, and scores spread up to three and a half times as far. If the propensities are
    a guess, so are the scores.

    Parameters
    ----------
    s : array-like of shape (n_rows,)
        Labels of held-out rows: 1 labelled, 0 unlabelled.
    y_prob : array-like of shape (n_rows,)
        Predicted ``P(y=1|x)``.
    propensity : float or array-like of shape (n_rows,)
        ``P(s=1|y=1,x)``, in (0, 1].
    threshold : float, default=0.5
        Rows with more count as predicted positive.
    clip : float in (0, 1), default=None
        Propensities below are raised to it: less variance, some bias. None leaves them.

    Returns
    -------
    IPWScores
        Print it, or take its ``scores`` and ``standard_errors``.

    See Also
    --------
    ipw_scorer : A scikit-learn scorer that gets ``propensity`` routed: tuning on labels alone.
    observed_log_likelihood : How well the labels are explained.

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
    p = check_scores(y_prob, "y_prob")
    labelled, v, e, n_clipped = weigh(s, propensity, clip, len(p))
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("y_prob must lie in [0, 1]; pass predict_proba(X)[:, 1].")
    predicted = p > threshold
    found = {
        "recall": influence.recall(v, predicted),
        "precision": influence.precision(v, predicted),
        "f1": influence.f1(v, predicted),
        "accuracy": influence.accuracy(v, predicted),
        "brier": influence.brier(v, p),
        "roc_auc": influence.roc_auc(v, p),
        "average_precision": influence.average_precision(v, p),
    }
    weight = 1 / e[labelled]
    effective = float(weight.sum() ** 2 / (weight**2).sum())
    if effective < FEW_EFFECTIVE:
        warn(UnequalPropensityWarning(len(weight), effective))
    return IPWScores(
        scores={name: value for name, (value, _) in found.items()},
        standard_errors={
            name: influence.standard_error(by_row) for name, (_, by_row) in found.items()
        },
        class_prior=float(v.mean()),
        effective_sample_size=effective,
        n_labelled=int(labelled.sum()),
        n_clipped=n_clipped,
        clip=clip,
    )


def check_scores(values, name: str) -> np.ndarray:
    """One finite number per row."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError(f"{name} must hold one finite number per row; got shape {values.shape}.")
    return values


def weigh(s, propensity, clip, n_rows: int):
    """Who is labelled, ``v = s / e``, the propensities, and how many of them were raised."""
    labelled, _ = encode_labels(s, warn_few=False)
    if len(labelled) != n_rows:
        raise ValueError(f"s has {len(labelled)} rows, the predictions have {n_rows}.")
    e = check_propensity(propensity, labelled)
    n_clipped = 0
    if clip is not None:
        if not 0 < clip < 1:
            raise ValueError(f"clip must lie between 0 and 1; got {clip!r}.")
        n_clipped = int(np.sum(e[labelled] < clip))
        e = np.maximum(e, clip)
    v = np.zeros(n_rows)
    v[labelled] = 1 / e[labelled]
    return labelled, v, e, n_clipped
