"""Tables as people have them: mixed columns, gaps, words; read, encoded, written."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sarlearn.tables.encoder import TableEncoder
    from sarlearn.tables.pipeline import FromColumns, TablePipeline, make_table_classifier

_HOMES = {
    "FromColumns": "pipeline",
    "TableEncoder": "encoder",
    "TablePipeline": "pipeline",
    "make_table_classifier": "pipeline",
}

__all__ = [
    "FromColumns",
    "TableEncoder",
    "TablePipeline",
    "make_table_classifier",
]


def __getattr__(name: str) -> Any:
    # Asked for when needed: the command line reads tables without waiting for scikit-learn.
    if name not in _HOMES:
        raise AttributeError(f"module 'sarlearn.tables' has no attribute {name!r}")
    return getattr(importlib.import_module(f"sarlearn.tables.{_HOMES[name]}"), name)
