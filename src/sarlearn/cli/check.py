"""``sarlearn check``."""

from typing import Any

import numpy as np

from sarlearn._words import listed, origin
from sarlearn.cli.table import Roles, read_labelled
from sarlearn.cli.terminal import (
    collected_warnings,
    print_json,
    print_rows,
    progress,
)
from sarlearn.inspection import scar_test, select_propensity_features
from sarlearn.tables.encoder import TableEncoder

# Data sets simulated for the test, and resamples that show how stable the choice is.
DRAWS, RESAMPLES = 199, 20


def check(
    roles: Roles,
    *,
    table: str,
    reading: dict[str, Any],
    flexible: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Test SCAR against the candidates, by default all columns, and say which are needed."""
    with collected_warnings() as messages:
        with progress(f"Reading {table}"):
            rows = read_labelled(table, roles, reading)
            encoder = TableEncoder(terms=True)
            X = np.asarray(encoder.fit_transform(rows.frame[rows.columns]), dtype=np.float64)
        candidates = list(rows.roles.propensity)
        bare = [name for name in candidates if name in encoder.constant_]
        if bare:
            have = "has" if len(bare) == 1 else "have"
            raise ValueError(f"--candidates: {listed(bare)} {have} one value only.")
        groups: dict[str, list[int]] = {name: [] for name in candidates}
        for j, name in enumerate(encoder.feature_names_out_):
            if origin(name) in groups or not candidates:
                groups.setdefault(origin(name), []).append(j)
        everything, s = [j for columns in groups.values() for j in columns], rows.s
        settings: dict[str, Any] = {"flexible": flexible, "random_state": seed}
        with progress("Testing one label frequency for all"):
            test = scar_test(X, s, everything, n_draws=DRAWS, **settings)
        test.features = list(groups)
        with progress("Choosing among the candidates"):
            found = select_propensity_features(X, s, groups, n_resamples=RESAMPLES, **settings)
    verdict = str(found)
    if test.p_value <= 0.05 and not found.features:
        verdict = (
            "Together the columns matter, as the test says, but no single one of them explains so "
            "much that the choice by BIC would take it alone. Name those that can have decided who "
            "was labelled: one too many costs little, one left out costs much."
        )
    gains, shares = found.path[0].gain, found.stability or {}
    if as_json:
        print_json(
            {
                "rows": len(s),
                "labelled": int(s.sum()),
                "scar_test": {"p_value": test.p_value, "statistic": test.statistic},
                "selected": found.features,
                "gain": gains,
                "stability": found.stability,
                "text": [str(test), verdict],
                "warnings": [str(message) for message in messages],
            }
        )
        return
    print(f"{test}\n\n{verdict}\n")
    shown = [
        (
            name,
            f"{gains[name]:.1f}",
            f"{shares[name]:.0%}" if name in shares else "-",
            "yes" if name in found.features else "no",
        )
        for name in groups
    ]
    print_rows(shown, header=("candidate", "gain alone", "in resamples", "selected"))
