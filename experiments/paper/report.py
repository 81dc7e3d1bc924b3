"""Tables, figures, RESULTS.md and the site's tables: ``python -m experiments report paper``."""

from pathlib import Path

from .analyse import analyse
from .grids import Grids
from .headline import update_page
from .plot import plot
from .write import write

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "how_good" / "index.md"


def main(results: Path = HERE / "results", output: Path = HERE, page: Path | None = PAGE) -> None:
    """From the measured cells under ``results`` to all that is written about them.

    Parameters
    ----------
    results : Path
        Directory of the grids' tables.
    output : Path
        Where RESULTS.md and the folder of figures go.
    page : Path or None
        The file whose tables stand between marks; None leaves it alone.
    """
    analyse(results)
    plot(results, output / "figures")
    write(results, output / "figures", output / "RESULTS.md")
    if page is not None:
        update_page(page, Grids(results))
