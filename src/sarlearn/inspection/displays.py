"""Plots of a fitted model, in scikit-learn's convention: compute once, draw with ``plot``."""

import numpy as np

from sarlearn._view.curves import convergence, label_calibration, posterior_by, propensity_by
from sarlearn._view.parts import take_apart, value_text
from sarlearn._view.style import (
    BLUE,
    MUTED,
    ORANGE,
    SERIES,
    as_number,
    as_percent,
    new_axes,
    plain,
    shorten,
    tidy,
)

__all__ = [
    "ConvergenceDisplay",
    "LabelCalibrationDisplay",
    "PosteriorDisplay",
    "PropensityDisplay",
]


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
        Choose the attributes that drive labelling from a shortlist, forward, by BIC.

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
    def from_estimator(
        cls,
        estimator,
        X,
        *,
        feature=None,
        n_points: int = 40,
        max_categories: int = 12,
        max_rows: int = 1000,
        random_state: int = 0,
        ax=None,
    ):
        """Compute for a fitted model and draw.

        Parameters
        ----------
        estimator : SAREMClassifier, or a pipeline that ends in one
        X : table or matrix
            The rows, as the model takes them.
        feature : str or int, optional
            A column as the user names it; by default the first propensity attribute.
        n_points : int
            Points of a curve, between the first and the last percentile of the values.
        max_categories : int
            The most frequent values get a bar of their own.
        max_rows : int
            Rows drawn (with ``random_state``) to average over.
        ax : matplotlib Axes, optional

        Returns
        -------
        PropensityDisplay
        """
        data = propensity_by(
            take_apart(estimator, X), feature, n_points, max_categories, max_rows, random_state
        )
        return cls(**data).plot(ax=ax)

    def plot(self, ax=None, *, color: str = BLUE):
        """Draw on ``ax``, or on a new figure."""
        return self._draw(ax, "chance that a positive is labelled", self.propensity, color)

    def _draw(self, ax, words: str, mean, color: str):
        ax = new_axes(ax)
        if self.share is None:
            ax.fill_between(self.values, self.low, self.high, color=color, alpha=0.18, linewidth=0)
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
            ax.barh(position, mean, color=color, height=0.62)
            for y, value in zip(position, mean, strict=True):
                inside = value > 0.85
                ax.annotate(
                    f"{value:.0%}",
                    (value, y),
                    xytext=(-4 if inside else 4, 0),
                    textcoords="offset points",
                    ha="right" if inside else "left",
                    va="center",
                    color="white" if inside else None,
                )
            ax.set_yticks(position, [shorten(value_text(value)) for value in self.values])
            for text in ax.get_yticklabels():
                plain(text)
            plain(ax.set_title(shorten(self.feature, 40)))
            ax.set_xlabel(words)
            ax.set_xlim(0, 1)
            as_percent(ax.xaxis)
            tidy(ax, grid="x")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class ConvergenceDisplay:
    """How the fit went: log-likelihood of the labels, class prior, and slope, by iteration.

    Parameters
    ----------
    log_likelihood, class_prior, slope : array-like of shape (n_iter,)
        The slope may hold NaN before a full window; boosting has none, and two panels.
    tol : float or None
        The slope at which the paper's rule stops.

    Attributes
    ----------
    axes_ : ndarray of three matplotlib Axes, or two
        What was drawn on, after ``plot``.
    figure_ : matplotlib Figure
        The figure they are part of.

    See Also
    --------
    sarlearn.exceptions.NotConvergedWarning : A fit ran out of iterations.
    LabelCalibrationDisplay :
        Observed share of labelled rows against the predicted ``P(s=1|x) = f(x) e(x)``, in bins.

    Examples
    --------
    >>> from sarlearn.inspection import ConvergenceDisplay
    >>> display = ConvergenceDisplay([-9.0, -8.0, -7.9], [0.2, 0.3, 0.31], [0.1, 0.02, 1e-3])
    >>> len(display.plot().axes_)
    3
    """

    def __init__(self, log_likelihood, class_prior, slope, *, tol=None):
        self.log_likelihood = log_likelihood
        self.class_prior = class_prior
        self.slope = slope
        self.tol = tol

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Read the history of a fitted ``SAREMClassifier``, or a pipeline that ends in one."""
        return cls(**convergence(estimator)).plot(ax=ax)

    def plot(self, ax=None, *, color: str = BLUE):
        """Draw three panels in the place of ``ax``, or on a new figure."""
        from matplotlib.gridspec import GridSpecFromSubplotSpec

        ax = new_axes(ax)
        figure = ax.figure
        ax.set_axis_off()
        named = [("log-likelihood", self.log_likelihood), ("class prior", self.class_prior)]
        sloped = not np.isnan(np.asarray(self.slope, dtype=float)).all()
        if sloped:
            named.append(("slope", self.slope))
        n_panels = len(named)
        grid = GridSpecFromSubplotSpec(n_panels, 1, subplot_spec=ax.get_subplotspec(), hspace=0.12)
        panels = [figure.add_subplot(grid[0])]
        panels += [figure.add_subplot(grid[i], sharex=panels[0]) for i in range(1, n_panels)]
        steps = np.arange(1, len(self.log_likelihood) + 1)
        for panel, (name, values) in zip(panels, named, strict=True):
            panel.plot(steps, values, color=color, linewidth=1.6)
            panel.set_ylabel(name)
            tidy(panel)
            panel.tick_params(labelbottom=panel is panels[-1])
        if np.any(np.nan_to_num(np.asarray(self.slope, dtype=float)) > 0):
            panels[2].set_yscale("log")
        if self.tol is not None and sloped:
            panels[2].axhline(self.tol, color=ORANGE, linestyle="--", linewidth=1.2)
        panels[-1].set_xlabel("iteration")
        figure.align_ylabels(panels)
        self.axes_, self.figure_ = np.array(panels, dtype=object), figure
        return self


class LabelCalibrationDisplay:
    """Observed share of labelled rows against the predicted ``P(s=1|x) = f(x) e(x)``, in bins.

    This can be checked without knowing the true classes: points on the diagonal mean that the two
    models together explain the labels. It does not show that they are split rightly.

    Parameters
    ----------
    predicted, observed : array-like of shape (n_bins,)
        Means of the bins.
    low, high : array-like of shape (n_bins,)
        Ends of Wilson's 95 % interval of the observed share.
    count : array-like of shape (n_bins,)
        Number of rows in each bin.
    name : str, optional
        For the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        What was drawn on, after ``plot``.

    See Also
    --------
    goodness_of_fit : Compare the labels with what the model expects, and look for what it lacks.
    sarlearn.metrics.observed_log_likelihood : How well the labels are explained.

    Examples
    --------
    >>> from sarlearn.inspection import LabelCalibrationDisplay
    >>> s = [0, 0, 1, 0, 1, 1]
    >>> display = LabelCalibrationDisplay.from_predictions(s, [.1, .1, .1, .8, .8, .8], n_bins=2)
    >>> [round(share, 2) for share in display.observed]
    [0.33, 0.67]
    """

    def __init__(self, predicted, observed, low, high, count, *, name=None):
        self.predicted = predicted
        self.observed = observed
        self.low = low
        self.high = high
        self.count = count
        self.name = name

    @classmethod
    def from_estimator(cls, estimator, X, s, *, n_bins: int = 10, name=None, ax=None):
        """Compute for a fitted model with ``predict_proba`` and ``predict_propensity``."""
        parts = take_apart(estimator, X)
        predicted = parts.probability() * parts.propensity()
        return cls.from_predictions(parts.labelled(s), predicted, n_bins=n_bins, name=name, ax=ax)

    @classmethod
    def from_predictions(cls, s, predicted, *, n_bins: int = 10, name=None, ax=None):
        """Compute from labels (1 labelled) and predicted ``P(s=1|x)``."""
        return cls(**label_calibration(s, predicted, n_bins), name=name).plot(ax=ax)

    def plot(self, ax=None, *, color: str = BLUE, marker: str = "o", diagonal: bool = True):
        """Draw on ``ax``, or on a new figure."""
        ax = new_axes(ax)
        top = 1.06 * max([*self.high, *self.predicted, ax.get_ylim()[1] if ax.lines else 0.0])
        if diagonal:
            ax.axline((0, 0), slope=1, color=MUTED, linestyle="--", linewidth=1)
        errors = [
            np.subtract(self.observed, self.low).clip(0),
            np.subtract(self.high, self.observed).clip(0),
        ]
        ax.errorbar(
            self.predicted,
            self.observed,
            yerr=errors,
            fmt=marker,
            linestyle="-",
            linewidth=1.4,
            elinewidth=1,
            markersize=4.5,
            color=color,
            label=self.name,
        )
        ax.set(xlim=(0, top), ylim=(0, top))
        as_percent(ax.xaxis)
        as_percent(ax.yaxis)
        ax.set_xlabel("predicted chance of a label, f times e")
        ax.set_ylabel("observed share labelled")
        if self.name is not None:
            ax.legend(frameon=False)
        tidy(ax, grid="both")
        self.ax_, self.figure_ = ax, ax.figure
        return self


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
    def from_estimator(cls, estimator, X, s, *, feature=None, max_strata: int = 5, ax=None):
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
