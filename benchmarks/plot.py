"""The figure: ratios by workload, and CPU seconds against rows."""

import os
from pathlib import Path

import numpy as np

from benchmarks import tables
from benchmarks.store import number

# Okabe and Ito's palette: told apart by everybody.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#888888"


def draw(folder: Path) -> None:
    """Write ``benchmarks.png`` and ``benchmarks.svg`` next to the CSVs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "sarlearn"  # the same results give the same file
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(12, 5.2), layout="constrained", width_ratios=[1.15, 1]
    )
    _ratios(left, tables.by_workload(folder))
    _rows(right, tables.scaling_lines(folder))
    for end in ("png", "svg"):
        path = folder / f"benchmarks.{end}"
        partial = folder / f"benchmarks.partial.{end}"
        metadata = {"Date": None} if end == "svg" else {}
        figure.savefig(partial, dpi=150, metadata=metadata)
        os.replace(partial, path)
    plt.close(figure)


def _ratios(ax, known) -> None:
    # pysarpu is here where it ran to its end: of a part of a fit no ratio is made.
    bars = [("naive", "naive", ORANGE), ("pysarpu", "pysarpu", BLUE)]
    bars = [bar for bar in bars if any(tables.ratio(m, bar[0]) for m in known.values())]
    height = 0.76 / max(len(bars), 1)
    places = np.arange(len(known))
    shifts = (np.arange(len(bars)) - (len(bars) - 1) / 2) * height
    for shift, (method, name, colour) in zip(shifts, bars, strict=True):
        labelled = False
        for place, (key, methods) in zip(places, known.items(), strict=True):
            times = tables.ratio(methods, method)
            if times is None:
                continue
            guessed = methods[method].get("extrapolated") == "true"
            ax.barh(
                place + shift,
                times,
                height,
                color=colour,
                alpha=0.55 if guessed else 1.0,
                hatch="///" if guessed else None,
                edgecolor="white",
                label=None if labelled else f"than {name}",
            )
            labelled = True
            mark = "about " if guessed else ""
            # Beyond the target's line, which it would hide.
            reach = max(times, tables.FASTER.get(key, 0.0)) if method == "naive" else times
            ax.text(
                reach * 1.08,
                place + shift,
                f"{mark}{times:,.0f}",
                va="center",
                fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                zorder=5,
            )
    shown = False
    for place, key in zip(places, known, strict=True):
        if key in tables.FASTER:
            target = tables.FASTER[key]
            middle = place + (shifts[0] if len(bars) else 0.0)
            ends = [middle - height / 2, middle + height / 2]
            ax.plot([target] * 2, ends, color="black", lw=1.8,
                    label=None if shown else "target, against naive")  # fmt: skip
            shown = True
    ax.set_yticks(
        places, [f"{key}\n{tables.shape(m['slope'])}" for key, m in known.items()], fontsize=8
    )
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlim(1, ax.get_xlim()[1] * 1.6)
    ax.set_xlabel('CPU seconds over those of sarlearn with stop="slope" (hatched: extrapolated)')
    ax.set_title("How many times faster", fontsize=10, pad=24)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)


def _rows(ax, lines) -> None:
    colours = {"slope": BLUE, "fixed_point": GREEN}
    for (method, dtype), rows in lines.items():
        n = [float(row["rows"]) for row in rows]
        cpu = [number(row, "cpu") for row in rows]
        exponent = tables.exponent(rows)
        name = f"{tables.NAMES[method]}, {dtype}"
        if exponent is not None:
            name += f": exponent {exponent:.2f}"
        double = dtype == "float64"
        ax.plot(n, cpu, "o-" if double else "s--", color=colours[method], label=name, ms=4,
                alpha=1.0 if double else 0.6)  # fmt: skip
    if lines:
        first = next(iter(lines.values()))
        n, cpu = (float(first[-1]["rows"]), number(first[-1], "cpu"))
        ends = np.array([5e3, n])
        ax.plot(ends, 2 * cpu * ends / n, ":", color=GREY, label="proportional to rows")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("rows, 20 columns")
    ax.set_ylabel("CPU seconds per fit")
    ax.set_title("Time against rows (exponents from 50,000 rows on)", fontsize=10, pad=24)
    if lines:
        ax.legend(fontsize=8)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
