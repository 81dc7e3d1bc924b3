"""Where a report comes from: when, by which command, with which versions and seed."""

import platform
from datetime import datetime
from importlib.metadata import version
from typing import Any

from sarlearn import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn")


def origin_of(final, command: str | None) -> dict[str, Any]:
    """Date, command, versions and seed, so that the same report can be made again."""
    return {
        "date": datetime.now().astimezone().isoformat(sep=" ", timespec="minutes"),
        "command": command,
        "seed": _seed(final),
        "versions": {
            "sarlearn": __version__,
            "Python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
    }


def _seed(final) -> int | None:
    """The seed of a learner that draws anything; None where it draws nothing, or has no seed."""
    seed = final.get_params(deep=False).get("random_state")
    return seed if isinstance(seed, int) else None
