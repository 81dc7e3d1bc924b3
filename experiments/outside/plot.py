"""The figures of other people's studies: theirs as published, ours beside them."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..harness.figures import AMBER, BLUE, GREEN, GREY, STYLE, VERMILION, save
from .report import SCENARIOS, cells, complete, published, rejections, scenario_rows

OURS = {
    "supervised": ("black", "|"),
    "SAR-EM, all": (BLUE, "o"),
    "SAR-EM, C=10, all": (BLUE, "s"),
    "SARClassifier, all": (VERMILION, "o"),
    "SARClassifier, none": (AMBER, "o"),
    "SAR-EM, C=10, truth": (GREEN, "s"),
    "SARClassifier, truth": (GREEN, "o"),
}
STRATEGIES = {
    "supervised": ("black", "|"),
    "NTC-tMI": (GREY, "x"),
    "SAR-EM, all": (BLUE, "o"),
    "SAR-EM, C=10, all": (BLUE, "s"),
    "SARClassifier, none": (VERMILION, "o"),
    "SARClassifier, all": (AMBER, "o"),
}


def draw(tables: Path, figures: Path) -> list[Path]:
    """Every figure whose tables are there; the files written."""
    written = []
    with plt.rc_context(STYLE | {"svg.hashsalt": "outside", "axes.axisbelow": True}):
        for name, make in (
            ("double_logistic", _double_logistic),
            ("power", _power),
            ("strategies", _strategies),
        ):
            figure = make(tables)
            if figure is not None:
                written += save(figure, figures / name)
    return written


def _double_logistic(tables: Path) -> Figure | None:
    """A panel for each scenario: published accuracies in grey, ours in colour."""
    rows = scenario_rows(tables)
    if rows.empty:
        return None
    theirs = published("double_logistic")
    names = list(theirs["dataset"].drop_duplicates())
    figure, axes = plt.subplots(1, 3, figsize=(9.2, 4.4), sharey=True, layout="constrained")
    handles = {}
    for number, (ax, scenario) in enumerate(zip(axes, SCENARIOS, strict=True), start=1):
        there = theirs[theirs["scenario"] == number].set_index("dataset").drop(columns="scenario")
        for place, name in enumerate(names[::-1]):
            values = there.loc[name]
            handles["published"] = ax.scatter(
                values, np.full(len(values), place + 0.26), color=GREY, marker="x", s=26
            )
            part = rows[(rows["mechanism"] == scenario) & (rows["dataset"] == name)]
            for i, (learner, (color, marker)) in enumerate(OURS.items()):
                own = part[part["learner"] == learner]["accuracy"]
                if len(own):
                    height = place + 0.12 - 0.075 * i
                    handles[learner] = ax.scatter(
                        own.mean(), height, color=color, marker=marker, s=26
                    )
        ax.set_title(scenario)
        ax.set_xlabel("accuracy")
    axes[0].set_yticks(range(len(names)), names[::-1])
    axes[0].set_ylim(-0.6, len(names) - 0.4)
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False
    )
    return figure


def _power(tables: Path) -> Figure | None:
    """Share of labellings in which each test finds the departure, by set and scheme."""
    rows = cells(tables, "scar_power")
    if rows.empty:
        return None
    ours = rejections(rows, ["dataset", "scheme", "strength", "tested"])["share"]
    theirs = published("scar_power").set_index(["dataset", "scheme", "strength"])
    names = list(theirs.index.get_level_values("dataset").drop_duplicates())
    figure, axes = plt.subplots(1, 3, figsize=(9.2, 3.2), sharey=True, layout="constrained")
    styles = {
        "KL, told the class prior": ("KL", GREY, -0.3),
        "KS, told the class prior": ("KS", "#b0b0b0", -0.1),
        "scar_test on x1": ("x1", BLUE, 0.1),
        "scar_test on all columns": ("all", VERMILION, 0.3),
    }
    for ax, name in zip(axes, names, strict=True):
        keys = [(scheme, g) for scheme in ("S1", "S2", "S3") for g in (1, 2)]
        for label, (column, color, shift) in styles.items():
            heights = [
                theirs.loc[(name, *key), column]
                if column in theirs
                else ours.get((name, *key, column), np.nan)
                for key in keys
            ]
            ax.bar(np.arange(len(keys)) + shift, heights, width=0.19, color=color, label=label)
        ax.set_xticks(range(len(keys)), [f"{scheme}\ng={g}" for scheme, g in keys])
        ax.set_title(name)
        ax.axhline(0.05, color="black", linewidth=0.8, linestyle=":")
    axes[0].set_ylabel("departures found, c = .5")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _strategies(tables: Path) -> Figure | None:
    """Balanced accuracy by set, mean over the strategies, the hardest set at the bottom."""
    rows = cells(tables, "mechanisms", "mechanisms_sar")
    rows = rows if rows.empty else complete(rows)
    if rows.empty:
        return None
    wide = rows.pivot_table(index="dataset", columns="learner", values="balanced_accuracy")
    wide = wide.sort_values("supervised")
    figure, ax = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    place = np.arange(len(wide))
    shown = {name: style for name, style in STRATEGIES.items() if name in wide}
    for i, (name, (color, marker)) in enumerate(shown.items()):
        shift = 0.09 * (len(shown) / 2 - i) if name != "supervised" else 0.0
        size = 160 if name == "supervised" else 30
        ax.scatter(wide[name], place + shift, color=color, marker=marker, s=size, label=name)
    ax.axvline(0.5, color=GREY, linewidth=1, linestyle=":")
    ax.set_yticks(place, wide.index)
    ax.set_xlabel("balanced accuracy, mean over the strategies S1 to S4")
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    return figure
