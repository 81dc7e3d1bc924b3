"""How well the model describes the labels: observed against expected ones, group by group."""

from typing import Any

import numpy as np
from scipy.stats import norm

from sarlearn._view.parts import Parts
from sarlearn.inspection._goodness import goodness_of
from sarlearn.inspection._relative import Shares

MAX_ATTRIBUTES = 60
MAX_STRATA = 6
MAX_GROUPS = 12
MAX_COMPARED = 4
# Groups with fewer labels, seen or expected, deviate by chance alone.
ENOUGH = 5


def label_fit(parts: Parts, labelled: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
    """Observed and expected labels (``f e``) by class probability and by group of rows.

    The groups are values, or quarters, of every column; those that deviate most come first.
    ``deviation`` is in standard deviations, were the model right. ``problems`` are what
    :func:`~sarlearn.inspection.goodness_of_fit` finds, by kind.
    """
    found = goodness_of(parts, labelled)
    groups, problems = _groups(parts, labelled, predicted), found.problems_by_kind
    if getattr(parts.final, "class_prior_by_design_", False):
        problems.pop("misfit", None)  # checked rows, not labels, say how many are positive
    # By chance one group in any would pass this line one time in twenty (Bonferroni).
    limit = float(norm.isf(0.025 / max(1, len(groups))))
    return {
        "misfit": found.misfit,
        "problems": problems,
        "leaks": found.leaks,
        "by_score": _rows(found.by_score),
        "groups": groups[:MAX_GROUPS],
        "n_groups": len(groups),
        "limit": limit,
        "n_off": sum(abs(row["deviation"]) > limit for row in groups),
    }


def _rows(table: dict[str, np.ndarray]) -> list[dict[str, float]]:
    keys = ("rows", "observed", "expected", "probability", "propensity")
    columns = zip(*(np.asarray(table[key]).tolist() for key in keys), strict=True)
    return [dict(zip(keys, values, strict=True)) for values in columns]


def _groups(parts: Parts, labelled: np.ndarray, predicted: np.ndarray) -> list[dict[str, Any]]:
    """Observed and expected labels by group of rows, the farthest apart first."""
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
    return sorted(groups, key=lambda row: -abs(row["deviation"]))


def compared_groups(parts: Parts, labelled: np.ndarray, used: list[dict]) -> list[dict[str, Any]]:
    """Shares of positives against those of all rows, by the columns that matter most."""
    by_name = {attribute.name: attribute for attribute in parts.attributes}
    chosen = [attribute.name for attribute in parts.propensity_attributes]
    chosen += [row["attribute"] for row in used if row["attribute"] not in chosen]
    shares, everyone, found = Shares(parts, labelled), np.ones(len(labelled), dtype=bool), []
    for name in chosen[:MAX_COMPARED]:
        codes, names = by_name[name].strata(MAX_STRATA)
        if len(names) < 2:
            continue
        compared = shares.compared(codes[:, None] == np.arange(len(names)), everyone)
        columns = ("ratio", "low", "high", "rows", "labelled")
        rows = zip(*(values.tolist() for values in compared), strict=True)
        found.append(
            {
                "by": name,
                "groups": [
                    {"group": group} | dict(zip(columns, row, strict=True))
                    for group, row in zip(names, rows, strict=True)
                ],
            }
        )
    return found
