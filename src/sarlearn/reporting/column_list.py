"""How the columns of the table were read: the list at the end of a report."""

from typing import Any

import numpy as np

from sarlearn._view.parts import Attribute, Parts, value_text
from sarlearn._words import counted


def column_list(parts: Parts) -> list[dict[str, Any]]:
    """One dict per column: what it was read as, gaps, different values, an example, a note."""
    chosen = {attribute.name for attribute in parts.propensity_attributes}
    found = [_column(parts, attribute, attribute.name in chosen) for attribute in parts.attributes]
    if parts.encoder is not None:
        found += [_left_out(name, "holds a single value") for name in parts.encoder.constant_]
        present = set(parts.encoder.feature_names_in_)
        left_out = [name for name in parts.encoder.drop if name in present]
        found += [_left_out(name, "named as not to be learned from") for name in left_out]
    return found


def _column(parts: Parts, attribute: Attribute, chosen: bool) -> dict[str, Any]:
    notes = ["may decide who gets labelled"] if chosen else []
    values = attribute.values
    if attribute.numeric:
        known = values[~np.isnan(values)]
        gaps = len(values) - len(known)
        example = float(np.quantile(known, 0.5, method="nearest")) if len(known) else None
        if gaps:
            notes.append("gaps are filled with the median and marked")
    else:
        gaps = int(np.sum(values == "(missing)"))
        example = attribute.distinct[0]
        kept = len(attribute.positions)
        if kept < len(attribute.distinct) - 1:
            notes.append(f"rare values share one of {counted(kept, 'column')}")
    return {
        "column": attribute.name,
        "kind": "number" if attribute.numeric else "category",
        "gaps": gaps,
        "distinct": len(attribute.distinct),
        "example": None if example is None else value_text(example),
        "note": "; ".join(notes),
    }


def _left_out(name: str, why: str) -> dict[str, Any]:
    return {
        "column": name,
        "kind": "left out",
        "gaps": None,
        "distinct": None,
        "example": None,
        "note": why,
    }
