"""What must come out again, computed from the tables: a claim, its figure, and whether it holds."""

from typing import NamedTuple

import pandas as pd

from .grids import Grids, read_paper

LEADERS, FOLLOWERS = ["SAR-e", "SAR"], ["SCAR-c", "SCAR", "multi-SCAR"]


class Check(NamedTuple):
    """A claim of the paper or a bound on our distance from it."""

    experiment: str
    claim: str
    figure: str
    holds: bool


def all_checks(grids: Grids) -> list[Check]:
    """Every check that the tables allow."""
    found = []
    if (table := grids.table("class_prior")) is not None:
        found += class_prior_checks(table)
        found += published_program_checks(table, grids.table("class_prior_programs"))
    if (table := grids.table("one_attribute")) is not None:
        found += one_attribute_checks(table)
    if (table := grids.table("three_attributes")) is not None:
        found += three_attributes_checks(table)
    if (table := grids.table("stability")) is not None:
        found += stability_checks(table)
    if (table := grids.table("unbalanced")) is not None:
        found += unbalanced_checks(table)
    return found


def class_prior_checks(table: pd.DataFrame) -> list[Check]:
    error = table.set_index("method")["error"]
    found = headline_checks(table)
    if "SAR-EM" in error:
        value = error["SAR-EM"]
        found.append(
            Check(
                "1", "SAR-EM's mean absolute error is at most 0.09", f"{value:.3f}", value <= 0.09
            )
        )
    ahead = [name for name in ("SAR-EM", "KM2", "TIcE") if name in error]
    behind = [name for name in ("EN", "PE", "pen-L1") if name in error]
    for name in ahead:
        beaten = [other for other in behind if error[name] < error[other]]
        figure = f"{error[name]:.3f} against " + ", ".join(
            f"{other} {error[other]:.3f}" for other in behind
        )
        claim = f"{name} is ahead of EN, PE and pen-L1"
        found.append(Check("1", claim, figure, len(beaten) == len(behind)))
    return found


def headline_checks(table: pd.DataFrame) -> list[Check]:
    """The paper's caption: SAR-EM has the best rank and the lowest error of its nine methods."""
    nine = table.dropna(subset="rank").set_index("method")
    if "SAR-EM" not in nine.index:
        return []
    found = []
    for column, claim, digits in (
        ("rank", "SAR-EM has the best average rank of the paper's nine methods", 2),
        ("error", "SAR-EM has the lowest mean absolute error of the nine", 3),
    ):
        order = nine[column].sort_values()
        place = order.index.get_loc("SAR-EM") + 1
        first = ", ".join(f"{name} {value:.{digits}f}" for name, value in order[:place].items())
        found.append(Check("1", claim, f"place {place} of {len(order)}: {first}", place == 1))
    return found


def published_program_checks(table: pd.DataFrame, programs: pd.DataFrame | None) -> list[Check]:
    """The paper's place of TIcE, for the program its authors published."""
    if programs is None or "TIcE, as published" not in set(programs["method"]):
        return []
    error = table.set_index("method")["error"]
    behind = [name for name in ("EN", "PE", "pen-L1") if name in error]
    value = programs.loc[programs["method"] == "TIcE, as published", "error"].mean()
    figure = f"{value:.3f} against " + ", ".join(f"{name} {error[name]:.3f}" for name in behind)
    claim = "TIcE, as its authors' program computes it, is ahead of EN, PE and pen-L1"
    return [Check("1", claim, figure, all(value < error[name] for name in behind))]


def one_attribute_checks(table: pd.DataFrame) -> list[Check]:
    """At the widest difference one propensity is 0, and nothing tells its positives from negatives.

    What is claimed of SAR is therefore checked up to there, and at it, apart.
    """
    found = []
    for mean, part in table.groupby("mean"):
        f1 = part.pivot_table(index="difference", columns="method", values="f1")
        by_data = part.pivot_table(index="dataset", columns=["method", "difference"], values="f1")
        falls = by_data["SCAR"][f1.index[-1]] - by_data["SCAR"][f1.index[0]]
        figure = (
            f"{f1['SCAR'].iloc[0]:.3f} to {f1['SCAR'].iloc[-1]:.3f}; it falls on "
            f"{(falls < 0).sum()} of {len(falls)} data sets"
        )
        claim = f"mean {mean:g}: SCAR's F1 falls as the difference grows"
        found.append(Check("2", claim, figure, bool((falls < 0).all())))
        possible = f1[f1.index < 2 * min(mean, 1 - mean) - 1e-9]
        for where, shown in (
            ("every positive can be labelled", possible),
            ("one of the propensities is 0", f1.drop(possible.index)),
        ):
            if shown.empty:
                continue
            steps = f"Δc = {shown.index[-1]:g}"
            first, last = f1["SAR"].iloc[0], shown["SAR"].iloc[-1]
            found.append(
                Check(
                    "2",
                    f"mean {mean:g}, {where} ({steps}): SAR's F1 does not fall by more than 0.03",
                    f"{first:.3f} to {last:.3f}",
                    last > first - 0.03,
                )
            )
            apart = (shown["SAR"] - shown["SAR-e"]).abs().max()
            claim = f"mean {mean:g}, {where}: SAR stays within 0.04 of SAR-e"
            found.append(Check("2", claim, f"at most {apart:.3f}", apart <= 0.04))
            here = part[part["difference"].isin(shown.index)]
            found.append(propensity_accuracy_check(here, f"mean {mean:g}, {where}"))
        found.append(known_propensity_check(part, float(mean)))
        found += assumed_scar_checks(part, float(mean))
    return found


def assumed_scar_checks(part: pd.DataFrame, mean: float) -> list[Check]:
    """Where SCAR does not hold (Δc above 0): what SCAR-c loses, and what knowing c is worth."""
    f1 = part.pivot_table(index="dataset", columns=["method", "difference"], values="f1")
    known = f1["SCAR-c"]
    falls = known.iloc[:, -1] < known.iloc[:, 0]
    levels = known.mean()
    found = [
        Check(
            "2",
            f"mean {mean:g}: SCAR-c's F1 falls as the difference grows",
            f"{levels.iloc[0]:.3f} to {levels.iloc[-1]:.3f}; it falls on {falls.sum()} of "
            f"{len(falls)} data sets",
            bool(falls.all()),
        )
    ]
    ahead = (known > f1["SCAR"]).loc[:, lambda wide: wide.columns > 0]
    figure = ", ".join(f"Δc = {at:g} on {count}" for at, count in ahead.sum().items())
    claim = f"mean {mean:g}: knowing the label frequency helps where SCAR fails, SCAR-c above SCAR"
    found.append(
        Check("2", claim, f"{figure}, of {len(ahead)} data sets", bool(ahead.to_numpy().all()))
    )
    scar = part[(part["method"] == "SCAR") & (part["difference"] > 0)]
    below, cells = int(scar["prior_below"].sum()), int(scar["cells"].sum())
    claim = f"mean {mean:g}: where SCAR fails, its label frequency is always an overestimate"
    found.append(Check("2", claim, f"in {below:,} of {cells:,} cells", below == cells))
    return found


def propensity_accuracy_check(shown: pd.DataFrame, where: str) -> Check:
    """Learning an unknown propensity does almost as well as knowing it, by its accuracy."""
    accuracy = shown.pivot_table(index="difference", columns="method", values="propensity_accuracy")
    apart = (accuracy["SAR"] - accuracy["SAR-e"]).abs().max()
    claim = f"{where}: SAR's propensity accuracy stays within 0.04 of SAR-e's"
    return Check("2", claim, f"at most {apart:.3f}", apart <= 0.04)


def known_propensity_check(part: pd.DataFrame, mean: float) -> Check:
    """Knowing the propensity brings no big benefit: here it even costs a little at mean 0.5."""
    f1 = part.pivot_table(index=["dataset", "difference"], columns="method", values="f1")
    widest = 2 * min(mean, 1 - mean) - 1e-9
    f1 = f1[f1.index.get_level_values("difference") < widest]
    gain = f1["SAR-e"] - f1["SAR"]
    figure = (
        f"SAR-e {gain.mean():+.3f} in the mean; SAR is ahead in {(gain < 0).sum()} of {len(gain)} "
        "pairs of data set and Δc"
    )
    claim = f"mean {mean:g}: knowing the propensity gains less than 0.02, every Δc but the widest"
    return Check("2", claim, figure, gain.mean() < 0.02)


def three_attributes_checks(table: pd.DataFrame) -> list[Check]:
    f1 = table.pivot(index="dataset", columns="method", values="f1")
    leaders_first = f1[LEADERS].min(axis=1) > f1["SCAR-c"]
    then = (f1["SCAR-c"] > f1["SCAR"]) & (f1["SCAR"] > f1["multi-SCAR"])
    in_order = leaders_first & then
    apart = (f1["SAR"] - f1["SAR-e"]).abs()
    found = [
        Check(
            "3",
            "SAR-e and SAR lead, then SCAR-c, SCAR, multi-SCAR, on each data set",
            f"on {in_order.sum()} of {len(in_order)}",
            bool(in_order.all()),
        ),
        Check(
            "3",
            "SAR within 0.04 of SAR-e on each data set",
            f"at most {apart.max():.3f} ({apart.idxmax()})",
            apart.max() <= 0.04,
        ),
    ]
    if "prior_below" in table:
        scar = table[table["method"] == "SCAR"]
        below, cells = int(scar["prior_below"].sum()), int(scar["cells"].sum())
        claim = "SCAR overestimates the label frequency (its class prior is too low) in every cell"
        found.append(Check("3", claim, f"in {below:,} of {cells:,}", below == cells))
    accuracy = table.pivot(index="dataset", columns="method", values="propensity_accuracy")
    apart = (accuracy["SAR"] - accuracy["SAR-e"]).abs()
    found.append(
        Check(
            "3",
            "SAR's propensity accuracy within 0.04 of SAR-e's on each data set",
            f"at most {apart.max():.3f} ({apart.idxmax()})",
            apart.max() <= 0.04,
        )
    )
    here, paper = distances(table), distances(read_paper("three_attributes"))
    for method in LEADERS + FOLLOWERS:
        bound = 0.08 if method == "multi-SCAR" else 0.05
        difference = here[method] - paper[method]
        found.append(
            Check(
                "3",
                f"{method}'s distance to supervised within {bound:g} of the paper's",
                f"{here[method]:.3f} here, {paper[method]:.3f} there",
                abs(difference) <= bound,
            )
        )
    return found


def distances(table: pd.DataFrame) -> pd.Series:
    """Mean over the data sets of supervised F1 minus each method's."""
    f1 = table.pivot(index="dataset", columns="method", values="f1").mean()
    return f1["supervised"] - f1


def unbalanced_checks(table: pd.DataFrame) -> list[Check]:
    """The paper's caption: unbalanced is relatively harder, knowing the propensity helps."""
    by_data = table.pivot_table(index=["balance", "dataset"], columns="method", values="f1")
    balances = set(by_data.index.get_level_values("balance"))
    found = []
    for balance, what in (("30% of positives", "positives"), ("30% of negatives", "negatives")):
        if balance not in balances:
            continue
        part = by_data.loc[balance]
        if "as is" in balances:
            behind = [(p["supervised"] - p["SAR"]).mean() for p in (part, by_data.loc["as is"])]
            found.append(
                Check(
                    "4",
                    f"rare {what}: SAR falls farther behind the supervised classifier",
                    f"by {behind[0]:.3f} in place of {behind[1]:.3f}",
                    behind[0] > behind[1],
                )
            )
        for known, unknown, of in (
            ("SAR-e", "SAR", "propensity"),
            ("SCAR-c", "SCAR", "label frequency"),
            ("SCAR-c", "SAR", "label frequency"),
        ):
            ahead = int((part[known] > part[unknown]).sum())
            claim = f"rare {what}: knowing the {of} helps, {known} above {unknown}"
            figure = (
                f"{part[known].mean():.3f} against {part[unknown].mean():.3f}; on {ahead} of "
                f"{len(part)} data sets"
            )
            found.append(Check("4", claim, figure, 2 * ahead > len(part)))
    return found


def stability_checks(table: pd.DataFrame) -> list[Check]:
    """Learning with EM is more stable than predicting labels and dividing by the propensity."""
    by_method = table.set_index("method")
    em, scaled = by_method.loc["EM"], by_method.loc["scaled by 1/e"]
    figure = (
        f"a row's probability spreads by {em['probability_sd']:.3f} over labellings, against "
        f"{scaled['probability_sd']:.3f}, less in {em['steadier_in']:.0f} of {em['cells']:.0f} "
        f"cells; F1 {em['f1']:.3f} ± {em['f1_sd']:.3f} against {scaled['f1']:.3f} ± "
        f"{scaled['f1_sd']:.3f}; {scaled['above_one']:.1%} of the quotients exceed 1"
    )
    claim = "with a known propensity, EM is more stable than dividing P(s=1) of a row by it"
    return [Check("3", claim, figure, em["probability_sd"] < scaled["probability_sd"])]
