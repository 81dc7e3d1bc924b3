"""One look for all figures, and how they are saved."""

import io
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from .store import write_atomically

# Okabe and Ito's palette, safe for the colour-blind (Wong, Nature Methods 8, 441, 2011).
BLUE, VERMILION, GREEN, PINK, SKY, AMBER = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#e69f00",
)
GREY = "#707070"
STYLE = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.6,
    "svg.hashsalt": "sarlearn",
    "svg.fonttype": "none",
}


def save(figure: Figure, path: Path, dpi: int = 150) -> list[Path]:
    """Write PNG and SVG under a path without suffix, and close the figure; the files written."""
    paths = [path.with_name(f"{path.name}.{suffix}") for suffix in ("png", "svg")]
    for target in paths:
        content = io.BytesIO()
        # Without date and version the same tables give the same file.
        about = {"Date": None} if target.suffix == ".svg" else {"Software": None}
        figure.savefig(content, format=target.suffix[1:], dpi=dpi, metadata=about)
        write_atomically(target, content.getvalue())
    plt.close(figure)
    return paths
