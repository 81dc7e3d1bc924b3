"""The two headline tables of the site, put between marks by the step that writes up."""

from pathlib import Path

import pandas as pd

from .checks import distances
from .grids import Grids, read_paper

BEGIN = "<!-- made by: python -m experiments report paper -->"
END = "<!-- end of what is made -->"
EXPLAINED = {"SAR-e": "SAR-e (propensity known)", "SCAR-c": "SCAR-c (label frequency known)"}
OURS = {"SAR", "SAR-EM"}


def page_text(path: Path, grids: Grids) -> str:
    """The page with the tables between its marks; one without marks is refused."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path.name} needs the lines {BEGIN!r} and {END!r}, in this order.")
    return f"{before}{BEGIN}\n\n{headline(grids)}\n{END}{after}"


def headline(grids: Grids) -> str:
    """Both tables, each with the grid it comes from, as far as they were measured."""
    parts = []
    if (table := grids.table("three_attributes")) is not None:
        n_data = table["dataset"].nunique()
        parts.append(
            f"Three propensity attributes, mean over {n_data} pairs of newsgroups (F1 is the "
            f"paper's probabilistic F1; {grids.best('three_attributes')} grid):\n\n"
            + three_attributes(table)
        )
    if (table := grids.table("class_prior")) is not None:
        parts.append(
            f"Class prior under SCAR, mean absolute error over {table['blocks'].max()} pairs of a "
            f"data set and a label frequency ({grids.best('class_prior')} grid):\n\n"
            + class_prior(table)
            + place_of_sarem(table)
        )
    if (programs := grids.table("class_prior_programs")) is not None:
        error = programs.groupby("method")["error"].mean()
        parts.append(
            f"TIcE has {error['TIcE, as published']:.3f} on the labels of the "
            f"{grids.best('class_prior_programs')} grid, where ours has {error['TIcE']:.3f}, if it "
            "reads its bounds\nas the program published by its authors does, off the rows on which "
            'the tree was grown\n(`TIcE(bounds_from="tree_fold")`); by default ours takes the rows '
            "held out for them. Where else and why\nmethods come out worse than in the paper is "
            "in [its report](../../experiments/paper/RESULTS.md).\n"
        )
    return "\n".join(parts)


def place_of_sarem(table: pd.DataFrame) -> str:
    """The paper puts SAR-EM first by rank and by error; where it is here."""
    if "rank" not in table:
        return ""
    nine = table.dropna(subset="rank").set_index("method")
    by_rank, by_error = (nine[column].rank()["SAR-EM"] for column in ("rank", "error"))
    if by_rank == by_error == 1:
        return "\nAs in the paper, SAR-EM is first of its nine methods by rank and by error.\n"
    return (
        "\nIn the paper SAR-EM is first of nine methods by average rank and by error. Here it is "
        f"number {by_rank:.0f} by\nrank and number {by_error:.0f} by error: it does as well as "
        f"there, but {nine['error'].idxmin()} does better than the one\nthat the paper ran.\n"
    )


def three_attributes(table: pd.DataFrame) -> str:
    """The highest F1 first."""
    paper = read_paper("three_attributes")
    here = table.groupby("method")["f1"].mean().sort_values(ascending=False)
    there = paper.groupby("method")["f1"].mean()
    below, below_there = distances(table), distances(paper)
    lines = [
        "| learner | F1, here | F1, paper | below supervised, here | below supervised, paper |",
        "|---|---:|---:|---:|---:|",
    ]
    for method in here.index:
        gaps = f"{below[method]:.3f} | {below_there[method]:.3f}"
        gaps = " | " if method == "supervised" else gaps
        lines.append(f"| {bold(method)} | {here[method]:.3f} | {there[method]:.3f} | {gaps} |")
    return "\n".join(lines) + "\n"


def class_prior(table: pd.DataFrame) -> str:
    """Best first, in two columns."""
    paper = read_paper("class_prior").set_index("method")["error"]
    cells = [
        f"{bold(line.method)} | {line.error:.3f} | "
        + (f"{paper[line.method]:.2f}" if line.method in paper else "")
        for line in table.sort_values("error").itertuples()
    ]
    half = -(-len(cells) // 2)
    right = cells[half:] + [" | | "] * (2 * half - len(cells))
    lines = [
        "| method | here | paper | | method | here | paper |",
        "|---|---:|---:|---|---|---:|---:|",
    ]
    lines += [f"| {one} | | {other} |" for one, other in zip(cells[:half], right, strict=True)]
    return "\n".join(lines) + "\n"


def bold(method: str) -> str:
    name = EXPLAINED.get(method, method)
    return f"**{name}**" if method in OURS else name
