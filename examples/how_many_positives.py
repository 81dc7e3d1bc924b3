"""How many of my unlabelled rows are positive?

A table of patients, some of them known to be ill, the others not examined. Eleven ways of
estimating how many of the others are ill, on data that come with scikit-learn, where the truth is
known and can be put beside the answers::

    python examples/how_many_positives.py [--figure how_many_positives.png]
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from sarlearn.priors import PriorCurveDisplay, compare_priors


def draw(comparison, truth: float, path: Path) -> None:
    """The estimates side by side, and what three of the methods looked at."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
    comparison.plot(ax=axes[0, 0])
    axes[0, 0].axvline(truth, color="black", linestyle=":", label="truth")
    axes[0, 0].legend(frameon=False)
    axes[0, 0].set_title("eleven estimates of one number")
    for method, ax in zip(["cross-fit", "BBE", "KM1"], axes.flat[1:], strict=True):
        PriorCurveDisplay.from_estimator(comparison.estimators[method], ax=ax)
    partial = path.with_name(path.name + ".partial")
    figure.savefig(partial, format=path.suffix.lstrip(".") or "png", dpi=120)
    os.replace(partial, path)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", type=Path, default=Path("how_many_positives.png"))
    figure = parser.parse_args(arguments).figure

    X, target = load_breast_cancer(return_X_y=True)
    ill = target == 0
    known = ill & (np.random.default_rng(0).random(len(ill)) < 0.4)  # who was found ill, by chance
    rest = ~known

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the table says it all again
        comparison = compare_priors(X, known, random_state=0)
    print(f"{len(X)} patients, {known.sum()} known to be ill, {rest.sum()} not examined.\n")
    print(comparison)

    best = comparison.estimators["cross-fit"]
    answer = best.unlabelled_prior_ * rest.sum()
    low, high = (end * len(X) - known.sum() for end in best.class_prior_range_)
    print(
        f"\nThe suggested default, the cross-fit, says that about {answer:.0f} of the {rest.sum()} "
        f"are ill ({best.unlabelled_prior_:.0%}), and that the labels admit {low:.0f} to "
        f"{high:.0f}; in truth {ill[rest].sum()} are ({ill[rest].mean():.0%})."
    )
    draw(comparison, float(ill.mean()), figure)
    print(f"Figure: {figure}")


if __name__ == "__main__":
    main()
