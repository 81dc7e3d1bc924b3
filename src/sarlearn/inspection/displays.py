"""What a fitted model says, in pictures.

Displays follow scikit-learn's convention: compute once, draw with ``plot``.
"""

import numpy as np

from sarlearn._view.curves import probability_by, propensity_by
from sarlearn._view.parts import take_apart, value_text
from sarlearn._view.style import (
    BLUE,
    as_number,
    as_percent,
    name_rows,
    new_axes,
    panels,
    plain,
    shorten,
    tidy,
)


class PropensityDisplay:
    """How the chance of a label depends on one attribute (partial dependence).

    The mean propensity over rows when this attribute alone is set to each value. A number is drawn
    as a curve, with the range of the middle 80% of rows; words, truth values and numbers with few
    values as bars.

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
    ProbabilityDisplay : The same for the class probability.
    select_propensity_features : Weigh which columns labelling may depend on.

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
            band = {"alpha": 0.18, "linewidth": 0, "label": "middle 80% of the rows"}
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
    """How the class probability depends on one column (partial dependence).

    The mean of ``f`` over rows when this column alone is set to each value, drawn as
    :class:`PropensityDisplay` draws that of the propensity.

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
    PropensityDisplay : The same for the propensity.
    goodness_of_fit : Compare the labels with what the model expects.

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
