"""How much depends on choices: settings, propensity attributes, and a propensity that is off."""

import warnings
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.stats import spearmanr
from sklearn.base import clone

from sarlearn._view.draw import draw_choices
from sarlearn._view.html import ShownInNotebooks
from sarlearn._view.inputs import check_count, check_positive
from sarlearn._view.parts import take_apart
from sarlearn._view.style import new_axes
from sarlearn._words import share_text
from sarlearn.classifiers import (
    BoostedSARClassifier,
    CrossFitSARClassifier,
    KnownPropensityClassifier,
    SAREMClassifier,
)
from sarlearn.classifiers._trust import no_second_look
from sarlearn.metrics.inverse_propensity import ipw_scores

__all__ = ["ScaledPropensity", "SensitivityResult", "SensitivityRow", "sensitivity"]


@dataclass
class SensitivityRow:
    """One choice and what it leads to.

    Attributes
    ----------
    setting : dict
        Parameters that were changed, and their values.
    class_prior, label_frequency : float
        What the changed model says.
    rank_agreement : float
        Spearman's correlation of ``f`` with that of the model given.
    top_agreement : float
        The share of the model's top tenth of unlabelled rows that stays there.

    See Also
    --------
    sensitivity : Class prior, label frequency and ranking over other choices than the model's.
    """

    setting: dict
    class_prior: float
    label_frequency: float
    rank_agreement: float
    top_agreement: float

    @property
    def name(self) -> str:
        return ", ".join(f"{key}={value}" for key, value in self.setting.items())


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
    sensitivity : Class prior, label frequency and ranking over other choices than the model's.
    """

    factor: float
    class_prior: float
    recall: float
    precision: float
    f1: float


@dataclass
class SensitivityResult(ShownInNotebooks):
    """What :func:`sensitivity` found; ``print`` gives it in words.

    Attributes
    ----------
    class_prior, label_frequency : float
        Of the model given.
    rows : list of SensitivityRow
        One per point of the grid.
    scaled : list of ScaledPropensity
        Recall, precision and F1 are those of the given model, estimated on the training rows with
        the scaled propensities.

    See Also
    --------
    sensitivity : Class prior, label frequency and ranking over other choices than the model's.
    """

    class_prior: float
    label_frequency: float
    rows: list[SensitivityRow] = field(repr=False)
    scaled: list[ScaledPropensity] = field(repr=False)

    def __str__(self) -> str:
        text = f"The model says {self.class_prior:.1%} positives."
        if self.rows:
            priors = [row.class_prior for row in self.rows]
            agreement = min(row.rank_agreement for row in self.rows)
            text += (
                f" Over {len(self.rows)} settings it would be {min(priors):.1%} to "
                f"{max(priors):.1%}; the ranking of rows agrees with a correlation of at least "
                f"{agreement:.2f}."
            )
            farthest = max(self.rows, key=lambda row: abs(row.class_prior - self.class_prior))
            text += f" It moves most with {farthest.name} ({farthest.class_prior:.1%})."
        low, high = self.scaled[0], self.scaled[-1]
        text += (
            f" If all propensities were {low.factor:g} to {high.factor:g} times what is estimated, "
            f"there would be {high.class_prior:.1%} to {low.class_prior:.1%} positives, and the "
            f"model's precision would be {_between(high.precision, low.precision)}."
        )
        as_they_are = min(self.scaled, key=lambda row: abs(row.factor - 1))
        if abs(as_they_are.class_prior - self.class_prior) > 0.005:
            text += (
                " With the propensities held as they are, a fit of the class alone says "
                f"{as_they_are.class_prior:.1%}, not {self.class_prior:.1%}."
            )
        return text

    def plot(self, ax=None):
        """Draw the class prior under every choice, from low to high, beside the model's."""
        rows = [(row.name, row.class_prior) for row in self.rows]
        rows += [(f"propensities × {row.factor:.2f}", row.class_prior) for row in self.scaled]
        if ax is None:
            ax = new_axes(None, height=1.6 + 0.3 * len(rows))
        draw_choices(ax, rows, self.class_prior)
        return ax

    def _figure_height(self) -> float:
        return 1.4 + 0.26 * (len(self.rows) + len(self.scaled))

    def _table(self):
        own = (
            "this model",
            f"{self.class_prior:.1%}",
            f"{self.label_frequency:.1%}",
            "1.00",
            "100%",
        )
        rows = [
            (
                row.name,
                f"{row.class_prior:.1%}",
                f"{row.label_frequency:.1%}",
                f"{row.rank_agreement:.2f}",
                f"{row.top_agreement:.0%}",
            )
            for row in self.rows
        ]
        rows += [
            (f"propensities × {row.factor:.2f}", f"{row.class_prior:.1%}", "", "", "")
            for row in self.scaled
        ]
        header = ("choice", "class prior", "label frequency", "rank agreement", "same top tenth")
        return header, [own, *rows]


def sensitivity(
    model,
    X,
    s,
    *,
    decay=None,
    C=None,
    propensity_features=None,
    propensity_bounds: tuple[float, float] = (0.8, 1.25),
    n_factors: int = 5,
) -> SensitivityResult:
    r"""Class prior, label frequency and ranking over other choices than the model's.

    The model is refitted for every combination of the settings given. Apart from that, the
    propensity is scaled, :math:`e_k = \min(k\,\hat e, 1)` for factors :math:`k` within bounds: the
    class model is refitted with it known, and the model's own predictions are scored with it.

    **Assumption.** None is tested: the grid shows what would be concluded under other assumptions,
    each taken as true in turn.

    Parameters
    ----------
    model : fitted SAREMClassifier, CrossFitSARClassifier or BoostedSARClassifier
        Or a pipeline that ends in one.
    X, s : the data that it was fitted to
        Rows and labels.
    decay, C : sequence of float, default=None
        Values to try; None keeps the model's.
    propensity_features : list of choices, default=None
        Each as the learner takes it, ``[["age"], ["age", "site"], []]`` say.
    propensity_bounds : pair of float, default=(0.8, 1.25)
        Least and greatest factor by which every propensity may be off.
    n_factors : int >= 2, default=5
        Number of factors, evenly spaced on a logarithmic scale.

    Returns
    -------
    SensitivityResult
        Print it, or take its ``plot()``.

    See Also
    --------
    bootstrap : Intervals for what a fitted model says, from refits to resampled rows.

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
    >>> result = sensitivity(model, X, s, decay=[0.8, 1.0])
    >>> [row.name for row in result.rows]
    ['decay=0.8', 'decay=1.0']
    """
    factors = _factors(propensity_bounds, n_factors)
    parts = take_apart(model, X)
    final = parts.final
    if not isinstance(final, SAREMClassifier | CrossFitSARClassifier | BoostedSARClassifier):
        raise TypeError(
            "sensitivity needs a SAREMClassifier, CrossFitSARClassifier or BoostedSARClassifier; "
            f"got {type(final).__name__}."
        )
    if isinstance(final, BoostedSARClassifier) and (decay is not None or C is not None):
        raise ValueError("decay and C are of logistic models; a BoostedSARClassifier has neither.")
    labelled = parts.labelled(s)
    seen = final.classes_[labelled.astype(int)]
    f, e = parts.probability(), parts.propensity()
    named = {"decay": decay, "C": C, "propensity_features": propensity_features}
    grid = {key: _values(key, values) for key, values in named.items() if values is not None}
    rows = []
    with warnings.catch_warnings(), no_second_look():
        warnings.simplefilter("ignore")  # an odd corner of the grid is shown, not warned of
        for values in product(*grid.values()) if grid else ():
            setting = dict(zip(grid, values, strict=True))
            other = clone(final).set_params(**setting).fit(parts.matrix, seen)
            rows.append(_compare(setting, other, parts.matrix, f, labelled))
        scaled = [_scale(final, parts.matrix, seen, labelled, f, e, k) for k in factors]
    return SensitivityResult(
        class_prior=float(final.class_prior_),
        label_frequency=float(final.label_frequency_),
        rows=rows,
        scaled=scaled,
    )


def _between(first: float, second: float) -> str:
    """Two estimated shares; an estimate by inverse propensity can exceed 100 %, and is told so."""
    low, high = sorted((first, second))
    if low > 1:
        return f"at its upper end ({share_text(low)})"
    return f"{low:.1%} to {share_text(high)}"


def _factors(bounds, n_factors) -> np.ndarray:
    n_factors = check_count(n_factors, "n_factors", 2)
    if np.shape(bounds) != (2,) or not bounds[0] < bounds[1]:
        raise ValueError(f"propensity_bounds must be two rising factors; got {bounds!r}.")
    low, high = (check_positive(float(bound), "propensity_bounds") for bound in bounds)
    return np.geomspace(low, high, n_factors)


def _values(name: str, values) -> list:
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise ValueError(f"{name} must be a list of values to try; got {values!r}.")
    if not len(values):
        raise ValueError(f"{name} is empty: leave it out to keep the model's.")
    return list(values)


def _compare(setting, other, matrix, f, labelled) -> SensitivityRow:
    new = other.predict_proba(matrix)[:, 1]
    unlabelled = ~labelled
    n_top = max(int(unlabelled.sum()) // 10, 1)
    top = [set(np.argsort(-values[unlabelled], kind="stable")[:n_top]) for values in (f, new)]
    return SensitivityRow(
        setting=setting,
        class_prior=float(other.class_prior_),
        label_frequency=float(other.label_frequency_),
        rank_agreement=float(spearmanr(f, new).statistic),
        top_agreement=len(top[0] & top[1]) / n_top,
    )


def _with_known_propensity(final) -> KnownPropensityClassifier | BoostedSARClassifier:
    """The learner with the same class model that takes a known propensity."""
    if isinstance(final, BoostedSARClassifier):
        return clone(final).set_params(propensity_features=())
    # A cross-fit with a classifier of the user has no penalty; 1 is then without effect.
    C = getattr(final, "C_", final.C if final.classifier is None else 1.0)
    return KnownPropensityClassifier(C=C, classifier=final.classifier)


def _scale(final, matrix, s, labelled, f, e, factor: float) -> ScaledPropensity:
    scaled = np.clip(factor * e, 1e-6, 1.0)
    refit = _with_known_propensity(final).fit(matrix, s, propensity=scaled)
    found = ipw_scores(labelled, f, scaled).scores
    return ScaledPropensity(
        float(factor),
        float(refit.class_prior_),
        found["recall"],
        found["precision"],
        found["f1"],
    )
