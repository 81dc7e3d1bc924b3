"""``sarlearn fit``."""

import sys
from inspect import signature
from pathlib import Path
from typing import Any

from sarlearn._words import about, odds_sentence
from sarlearn.cli.common import (
    Roles,
    Rows,
    collected_warnings,
    command_line,
    print_json,
    print_rows,
    print_text,
    print_warnings,
    read_labelled,
    table_warnings_said,
)
from sarlearn.cli.evidence import audit_columns, parse_class_prior, read_audits
from sarlearn.cli.large import LargeTable, in_batches
from sarlearn.cli.progress import progress, watched
from sarlearn.reporting import Report, run_checks, summarize
from sarlearn.reporting.checks import check_sentences
from sarlearn.reporting.words import relative_sentence, unsure
from sarlearn.saving import save
from sarlearn.tables.pipeline import TablePipeline, make_table_classifier


def fit(
    table: str,
    label: str,
    positive: str | None,
    propensity: tuple[str, ...],
    propensity_only: tuple[str, ...],
    id_column: str | None,
    drop: tuple[str, ...],
    weight: str | None,
    groups: str | None,
    raw: bool,
    dates: str | None,
    reading: dict[str, Any],
    method: str | None,
    max_iter: int,
    audited: str | None,
    audit_probability: str | None,
    class_prior: str | None,
    seed: int,
    output: str,
    report: str | None,
    check: bool,
    jobs: int,
    dask: str | None,
    batches: bool | None,
    as_json: bool,
) -> None:
    """Read, fit, save; then tell about it in one of three ways."""
    method = method or "cross-fit"
    settings: dict[str, Any] = {"random_state": seed} if method == "cross-fit" else {}
    if class_prior is not None:
        settings["class_prior"] = parse_class_prior(class_prior)
    audits = audit_columns(audited, audit_probability)
    roles = Roles(
        label,
        positive,
        propensity,
        id_column,
        drop,
        weight,
        groups,
        propensity_only=propensity_only,
        audits=tuple(audits),
    )

    def build(roles: Roles) -> TablePipeline:
        return make_table_classifier(
            roles.propensity,
            method=method,
            propensity_only=roles.propensity_only,
            drop=roles.left_out,
            skewed="raw" if raw else "log",
            dates=dates or "refuse",
            max_iter=max_iter,
            **settings,
        )

    whole, together = None, None
    if dask is not None:
        _check_dask(roles, reading)
        model, frame, s, word, whole, messages = _fit_on_dask(
            build, dask, table, roles, audited, audit_probability
        )
    elif in_batches(table, batches):
        _check_batches(roles, audited)
        model, frame, s, word, whole, messages = _fit_in_batches(build, table, roles)
    else:
        with collected_warnings() as messages:
            with progress(f"Reading {table}"):
                rows = read_labelled(table, roles, reading)
                found = read_audits(audited, audit_probability, rows.frame, id_column)
            frame, s, word = rows.frame, rows.s, rows.labels.word
            together = rows.groups
            model = build(rows.roles)
            with progress(f"Fitting {len(frame):,} rows") as show, watched(model[-1], show):
                model.fit(frame, s, **_fit_settings(model, rows, found))
    notes = {
        "label": label,
        "label_word": word,
        "positive": positive,
        "id": id_column,
        "source": Path(table).name,
        "reading": reading,
        "rows": len(s) if whole is None else whole["rows"],
        "labelled": int(s.sum()) if whole is None else whole["labelled"],
    }
    save(model, output, notes=notes)  # before the checks, which may be stopped
    checks = None
    if check:
        checks = _checked(model, frame, s, together, jobs, seed)
    with progress("Comparing with simpler assumptions"), table_warnings_said():
        summary = summarize(
            model,
            frame,
            s,
            ids=None if id_column is None else list(frame[id_column]),
            id_name=id_column,
            source=Path(table).name,
            label=label,
            warnings=[*messages, *([_weighted(model[-1])] if weight else [])],
            checks=checks,
            whole=whole,
            command=command_line(),
        )
    print_warnings(summary["warnings"], messages)
    if report is not None:
        with progress("Drawing the report"):
            page = Report(summary)
            page.to_html()
    if report is not None:
        try:
            page.save(report)
        except OSError as error:
            raise OSError(f"{error} The model was written to {output}.") from error
    if as_json:
        print_json(summary)
    else:
        print_summary(summary)
        print_text(f"\nWrote {output}" + (f" and {report}" if report is not None else "") + ".")


def _weighted(final) -> str:
    """Counts of rows are of the rows as they stand, the fit's share is that of the weights."""
    low, high = getattr(final, "class_prior_range_", (final.class_prior_,) * 2)
    return (
        f"By weight {final.class_prior_:.1%} of the rows are positive ({low:.1%} to {high:.1%}): "
        "that is the class prior of the fit. Numbers of rows told of here count each row once, "
        "whatever its weight."
    )


def _fit_settings(model: TablePipeline, rows: Rows, audits) -> dict[str, Any]:
    """Weights, groups and audits of the rows, under the names by which a pipeline hands them on."""
    step = model.steps[-1][0]
    given = {"sample_weight": rows.weight, "groups": rows.groups}
    taken = signature(model[-1].fit).parameters
    for name, values in given.items():
        if values is not None and name not in taken:
            option = "--weight" if name == "sample_weight" else "--groups"
            raise ValueError(
                f"{option}: {type(model[-1]).__name__} takes none; use --method cross-fit."
            )
    known = {name: values for name, values in given.items() if values is not None}
    return {f"{step}__{name}": values for name, values in (known | audits).items()}


def _checked(model, frame, s, groups, jobs: int, seed: int):
    """What the checks found; None where they were interrupted, which does not lose the fit."""
    try:
        with table_warnings_said():
            return run_checks(
                model, frame, s, groups=groups, n_jobs=jobs, random_state=seed, watch=progress
            )
    except KeyboardInterrupt:
        print("Warning: The checks were stopped. The fit is finished and is kept.", file=sys.stderr)
        return None


def _check_dask(roles: Roles, reading: dict[str, Any]) -> None:
    given = {"--weight": roles.weight, "--groups": roles.groups, "--sep and the like": reading}
    for option, value in given.items():
        if value:
            raise ValueError(f"--dask does not take {option}; leave it out, or fit in memory.")


def _check_batches(roles: Roles, audited: str | None) -> None:
    given = {"--groups": roles.groups, "--audited": audited}
    for option, value in given.items():
        if value:
            raise ValueError(
                f"{option} needs the rows in memory, and this table is fitted in batches: leave it "
                "out, fit a sample of the rows, or insist with --in-memory."
            )


def _fit_in_batches(build, table: str, roles: Roles):
    """Fit chunk by chunk; come back with a sample of the rows, and counts of all of them."""
    with progress(f"Reading {table}"):
        rows = LargeTable(table, roles)
    model = build(rows.roles)
    weight = {f"{model.steps[-1][0]}__sample_weight": roles.weight} if roles.weight else {}
    with (
        collected_warnings() as messages,
        progress(f"Fitting {rows.n_rows:,} rows in batches") as show,
        watched(model[-1], show),
    ):
        model.fit(rows.batches(), rows.roles.label, **weight)
    with progress("Reading a sample"):
        frame, s = rows.sample()
    whole = {"rows": rows.n_rows, "labelled": rows.n_labelled}
    return model, frame, s, rows.labels.word, whole, messages


def _fit_on_dask(
    build,
    address: str,
    table: str,
    roles: Roles,
    audited: str | None,
    audit_probability: str | None,
):
    """Fit there; come back with a sample of the rows, and counts of all of them."""
    from sarlearn.cli import fit_dask

    with fit_dask.cluster(address):
        with progress(f"Reading {table}"):
            rows = fit_dask.read_labelled(table, roles)
            parts, s, labels, (n_rows, n_labelled), roles = rows
            audits = fit_dask.read_audits(
                audited, audit_probability, parts, int(n_rows), roles.id_column
            )
        model = build(roles)
        step = model.steps[-1][0]
        with (
            collected_warnings() as messages,
            progress(f"Fitting {n_rows:,} rows") as show,
            watched(model[-1], show),
        ):
            model.fit(parts, s, **{f"{step}__{name}": found for name, found in audits.items()})
        with progress("Reading a sample"):
            frame, s = fit_dask.sample(parts, s, int(n_rows), roles.label)
    whole = {"rows": int(n_rows), "labelled": int(n_labelled)}
    return model, frame, s, labels.word, whole, messages


def _ranges(certainty: dict[str, Any] | None) -> list[list[str]]:
    """Of hidden positives, class prior and label frequency: one cell each, or none at all."""
    if certainty is None or certainty["hidden_positives"] is None:
        return [[], [], []]
    shares = ((certainty["low"], certainty["high"]), certainty["label_frequency"])
    low, high = certainty["hidden_positives"]
    return [[f"{about(low)} to {about(high)}"], *([f"{a:.1%} to {b:.1%}"] for a, b in shares)]


def print_summary(summary: dict[str, Any]) -> None:
    """The main figures of a summary as text."""
    data, estimates = summary["data"], summary["estimates"]
    hidden, prior, frequency = _ranges(summary["certainty"])
    if unsure(summary):
        print_text(f"{summary['text']['sure']}\n")
        leaks = "leaks" in summary["label_fit"]["problems"]
        for compared in [] if leaks else summary["groups"]:
            print_text(relative_sentence(compared))
        print_text("\nAs a guess:")
    print_text(summary["text"]["headline"])
    print_rows(
        [
            ("rows", f"{data['rows']:,}", *[""] * len(hidden)),
            ("labelled", f"{data['labelled']:,}", *[""] * len(hidden)),
            ("hidden positives (estimate)", about(estimates["hidden_positives"]), *hidden),
            ("class prior", f"{estimates['class_prior']:.1%}", *prior),
            ("label frequency", f"{estimates['label_frequency']:.1%}", *frequency),
        ]
    )
    if summary["propensity"]["odds"]:
        print_text("\nWho gets labelled:")
        for row in summary["propensity"]["odds"]:
            print_text(f"  {row['level']}: {odds_sentence(row, 'being labelled')}")
    print_text(f"\n{summary['text']['review']}")
    if summary["text"]["sure"] and not unsure(summary):
        print_text(f"\n{summary['text']['sure']}")
    if summary["text"]["surer"]:
        print_text(summary["text"]["surer"])
    if summary["checks"]:
        print_text("\nChecks:")
        for sentence in check_sentences(summary["checks"]):
            print_text(f"  {sentence}")
    print_text(f"\n{summary['text']['label_fit']}")
    print_text(f"\n{summary['text']['comparison']}")
    print_text(summary["text"]["convergence"])
