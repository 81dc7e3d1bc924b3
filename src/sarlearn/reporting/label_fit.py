"""How well the model describes the labels: observed against expected ones, group by group."""

from typing import Any

import numpy as np
from scipy.stats import norm

from sarlearn._view.curves import label_calibration
from sarlearn._view.parts import Parts

MAX_ATTRIBUTES = 60
MAX_STRATA = 6
MAX_GROUPS = 12
# Groups with fewer labels, seen or expected, deviate by chance alone.
ENOUGH = 5


def label_fit(parts: Parts, labelled: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
    """Labels seen and expected (``f e``) by decile of what is expected, and by group of rows.

    The groups are values, or quarters, of every column; those that deviate most come first.
    ``deviation`` is in standard deviations, were the model right.
    """
    spread = predicted * (1 - predicted)
    groups = []
    for attribute in parts.attributes[:MAX_ATTRIBUTES]:
        codes, names = attribute.strata(MAX_STRATA)

        def total(values, codes=codes, names=names) -> np.ndarray:
            return np.bincount(codes, weights=values, minlength=len(names))

        rows, seen = total(np.ones(len(codes))), total(labelled)
        expected, deviation = total(predicted), np.sqrt(np.maximum(total(spread), 1e-12))
        for code, name in enumerate(names):
            if max(seen[code], expected[code]) < ENOUGH:
                continue
            groups.append(
                {
                    "attribute": attribute.name,
                    "group": name,
                    "rows": int(rows[code]),
                    "labelled": int(seen[code]),
                    "expected": float(expected[code]),
                    "deviation": float((seen[code] - expected[code]) / deviation[code]),
                }
            )
    # By chance one group in any would pass this line one time in twenty (Bonferroni).
    limit = float(norm.isf(0.025 / max(1, len(groups))))
    groups.sort(key=lambda row: -abs(row["deviation"]))
    return {
        "deciles": _deciles(labelled, predicted),
        "groups": groups[:MAX_GROUPS],
        "n_groups": len(groups),
        "limit": limit,
        "n_off": sum(abs(row["deviation"]) > limit for row in groups),
    }


def _deciles(labelled: np.ndarray, predicted: np.ndarray) -> list[dict[str, Any]]:
    """Tenths of the rows, by the chance of a label that the model gives them."""
    bins = label_calibration(labelled, predicted)
    rows = zip(bins["count"], bins["observed"], bins["predicted"], strict=True)
    return [
        {"rows": n, "labelled": round(n * observed), "expected": n * expected}
        for n, observed, expected in rows
    ]
