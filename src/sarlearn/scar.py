"""Moved to :mod:`sarlearn`."""

from sarlearn._moved import moved

__getattr__ = moved(__name__, "sarlearn", ("SCARClassifier",))
