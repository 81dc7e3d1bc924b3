"""Moved to :mod:`sarlearn.tables`: its files ``read``, ``write`` and ``labels``."""

from sarlearn._moved import moved

_HOMES = {
    "sarlearn.tables.formats": ("nearest",),
    "sarlearn.tables.labels": ("Labels", "parse_labels"),
    "sarlearn.tables.read": ("read_table",),
    "sarlearn.tables.write": ("write_atomically", "write_table"),
}


def __getattr__(name: str):
    for home, names in _HOMES.items():
        if name in names:
            return moved(__name__, home, names)(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
