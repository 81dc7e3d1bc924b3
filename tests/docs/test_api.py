"""Every public name has a page, and a docstring that numpydoc's validation accepts."""

import dataclasses
import inspect
import re

import pytest

from site_tools import DOCS, public_names

validate = pytest.importorskip("numpydoc.validate", reason="numpydoc is not installed: make docs")

# What is not asked for: an extended summary, and examples of results and warnings; a "verb" rule
# that takes plurals for verbs; and "bool" in the place of "boolean mask", which is another thing.
NOT_ASKED = {"ES01", "EX01", "SS05", "PR06"}
NAMES = public_names()


def listed() -> set[str]:
    """Names in the reference, by the module that stands before them."""
    found, module = set(), ""
    for line in (DOCS / "api" / "index.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+", line):
            found.add(f"{module}.{line.strip()}")
    return found


def test_every_public_name_is_in_the_reference():
    assert sorted(set(NAMES) - listed()) == []
    assert sorted(listed() - set(NAMES)) == []


@pytest.mark.parametrize("name", NAMES)
def test_docstrings_are_valid(name):
    errors = [error for error in validate.validate(name)["errors"] if error[0] not in NOT_ASKED]
    thing = NAMES[name]
    if dataclasses.is_dataclass(thing):  # a result: fields are described as attributes
        errors = [error for error in errors if error[0] != "PR01"]
        described = re.findall(r"^(\w[\w, ]*) :", inspect.getdoc(thing) or "", re.M)
        described = {word for line in described for word in line.split(", ")}
        fields = {field.name for field in dataclasses.fields(thing)}
        assert {field for field in fields if not field.startswith("_")} <= described
    if inspect.isfunction(thing):
        assert "\nExamples\n---" in inspect.getdoc(thing)
    assert errors == []


def test_a_missing_section_is_seen():
    assert "SA01" in {code for code, _ in validate.validate("site_tools.public_names")["errors"]}
