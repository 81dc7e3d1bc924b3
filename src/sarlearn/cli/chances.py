"""``sarlearn fit`` with several chances to be labelled, and scores of such a model."""

from typing import Any

import numpy as np

from sarlearn._words import about, odds_sentence
from sarlearn.classifiers import RepeatedSARClassifier
from sarlearn.cli.common import (
    check_columns,
    collected_warnings,
    print_json,
    print_rows,
    print_text,
    split_names,
)
from sarlearn.cli.evidence import parse_class_prior
from sarlearn.cli.progress import progress
from sarlearn.inspection import history_test
from sarlearn.saving import save
from sarlearn.tables.audits import parse_audited
from sarlearn.tables.chances import RepeatedTableClassifier
from sarlearn.tables.columns import as_frame, numbers
from sarlearn.tables.read import read_table

# Refits of the test whether chances depend on each other; it is one at 5 % with 19 or more.
DRAWS = 39
ASSUMED = (
    "The range holds if the model does: the class of a row does not change between chances, and "
    "chances are independent given the columns."
)
# What one label per row can have, and several chances cannot.
_NOT_HERE = {
    "method": "--method",
    "decay": "--decay",
    "stop": "--stop",
    "report": "--report",
    "check": "--check",
    "dask": "--dask",
    "background": "--background",
    "groups": "--groups",
    "positive": "--positive",
    "audit_probability": "--audit-probability",
}


def fit_chances(**options: Any) -> None:
    """Read, fit, save, and tell."""
    _refuse(options)
    table, output, id_column = options["table"], options["output"], options["id_column"]
    with collected_warnings() as messages:
        with progress(f"Reading {table}"):
            text = [id_column] if id_column else []
            frame = read_table(table, text_columns=text, **options["reading"])
            model, known = _build(frame, options)
        with progress("Fitting"):
            model.fit(frame, **known)
        with progress("Comparing histories of labels"):
            rows, visits, chances = model.encoded(frame)
            tested = history_test(
                model.learner_, rows, visits, chances, n_draws=DRAWS, random_state=options["seed"]
            )
    notes = {"label": None, "id": id_column, "source": table, "reading": options["reading"]}
    save(model, output, notes=notes)
    summary = _summary(model, visits, tested, [str(message) for message in messages])
    if options["as_json"]:
        print_json(summary)
        return
    _tell(summary)
    print_text(f"\nWrote {output}.")


def _refuse(options: dict[str, Any]) -> None:
    for name, option in _NOT_HERE.items():
        if options[name]:
            raise ValueError(f"{option} is for one label per row, not for several chances.")
    if options["classifier"] != "logistic":
        raise ValueError("Several chances to be labelled need --classifier logistic.")


def _build(frame, options: dict[str, Any]) -> tuple[RepeatedTableClassifier, dict[str, Any]]:
    """The model, and what its fit is told beside the table."""
    labels, weight, audited = list(options["label"]), options["weight"], options["audited"]
    propensity = split_names(frame, options["propensity"])
    only, drop = split_names(frame, options["propensity_only"]), split_names(frame, options["drop"])
    named = {
        "--label": labels,
        "--chance": [options["chance"]],
        "--id": [options["id_column"]],
        "--propensity": propensity,
        "--propensity-only": only,
        "--drop": drop,
        "--weight": [weight],
        "--audited": [audited],
    }
    for option, names in named.items():
        check_columns(frame, option, names)
    settings = {"max_iter": options["max_iter"]}
    settings |= {} if options["C"] is None else {"C": options["C"]}
    prior = parse_class_prior(options["class_prior"])
    model = RepeatedTableClassifier(
        labels if options["chance"] is None else labels[0] if len(labels) == 1 else labels,
        propensity,
        propensity_only=only,
        id_column=options["id_column"],
        chance=options["chance"],
        drop=[*drop, *(name for name in (weight, audited) if name is not None)],
        skewed="raw" if options["raw"] else "log",
        dates=options["dates"] or "refuse",
        learner=RepeatedSARClassifier(class_prior=prior, **settings),
    )
    known: dict[str, Any] = {}
    if weight is not None:
        known["sample_weight"] = numbers(as_frame(frame), [weight])[:, 0]
    if audited is not None:
        known["audited"] = parse_audited(frame[audited], audited)
    return model, known


def _summary(model: RepeatedTableClassifier, visits, tested, messages) -> dict[str, Any]:
    learner = model.learner_
    n_rows, labelled = len(visits), int((visits == 1).any(axis=1).sum())
    low, high = learner.class_prior_range_
    prior = learner.class_prior_

    def hidden(share: float) -> float:
        return max(share * n_rows - labelled, 0.0)

    return {
        "rows": n_rows,
        "chances": int((~np.isnan(visits)).sum()),
        "most_chances": int(visits.shape[1]),
        "labelled": labelled,
        "class_prior": prior,
        "class_prior_range": [low, high],
        "certainty": learner.certainty_,
        "class_prior_from_labels": learner.class_prior_from_labels_,
        "hidden_positives": hidden(prior),
        "hidden_positives_range": [hidden(low), hidden(high)],
        "label_frequency": learner.label_frequency_,
        "odds": model.odds(),
        "independence": {"p_value": tested.p_value, "text": str(tested)},
        "assumption": ASSUMED,
        "warnings": messages,
    }


def _tell(summary: dict[str, Any]) -> None:
    low, high = summary["class_prior_range"]
    least, most = summary["hidden_positives_range"]
    n_hidden = about(summary["hidden_positives"])
    print_text(
        f"About {n_hidden} of the {summary['rows'] - summary['labelled']:,} rows that were never "
        f"labelled are estimated to be positive, between {about(least)} and {about(most)}."
    )
    print_rows(
        [
            ("rows", f"{summary['rows']:,}", ""),
            ("chances to be labelled", f"{summary['chances']:,}", ""),
            ("rows labelled at some chance", f"{summary['labelled']:,}", ""),
            ("hidden positives (estimate)", n_hidden, f"{about(least)} to {about(most)}"),
            ("class prior", f"{summary['class_prior']:.1%}", f"{low:.1%} to {high:.1%}"),
            ("label frequency, all chances", f"{summary['label_frequency']:.1%}", ""),
        ]
    )
    if summary["odds"]:
        print_text("\nWhat drives labelling at a chance:")
        for row in summary["odds"]:
            print_text(f"  {row['level']}: {odds_sentence(row, 'being labelled')}")
    print_text(f"\n{summary['assumption']}")
    print_text(summary["independence"]["text"])


def chance_scores(model: RepeatedTableClassifier, frame) -> tuple[dict[str, np.ndarray], Any]:
    """Scores, one row each, and the rows of the table that they belong to."""
    columns = {
        "probability": model.predict_proba(frame)[:, 1],
        "propensity": model.predict_propensity(frame),
    }
    labels = [model.label] if isinstance(model.label, str) else model.label
    if set(labels) <= set(frame.columns):
        columns["posterior"] = model.predict_posterior(frame)
    return columns, as_frame(frame)[model.first_rows(frame).tolist()]
