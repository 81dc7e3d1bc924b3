"""``sarlearn check``."""

import shlex
from typing import Any

from sarlearn.cli.table import Roles, read_labelled
from sarlearn.cli.terminal import collected_warnings, print_json, print_rows, progress
from sarlearn.inspection import scar_test, select_propensity_features

# Data sets simulated for the test.
DRAWS = 199


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
        X, s = rows.frame[rows.columns], rows.s
        named = list(rows.roles.propensity) or "all"
        with progress("Testing whether all positives are labelled equally often"):
            test = scar_test(X, s, named, n_draws=DRAWS, flexible=flexible, random_state=seed)
        with progress("Weighing the candidates"):
            found = select_propensity_features(X, s, named, random_state=seed)
    verdict = str(found)
    if as_json:
        print_json(
            {
                "rows": len(s),
                "labelled": int(s.sum()),
                "scar_test": {"p_value": test.p_value, "statistic": test.statistic},
                "selected": found.features,
                "weights": found.weights,
                "text": [str(test), verdict],
                "warnings": [str(message) for message in messages],
            }
        )
        return
    print(f"{test}\n\n{verdict}\n")
    shown = [
        (name, f"{weight:.0%}", "yes" if name in found.features else "no")
        for name, weight in found.weights.items()
    ]
    print_rows(shown, header=("candidate", "weight", "suggested"))
    known = f" --id {shlex.quote(roles.id_column)}" if roles.id_column else ""
    print(
        f"\nNext: sarlearn fit {shlex.quote(table)} --label {shlex.quote(roles.label)}{known} "
        f"--propensity {shlex.quote(','.join(found.features) or 'auto')} -o model.skops"
    )
