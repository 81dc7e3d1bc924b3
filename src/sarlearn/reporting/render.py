"""The summary dict as one HTML page: no script, no other file, nothing fetched."""

from functools import cache
from typing import Any

from sarlearn._words import about, number_text, odds_sentence
from sarlearn.reporting.words import ends_text, most_overlooked, nothing_said

MAX_NAME = 90
# The sections in their order; each is templates/sections/<key>.html.
SECTIONS = {
    "sure": "How sure the count is",
    "candidates": "Whom to look at first",
    "overlooked": "Who is overlooked",
    "describes": "Does the model fit the labels?",
    "trust": "What is assumed",
    "columns": "How the table was read",
}


def render(summary: dict[str, Any]) -> str:
    """The page, from the dict that :func:`summarize` gives.

    See Also
    --------
    summarize : What a report says, as plain values.
    sarlearn.report : The report as a page.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SAREMClassifier
    >>> from sarlearn.reporting import summarize
    >>> from sarlearn.reporting.render import render
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = rng.random(400) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> s = y & (rng.random(400) < 1 / (1 + np.exp(-X[:, 2])))
    >>> model = SAREMClassifier([2]).fit(X, s)
    >>> page = render(summarize(model, X, s))
    >>> page.startswith("<!doctype html>")
    True
    """
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise ImportError("Reports need Jinja2: pip install jinja2.") from error
    overlooked, _ = most_overlooked(summary) or (None, None)
    return (
        _environment()
        .get_template("report.html")
        .render(
            **summary,
            contents=_contents(summary),
            overlooked=overlooked,
        )
    )


@cache
def _environment():
    """Where the templates live; compiling them takes as long as a figure."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sarlearn.reporting"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        count=_count,
        percent=_percent,
        short=_short,
        ratio=_ratio,
        times=_times,
        about=about,
        ends=ends_text,
        longest=_longest,
        number=number_text,
        labelling_words=odds_sentence,
    )
    return environment


def _contents(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Anchor and heading of every section that the page has."""
    if nothing_said(summary):
        return [("columns", SECTIONS["columns"])]
    return [(key, name) for key, name in SECTIONS.items() if key != "sure" or summary["certainty"]]


def _longest(attribute: dict[str, Any]) -> float:
    """The positives of its largest group, at the upper end of the range."""
    return max(
        1.0, *(g["labelled"] + (g["ends"] or [g["hidden"]])[-1] for g in attribute["groups"])
    )


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _percent(number: float | None, digits: int = 1) -> str:
    return "–" if number is None else f"{number:.{digits}%}"


def _ratio(number: float) -> str:
    if number >= 1000 or number < 0.001:
        return "> 1000" if number > 1 else "< 0.001"
    return f"{number:.2f}"


def _times(factor: float) -> str:
    return "×100 and more" if factor >= 100 else f"×{number_text(factor, 2)}"


def _short(text, length: int = MAX_NAME) -> str:
    text = str(text)
    return text if len(text) <= length else text[: length - 1] + "…"
