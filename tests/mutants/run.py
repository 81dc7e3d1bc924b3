"""Change one small thing in the source, run the tests that must notice, and write down who did.

    python tests/mutants/run.py               # all of them; results in RESULTS.md
    python tests/mutants/run.py inspection    # one list, or: those whose description has a word

The lists are the TOML files beside this one. Each change is made in a copy of the tree, so that
nothing here is touched; the tests run in a process that already holds NumPy, SciPy and
scikit-learn. Before anything is changed, the tests must pass as they are.
"""

import os
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = HERE / "RESULTS.md"
# A test that takes longer has noticed: a climb that never ends is a failure, too.
SECONDS = 300
TARGET = 0.95


@dataclass
class Mutant:
    """One change: what it does, where, and the tests that must notice it."""

    room: str
    what: str
    file: str
    old: str
    new: str
    tests: list[str]
    unnoticed: str = ""
    noticed_by: str = field(default="", repr=False)

    @property
    def path(self) -> str:
        return f"src/sarlearn/{self.file}"


def main(words: list[str]) -> int:
    everything = mutants()
    chosen = [m for m in everything if not words or m.room in words or _has(m, words)]
    if not chosen:
        print(f"No list and no change is called {' '.join(words)}.", file=sys.stderr)
        return 2
    _import_what_all_need()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = _copy_of_the_tree(Path(folder))
        named = sorted({test for mutant in chosen for test in mutant.tests})
        print(f"{len(chosen)} changes, {len(named)} tests. First the tests as they are.")
        failed = _failure(tree, named, seconds=3600)
        if failed:
            print(f"Not as they should be: {failed}", file=sys.stderr)
            return 1
        for number, mutant in enumerate(chosen, 1):
            began = time.monotonic()
            mutant.noticed_by = _try(tree, mutant)
            verdict = mutant.noticed_by or "NOT NOTICED"
            seconds = time.monotonic() - began
            print(f"{number:3} {mutant.room}: {mutant.what} -> {verdict} ({seconds:.0f} s)")
    seen = sum(bool(mutant.noticed_by) for mutant in chosen)
    print(f"{seen} of {len(chosen)} noticed.")
    surprises = [m.what for m in chosen if bool(m.noticed_by) == bool(m.unnoticed)]
    if surprises:
        print("Not as the lists say: " + "; ".join(surprises), file=sys.stderr)
    if not words:
        RESULTS.write_text(_table(chosen), encoding="utf-8")
    return int(bool(surprises) or seen < TARGET * len(chosen))


def mutants() -> list[Mutant]:
    """All changes, each checked to be one: its old text occurs once."""
    found, wrong = [], 0
    for path in sorted(HERE.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            mutant = Mutant(path.stem, **entry)
            count = (ROOT / mutant.path).read_text(encoding="utf-8").count(mutant.old)
            if count != 1 or mutant.old == mutant.new:
                print(f"{mutant.what}: {mutant.old!r} is {count} times in {mutant.file}")
                wrong += 1
            found.append(mutant)
    if wrong:
        raise SystemExit(f"{wrong} entries are not of this source: mend the lists first.")
    return found


def _has(mutant: Mutant, words: list[str]) -> bool:
    return any(word in mutant.what or word in mutant.file for word in words)


def _import_what_all_need() -> None:
    """Once, before the forks: these imports take longer than most of the tests."""
    import hypothesis.extra.numpy
    import matplotlib
    import numba
    import pandas
    import pytest
    import scipy.optimize
    import scipy.stats
    import sklearn.ensemble
    import sklearn.linear_model
    import sklearn.model_selection

    del hypothesis, matplotlib, numba, pandas, pytest, scipy, sklearn


def _copy_of_the_tree(folder: Path) -> Path:
    tree = folder / "tree"
    skip = shutil.ignore_patterns("__pycache__", ".git", ".venv", "results", "runs", "figures")
    for name in ("src", "tests", "experiments", "examples", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, tree / name, ignore=skip)
    for name in ("pyproject.toml", "README.md", "Makefile"):
        shutil.copy(ROOT / name, tree / name)
    return tree


def _try(tree: Path, mutant: Mutant) -> str:
    """The test that noticed the change, or nothing."""
    path = tree / mutant.path
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        return _failure(tree, mutant.tests, SECONDS)
    finally:
        path.write_text(before, encoding="utf-8")


def _failure(tree: Path, tests: list[str], seconds: float) -> str:
    """The first of the tests that fails in a tree; empty where all pass."""
    log = tree.parent / "log.txt"
    process = os.fork()
    if process == 0:
        _run_tests(tree, tests, log)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return _first_failure(log, os.waitstatus_to_exitcode(status))
        time.sleep(0.05)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return "did not end in time"


def _run_tests(tree: Path, tests: list[str], log: Path) -> None:
    """In the child: tests of the tree in their own process, then the end."""
    os.setsid()
    stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    os.chdir(tree)
    sys.dont_write_bytecode = True  # two changes within a second would look alike
    os.environ["PYTHONPATH"] = str(tree / "src")
    sys.path.insert(0, str(tree / "src"))
    import pytest

    code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no", *tests])
    sys.stdout.flush()
    os._exit(int(code))


def _first_failure(log: Path, code: int) -> str:
    if code == 0:
        return ""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    failed = [line.split(" ", 1)[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    if failed:
        return failed[0].split(" - ")[0]
    if code not in (1, 2):  # no test found, or pytest called wrongly
        raise RuntimeError("\n".join(lines[-20:]))
    return "could not be imported"


def _table(found: list[Mutant]) -> str:
    seen = [mutant for mutant in found if mutant.noticed_by]
    lines = [
        "# Small changes in the source, and the tests that notice them",
        "",
        "Written by `make mutants`. Each change is made alone, in a copy of the tree.",
        "",
        f"**{len(seen)} of {len(found)} noticed ({len(seen) / len(found):.0%}).**",
        "",
        "| room | change | noticed by |",
        "|---|---|---|",
    ]
    for mutant in found:
        by = f"`{mutant.noticed_by}`" if mutant.noticed_by else "**nobody**"
        lines.append(f"| {mutant.room} | {mutant.what} | {by.replace('|', chr(92) + '|')} |")
    if len(seen) < len(found):
        lines += ["", "## Not noticed, and why", ""]
        lines += [f"- {m.what} (`{m.file}`): {m.unnoticed}" for m in found if not m.noticed_by]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
