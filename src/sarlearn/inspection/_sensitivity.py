"""How much depends on the level of the propensity: what if it were off by a factor?"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logit

from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.label_model import LabelModel, Penalties
from sarlearn._view.draw import draw_choices
from sarlearn._view.parts import Parts, take_apart
from sarlearn._view.refits import check_positive
from sarlearn._view.style import new_axes
from sarlearn.classifiers import KnownPropensityClassifier, SAREMClassifier
from sarlearn.metrics.inverse_propensity import ipw_scores

# On the slope of the class logit, towards 1: hardly any.
RIDGE = 1e-2


@dataclass
class ScaledPropensity:
    """Class prior and scores if every propensity were off by a factor.

    Attributes
    ----------
    factor : float
        By which propensities are multiplied.
    class_prior, recall, precision, f1 : float
        What would follow.

    See Also
    --------
    sensitivity : The class prior if every propensity were off by a factor.
    """

    factor: float
    class_prior: float
    recall: float
    precision: float
    f1: float


@dataclass
class SensitivityResult:
    """What :func:`sensitivity` found; ``print`` gives it in words.

    Attributes
    ----------
    class_prior : float
        Of the model given.
    scaled : list of ScaledPropensity
        Recall, precision and F1 are those of the given model, estimated on the training rows with
        the scaled propensities.

    See Also
    --------
    sensitivity : The class prior if every propensity were off by a factor.
    """

    class_prior: float
    scaled: list[ScaledPropensity] = field(repr=False)

    def __str__(self) -> str:
        text = f"The model says {self.class_prior:.1%} positives."
        low, high = self.scaled[0], self.scaled[-1]
        text += (
            f" If all propensities were {low.factor:g} to {high.factor:g} times what is estimated, "
            f"there would be {high.class_prior:.1%} to {low.class_prior:.1%} positives, and the "
            f"model's precision would be {min(high.precision, 1):.1%} to "
            f"{min(low.precision, 1):.1%}. This is no interval: it shows what would follow, not "
            "how likely it is."
        )
        as_they_are = min(self.scaled, key=lambda row: abs(row.factor - 1))
        if abs(as_they_are.class_prior - self.class_prior) > 0.005:
            text += (
                " With the propensities held as they are, a fit of the class alone says "
                f"{as_they_are.class_prior:.1%}, not {self.class_prior:.1%}."
            )
        return text

    __repr__ = __str__

    def plot(self, ax=None):
        """Draw the class prior under every choice, from low to high, beside the model's."""
        rows = [(f"propensities × {row.factor:.2f}", row.class_prior) for row in self.scaled]
        if ax is None:
            ax = new_axes(None, height=1.6 + 0.3 * len(rows))
        draw_choices(ax, rows, self.class_prior)
        return ax


def sensitivity(
    model,
    X,
    s,
    *,
    factors: Sequence[float] = (0.8, 0.9, 1.0, 1.1, 1.25),
) -> SensitivityResult:
    r"""Show class prior and scores if every propensity were off by a factor.

    For each factor ``k`` the propensity is set to :math:`\min(k\,\hat e, 1)` and taken as known:
    the class model is fitted anew (for learners other than SAR-EM by slope and level of its logit),
    and the model's own predictions are scored. Nothing is tested: each propensity is taken as true
    in turn.

    Parameters
    ----------
    model : fitted learner with ``predict_propensity``, or a pipeline that ends in one
        The model to look at.
    X, s : the data that it was fitted to
        Rows and labels.
    factors : sequence of float > 0, rising, default=(0.8, 0.9, 1.0, 1.1, 1.25)
        By which every propensity may be off; two at least.

    Returns
    -------
    SensitivityResult
        Print it, or take its ``plot()``.

    See Also
    --------
    bootstrap : Confidence intervals from resampled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SAREMClassifier
    >>> from sarlearn.inspection import sensitivity
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> y = rng.random(1000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> s = y & (rng.random(1000) < 1 / (1 + np.exp(-X[:, 2])))
    >>> model = SAREMClassifier([2]).fit(X, s)
    >>> lower, higher = sensitivity(model, X, s, factors=(0.8, 1.25)).scaled
    >>> lower.factor, lower.class_prior > higher.class_prior
    (0.8, True)
    """
    factors = [check_positive(factor, "factors") for factor in factors]
    if len(factors) < 2 or not np.all(np.diff(factors) > 0):
        raise ValueError(f"factors must be two or more numbers that rise; got {factors!r}.")
    parts = take_apart(model, X)
    final = parts.final
    labelled = parts.labelled(s)
    seen = final.classes_[labelled.astype(int)]
    f, e = parts.probability(), parts.propensity()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd factor is shown, not warned of
        scaled = [_scale(parts, seen, labelled, f, e, k) for k in factors]
    return SensitivityResult(float(final.class_prior_), scaled)


def _scale(parts: Parts, s, labelled, f, e, factor: float) -> ScaledPropensity:
    scaled = np.clip(factor * e, 1e-6, 1.0)
    found = ipw_scores(labelled, f, scaled).scores
    scores = [found[name] for name in ("recall", "precision", "f1")]
    return ScaledPropensity(float(factor), _class_prior(parts, s, labelled, scaled), *scores)


def _class_prior(parts: Parts, s, labelled, e) -> float:
    """With propensities that are known: SAR-EM's class model anew, of others slope and level."""
    final = parts.final
    if isinstance(final, SAREMClassifier):
        model = KnownPropensityClassifier(C=final.C, classifier=final.classifier)
        return float(model.fit(parts.matrix, s, propensity=e).class_prior_)
    eta = logit(np.clip(parts.probability(), 1e-9, 1 - 1e-9))[:, None]
    rows = RowBlocks(eta).attach(score=eta, labelled=labelled, e=e, not_e=1.0 - e)
    labels = LabelModel(rows, Penalties(RIDGE, towards=1.0), positive=True)
    return labels.fit(labels.start()).class_prior
