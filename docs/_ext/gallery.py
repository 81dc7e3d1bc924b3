"""The gallery: in which order examples stand, and what is not printed into their pages."""

import warnings
from pathlib import Path


def quiet(gallery_conf, fname) -> None:
    """Warnings of the library stay visible, without the path; others' about versions do not."""
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"(?!sarlearn)")
    warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}\n"


def example_order(name: str) -> tuple[int, str]:
    """By the list in the folder's header, which says what to read first; others come last."""
    for folder in (Path(__file__).parents[2] / "examples", Path(__file__).parents[1] / "tutorials"):
        if (folder / name).exists():
            order = (folder / "ORDER").read_text(encoding="utf-8").split()
            return (order.index(name) if name in order else len(order), name)
    return (0, name)
