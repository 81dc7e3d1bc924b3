"""Plain sentences: what to be careful about, and what is taken for granted."""

from collections.abc import Iterator, Sequence
from typing import Any

from sarlearn._validation import FEW_LABELS
from sarlearn._words import (
    ENOUGH,
    about,
    checked_sentence,
    checks_sentence,
    known_sentence,
    listed,
    number_text,
    range_sentence,
    settled_sentence,
)

# By a learner's ``certainty_``: the verdict, and what the page colours by.
VERDICTS = {
    "well": ("Well determined", "well"),
    "roughly": ("Rough", "rough"),
    "not at all": ("Not determined by these labels", "open"),
}


def verdict_of(summary: dict[str, Any]) -> dict[str, Any] | None:
    """How far the class prior can be trusted: a word, why, and what to do next.

    ``nothing`` says that no number means anything; then the report ends here.
    """
    certainty, problems = summary["certainty"], summary["label_fit"]["problems"]
    if certainty is None:
        if "leaks" not in problems:
            return None
        certainty = {"word": "not at all", "by_design": False}
    name, kind = VERDICTS.get(certainty["word"], VERDICTS["not at all"])
    reason, remedy = _impossible(summary) if not certainty["by_design"] else ("", "")
    if reason:
        name, kind = VERDICTS["not at all"]
        return {"name": name, "kind": kind, "reason": reason, "next": remedy, "nothing": True}
    needed = certainty["rows_for_5_points"]
    check = f"check about {needed:,} rows that 'sarlearn audit' draws" if needed else ""
    if kind == "well":
        remedy = "Use the numbers, and begin with the rows listed first."
    elif kind == "rough":
        remedy = "Take the count as rough; the list of rows can be used."
        remedy += f" To narrow it, {check}." if check else ""
    else:
        remedy = "Name the columns that decide who gets labelled"
        remedy += f", or {check}." if check else "."
    if problems and kind == "well":
        name, kind = VERDICTS["roughly"]
        reason = " ".join(problems.values()) + " "
    return {
        "name": name,
        "kind": kind,
        "reason": reason + sure_sentence(summary),
        "next": remedy,
        "nothing": False,
    }


def _impossible(summary: dict[str, Any]) -> tuple[str, str]:
    """Why nothing can be said of the class prior, and the remedy; empty where something can."""
    problems, attributes = (
        summary["label_fit"]["problems"],
        summary["model"]["propensity_attributes"],
    )
    if "leaks" in problems:
        return problems["leaks"], "Leave the column out, and fit again."
    if not summary["model"]["settings"].get("single_sample", True):
        return (
            "Labelled rows and background were collected apart, so that the share of positives "
            "depends on how many of each were taken.",
            "Use the ranking of rows. For a share, audit rows of the population.",
        )
    if attributes and len(attributes) == summary["data"]["attributes"]:
        return (
            "Every column may decide who gets labelled. Then a rare class that is labelled often "
            "and a common class that is labelled rarely look the same.",
            "Leave columns out of the propensity that do not influence labelling, or check rows "
            "('sarlearn audit').",
        )
    return "", ""


def sample_sentence(n_sample: int, n_rows: int) -> str:
    """What is of a sample only."""
    return (
        f"Counts of groups, curves and the rows listed come from {n_sample:,} of the {n_rows:,} "
        "rows, spread evenly; the class prior is that of the fit to all rows."
    )


def warnings_of(summary: dict[str, Any], given: Sequence[Warning | str]) -> list[str]:
    """What the fit warned of, then what the numbers themselves warn of; nothing said twice.

    A sentence about the numbers is left out where the fit itself gave such a warning.
    """
    found = list(dict.fromkeys(" ".join(str(warning).split()) for warning in given))
    if nothing_said(summary):
        return found  # the verdict has the reason, and nothing else matters
    codes = {getattr(warning, "code", "") for warning in given}
    found.extend(sentence for code, sentence in _from_numbers(summary) if code not in codes)
    return found


def _from_numbers(summary: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
    """Sentences that the numbers call for, each with the code of the warning that says the same."""
    data, propensity = summary["data"], summary["propensity"]
    attributes = summary["model"]["propensity_attributes"]
    if data["labelled"] < FEW_LABELS:
        yield (
            "few-labels",
            f"Only {data['labelled']} rows are labelled. With fewer than {FEW_LABELS} every number "
            "here is very uncertain.",
        )
    if not attributes:
        yield (
            None,
            "No propensity attribute was named, so every positive is taken to have the same chance "
            "of being labelled (SCAR). If some kinds of people or things are labelled more "
            "readily than others, name the columns that say which.",
        )
    if attributes and len(attributes) == data["attributes"]:
        yield "every-column", " ".join(_impossible(summary))
    if propensity["lowest"] > 0.97:
        yield (
            "label-frequency-at-end",
            "The chance of being labelled comes out near 1 everywhere: nearly no hidden positives "
            "are found. Check this against what is known of the labelling.",
        )
    empty = [
        f"{attribute['feature']} = {group['group']}"
        for attribute in propensity["attributes"]
        for group in attribute["groups"]
        if group["labelled"] == 0 and group["rows"] >= 10
    ]
    if empty:
        # Beside the fit's own warning, which counts such groups and does not name them.
        yield (
            None,
            "No row is labelled where "
            + "; ".join(empty[:3])
            + (" (and more)" * (len(empty) > 3))
            + ". What is said of such rows is guessed from others.",
        )
    if not summary["convergence"]["converged"]:
        yield (
            "max-iter",
            f"The fit stopped after {summary['convergence']['n_iter']} rounds before it had "
            "settled; allow more rounds (max_iter) or use fewer propensity attributes.",
        )
    if not 0.005 < summary["estimates"]["class_prior"] < 0.995:
        yield (
            "class-prior-at-end",
            f"The estimated class prior, {summary['estimates']['class_prior']:.1%}, is at the edge "
            "of what is possible; do not rely on it.",
        )
    for kind, sentence in summary["label_fit"]["problems"].items():
        yield "leak" if kind == "leaks" else None, sentence


def range_source(certainty: dict[str, Any] | None) -> str:
    """What the range of the class prior comes from."""
    by_design = certainty is not None and certainty["by_design"]
    return "the checked rows" if by_design else "the labels"


def _what_determines(certainty: dict[str, Any] | None) -> str:
    """What the level of the class prior rests on."""
    if certainty is not None and certainty["by_design"]:
        return (
            "The checked rows were drawn with the chances given, and the answers are right: then "
            "the class prior and its interval hold whatever becomes of the other statements. "
            "Scores of rows and propensities rest on those, too."
        )
    if certainty is not None and certainty["labels_only"] is not None:
        return "What was given about the class prior is right for the rows of this table."
    return (
        "Somewhere in the table are rows that are surely positive; without them, a common class "
        "labelled rarely looks the same as a rare class labelled often."
    )


def assumptions_of(summary: dict[str, Any]) -> list[str]:
    """What the numbers rest on."""
    attributes = summary["model"]["propensity_attributes"]
    label = summary["label"] or "the label"
    if attributes:
        depends = (
            "Among positives, whether a row is labelled depends only on "
            + listed(attributes, 8)
            + ". Everything else may differ between positives and negatives, but must not "
            "influence labelling."
        )
    else:
        depends = (
            "Every positive has the same chance of being labelled, whatever it is like (SCAR)."
        )
    return [
        f"Every labelled row is truly positive: {label} is never set by mistake.",
        depends,
        _what_determines(summary["certainty"]),
        "The rows, labelled and unlabelled together, are one fair sample of those the answer is "
        "wanted for. Where the labelled rows were collected apart (presence and background, cases "
        "and controls), the class prior follows from how many of each were taken and says nothing.",
        "The figures are estimates"
        + ("" if summary["certainty"] else " without error bars")
        + ". Groups with few labelled rows are the least certain.",
    ]


def relative_sentence(compared: dict[str, Any]) -> str:
    """How groups compare, whatever the class prior is."""
    groups = "; ".join(
        f"{group['group']}: {group['ratio']:.2f} ({group['low']:.2f} to {group['high']:.2f})"
        for group in compared["groups"]
    )
    return (
        f"Share of positives by {compared['by']}, divided by that of all rows, whatever the class "
        f"prior is: {groups}."
    )


def headline(summary: dict[str, Any]) -> str:
    """The one sentence to remember."""
    if nothing_said(summary):
        return opening(summary)
    data, estimates, certainty = summary["data"], summary["estimates"], summary["certainty"]
    hidden = estimates["hidden_positives"]
    if hidden < 1:
        text = (
            f"Nearly none of the {data['unlabelled']:,} unlabelled rows are estimated to be "
            "positive"
        )
    else:
        text = (
            f"About {about(hidden)} of the {data['unlabelled']:,} unlabelled rows "
            f"({estimates['hidden_share']:.1%}) are estimated to be positive"
        )
    if certainty is not None and certainty["hidden_positives"] is not None:
        who = "the checked rows say" if certainty["by_design"] else "the data are compatible with"
        text += f"; {who} {_ends(certainty['hidden_positives'])}"
    return text + "."


def _ends(ends: Sequence[float]) -> str:
    """A range in words; ends that round to one number are one."""
    low, high = map(about, ends)
    return f"{low} to {high}" if low != high else f"about {low}"


def opening(summary: dict[str, Any]) -> str:
    """What leads: the number; or, where the labels leave it open, that they do."""
    if not unsure(summary):
        return headline(summary)
    text = (
        f"How many of the {summary['data']['unlabelled']:,} unlabelled rows are positive, the "
        "labels do not say"
    )
    hidden = summary["certainty"]["hidden_positives"]
    if hidden is not None and not nothing_said(summary):
        text += f": {_ends(hidden)} would explain them about as well"
    return text + "."


def unsure(summary: dict[str, Any]) -> bool:
    """Whether the class prior is not to lead: ratios and ranking are what the labels show."""
    verdict = summary["verdict"]
    return verdict is not None and verdict["kind"] == "open"


def nothing_said(summary: dict[str, Any]) -> bool:
    """Whether no number means anything, and the report ends in the reason and the remedy."""
    verdict = summary.get("verdict")
    return verdict is not None and verdict["nothing"]


def review_sentence(summary: dict[str, Any]) -> str:
    """What looking at the first rows should find."""
    step = min(summary["review"]["steps"], key=lambda row: abs(row["checked"] - 100))
    text = (
        f"Checking the {step['checked']:,} unlabelled rows ranked highest should find about "
        f"{about(step['expected'])} positives"
    )
    if "low" in step and about(step["low"]) != about(step["high"]):
        text += f" ({about(step['low'])} to {about(step['high'])})"
    return text + "."


def overlooked_sentence(summary: dict[str, Any]) -> str:
    """In which group of the propensity attributes the largest share of positives has no label."""
    groups = [
        (attribute["feature"], group)
        for attribute in summary["propensity"]["attributes"]
        for group in attribute["groups"]
        if group["hidden"] >= ENOUGH
    ]
    if not groups:
        return ""
    feature, group = min(groups, key=lambda item: item[1]["label_frequency"])
    hidden = about(group["hidden"])
    if group["ends"]:
        hidden += f" ({_ends(group['ends'])})"
    return (
        f"Overlooked most: {feature} {group['group']}, where about {hidden} of "
        f"{about(group['positives'])} positives have no label."
    )


def label_fit_sentence(summary: dict[str, Any]) -> str:
    """Whether labels seen and expected differ by more than chance, and where most."""
    found = summary["label_fit"]
    text = " ".join(found["problems"].values())
    if not found["groups"]:
        return text or "There are too few labels to compare groups of rows."
    worst = found["groups"][0]
    if not found["n_off"]:
        few = (
            f"Observed and expected labels agree in all {found['n_groups']:,} groups of rows that "
            "were compared."
        )
        return f"{text} {few}".strip()
    than = "more" if worst["labelled"] > worst["expected"] else "fewer"
    return (
        f"{text} In {found['n_off']:,} of {found['n_groups']:,} groups of rows the labels differ "
        f"from those expected by more than chance, most where {worst['attribute']} is "
        f"{worst['group']}: {worst['labelled']:,} labels, {than} than the "
        f"{number_text(worst['expected'], 3)} expected."
    ).strip()


def sure_sentence(summary: dict[str, Any]) -> str:
    """How sure the class prior is; nothing where the model cannot tell."""
    certainty = summary["certainty"]
    if nothing_said(summary):
        return f"{summary['verdict']['reason']} {summary['verdict']['next']}"
    if certainty is None:
        return ""
    low, high, hidden = (certainty[name] for name in ("low", "high", "hidden_positives"))
    if certainty["by_design"]:
        needed = certainty["rows_for_5_points"]
        return checked_sentence(certainty["n_audited"], low, high, needed, hidden)
    if certainty["labels_only"] is not None:
        return known_sentence(low, high, certainty["labels_only"])
    return range_sentence(low, high, certainty["word"], hidden)


def surer_sentence(summary: dict[str, Any]) -> str:
    """How many rows to check, where nobody has checked any and the range is wide."""
    certainty = summary["certainty"]
    if nothing_said(summary):
        return ""
    if certainty is None or certainty["by_design"] or not certainty["rows_for_5_points"]:
        return ""
    return checks_sentence(certainty["rows_for_5_points"])


def comparison_sentence(summary: dict[str, Any]) -> str:
    """The class prior if labels fell at random among the positives."""
    prior = summary["scar_class_prior"]
    if prior is None:
        return ""
    return (
        f"If all positives were labelled equally often (SCAR), the class prior would be "
        f"{prior:.1%}, against {summary['estimates']['fitted_class_prior']:.1%} here."
    )


def convergence_sentence(summary: dict[str, Any]) -> str:
    """Whether the fit settled."""
    convergence, estimates = summary["convergence"], summary["estimates"]
    text = settled_sentence(convergence["n_iter"], convergence["converged"])
    if not estimates["rows_of_the_fit"]:
        text += (
            f" The class prior in the rows of the fit was {estimates['fitted_class_prior']:.1%}."
        )
    if convergence["falls"]:
        text += (
            " The log-likelihood need not rise in every round: a decay below 1 favours sure "
            "positives over likelihood."
        )
    return text
