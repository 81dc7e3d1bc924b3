"""The figures of the simulations, as PNG and SVG beside their tables."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..harness.figures import BLUE, GREEN, GREY, PINK, STYLE, VERMILION, save
from .report import QUANTITIES, SCORES, intervals, read, rejections, scores

MECHANISMS = {
    "strong": (VERMILION, "o", "strong: e = .1 + .8σ(3x₂)"),
    "weak": (BLUE, "s", "weak: e = σ(−.4 + .5x₂)"),
    "along the class": (GREEN, "^", "along the class: e = .1 + .8σ(3x₀)"),
    "rising with P(y|x)": (PINK, "D", "rising with the class: e = .8P(y|x)²"),
}


def draw(folder: Path, figures: Path) -> None:
    """Every figure whose table is in the folder."""
    with plt.rc_context(STYLE | {"svg.hashsalt": "trust", "axes.axisbelow": True}):
        for name, make in (
            ("size", _size),
            ("power", _power),
            ("misspecified", _misspecified),
            ("selection", _selection),
            ("intervals", _intervals),
            ("scores", _scores),
        ):
            figure = make(folder)
            if figure is None:
                continue
            save(figure, figures / name)


def _error(rejected: float, tested: float) -> float:
    """Half of a 95 % interval of a share."""
    p = rejected / tested
    return 1.96 * float(np.sqrt(p * (1 - p) / tested))


def _percent(axis) -> None:
    axis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")


def _size(folder: Path) -> Figure | None:
    found = rejections(folder, ["size_500", "size_5000"])
    if not found:
        return None
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.9), sharey=True, layout="constrained")
    for ax, n in zip(axes, (500, 5000), strict=True):
        ax.axhspan(0.03, 0.07, color=GREY, alpha=0.15, linewidth=0)
        ax.axhline(0.05, color=GREY, linewidth=1)
        frequencies = sorted({key[2] for key in found})
        for attributes, color, marker, shift in ((1, BLUE, "o", -0.08), (5, VERMILION, "s", 0.08)):
            cells = [found.get(("scar", n, c, attributes)) for c in frequencies]
            points = [(i + shift, *cell) for i, cell in enumerate(cells) if cell]
            ax.errorbar(
                [x for x, _, _ in points],
                [a / b for _, a, b in points],
                [_error(a, b) for _, a, b in points],
                fmt=marker,
                color=color,
                label=f"{attributes} attribute{'s' if attributes > 1 else ''}",
            )
        ax.set_xticks(range(len(frequencies)), [f"{c:g}" for c in frequencies])
        ax.set_xlim(-0.5, len(frequencies) - 0.5)
        ax.set_xlabel("label frequency")
        ax.set_title(f"n = {n:,}")
    axes[0].set_ylim(0, 0.1)
    axes[0].set_ylabel("true SCAR rejected")
    _percent(axes[0].yaxis)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _power(folder: Path) -> Figure | None:
    found = rejections(folder, ["power", "power_class"])
    if not found:
        return None
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.6), sharey=True, layout="constrained")
    drawn = {}
    for ax, attributes in zip(axes, (1, 5), strict=True):
        ax.axhline(0.05, color=GREY, linewidth=1, linestyle=":")
        for name, (color, marker, label) in MECHANISMS.items():
            cells = {k[1]: v for k, v in found.items() if k[0] == name and k[3] == attributes}
            if not cells:
                continue
            drawn[label] = ax.errorbar(
                list(cells),
                [a / b for a, b in cells.values()],
                [_error(a, b) for a, b in cells.values()],
                color=color,
                marker=marker,
                capsize=2,
            )
        sizes = sorted({key[1] for key in found})
        ax.set_xscale("log")
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("rows")
        ax.set_title("x₂ alone is tested" if attributes == 1 else "all five attributes are tested")
    axes[0].set_ylim(0, 1.03)
    axes[0].set_ylabel("SCAR rejected")
    _percent(axes[0].yaxis)
    figure.legend(drawn.values(), drawn.keys(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def _misspecified(folder: Path) -> Figure | None:
    found = rejections(folder, ["misspecified"])
    if not found:
        return None
    keys = list(found)
    figure, ax = plt.subplots(figsize=(7.2, 0.28 * len(keys) + 0.8), layout="constrained")
    place = np.arange(len(keys))[::-1]
    ax.axvline(0.05, color=GREY, linewidth=1)
    for attributes, color, marker in ((1, BLUE, "o"), (5, VERMILION, "s")):
        rows = [i for i, key in enumerate(keys) if key[3] == attributes]
        cells = [found[keys[i]] for i in rows]
        ax.errorbar(
            [a / b for a, b in cells],
            place[rows],
            xerr=[_error(a, b) for a, b in cells],
            fmt=marker,
            color=color,
            label=f"{attributes} attribute{'s' if attributes > 1 else ''}",
        )
    ax.set_yticks(place, [f"{key[0]}, n = {key[1]:,}" for key in keys])
    ax.set_xlim(left=0)
    ax.set_xlabel("SCAR rejected")
    _percent(ax.xaxis)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return figure


def _selection(folder: Path) -> Figure | None:
    runs = read(folder, "selection_tables")
    if not runs:
        return None
    names = sorted({row["dataset"] for row in runs})
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.8), sharey=True, layout="constrained")
    for ax, key, drives in zip(
        axes, ("true_found", "false_found"), ("one attribute", "no attribute"), strict=True
    ):
        for i, (flexible, color) in enumerate((("false", GREY), ("true", BLUE))):
            heights = []
            for name in names:
                some = [
                    float(row[key]) > 0
                    for row in runs
                    if row["dataset"] == name
                    and row["flexible"] == flexible
                    and (row["n_true"] == "0") == (drives == "no attribute")
                ]
                heights.append(np.mean(some))
            ax.bar(
                np.arange(len(names)) + 0.36 * i - 0.18,
                heights,
                width=0.34,
                color=color,
                label="flexible f" if flexible == "true" else "linear f",
            )
        ax.set_xticks(range(len(names)), names)
        ax.set_title(
            "one attribute drives labelling:\nit is found"
            if key == "true_found"
            else "none drives labelling:\nsome are selected"
        )
    axes[0].set_ylim(0, 1)
    axes[0].set_ylabel("share of runs")
    _percent(axes[0].yaxis)
    axes[1].legend(frameon=False, loc="upper left")
    return figure


def _intervals(folder: Path) -> Figure | None:
    kinds = {"decay 1": "intervals", "decay 0.9": "intervals_decayed"}
    found = {kind: intervals(folder, name) for kind, name in kinds.items()}
    if not any(found.values()):
        return None
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.9), layout="constrained")
    labels = [q.replace("_", " ") for q in QUANTITIES]
    _coverage_panel(axes[0], found, labels)
    ax = axes[1]
    for i, (kind, color) in enumerate(zip(kinds, (BLUE, VERMILION), strict=True)):
        cells = [found[kind].get((q, "bca")) for q in QUANTITIES]
        points = [(k + 0.16 * (2 * i - 1), c) for k, c in enumerate(cells) if c]
        if points:
            ax.errorbar(
                [x for x, _ in points],
                [c["error"] for _, c in points],
                [c["width"] / 2 for _, c in points],
                fmt="o",
                color=color,
                capsize=3,
                label=kind,
            )
    ax.axhline(0, color=GREY, linewidth=1)
    ax.set_xticks(range(len(labels)), labels)
    ax.set_xlim(-0.5, len(labels) - 0.5)
    ax.set_ylabel("mean error, and half the mean width")
    ax.set_title("bias against width")
    ax.legend(frameon=False)
    return figure


def _coverage_panel(ax: Axes, found: dict, labels: list[str]) -> None:
    ax.axhspan(0.92, 0.98, color=GREY, alpha=0.15, linewidth=0)
    ax.axhline(0.95, color=GREY, linewidth=1)
    styles = (
        ("decay 1", "bca", BLUE, "o"),
        ("decay 1", "percentile", BLUE, "s"),
        ("decay 0.9", "bca", VERMILION, "o"),
        ("decay 0.9", "percentile", VERMILION, "s"),
    )
    for i, (kind, method, color, marker) in enumerate(styles):
        cells = [found[kind].get((q, method)) for q in QUANTITIES]
        points = [(k + 0.13 * (i - 2), c["hits"], c["total"]) for k, c in enumerate(cells) if c]
        if points:
            ax.errorbar(
                [x for x, _, _ in points],
                [a / b for _, a, b in points],
                [_error(a, b) for _, a, b in points],
                fmt=marker,
                color=color,
                label=f"{kind}, {method}",
            )
    ax.set_xticks(range(len(labels)), labels)
    ax.set_xlim(-0.5, len(labels) - 0.5)
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("coverage of 95 % intervals")
    _percent(ax.yaxis)
    ax.set_title("coverage")
    # In the gap between the coverages of the two decays.
    ax.legend(frameon=False, loc="center", bbox_to_anchor=(0.5, 0.62), fontsize=8)


def _scores(folder: Path) -> Figure | None:
    found = scores(folder)
    if not found:
        return None
    figure, ax = plt.subplots(figsize=(7.2, 2.9), layout="constrained")
    place = np.arange(len(SCORES))[::-1]
    ax.axvline(0, color=GREY, linewidth=1)
    for kind, color, shift in (("true", BLUE, 0.15), ("estimated", VERMILION, -0.15)):
        bias, error, spread = np.array([found[kind, score] for score in SCORES]).T
        ax.hlines(place + shift, bias - spread, bias + spread, color=color, alpha=0.35)
        ax.errorbar(
            bias, place + shift, xerr=2 * error, fmt="o", color=color, label=f"{kind} propensities"
        )
    ax.set_yticks(place, [score.replace("_", " ") for score in SCORES])
    ax.set_xlabel(
        "estimate minus score with true classes: mean ± 2 standard errors, thin: spread of one"
    )
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return figure
