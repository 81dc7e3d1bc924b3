"""How large the package is, and which way one fit takes through it.

``python -m tests.house`` prints counts beside their limits; with ``--trace`` and names of learners,
it prints the way of a fit of each in Markdown, as ``docs/development/trace.md`` has it.
"""

import argparse
import ast
import importlib
import io
import sys
import tokenize
import types
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

LIMITS = {
    "lines of code": 15_500,
    "files": 125,
    "public names": 70,
    "lines of the median function": 12,
    "files over 450 lines": 0,
    "files entered in one fit": 20,
    "pairs of files that call each other": 6,
}
LONG_FUNCTION, LONG_FILE = 60, 450
# The first of them that there is makes the fit in the table of counts.
LEARNERS = ["SARClassifier"]


# -- counts ---------------------------------------------------------------------------------------


class File(NamedTuple):
    """Numbers of lines: of all, of those with code, of docstrings, and of each function's code."""

    lines: int
    code: int
    docstrings: int
    functions: list[int]


def count_file(text: str) -> File:
    """Count the lines of a module. A line has code where anything but a comment or docstring is."""
    nodes = list(ast.walk(ast.parse(text)))
    docs = [
        node.value
        for node in nodes
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    starts = {(doc.lineno, doc.col_offset) for doc in docs}
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_code = token.type != tokenize.COMMENT and token.string.strip()  # else it is space
        if is_code and token.start not in starts:
            code.update(range(token.start[0], token.end[0] + 1))
    functions = [
        sum(node.lineno <= line <= node.end_lineno for line in code)
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    doc_lines = {line for doc in docs for line in range(doc.lineno, doc.end_lineno + 1)}
    return File(len(text.splitlines()), len(code), len(doc_lines - code), functions)


def count(root: Path) -> dict[str, float]:
    """What the files of a package come to."""
    files = [count_file(path.read_text(encoding="utf-8")) for path in root.rglob("*.py")]
    functions = [lines for file in files for lines in file.functions]
    return {
        "lines of code": sum(file.code for file in files),
        "lines of docstrings": sum(file.docstrings for file in files),
        "files": len(files),
        f"files over {LONG_FILE} lines": sum(file.lines > LONG_FILE for file in files),
        "functions": len(functions),
        "lines of the median function": median(functions or [0]),
        f"functions over {LONG_FUNCTION} lines": sum(n > LONG_FUNCTION for n in functions),
    }


# -- the way of a fit -----------------------------------------------------------------------------


class Way(NamedTuple):
    """Files in order of their first call, and how often one called into another."""

    files: list[str]
    calls: Counter[tuple[str, str]]

    def pairs(self) -> list[tuple[str, str]]:
        """Files that call each other, both ways."""
        return sorted((a, b) for a, b in self.calls if a < b and (b, a) in self.calls)

    def markdown(self, title: str) -> str:
        """A heading, a row per file with what it calls, and the pairs."""
        rows = []
        for number, file in enumerate(self.files, start=1):
            there = [f"`{b}` {n}" for b in self.files if (n := self.calls[file, b])]
            rows.append(f"| {number} | `{file}` | {', '.join(there)} |")
        pairs = self.pairs()
        told = ", ".join(f"`{a}` and `{b}`" for a, b in pairs) or "none"
        head = f"{len(self.files)} files, {len(pairs)} pairs that call each other both ways."
        table = ["|   | file | calls, how often |", "|---|---|---|", *rows]
        return "\n".join([f"## {title}", "", head, "", *table, "", f"Both ways: {told}."])


def way_of(action: Callable[[], object], root: Path) -> Way:
    """Follow what an action calls in the files below ``root``, from its own thread.

    A file calls another also where it calls back a function, or a method of an object, that it was
    given: rows call the functions that they add up. By imports alone, pairs would be fewer.
    Code of others in between, such as a decorator's, is passed over: its caller calls. So is what
    runs on import, if the action was done once before.
    """
    files: dict[str, None] = {}
    calls: Counter[tuple[str, str]] = Counter()
    names: dict[str, str | None] = {}

    def name_of(frame: types.FrameType) -> str | None:
        path = frame.f_code.co_filename
        if path not in names:
            inside = Path(path).is_relative_to(root)
            names[path] = (
                Path(path).relative_to(root).with_suffix("").as_posix() if inside else None
            )
        return names[path]

    def look(frame: types.FrameType, event: str, _) -> None:
        # A generator's expression is pulled by whoever it is given to: that is no call.
        if event != "call" or frame.f_code.co_name == "<genexpr>" or not (here := name_of(frame)):
            return
        files.setdefault(here)
        above = frame.f_back
        while above and not name_of(above):
            above = above.f_back
        if above and (caller := name_of(above)) and caller != here:
            calls[caller, here] += 1

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        action()
    finally:
        sys.setprofile(before)
    return Way(list(files), calls)


def way_of_a_fit(learner: str) -> Way:
    """Of a learner of the top level, on 2,000 rows and 4 columns, the last for the propensity."""
    import numpy as np

    import sarlearn

    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 4))
    y = rng.random(2000) < 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1]))
    s = y & (rng.random(2000) < 1 / (1 + np.exp(-X[:, 3])))
    model = getattr(sarlearn, learner)([3])
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, s)
        return way_of(lambda: model.fit(X, s), Path(sarlearn.__file__).parent)


# -- what is printed ------------------------------------------------------------------------------


def table() -> str:
    """The counts of the package beside their limits."""
    import sarlearn

    found = count(Path(sarlearn.__file__).parent)
    found["public names"] = len(importlib.import_module("tests.site_tools").public_names())
    learner = next(name for name in LEARNERS if name in sarlearn.__all__)
    way = way_of_a_fit(learner)
    found["files entered in one fit"] = len(way.files)
    found["pairs of files that call each other"] = len(way.pairs())
    lines = [f"{'':36}{'now':>8}{'at most':>10}"]
    for name, value in found.items():
        limit = f"{LIMITS[name]:,}" if name in LIMITS else ""
        lines.append(f"{name:36}{value:>8,}{limit:>10}")
    return "\n".join([*lines, f"(one fit: {learner}, 2,000 x 4)"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.house", description=__doc__)
    parser.add_argument("--trace", nargs="+", metavar="LEARNER", help="print the way of a fit")
    learners = parser.parse_args().trace
    print("\n\n".join(way_of_a_fit(n).markdown(n) for n in learners) if learners else table())


if __name__ == "__main__":
    main()
