"""Measure the cells of a grid, write the report of a study, or put its numbers into prose."""

import argparse
import importlib
import signal
import sys
import threading
from pathlib import Path

from .tracked import studies


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and do what it asks for; the exit status."""
    options = _parser().parse_args(arguments)
    if options.command == "run":
        return _run(options)
    if options.command == "numbers":
        from .numbers import main as numbers

        return numbers(options.files, check=options.check, show=options.list)
    for study in options.studies or studies():
        importlib.import_module(f"experiments.{study}.report").main()
        print(f"experiments/{study}: report and figures written.", file=sys.stderr)
    return 0


def _run(options: argparse.Namespace) -> int:
    from .harness.cells import load_configuration
    from .harness.runner import Stopped, run

    configuration = load_configuration(options.configuration).only(options.only)
    folder = options.configuration.parent
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        counts = run(
            configuration,
            runs=options.runs or folder / "runs",
            results=options.results or folder / "results",
            workers=options.workers,
            time_limit=60 * options.minutes if options.minutes is not None else None,
            fresh=options.fresh,
            retry_failed=options.retry_failed,
            adopt=options.adopt,
            stop=stop,
        )
    except Stopped:
        print("Stopped. Start it again: only the missing cells will run.", file=sys.stderr)
        return 130
    print(
        f"{configuration.name}: {counts['finished']} of {counts['planned']} cells finished "
        f"({counts['measured_now']} now), {counts['failed']} failed.",
        file=sys.stderr,
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure the missing cells of a grid")
    run.add_argument("configuration", type=Path, help="such as experiments/paper/reduced.toml")
    run.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these experiments")
    run.add_argument("--runs", type=Path, help="log of finished cells (default: beside the grid)")
    run.add_argument("--results", type=Path, help="tables (default: results/ beside the grid)")
    run.add_argument("--workers", type=int, help="processes (default: one per core)")
    run.add_argument("--minutes", type=float, help="start no cell after this time")
    run.add_argument("--fresh", action="store_true", help="measure finished cells again")
    run.add_argument("--retry-failed", action="store_true", help="measure failed cells again")
    run.add_argument("--adopt", action="store_true", help="count cells in the tables as finished")
    report = commands.add_parser("report", help="write reports and figures from the tables")
    report.add_argument("studies", nargs="*", type=_study, metavar="STUDY", help="default: all")
    numbers = commands.add_parser("numbers", help="update the marked numbers of markdown files")
    numbers.add_argument("files", nargs="*", type=Path, metavar="FILE", help="default: all")
    numbers.add_argument(
        "--check", action="store_true", help="only say what differs from the tables"
    )
    numbers.add_argument("--list", action="store_true", help="show every name and its number")
    return parser


def _study(name: str) -> str:
    if name not in studies():
        raise argparse.ArgumentTypeError(f"no study {name!r}; there are {', '.join(studies())}")
    return name


if __name__ == "__main__":
    sys.exit(main())
