"""``sarlearn check``."""

from typing import Any

import numpy as np

from sarlearn.cli.table import Roles, read_labelled
from sarlearn.cli.terminal import (
    collected_warnings,
    print_json,
    print_rows,
    print_text,
    progress,
)
from sarlearn.inspection import (
    scar_test,
    select_propensity_features,
)
from sarlearn.inspection._scar_test import SCARTestResult
from sarlearn.inspection._selection import PropensitySelection, unnamed_drivers
from sarlearn.reporting.words import drivers_sentence
from sarlearn.tables.dates import date_source
from sarlearn.tables.encoder import TableEncoder
from sarlearn.tables.names import origin


def check(
    roles: Roles,
    *,
    table: str,
    raw: bool,
    dates: str | None,
    reading: dict[str, Any],
    flexible: bool,
    draws: int,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Test SCAR against the candidates, and say which of them are needed."""
    with collected_warnings(), progress(f"Reading {table}"):
        rows = read_labelled(table, roles, reading)
        encoder = TableEncoder(
            drop=rows.roles.left_out, skewed="raw" if raw else "log", dates=dates or "refuse"
        )
        X = np.asarray(encoder.fit_transform(rows.frame), dtype=np.float64)
    columns_of: dict[str, list[int]] = {}
    for j, name in enumerate(encoder.feature_names_out_):
        columns_of.setdefault(date_source(origin(name)), []).append(j)
    s, candidates = rows.s, rows.roles.propensity
    groups = {name: columns_of.get(name, []) for name in candidates}
    bare = [name for name, columns in groups.items() if not columns]
    if bare:
        raise ValueError(
            f"--candidates: {', '.join(bare)} has one value only, and decides nothing."
        )
    everything = [j for columns in groups.values() for j in columns]
    with collected_warnings() as messages:
        with progress("Testing one label frequency for all"):
            test = scar_test(X, s, everything, n_draws=draws, flexible=flexible, random_state=seed)
        test.features = list(candidates)
        with progress("Choosing among the candidates"):
            found = select_propensity_features(
                X, s, groups, flexible=flexible, n_resamples=resamples, random_state=seed
            )
        with progress("Looking at the other columns"):
            drivers = list(unnamed_drivers(X, s, everything, groups=columns_of))
    verdict = _verdict(test, found, drivers)
    if as_json:
        print_json(
            {
                "rows": len(s),
                "labelled": int(s.sum()),
                "scar_test": {"p_value": test.p_value, "statistic": test.statistic},
                "selected": found.features,
                "gain": found.path[0].gain,
                "stability": found.stability,
                "drivers_not_named": drivers,
                "text": [str(test), *verdict],
                "warnings": [str(message) for message in messages],
            }
        )
        return
    print_text(str(test))
    print_text("")
    for sentence in verdict:
        print_text(sentence)
        print_text("")
    shares = found.stability or {}
    shown = [
        (
            name,
            f"{found.path[0].gain[name]:.1f}",
            f"{shares[name]:.0%}" if name in shares else "-",
            "yes" if name in found.features else "no",
        )
        for name in candidates
    ]
    print_rows(shown, header=("candidate", "gain alone", "in resamples", "selected"))


def _verdict(test: SCARTestResult, found: PropensitySelection, drivers: list[str]) -> list[str]:
    """What to do about the candidates; the test and the choice do not contradict each other."""
    sentences = [str(found)]
    if test.p_value <= 0.05 and not found.features:
        sentences = [
            "Together the candidates matter, as the test says, but no single one of them explains "
            "so much that the choice by BIC would take it alone. Name all of them: one attribute "
            "too many costs little, one left out costs much."
        ]
    if drivers:
        sentences.append(drivers_sentence(drivers))
    return sentences
