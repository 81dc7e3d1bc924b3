"""Change one small thing in the source, run the tests that must notice, and write down who did.

    python tests/mutants/run.py               # all of them
    python tests/mutants/run.py inspection    # one list, or: those whose description has a word
    python tests/mutants/run.py --missing     # those that have no result yet

Results are kept in results.csv, each with the commit it is of, and told in RESULTS.md.

The lists are the TOML files beside this one. Each change is made in a copy of the tree, so that
nothing here is touched; the tests run in a process that already holds NumPy, SciPy and
scikit-learn. Compiled functions are compiled anew, since numba's cache lies beside the source in
the copy and is dropped when that has changed. A test that notices a change must pass without it,
which is tried once.
"""

import csv
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS, TABLE = HERE / "RESULTS.md", HERE / "results.csv"
# Of the processor, not of the clock. Tests that take more have noticed: a climb that never ends is
# a failure, too.
SECONDS = 120
TARGET = 0.95
# What is copied.
FOLDERS = ("src", "tests", "experiments", "examples", "docs", "benchmarks")
FILES = ("pyproject.toml", "README.md", "Makefile")


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

    @property
    def path(self) -> str:
        return f"src/sarlearn/{self.file}"


@dataclass
class Result:
    """The test that noticed a change, or nothing; and the commit of the tree that was changed."""

    noticed_by: str
    tree: str


def main(words: list[str]) -> int:
    everything, known = mutants(), _known()
    if words == ["--missing"]:
        chosen = [mutant for mutant in everything if mutant.what not in known]
    else:
        chosen = [m for m in everything if not words or m.room in words or _has(m, words)]
    if not chosen:
        print("There is nothing to do.", file=sys.stderr)
        return 2
    _import_what_all_need()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree, commit = _copy_of_the_tree(Path(folder)), _commit()
        for number, mutant in enumerate(chosen, 1):
            began = time.monotonic()
            by = _try(tree, mutant)
            if by and not _passes_as_it_is(tree, by):
                print(f"{by} fails without any change, too: mend it first.", file=sys.stderr)
                return 1
            known[mutant.what] = Result(by, commit)
            verdict = by or "NOT NOTICED"
            seconds = time.monotonic() - began
            print(f"{number:3} {mutant.room}: {mutant.what} -> {verdict} ({seconds:.0f} s)")
            _keep(everything, known)
    return _verdict(everything, known)


def _verdict(everything: list[Mutant], known: dict[str, Result]) -> int:
    """Says what is not as it should be; 0 where all is well."""
    measured = [mutant for mutant in everything if mutant.what in known]
    seen = [mutant for mutant in measured if known[mutant.what].noticed_by]
    print(f"{len(seen)} of {len(measured)} noticed; {len(everything) - len(measured)} not tried.")
    odd = [m.what for m in measured if bool(known[m.what].noticed_by) == bool(m.unnoticed)]
    if odd:
        print("Not as the lists say: " + "; ".join(odd), file=sys.stderr)
    return int(bool(odd) or len(seen) < TARGET * len(measured))


def _known() -> dict[str, Result]:
    """Results so far."""
    if not TABLE.exists():
        return {}
    with TABLE.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream)
        return {row["what"]: Result(row["noticed_by"], row["tree"]) for row in rows}


def _commit() -> str:
    """The commit of the tree, and whether something in it has changed since."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(ROOT), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    results = [f":!{path.relative_to(ROOT)}" for path in (RESULTS, TABLE)]
    changed = git("status", "--porcelain", "--", *FOLDERS, *FILES, *results)
    return git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")


def _keep(everything: list[Mutant], known: dict[str, Result]) -> None:
    tried = [(mutant, known[mutant.what]) for mutant in everything if mutant.what in known]
    rows = [(m.room, m.file, m.what, found.noticed_by, found.tree) for m, found in tried]
    with TABLE.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([("room", "file", "what", "noticed_by", "tree"), *rows])
    RESULTS.write_text(_told(everything, known), encoding="utf-8")


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
    import matplotlib
    import numba
    import pandas
    import pytest
    import scipy.optimize
    import scipy.stats
    import sklearn.ensemble
    import sklearn.linear_model
    import sklearn.model_selection

    del matplotlib, numba, pandas, pytest, scipy, sklearn


def _copy_of_the_tree(folder: Path) -> Path:
    tree = folder / "tree"
    skip = shutil.ignore_patterns("__pycache__", ".git", ".venv", "results", "runs", "figures")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tree / name, ignore=skip)
    for name in FILES:
        shutil.copy(ROOT / name, tree / name)
    return tree


def _try(tree: Path, mutant: Mutant) -> str:
    """The test that noticed the change, or nothing."""
    path = tree / mutant.path
    before, times = path.read_text(encoding="utf-8"), path.stat()
    path.write_text(before.replace(mutant.old, mutant.new), encoding="utf-8")
    # Python knows a file by size and whole seconds: a change within one must not look like none.
    os.utime(path, (times.st_atime, times.st_mtime + 60))
    try:
        return next(iter(_failures(tree, mutant.tests, "-x")), "")
    finally:
        path.write_text(before, encoding="utf-8")
        os.utime(path, (times.st_atime, times.st_mtime))


@cache
def _passes_as_it_is(tree: Path, test: str) -> bool:
    # Tests that could not be imported, or did not end, have no name to try.
    return "::" not in test or not _failures(tree, [test])


def _failures(tree: Path, tests: list[str], *options: str) -> list[str]:
    """The tests that fail in a tree."""
    log = tree.parent / "log.txt"
    process = os.fork()
    if process == 0:
        try:
            _run_tests(tree, [*options, *tests], log)
        finally:  # the child ends here, whatever happened
            traceback.print_exc()
            os._exit(70)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return ["did not end"] if code == -signal.SIGXCPU else _failed(log, code)


def _run_tests(tree: Path, given: list[str], log: Path) -> None:
    """In the child: the tests, with the source of the tree, then the end."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    os.chdir(tree)
    # Changed files are never kept compiled: two changes within a second would look alike.
    sys.dont_write_bytecode = "-x" in given
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["PYTHONPATH"] = str(tree / "src")
    sys.path.insert(0, str(tree / "src"))
    import pytest

    code = pytest.main(["-q", "-p", "no:cacheprovider", "--tb=no", *given])
    sys.stdout.flush()
    os._exit(int(code))


def _failed(log: Path, code: int) -> list[str]:
    if code == 0:
        return []
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    failed = [line.split(" ", 1)[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    if failed:
        return [name.split(" - ")[0] for name in failed]
    if code not in (1, 2):  # no test found, or pytest called wrongly
        raise RuntimeError("\n".join(lines[-20:]))
    return ["could not be imported"]


def _told(everything: list[Mutant], known: dict[str, Result]) -> str:
    tried = [mutant for mutant in everything if mutant.what in known]
    seen = sum(bool(known[mutant.what].noticed_by) for mutant in tried)
    trees = Counter(known[mutant.what].tree for mutant in tried)
    lines = [
        "# Small changes in the source, and the tests that notice them",
        "",
        "Written by `make mutants`. Each change is made alone, in a copy of the tree, and only the",
        "tests that must notice it are run.",
        "",
        f"**{seen} of {len(tried)} noticed ({seen / len(tried):.0%}).** "
        + (f"Listed and not tried: {len(everything) - len(tried)}." * (tried != everything)),
        "",
        "Measured on these commits, with the number of changes: "
        + ", ".join(f"{tree} ({count})" for tree, count in trees.most_common())
        + ".",
        "",
        "| room | change | noticed by |",
        "|---|---|---|",
    ]
    for mutant in tried:
        by = f"`{known[mutant.what].noticed_by}`" if known[mutant.what].noticed_by else "**nobody**"
        lines.append(f"| {mutant.room} | {mutant.what} | {by.replace('|', chr(92) + '|')} |")
    left = [mutant for mutant in tried if not known[mutant.what].noticed_by]
    if left:
        lines += ["", "## Not noticed, and why", ""]
        lines += [f"- {m.what} (`{m.file}`): {m.unnoticed or 'not explained yet'}" for m in left]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
