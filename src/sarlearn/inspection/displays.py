"""What a fitted model says, in pictures, and what it uses.

Displays follow scikit-learn's convention: compute once, draw with ``plot``.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.inspection import permutation_importance

from sarlearn._compat import get_feature_names, safe_indexing
from sarlearn._engine.likelihood import log_chance
from sarlearn._view.curves import posterior_by, probability_by, propensity_by
from sarlearn._view.notebook import ShownInNotebooks
from sarlearn._view.parts import take_apart, value_text
from sarlearn._view.refits import check_count, generators
from sarlearn._view.style import (
    BLUE,
    SERIES,
    as_number,
    as_percent,
    name_rows,
    new_axes,
    panels,
    plain,
    shorten,
    tidy,
)
from sarlearn._words import listed

MAX_SHOWN = 12


class PropensityDisplay:
    """Who gets labelled: ``e_j(v) = mean_i e(x_i with x_ij = v)`` for one attribute j.

    The average over rows of the propensity when the attribute alone is set to ``v`` (partial
    dependence). A number is drawn as a curve, with the range of the middle 80 % of rows; words,
    truth values and numbers with few values as bars.

    Parameters
    ----------
    feature : str
        Name of the attribute.
    values : array-like
        Points on the curve, or the values of the bars.
    propensity, low, high : array-like of the same length
        The average, and the tenth and ninetieth percentile over rows.
    share : array-like or None
        The share of rows with each value; None for a curve.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        What was drawn on, after ``plot``.

    See Also
    --------
    ProbabilityDisplay : Who is positive: ``f_j(v) = mean_i f(x_i with x_ij = v)`` for one column j.
    select_propensity_features :
        Weigh which columns labelling may follow, by fits that name different ones.

    Examples
    --------
    >>> from sarlearn.inspection import PropensityDisplay
    >>> display = PropensityDisplay("plan", ["none", "full"], [0.2, 0.7], [0.2, 0.7], [0.2, 0.7],
    ...                             share=[0.4, 0.6])
    >>> display.plot().ax_.get_xlabel()
    'chance that a positive is labelled'
    """

    def __init__(self, feature, values, propensity, low, high, *, share=None):
        self.feature = feature
        self.values = values
        self.propensity = propensity
        self.low = low
        self.high = high
        self.share = share

    @classmethod
    def from_estimator(cls, estimator, X, feature=None, *, ax=None, **settings):
        """Compute for a fitted model and draw.

        Parameters
        ----------
        estimator : fitted classifier with ``predict_propensity``, or a pipeline that ends in one
        X : table or matrix
            The rows, as the model takes them.
        feature : str or int, optional
            A column as the user names it; by default all propensity attributes, as a grid.
        ax : matplotlib Axes, optional
            A new figure by default.
        **settings : int
            ``n_points=40`` of a curve, between the first and the last percentile of the values;
            ``max_categories=12``, the most frequent values that get a bar of their own;
            ``max_rows=1000``, drawn with ``random_state=0``, to average over.

        Returns
        -------
        PropensityDisplay
            Of the attribute; of several, that of the first, whose ``figure_`` has them all.
        """
        parts = take_apart(estimator, X)
        several = [] if feature is not None else parts.propensity_attributes
        if len(several) < 2:
            return cls(**propensity_by(parts, feature, **settings)).plot(ax=ax)
        shown = [cls(**propensity_by(parts, each.name, **settings)) for each in several]
        ax = new_axes(ax, 3.0 * -(-len(shown) // 2))
        for display, panel in zip(shown, panels(ax, [1.0] * len(shown), columns=2), strict=True):
            display.plot(panel)
        return shown[0]

    def plot(self, ax=None, *, color: str = BLUE):
        """Draw on ``ax``, or on a new figure."""
        return self._draw(ax, "chance that a positive is labelled", self.propensity, color)

    def _draw(self, ax, words: str, mean, color: str):
        ax = new_axes(ax)
        if self.share is None:
            band = {"alpha": 0.18, "linewidth": 0, "label": "middle 80 % of the rows"}
            ax.fill_between(self.values, self.low, self.high, color=color, **band)
            ax.legend(frameon=False, fontsize="small")
            ax.plot(self.values, mean, color=color, linewidth=2)
            plain(ax.set_xlabel(shorten(self.feature, 40)))
            as_number(ax.xaxis)
            ax.locator_params(axis="x", nbins=6)
            ax.set_ylabel(words)
            ax.set_ylim(0, 1)
            as_percent(ax.yaxis)
            tidy(ax)
        else:
            position = np.arange(len(self.values))[::-1]
            bars = ax.barh(position, mean, color=color, height=0.62)
            ax.bar_label(bars, [f"{value:.0%}" for value in mean], padding=4)
            name_rows(ax, position, [shorten(value_text(value)) for value in self.values])
            plain(ax.set_title(shorten(self.feature, 40)))
            ax.set_xlabel(words)
            ax.set_xlim(0, 1.15)  # room for the number beside a long bar
            ax.set_xticks([0, 0.25, 0.5, 0.75, 1.0])
            as_percent(ax.xaxis)
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
    def from_estimator(cls, estimator, X, feature=0, *, ax=None, **settings):
        """Compute for a fitted model and draw; parameters as for :class:`PropensityDisplay`."""
        data = probability_by(take_apart(estimator, X), feature, **settings)
        return cls(probability=data.pop("mean"), **data).plot(ax=ax)

    def plot(self, ax=None, *, color: str = BLUE):
        """Draw on ``ax``, or on a new figure."""
        return self._draw(ax, "probability of being positive", self.probability, color)


class PosteriorDisplay:
    """Unlabelled rows by posterior: the share with ``P(y=1|x, s=0)`` of t or more, by stratum.

    Parameters
    ----------
    thresholds : array-like of shape (n_points,)
        Posterior probabilities t.
    strata : list of str
        Names of the strata.
    share : list of array-like of shape (n_points,), one per stratum
        The share of its unlabelled rows with a posterior of t or more.
    expected : list of float
        The expected share of positives among the unlabelled rows of each stratum.
    count : list of int
        Unlabelled rows in each stratum.
    feature : str or None
        The attribute the strata are made of.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        What was drawn on, after ``plot``.

    See Also
    --------
    PropensityDisplay :
        Who gets labelled: ``e_j(v) = mean_i e(x_i with x_ij = v)`` for one attribute j.
    sarlearn.audit.suggest_audit : Unlabelled rows whose true class is worth finding out.

    Examples
    --------
    >>> from sarlearn.inspection import PosteriorDisplay
    >>> display = PosteriorDisplay([0.0, 0.5, 1.0], ["all"], [[1.0, 0.2, 0.0]], [0.25], [40])
    >>> display.plot().ax_.get_xlabel()
    'posterior probability of being positive'
    """

    def __init__(self, thresholds, strata, share, expected, count, *, feature=None):
        self.thresholds = thresholds
        self.strata = strata
        self.share = share
        self.expected = expected
        self.count = count
        self.feature = feature

    @classmethod
    def from_estimator(cls, estimator, X, s, feature=None, *, max_strata: int = 5, ax=None):
        """Compute for a fitted model.

        ``feature`` makes the strata: a column as the user names it, by default the first
        propensity attribute (all rows together where there is none). Numbers are cut in quarters.
        """
        parts = take_apart(estimator, X)
        return cls(**posterior_by(parts, parts.labelled(s), feature, max_strata)).plot(ax=ax)

    def plot(self, ax=None):
        """Draw on ``ax``, or on a new figure."""
        ax = new_axes(ax)
        styles = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
        for index, (name, share, expected) in enumerate(
            zip(self.strata, self.share, self.expected, strict=True)
        ):
            values = np.where(np.asarray(share) > 0, share, np.nan)
            ax.plot(
                self.thresholds,
                values,
                color=SERIES[index % len(SERIES)],
                linestyle=styles[index % len(styles)],
                linewidth=1.7,
                label=f"{shorten(name, 22)}: {expected:.1%} expected",
            )
        ax.set_yscale("log")
        ax.set_xlim(0, 1)
        as_percent(ax.xaxis)
        as_percent(ax.yaxis)
        ax.set_xlabel("posterior probability of being positive")
        ax.set_ylabel("share of unlabelled rows at or above")
        legend = ax.legend(
            frameon=False,
            title=None if self.feature is None else shorten(self.feature, 30),
            loc="upper center",
            bbox_to_anchor=(0.5, -0.2),
            ncols=1,
        )
        for text in [legend.get_title(), *legend.get_texts()]:
            plain(text)
        tidy(ax, grid="both")
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class ColumnImportance(ShownInNotebooks):
    """What :func:`column_importance` found, the most important column first.

    Attributes
    ----------
    features : list of str
        Names of the columns.
    loss, spread : ndarray of shape (n_features,)
        How much the mean log-likelihood of the labels falls where the column's values are those of
        other rows, and its standard deviation over the shuffles.
    log_likelihood : float
        Per row, of the labels as they are.

    See Also
    --------
    column_importance : How much each column matters, without knowing any true class.
    """

    features: list[str]
    loss: np.ndarray
    spread: np.ndarray
    log_likelihood: float

    def __str__(self) -> str:
        used = [name for name, loss in zip(self.features, self.loss, strict=True) if loss > 0]
        if not used:
            return "No column matters to the likelihood of the labels."
        return f"The labels rest most on {listed(used[:3])}."

    def _table(self):
        rows = zip(self.features, (f"{loss:.4f}" for loss in self.loss), strict=True)
        return ("column", "loss per row"), list(rows)[:MAX_SHOWN]

    def plot(self, ax=None):
        """Draw the importances as bars; returns the axes."""
        ax, shown = new_axes(ax), slice(MAX_SHOWN)
        names = [shorten(name) for name in self.features[shown]]
        place = np.arange(len(names))[::-1]
        ax.barh(place, self.loss[shown], xerr=self.spread[shown], height=0.62, color=BLUE)
        name_rows(ax, place, names)
        ax.set_xlabel("loss of log-likelihood per row")
        tidy(ax, grid="x")
        return ax


def column_importance(
    model, X, s, *, n_repeats: int = 5, max_rows: int = 2000, random_state=0
) -> ColumnImportance:
    r"""How much each column matters, without knowing any true class.

    Permutation importance as scikit-learn computes it, with a score that needs labels only: their
    log-likelihood per row, :math:`\log P(s|x)` with :math:`P(s=1|x) = f(x)\,e(x)`. A column that
    says the same as another may share its importance with it. Whether it tells the class or who
    gets labelled is what :class:`ProbabilityDisplay` and :class:`PropensityDisplay` show.

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
        Print it, or take its ``plot()``.

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
    The labels rest most on x0, x2...
    """
    n_repeats = check_count(n_repeats, "n_repeats", 1)
    max_rows = check_count(max_rows, "max_rows", 2)
    (rng,) = generators(random_state, 1)
    labelled = take_apart(model, X).labelled(s)
    rows = np.arange(len(labelled))
    if len(rows) > max_rows:
        rows = np.sort(rng.choice(rows, max_rows, replace=False))
    table, labelled = _for_shuffling(safe_indexing(X, rows)), labelled[rows]
    seed = int(rng.integers(2**31))
    found = permutation_importance(
        model, table, labelled, scoring=_log_likelihood, n_repeats=n_repeats, random_state=seed
    )
    order = np.argsort(-found.importances_mean, kind="stable")
    names = get_feature_names(table)
    return ColumnImportance(
        [f"x{j}" if names is None else str(names[j]) for j in order],
        found.importances_mean[order],
        found.importances_std[order],
        _log_likelihood(model, table, labelled),
    )


def _for_shuffling(X):
    """Rows as scikit-learn shuffles their columns: an array, or a pandas data frame."""
    if sparse.issparse(X):
        return X.toarray()
    if not hasattr(X, "columns") or hasattr(X, "iloc"):
        return X
    import narwhals as nw

    return nw.from_native(X, eager_only=True).to_pandas()


def _log_likelihood(model, X, labelled) -> float:
    """Per row, of the labels; a chance of nothing counts as one in a million."""
    parts = take_apart(model, X)
    found = log_chance(parts.probability(), parts.propensity(), labelled)
    return float(np.mean(np.maximum(found, np.log(1e-6))))
