"""How the columns of the table were read: the list at the end of a report."""

from typing import Any

import numpy as np

from sarlearn._view.parts import Attribute, Parts, value_text
from sarlearn._words import number_text
from sarlearn.tables.dates import date_source


def column_list(parts: Parts) -> list[dict[str, Any]]:
    """One dict per column: what it was read as, gaps, different values, an example, a note.

    Of a table it is what the encoder read when the model was fitted; of a matrix what it holds.
    """
    chosen = {attribute.name for attribute in parts.propensity_attributes}
    chosen |= {date_source(name) for name in chosen}
    if parts.encoder is None:
        found = [_matrix_column(attribute) for attribute in parts.attributes]
    else:
        found = [_table_column(reading.to_dict()) for reading in parts.encoder.readings_]
    for row in found:
        if row["column"] in chosen:
            row["note"] = "; ".join(["may decide who gets labelled", *filter(None, [row["note"]])])
    return found


def _table_column(reading: dict[str, Any]) -> dict[str, Any]:
    return {
        "column": reading["name"],
        "kind": "left out" if reading["dropped"] else reading["kind"],
        "gaps": reading["missing"],
        "distinct": reading["levels"],
        "example": _plain(reading["example"]) or None,
        "note": reading["note"],
    }


def _plain(example: str) -> str:
    """An example cell, a number in it without powers of ten."""
    try:
        return number_text(float(example)) if "e" in example.lower() else example
    except ValueError:
        return example


def _matrix_column(attribute: Attribute) -> dict[str, Any]:
    known = attribute.values[~np.isnan(attribute.values)]
    middle = np.quantile(known, 0.5, method="nearest") if len(known) else None
    return {
        "column": attribute.name,
        "kind": "number",
        "gaps": len(attribute.values) - len(known),
        "distinct": len(attribute.distinct),
        "example": None if middle is None else value_text(float(middle)),
        "note": "",
    }
