"""A plot as an SVG element to stand in an HTML page: its own names, the colours of the page."""

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

from sarlearn._view.style import MUTED

INK = "#2b2b2c"
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sarlearn",
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.labelsize": 8.5,
    "legend.fontsize": 8,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "ytick.minor.size": 0,
}


def draw_svg(
    key: str, size: tuple[float, float], draw: Callable[[Any], Any], theme: dict[str, str]
) -> str:
    """Draw on a fresh figure and give its SVG element.

    Parameters
    ----------
    key : str
        Put before every id, so that two figures on a page share none.
    size : pair of float
        Width and height in inches.
    draw : callable
        Draws on the axes it is given.
    theme : dict of str to str
        What to write for colours, as matplotlib writes them; ``"font"`` for its fonts.
    """
    import matplotlib
    from matplotlib.figure import Figure

    buffer = io.StringIO()
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # Fonts without a glyph (emoji) only matter for measuring: the browser has its own.
        warnings.simplefilter("ignore", UserWarning)
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return inline(buffer.getvalue(), key, theme)


def inline(svg: str, key: str, theme: dict[str, str]) -> str:
    """The bare ``<svg>`` element, with names of its own and colours of the page.

    Only tags are changed, so that text of the user stays as it is whatever it looks like.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1">', svg, count=1)
    return re.sub(r"<[^>]*>", lambda tag: _adapt_tag(tag.group(), key, theme), svg)


def _adapt_tag(tag: str, key: str, theme: dict[str, str]) -> str:
    tag = re.sub(r'\bid="([^"]*)"', rf'id="{key}-\1"', tag)
    tag = re.sub(r"url\(#([^)]*)\)", rf"url(#{key}-\1)", tag)
    tag = re.sub(r'xlink:href="#([^"]*)"', rf'href="#{key}-\1"', tag)
    if "font" in theme:
        tag = re.sub(r"(font: [^;\"]*?px )[^;\"]*", rf"\1{theme['font']}", tag)
    for color, written in theme.items():
        if color.startswith("#"):
            tag = tag.replace(color, written)
    return tag
