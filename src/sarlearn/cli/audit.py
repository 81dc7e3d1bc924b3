"""``sarlearn audit``: rows to check, as a file or on a page."""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sarlearn._view.parts import take_apart
from sarlearn.audit import class_prior_from_audit, suggest_audit
from sarlearn.cli.predict import Opened, fill_in, neutral_note, open_labelled
from sarlearn.cli.terminal import collected_warnings, print_json, progress
from sarlearn.reporting.effects import importance
from sarlearn.tables.audits import answer_words, audit_table, read_answers
from sarlearn.tables.columns import as_frame
from sarlearn.tables.read import read_table
from sarlearn.tables.write import write_table

# Columns shown at once on the page, the ones the model uses most.
SHOWN_FIRST = 8


@dataclass
class Plan:
    """An audit that is planned or under way: the table, the rows to check, the design."""

    opened: Opened
    rows: np.ndarray
    design: dict[str, np.ndarray]
    words: dict[int, str]  # answers so far
    output: str

    def write(self, words: dict[int, str]) -> int:
        """Write the file of rows to check, with the answers so far; how many cells were changed,
        since a spreadsheet would run them."""
        everything = {**self.words, **words}
        order = [*sorted(set(self._drawn()) - set(self.rows.tolist())), *self.rows.tolist()]
        table = audit_table(
            self.opened.frame, self.design, order, everything, leave_out=[self.opened.label]
        )
        return write_table(table, self.output, neutralise=True)

    def _drawn(self) -> list[int]:
        return np.flatnonzero(~np.isnan(self.design["audit_probability"])).tolist()


def audit(
    model: str,
    table: str,
    n: int,
    output: str,
    label: str | None,
    id_column: str | None,
    audited: str | None,
    seed: int,
    serve: bool,
    browser: bool,
    as_json: bool,
    force: bool,
) -> None:
    """Suggest rows, write them; with ``serve`` ask about them on a page."""
    going_on = serve and Path(output).exists() and not force
    with collected_warnings(), progress(f"Reading {table}"):
        plan = _plan(model, table, n, output, label, id_column, audited, seed, going_on)
    if serve:
        _serve(plan, table, browser, fresh=not going_on)
        return
    n_neutral = plan.write({})
    result = _result(plan)
    if as_json:
        print_json({**result, "neutralised_cells": n_neutral})
        return
    if n_neutral:
        print(neutral_note(n_neutral))
    print(
        f"Wrote {result['rows']} rows to check, in random order, to {output}."
        + fill_in(table, plan.opened.label, output)
    )
    print(
        f"If the posteriors are right, about {result['rows_for_5_points']} checked rows bring the "
        "range of the class prior under 5 points."
    )


def _plan(model, table, n, output, label, id_column, audited, seed, going_on) -> Plan:
    opened = open_labelled(model, table, label, id_column)
    saved, frame, X, s, label, id_column = opened
    text = [id_column] if id_column else []
    if going_on:
        filled = read_table(output, text_columns=text)
        design, words = read_answers(filled, frame, id_column), answer_words(filled)
        rows = np.asarray(filled["audit_row"], dtype=np.intp)
        last = np.nanmax(design["audit_round"])
        rows = rows[design["audit_round"][rows] == last]
    else:
        earlier: dict[str, Any] = {}
        words = {}
        if audited is not None:
            filled = read_table(audited, text_columns=text)
            earlier, words = read_answers(filled, frame, id_column), answer_words(filled)
        parts = take_apart(saved.model, X)
        found = suggest_audit(parts.final, parts.matrix, s, n, random_state=seed, **earlier)
        design, rows = found.answers(np.full(len(found.rows), np.nan)), found.rows
        design["expected"] = np.array(found.rows_needed())
    return Plan(opened, rows, design, words, output)


def _result(plan: Plan) -> dict[str, Any]:
    return {
        "rows": len(plan.rows),
        "round": int(np.nanmax(plan.design["audit_round"])),
        "rows_for_5_points": int(plan.design["expected"]),
        "output": plan.output,
    }


def _serve(plan: Plan, table: str, browser: bool, fresh: bool) -> None:
    from sarlearn.cli.audit_page import Answers, Question, flush_to_disk, only_page, serve

    output = Path(plan.output)

    def write(words: dict[int, str]) -> None:
        plan.write(words)
        flush_to_disk(output)

    with only_page(output):
        if fresh:
            write({})
        given = {
            name: plan.design[name] for name in ("audited", "audit_probability", "audit_round")
        }
        # Answers of this round are taken one by one: the page shows how the range fell.
        given["audited"][plan.rows] = np.nan
        answers = Answers(plan.rows.tolist(), plan.opened.labelled, given, plan.words, write)
        first, folded = _columns(plan.opened)
        asked = Question(
            text=f"Is this one {plan.opened.saved.notes.get('positive_noun', 'positive')}?",
            source=f"{Path(table).name}, round {int(np.nanmax(given['audit_round']))}",
            first=first,
            folded=folded,
            cells=lambda row: _cells(plan.opened, row),
            name=lambda row: _name(plan.opened, row),
        )
        with contextlib.suppress(KeyboardInterrupt):
            serve(answers, asked, lambda at: _announce(at, browser))
    print(_farewell(plan, answers))


def _announce(address: str, browser: bool) -> None:
    print(f"Check rows at {address}\nStop with Ctrl+C; every answer is saved at once.", flush=True)
    if browser:
        import webbrowser

        webbrowser.open(address)


def _farewell(plan: Plan, answers) -> str:
    text = f"{len(answers.words)} of {len(answers.rows)} rows are checked; see {plan.output}."
    with contextlib.suppress(ValueError):  # no range yet
        text += f" {class_prior_from_audit(plan.opened.labelled, **answers.design())}"
    return text


def _columns(opened: Opened) -> tuple[list[str], list[str]]:
    """The columns the class model uses most, and the others."""
    ranked = [row["attribute"] for row in importance(take_apart(opened.saved.model, opened.X))]
    shown = [n for n in opened.frame.columns if n not in (opened.label, opened.id_column)]
    first = [name for name in ranked if name in shown][:SHOWN_FIRST]
    return first, [name for name in shown if name not in first]


def _name(opened: Opened, row: int) -> str:
    if opened.id_column is None:
        return f"row {row}"
    return f"{opened.id_column} {_text(as_frame(opened.frame)[opened.id_column].item(row))}"


def _cells(opened: Opened, row: int) -> dict[str, str]:
    frame = as_frame(opened.frame)
    return {name: _text(frame[name].item(row)) for name in frame.columns}


def _text(value: Any) -> str:
    if value is None or value != value:
        return "(missing)"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
