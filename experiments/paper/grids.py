"""Which grid's tables are shown: the full one where it has got far enough, else the reduced."""

from pathlib import Path

import pandas as pd

from .analyse import TABLES

PREFERENCE = ["full", "reduced"]


class Grids:
    """The tables of all grids under a directory of results, and the best of each kind."""

    def __init__(self, results: Path):
        folders = [path.parent for path in results.glob(f"*/{TABLES}")]
        if not folders:
            raise FileNotFoundError(
                f"There are no tables under {results}: "
                "run 'python -m experiments report paper' first."
            )
        known = [name for name in PREFERENCE if results / name in folders]
        self.names = known + sorted({folder.name for folder in folders} - set(known))
        self.results = results

    def table(self, name: str, grid: str | None = None) -> pd.DataFrame | None:
        """A table of a grid, by default of the best; None where there is none."""
        grid = grid or self.best(name)
        path = self.results / (grid or "") / TABLES / f"{name}.csv"
        return pd.read_csv(path) if grid and path.exists() else None

    def best(self, name: str) -> str | None:
        """The first grid, the full one first, that has measured as many pairs as any other.

        A pair is a method on a data set. A full run cut short before its last data sets does not
        replace a reduced run that has seen them all.
        """
        having = {grid: self._pairs(name, grid) for grid in self.names}
        most = max(having.values(), default=0)
        return next((grid for grid in self.names if most and having[grid] == most), None)

    def _pairs(self, name: str, grid: str) -> int:
        path = self.results / grid / TABLES / f"{name}.csv"
        curves = path.with_stem(f"{name}_curves")
        if not path.exists():
            return 0
        table = pd.read_csv(curves if curves.exists() else path)
        by = [key for key in ("dataset", "method", "setting") if key in table]
        return len(table[by].drop_duplicates())

    def coverage(self, grid: str) -> pd.DataFrame:
        """What of each experiment of a grid was planned, finished, failed; and its time."""
        return pd.read_csv(self.results / grid / "coverage.csv", index_col="experiment")


def read_paper(name: str) -> pd.DataFrame:
    """Numbers of Bekker and Davis (2018), transcribed from their tables."""
    return pd.read_csv(Path(__file__).parent / "published" / f"{name}.csv")
