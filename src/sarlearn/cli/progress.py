"""What is being done and how far it is, on stderr, where a person watches."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

Show = Callable[[int, int | None], None]


@contextlib.contextmanager
def progress(what: str) -> Iterator[Show]:
    """Show what is being done and for how long.

    The block is given ``show(done, total)``: a bar where the total is known, else a count. Many
    refits (:func:`~sarlearn._view.parallel.run_all`) show themselves.
    """
    if not sys.stderr.isatty():
        yield _nothing
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from sarlearn._view.parallel import WATCHER

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        _bar_column(),
        TextColumn("{task.fields[count]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task(what, total=None, count="")

        def show(done: int, total: int | None) -> None:
            count = f"round {done}" if total is None else f"{done} of {total}"
            display.update(task, completed=done, total=total, count=count)

        token = WATCHER.set(show)
        try:
            yield show
        finally:
            WATCHER.reset(token)


def _nothing(done: int, total: int | None) -> None:
    """Nobody watches."""


def _bar_column():
    from rich.progress import BarColumn

    class Bar(BarColumn):
        """A bar where there is an end in sight."""

        def render(self, task) -> Any:
            return super().render(task) if task.total is not None else ""

    return Bar(bar_width=28)


class WatchFit:
    """A scikit-learn callback that reports every iteration of a fit to ``show``.

    The rounds of EM have a limit, which they seldom reach, so they are counted without it.
    """

    def __init__(self, show: Show):
        self._show, self._done = show, 0

    def setup(self, estimator, context) -> None:
        self._done = 0

    def on_fit_task_begin(self, estimator, context, **kwargs) -> None:
        pass

    def on_fit_task_end(self, estimator, context, **kwargs) -> None:
        self._done += 1
        rounds = context.task_name == "EM iteration"
        self._show(self._done, None if rounds else context.parent.max_subtasks)

    def teardown(self, estimator, context) -> None:
        pass


@contextlib.contextmanager
def watched(learner, show: Show) -> Iterator[None]:
    """Have a learner report its iterations to ``show``, for the length of the block.

    Before scikit-learn 1.9, which has no callbacks, it fits in silence.
    """
    try:
        learner.set_callbacks(WatchFit(show))
    except ImportError:
        yield
        return
    try:
        yield
    finally:
        learner.set_callbacks()
