"""``sarlearn prior``: several estimates of the class prior, side by side."""

import math
import sys
import warnings
from typing import Any

from sarlearn.cli.common import (
    Roles,
    collected_warnings,
    print_json,
    print_rows,
    print_text,
    read_labelled,
)
from sarlearn.cli.progress import progress
from sarlearn.priors import BoostedPrior, CrossFitPrior, SAREMPrior, compare_priors
from sarlearn.priors._compare import default_estimators
from sarlearn.tables.encoder import TableEncoder
from sarlearn.tables.pipeline import FromColumns

SAR_METHODS = ("cross-fit", "boosted", "SAR-EM")


def prior(
    table: str,
    label: str,
    positive: str | None,
    propensity: tuple[str, ...],
    id_column: str | None,
    drop: tuple[str, ...],
    raw: bool,
    dates: str | None,
    reading: dict[str, Any],
    method: tuple[str, ...],
    as_json: bool,
) -> None:
    """Estimate the class prior of a table in several ways."""
    _choose(method, propensity)  # a method that does not exist is told of at once
    with collected_warnings(), progress(f"Reading {table}"):
        rows = read_labelled(table, Roles(label, positive, propensity, id_column, drop), reading)
        labels, propensity = rows.labels, rows.roles.propensity
        encoder = TableEncoder(
            drop=rows.roles.left_out, skewed="raw" if raw else "log", dates=dates or "refuse"
        )
        matrix = encoder.fit_transform(rows.frame)
    estimators = _choose(method, propensity)
    with warnings.catch_warnings():  # the verdict and the notes are printed below
        warnings.simplefilter("ignore")
        found = compare_priors(
            matrix,
            labels.labelled.astype(int),
            estimators,
            random_state=0,
            verbose=sys.stderr.isatty(),
        )
    n_labelled, n_rows = int(labels.labelled.sum()), len(labels.labelled)
    if as_json:
        estimates = [
            {key: None if value != value else value for key, value in vars(row).items()}
            for row in found.rows
        ]
        print_json(
            {
                "rows": n_rows,
                "labelled": n_labelled,
                "estimates": estimates,
                "verdict": found.verdict,
            }
        )
        return
    print_text(f"{n_labelled:,} of {n_rows:,} rows are labelled.")
    header = ("method", "class prior", "among unlabelled", "label frequency", "time")
    rows_shown = []
    for row in found.rows:
        numbers = (row.class_prior, row.unlabelled_prior, row.label_frequency)
        shown = ["-" if math.isnan(number) else f"{number:.1%}" for number in numbers]
        rows_shown.append((row.method, *shown, f"{row.seconds:.1f} s"))
    print_rows(rows_shown, header=header)
    for row in found.rows:
        for note in dict.fromkeys(row.notes):
            print_text(f"{row.method}: {' '.join(note.split())}")
    print_text(found.verdict)
    biased = [name for name in SAR_METHODS if name in estimators]
    if propensity and biased:
        print_text(
            f"{' and '.join(biased)} let{'s' if len(biased) == 1 else ''} labelling depend on "
            f"{', '.join(propensity)}; other methods assume that all positives are labelled "
            "equally often."
        )
    else:
        print_text("All of these assume that all positives are labelled equally often (SCAR).")


def _choose(methods: tuple[str, ...], propensity: tuple[str, ...]) -> dict:
    """Estimators by name; three of them can use propensity columns, one only runs by name."""
    known = default_estimators(random_state=0)
    if propensity:
        columns = FromColumns(propensity)
        known["cross-fit"] = CrossFitPrior(columns, scaling="none", random_state=0)
        known["SAR-EM"] = SAREMPrior(columns, scaling="none")
    if not methods:
        return known
    known["boosted"] = BoostedPrior(FromColumns(propensity) if propensity else (), random_state=0)
    by_key = {name.casefold(): name for name in known}
    for method in methods:
        if method.casefold() not in by_key:
            raise ValueError(f"--method: there is no {method!r}; accepted are {', '.join(known)}.")
    return {by_key[m.casefold()]: known[by_key[m.casefold()]] for m in methods}
