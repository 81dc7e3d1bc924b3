"""What if no line tells the classes apart?

Patients fall ill at both ends of a scale, and who gets diagnosed depends on the clinic. Four models
of the class, the same model of the labels: linear, splines or a kernel before the linear cross-fit,
and boosted trees::

    python examples/classes_that_are_not_linear.py [--figure classes_that_are_not_linear.png]

The columns that drive labelling pass through the basis expansion under their own names, so that
``propensity_features`` finds them.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.compose import ColumnTransformer
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from sarlearn import BoostedSARClassifier, CrossFitSARClassifier
from sarlearn.inspection import ProbabilityDisplay
from sarlearn.tables import TablePipeline

DRIVERS = ["distance"]
N_COMPONENTS = 200


def patients(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """A table, who is ill, and who of the ill was diagnosed."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        rng.random((n_rows, 5)), columns=["glucose", "age", "bmi", "x", "distance"]
    )
    glucose, age, bmi = table["glucose"], table["age"], table["bmi"]
    eta = 60 * (glucose - 0.5) ** 2 - 6 + 8 * np.sin(np.pi * age * bmi)
    ill = rng.random(n_rows) < expit(eta.to_numpy() - 2)
    diagnosed = ill & (rng.random(n_rows) < expit(2 - 4 * table["distance"].to_numpy()))
    return table, ill, diagnosed


def expanded(basis, Cs) -> TablePipeline:
    """A basis of all columns, and the drivers of labelling as they are, before the cross-fit."""
    columns = ColumnTransformer(
        [("basis", basis, slice(None)), ("as they are", "passthrough", DRIVERS)],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    learner = CrossFitSARClassifier(DRIVERS, Cs=Cs, random_state=0)
    return TablePipeline([("columns", columns), ("crossfit", learner)])


def models(n_columns: int) -> dict:
    """Penalties are those of a basis with so many columns of size one."""
    splines = SplineTransformer(n_knots=6)
    kernel = Nystroem(gamma=0.5 / n_columns, n_components=N_COMPONENTS, random_state=0)
    return {
        "linear": CrossFitSARClassifier(DRIVERS, random_state=0),
        "splines": expanded(splines, [0.01, 0.1, 1.0, 10.0]),
        "kernel": expanded(
            make_pipeline(StandardScaler(), kernel), N_COMPONENTS * np.array([0.001, 0.01, 0.1, 1])
        ),
        "boosted trees": BoostedSARClassifier(DRIVERS, random_state=0),
    }


def draw(fitted: dict, table: pd.DataFrame, path: Path) -> None:
    """How the class follows one column, by each model that takes the table as it is."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for name, ax in zip(["linear", "boosted trees"], axes, strict=True):
        ProbabilityDisplay.from_estimator(fitted[name], table, feature="glucose", ax=ax)
        ax.set_title(name)
    partial = path.with_name(path.name + ".partial")
    figure.savefig(partial, format=path.suffix.lstrip(".") or "png", dpi=120)
    os.replace(partial, path)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", type=Path, default=Path("classes_that_are_not_linear.png"))
    figure = parser.parse_args(arguments).figure

    table, ill, diagnosed = patients(3000, seed=0)
    new, new_ill, _ = patients(5000, seed=1)
    print(f"{len(table):,} patients, {diagnosed.sum()} diagnosed. Ill: {ill.mean():.1%}.\n")
    print(f"{'model':<14} {'ill, estimated':>15} {'AUC, new patients':>18}")
    fitted = {}
    for name, model in models(table.shape[1]).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a linear model warns that it may be wrong
            fitted[name] = model.fit(table, diagnosed)
        last = fitted[name][-1] if isinstance(model, TablePipeline) else fitted[name]
        auc = roc_auc_score(new_ill, fitted[name].predict_proba(new)[:, 1])
        print(f"{name:<14} {last.class_prior_:>15.1%} {auc:>18.3f}")
    draw(fitted, table, figure)
    print(f"\nWrote {figure}.")


if __name__ == "__main__":
    main()
