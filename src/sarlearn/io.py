"""Moved to :mod:`sarlearn.tables.files`."""

from sarlearn._moved import moved

_NAMES = ("Labels", "nearest", "parse_labels", "read_table", "write_atomically", "write_table")

__getattr__ = moved(__name__, "sarlearn.tables.files", _NAMES)
