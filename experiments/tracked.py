"""All that the repository says from its tables, made again and compared with the tracked files."""

import importlib
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from pathlib import Path

from .numbers import Numbers, differences

ROOT = Path(__file__).parents[1]
# What the documentation's build writes; it is not tracked.
BUILT = {"generated", "_build"}


def studies() -> list[str]:
    """The folders here that have a report."""
    return sorted(path.parent.name for path in Path(__file__).parent.glob("*/report.py"))


def prose() -> list[Path]:
    """Files written by hand, whose marked numbers come from the tables."""
    pages = [
        path
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if BUILT.isdisjoint(path.relative_to(ROOT).parts)
    ]
    return [ROOT / "README.md", *pages, ROOT / "experiments" / "README.md"]


def reports() -> dict[Path, str]:
    """Every file that is generated from tables, made anew: its text."""
    from benchmarks import report as benchmarks
    from benchmarks.store import RESULTS

    found = {ROOT / "benchmarks" / "README.md": benchmarks.text(RESULTS)}
    for study in studies():
        found |= importlib.import_module(f"experiments.{study}.report").texts()
    return found


def stale(numbers: Numbers) -> Iterator[str]:
    """A sentence for every marked number and every generated line that the tables do not give."""
    yield from stale_numbers(prose(), numbers)
    for path, made in reports().items():
        tracked = path.read_text(encoding="utf-8") if path.exists() else ""
        for sentence in changed_lines(tracked, made):
            yield f"{_shown(path)}: {sentence}"


def stale_numbers(paths: Iterable[Path], numbers: Numbers) -> Iterator[str]:
    """A sentence for every marked number of some files that the tables do not give."""
    for path in paths:
        for sentence in differences(path.read_text(encoding="utf-8"), numbers):
            yield f"{_shown(path)}: {sentence}"


def _shown(path: Path) -> Path:
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def changed_lines(tracked: str, made: str) -> Iterator[str]:
    """Where a tracked file is not what is made from the tables."""
    old, new = tracked.splitlines(), made.splitlines()
    for kind, start, end, first, last in SequenceMatcher(None, old, new, False).get_opcodes():
        if kind != "equal":
            yield (
                f"line {start + 1} is {' / '.join(old[start:end])!r}, and "
                f"{' / '.join(new[first:last])!r} from the tables"
            )
