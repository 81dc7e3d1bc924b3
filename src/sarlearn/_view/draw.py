"""Pictures that results and the report share: each draws plain values on given axes."""

from collections.abc import Sequence

import numpy as np

from sarlearn._view.style import (
    BLUE,
    MUTED,
    ORANGE,
    as_number,
    as_percent,
    name_rows,
    shorten,
    tidy,
)

# A legend beside the data covers nothing.
BELOW = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.22), "ncols": 2, "frameon": False}


def draw_null(ax, null_statistics, statistic: float) -> None:
    """Likelihood ratios simulated under SCAR, and the one observed."""
    ax.hist(null_statistics, bins=20, color=BLUE, alpha=0.7, label="simulated, if SCAR held")
    ax.axvline(statistic, color=ORANGE, linewidth=2, label="these labels")
    ax.set_xlim(left=0)
    ax.set_xlabel("likelihood ratio against SCAR")
    ax.set_ylabel("simulated data sets")
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.legend(**BELOW)
    tidy(ax)


def draw_choices(ax, rows: Sequence[tuple[str, float]], class_prior: float) -> None:
    """The class prior under each choice, from low to high, and that of the model."""
    rows = sorted(rows, key=lambda row: row[1])
    place = np.arange(len(rows))
    ax.axvline(class_prior, color=ORANGE, linewidth=1.6, label=f"this model: {class_prior:.1%}")
    priors = [prior for _, prior in rows]
    ax.hlines(place, class_prior, priors, color=MUTED, alpha=0.5, linewidth=1)
    ax.plot(priors, place, "o", color=BLUE, markersize=5, label="another choice")
    name_rows(ax, place, [shorten(name, 34) for name, _ in rows])
    ax.set_xlim(*_around([*priors, class_prior]))
    as_percent(ax.xaxis)
    ax.set_xlabel("class prior")
    ax.legend(**BELOW)
    tidy(ax, grid="x")


def draw_intervals(ax, rows: Sequence[tuple[str, float, float, float]], label: str) -> None:
    """Estimates with the ends of their intervals, one per row: shares, in percent."""
    place = np.arange(len(rows))[::-1]
    ax.hlines(place, [row[2] for row in rows], [row[3] for row in rows], color=BLUE, linewidth=2)
    ax.plot([row[1] for row in rows], place, "o", color=BLUE, markersize=5)
    for y, (_, value, _, high) in zip(place, rows, strict=True):
        ax.annotate(
            f"{value:.1%}",
            (high, y),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
    name_rows(ax, place, [shorten(row[0], 28) for row in rows])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_xlim(0, 1.08)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1.0])
    as_percent(ax.xaxis)
    ax.set_xlabel(label)
    tidy(ax, grid="x")


def draw_band(ax, values, estimate, low, high, *, x_label: str, y_label: str) -> None:
    """A curve of shares with its interval."""
    ax.fill_between(values, low, high, color=BLUE, alpha=0.18, linewidth=0)
    ax.plot(values, estimate, color=BLUE, linewidth=2)
    ax.set_ylim(0, 1)
    as_percent(ax.yaxis)
    as_number(ax.xaxis)
    ax.set_xlabel(x_label).set_parse_math(False)
    ax.set_ylabel(y_label)
    tidy(ax)


def _around(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis of shares that show the values with some room, at least a fifth wide."""
    low, high = min(values), max(values)
    middle, half = (low + high) / 2, max((high - low) * 0.6, 0.1)
    return max(0.0, middle - half), min(1.0, middle + half)
