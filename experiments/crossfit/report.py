"""The three write-ups of the cross-fit: ``python -m experiments report crossfit``."""

from pathlib import Path

from ..harness.store import write_all
from . import every_column_report, fresh_seeds_report, ideas_report

HERE = Path(__file__).parent


def main() -> None:
    """Write REPORT.md, EVERY_COLUMN.md and IDEAS.md from the tracked tables."""
    write_all(texts())


def texts() -> dict[Path, str]:
    """What the report writes: the text of each file."""
    return {
        HERE / "REPORT.md": fresh_seeds_report.report(),
        HERE / "EVERY_COLUMN.md": every_column_report.report(),
        HERE / "IDEAS.md": ideas_report.report(),
    }
