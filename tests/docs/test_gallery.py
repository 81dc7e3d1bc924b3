"""Examples and tutorials: a question each, in an order, with a figure. ``make docs`` runs them."""

import ast
import re

import pytest

from site_tools import DOCS, ROOT, SITE

FOLDERS = {"gallery": ROOT / "examples", "tutorials": DOCS / "tutorials"}
SCRIPTS = {path: name for name, folder in FOLDERS.items() for path in sorted(folder.glob("*.py"))}


def title_of(path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()[0]


def test_titles_are_questions_and_differ():
    titles = [title_of(path) for path in SCRIPTS]
    assert len(set(titles)) == len(titles)
    assert all("?" in title_of(path) for path, name in SCRIPTS.items() if name == "gallery")


@pytest.mark.parametrize("name", FOLDERS)
def test_the_order_names_every_script(name):
    order = (FOLDERS[name] / "ORDER").read_text(encoding="utf-8").split()
    assert sorted(order) == sorted(path.name for path in FOLDERS[name].glob("*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_has_text_and_draws(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("# %%") >= 2
    assert re.search(r"\bplot\(|from_estimator\(|subplots\(", text)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_built_page_has_a_figure(path):
    page = SITE / "generated" / SCRIPTS[path] / f"{path.stem}.html"
    if not page.exists():
        pytest.skip("the site is not built: make docs")
    assert "sphx-glr-single-img" in page.read_text(encoding="utf-8")
