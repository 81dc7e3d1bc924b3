"""``sarlearn fit``."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline

from sarlearn._words import about, odds_sentence
from sarlearn.classifiers import SARClassifier, SAREMClassifier
from sarlearn.cli.large import BatchTable, DaskTable, cluster, in_batches
from sarlearn.cli.predict import encoder_of, features, last_step
from sarlearn.cli.table import LabelledTable, Roles, audit_columns, parse_class_prior, read_labelled
from sarlearn.cli.terminal import (
    collected_warnings,
    command_line,
    print_json,
    print_rows,
    print_text,
    print_warnings,
    progress,
    table_warnings_said,
    watched,
)
from sarlearn.reporting import Report, summarize
from sarlearn.reporting.words import relative_sentence, unsure
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
        settings: dict[str, Any] = {"class_prior": parse_class_prior(self.class_prior)}
        if self.max_iter is not None:
            settings["max_iter"] = self.max_iter
        if roles.propensity_only:
            of_class = [name for name in columns if name not in roles.propensity_only]
            settings["classifier_features"] = of_class
        if self.method == "sar":
            return SARClassifier(named, random_state=self.seed, **settings)
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
    def whole(self) -> dict[str, int] | None:
        """Counts of all rows, where the report sees a sample of them."""
        if isinstance(self.rows, LabelledTable):
            return None
        return {"rows": self.rows.n_rows, "labelled": self.rows.n_labelled}


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
    as_json: bool,
) -> None:
    """Read, fit, save; then tell about it in one of three ways."""
    evidence = (audited, audit_probability)
    roles = replace(roles, audits=tuple(audit_columns(*evidence)))
    with contextlib.ExitStack() as stack:
        if dask is not None:
            _refuse_on_dask(roles, reading)
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
    }
    save(found.model, output, notes=notes)
    summary = _summary(found, roles, Path(table).name)
    print_warnings(summary["warnings"], found.messages)
    if report is not None:
        _write_report(summary, report, output)
    if as_json:
        print_json(summary)
    else:
        print_summary(summary)
        print_text(f"\nWrote {output}" + (f" and {report}" if report is not None else "") + ".")


def _read(table: str, roles: Roles, reading, evidence, on_dask: bool, batches: bool | None):
    """The table, in memory or in parts."""
    if on_dask:
        return DaskTable(table, roles, *evidence)
    if in_batches(table, batches):
        _refuse_in_batches(roles, evidence[0])
        return BatchTable(table, roles)
    return read_labelled(table, roles, reading, *evidence)


def _fitted(learning: Learning, roles: Roles, read, doing: str) -> Fitted:
    with collected_warnings() as messages:
        with progress(doing):
            rows = read()
        model = learning.model(rows.roles, rows.columns)
        with progress(f"Fitting {rows.n_rows:,} rows") as show, watched(last_step(model), show):
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
            raise ValueError(f"{option}: the method sar-em takes none; use --method sar.")
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


def _refuse_on_dask(roles: Roles, reading: dict[str, Any]) -> None:
    given = {"--weight": roles.weight, "--groups": roles.groups, "--sep and the like": reading}
    for option, value in given.items():
        if value:
            raise ValueError(f"--dask does not take {option}; leave it out, or fit in memory.")


def _refuse_in_batches(roles: Roles, audited: str | None) -> None:
    given = {"--groups": roles.groups, "--audited": audited, "--negative": roles.negative}
    for option, value in given.items():
        if value:
            raise ValueError(
                f"{option} needs the rows in memory, and this table is fitted in batches: leave it "
                "out, fit a sample of the rows, or insist with --in-memory."
            )


def _summary(found: Fitted, roles: Roles, source: str) -> dict[str, Any]:
    id_column = roles.id_column
    by_weight = [_weighted(found.learner)] if roles.weight else []
    with progress("Comparing with simpler assumptions"), table_warnings_said():
        return summarize(
            found.model,
            found.X,
            found.s,
            ids=None if id_column is None else list(found.frame[id_column]),
            id_name=id_column,
            source=source,
            label=roles.label,
            warnings=[*found.messages, *by_weight],
            whole=found.whole,
            command=command_line(),
        )


def _weighted(final) -> str:
    """Counts of rows are of the rows as they stand, the fit's share is that of the weights."""
    low, high = getattr(final, "class_prior_range_", (final.class_prior_,) * 2)
    return (
        f"By weight {final.class_prior_:.1%} of the rows are positive ({low:.1%} to {high:.1%}): "
        "that is the class prior of the fit. Numbers of rows told of here count each row once, "
        "whatever its weight."
    )


def _write_report(summary: dict[str, Any], report: str, output: str) -> None:
    with progress("Drawing the report"):
        page = Report(summary)
        page.to_html()
    try:
        page.save(report)
    except OSError as error:
        raise OSError(f"{error} The model was written to {output}.") from error


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
    print_text(f"\n{summary['text']['label_fit']}")
    print_text(f"\n{summary['text']['comparison']}")
    print_text(summary["text"]["convergence"])
