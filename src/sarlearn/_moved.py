"""Old paths and old names: they work for one more release, and say what to write instead."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def moved(old: str, home: str, names: tuple[str, ...] | Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that warns and forwards ``names`` to their new ``home``.

    Where names changed, too, ``names`` maps each old one to the new one.
    """
    new_names = names if isinstance(names, Mapping) else {name: name for name in names}

    def forward(name: str) -> Any:
        if name not in new_names:
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        _warn_of_name(f"{old}.{name}", f"{home}.{new_names[name]}")
        return getattr(importlib.import_module(home), new_names[name])

    return forward


def renamed_attribute(old: str, new: str) -> Any:
    """A property that warns and gives what is now called ``new``."""

    def value(self) -> Any:
        _warn_of_name(f"{type(self).__name__}.{old}", new)
        return getattr(self, new)

    return property(value, doc=f"Old name of ``{new}``, which goes in the next release.")


def renamed_parameter(estimator, old: str, new: str) -> Any:
    """The value of a parameter, also where it was given by its old name."""
    given = getattr(estimator, old)
    if isinstance(given, str) and given == "deprecated":
        return getattr(estimator, new)
    _warn_of_name(f"{type(estimator).__name__}({old}=...)", f"{new}=...")
    return given


def _warn_of_name(old: str, new: str) -> None:
    from sarlearn.exceptions import warn

    warn(FutureWarning(f"{old} is now called {new}; the old name goes in the next release."))
