"""Links into the documentation of other packages, without asking their sites for an inventory.

An inventory says which names a site documents and where. Those sites follow fixed rules (a page per
public name of a namespace), so the inventory can be written from the installed package itself.
"""

import importlib
import inspect
import zlib
from pathlib import Path

# Site, page of a name, public namespaces.
PACKAGES = {
    "sklearn": (
        "https://scikit-learn.org/stable/",
        "modules/generated/{name}.html",
        [
            "sklearn.base",
            "sklearn.calibration",
            "sklearn.compose",
            "sklearn.ensemble",
            "sklearn.exceptions",
            "sklearn.kernel_approximation",
            "sklearn.linear_model",
            "sklearn.metrics",
            "sklearn.model_selection",
            "sklearn.pipeline",
            "sklearn.preprocessing",
        ],
    ),
    "numpy": (
        "https://numpy.org/doc/stable/",
        "reference/generated/{name}.html",
        ["numpy", "numpy.random"],
    ),
    "scipy": (
        "https://docs.scipy.org/doc/scipy/",
        "reference/generated/{name}.html",
        ["scipy.special", "scipy.sparse", "scipy.stats"],
    ),
    "pandas": ("https://pandas.pydata.org/docs/", "reference/api/{name}.html", ["pandas"]),
}


def entries(page: str, namespaces: list[str]) -> list[str]:
    """Lines of an inventory: name, domain and role, priority, page with anchor, title."""
    lines = []
    for namespace in namespaces:
        module = importlib.import_module(namespace)
        for name in getattr(module, "__all__", dir(module)):
            try:
                thing = getattr(module, name, None)
            except ImportError:  # experimental, to be switched on first
                continue
            if name.startswith("_") or not callable(thing):
                continue
            role = "class" if inspect.isclass(thing) else "function"
            full = f"{namespace}.{name}"
            lines.append(f"{full} py:{role} 1 {page.format(name=full)}#{full} -")
    return lines


def write(project: str, lines: list[str], path: Path) -> None:
    """An inventory of version 2: a head of four lines, the rest compressed."""
    head = (
        "# Sphinx inventory version 2\n"
        f"# Project: {project}\n"
        "# Version: \n"
        "# The remainder of this file is compressed using zlib.\n"
    )
    path.write_bytes(head.encode() + zlib.compress("\n".join(lines).encode() + b"\n"))


def prepare(app, config) -> None:
    folder = Path(app.doctreedir)
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for project, (site, page, namespaces) in PACKAGES.items():
        path = folder / f"{project}.inv"
        write(project, entries(page, namespaces), path)
        mapping[project] = (site, str(path))
    config.intersphinx_mapping = mapping


def setup(app):
    app.connect("config-inited", prepare, priority=100)  # before intersphinx reads its setting
    return {"parallel_read_safe": True}
