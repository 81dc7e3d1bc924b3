"""``sarlearn predict``: a saved model meets a table."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from sarlearn._view.parts import take_apart
from sarlearn._words import about, counted, no_column
from sarlearn.cli.large import chunks
from sarlearn.cli.table import check_columns, weights_of
from sarlearn.cli.terminal import STANDARD, collected_warnings, progress
from sarlearn.saving import SavedModel, load_file
from sarlearn.tables.columns import as_frame
from sarlearn.tables.encoder import TableEncoder
from sarlearn.tables.labels import Labels, parse_labels
from sarlearn.tables.read import read_table
from sarlearn.tables.write import table_writer


def predict(
    model: str,
    table: str,
    output: str,
    label: str | None,
    id_column: str | None,
    keep_all: bool,
    top: int | None,
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Score a table and write what was found, row by row; tables of any size part by part.

    With ``top`` only the unlabelled rows to look at first are written, whole, to be filled in.
    """
    saved = load_file(model)
    if not hasattr(saved.model, "predict_proba"):
        raise ValueError(
            f"{model} holds a model of type {type(saved.model).__name__}, which gives no scores."
        )
    with (
        collected_warnings(),
        progress(f"Scoring {table}") as show,
        table_writer(output, neutralise=True) as writer,
    ):
        total, first = Scored(), None
        for part in _parts(saved, table, id_column, reading):
            label_here, id_here = _roles(saved, as_frame(part), label, id_column)
            n_before = total.rows
            scored, unlabelled = _score(
                saved, part, label_here, id_here, keep_all or bool(top), total
            )
            if top:
                first = _first(top, first, scored, unlabelled, n_before)
            else:
                writer.write(scored.to_native())
            show(total.rows, None)
        if first is not None:
            writer.write(first.to_native())
            total.columns = first.columns
    result = {
        "rows": total.rows,
        "written": total.rows if first is None else len(first),
        "expected_first": None if first is None else float(_rank(first).sum()),
        "columns": total.columns,
        **total.expected(last_step(saved.model)),
        "unknown_values": {name: sorted(values) for name, values in total.unknown.items()},
        "neutralised_cells": writer.n_neutral,
        "output": output,
    }
    if as_json:
        print(json.dumps(result, indent=2), file=_stream(output))
    else:
        _tell(result, saved.notes, table)


@dataclass
class Scored:
    """What adds up over the parts of a table; positives and rows by weight, as in the fit."""

    rows: int = 0
    weight: float = 0.0
    probability: float = 0.0
    posterior: float = 0.0
    unlabelled: float | None = None
    columns: list[str] = field(default_factory=list)
    unknown: dict[str, set[str]] = field(default_factory=dict)

    def count(self, scores: dict[str, np.ndarray], labels: Labels | None, weight) -> None:
        """Add some rows, of which ``labels`` are known where there are posteriors."""
        weight = np.ones(len(scores["probability"])) if weight is None else weight
        self.rows += len(weight)
        self.weight += float(weight.sum())
        self.probability += float(weight @ scores["probability"])
        if labels is not None and "posterior" in scores:
            self.posterior += float(weight @ scores["posterior"])
            unlabelled = float(weight[~labels.labelled].sum())
            self.unlabelled = (self.unlabelled or 0.0) + unlabelled

    def expected(self, learner) -> dict[str, float | None]:
        """Positives, of the rows of the fit as the class prior says; without a label, of those."""
        if self.unlabelled is None:
            positives, hidden = self.probability, None
        else:
            positives, prior = self.posterior, float(learner.class_prior_)
            if abs(self.probability - prior * self.weight) < 1e-9 * self.weight:
                positives = self.probability
            hidden = positives - (self.weight - self.unlabelled)
        found = {"expected_positives": positives, "expected_hidden_positives": hidden}
        return found | {"unlabelled": self.unlabelled}


def _parts(saved: SavedModel, table: str, id_column: str | None, reading) -> Iterator:
    """The table in parts, where its format can be read so."""
    known_id = id_column or saved.notes.get("id")
    written = {**saved.notes.get("reading", {}), **reading}
    return chunks(table, text_columns=[known_id] if known_id else [], **written)


def _first(top: int, before, scored, unlabelled: np.ndarray, n_before: int):
    """Of the rows so far those to look at first, with a column for what is found there."""
    import narwhals as nw

    if clash := sorted({"audited", "audit_row"} & set(scored.columns)):
        raise ValueError(f"The table already has a column {clash[0]!r}; rename it first.")
    chosen, backend = scored[unlabelled.tolist()], scored.implementation
    empty = nw.new_series("audited", [None] * len(chosen), nw.String, backend=backend)
    number = nw.new_series("audit_row", n_before + unlabelled, nw.Int64, backend=backend)
    found = nw.from_dict({s.name: s for s in (empty, number, *chosen.iter_columns())})
    found = found if before is None else nw.concat([before, found])
    return found[np.argsort(-_rank(found), kind="stable")[:top].tolist()]


def _rank(scored) -> np.ndarray:
    """By what rows are put in order."""
    by = "posterior" if "posterior" in scored.columns else "probability"
    return scored[by].to_numpy()


def _score(saved: SavedModel, frame, label, id_column, keep_all: bool, total: Scored):
    """The columns to write for some rows, and which of these are unlabelled; sums go to total."""
    import narwhals as nw

    table = as_frame(frame)
    labels = None if label is None else read_labels(saved, frame, label)
    scores = _scores(saved, frame, labels)
    kept = table if keep_all else table.select([id_column] if id_column else [])
    clash = sorted(set(kept.columns) & set(scores))
    if clash:
        raise ValueError(f"The table already has a column {clash[0]!r}; rename it first.")
    backend = table.implementation
    new = [nw.new_series(name, values, backend=backend) for name, values in scores.items()]
    scored = nw.from_dict({s.name: s for s in [*kept.iter_columns(), *new]})
    by = saved.notes.get("weight")
    weight = None if by is None or by not in table.columns else weights_of(frame, by)
    total.count(scores, labels, weight)
    total.columns = scored.columns
    for name, values in _unknown_values(saved.model, frame).items():
        total.unknown.setdefault(name, set()).update(values)
    return scored, np.flatnonzero(np.ones(len(table)) if labels is None else ~labels.labelled)


def _scores(saved: SavedModel, frame, labels: Labels | None) -> dict[str, np.ndarray]:
    """What the model says of each row."""
    model, X = saved.model, features(saved.model, frame)
    if not hasattr(last_step(model), "predict_propensity"):
        return {"probability": model.predict_proba(X)[:, 1]}
    parts = take_apart(model, X)  # reads the table, and asks the trees, once for three predictions
    scores = {"probability": parts.probability(), "propensity": parts.propensity()}
    if labels is not None:
        scores["posterior"] = np.where(labels.negative, 0.0, parts.posterior(labels.labelled))
    return scores


def _stream(output: str):
    return sys.stderr if output == STANDARD else sys.stdout


def _tell(result: dict[str, Any], notes: dict[str, Any], table: str) -> None:
    output, n_neutral = result["output"], result["neutralised_cells"]
    lines = []
    for name, values in result["unknown_values"].items():
        shown = ", ".join(values[:3]) + (", ..." if len(values) > 3 else "")
        lines.append(f"Note: column {name!r} holds values not seen in the fit ({shown}).")
    if n_neutral:
        lines.append(neutral_note(n_neutral))
    rows, positive = notes.get("noun", "rows"), notes.get("positive_noun", "positive")
    who = f"about {about(result['expected_positives'])}"
    if result["unlabelled"] is not None:
        hidden = about(result["expected_hidden_positives"])
        who = f"about {hidden} of the {result['unlabelled']:,.0f} unlabelled {rows}"
    text = f"Scored {result['rows']:,} {rows}; {who} are expected to be {positive}."
    written = "" if output == STANDARD else f" Wrote {output}."
    if result["expected_first"] is not None:
        text += (
            f" Of the {result['written']:,} unlabelled ones ranked highest, about "
            f"{about(result['expected_first'])} should be {positive}."
        )
        written += fill_in(table, notes.get("label", "LABEL"), output) if written else ""
    lines.append(text + written)
    print("\n".join(lines), file=_stream(output))


def fill_in(table: str, label: str, output: str) -> str:
    """What to do with a file of rows to check."""
    return (
        " Fill in the column 'audited' with yes, no or unsure, from the top; you may stop early. "
        f"Then: sarlearn fit {table} --label {label} ... --audited {output}"
    )


def neutral_note(n_cells: int) -> str:
    return (
        f"Note: an apostrophe was put before {counted(n_cells, 'cell')} that a spreadsheet would "
        "run as a formula."
    )


class Opened(NamedTuple):
    """A saved model, and a table with labels."""

    saved: SavedModel
    frame: Any
    X: Any
    s: np.ndarray
    label: str
    id_column: str | None

    @property
    def labelled(self) -> np.ndarray:
        return self.s == last_step(self.saved.model).classes_[1]

    @property
    def ids(self) -> list | None:
        """What each row is called, where a column says so."""
        return None if self.id_column is None else list(self.frame[self.id_column])


def open_labelled(model: str, table: str, label, id_column, reading=None) -> Opened:
    """The model and the table, for a command that needs propensities and labels."""
    saved = load_file(model)
    known_id = id_column or saved.notes.get("id")
    written = {**saved.notes.get("reading", {}), **(reading or {})}
    frame = read_table(table, text_columns=[known_id] if known_id else [], **written)
    label, id_column = _roles(saved, frame, label, id_column)
    learner = last_step(saved.model)
    if not hasattr(learner, "predict_propensity"):
        raise ValueError(
            f"{model} holds a {type(learner).__name__}, which has no propensity model."
        )
    if label is None:
        known = saved.notes.get("label")
        raise ValueError(
            f"The table has no label column{f' {known!r}' if known else ''}; name it with --label."
        )
    labelled = read_labels(saved, frame, label).labelled
    if labelled.all() or not labelled.any():
        raise ValueError(f"The column {label!r} must hold labelled and unlabelled rows.")
    s = learner.classes_[labelled.astype(int)]
    return Opened(saved, frame, features(saved.model, frame), s, label, id_column)


def _roles(
    saved: SavedModel, frame, label: str | None, id_column: str | None
) -> tuple[str | None, str | None]:
    """The label column, where the table has it, and the identifier: as given, or as in the fit."""
    check_columns(frame, label=[label], id=[id_column])
    known = label or saved.notes.get("label"), id_column or saved.notes.get("id")
    known_label, known_id = (name if name in frame.columns else None for name in known)
    return known_label, known_id


def read_labels(saved: SavedModel, frame, label: str) -> Labels:
    """The labels of a table, written as in the table of the fit."""
    return parse_labels(
        frame[label],
        label,
        word=saved.notes.get("label_word"),
        positive=saved.notes.get("positive"),
        negative=saved.notes.get("negative", ()),
        unlabelled=saved.notes.get("unlabelled", ()),
        must_occur=False,
    )


def last_step(model):
    """The learner of a pipeline, or the model itself."""
    return model[-1] if isinstance(model, Pipeline) else model


def encoder_of(model) -> TableEncoder | None:
    """What reads tables for a model; None where it takes numbers only."""
    first = model[0] if isinstance(model, Pipeline) else getattr(model, "reader_", None)
    return first if isinstance(first, TableEncoder) else None


def features(model, frame):
    """The columns that a model was fitted to, found by name."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "The model was fitted without column names, so its columns cannot be found in a table."
        )
    table = as_frame(frame)
    if missing := [name for name in names if name not in table.columns]:
        names = no_column(missing, table.columns, "The table")
        raise ValueError(f"The model uses columns that the table lacks. {names}")
    chosen = table.select(list(names))
    for series in chosen.iter_columns() if encoder_of(model) is None else ():
        _refuse_what_is_no_number(series)
    return chosen.to_pandas() if table.implementation.is_pyarrow() else chosen.to_native()


def _refuse_what_is_no_number(series) -> None:
    """Lists, records, dates and words, for a model that reads no tables."""
    first = next((value for value in series.head(100).to_list() if value is not None), None)
    what = "words" if isinstance(first, str) else ""
    if isinstance(first, list | tuple | dict | set | np.ndarray):
        what = "lists or records"
    if series.dtype.is_temporal():
        what = "dates or times"
    if what:
        raise ValueError(f"Column {series.name!r} holds {what}; the model takes numbers.")


def _unknown_values(model, frame) -> dict[str, list[str]]:
    encoder = encoder_of(model)
    return {} if encoder is None else encoder.unknown_values(frame)
