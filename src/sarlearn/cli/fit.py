"""``sarlearn fit``."""

from pathlib import Path
from typing import Any

from sarlearn._words import about, odds_sentence
from sarlearn.cli.common import (
    check_outputs,
    collected_warnings,
    command_line,
    print_json,
    print_rows,
    print_text,
    print_warnings,
    read_labelled,
)
from sarlearn.cli.evidence import audit_columns, parse_class_prior, read_audits
from sarlearn.cli.progress import progress, watched
from sarlearn.reporting import Report, run_checks, summarize
from sarlearn.reporting.checks import check_sentences
from sarlearn.saving import save
from sarlearn.tables.pipeline import make_table_classifier


def fit(
    table: str,
    label: str,
    propensity: tuple[str, ...],
    propensity_only: tuple[str, ...],
    id_column: str | None,
    drop: tuple[str, ...],
    method: str | None,
    classifier: str,
    decay: float | None,
    C: float | None,
    stop: str | None,
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
    as_json: bool,
    force: bool,
) -> None:
    """Read, fit, save; then tell about it in one of three ways."""
    method = method or ("cross-fit" if dask is None else "sar-em")
    settings = _settings(method, classifier, decay, C, stop, seed)
    settings |= _known_prior(class_prior, method, classifier)
    if propensity_only and (method, classifier) == ("cross-fit", "boosting"):
        raise ValueError("--propensity-only needs --classifier logistic, or --method sar-em.")
    audits = audit_columns(audited, audit_probability)
    inputs = [table, *([audited] if audited and not audits else [])]
    check_outputs(output, report, force=force, inputs=inputs)
    left_out = [label, *([id_column] if id_column else []), *drop, *audits]
    model = make_table_classifier(
        propensity,
        method=method,
        classifier=classifier,
        propensity_only=propensity_only,
        drop=left_out,
        max_iter=max_iter,
        **settings,
    )
    whole = None
    if dask is not None:
        _check_dask(method, classifier)
        if audited is not None:
            raise ValueError("--audited needs the rows in memory; leave --dask out.")
        frame, s, word, whole, messages = _fit_on_dask(
            model, dask, table, label, (*propensity, *propensity_only), id_column, drop
        )
    else:
        with progress(f"Reading {table}"):
            named = (*propensity, *propensity_only)
            frame, labels = read_labelled(table, label, named, id_column, drop)
            found = read_audits(audited, audit_probability, frame, id_column)
        s, word = labels.labelled.astype(int), labels.word
        with (
            collected_warnings() as messages,
            progress(f"Fitting {len(frame):,} rows") as show,
            watched(model[-1], show),
        ):
            model.fit(frame, s, **{f"{model.steps[-1][0]}__{k}": v for k, v in found.items()})
    checks = None
    if check:
        checks = run_checks(model, frame, s, n_jobs=jobs, random_state=seed, watch=progress)
    with progress("Comparing with simpler assumptions"):
        summary = summarize(
            model,
            frame,
            s,
            ids=None if id_column is None else list(frame[id_column]),
            id_name=id_column,
            source=Path(table).name,
            label=label,
            warnings=messages,
            checks=checks,
            whole=whole,
            command=command_line(),
        )
    print_warnings(summary["warnings"], messages)
    if report is not None:
        with progress("Drawing the report"):
            page = Report(summary)
            page.to_html()
    notes = {"label": label, "label_word": word, "id": id_column, "source": Path(table).name}
    save(model, output, notes=notes)
    if report is not None:
        page.save(report)
    if as_json:
        print_json(summary)
    else:
        print_summary(summary)
        print_text(f"\nWrote {output}" + (f" and {report}" if report is not None else "") + ".")


def _known_prior(class_prior: str | None, method: str, classifier: str) -> dict[str, Any]:
    if class_prior is None:
        return {}
    if (method, classifier) != ("cross-fit", "logistic"):
        raise ValueError("--class-prior needs --method cross-fit with --classifier logistic.")
    return {"class_prior": parse_class_prior(class_prior)}


def _check_dask(method: str, classifier: str) -> None:
    if method != "sar-em" or classifier != "logistic":
        raise ValueError(
            "--dask runs --method sar-em with --classifier logistic; cross-fits and boosting need "
            "the rows in memory."
        )


def _fit_on_dask(model, address: str, table: str, label: str, propensity, id_column, drop):
    """Fit there; come back with a sample of the rows, and counts of all of them."""
    from sarlearn.cli import fit_dask

    with fit_dask.cluster(address):
        with progress(f"Reading {table}"):
            rows = fit_dask.read_labelled(table, label, propensity, id_column, drop)
        parts, s, labels, (n_rows, n_labelled) = rows
        with (
            collected_warnings() as messages,
            progress(f"Fitting {n_rows:,} rows") as show,
            watched(model[-1], show),
        ):
            model.fit(parts, s)
        with progress("Summing up"):
            positives = float(model.predict_posterior(parts, s).sum().compute())
            frame, s = fit_dask.sample(parts, s, int(n_rows), label)
    whole = {"rows": int(n_rows), "labelled": int(n_labelled), "positives": positives}
    return frame, s, labels.word, whole, messages


def _settings(
    method: str,
    classifier: str,
    decay: float | None,
    C: float | None,
    stop: str | None,
    seed: int,
) -> dict:
    """What only one of the methods takes; what was not given stays the learner's default."""
    if decay is not None and (method, classifier) == ("cross-fit", "boosting"):
        raise ValueError("--decay is of SAR-EM; boosting in a cross-fit has none.")
    if C is not None and classifier != "logistic":
        raise ValueError(f"--C is the penalty of --classifier logistic, not of {classifier}.")
    if stop is not None and method != "sar-em":
        raise ValueError(f"--stop {stop} needs --method sar-em; a cross-fit has its own end.")
    given = {
        "decay": decay,
        "C": C,
        "stop": stop,
        "random_state": seed if method == "cross-fit" else None,
    }
    return {name: value for name, value in given.items() if value is not None}


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
    if summary["text"]["sure"]:
        print_text(f"\n{summary['text']['sure']}")
    if summary["checks"]:
        print_text("\nChecks:")
        for sentence in check_sentences(summary["checks"]):
            print_text(f"  {sentence}")
    print_text(f"\n{summary['text']['label_fit']}")
    print_text(f"\n{summary['text']['comparison']}")
    print_text(summary["text"]["convergence"])
