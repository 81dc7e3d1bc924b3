"""Tables, figures, RESULTS.md and the site's tables: ``python -m experiments report paper``."""

from pathlib import Path

from ..harness.store import write_all
from .analyse import analyse, table_texts
from .grids import Grids
from .headline import page_text
from .plot import plot
from .write import results_text

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
    write_all(_prose(results, output, page))


def texts() -> dict[Path, str]:
    """What the report writes: the text of each file, the tables of the grids among them."""
    results = HERE / "results"
    return table_texts(results) | _prose(results, HERE, PAGE)


def _prose(results: Path, output: Path, page: Path | None) -> dict[Path, str]:
    path = output / "RESULTS.md"
    found = {path: results_text(results, output / "figures", path)}
    if page is not None:
        found[page] = page_text(page, Grids(results))
    return found
