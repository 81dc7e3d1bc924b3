"""The report's figures: displays drawn to SVG whose colours follow the page's theme."""

from functools import partial
from typing import Any

from sarlearn._view.draw import draw_label_fit, draw_review
from sarlearn._view.notebook import INK, draw_svg
from sarlearn._view.style import BLUE, MUTED, ORANGE, name_rows, shorten, tidy
from sarlearn._words import about, number_text
from sarlearn.inspection.displays import PropensityDisplay
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


def figures(summary: dict[str, Any]) -> dict[str, Any]:
    """All figures of a report, each a dict of ``svg``, ``alt`` and ``caption``."""
    drawn: dict[str, Any] = {"propensity": []}
    for number, attribute in enumerate(summary["propensity"]["attributes"]):
        data = {key: value for key, value in attribute.items() if key != "groups"}
        display = PropensityDisplay(**data)
        drawn["propensity"].append(
            {
                "svg": _draw(f"propensity{number}", _height(data), partial(_propensity, display)),
                "alt": _propensity_alt(attribute),
                "groups": attribute["groups"],
                "feature": attribute["feature"],
            }
        )
    importance = summary["classifier"]["importance"]
    drawn["importance"] = {
        "svg": _draw("importance", 0.7 + 0.25 * len(importance), lambda ax: _bars(ax, importance)),
        "alt": _importance_alt(importance),
    }
    drawn["class_curves"] = [
        {
            "svg": _draw(f"class{number}", _height(curve), partial(_class_curve, curve)),
            "alt": _propensity_alt(curve | {"propensity": curve["mean"]}, "mean class probability"),
            "feature": curve["feature"],
        }
        for number, curve in enumerate(summary["classifier"]["curves"])
    ]
    tenths = summary["label_fit"]["by_score"]
    drawn["label_fit"] = {
        "svg": _draw("labelfit", 3.2, lambda ax: draw_label_fit(ax, tenths)),
        "alt": _label_fit_alt(tenths),
    }
    source = words.range_source(summary["certainty"])
    drawn["review"] = {
        "svg": _draw("review", 3.2, lambda ax: draw_review(ax, summary["review"], source)),
        "alt": _review_alt(summary["review"]),
    }
    return drawn


def _height(curve: dict[str, Any]) -> float:
    """Inches of a curve, or of as many bars as there are values."""
    return 2.5 if curve["share"] is None else 0.62 + 0.25 * len(curve["values"])


def _class_curve(curve: dict[str, Any], ax) -> None:
    data = {"propensity" if key == "mean" else key: value for key, value in curve.items()}
    PropensityDisplay(**data).plot(ax)
    ax.set_title("")
    ax.set_ylabel("class probability" if curve["share"] is None else "")
    ax.set_xlabel("" if curve["share"] is None else "class probability")


def _propensity(display: PropensityDisplay, ax) -> None:
    display.plot(ax)
    ax.set_title("")  # the page has the name above the figure
    ax.set_ylabel("chance of a label" if display.share is None else "")
    ax.set_xlabel("" if display.share is None else "chance of a label, if positive")


def _bars(ax, importance: list[dict]) -> None:
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


def _propensity_alt(
    attribute: dict[str, Any], what: str = "chance that a positive is labelled"
) -> str:
    """What the figure of a propensity attribute shows, for those who do not see it."""
    values, chances = attribute["values"], attribute["propensity"]
    if attribute["share"] is None:
        return (
            f"Curve: {what} by {attribute['feature']}, from "
            f"{chances[0]:.0%} at {number_text(values[0])} to {chances[-1]:.0%} at "
            f"{number_text(values[-1])}."
        )
    shown = ", ".join(f"{v} {c:.0%}" for v, c in zip(values, chances, strict=True))
    return f"Bars: {what} by {attribute['feature']}: {shown}."


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
    """What the bars of labels seen and expected show."""
    shown = ", ".join(f"{row['observed']:,.0f} and {row['expected']:,.0f}" for row in tenths)
    return (
        "Bars: labels seen and expected, by tenth of the rows, lowest class probability first: "
        f"{shown}."
    )
