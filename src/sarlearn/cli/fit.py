"""``sarlearn fit``."""

from pathlib import Path
from typing import Any

from ..reporting import Report, summarize
from ..reporting.words import about, odds_sentence
from ..saving import save
from ..tables import make_table_classifier
from .common import (
    check_outputs,
    collected_warnings,
    print_json,
    print_rows,
    print_text,
    progress,
    read_labelled,
)


def fit(
    table: str,
    label: str,
    propensity: tuple[str, ...],
    id_column: str | None,
    drop: tuple[str, ...],
    classifier: str,
    decay: float,
    C: float,
    stop: str,
    max_iter: int,
    output: str,
    report: str | None,
    as_json: bool,
    force: bool,
) -> None:
    """Read, fit, save; then tell about it in one of three ways."""
    check_outputs(output, report, force=force, inputs=[table])
    with progress(f"Reading {table}"):
        frame, labels = read_labelled(table, label, propensity, id_column, drop)
    left_out = [label, *([id_column] if id_column else []), *drop]
    model = make_table_classifier(
        propensity,
        classifier=classifier,
        drop=left_out,
        decay=decay,
        C=C,
        stop=stop,
        max_iter=max_iter,
    )
    s = labels.labelled.astype(int)
    with collected_warnings() as messages, progress(f"Fitting {len(frame):,} rows"):
        model.fit(frame, s)
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
        )
    if report is not None:
        with progress("Drawing the report"):
            page = Report(summary)
            page.to_html()
    notes = {"label": label, "label_word": labels.word, "id": id_column, "source": Path(table).name}
    save(model, output, notes=notes)
    if report is not None:
        page.save(report)
    if as_json:
        print_json(summary)
    else:
        print_summary(summary)
        print_text(f"\nWrote {output}" + (f" and {report}" if report is not None else "") + ".")


def print_summary(summary: dict[str, Any]) -> None:
    """The main figures of a summary as text."""
    data, estimates = summary["data"], summary["estimates"]
    print_text(summary["text"]["headline"])
    print_rows(
        [
            ("rows", f"{data['rows']:,}"),
            ("labelled", f"{data['labelled']:,}"),
            ("hidden positives (estimate)", about(estimates["hidden_positives"])),
            ("class prior", f"{estimates['class_prior']:.1%}"),
            ("label frequency", f"{estimates['label_frequency']:.1%}"),
        ]
    )
    if summary["propensity"]["odds"]:
        print_text("\nWho gets labelled:")
        for row in summary["propensity"]["odds"]:
            print_text(f"  {row['level']}: {odds_sentence(row, 'being labelled')}")
    print_text(f"\n{summary['text']['comparison']}")
    print_text(summary["text"]["convergence"])
