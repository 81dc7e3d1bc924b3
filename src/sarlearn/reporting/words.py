"""Plain sentences about a summary: the count, the verdict, what to be careful about."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from sarlearn._validation import FEW_LABELS
from sarlearn._view.parts import MISSING
from sarlearn._words import (
    ENOUGH,
    VERDICTS,
    about,
    checked_sentence,
    counted,
    known_sentence,
    leak_sentence,
    listed,
    number_text,
    odds_sentence,
    sample_sentence,
)

# What the page colours the verdict by.
KINDS = {"well": "well", "roughly": "rough", "not at all": "open"}
# Warnings of a fit that say what the verdict says.
SAID_BY_VERDICT = {"leak", "open-class-prior"}
# Unlabelled rows in the sentence about the list, where there are as many.
FIRST = 100


# -- the verdict -----------------------------------------------------------------------------------


def verdict_of(summary: dict[str, Any], files: Sequence[str] = ()) -> dict[str, Any] | None:
    """How far the count can be trusted: a word, why, what to do next, and the command for it.

    ``nothing`` says that no number means anything; then the report ends here. ``files`` are those
    of model and table, for the command; without them it is one of Python.
    """
    certainty, fit = summary["certainty"], summary["label_fit"]
    by_design = certainty is not None and certainty["by_design"]
    reason, remedy = _impossible(summary) if not by_design else ("", "")
    if reason:
        return _verdict("not at all", reason, remedy, nothing=True)
    if certainty is None:
        return None
    word, reason = certainty["word"], _how_sure(summary, certainty)
    if fit["problems"] and word == "well":
        word, reason = "roughly", " ".join([*fit["problems"].values(), reason])
    needed, rows = certainty["rows_for_5_points"], summary["nouns"]["rows"]
    if word == "well":
        remedy = f"Use the count, and begin with the {rows} listed first."
        return _verdict(word, reason, remedy, _command("predict", files))
    remedy = f"Which {rows} are likelier than others is better known than the count."
    option = "--propensity" if files else "propensity_features"
    if not summary["model"]["propensity_attributes"] or summary["model"]["averaged"]:
        remedy = f"Name the columns that may decide who gets labelled, if you know any ({option})."
    elif word == "not at all":
        remedy = "Name further columns that may decide who gets labelled, if there are any."
    if not needed:
        return _verdict(word, reason, remedy)
    if by_design:
        remedy = f"Go on checking: about {needed:,} {rows} in all narrow the range to 5 points."
        return _verdict(word, reason, remedy)
    remedy += (
        f" Checking about {needed:,} {rows}, drawn at random, narrows the range of the class prior "
        "to 5 points:"
    )
    return _verdict(word, reason, remedy, _command("audit", files, needed))


def _verdict(word: str, reason: str, remedy: str, command: str = "", nothing: bool = False):
    found = {"name": VERDICTS[word], "kind": KINDS[word], "reason": reason, "next": remedy}
    return found | {"command": command, "nothing": nothing}


def _command(name: str, files: Sequence[str], n_rows: int = 0) -> str:
    if not files:
        audit = f"sarlearn.audit.suggest_audit(model, X, s, n={n_rows})"
        return audit if name == "audit" else "model.predict_posterior(X, s)"
    rest = f"-n {n_rows} -o to_check.csv" if name == "audit" else "--top 20 -o to_check.csv"
    return f"sarlearn {name} {shlex.join(files)} {rest}"


def _impossible(summary: dict[str, Any]) -> tuple[str, str]:
    """Why nothing can be said of the class prior, and the remedy; empty where something can."""
    leaks, attributes = summary["label_fit"]["leaks"], summary["model"]["propensity_attributes"]
    if leaks:
        drop = shlex.quote(",".join(leaks))
        them = "it" if len(leaks) == 1 else "them"
        return leak_sentence(leaks), f"Fit again without {them} (--drop {drop})."
    if not summary["model"]["settings"].get("single_sample", True):
        return (
            "Labelled rows and background were collected apart, so that the share of positives "
            "depends on how many of each were taken.",
            "Use the ranking of rows. For a share, check rows of the population.",
        )
    if attributes and len(attributes) == summary["data"]["attributes"]:
        return (
            "Every column may decide who gets labelled. Then a rare class that is labelled often "
            "and a common class that is labelled rarely look the same.",
            "Leave out of the propensity the columns that do not influence labelling, or check "
            "some rows ('sarlearn audit').",
        )
    low, high = 0.0, 1.0
    if summary["certainty"] is not None:
        low, high = summary["certainty"]["low"], summary["certainty"]["high"]
    if summary["data"]["labelled"] < FEW_LABELS and high - low > 0.9:
        return (
            f"Only {summary['data']['labelled']:,} {summary['nouns']['rows']} are labelled: too "
            "few to tell how many others are positive.",
            f"Label {FEW_LABELS} or more, or check some rows ('sarlearn audit').",
        )
    return "", ""


def _how_sure(summary: dict[str, Any], certainty: dict[str, Any]) -> str:
    low, high = certainty["low"], certainty["high"]
    n_audited, labels_only = certainty["n_audited"], certainty["labels_only"]
    if certainty["by_design"]:
        return checked_sentence(n_audited, low, high, labels_only)
    if labels_only is not None:
        return known_sentence(low, high, labels_only)
    checked = f" This takes in {counted(n_audited, 'checked row')}." if n_audited else ""
    if certainty["word"] == "not at all":
        return (
            f"Class priors of {low:.1%} to {high:.1%} are compatible with the data.{checked} How "
            "groups compare, and which rows are the likelier positives, is better known."
        )
    return (
        f"{summary['estimates']['fitted_class_prior']:.1%} of all {summary['nouns']['rows']} are "
        f"estimated to be {summary['nouns']['positive']} (class prior); the data are compatible "
        f"with {low:.1%} to {high:.1%}.{checked}"
    )


def nothing_said(summary: dict[str, Any]) -> bool:
    """Whether no number means anything, and the report ends in the reason and the remedy."""
    return summary["verdict"] is not None and summary["verdict"]["nothing"]


# -- what was found --------------------------------------------------------------------------------


def texts_of(summary: dict[str, Any]) -> dict[str, str]:
    """The sentences that page, terminal and JSON share."""
    return {
        "headline": headline(summary),
        "overlooked": overlooked_sentence(summary),
        "review": review_sentence(summary),
        "label_fit": label_fit_sentence(summary),
        "comparison": comparison_sentence(summary),
        "range": range_text(summary),
        "sample": sample_sentence(summary["model"]["tree_rows"]),
    }


def headline(summary: dict[str, Any]) -> str:
    """The one sentence to remember: the count and its range."""
    certainty, nouns = summary["certainty"], summary["nouns"]
    of_all = f"of the {summary['data']['unlabelled']:,} unlabelled {nouns['rows']}"
    ends = None if certainty is None else certainty["hidden_positives"]
    if summary["verdict"] is not None and summary["verdict"]["kind"] == "open":
        text = f"The labels do not say how many {of_all} are {nouns['positive']}"
        if ends is not None and not nothing_said(summary):
            text += f": {ends_text(ends)} are compatible with the data"
        return f"{text}."
    hidden = summary["estimates"]["hidden_positives"]
    if hidden < 1:
        text = f"Nearly none {of_all}"
    else:
        share = summary["estimates"]["hidden_share"]
        text = f"About {about(hidden)} {of_all} ({share:.1%})"
    text += f" are estimated to be {nouns['positive']}"
    if ends is not None:
        who = "the checked rows say" if certainty["by_design"] else "the data are compatible with"
        text += f"; {who} {ends_text(ends)}"
    return f"{text}."


def ends_text(ends: Sequence[float]) -> str:
    """A range in words; ends that round to one number are one."""
    low, high = map(about, ends)
    return f"{low} to {high}" if low != high else f"about {low}"


def _positives(summary: dict[str, Any]) -> str:
    return f"{summary['nouns']['positive']} {summary['nouns']['rows']}"


def most_overlooked(summary: dict[str, Any]) -> tuple[dict, dict] | None:
    """The attribute and its group of which the largest share of positives has no label."""
    found = [
        (attribute, group)
        for attribute in summary["propensity"]["attributes"]
        for group in attribute["groups"]
        if group["hidden"] >= ENOUGH
    ]
    return min(found, key=lambda pair: pair[1]["label_frequency"], default=None)


def overlooked_sentence(summary: dict[str, Any]) -> str:
    """Of that group, how many positives have no label."""
    found = most_overlooked(summary)
    if found is None:
        return ""
    attribute, group = found
    hidden = about(group["hidden"])
    if group["ends"]:
        hidden += f" ({ends_text(group['ends'])})"
    return (
        f"The largest share is overlooked among {summary['nouns']['rows']} with "
        f"{group_text(attribute, group)}: about {hidden} of {about(group['positives'])} "
        f"{_positives(summary)} there have no label."
    )


def group_text(attribute: dict[str, Any], group: dict[str, Any]) -> str:
    """``age below 40``, ``plan = none``, ``plan missing``."""
    name = group["group"]
    if name == MISSING:
        return f"{attribute['feature']} missing"
    return f"{attribute['feature']} {'' if attribute['ranges'] else '= '}{name}"


def review_sentence(summary: dict[str, Any]) -> str:
    """What looking at the first rows should find."""
    step = min(summary["review"], key=lambda row: abs(row["checked"] - FIRST))
    nouns = summary["nouns"]
    text = (
        f"Of the {step['checked']:,} unlabelled {nouns['rows']} ranked highest, about "
        f"{about(step['expected'])} should be {nouns['positive']}"
    )
    if "low" in step and about(step["low"]) != about(step["high"]):
        text += f" ({ends_text((step['low'], step['high']))})"
    return f"{text}."


def label_fit_sentence(summary: dict[str, Any]) -> str:
    """Whether observed and expected labels differ by more than chance, and where most."""
    found = summary["label_fit"]
    text = " ".join(found["problems"].values())
    if not found["groups"]:
        return text or "There are too few labels to compare groups of rows."
    if not found["n_off"]:
        agree = f"all {found['n_groups']:,} groups" if found["n_groups"] > 1 else "the one group"
        few = f"Observed and expected labels agree in {agree} of rows that could be compared."
        return f"{text} {few}".strip()
    worst = found["groups"][0]
    than = "more" if worst["labelled"] > worst["expected"] else "fewer"
    return (
        f"{text} In {found['n_off']:,} of {found['n_groups']:,} groups of rows the labels differ "
        f"from those expected by more than chance, most where {worst['attribute']} is "
        f"{worst['group']}: {worst['labelled']:,} labels, {than} than the "
        f"{number_text(worst['expected'], 3)} expected."
    ).strip()


def comparison_sentence(summary: dict[str, Any]) -> str:
    """The class prior if labels fell at random among the positives."""
    prior = summary["scar_class_prior"]
    if prior is None:
        return ""
    return (
        f"If all {_positives(summary)} were labelled equally often (SCAR), the class prior would "
        f"be {prior:.1%}, against {summary['estimates']['fitted_class_prior']:.1%} here."
    )


def range_text(summary: dict[str, Any]) -> str:
    """How far the range of the class prior can be relied on, and what makes it wide."""
    if summary["certainty"] is None or nothing_said(summary):
        return ""
    causes = summary["certainty"]["causes"]
    if causes is None:
        return ""
    labelled = f"{summary['data']['labelled']:,} labelled {summary['nouns']['rows']}"
    named = {
        "labels": f"chance, with {labelled}",
        "class models": "class models that disagree",
        "columns": "fits that name different columns and disagree",
        "assumptions": "a margin for what the model assumes",
    }
    ranked = sorted(causes, key=lambda name: -causes[name])
    shown = [f"{named[name]} ({causes[name]:.0%})" for name in ranked if causes[name] >= 0.1]
    # Where no column is named, in fewer: docs/user_guide/propensity.md has the figures.
    often = (
        "nine cases in ten" if summary["model"]["propensity_attributes"] else "three cases in four"
    )
    return (
        f"On tables whose class prior is known, such a range held it in about {often}. What makes "
        f"it wide: {listed(shown)}."
    )


def brief(summary: dict[str, Any]) -> list[str]:
    """What a command prints: count, verdict, who is overlooked, who first, what to do."""
    verdict, text = summary["verdict"], summary["text"]
    lines = [text["headline"]]
    if verdict is not None:
        lines.append(f"{verdict['name']}: {verdict['reason']}")
    if verdict is None or verdict["kind"] != "open":
        lines += [text["overlooked"], text["review"]]
    if verdict is not None and verdict["kind"] != "well":
        lines.append(text["range"])
    lines.append(text["sample"])
    if verdict is not None:
        lines += [f"Next: {verdict['next']}", verdict["command"] and f"  {verdict['command']}"]
    return [line for line in lines if line]


def details(summary: dict[str, Any]) -> list[str]:
    """What is printed beside it with --verbose."""
    if nothing_said(summary):
        return []
    data, estimates, text = summary["data"], summary["estimates"], summary["text"]
    lines = [
        f"{data['labelled']:,} of {data['rows']:,} {summary['nouns']['rows']} are labelled; class "
        f"prior {estimates['class_prior']:.1%}, label frequency "
        f"{estimates['label_frequency']:.1%}."
    ]
    lines += [f"  {row['level']}: {odds_sentence(row)}" for row in summary["propensity"]["odds"]]
    lines += [text["label_fit"], text["comparison"], text["range"]]
    return [line for line in lines if line]


def warnings_of(summary: dict[str, Any], given: Sequence[Warning | str]) -> list[str]:
    """What the fit warned of, then what the numbers themselves warn of; nothing said twice.

    A sentence about the numbers is left out where the fit itself gave such a warning, and a
    warning of the fit where the verdict says the same.
    """
    codes = {getattr(warning, "code", "") for warning in given}
    said = SAID_BY_VERDICT if summary["verdict"] is not None else set()
    kept = [warning for warning in given if getattr(warning, "code", "") not in said]
    found = list(dict.fromkeys(" ".join(str(warning).split()) for warning in kept))
    if nothing_said(summary):
        return found  # the verdict has the reason, and nothing else matters
    return found + [sentence for code, sentence in _from_numbers(summary) if code not in codes]


def _from_numbers(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Sentences that the numbers call for, each with the code of the warning that says the same."""
    n_labelled, attributes = summary["data"]["labelled"], summary["propensity"]["attributes"]
    prior, convergence = summary["estimates"]["class_prior"], summary["convergence"]
    if n_labelled < FEW_LABELS:
        yield (
            "few-labels",
            f"Only {n_labelled:,} rows are labelled. With fewer than {FEW_LABELS} every number "
            "here is very uncertain.",
        )
    if not attributes:
        why = "No propensity column was named, so every"
        if summary["model"]["averaged"]:
            why = "No fit that names columns explains the labels better, so every"
        text = f"{why} positive is taken to have the same chance of being labelled (SCAR)."
        yield "not-at-random", text
    if summary["propensity"]["lowest"] > 0.97:
        yield (
            "label-frequency-at-end",
            "The chance of being labelled is estimated to be near 1 everywhere, so that nearly no "
            "hidden positives are found. Check this against what is known of the labelling.",
        )
    empty = [
        group_text(attribute, group)
        for attribute in attributes
        for group in attribute["groups"]
        if group["labelled"] == 0 and group["rows"] >= 10
    ]
    if empty:  # beside the fit's own warning, which counts such groups and does not name them
        yield (
            "empty-groups",
            f"No row is labelled where {listed(empty, 3)}. What is said of such rows is "
            "extrapolated from others.",
        )
    if not convergence["converged"]:
        yield (
            "max-iter",
            f"The fit stopped after {convergence['n_iter']:,} rounds without converging; allow "
            "more rounds, or name fewer propensity columns.",
        )
    if not 0.005 < prior < 0.995:
        yield (
            "class-prior-at-end",
            f"The estimated class prior, {prior:.1%}, is at the edge of what is possible; do not "
            "rely on it.",
        )
    for kind, sentence in summary["label_fit"]["problems"].items():
        yield "leak" if kind == "leaks" else "", sentence


def assumptions_of(summary: dict[str, Any]) -> list[str]:
    """What the numbers rest on."""
    attributes, nouns = summary["model"]["propensity_attributes"], summary["nouns"]
    depends = f"All {_positives(summary)} have the same chance of being labelled (SCAR)."
    if attributes:
        depends = (
            f"Among {_positives(summary)}, who is labelled depends only on "
            f"{listed(attributes, 8)}. Other columns may differ between positives and negatives, "
            "but must not influence labelling."
        )
    if summary["model"]["averaged"]:
        depends = _averaged_sentence(summary["model"]["averaged"])
    return [
        f"All labelled {nouns['rows']} are truly {nouns['positive']}: "
        f"{summary['label'] or 'the label'} is never set by mistake. No column follows from it, as "
        "treatments and visits after a diagnosis do.",
        depends,
        _what_determines(summary["certainty"]),
        f"The {nouns['rows']}, labelled and unlabelled together, are a fair sample of those the "
        "answer is wanted for. Where the labelled ones were collected apart (presence and "
        "background, cases and controls), the class prior means nothing.",
    ]


def _averaged_sentence(fits: list[dict[str, Any]]) -> str:
    """What fits that name different columns say, where nobody has named any."""
    weights: dict[str, float] = {}
    for one in fits:
        for name in one["columns"]:
            weights[name] = weights.get(name, 0.0) + one["weight"]
    shown = "; ".join(
        f"{listed(one['columns']) if one['columns'] else 'none'}: class prior "
        f"{one['class_prior']:.1%}, weight {one['weight']:.0%}"
        for one in fits
    )
    likely = sorted(weights, key=lambda name: -weights[name])
    may = f"Labelling may follow {listed(likely, 3)}: name them if you know. " if likely else ""
    return (
        f"Nobody named the columns that labelling follows. {may}Fits that name different columns "
        f"were averaged ({shown})."
    )


def _what_determines(certainty: dict[str, Any] | None) -> str:
    """What the level of the class prior rests on."""
    if certainty is not None and certainty["by_design"]:
        return (
            "The checked rows were drawn with the probabilities given, and the answers are right: "
            "then the class prior and its interval hold whatever becomes of the other statements."
        )
    if certainty is not None and certainty["labels_only"] is not None:
        return "What was given about the class prior is right for the rows of this table."
    return (
        "Somewhere in the table are rows that are surely positive; without them, a common class "
        "labelled rarely looks the same as a rare class labelled often."
    )
