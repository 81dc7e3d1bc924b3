"""Third step: the figures, in the paper's arrangement, as PNG and SVG."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..harness.figures import AMBER, BLUE, GREEN, GREY, PINK, SKY, STYLE, VERMILION, save
from .grids import Grids, read_paper

# Relatives share a colour and differ in the dashes; markers repeat the difference.
LEARNERS = {
    "supervised": {"color": "black", "linestyle": (0, (1, 1)), "marker": ""},
    "SAR-e": {"color": BLUE, "linestyle": "--", "marker": "o", "mfc": "white"},
    "SAR": {"color": BLUE, "linestyle": "-", "marker": "o", "linewidth": 2.2},
    "SCAR-c": {"color": VERMILION, "linestyle": "--", "marker": "s", "mfc": "white"},
    "SCAR": {"color": VERMILION, "linestyle": "-", "marker": "s"},
    "multi-SCAR": {"color": GREY, "linestyle": "-", "marker": "x"},
}
ESTIMATORS = {
    "SAR-EM": {"color": BLUE, "linestyle": "-", "marker": "o", "linewidth": 2.4},
    "KM2": {"color": VERMILION, "linestyle": "-", "marker": "s"},
    "KM1": {"color": VERMILION, "linestyle": "--", "marker": "s", "mfc": "white"},
    "TIcE": {"color": GREEN, "linestyle": "-", "marker": "^"},
    "AlphaMax_N": {"color": PINK, "linestyle": "-", "marker": "D"},
    "AlphaMax": {"color": PINK, "linestyle": "--", "marker": "D", "mfc": "white"},
    "EN": {"color": GREY, "linestyle": "-", "marker": "v"},
    "PE": {"color": GREY, "linestyle": "--", "marker": "P"},
    "pen-L1": {"color": GREY, "linestyle": ":", "marker": "X"},
    "DEDPUL": {"color": AMBER, "linestyle": "-", "marker": "*"},
    "BBE": {"color": SKY, "linestyle": "-", "marker": "h"},
}
PAPER_NAMES = {"AlphaMax_N": "AlphaMax-N"}
CLASS_PRIOR_DATA = [
    *("Breast Cancer", "Mushroom", "Adult", "IJCNN", "Cover Type"),
    *("Comp-Rec", "Comp-Sci", "Comp-Talk", "Rec-Sci", "Rec-Talk", "Sci-Talk"),
]


def plot(results: Path, figures: Path) -> list[Path]:
    """Draw every figure that the tables allow; the files written."""
    grids = Grids(results)
    written = []
    with plt.rc_context(STYLE):
        for name, figure in draw(grids):
            written += save(figure, figures / name)
    return written


def draw(grids: Grids):
    """Pairs of a name and its figure."""
    if (table := grids.table("class_prior_curves", grids.best("class_prior"))) is not None:
        yield "class_prior", class_prior_panels(table)
        yield "class_prior_ranks", rank_figure(grids.table("class_prior"))
    if (table := grids.table("one_attribute")) is not None:
        note = grid_note(grids, "one_attribute")
        for mean, part in table.groupby("mean"):
            yield f"one_attribute_{mean:g}", one_attribute_panels(part, note)
        yield "one_attribute_mean", one_attribute_means(table, note)
    if (table := grids.table("three_attributes")) is not None:
        yield "three_attributes", gap_figure(table)
    if (table := grids.table("unbalanced")) is not None:
        yield "unbalanced", unbalanced_panels(table, grid_note(grids, "unbalanced"))


def grid_note(grids: Grids, name: str) -> str:
    """What a figure says of the grid it is drawn from, where that is not the whole protocol."""
    grid = grids.best(name)
    return "" if grid == "full" else f" ({grid} grid)"


def class_prior_panels(table: pd.DataFrame) -> Figure:
    """Absolute error against the label frequency, a panel a data set, the legend in the first."""
    figure, axes = plt.subplots(
        3, 4, figsize=(10, 7.2), layout="constrained", sharex=True, sharey=True
    )
    names = [name for name in CLASS_PRIOR_DATA if name in set(table["dataset"])]
    panels = axes.ravel()
    for ax, name in zip(panels[1:], names, strict=False):
        part = table[table["dataset"] == name]
        lines(ax, part, ESTIMATORS, "label_frequency", "error")
        ax.set_title(f"{name}, $\\alpha$ = {part['class_prior'].iloc[0]:.2f}")
    frequencies = sorted(table["label_frequency"].unique())
    panels[0].set_xticks(frequencies)
    panels[0].set_ylim(-0.02, 1.02 * table["error"].max() + 0.02)
    for ax in panels[len(names) + 1 :]:
        ax.set_axis_off()
    panels[1].tick_params(labelleft=True)  # the leftmost of its row is the legend
    legend_panel(panels[0], [method for method in ESTIMATORS if method in set(table["method"])])
    figure.supxlabel("label frequency $c$")
    figure.supylabel("absolute error of the class prior")
    return figure


def legend_panel(ax: Axes, methods: list[str]) -> None:
    ax.set_axis_off()
    handles = [
        plt.Line2D([], [], label=PAPER_NAMES.get(name, name), **ESTIMATORS[name])
        for name in methods
    ]
    ax.legend(handles=handles, loc="center", frameon=False, fontsize=9, handlelength=3)


def rank_figure(table: pd.DataFrame) -> Figure:
    """Average rank among the paper's nine methods: ours, and the paper's."""
    paper = read_paper("class_prior").set_index("method")
    ours = table.set_index("method").dropna(subset="rank")
    order = ours.sort_values("rank", ascending=False).index
    figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    places = range(len(order))
    ours, paper = ours.loc[order], paper.loc[order]
    ax.hlines(places, ours["rank"], paper["rank"], color="#bbbbbb", linewidth=1.5, zorder=1)
    ax.plot(ours["rank"], places, "o", color=BLUE, markersize=7, label="here")
    ax.plot(paper["rank"], places, "D", color=VERMILION, mfc="white", markersize=6, label="paper")
    ax.set_yticks(places, [PAPER_NAMES.get(name, name) for name in order])
    ax.grid(visible=False, axis="y")
    ax.set_xlim(1, len(order))
    ax.set_xlabel("average rank by absolute error of the class prior (1 is best)")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return figure


def panels_of_12(table: pd.DataFrame, x: str) -> tuple[Figure, list[Axes]]:
    """A panel a data set in the paper's order, three rows of four, one legend below."""
    figure, axes = plt.subplots(
        3, 4, figsize=(10, 7.4), layout="constrained", sharex=True, sharey=True
    )
    panels = axes.ravel().tolist()
    names = [name for name in paper_order() if name in set(table["dataset"])]
    for ax, name in zip(panels, names, strict=False):
        lines(ax, table[table["dataset"] == name], LEARNERS, x, "f1")
        ax.set_title(name)
    for ax in panels[len(names) :]:
        ax.set_axis_off()
    handles = [plt.Line2D([], [], label=name, **style) for name, style in LEARNERS.items()]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=9.5
    )
    figure.supylabel("F1 (probabilistic)")
    return figure, panels[: len(names)]


def paper_order() -> list[str]:
    return read_paper("three_attributes")["dataset"].drop_duplicates().tolist()


def lines(ax: Axes, table: pd.DataFrame, styles: dict, x: str, y: str) -> None:
    # The first of the styles on top: it is what the figure is about.
    for place, (method, style) in enumerate(styles.items()):
        part = table[table["method"] == method].sort_values(x)
        if len(part):
            ax.plot(part[x], part[y], **style, zorder=20 - place)


def one_attribute_panels(table: pd.DataFrame, note: str = "") -> Figure:
    """F1 against the difference of the two propensities."""
    figure, panels = panels_of_12(table, "difference")
    panels[0].set_xticks(sorted(table["difference"].unique()))
    mean = table["mean"].iloc[0]
    figure.supxlabel(f"difference $\\Delta c$ of the two propensities, their mean {mean:g}{note}")
    return figure


def one_attribute_means(table: pd.DataFrame, note: str = "") -> Figure:
    """The same averaged over the data sets, lines labelled at their ends."""
    means = sorted(table["mean"].unique())
    figure, axes = plt.subplots(
        1, len(means), figsize=(9, 3.6), layout="constrained", sharey=True, squeeze=False
    )
    for ax, mean in zip(axes[0], means, strict=True):
        part = table[table["mean"] == mean]
        average = part.groupby(["method", "difference"], as_index=False)["f1"].mean()
        lines(ax, average, LEARNERS, "difference", "f1")
        label_ends(ax, average)
        widest = part["difference"].max()
        ax.set_xticks(sorted(part["difference"].unique()))
        ax.set_xlim(-0.03 * widest, 1.32 * widest)
        ax.set_title(f"mean propensity {mean:g}{note}")
        ax.set_xlabel("difference $\\Delta c$ of the two propensities")
    axes[0, 0].set_ylabel(f"F1, mean over {table['dataset'].nunique()} data sets")
    return figure


def label_ends(ax: Axes, average: pd.DataFrame) -> None:
    """Each method's name at the right end of its line, moved apart where they would overlap."""
    last = average.sort_values("difference").groupby("method").last()
    last = last.loc[[method for method in LEARNERS if method in last.index]].sort_values("f1")
    low, high = ax.get_ylim()
    gap = 0.065 * (high - low)
    height = -float("inf")
    for method, row in last.iterrows():
        height = max(row["f1"], height + gap)
        ax.annotate(
            str(method),
            (row["difference"], row["f1"]),
            xytext=(1.05 * row["difference"], height),
            color=LEARNERS[str(method)]["color"],
            va="center",
            fontsize=8.5,
            fontweight="bold" if method == "SAR" else "normal",
        )


def gap_figure(table: pd.DataFrame) -> Figure:
    """How far each method is below the supervised classifier: here, and in the paper."""
    here, paper = gaps(table), gaps(read_paper("three_attributes"))
    methods = [method for method in LEARNERS if method != "supervised"]
    figure, axes = plt.subplots(
        1, len(methods), figsize=(10, 4), layout="constrained", sharey=True, sharex=True
    )
    order = [name for name in paper_order() if name in here.index][::-1]
    places = range(len(order))
    for ax, method in zip(axes, methods, strict=True):
        ours, theirs = here.loc[order, method], paper.loc[order, method]
        ax.hlines(places, ours, theirs, color="#bbbbbb", linewidth=1.5, zorder=1)
        ax.plot(ours, places, "o", color=BLUE, markersize=6, label="here")
        ax.plot(theirs, places, "D", color=VERMILION, mfc="white", markersize=5, label="paper")
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_title(method)
        ax.grid(visible=False, axis="y")
    axes[0].set_yticks(places, order)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=2, frameon=False)
    figure.supxlabel("F1 minus that of the supervised classifier")
    return figure


def gaps(table: pd.DataFrame) -> pd.DataFrame:
    """F1 minus supervised F1, one row per data set, one column per method."""
    wide = table.pivot(index="dataset", columns="method", values="f1")
    return wide.sub(wide["supervised"], axis=0)


def unbalanced_panels(table: pd.DataFrame, note: str = "") -> Figure:
    """F1 against the class prior: positives at 30 %, the data as they are, negatives at 30 %."""
    figure, _ = panels_of_12(table, "true_prior")
    figure.supxlabel(
        f"class prior: 30 % of the positives kept, all rows, 30 % of the negatives kept{note}"
    )
    return figure
