"""Learning from positive and unlabelled data when the labelled positives are a biased sample."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sarlearn.backends.batch_source import Batches
    from sarlearn.classifiers import (
        KnownPropensityClassifier,
        MultiSCARClassifier,
        RepeatedSARClassifier,
        SARClassifier,
        SAREMClassifier,
        SCARClassifier,
    )
    from sarlearn.reporting import report
    from sarlearn.saving import load, save
    from sarlearn.sql import to_sql
    from sarlearn.tables.encoder import TableEncoder

__version__ = "0.1.0"

__all__ = [
    "Batches",
    "KnownPropensityClassifier",
    "MultiSCARClassifier",
    "RepeatedSARClassifier",
    "SARClassifier",
    "SAREMClassifier",
    "SCARClassifier",
    "TableEncoder",
    "load",
    "report",
    "save",
    "to_sql",
]

# Where each public name lives. They are imported when first asked for: scikit-learn takes a
# second to import, and `sarlearn --help` should not wait for it.
_HOMES = {
    "Batches": "backends.batch_source",
    "KnownPropensityClassifier": "classifiers",
    "MultiSCARClassifier": "classifiers",
    "RepeatedSARClassifier": "classifiers",
    "SARClassifier": "classifiers",
    "SAREMClassifier": "classifiers",
    "SCARClassifier": "classifiers",
    "TableEncoder": "tables.encoder",
    "load": "saving",
    "report": "reporting",
    "save": "saving",
    "to_sql": "sql",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sarlearn' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"sarlearn.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
