"""Where the site is, and what it is checked by."""

import importlib
import pkgutil
from pathlib import Path

import sarlearn

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SITE = DOCS / "_build" / "html"
# The command line, and the rooms' own border: no interface for users.
NOT_LISTED = {"backends", "cli", "demo"}


def public_names() -> dict[str, object]:
    """Every public name by its path, each thing once, where it is nearest to the top."""
    modules = [sarlearn]
    for module in pkgutil.iter_modules(sarlearn.__path__):
        if not module.name.startswith("_") and module.name not in NOT_LISTED:
            modules.append(importlib.import_module(f"sarlearn.{module.name}"))
    found: dict[int, tuple[str, object]] = {}
    for module in modules:
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if callable(thing):
                found.setdefault(id(thing), (f"{module.__name__}.{name}", thing))
    return dict(found.values())
