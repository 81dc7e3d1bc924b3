"""Fourth step: RESULTS.md, each table of the paper with ours beside it, and words from numbers."""

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ..harness.progress import duration
from . import words
from .checks import all_checks, distances
from .grids import Grids, read_paper
from .learners import METHODS

HEAD = """# The paper again

Bekker and Davis, *Learning from Positive and Unlabeled Data under the Selected At Random
Assumption* (LIDTA 2018), rerun on its data with the estimators of this library. This file is
generated: `make reproduce` runs the reduced grid, `make reproduce FULL=1` the whole protocol.
The measurements are in `results/`, with the configurations that made them; the paper's numbers,
transcribed from its tables, in `published/`.
"""
TITLES = {
    "class_prior": "1. Class prior under SCAR",
    "class_prior_programs": "1. TIcE as published",
    "one_attribute": "2. One propensity attribute",
    "stability": "3. A known propensity, by EM or by division",
    "data_sets": "Data sets",
    "three_attributes": "3. Three propensity attributes",
    "unbalanced": "4. Unbalanced classes",
    "beyond": "5. Beyond the paper's settings",
    "beyond_class_prior": "5. Beyond, class prior",
    "beyond_class_prior_boosting": "5. Beyond, class prior with boosting",
}


def results_text(results: Path, figures: Path, output: Path) -> str:
    """The whole of the file ``output``, which shows the figures."""
    grids = Grids(results)
    sections = [HEAD, coverage_section(grids), data_section(grids), checks_section(grids)]
    for name, section in SECTIONS.items():
        table = grids.table(name)
        if table is not None:
            sections.append(f"## {TITLES[name]}\n\n{shown_grid(grids, name)}")
            sections.append(section(grids, table, relative(figures, output)))
    sections.append(words.reasons(grids))
    return "\n".join(part.strip("\n") + "\n" for part in sections if part)


def relative(figures: Path, output: Path) -> str:
    return os.path.relpath(figures, output.parent)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; every column but the first to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def coverage_section(grids: Grids) -> str:
    rows = []
    for grid in reversed(grids.names):
        coverage = grids.coverage(grid)
        for name, line in coverage.iterrows():
            share = line["finished"] / max(line["planned"], 1)
            rows.append(
                [
                    TITLES.get(str(name), str(name)),
                    grid,
                    f"{line['finished']:,.0f} of {line['planned']:,.0f} ({share:.0%})",
                    f"{line['failed']:.0f}",
                    spent(line),
                ]
            )
    table = markdown(["Experiment", "Grid", "Cells measured", "Failed", "Time on one core"], rows)
    return (
        "## What was run\n\nA cell is one method on one data set, with one labelling and one "
        "assignment of the folds (its score is the mean over the folds). Cells that several "
        "experiments ask for are measured once and counted in each.\n\n" + table
    )


def spent(line: pd.Series) -> str:
    """The time of the cells, and of how many where it is not known of all."""
    timed, finished = int(line["timed"]), int(line["finished"])
    of = "" if timed == finished else f" for {timed:,} of them"
    return duration(line["core_seconds"]) + of


def data_section(grids: Grids) -> str:
    """The paper's first table, and the data as the library loads them."""
    table = grids.table("data_sets")
    if table is None:
        return ""
    ours = table.set_index("dataset")
    rows = []
    for line in read_paper("data_sets").itertuples():
        if line.dataset not in ours.index:
            continue
        here = ours.loc[line.dataset]
        figures = [
            (f"{here['rows']:,.0f}", f"{line.rows:,}"),
            (f"{here['attributes']:.0f}", f"{line.attributes}"),
            (f"{here['prior']:.3f}", f"{line.prior:.3f}"),
        ]
        flat = [figure for pair in figures for figure in pair]
        equal = all(one == other for one, other in figures)
        rows.append([line.dataset, *flat, f"{here['columns']:.0f}", "yes" if equal else "**no**"])
    header = ["Data set", "Rows, here", "paper", "Attributes, here", "paper", "P(y=1), here"]
    return "## Data\n\n" + markdown([*header, "paper", "Columns, here", "Equal"], rows)


def shown_grid(grids: Grids, name: str) -> str:
    grid = grids.best(name)
    line = grids.coverage(grid).loc[name]
    done, planned = int(line["finished"]), int(line["planned"])
    how = "complete" if done == planned else f"{done:,} of {planned:,} cells"
    return f"Shown: the {grid} grid ({how}).\n"


def checks_section(grids: Grids) -> str:
    checks = all_checks(grids)
    rows = [[c.experiment, c.claim, c.figure, "yes" if c.holds else "**no**"] for c in checks]
    held = sum(c.holds for c in checks)
    table = markdown(["Experiment", "Claim", "Measured", "Holds"], rows)
    return f"## What must come out again\n\n{held} of {len(checks)} hold.\n\n{table}"


def class_prior_section(grids: Grids, table: pd.DataFrame, figures: str) -> str:
    paper = read_paper("class_prior").set_index("method")
    rows = []
    for line in table.itertuples():
        theirs = paper.loc[line.method] if line.method in paper.index else None
        rows.append(
            [
                line.method,
                f"{line.rank:.2f} ± {line.rank_sd:.2f}" if theirs is not None else "",
                f"{theirs['rank']:.2f} ± {theirs['rank_sd']:.2f}" if theirs is not None else "",
                f"{line.rank_of_all:.2f}",
                f"{line.error:.3f} ± {line.error_sd:.3f}",
                f"{theirs['error']:.2f} ± {theirs['error_sd']:.2f}" if theirs is not None else "",
                f"{line.error - theirs['error']:+.3f}" if theirs is not None else "",
                f"{line.bias:+.3f}",
            ]
        )
    header = ["Method", "Rank, here", "Rank, paper", "Rank of all", "Error, here", "Error, paper"]
    return "\n".join(
        [
            "Mean ± SD over data sets and label frequencies. Error is the absolute error of the "
            "class prior; the rank is among the paper's nine methods, *rank of all* with the two "
            "later ones; bias is the mean error with its sign.\n",
            markdown([*header, "Difference", "Bias, here"], rows),
            words.class_prior(table, paper) + words.rows_of_kernel_means(),
            f"![Absolute error against the label frequency]({figures}/class_prior.png)\n",
            f"![Average ranks]({figures}/class_prior_ranks.png)\n",
        ]
    )


def one_attribute_section(grids: Grids, table: pd.DataFrame, figures: str) -> str:
    parts = [
        "F1 (probabilistic), mean over the data sets, against the difference of the two "
        "propensities. The paper shows this as figures without numbers.\n"
    ]
    for mean, part in table.groupby("mean"):
        f1 = part.pivot_table(index="method", columns="difference", values="f1")
        rows = [
            [method, *(f"{value:.3f}" for value in f1.loc[method])]
            for method in METHODS
            if method in f1.index
        ]
        parts.append(
            markdown([f"Mean {mean:g}", *(f"Δc = {value:g}" for value in f1.columns)], rows)
        )
        parts.append(words.one_attribute(f1, mean))
    parts.append(f"![F1, mean over the data sets]({figures}/one_attribute_mean.png)\n")
    for mean in sorted(table["mean"].unique()):
        parts.append(f"![Mean {mean:g}, each data set]({figures}/one_attribute_{mean:g}.png)\n")
    return "\n".join(parts)


def three_attributes_section(grids: Grids, table: pd.DataFrame, figures: str) -> str:
    paper = read_paper("three_attributes")
    parts = [words.labellings(grids)]
    parts += ["F1 (probabilistic), here / in the paper.\n", side_by_side(table, paper, "f1")]
    parts += ["Propensity accuracy, here / in the paper.\n"]
    parts += [side_by_side(table, paper, "propensity_accuracy")]
    parts += ["Means over the data sets.\n", mean_table(table, paper)]
    parts.append(words.three_attributes(table, paper))
    parts.append(f"![Distance to the supervised classifier]({figures}/three_attributes.png)\n")
    both = [
        grid for grid in ("full", "reduced") if grids.table("three_attributes", grid) is not None
    ]
    if len(both) == 2:
        parts.append(words.agreement(grids))
    return "\n".join(parts)


def side_by_side(table: pd.DataFrame, paper: pd.DataFrame, score: str) -> str:
    """One row per data set in the paper's order, one column per method: ours / the paper's."""
    here = table.pivot(index="dataset", columns="method", values=score)
    there = paper.pivot(index="dataset", columns="method", values=score)
    methods = [method for method in METHODS if method in here and here[method].notna().any()]
    order = [name for name in paper["dataset"].drop_duplicates() if name in here.index]
    rows = [
        [name, *(f"{here.loc[name, m]:.2f} / {there.loc[name, m]:.2f}" for m in methods)]
        for name in order
    ]
    means = [
        f"**{here.loc[order, m].mean():.2f} / {there.loc[order, m].mean():.2f}**" for m in methods
    ]
    return markdown(["Data", *methods], [*rows, ["**mean**", *means]])


def mean_table(table: pd.DataFrame, paper: pd.DataFrame) -> str:
    here, there = distances(table), distances(paper)
    means = table.groupby("method").mean(numeric_only=True)
    paper_f1 = paper.groupby("method")["f1"].mean()
    rows = []
    for method in METHODS:
        row = means.loc[method]
        learned = method != "supervised"
        rows.append(
            [
                method,
                f"{row['f1']:.3f}",
                f"{paper_f1[method]:.3f}",
                f"{here[method]:.3f}" if learned else "",
                f"{there[method]:.3f}" if learned else "",
                f"{here[method] - there[method]:+.3f}" if learned else "",
                f"{row['f1_at_half']:.3f}",
                f"{row['prior_error']:+.3f}" if learned else "",
                f"{row['n_iter']:.0f}" if learned else "",
            ]
        )
    header = ["Method", "F1, here", "F1, paper", "Below supervised, here", "in the paper"]
    more = ["Difference", "F1 at 0.5", "Prior error", "EM iterations"]
    return markdown([*header, *more], rows)


def unbalanced_section(grids: Grids, table: pd.DataFrame, figures: str) -> str:
    f1 = table.pivot_table(index="method", columns="balance", values="f1")
    priors = table.groupby("balance")["true_prior"].mean().sort_values()
    rows = [
        [method, *(f"{f1.loc[method, balance]:.3f}" for balance in priors.index)]
        for method in METHODS
        if method in f1.index
    ]
    header = ["Method", *(f"{name} (α = {prior:.2f})" for name, prior in priors.items())]
    return "\n".join(
        [
            "F1 (probabilistic), mean over the data sets. The paper shows this as a figure.\n",
            markdown(header, rows),
            words.unbalanced(f1, list(priors.index)),
            f"![F1 against the class prior]({figures}/unbalanced.png)\n",
        ]
    )


def beyond_section(grids: Grids, table: pd.DataFrame, figures: str) -> str:
    parts = [
        "Each setting beside the paper's (C = 1, decay 0.9, slope rule, logistic regression) on "
        "the same data sets, attributes, labels and folds: the paper's setting → this one.\n"
    ]
    for setting, part in table.groupby("setting", sort=False):
        rows = [
            [
                line.method,
                f"{line.f1_paper:.3f} → {line.f1:.3f}",
                f"{line.f1_at_half_paper:.3f} → {line.f1_at_half:.3f}",
                *(
                    ["", ""]
                    if pd.isna(line.prior_error)
                    else [
                        f"{line.propensity_accuracy_paper:.3f} → {line.propensity_accuracy:.3f}",
                        f"{line.prior_error_paper:+.3f} → {line.prior_error:+.3f}",
                    ]
                ),
            ]
            for line in part.itertuples()
        ]
        n_data, fits = int(part["datasets"].max()), int(part["fits"].max())
        parts.append(
            markdown(
                [
                    f"{setting} ({n_data} data sets, {fits} fits a method)",
                    *("F1", "F1 at 0.5", "Propensity accuracy", "Prior error"),
                ],
                rows,
            )
        )
    parts.append(words.beyond(table))
    priors = grids.table("beyond_class_prior")
    if priors is not None:
        rows = [
            [
                line.method,
                f"{line.error_paper:.3f} → {line.error:.3f}",
                f"{line.bias_paper:+.3f} → {line.bias:+.3f}",
                f"{line.blocks}",
            ]
            for line in priors.itertuples()
        ]
        parts.append("The class prior under SCAR with the same changes:\n")
        parts.append(
            markdown(["Setting", "Absolute error", "Bias", "Data sets × label frequencies"], rows)
        )
    return "\n".join(parts)


SECTIONS = {
    "class_prior": class_prior_section,
    "one_attribute": one_attribute_section,
    "three_attributes": three_attributes_section,
    "unbalanced": unbalanced_section,
    "beyond": beyond_section,
}
