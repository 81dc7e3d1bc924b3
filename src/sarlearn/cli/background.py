"""``sarlearn fit --background``: labelled rows and background are two samples."""

from typing import Any

from sarlearn._view.parts import take_apart
from sarlearn.cli.common import print_json, print_text
from sarlearn.inspection import relative_prevalence
from sarlearn.reporting.effects import importance

# Attributes by which groups are compared: those of the propensity, then the most telling others.
MAX_ATTRIBUTES = 4
ONE_SAMPLE = (
    "Labelled rows and background are taken as two samples. How many rows are positive is then not "
    "known: it follows from how many of each were collected. Probabilities are right up to a "
    "factor; the ranking of rows stands, and so does how groups compare."
)


def check_background(report: str | None, check: bool, dask: str | None, classifier: str) -> None:
    """Refuse what tells of class priors, or cannot do without them."""
    if classifier != "logistic":
        raise ValueError("--background needs --classifier logistic.")
    for option, given in (("--report", report), ("--check", check), ("--dask", dask)):
        if given:
            raise ValueError(
                f"{option} does not go with --background: it rests on one sample of labelled and "
                "unlabelled rows."
            )


def background_summary(model, frame, s, messages: list[str]) -> dict[str, Any]:
    """What two samples can tell, as plain values."""
    parts = take_apart(model, frame)
    used = [row["attribute"] for row in importance(parts)]
    named = [attribute.name for attribute in parts.propensity_attributes]
    chosen = list(dict.fromkeys([*named, *used]))[:MAX_ATTRIBUTES]
    compared = [relative_prevalence(model, frame, s, name) for name in chosen]
    return {
        "rows": parts.n_rows,
        "labelled": int(s.sum()),
        "class_prior": None,
        "assumption": ONE_SAMPLE,
        "most_telling": used[:MAX_ATTRIBUTES],
        "relative_prevalence": [each.to_dict() for each in compared],
        "text": [str(each) for each in compared],
        "warnings": [str(message) for message in messages],
    }


def tell(summary: dict[str, Any], output: str, *, as_json: bool) -> None:
    """Print it."""
    if as_json:
        print_json(summary)
        return
    background = summary["rows"] - summary["labelled"]
    print_text(f"{summary['labelled']:,} labelled rows, {background:,} rows of background.")
    print_text(summary["assumption"])
    for text in summary["text"]:
        print_text(f"\n{text}")
    print_text(f"\nWrote {output}.")
