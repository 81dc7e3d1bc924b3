"""Figures of the benchmark of SAR learners, from its tables."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from ..harness.figures import BLUE, GREY, STYLE, VERMILION, save
from ..harness.report_tools import Row, differences, grouped
from .learners import ATTRIBUTES, METHODS
from .peers import PEERS
from .report import MECHANISMS, values

OURS = METHODS[: METHODS.index("TM")]


def draw(rows: list[Row], folder: Path) -> list[Path]:
    """Every figure that the tables allow; the files written."""
    written = []
    with plt.rc_context(STYLE):
        right = [row for row in rows if row["told"] == "true" and not row["error"]]
        if right:
            written += save(accuracy(right), folder / "accuracy", dpi=120)
        wrong = [row for row in rows if row["mechanism"] == "three" and not row["error"]]
        if any(row["told"] != "true" for row in wrong):
            written += save(wrong_attributes(wrong), folder / "wrong_attributes", dpi=120)
    return written


def accuracy(rows: list[Row]):
    """A panel a mechanism: accuracy minus that of SAR-e, paired, with standard errors."""
    by_mechanism = grouped(rows, "mechanism")
    names = [name for name in MECHANISMS if name in by_mechanism]
    methods = [m for m in METHODS if m != "SAR-e" and any(row["method"] == m for row in rows)]
    place = {method: len(methods) - i for i, method in enumerate(methods)}
    figure, axes = plt.subplots(
        1, len(names), figsize=(2.2 + 1.75 * len(names), 1 + 0.2 * len(methods)),
        sharey=True, layout="constrained", squeeze=False,
    )  # fmt: skip
    for ax, name in zip(axes[0], names, strict=True):
        by_method = grouped(by_mechanism[name], "method")
        base = values(by_method["SAR-e"], "accuracy")
        for method in methods:
            own = values(by_method[method], "accuracy")
            gaps = np.array(differences(own, base))
            if len(gaps):
                error = gaps.std(ddof=1) / len(gaps) ** 0.5 if len(gaps) > 1 else 0.0
                color = BLUE if method in OURS else GREY if method in PEERS else VERMILION
                ax.errorbar(gaps.mean(), place[method], xerr=error, fmt="o", color=color, ms=4)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_title(name)
    axes[0, 0].set_yticks([place[method] for method in methods], methods)
    figure.supxlabel(
        "accuracy minus that of SAR-e (blue: sarlearn, red: baselines, grey: other packages)",
        fontsize=9,
    )
    return figure


def wrong_attributes(rows: list[Row]):
    """Accuracy and error of the prior, by what the learner is told."""
    by_method = {
        method: grouped(chosen, "told") for method, chosen in grouped(rows, "method").items()
    }
    shown = {method: by_told for method, by_told in by_method.items() if len(by_told) > 1}
    figure, axes = plt.subplots(1, 2, figsize=(7.5, 2.9), layout="constrained")
    for ax, score, title in zip(
        axes, ("accuracy", "prior_error"), ("accuracy", "error of the class prior"), strict=True
    ):
        for offset, (method, color) in enumerate(zip(shown, (VERMILION, GREY, BLUE), strict=False)):
            found = [list(values(shown[method][told], score).values()) for told in ATTRIBUTES]
            at = [i + 0.15 * (offset - 1) for i, numbers in enumerate(found) if numbers]
            means = [np.mean(numbers) for numbers in found if numbers]
            errors = [np.std(numbers) / len(numbers) ** 0.5 for numbers in found if numbers]
            ax.errorbar(at, means, yerr=errors, fmt="o", color=color, ms=4, label=method)
        ax.set_xticks(range(len(ATTRIBUTES)), [told.replace(" ", "\n") for told in ATTRIBUTES])
        ax.set_title(title)
    axes[0].legend(frameon=False, fontsize=8)
    return figure
