"""What a stranger reads first: one version, links that lead somewhere, a short README."""

import re
import tomllib

import pytest

import sarlearn
from minimum_versions import constraints
from site_tools import DOCS, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TEXTS = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
TEXTS = [path for path in TEXTS if not {"generated", "_build"} & set(path.parts)]


def test_one_version():
    assert PROJECT["project"]["version"] == sarlearn.__version__
    for name, pattern in (
        ("CITATION.cff", r"^version: (\S+)$"),
        ("conda/recipe.yaml", r"^  version: (\S+)$"),
        ("docs/development/citing.md", r"version = \{(\S+)\}"),
    ):
        found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.M)
        assert found, name
        assert found[1] == sarlearn.__version__, name


def test_the_readme_is_a_front_page():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)
    assert not re.search(r"\{\w+\}`", text), "links of Sphinx are not read in a checkout"
    for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)\s#]+)", text):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("name", ["CONTRIBUTING", "CODE_OF_CONDUCT", "SECURITY", "SUPPORT"])
def test_project_files(name):
    assert len((ROOT / f"{name}.md").read_text(encoding="utf-8")) > 500


def test_the_package_is_typed_and_has_addresses():
    assert (ROOT / "src" / "sarlearn" / "py.typed").exists()
    assert "Typing :: Typed" in PROJECT["project"]["classifiers"]
    assert {"Documentation", "Source", "Issues", "Changelog"} <= set(PROJECT["project"]["urls"])


def test_the_readme_of_the_package_index_has_no_relative_link():
    hook = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for change in hook["substitutions"]:
        text = re.sub(change["pattern"], change["replacement"], text)
    assert re.findall(r"\]\((?!https?:|#)", text) == []
    assert "<!--" not in text


def test_minimum_versions_are_those_declared():
    found = constraints(PROJECT["project"])
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in found)
    names = {line.partition("==")[0] for line in found}
    assert {"numpy", "scikit-learn", "pandas", "dask", "distributed"} <= names
    with pytest.raises(ValueError, match="No minimum"):
        constraints({"dependencies": ["numpy"], "optional-dependencies": {}})
