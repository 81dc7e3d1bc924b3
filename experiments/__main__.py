"""The four steps as commands: ``python -m experiments {run,analyse,plot,write}``."""

import argparse
import signal
import sys
import threading
from pathlib import Path

HERE = Path(__file__).parent


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and take the step asked for; the exit status."""
    options = _parser().parse_args(arguments)
    if options.step == "run":
        return _run(options)
    if options.step == "analyse":
        from .analyse import analyse

        analyse(options.results)
    elif options.step == "plot":
        from .plot import plot

        plot(options.results, options.figures)
    else:
        from .write import write

        write(options.results, options.figures, options.output)
        if options.readme is not None:
            from .grids import Grids
            from .headline import update_readme

            update_readme(options.readme, Grids(options.results))
    return 0


def _run(options: argparse.Namespace) -> int:
    from .cells import load_configuration
    from .runner import Stopped, run

    configuration = load_configuration(options.configuration).only(options.only)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        counts = run(
            configuration,
            runs=options.runs,
            results=options.results,
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
    steps = parser.add_subparsers(dest="step", required=True)
    run = steps.add_parser("run", help="measure the missing cells of a grid")
    run.add_argument("configuration", type=Path, help="a grid, experiments/reduced.toml say")
    run.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these experiments")
    run.add_argument("--runs", type=Path, default=HERE / "runs", help="log of finished cells")
    run.add_argument("--workers", type=int, default=None, help="processes (default: one a core)")
    run.add_argument("--minutes", type=float, default=None, help="start no cell after this time")
    run.add_argument("--fresh", action="store_true", help="measure finished cells again")
    run.add_argument("--retry-failed", action="store_true", help="measure failed cells again")
    run.add_argument("--adopt", action="store_true", help="count cells in the tables as finished")
    steps.add_parser("analyse", help="make the tables of the paper from the results")
    steps.add_parser("plot", help="draw the figures")
    steps.add_parser("write", help="write RESULTS.md")
    for name, step in steps.choices.items():
        step.add_argument("--results", type=Path, default=HERE / "results")
        if name in ("plot", "write"):
            step.add_argument("--figures", type=Path, default=HERE / "figures")
        if name == "write":
            step.add_argument("--output", type=Path, default=HERE / "RESULTS.md")
            step.add_argument("--readme", type=Path, help="also its two tables, between its marks")
    return parser


if __name__ == "__main__":
    sys.exit(main())
