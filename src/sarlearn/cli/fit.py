"""``sarlearn fit``."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline

from sarlearn.classifiers import SARClassifier, SAREMClassifier
from sarlearn.cli.large import BatchTable, DaskTable, cluster, in_batches
from sarlearn.cli.predict import encoder_of, features, last_step
from sarlearn.cli.table import LabelledTable, Roles, audit_columns, parse_class_prior, read_labelled
from sarlearn.cli.terminal import (
    collected_warnings,
    command_line,
    print_summary,
    progress,
    table_warnings_said,
)
from sarlearn.reporting import Report, summarize
from sarlearn.saving import save
from sarlearn.tables.encoder import TableEncoder


@dataclass(frozen=True)
class Learning:
    """How a model is made of a table, whatever its rows lie in."""

    method: str
    max_iter: int | None
    class_prior: str | None
    seed: int

    def model(self, roles: Roles, columns: Sequence[str]) -> SARClassifier | Pipeline:
        """A model of these columns, not fitted."""
        named = [*roles.propensity, *roles.propensity_only]
        prior, settings = parse_class_prior(self.class_prior), dict[str, Any]()
        if self.max_iter is not None:
            settings["max_iter"] = self.max_iter
        if roles.propensity_only:
            of_class = [name for name in columns if name not in roles.propensity_only]
            settings["classifier_features"] = of_class
        if self.method == "sar":
            spec = named if named or roles.at_random else "auto"
            return SARClassifier(spec, class_prior=prior, random_state=self.seed, **settings)
        if roles.auto:
            raise ValueError("--propensity auto: the method sar-em takes named columns only.")
        if prior is not None:
            raise ValueError(
                f"--class-prior {self.class_prior}: the method sar-em takes no known class prior; "
                "--method sar does."
            )
        return make_pipeline(TableEncoder(terms=True), SAREMClassifier(named, **settings))


@dataclass(frozen=True)
class Fitted:
    """A model, the table it was fitted to, and the rows of it that a report looks at."""

    model: SARClassifier | Pipeline
    rows: LabelledTable | BatchTable | DaskTable
    frame: Any
    s: np.ndarray
    messages: list[Warning]

    @property
    def learner(self):
        """The last step of the model."""
        return last_step(self.model)

    @property
    def X(self):
        """What the model takes of the rows."""
        return features(self.model, self.frame)

    @property
    def weight(self) -> np.ndarray | None:
        """How many rows each row stands for: where the user says so, or these are a sample."""
        if isinstance(self.rows, LabelledTable):
            return self.rows.weight
        labelled = self.s == 1
        n_labelled, n_unlabelled = self.rows.n_labelled, self.rows.n_rows - self.rows.n_labelled
        each = n_labelled / max(1, labelled.sum()), n_unlabelled / max(1, (~labelled).sum())
        return np.where(labelled, *each)


def fit(
    roles: Roles,
    learning: Learning,
    *,
    table: str,
    reading: dict[str, Any],
    audited: str | None,
    audit_probability: str | None,
    dask: str | None,
    batches: bool | None,
    output: str,
    report: str | None,
    noun: str,
    positive_noun: str,
    verbose: bool,
    as_json: bool,
) -> None:
    """Read, fit, save; then tell about it in one of three ways."""
    evidence = (audited, audit_probability)
    roles = replace(roles, audits=tuple(audit_columns(*evidence)))
    with contextlib.ExitStack() as stack:
        if dask is not None:
            stack.enter_context(cluster(dask))
        found = _fitted(
            learning,
            roles,
            lambda: _read(table, roles, reading, evidence, dask is not None, batches),
            f"Reading {table}",
        )
    notes = {
        "label": roles.label,
        "label_word": found.rows.labels.word,
        "positive": roles.positive,
        "negative": list(roles.negative),
        "unlabelled": list(roles.unlabelled),
        "id": roles.id_column,
        "source": Path(table).name,
        "reading": reading,
        "rows": found.rows.n_rows,
        "labelled": found.rows.n_labelled,
        "weight": roles.weight,
        "noun": noun,
        "positive_noun": positive_noun,
    }
    save(found.model, output, notes=notes)
    summary = _summary(found, notes, (output, table))
    if report is not None:
        _write_report(summary, report, output)
    print_summary(summary, as_json=as_json, verbose=verbose)
    if not as_json:
        print(f"Wrote {output}" + (f" and {report}" if report is not None else "") + ".")


def _read(table: str, roles: Roles, reading, evidence, on_dask: bool, batches: bool | None):
    """The table, in memory or in parts."""
    if on_dask:
        _refuse_in_parts(roles, evidence[0], reading, on_dask)
        return DaskTable(table, roles, *evidence)
    if in_batches(table, batches):
        _refuse_in_parts(roles, evidence[0], reading, on_dask)
        return BatchTable(table, roles)
    return read_labelled(table, roles, reading, *evidence)


def _fitted(learning: Learning, roles: Roles, read, doing: str) -> Fitted:
    with collected_warnings(printed_later=True) as messages:
        with progress(doing):
            rows = read()
        model = learning.model(rows.roles, rows.columns)
        with progress(f"Fitting {rows.n_rows:,} rows"):
            model.fit(*rows.learned_from(), **_metadata(model, rows.known()))
        _refuse_constant(model, [*rows.roles.propensity, *rows.roles.propensity_only])
    with progress("Reading a sample"):
        frame, s = rows.sample()
    return Fitted(model, rows, frame, s, messages)


def _metadata(model, known: dict[str, Any]) -> dict[str, Any]:
    """Weights, groups and audits, under the names by which a pipeline hands them on."""
    taken = signature(last_step(model).fit).parameters
    for name in known:
        if name not in taken:
            option = {"sample_weight": "--weight", "groups": "--groups"}.get(name, "--audited")
            raise ValueError(f"{option} is not available with --method sar-em; use --method sar.")
    step = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    return {f"{step}{name}": values for name, values in known.items()}


def _refuse_constant(model, named: Sequence[str]) -> None:
    encoder = encoder_of(model)
    for reading in encoder.readings_ if encoder is not None else []:
        if reading.name in named and reading.dropped:
            raise ValueError(
                f"--propensity: nothing can depend on the column {reading.name!r}, which "
                + (f"{reading.dropped}." if " " in reading.dropped else f"is {reading.dropped}.")
            )


def _refuse_in_parts(roles: Roles, audited: str | None, reading, on_dask: bool) -> None:
    """What needs the rows in memory, where they are read in parts."""
    given: dict[str, Any] = {"--groups": roles.groups}
    if on_dask:
        given |= {"--weight": roles.weight, "--sep and the like": reading}
    else:
        given |= {"--audited": audited, "--negative": roles.negative}
    for option, value in given.items():
        if value:
            raise ValueError(
                f"{option} needs the rows in memory, and this table is fitted in parts "
                f"({'--dask' if on_dask else '--batches'}): leave it out, fit a sample of the "
                "rows, or insist with --in-memory."
            )


def _summary(found: Fitted, notes: dict[str, Any], files: Sequence[str]) -> dict[str, Any]:
    id_column = notes["id"]
    with progress("Comparing with simpler assumptions"), table_warnings_said():
        return summarize(
            found.model,
            found.X,
            found.s,
            ids=None if id_column is None else list(found.frame[id_column]),
            id_name=id_column,
            weight=found.weight,
            sampled=not isinstance(found.rows, LabelledTable),
            warnings=found.messages,
            command=command_line(),
            files=files,
            **{name: notes[name] for name in ("source", "label", "noun", "positive_noun")},
        )


def _write_report(summary: dict[str, Any], report: str, output: str) -> None:
    with progress("Drawing the report"):
        page = Report(summary)
        page.to_html()
    try:
        page.save(report)
    except OSError as error:
        raise OSError(f"{error} The model was written to {output}.") from error
