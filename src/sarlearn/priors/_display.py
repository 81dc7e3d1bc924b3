"""The curve a class-prior estimator looked at, drawn."""

import numpy as np
from scipy.interpolate import PchipInterpolator
from sklearn.utils.validation import check_is_fitted

from sarlearn.priors._base import PriorCurve, PriorEstimator


class PriorCurveDisplay:
    """What a class-prior estimator looked at: KM's distances, AlphaMax's likelihood, the bounds.

    A clear elbow or minimum at the marker is a good sign; a flat or ragged curve a bad one.

    Parameters
    ----------
    curve : PriorCurve
        The curve, an estimator's `curve_`.
    title : str, default=""
        Name of the method and its estimate.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    See Also
    --------
    compare_priors : Estimate the class prior with several methods and say whether they agree.
    PriorCurve : What a method looked at before it decided: ``y`` over ``x``, and where it stopped.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.priors import KernelMean, PriorCurveDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(300) < 0.4
    >>> X = rng.normal(size=(300, 2)) + 2 * y[:, None]
    >>> prior = KernelMean().fit(X, y & (rng.random(300) < 0.5))
    >>> PriorCurveDisplay.from_estimator(prior).ax_.get_ylabel()
    'distance d(lambda)'
    """

    def __init__(self, curve: PriorCurve, *, title: str = ""):
        self.curve = curve
        self.title = title

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw the curve of a fitted estimator.

        Parameters
        ----------
        estimator : fitted class-prior estimator
            Any of `sarlearn.priors`.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        PriorCurveDisplay
            The display, drawn.
        """
        if not isinstance(estimator, PriorEstimator):
            raise TypeError(
                f"estimator must be a class-prior estimator of sarlearn.priors; got {estimator!r}."
            )
        check_is_fitted(estimator)
        variant = getattr(estimator, "variant", getattr(estimator, "estimator", ""))
        name = type(estimator).__name__ + (f" ({variant})" if variant else "")
        title = f"{name}: class prior {estimator.class_prior_:.1%}"
        return cls(estimator.curve_, title=title).plot(ax=ax)

    def plot(self, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        PriorCurveDisplay
            The display, with `ax_` and `figure_`.
        """
        from sarlearn._view.draw import BELOW
        from sarlearn._view.style import BLUE, MUTED, ORANGE, SKY, as_percent, new_axes, tidy

        curve, ax = self.curve, new_axes(ax)
        order = np.argsort(curve.x, kind="stable")
        if curve.window is not None:
            inside = (curve.x >= curve.window[0]) & (curve.x <= curve.window[1])
            order = order[inside[order]]
        if curve.points:
            style = {"linestyle": "", "marker": ".", "alpha": 0.35}
        else:
            style = {"marker": "." if len(order) < 30 else ""}
        if curve.peak:
            ax.plot(*_between(curve, order), color=BLUE, label=curve.name)
            style = {"linestyle": "", "marker": ".", "label": "computed"}
        else:
            style["label"] = curve.name
        ax.plot(curve.x[order], curve.y[order], color=BLUE, **style)
        for name, values in curve.extra.items():
            ax.plot(curve.x[order], values[order], color=SKY, linewidth=1, label=name)
        if curve.level is not None:
            dashes = {"color": MUTED, "linestyle": "--", "linewidth": 1}
            ax.axhline(curve.level, label=curve.level_name, **dashes)
        if curve.marker is not None:
            ax.plot(*curve.marker, "o", color=ORANGE, label="chosen")
            ax.axvline(curve.marker[0], color=ORANGE, alpha=0.4, linewidth=1)
        if curve.top is not None:
            top = min(curve.top, curve.y.max())
            ax.set_ylim(curve.y.min() - 0.05 * (top - curve.y.min()), top)
        if curve.log_x:
            ax.set_xscale("log")
        if curve.x_label == "class prior":
            as_percent(ax.xaxis)
        ax.set_xlabel(curve.x_label)
        ax.set_ylabel(curve.y_label)
        ax.set_title(self.title)
        ax.legend(**BELOW | {"ncols": 3})
        tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _between(curve: PriorCurve, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A line through few points of a peak: the root of the drop is nearly linear on either side."""
    assert curve.marker is not None
    x, inverse = np.unique(curve.x[order], return_index=True)
    side = np.sign(x - curve.marker[0])
    root = side * np.sqrt(np.maximum(-curve.y[order][inverse], 0.0))
    if len(x) < 2:
        return x, -(root**2)
    line = np.linspace(x[0], x[-1], 200)
    return line, -(PchipInterpolator(x, root)(line) ** 2)
