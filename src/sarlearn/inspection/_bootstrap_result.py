"""What a bootstrap found: intervals, in words, as a table, drawn."""

from dataclasses import dataclass, field

import numpy as np
from scipy.stats import norm

from sarlearn._view.draw import draw_band, draw_intervals
from sarlearn._view.html import ShownInNotebooks
from sarlearn._view.parts import FEW_VALUES, value_text
from sarlearn._view.style import new_axes, shorten, stack_panels

__all__ = ["BootstrapResult"]

CURVE_POINTS = 20


@dataclass
class BootstrapResult(ShownInNotebooks):
    """What :func:`bootstrap` found; ``print`` gives the main intervals in words.

    Attributes
    ----------
    estimates : dict of str to ndarray
        ``class_prior``, ``label_frequency``; ``coef``, ``odds_ratio``, ``propensity_coef`` and
        ``propensity_odds_ratio`` where the models are logistic (intercepts last);
        ``propensity_curve``; ``probability`` and ``propensity`` at the rows asked for.
    resamples : dict of str to ndarray of shape (n_resamples, ...)
        The same, of every refit.
    standard_errors : dict of str to ndarray, or None
        From the observed information, for ``decay=1`` and ``stop="fixed_point"``.
    curve_points : list of (feature, value)
        Where ``propensity_curve`` was computed, in the units of the table; other columns are at
        their mean.
    feature_names, propensity_names : list of str
        Names of the coefficients of the two models.
    n_not_converged : int
        Number of refits that ran out of iterations.
    decay : float
        Of the model; below 1 intervals show the spread, not the shift that the decay brings.

    See Also
    --------
    bootstrap : Intervals for what a fitted model says, from refits to resampled rows.
    """

    estimates: dict[str, np.ndarray]
    resamples: dict[str, np.ndarray] = field(repr=False)
    standard_errors: dict[str, np.ndarray] | None = field(repr=False)
    curve_points: list[tuple[str, float | str]] = field(repr=False)
    feature_names: list[str] = field(repr=False)
    propensity_names: list[str] = field(repr=False)
    n_not_converged: int
    decay: float
    _acceleration: dict[str, np.ndarray] = field(repr=False)

    @property
    def n_resamples(self) -> int:
        return len(self.resamples["class_prior"])

    def interval(self, name: str, *, level: float = 0.95, method: str = "bca"):
        """Ends of the interval of an estimate, as arrays of its shape.

        Parameters
        ----------
        name : str
            A key of ``estimates``.
        level : float in (0, 1), default=0.95
            Share of the resampled estimates between the ends.
        method : {"bca", "percentile"}, default="bca"
            BCa corrects percentiles for bias and skewness (Efron, JASA 82, 1987).

        Returns
        -------
        low, high : ndarray
            The ends, of the shape of the estimate.
        """
        if name not in self.estimates:
            raise ValueError(
                f"There is no estimate {name!r}; there are {', '.join(self.estimates)}."
            )
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
        if method not in ("bca", "percentile"):
            raise ValueError(f"method is 'bca' or 'percentile'; got {method!r}.")
        drawn = self.resamples[name].reshape(self.n_resamples, -1)
        tails = np.array([(1 - level) / 2, (1 + level) / 2])
        if method == "percentile":
            ends = np.quantile(drawn, tails, axis=0)
        else:
            estimate = np.ravel(self.estimates[name])
            below = np.mean(drawn < estimate, axis=0) + np.mean(drawn == estimate, axis=0) / 2
            margin = 0.5 / self.n_resamples
            z0 = norm.ppf(np.clip(below, margin, 1 - margin))
            a = np.ravel(self._acceleration[name])
            z = z0 + norm.ppf(tails)[:, None]
            adjusted = norm.cdf(z0 + z / (1 - a * z))
            ends = np.array(
                [
                    [np.quantile(column, level) for column, level in zip(drawn.T, row, strict=True)]
                    for row in adjusted
                ]
            )
        shape = np.shape(self.estimates[name])
        return ends[0].reshape(shape), ends[1].reshape(shape)

    def __str__(self) -> str:
        lines = []
        words = {
            "class_prior": "Share of positives",
            "label_frequency": "Share of the positives that is labelled",
        }
        for name, text in words.items():
            low, high = self.interval(name)
            lines.append(f"{text}: {self.estimates[name]:.1%}, between {low:.1%} and {high:.1%}.")
        lines += [self._ends_in_words(feature) for feature in self._features()]
        lines.append(
            f"95 % intervals (BCa) from {self.n_resamples} resamples"
            + (f", {self.n_not_converged} not converged." if self.n_not_converged else ".")
        )
        if self.decay < 1:
            lines.append(
                f"decay = {self.decay:g} shifts the estimates; the intervals say how much they "
                "vary, not how far they are off. decay=1 with stop='fixed_point' has no such shift."
            )
        return "\n".join(lines)

    def _features(self) -> list[str]:
        """The propensity attributes, as the user knows them."""
        return list(dict.fromkeys(feature for feature, _ in self.curve_points))

    def _ends_in_words(self, feature: str) -> str:
        """Where along an attribute the chance of a label is least, and where it is greatest."""
        low, high = self.interval("propensity_curve")
        curve = self.estimates["propensity_curve"]
        here = [i for i, (name, _) in enumerate(self.curve_points) if name == feature]
        least, most = min(here, key=lambda i: curve[i]), max(here, key=lambda i: curve[i])

        def chance(i: int) -> str:
            value = value_text(self.curve_points[i][1])
            return f"{value}: {curve[i]:.0%} ({low[i]:.0%} to {high[i]:.0%})"

        return (
            f"Chance that a positive is labelled, least where {feature} is {chance(least)}, and "
            f"greatest where it is {chance(most)}."
        )

    def _table(self):
        rows = [
            (name, f"{value:.1%}", f"{low:.1%} to {high:.1%}")
            for name, value, low, high in self._shares()
        ]
        low, high = self.interval("propensity_curve")
        for i in self._curve_rows():
            feature, value = self.curve_points[i]
            chance = self.estimates["propensity_curve"][i]
            name = f"chance of a label where {feature} is {value_text(value)}"
            rows.append((name, f"{chance:.1%}", f"{low[i]:.1%} to {high[i]:.1%}"))
        return ("quantity", "estimate", "95 % interval"), rows

    def _curve_rows(self) -> list[int]:
        """Points of the propensity curve for a table: the ends and the middle of a number."""
        rows: list[int] = []
        for feature in self._features():
            here = [i for i, (name, _) in enumerate(self.curve_points) if name == feature]
            rows += (
                here if len(here) < CURVE_POINTS / 2 else [here[0], here[len(here) // 2], here[-1]]
            )
        return rows

    def _figure_height(self) -> float:
        return 1.4 + 2.2 * len(self._features())

    def _shares(self) -> list[tuple[str, float, float, float]]:
        names = {"class_prior": "class prior", "label_frequency": "label frequency"}
        found = []
        for key, name in names.items():
            low, high = self.interval(key)
            found.append((name, float(self.estimates[key]), float(low), float(high)))
        return found

    def plot(self, ax=None):
        """Draw class prior and label frequency, then the propensity by each attribute.

        Every panel has the 95 % intervals; numbers are in the units of the table.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            The place for the panels; a new figure by default.

        Returns
        -------
        list of matplotlib axes
            One for the two shares, and one for each propensity attribute.
        """
        features = self._features()
        if ax is None:
            ax = new_axes(None, height=1.6 + 2.4 * len(features))
        panels = stack_panels(ax, [1.0, *[2.2] * len(features)])
        draw_intervals(panels[0], self._shares(), "share, with its 95 % interval")
        low, high = self.interval("propensity_curve")
        for panel, feature in zip(panels[1:], features, strict=True):
            here = [i for i, (name, _) in enumerate(self.curve_points) if name == feature]
            values = [self.curve_points[i][1] for i in here]
            curve = self.estimates["propensity_curve"]
            if len(values) > FEW_VALUES and not isinstance(values[0], str):
                draw_band(
                    panel,
                    values,
                    curve[here],
                    low[here],
                    high[here],
                    x_label=shorten(feature, 40),
                    y_label="chance of a label",
                )
                continue
            rows = [
                (f"{feature} = {value_text(self.curve_points[i][1])}", curve[i], low[i], high[i])
                for i in sorted(here, key=lambda i: -curve[i])
            ]
            draw_intervals(panel, rows, "chance that a positive is labelled")
        return panels
