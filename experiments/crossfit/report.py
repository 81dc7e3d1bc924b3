"""The three write-ups of the cross-fit: ``python -m experiments report crossfit``."""

from . import every_column_report, fresh_seeds_report, ideas_report


def main() -> None:
    """Write REPORT.md, EVERY_COLUMN.md and IDEAS.md from the tracked tables."""
    for study in (fresh_seeds_report, every_column_report, ideas_report):
        study.main()
