"""The demonstration: why it matters that labels are a biased sample.

Task: is a handwritten digit even? Some even digits carry a label, and heavy strokes are labelled
more often than faint ones. All data ship with scikit-learn.
"""

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from sarlearn.classifiers import SARClassifier, SAREMClassifier, SCARClassifier
from sarlearn.exceptions import TrustWarning
from sarlearn.labelling import LogisticLabelling, label

N_LABELLINGS = 5
INK = 64  # the column of X that drives labelling
MECHANISM = LogisticLabelling([INK], coef=2.0, intercept=-0.5)
LEARNERS = {
    "labels at random (SCARClassifier)": SCARClassifier(),
    "the paper's method (SAREMClassifier)": SAREMClassifier([INK]),
    "SARClassifier": SARClassifier([INK]),
}
GUESS = "a guess: every other one is labelled"


def load_demo_data() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Digits as ``X`` (64 pixels in [0, 1], then ink), ``y`` (even), and names.

    Ink is the sum of the pixels, standardised. The probability that an even digit is labelled
    rises with it: ``sigmoid(2 ink - 0.5)``.
    """
    digits = load_digits()
    pixels = digits.data / 16.0
    ink = pixels.sum(axis=1)
    ink = (ink - ink.mean()) / ink.std()
    names = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)] + ["ink"]
    return np.column_stack([pixels, ink]), (digits.target % 2 == 0).astype(int), names


def run_demo(console=None, *, n_labellings: int = N_LABELLINGS) -> dict:
    """Ask three learners and a guess how many digits are even, under several labellings.

    Parameters
    ----------
    console : rich.console.Console, default=None
        Where to show the table; None is silent.
    n_labellings : int, default=5

    Returns
    -------
    dict
        ``rows`` (a dict for each method: share of the first labelling, mean error over all, ROC AUC
        among the unlabelled digits), ``model`` (``SARClassifier`` on the first labelling) and its
        data ``X``, ``s``, ``y``, ``propensity``, ``feature_names``.
    """
    X, y, names = load_demo_data()
    draws = [label(X, y, MECHANISM, random_state=seed) for seed in range(n_labellings)]
    s, propensity = draws[0]
    rows = [_row(GUESS, [2 * labels.mean() for labels, _ in draws], y)]
    for method, learner in LEARNERS.items():
        models = [_fit(learner, X, labels) for labels, _ in draws]
        ranking = roc_auc_score(y[s == 0], models[0].predict_posterior(X, s)[s == 0])
        rows.append(_row(method, [model.class_prior_ for model in models], y, ranking))
    result = {"rows": rows, "model": models[0], "X": X, "s": s, "y": y}
    if console is not None:
        _show(console, result)
    return result | {"propensity": propensity, "feature_names": names}


def _fit(learner, X, s):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrustWarning)  # the report tells of them
        return clone(learner).fit(X, s)


def _row(method: str, priors: list, y, ranking: float = 0.5) -> dict:
    error = float(np.abs(np.array(priors) - y.mean()).mean())
    return {"method": method, "share": float(priors[0]), "error": error, "roc_auc": float(ranking)}


def _show(console, result: dict) -> None:
    n, labelled, share = len(result["y"]), result["s"].sum(), result["y"].mean()
    low, high = result["model"].class_prior_range_
    console.print(
        f"Which of {n:,} handwritten digits are even? {labelled} carry a label, above all those\n"
        f"with much ink. In truth {share:.1%} are even; learners see pixels, ink and labels.\n"
    )
    line = "{:<40}{:>8}{:>12}{:>11}".format
    console.print(line("", "share", "mean error", "ROC AUC"))
    for row in result["rows"]:
        cells = (f"{row['share']:.1%}", f"{row['error']:.1%}", f"{row['roc_auc']:.3f}")
        console.print(line(row["method"], *cells))
    console.print(
        f"\nSARClassifier also says how sure it is: the data are compatible with {low:.0%} to "
        f"{high:.0%}.\nMean error over several labellings; ROC AUC among the unlabelled digits.\n"
        "The guess is near as every other even digit is labelled, and it ranks nothing."
    )
