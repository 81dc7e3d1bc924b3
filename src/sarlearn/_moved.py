"""Old import paths: they work for one more release, and say where a name lives now."""

import importlib
from collections.abc import Callable
from typing import Any


def moved(old: str, home: str, names: tuple[str, ...]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that warns and forwards ``names`` to their new ``home``."""

    def forward(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        from sarlearn.exceptions import warn

        warn(
            FutureWarning(
                f"{old}.{name} has moved to {home}.{name}; the old path goes in the next release."
            )
        )
        return getattr(importlib.import_module(home), name)

    return forward
