"""``sarlearn report``: a page on a saved model and a table with labels."""

from pathlib import Path
from typing import Any

from sarlearn.cli.predict import features, last_step, open_both, read_labels
from sarlearn.cli.table import weights_of
from sarlearn.cli.terminal import (
    collected_warnings,
    command_line,
    print_summary,
    progress,
)
from sarlearn.reporting import Report, summarize


def report(
    model: str,
    table: str,
    output: str,
    label: str | None,
    id_column: str | None,
    reading: dict[str, Any],
    noun: str | None,
    positive_noun: str | None,
    as_json: bool,
) -> None:
    """Write a report on a saved model and a table."""
    with collected_warnings(told_later=True) as messages, progress(f"Reading {table}"):
        saved, frame, label, id_column = open_both(model, table, label, id_column, reading)
    learner = last_step(saved.model)
    if not hasattr(learner, "predict_propensity"):
        raise ValueError(
            f"{model} holds a {type(learner).__name__}, which has no propensity model to report on."
        )
    if label is None:
        raise ValueError(
            "A report needs labels, and the table has no label column"
            + (f" {saved.notes['label']!r}" if saved.notes.get("label") else "")
            + "; name it with --label."
        )
    labels = read_labels(saved, frame, label)
    if labels.labelled.all() or not labels.labelled.any():
        raise ValueError(f"The column {label!r} must hold labelled and unlabelled rows.")
    X, s = features(saved.model, frame), learner.classes_[labels.labelled.astype(int)]
    notes, weight = saved.notes, saved.notes.get("weight")
    with progress("Writing the report"), collected_warnings():
        summary = summarize(
            saved.model,
            X,
            s,
            ids=None if id_column is None else list(frame[id_column]),
            id_name=id_column,
            source=Path(table).name,
            label=label,
            weight=None if weight is None else weights_of(frame, weight),
            warnings=messages,
            command=command_line(),
            files=(model, table),
            noun=noun or notes.get("noun", "rows"),
            positive_noun=positive_noun or notes.get("positive_noun", "positive"),
        )
        Report(summary).save(output)
    print_summary(summary, as_json=as_json)
    if not as_json:
        print(f"Wrote {output}.")
