"""Processes that have imported the package before they begin: forks of one that has.

Starting Python and importing scikit-learn takes one to two seconds each time. What happens at the
very start of a process, such as what it imports, is for tests with new processes.
"""

import contextlib
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.reduction import DupFd

import sarlearn

SOURCE = os.path.dirname(os.path.dirname(sarlearn.__file__))
PRELOADED = ["sarlearn.tables", "sarlearn.saving", "sarlearn.cli.app", "sarlearn.audit", "pandas"]


def context(*more: str):
    """Of processes that are forked from one that has imported these modules, too."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload([*PRELOADED, *more])  # it counts at the first start only
    return forks


def start(*words, cwd=None, env=None, stdin=subprocess.DEVNULL):
    """Start ``python -m module ...`` or ``python -c code ...``, with pipes for its text.

    What is given is as much of :class:`subprocess.Popen` as tests need.
    """
    if sys.platform != "linux":
        return start_new(*words, cwd=cwd, env=env, stdin=stdin)
    return Warm([str(word) for word in words], os.fspath(cwd or os.getcwd()), _with(env), stdin)


def start_new(*words, cwd=None, env=None, stdin=subprocess.DEVNULL):
    """The same as a person does it: nothing is imported yet."""
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env=_with(env),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


HELD = """
import functools, pkgutil, signal, sys

owner, name = pkgutil.resolve_name(sys.argv.pop(1)), sys.argv.pop(1)
function = getattr(owner, name)

@functools.wraps(function)
def held(*arguments, **settings):
    function(*arguments, **settings)
    print("held", flush=True)
    signal.pause()

setattr(owner, name, held)
"""
COMMAND = "from sarlearn.cli import main; main(sys.argv[1:])"


def start_held(owner: str, name: str, *arguments, code: str = COMMAND, **options):
    """Start code that stays for good where the method ``name`` of ``owner`` has done its work.

    It is there when this returns: what looks at it, or kills it, is neither early nor late.
    """
    process = start("-c", HELD + code, owner, name, *arguments, **options)
    told = process.stdout.readline()
    assert told == "held\n", (told, *process.communicate())
    return process


def _with(env: dict[str, str | None] | None) -> dict[str, str]:
    """The environment of this process and more; what is None is left out."""
    found = {**os.environ, "PYTHONPATH": SOURCE, **(env or {})}
    return {name: value for name, value in found.items() if value is not None}


class Warm:
    """A fork that behaves as if it had been started with these words after ``python``."""

    def __init__(self, words: list[str], cwd: str, env: dict[str, str], stdin):
        to_read, to_write = os.pipe() if stdin == subprocess.PIPE else (os.open(os.devnull, 0), -1)
        ours, theirs = zip(os.pipe(), os.pipe(), strict=True)
        process = context().Process(target=_run, args=(words, cwd, env, _Ends(to_read, *theirs)))
        try:
            process.start()
        finally:
            for end in (to_read, *theirs):
                os.close(end)
        self._process, self.pid = process, process.pid
        self.stdin = os.fdopen(to_write, "w", encoding="utf-8") if to_write >= 0 else None
        self.stdout, self.stderr = (os.fdopen(end, encoding="utf-8") for end in ours)
        self._said: tuple[str, str] | None = None

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """As :class:`subprocess.Popen` does: to a process that has ended, nothing."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, input: str | None = None, timeout: float = 300) -> tuple[str, str]:
        """All output and errors, when the process has ended."""
        if self._said is None:
            with self.stdout, self.stderr, ThreadPoolExecutor() as pool:
                told = [pool.submit(stream.read) for stream in (self.stdout, self.stderr)]
                if self.stdin is not None:
                    with contextlib.suppress(BrokenPipeError), self.stdin:  # it may have ended
                        self.stdin.write(input or "")
                self._process.join(timeout)
                if self.poll() is None:
                    self.kill()
                    raise subprocess.TimeoutExpired(["python"], timeout)
                self._said = told[0].result(), told[1].result()
        return self._said


class _Ends:
    """Three open files, for the fork: its input, output and errors."""

    def __init__(self, *ends: int):
        self.ends = ends

    def __reduce__(self):
        return _Ends._there, tuple(DupFd(end) for end in self.ends)

    @staticmethod
    def _there(*ends):
        return [end.detach() for end in ends]


def _run(words: list[str], cwd: str, env: dict[str, str], ends: list[int]) -> None:
    """In the fork."""
    for place, end in enumerate(ends):
        os.dup2(end, place)
        os.close(end)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    # A shell's background jobs, and so all that they start, ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    tempfile.tempdir = None  # as the environment says
    how, what, *arguments = words
    if how == "-m":
        sys.argv = [what, *arguments]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.argv = ["-c", *arguments]
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
