"""The rooms of the package: imports go one way, and each private thing has one place."""

import ast
import doctest
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import sarlearn

ROOT = Path(sarlearn.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# A module may import from rooms of its own floor and below, never from above.
FLOORS = [
    ["_words", "exceptions"],
    ["_compat", "__init__"],
    ["_labels", "_validation"],
    ["_engine"],
    ["backends"],
    ["tables"],
    ["classifiers"],
    ["metrics", "labelling"],
    ["priors", "_view", "datasets"],
    ["audit", "inspection"],
    ["reporting", "saving", "onnx", "sql", "_sql_text"],
    ["demo"],
    ["cli"],
    ["__main__"],
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}

# What still looks up, inside of a function, and why.
LOOKS_UP = {
    ("classifiers.scar", "priors"),  # its default prior estimator, imported when used
}
MOST_LINES = 450


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    """``priors.tice`` for a module, ``priors`` for a package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


@cache
def imports(path: Path) -> list[tuple[str, bool]]:
    """What a module imports, not only for type checkers, and whether inside of a function."""
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, lazy: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            inside = lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            if isinstance(child, ast.Import):
                found.extend((alias.name, inside) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{path}: relative import"
                found.extend((f"{child.module}.{a.name}", inside) for a in child.names)
            visit(child, inside)

    visit(tree(path), False)
    return found


def room_of(module: str) -> str:
    return module.split(".")[0]


def own(path: Path, *, lazy: bool) -> set[str]:
    """Names of the package that a module imports, without ``sarlearn``."""
    names = {name for name, inside in imports(path) if lazy or not inside}
    return {name.removeprefix("sarlearn.") for name in names if name.startswith("sarlearn.")}


def test_every_room_has_a_floor():
    assert {room_of(name_of(path)) for path in FILES} <= set(FLOOR)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_go_down(path):
    """Also those inside of functions: a room knows nothing of the rooms above it."""
    here = name_of(path)
    rooms = {room_of(name) for name in own(path, lazy=True)} & set(FLOOR)
    above = {room for room in rooms if FLOOR[room] > FLOOR[room_of(here)]}
    assert not {(here, room) for room in above} - LOOKS_UP


def test_a_room_above_is_seen(tmp_path):
    (tmp_path / "module.py").write_text("def f():\n    from sarlearn.cli import run\n")
    assert own(tmp_path / "module.py", lazy=True) == {"cli.run"}
    assert own(tmp_path / "module.py", lazy=False) == set()


def test_no_circles():
    """Of what is imported at once; modules of one room included."""
    modules = {name_of(path) for path in FILES}

    def module_of(name: str) -> str:
        return name if name in modules else name.rpartition(".")[0]

    graph = {name_of(path): {module_of(n) for n in own(path, lazy=False)} for path in FILES}
    graph = {name: others - {name, ""} for name, others in graph.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_private_names_of_scikit_learn_are_imported_in_one_place():
    for path in FILES:
        private = {
            name
            for name, _ in imports(path)
            if name.startswith("sklearn.") and "._" in name and not name.endswith("__")
        }
        assert not private or name_of(path) == "_compat", path


def test_only_the_back_ends_ask_for_dask():
    asking = {name_of(path) for path in FILES if "is_dask" in path.read_text(encoding="utf-8")}
    assert asking
    assert {room_of(name) for name in asking} == {"backends"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_reads_in_one_sitting(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_the_fit_that_the_engines_readme_tells_goes_as_told():
    found = doctest.testfile(str(ROOT / "_engine" / "README.md"), module_relative=False)
    assert found.attempted > 15
    assert not found.failed
