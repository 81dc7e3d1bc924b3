"""The report's figures: displays drawn to SVG whose colours follow the page's theme."""

from functools import partial
from typing import Any

from sarlearn._view.draw import draw_label_fit, draw_review
from sarlearn._view.notebook import INK, draw_svg
from sarlearn._view.style import BLUE, MUTED, ORANGE, name_rows, shorten, tidy
from sarlearn._words import about
from sarlearn.reporting import words

WIDTH = 3.9
# matplotlib writes fixed colours; the page's style sheet decides what they are in each theme.
_THEME = {
    INK: "var(--ink-2)",
    MUTED: "var(--rule-2)",
    BLUE: "var(--c1)",
    ORANGE: "var(--c2)",
    "font": "var(--sans)",
}


def figures(summary: dict[str, Any]) -> dict[str, dict[str, str]]:
    """All figures of a report, each a dict of ``svg`` and ``alt``."""
    importance, tenths = summary["classifier"]["importance"], summary["label_fit"]["by_score"]
    review, source = summary["review"], words.range_source(summary["certainty"])
    return {
        "importance": {
            "svg": _draw("importance", 0.7 + 0.25 * len(importance), partial(_bars, importance)),
            "alt": _importance_alt(importance),
        },
        "label_fit": {
            "svg": _draw("labelfit", 3.2, lambda ax: draw_label_fit(ax, tenths)),
            "alt": _label_fit_alt(tenths),
        },
        "review": {
            "svg": _draw("review", 3.2, lambda ax: draw_review(ax, review, source)),
            "alt": _review_alt(review),
        },
    }


def _bars(importance: list[dict], ax) -> None:
    position = range(len(importance))[::-1]
    ax.barh(position, [row["change"] for row in importance], color=BLUE, height=0.62)
    name_rows(ax, position, [shorten(row["attribute"]) for row in importance])
    ax.set_xlabel("mean change of probability")
    ax.set_xlim(left=0)
    ax.locator_params(axis="x", nbins=5)
    tidy(ax, grid="x")


def _draw(key: str, height: float, draw) -> str:
    """An SVG element in the colours of the page."""
    return draw_svg(key, (WIDTH, height), draw, _THEME)


# -- what the figures show, for those who do not see them ------------------------------------------


def _importance_alt(importance: list[dict[str, Any]]) -> str:
    """What the bars of importance show."""
    shown = ", ".join(f"{row['attribute']} {row['change']:.3f}" for row in importance[:5])
    return f"Bars: how much the probability changes when a column is shuffled. Largest: {shown}."


def _review_alt(review: dict[str, Any]) -> str:
    """What the review curve shows."""
    shown = ", ".join(
        f"{row['checked']:,} rows {about(row['expected'])}" for row in review["steps"]
    )
    return f"Line: expected positives by number of unlabelled rows checked: {shown}."


def _label_fit_alt(tenths: list[dict[str, Any]]) -> str:
    """What the bars of observed and expected labels show."""
    shown = ", ".join(f"{row['observed']:,.0f} and {row['expected']:,.0f}" for row in tenths)
    return (
        "Bars: observed and expected labels, by tenth of the rows, lowest class probability first: "
        f"{shown}."
    )
