"""One spelling in public names, one meaning of a word, and plain English in text."""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import sarlearn

ROOT = Path(sarlearn.__file__).parent
# American forms of words that names of this package hold. Endings in -ize are British, too, and
# n_neighbors, normalize and color are scikit-learn's and Matplotlib's own.
AMERICAN = re.compile(r"(?i)(?<!re)label(ed|ing)|(^|_)centers?(_|$)|behavior|favor|catalog(?!ue)")
# "one number a row" for "one number per row", and the like.
SQUEEZED = re.compile(
    r"\b(one|ns|ms|numbers?|pair|float64|probability|score|line|dot) an? "
    r"(core|row|pass|prior|partition|value|stratum|fold|method|draw|column|iteration|data set)\b"
    r"|\bhas (them|it) not\b|\b(tells?|told) \w+( \w+)? not apart\b"
)
# Words that only this code gave a meaning to. A reader looks for nonlinear, gradient, penalty,
# reported, Lagrange term, direction, weighted, derivative, other maxima, estimate, pseudo-counts.
PRIVATE = re.compile(
    r"bends?|bent|felt|told|taught|aim|slant|tilt|turned|weighed|steepness|rivals?|opinions?"
    r"|consensus|imagined?|pull"
)
# And in the engine: estimate, residual, predicted decrease, with Hessian, maximal step.
ENGINE_PRIVATE = re.compile(rf"{PRIVATE.pattern}|promise|curved|longest")
ENGINE_NAMES = {"own", "off"}


def namespaces():
    yield sarlearn
    for module in pkgutil.iter_modules(sarlearn.__path__):
        if not module.name.startswith("_"):
            yield importlib.import_module(f"sarlearn.{module.name}")


def public_things():
    for namespace in namespaces():
        for name in getattr(namespace, "__all__", ()):
            yield f"{namespace.__name__}.{name}", getattr(namespace, name)


def parameters_of(thing) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(thing).parameters)
    except (TypeError, ValueError):  # a constant, or an exception without its own fields
        return {}


def names_of(thing):
    """Parameters, methods and documented attributes."""
    yield from parameters_of(thing)
    if inspect.isclass(thing):
        for name, member in inspect.getmembers(thing):
            if not name.startswith("_"):
                yield name
                if inspect.isfunction(member) and member.__module__.startswith("sarlearn"):
                    yield from parameters_of(member)
        for listed in re.findall(r"^(\w[\w, ]*) : ", inspect.getdoc(thing) or "", re.M):
            yield from listed.split(", ")


def test_public_names_are_british():
    seen = set()
    for path, thing in public_things():
        for name in {path.rpartition(".")[2], *names_of(thing)}:
            assert not AMERICAN.search(name), f"{path}: {name}"
            seen.add(name)
    assert {"unlabelled_prior_", "max_rows", "ConstantLabelling"} <= seen


@pytest.mark.parametrize("name", ["max_centers", "unlabeled_prior_", "ConstantLabeling"])
def test_american_forms_are_seen(name):
    assert AMERICAN.search(name)


def test_every_public_parameter_and_attribute_is_described():
    for path, thing in public_things():
        members = vars(thing).items() if inspect.isclass(thing) else ()
        functions = [member for name, member in members if not name.startswith("_")]
        for documented in [thing, *filter(callable, functions)]:
            text = (inspect.getdoc(documented) or "").partition("\nSee Also\n")[0]
            for entry, following in re.findall(r"^(\w[\w, *]* : .*)\n(.*)", text, re.M):
                assert following.startswith(" ") or "see :class:" in entry, f"{path}: {entry}"


def test_text_is_not_squeezed():
    assert SQUEEZED.search("one number a row")
    assert SQUEEZED.search("tells the two not apart")
    for path in ROOT.rglob("*.py"):
        text = " ".join(path.read_text(encoding="utf-8").split())
        assert not (found := SQUEEZED.search(text)), f"{path}: {found.group()}"


def identifiers(path: Path):
    """Names of variables, attributes, arguments, functions and classes in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for field in ("id", "attr", "arg", "name"):
            name = getattr(node, field, None)
            if isinstance(name, str) and not isinstance(node, ast.alias):
                yield name


def words_of(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def test_identifiers_are_words_of_the_field():
    assert words_of("_PriorPull.bend_z") == ["prior", "pull", "bend", "z"]
    for path in ROOT.rglob("*.py"):
        in_engine = "_engine" in path.parts
        private = ENGINE_PRIVATE if in_engine else PRIVATE
        for name in identifiers(path):
            assert not any(map(private.fullmatch, words_of(name))), f"{path}: {name}"
            assert not (in_engine and name in ENGINE_NAMES), f"{path}: {name}"
