"""What a model uses, of any kind: importance by permutation, and the class by one column."""

from dataclasses import dataclass

import numpy as np

from sarlearn._engine.likelihood import log_chance
from sarlearn._view.curves import probability_by
from sarlearn._view.html import ShownInNotebooks
from sarlearn._view.inputs import check_count, generators, listed
from sarlearn._view.parts import Parts, take_apart
from sarlearn._view.style import BLUE, ORANGE, new_axes, plain, shorten, tidy
from sarlearn.inspection.displays import PropensityDisplay

__all__ = ["ColumnImportance", "ImportanceDisplay", "ProbabilityDisplay", "column_importance"]

MAX_SHOWN = 12


@dataclass
class ColumnImportance(ShownInNotebooks):
    """What :func:`column_importance` found, the most important column first.

    Attributes
    ----------
    features : list of str
        Names of the attributes.
    class_loss, propensity_loss : ndarray of shape (n_features,)
        How much the mean log-likelihood of the labels falls where the class model, or the
        propensity model, gets the column's values from other rows. NaN in ``propensity_loss`` for
        columns that the propensity does not see.
    class_spread, propensity_spread : ndarray of shape (n_features,)
        Standard deviations over the shuffles.
    log_likelihood : float
        Per row, of the labels as they are.

    See Also
    --------
    column_importance : How much each column matters, without knowing any true class.
    """

    features: list[str]
    class_loss: np.ndarray
    class_spread: np.ndarray
    propensity_loss: np.ndarray
    propensity_spread: np.ndarray
    log_likelihood: float

    def __str__(self) -> str:
        pairs = zip(self.features, self.class_loss, strict=True)
        of_class = [name for name, loss in pairs if loss > 0]
        text = f"The class rests most on {listed(of_class[:3])}." if of_class else ""
        order = np.argsort(-np.nan_to_num(self.propensity_loss, nan=-np.inf))
        of_labels = [self.features[j] for j in order if self.propensity_loss[j] > 0]
        if of_labels:
            text += f" Who gets labelled rests most on {listed(of_labels[:3])}."
        return text.strip() or "No column matters to the likelihood of the labels."

    def _table(self):
        rows = [
            (name, f"{a:.4f}", "" if np.isnan(b) else f"{b:.4f}")
            for name, a, b in zip(self.features, self.class_loss, self.propensity_loss, strict=True)
        ]
        return ("column", "class", "labelling"), rows[:MAX_SHOWN]

    def to_frame(self):
        """The table as a pandas DataFrame, one row per column."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install 'sarlearn[tables]'.") from error
        names = ("class_loss", "class_spread", "propensity_loss", "propensity_spread")
        columns = {name: getattr(self, name) for name in names}
        return pd.DataFrame(columns, index=pd.Index(self.features, name="feature"))

    def plot(self, ax=None):
        """Draw the importances as bars; returns the axes."""
        return ImportanceDisplay(self).plot(ax=ax).ax_


def column_importance(
    model, X, s, *, n_repeats: int = 5, max_rows: int = 2000, random_state=0
) -> ColumnImportance:
    r"""How much each column matters, without knowing any true class.

    The score is the log-likelihood of the labels, :math:`\log P(s|x)` with
    :math:`P(s=1|x) = f(x)\,e(x)`, per row. A column's importance for the class is what is lost when
    :math:`f` alone sees values of other rows in it; for labelling, when :math:`e` alone does. Both
    are of the model: a column that says the same as another may share its importance with it.

    Parameters
    ----------
    model : a fitted learner with ``predict_propensity``, or a pipeline that ends in one
        The model to look at.
    X, s : table or matrix, and labels
        Best rows that the model was not fitted to.
    n_repeats : int >= 1, default=5
        Shuffles of each column.
    max_rows : int >= 2, default=2000
        Rows drawn at random to compute with.
    random_state : int, Generator or None, default=0
        Seed of what is drawn.

    Returns
    -------
    ColumnImportance
        Print it, or take its ``plot()``, ``to_frame()``.

    See Also
    --------
    ProbabilityDisplay : How the class follows one column.
    PropensityDisplay : How labelling does.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SAREMClassifier
    >>> from sarlearn.inspection import column_importance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> y = rng.random(1000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> s = y & (rng.random(1000) < 1 / (1 + np.exp(-2 * X[:, 2])))
    >>> print(column_importance(SAREMClassifier([2]).fit(X, s), X, s))
    The class rests most on x0... Who gets labelled rests most on x2.
    """
    n_repeats = check_count(n_repeats, "n_repeats", 1)
    max_rows = check_count(max_rows, "max_rows", 2)
    parts = take_apart(model, X)
    rng, draw = generators(random_state, 2)
    rows = np.arange(parts.n_rows)
    if len(rows) > max_rows:
        rows = np.sort(draw.choice(rows, max_rows, replace=False))
    labelled, matrix = parts.labelled(s)[rows], parts.rows(rows)
    f, e = _probability(parts, matrix), _propensity(parts, matrix)
    base = _log_likelihood(f, e, labelled)
    losses = np.full((4, len(parts.attributes)), np.nan)
    for j, attribute in enumerate(parts.attributes):
        of_e = attribute in parts.propensity_attributes
        found = np.full((2, n_repeats), np.nan)
        kept = matrix[:, attribute.positions].copy()
        for repeat in range(n_repeats):
            matrix[:, attribute.positions] = kept[rng.permutation(len(kept))]
            found[0, repeat] = base - _log_likelihood(_probability(parts, matrix), e, labelled)
            if of_e:
                found[1, repeat] = base - _log_likelihood(f, _propensity(parts, matrix), labelled)
        matrix[:, attribute.positions] = kept
        losses[0, j], losses[1, j] = found[0].mean(), found[0].std()
        losses[2, j], losses[3, j] = found[1].mean(), found[1].std()
    order = np.argsort(-losses[0], kind="stable")
    names = [parts.attributes[j].name for j in order]
    return ColumnImportance(names, *losses[:, order], log_likelihood=base)  # type: ignore[misc]


def _probability(parts: Parts, matrix: np.ndarray) -> np.ndarray:
    return parts.final.predict_proba(parts.like_matrix(matrix))[:, 1]


def _propensity(parts: Parts, matrix: np.ndarray) -> np.ndarray:
    return parts.final.predict_propensity(parts.like_matrix(matrix))


def _log_likelihood(f, e, labelled) -> float:
    """Per row, of the labels; a chance of nothing counts as one in a million."""
    return float(np.mean(np.maximum(log_chance(f, e, labelled), np.log(1e-6))))


class ImportanceDisplay:
    """Bars of a :class:`ColumnImportance`: for the class, and for who gets labelled.

    Parameters
    ----------
    importance : ColumnImportance
        What to draw.
    max_shown : int, default=12
        Columns shown.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        What was drawn on, after ``plot``.

    See Also
    --------
    column_importance : How much each column matters, without knowing any true class.
    ProbabilityDisplay : Who is positive: ``f_j(v) = mean_i f(x_i with x_ij = v)`` for one column j.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.inspection import ColumnImportance, ImportanceDisplay
    >>> nothing = np.zeros(1)
    >>> found = ColumnImportance(["age"], np.ones(1), nothing, nothing, nothing, -0.5)
    >>> ImportanceDisplay(found).plot().ax_.get_xlabel()
    'loss of log-likelihood per row'
    """

    def __init__(self, importance: ColumnImportance, *, max_shown: int = MAX_SHOWN):
        self.importance = importance
        self.max_shown = max_shown

    @classmethod
    def from_estimator(cls, estimator, X, s, *, ax=None, **settings):
        """Compute with :func:`column_importance`, which takes the settings, and draw."""
        return cls(column_importance(estimator, X, s, **settings)).plot(ax=ax)

    def plot(self, ax=None):
        """Draw on ``ax``, or on a new figure."""
        found, ax = self.importance, new_axes(ax)
        shown = found.features[: self.max_shown]
        place = np.arange(len(shown))[::-1]
        for shift, color, words, loss, spread in (
            (0.2, BLUE, "class", found.class_loss, found.class_spread),
            (-0.2, ORANGE, "labelling", found.propensity_loss, found.propensity_spread),
        ):
            ax.barh(
                place + shift,
                np.nan_to_num(loss[: len(shown)]),
                xerr=np.nan_to_num(spread[: len(shown)]),
                height=0.36,
                color=color,
                label=words,
                error_kw={"elinewidth": 1},
            )
        ax.set_yticks(place, [shorten(name) for name in shown])
        for text in ax.get_yticklabels():
            plain(text)
        ax.set_xlabel("loss of log-likelihood per row")
        ax.legend(frameon=False, loc="lower right")
        tidy(ax, grid="x")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class ProbabilityDisplay(PropensityDisplay):
    """Who is positive: ``f_j(v) = mean_i f(x_i with x_ij = v)`` for one column j.

    The partial dependence of the class probability, drawn as :class:`PropensityDisplay` draws that
    of the propensity.

    Parameters
    ----------
    feature : str
        Name of the attribute.
    values : array-like
        Points on the curve, or the values of the bars.
    probability, low, high : array-like of the same length
        The average, and the tenth and ninetieth percentile over rows.
    share : array-like or None
        The share of rows with each value; None for a curve.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        What was drawn on, after ``plot``.

    See Also
    --------
    PropensityDisplay :
        Who gets labelled: ``e_j(v) = mean_i e(x_i with x_ij = v)`` for one attribute j.
    column_importance : How much each column matters, without knowing any true class.

    Examples
    --------
    >>> from sarlearn.inspection import ProbabilityDisplay
    >>> display = ProbabilityDisplay("age", [20, 60], [0.2, 0.7], [0.1, 0.5], [0.3, 0.8])
    >>> display.plot().ax_.get_ylabel()
    'probability of being positive'
    """

    def __init__(self, feature, values, probability, low, high, *, share=None):
        super().__init__(feature, values, None, low, high, share=share)
        self.probability = probability

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        *,
        feature=0,
        n_points: int = 40,
        max_categories: int = 12,
        max_rows: int = 1000,
        random_state: int = 0,
        ax=None,
    ):
        """Compute for a fitted model and draw; parameters as for :class:`PropensityDisplay`."""
        parts = take_apart(estimator, X)
        data = probability_by(parts, feature, n_points, max_categories, max_rows, random_state)
        data = {"probability" if key == "mean" else key: value for key, value in data.items()}
        return cls(**data).plot(ax=ax)

    def plot(self, ax=None, *, color: str = BLUE):
        """Draw on ``ax``, or on a new figure."""
        return self._draw(ax, "probability of being positive", self.probability, color)
