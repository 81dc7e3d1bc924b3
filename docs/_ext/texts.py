"""Texts that are written for the repository, read on the site.

- Reports of the experiments, the changelog and the like become pages, where they exist.
- A link from a page to a file of the repository leads to its page, or to the file's public address.
- The first mention of a public name on a page, as code, leads to its page in the reference.
- Marks that say which measurement a number is (``python -m experiments numbers``) are not shown.
"""

import os
import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
ADDRESS = "https://github.com/sarlearn/sarlearn/blob/main/"
MARK = re.compile(r"<!--=.*?-->", re.S)
NAME = re.compile(r"(?<![\[`])`((?:sarlearn\.)?(?:\w+\.)?(\w+))`(?!`)")
LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:|<)([^)\s#]+)(#[^)\s]*)?(?=\))")

# Where in the repository, and which page.
PAGES = {
    "experiments/paper/RESULTS.md": "generated/studies/paper",
    "experiments/learner/REPORT.md": "generated/studies/learner",
    "experiments/VERDICTS.md": "generated/studies/verdicts",
    "experiments/evidence/REPORT.md": "generated/studies/evidence",
    "experiments/outside/REPORT.md": "generated/studies/outside",
    "benchmarks/README.md": "generated/studies/benchmarks",
    "experiments/README.md": "generated/development/experiments",
    "CHANGELOG.md": "generated/development/changelog",
    "CONTRIBUTING.md": "generated/development/contributing",
    "CODE_OF_CONDUCT.md": "generated/development/code_of_conduct",
    "SECURITY.md": "generated/development/security",
    "SUPPORT.md": "generated/development/support",
    "RELEASING.md": "generated/development/releasing",
}
GALLERIES = {"examples": "generated/gallery", "tutorials": "generated/tutorials"}


def adapted(text: str, source: Path, page: Path) -> str:
    """A text of the repository as part of a page: marks gone, links leading where they should."""

    def target(found: re.Match) -> str:
        path = Path(os.path.normpath(source.parent / found[1]))
        if not path.exists() or not path.is_relative_to(ROOT):
            return found[0]
        name, anchor = path.relative_to(ROOT).as_posix(), found[2] or ""
        if name in PAGES:
            return os.path.relpath(DOCS / f"{PAGES[name]}.md", page.parent) + anchor
        if path.suffix == ".py" and path.parent.name in GALLERIES:
            script = DOCS / GALLERIES[path.parent.name] / f"{path.stem}.rst"
            return os.path.relpath(script, page.parent)
        if name in ("examples", "docs/tutorials"):
            return os.path.relpath(DOCS / GALLERIES[path.name] / "index.rst", page.parent)
        if path.suffix in (".png", ".svg") or path.is_relative_to(DOCS):
            return os.path.relpath(path, page.parent) + anchor
        return ADDRESS + name + anchor

    return LINK.sub(target, MARK.sub("", text))


def with_names(text: str) -> str:
    """Public names in code, outside of blocks: the first mention of each leads to its page."""
    paths, module = {}, ""
    for line in (DOCS / "api" / "index.rst").read_text(encoding="utf-8").splitlines():
        module = line.split()[-1] if line.startswith(".. currentmodule") else module
        if name := re.fullmatch(r"   (\w+)", line):
            paths[name[1]] = f"{module}.{name[1]}"

    def link(found: re.Match) -> str:
        # a word such as report or label is a public name only with its module before it
        is_name = "." in found[1] or re.search("[A-Z_]", found[2])
        path = paths.pop(found[2], None) if is_name else None
        return f"{{obj}}`{found[1]} <{path}>`" if path else found[0]

    parts = re.split(r"(?ms)(^```.*?^```$|^#.*?$)", text)
    return "".join(part if i % 2 else NAME.sub(link, part) for i, part in enumerate(parts))


def write_pages(app, config) -> None:
    for name, page in PAGES.items():
        source, path = ROOT / name, DOCS / f"{page}.md"
        if source.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            text = adapted(source.read_text(encoding="utf-8"), source, path)
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
        elif path.exists():
            path.unlink()


def read(app, docname, source) -> None:
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".md" and "generated" not in path.parts:
        source[0] = with_names(adapted(source[0], path, path))


def setup(app):
    app.connect("config-inited", write_pages)
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
