"""Tables as people have them: mixed columns, gaps, words; read, encoded, written."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sarlearn.tables.pipeline import (
        FromColumns,
        TableEncoder,
        TablePipeline,
        make_table_classifier,
    )

__all__ = ["FromColumns", "TableEncoder", "TablePipeline", "make_table_classifier"]


def __getattr__(name: str) -> Any:
    # Asked for when needed: the command line reads tables without waiting for scikit-learn.
    if name not in __all__:
        raise AttributeError(f"module 'sarlearn.tables' has no attribute {name!r}")
    return getattr(importlib.import_module("sarlearn.tables.pipeline"), name)
