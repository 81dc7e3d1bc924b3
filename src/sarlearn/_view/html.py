"""Results in notebooks: their words, a table and a figure, as one piece of HTML."""

import zlib
from collections.abc import Sequence
from html import escape
from typing import Any

from sarlearn._view.svg import INK, draw_svg

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
