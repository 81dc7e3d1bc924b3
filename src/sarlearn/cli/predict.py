"""``sarlearn predict`` and ``sarlearn report``: a saved model meets a table."""

from pathlib import Path
from typing import Any

import numpy as np

from sarlearn.cli.common import (
    check_columns,
    check_outputs,
    collected_warnings,
    command_line,
    print_json,
    print_text,
    print_warnings,
)
from sarlearn.cli.progress import progress
from sarlearn.reporting import Report, summarize
from sarlearn.saving import SavedModel, load_file
from sarlearn.tables.columns import as_frame
from sarlearn.tables.files import nearest, parse_labels, read_table, table_kind, write_table
from sarlearn.tables.pipeline import TableEncoder, TablePipeline


def predict(
    model: str,
    table: str,
    output: str,
    label: str | None,
    id_column: str | None,
    keep_all: bool,
    as_json: bool,
    force: bool,
) -> None:
    """Score a table and write what was found, row by row."""
    import narwhals as nw

    check_outputs(output, force=force, inputs=[model, table])
    table_kind(output)
    with collected_warnings(), progress(f"Scoring {table}"):
        saved, frame, label, id_column = _open(model, table, label, id_column)
        X = _features(saved.model, frame)
        columns = {"probability": saved.model.predict_proba(X)[:, 1]}
        if hasattr(saved.model, "predict_propensity"):
            columns["propensity"] = saved.model.predict_propensity(X)
            if label is not None:
                labels = parse_labels(frame[label], label, word=saved.notes.get("label_word"))
                s = saved.model.classes_[labels.labelled.astype(int)]
                columns["posterior"] = saved.model.predict_posterior(X, s)
        unknown = _unknown_values(saved.model, frame)
    kept = as_frame(frame)
    if not keep_all:
        kept = kept.select([id_column] if id_column else [])
    clash = sorted(set(kept.columns) & set(columns))
    if clash:
        raise ValueError(f"The table already has a column {clash[0]!r}; rename it first.")
    backend = as_frame(frame).implementation
    new = [nw.new_series(name, values, backend=backend) for name, values in columns.items()]
    scored = nw.from_dict({s.name: s for s in [*kept.iter_columns(), *new]}, backend=backend)
    write_table(scored.to_native(), output)
    told: dict[str, Any] = {
        "rows": len(scored),
        "columns": scored.columns,
        "expected_positives": float(np.sum(columns.get("posterior", columns["probability"]))),
        "unknown_values": unknown,
        "output": output,
    }
    if as_json:
        print_json(told)
        return
    for name, values in unknown.items():
        shown = ", ".join(values[:3]) + (", ..." if len(values) > 3 else "")
        print_text(f"Note: column {name!r} holds values not seen in the fit ({shown}).")
    print_text(
        f"Scored {told['rows']:,} rows; about {told['expected_positives']:,.0f} are expected to "
        f"be positive. Wrote {output}."
    )


def report(
    model: str,
    table: str,
    output: str,
    label: str | None,
    id_column: str | None,
    top: int,
    as_json: bool,
    force: bool,
) -> None:
    """Write a report on a saved model and a table."""
    check_outputs(output, force=force, inputs=[model, table])
    with collected_warnings() as messages, progress(f"Reading {table}"):
        saved, frame, label, id_column = _open(model, table, label, id_column)
    if not hasattr(saved.model, "predict_propensity"):
        raise ValueError(
            f"{model} holds a {type(saved.model).__name__}, which has no propensity model to "
            "report on."
        )
    if label is None:
        raise ValueError(
            "A report needs labels, and the table has no label column"
            + (f" {saved.notes['label']!r}" if saved.notes.get("label") else "")
            + "; name it with --label."
        )
    labels = parse_labels(frame[label], label, word=saved.notes.get("label_word"))
    if labels.labelled.all() or not labels.labelled.any():
        raise ValueError(f"The column {label!r} must hold labelled and unlabelled rows.")
    with progress("Writing the report"):
        summary = summarize(
            saved.model,
            _features(saved.model, frame),
            saved.model.classes_[labels.labelled.astype(int)],
            ids=None if id_column is None else list(frame[id_column]),
            id_name=id_column,
            top=top,
            source=Path(table).name,
            label=label,
            warnings=messages,
            command=command_line(),
        )
        Report(summary).save(output)
    print_warnings(summary["warnings"], messages)
    if as_json:
        print_json(summary)
    else:
        print_text(f"{summary['text']['headline']} Wrote {output}.")


def _open(
    model: str, table: str, label: str | None, id_column: str | None
) -> tuple[SavedModel, Any, str | None, str | None]:
    """The model, the table, and its label and identifier columns, where it has them."""
    saved = load_file(model)
    known_id = id_column or saved.notes.get("id")
    frame = read_table(table, text_columns=[known_id] if known_id else [])
    check_columns(frame, "--label", [label])
    check_columns(frame, "--id", [known_id])
    known_label = label or saved.notes.get("label")
    return saved, frame, known_label if known_label in frame.columns else None, known_id


def _features(model, frame):
    """The columns a model of Python's was fitted on; a table pipeline finds its own."""
    if isinstance(model, TablePipeline) and isinstance(model[0], TableEncoder):
        return frame
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "The model was fitted without column names, so its columns cannot be found in a table."
        )
    for name in names:
        if name not in frame.columns:
            raise ValueError(
                f"The table has no column {name!r}, which the model uses."
                + nearest(name, frame.columns)
            )
    return as_frame(frame).select(list(names)).to_native()


def _unknown_values(model, frame) -> dict[str, list[str]]:
    if isinstance(model, TablePipeline) and isinstance(model[0], TableEncoder):
        return model[0].unknown_values(frame)
    return {}
