"""Colours and small drawing helpers shared by the displays."""

from sarlearn._words import number_text

# Okabe and Ito's palette, safe for the colour-blind (Wong, Nature Methods 8, 441, 2011).
BLUE, ORANGE = "#0072b2", "#d55e00"
MUTED = "#808080"
MAX_TEXT = 26


def shorten(text: str, length: int = MAX_TEXT) -> str:
    """Text on one line, cut with an ellipsis where it is longer than the figure has room for."""
    text = " ".join(str(text).split())
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def plain(text_artist):
    """Show text as it is: a ``$`` in a column's name starts no formula."""
    text_artist.set_parse_math(False)
    return text_artist


def new_axes(ax, height: float | None = None):
    """The given axes, or those of a new figure, of a height in inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install matplotlib.") from error
    size = None if height is None else (6.4, height)
    return plt.subplots(figsize=size, layout="constrained")[1]


def panels(ax, heights, columns: int = 1) -> list:
    """Panels of these heights in the place of given axes, row by row."""
    from matplotlib.gridspec import GridSpecFromSubplotSpec

    ax.set_axis_off()
    rows = heights[::columns]
    grid = GridSpecFromSubplotSpec(
        len(rows), columns, subplot_spec=ax.get_subplotspec(), height_ratios=rows
    )
    return [ax.figure.add_subplot(grid[divmod(k, columns)]) for k in range(len(heights))]


def tidy(ax, *, grid: str = "y") -> None:
    """Fewer lines: no box, a light grid behind the data."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis=grid, color=MUTED, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)


def as_percent(axis) -> None:
    """Label an axis of probabilities 10%, 1%, 0.1%: as few digits as it takes."""
    axis.set_major_formatter(lambda value, _: f"{100 * value:.4g}%")


def as_number(axis) -> None:
    """Label an axis of numbers without powers of ten."""
    axis.set_major_formatter(lambda value, _: number_text(value))


def name_rows(ax, places, names) -> None:
    """Name the rows of a chart; names are text of the user, never formulas."""
    ax.set_yticks(places, names)
    for text in ax.get_yticklabels():
        plain(text)
