"""Tables, figures, RESULTS.md and the README's tables: ``python -m experiments report paper``."""

from pathlib import Path

from .analyse import analyse
from .grids import Grids
from .headline import update_readme
from .plot import plot
from .write import write

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"


def main(
    results: Path = HERE / "results", output: Path = HERE, readme: Path | None = README
) -> None:
    """From the measured cells under ``results`` to all that is written about them.

    Parameters
    ----------
    results : Path
        Directory of the grids' tables.
    output : Path
        Where RESULTS.md and the folder of figures go.
    readme : Path or None
        The file whose tables stand between marks; None leaves it alone.
    """
    analyse(results)
    plot(results, output / "figures")
    write(results, output / "figures", output / "RESULTS.md")
    if readme is not None:
        update_readme(readme, Grids(results))
