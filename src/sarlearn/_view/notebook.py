"""Results in notebooks, as words, a table and a figure; and figures as SVG for any page."""

import io
import re
import warnings
import zlib
from collections.abc import Callable, Sequence
from html import escape
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


# Notebooks are light or dark: text takes the colour around it.
_THEME = {INK: "currentColor", "font": "inherit"}
_WIDTH = 5.4
_BOX = "max-width: 76em; line-height: 1.5"
_SIDE = "display: flex; flex-wrap: wrap; gap: 1.5em 2.5em; align-items: flex-start"
_TABLE = "border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 0"
_CELL = "padding: 0.3em 1.2em 0.3em 0; border-bottom: 1px solid #8884"


class ShownInNotebooks:
    """Gives a result ``_repr_html_``: its words, ``_table()`` and ``plot(ax)``.

    A class that has it defines ``_table``: the header, and rows of text.
    """

    def _table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        raise NotImplementedError

    def _sentences(self) -> str:
        return str(self)

    def _figure_height(self) -> float:
        """Of the figure, in inches."""
        return 3.4

    def plot(self, ax=None) -> Any:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        lines = self._sentences().splitlines()
        paragraphs = "".join(f"<p>{escape(line)}</p>" for line in lines)
        header, rows = self._table()
        pieces = table_html(header, rows) + self._figure_html()
        return f'<div style="{_BOX}">{paragraphs}<div style="{_SIDE}">{pieces}</div></div>'

    def _figure_html(self) -> str:
        try:
            import matplotlib  # noqa: F401  the words and the table do without
        except ImportError:
            return ""
        key = f"r{zlib.crc32(repr(str(self)).encode()):x}"
        svg = draw_svg(key, (_WIDTH, self._figure_height()), self.plot, _THEME)
        return f'<div style="flex: 1 1 24em; max-width: 34em">{svg}</div>'


def table_html(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first column to the left, the others to the right."""

    def line(cells: Sequence[str], tag: str) -> str:
        sides = ["left"] + ["right"] * (len(cells) - 1)
        written = (
            f'<{tag} style="{_CELL}; text-align: {side}">{escape(str(cell))}</{tag}>'
            for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(written)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return (
        f'<table style="{_TABLE}"><thead>{line(header, "th")}</thead><tbody>{body}</tbody></table>'
    )
