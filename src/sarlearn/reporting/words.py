"""Plain sentences: what to be careful about, and what is taken for granted."""

from collections.abc import Iterator, Sequence
from typing import Any

from sarlearn._words import (
    SURE,
    about,
    checked_sentence,
    checks_sentence,
    known_sentence,
    listed,
    number_text,
    range_sentence,
    settled_sentence,
)
from sarlearn.exceptions import (
    FEW_LABELS,
    BoundaryWarning,
    EveryColumnWarning,
    FewLabelsWarning,
    LeakageWarning,
    MisfitWarning,
    NotConvergedWarning,
    SwapWarning,
    UnidentifiedWarning,
    UnnamedDriverWarning,
)

# Words for a class prior that is not to lead what is told.
UNSURE = ("only by the model's shape", "not at all")
# The warning of a fit that says the same as a problem of goodness_of_fit.
PROBLEMS = {
    "misfit": MisfitWarning,
    "nonlinear": MisfitWarning,
    "drivers": UnnamedDriverWarning,
    "leaks": LeakageWarning,
    "swapped": SwapWarning,
}


def warnings_of(summary: dict[str, Any], given: Sequence[Warning | str]) -> list[str]:
    """What the fit warned of, then what the numbers themselves warn of; nothing said twice.

    A sentence about the numbers is left out where the fit itself gave such a warning.
    """
    found = list(dict.fromkeys(" ".join(str(warning).split()) for warning in given))
    kinds = {_kind(warning) for warning in given}
    if LeakageWarning in kinds:  # the reason why nothing is known of the class prior
        kinds.add(UnidentifiedWarning)
    found.extend(sentence for kind, sentence in _from_numbers(summary) if kind not in kinds)
    return found


def _kind(warning: Warning | str) -> type | tuple[type, str]:
    """What tells warnings apart: their class, and which estimate is at its boundary."""
    if isinstance(warning, BoundaryWarning):
        return BoundaryWarning, warning.quantity
    return type(warning)


def _from_numbers(summary: dict[str, Any]) -> Iterator[tuple[Any, str]]:
    """Sentences that the numbers call for, each with the kind of warning that says the same."""
    data, propensity = summary["data"], summary["propensity"]
    attributes = summary["model"]["propensity_attributes"]
    if data["labelled"] < FEW_LABELS:
        yield (
            FewLabelsWarning,
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
        yield (
            EveryColumnWarning,
            "Every attribute is a propensity attribute. Then the data cannot tell a rare class "
            "from rare labelling: leave out attributes that do not influence labelling.",
        )
    if propensity["lowest"] > 0.97:
        yield (
            (BoundaryWarning, "label_frequency"),
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
            NotConvergedWarning,
            f"The fit stopped after {summary['convergence']['n_iter']} rounds before it had "
            "settled; allow more rounds (max_iter) or use fewer propensity attributes.",
        )
    certainty = summary["certainty"]
    if certainty is not None and certainty["word"] == "not at all":
        yield UnidentifiedWarning, sure_sentence(summary)
    if not 0.005 < summary["estimates"]["class_prior"] < 0.995:
        yield (
            (BoundaryWarning, "class_prior"),
            f"The estimated class prior, {summary['estimates']['class_prior']:.1%}, is at the edge "
            "of what is possible; do not rely on it.",
        )
    for kind, sentence in summary["label_fit"]["problems"].items():
        yield PROBLEMS[kind], sentence


def range_source(certainty: dict[str, Any] | None) -> str:
    """What the range of the class prior comes from."""
    by_design = certainty is not None and certainty["by_design"]
    return "the checked rows" if by_design else "the labels"


def _what_pins_down(certainty: dict[str, Any] | None) -> str:
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
        _what_pins_down(summary["certainty"]),
        "The rows, labelled and unlabelled together, are one fair sample of those the answer is "
        "wanted for. Where the labelled rows were collected apart (presence and background, cases "
        "and controls), the class prior follows from how many of each were taken and says nothing.",
        "The figures are estimates"
        + ("" if summary["checks"] or summary["certainty"] else " without error bars")
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


def drivers_sentence(drivers: Sequence[str]) -> str:
    """Columns that labelling seems to follow, and that were not named."""
    names = list(drivers)[:5]
    which = names[0] if len(names) == 1 else f"at least one of {listed(names)}"
    return (
        f"Labelling also seems to follow {which}, not named so far. Name what can decide who gets "
        "labelled; a class that is not linear in a column looks the same."
    )


def headline(summary: dict[str, Any]) -> str:
    """The one sentence to remember."""
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
        low, high = certainty["hidden_positives"]
        who = "the checked rows say" if certainty["by_design"] else "the labels admit"
        if certainty["labels_only"] is not None:
            who = "with what was given about the class prior,"
        text += f"; {who} {about(low)} to {about(high)}"
    return text + "."


def opening(summary: dict[str, Any]) -> str:
    """What leads: the number; or, where the labels leave it open, that they do."""
    certainty = summary["certainty"]
    if not unsure(summary):
        return headline(summary)
    text = (
        f"How many of the {summary['data']['unlabelled']:,} unlabelled rows are positive, the "
        "labels do not say"
    )
    if certainty["hidden_positives"] is not None:
        low, high = certainty["hidden_positives"]
        text += f": {about(low)} to {about(high)} would explain them about as well"
    return text + "."


def unsure(summary: dict[str, Any]) -> bool:
    """Whether the class prior is not to lead: ratios and ranking are what the labels show."""
    certainty = summary["certainty"]
    return certainty is not None and certainty["word"] in UNSURE


def review_sentence(summary: dict[str, Any]) -> str:
    """What looking at the first rows should find."""
    steps = summary["review"]["steps"]
    step = min(steps, key=lambda row: abs(row["checked"] - 100))
    text = (
        f"Checking the {step['checked']:,} unlabelled rows ranked highest should find about "
        f"{about(step['expected'])} positives"
    )
    if "low" in step:
        text += f" ({about(step['low'])} to {about(step['high'])})"
    total, hidden = summary["review"]["total"], summary["estimates"]["hidden_positives"]
    certainty, why = summary["certainty"], "."
    if certainty is not None and certainty["by_design"]:
        why = ", which rests on the rows that were checked."
    elif certainty is not None and certainty["labels_only"] is not None:
        why = ", of which more was known than the labels say."
    elif summary["convergence"]["held_out"]:
        why = ", which held-out rows make the better estimate."
    text += "."
    if about(total) != about(hidden):
        text += (
            f" Over all unlabelled rows the posteriors add up to {about(total)}; the number of "
            f"hidden positives above, {about(hidden)}, comes from the class prior{why}"
        )
    return text


def label_fit_sentence(summary: dict[str, Any]) -> str:
    """Whether labels seen and expected differ by more than chance, and where most."""
    found = summary["label_fit"]
    text = " ".join(found["problems"].values())
    if not found["groups"]:
        return text or "There are too few labels to compare groups of rows."
    worst = found["groups"][0]
    if not found["n_off"]:
        few = (
            f"In none of {found['n_groups']:,} groups of rows do the labels seen differ from those "
            "expected by more than chance."
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
    if certainty is None:
        return ""
    low, high, hidden = (certainty[name] for name in ("low", "high", "hidden_positives"))
    if certainty["by_design"]:
        needed = certainty["rows_for_5_points"]
        return checked_sentence(certainty["n_audited"], low, high, needed, hidden)
    if certainty["labels_only"] is not None:
        return known_sentence(low, high, certainty["labels_only"])
    if "leaks" in summary["label_fit"]["problems"]:
        return (
            "Caution: nothing is known of the class prior while a column that follows from the "
            "label is among the others. Leave it out, and fit again."
        )
    surely = certainty["goodness"].get("sure", 1.0) >= SURE
    return range_sentence(low, high, certainty["word"], hidden, surely=surely)


def surer_sentence(summary: dict[str, Any]) -> str:
    """How many rows to check, where nobody has checked any and the range is wide."""
    certainty = summary["certainty"]
    if certainty is None or certainty["by_design"] or not certainty["rows_for_5_points"]:
        return ""
    return checks_sentence(certainty["rows_for_5_points"])


def comparison_sentence(summary: dict[str, Any]) -> str:
    """What a simpler assumption would have said."""
    rows = {row["assumption"]: row for row in summary["comparison"]["approaches"]}
    own, top = rows["SAR"], summary["comparison"]["top"]
    text = (
        f"Taking unlabelled for negative would put the class prior at "
        f"{rows['naive']['class_prior']:.1%}, against {own['class_prior']:.1%} here."
    )
    if "SCAR" in rows and summary["model"]["propensity_attributes"]:
        scar = rows["SCAR"]
        text += (
            f" Assuming that all positives are labelled equally often would give "
            f"{scar['class_prior']:.1%}. A list of the {top:,} most probable hidden positives made "
            f"under that assumption would share {scar['agreement']:.0%} of its rows with the list "
            "made here."
        )
        if summary["comparison"]["rows"] < summary["data"]["rows"]:
            text += f" That was tried on {summary['comparison']['rows']:,} rows drawn at random."
    return text


def convergence_sentence(summary: dict[str, Any]) -> str:
    """Whether the fit settled."""
    convergence, estimates = summary["convergence"], summary["estimates"]
    rounds = convergence["n_iter"], convergence["converged"]
    prior = estimates["fitted_class_prior"]
    if summary["model"]["estimator"] == "BoostedSARClassifier":
        return (
            f"{settled_sentence(*rounds, 'Boosting')} The class prior in the fit was {prior:.1%}."
        )
    if convergence["cross_fit"]:
        text = settled_sentence(*rounds, "The first of five steps, SAR-EM,") + (
            " The later steps take out its bias, so its own class prior, "
            f"{convergence['first_class_prior']:.1%}, is not the one reported, {prior:.1%}."
        )
        if convergence["C"] is not None:
            text += (
                f" The penalty that predicts held-out labels best is C = "
                f"{number_text(convergence['C'])}."
            )
        return text
    text = settled_sentence(*rounds)
    if not estimates["rows_of_the_fit"]:
        text += f" The class prior in the rows of the fit was {prior:.1%}."
    if convergence["falls"]:
        text += (
            " The log-likelihood need not rise in every round: a decay below 1 favours sure "
            "positives over likelihood."
        )
    return text


def propensity_alt(
    attribute: dict[str, Any], what: str = "chance that a positive is labelled"
) -> str:
    """What the figure of a propensity attribute shows, for those who do not see it."""
    values, chances = attribute["values"], attribute["propensity"]
    if attribute["share"] is None:
        return (
            f"Curve: {what} by {attribute['feature']}, from "
            f"{chances[0]:.0%} at {number_text(values[0])} to {chances[-1]:.0%} at "
            f"{number_text(values[-1])}."
        )
    shown = ", ".join(f"{v} {c:.0%}" for v, c in zip(values, chances, strict=True))
    return f"Bars: {what} by {attribute['feature']}: {shown}."


def importance_alt(importance: list[dict[str, Any]]) -> str:
    """What the bars of importance show."""
    shown = ", ".join(f"{row['attribute']} {row['change']:.3f}" for row in importance[:5])
    return f"Bars: how much the probability changes when a column is shuffled. Largest: {shown}."


def posterior_alt(posterior: dict[str, Any]) -> str:
    """What the curves of the posterior show."""
    pairs = zip(posterior["strata"], posterior["expected"], strict=True)
    shown = "; ".join(f"{name}: {expected:.1%} expected positive" for name, expected in pairs)
    by = f" by {posterior['feature']}" if posterior["feature"] else ""
    return f"Lines: share of unlabelled rows at or above each posterior probability{by}. {shown}."


def review_alt(review: dict[str, Any]) -> str:
    """What the review curve shows."""
    shown = ", ".join(
        f"{row['checked']:,} rows {about(row['expected'])}" for row in review["steps"]
    )
    return f"Line: expected positives by number of unlabelled rows checked: {shown}."


def label_fit_alt(tenths: list[dict[str, Any]]) -> str:
    """What the bars of labels seen and expected show."""
    shown = ", ".join(f"{row['observed']:,.0f} and {row['expected']:,.0f}" for row in tenths)
    return (
        "Bars: labels seen and expected, by tenth of the rows, lowest class probability first: "
        f"{shown}."
    )


def test_alt(test: dict[str, Any]) -> str:
    """What the picture of the test shows."""
    return (
        f"Bars: likelihood ratios of {len(test['null_statistics'])} tables simulated with one "
        f"label frequency for all, the largest {max(test['null_statistics']):.1f}; a line at "
        f"{test['statistic']:.1f}, that of the labels here."
    )


def sensitivity_alt(tried: dict[str, Any]) -> str:
    """What the dots of other choices show."""
    shown = "; ".join(f"{row['name']} {row['class_prior']:.1%}" for row in tried["choices"][:8])
    return (
        f"Dots: class prior under other choices, beside {tried['class_prior']:.1%} of this model. "
        f"{shown}."
    )
