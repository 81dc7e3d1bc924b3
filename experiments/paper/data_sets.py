"""The data sets as the library loads them, to be set beside the paper's table."""

from collections.abc import Iterator
from typing import Any

from ..harness.cells import Fields
from ..harness.data import load


def cells(settings: Fields) -> Iterator[Fields]:
    """Settings: ``datasets``."""
    for dataset in settings["datasets"]:
        yield {"dataset": dataset}


def measure(dataset: str) -> dict[str, Any]:
    """Rows, attributes before categories became columns, columns after, and the class prior."""
    data = load(dataset)
    return {
        "rows": len(data.y),
        "attributes": data.n_attributes,
        "columns": data.X.shape[1],
        "eligible": len(data.eligible),
        "prior": float(data.y.mean()),
    }
