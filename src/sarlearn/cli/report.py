"""``sarlearn report``: a page on a saved model and a table with labels."""

from pathlib import Path
from typing import Any

from sarlearn.cli.predict import open_labelled
from sarlearn.cli.table import weights_of
from sarlearn.cli.terminal import collected_warnings, command_line, print_summary, progress
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
    with collected_warnings(printed_later=True) as messages, progress(f"Reading {table}"):
        opened = open_labelled(model, table, label, id_column, reading)
    notes, weight = opened.saved.notes, opened.saved.notes.get("weight")
    with progress("Writing the report"), collected_warnings():
        summary = summarize(
            opened.saved.model,
            opened.X,
            opened.s,
            ids=opened.ids,
            id_name=opened.id_column,
            source=Path(table).name,
            label=opened.label,
            weight=None if weight is None else weights_of(opened.frame, weight),
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
