"""The demonstration: why it matters that labels are a biased sample.

Task: is a handwritten digit even? Some even digits carry a label, and heavy strokes are labelled
more often than faint ones. All data ship with scikit-learn.
"""

import warnings
from collections.abc import Iterable

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import train_test_split

from sarlearn.classifiers import KnownPropensityClassifier, SARClassifier, SAREMClassifier
from sarlearn.exceptions import TrustWarning
from sarlearn.labelling import LogisticLabelling, label
from sarlearn.metrics import probabilistic_f1_score, propensity_mean_absolute_error

N_LABELLINGS = 10
INK = 64  # the column of X that drives labelling
MECHANISM = LogisticLabelling([INK], coef=2.0, intercept=-0.5)
METHODS = (
    "unlabelled = negative",
    "SCAR",
    "SAR-EM",
    "SARClassifier",
    "SAR, propensity known",
    "all classes known",
)
COLUMNS = (
    "probabilistic_f1",
    "f1",
    "roc_auc",
    "class_prior",
    "true_class_prior",
    "propensity_error",
)


def load_demo_data() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Digits as ``X`` (64 pixels in [0, 1], then ink), ``y`` (even), and names.

    Ink is the sum of the pixels, standardised. The chance that an even digit is labelled rises
    with it: ``sigmoid(2 ink - 0.5)``.
    """
    digits = load_digits()
    pixels = digits.data / 16.0
    ink = pixels.sum(axis=1)
    ink = (ink - ink.mean()) / ink.std()
    X = np.column_stack([pixels, ink])
    names = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)] + ["ink"]
    return X, (digits.target % 2 == 0).astype(int), names


def run_demo(console=None, *, n_labellings: int = N_LABELLINGS) -> dict:
    """Compare six ways to learn from the same labels, averaged over several labellings.

    Parameters
    ----------
    console : rich.console.Console, default=None
        Where to show progress and the table; None is silent.
    n_labellings : int, default=10

    Returns
    -------
    dict
        ``rows`` (a dict for each method), ``model`` (SARClassifier, on all rows of the first
        labelling) and its data ``X``, ``s``, ``y``, ``propensity``, ``feature_names``.
    """
    X, y, names = load_demo_data()
    seeds: Iterable[int] = range(n_labellings)
    if console is not None:
        from rich.progress import track

        seeds = track(seeds, "Labelling and learning", console=console, transient=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrustWarning)  # nobody reads those of sixty fits
        scores = np.mean([_one_labelling(X, y, seed) for seed in seeds], axis=0)
    rows = [
        {"method": method} | dict(zip(COLUMNS, map(float, values), strict=True))
        for method, values in zip(METHODS, scores, strict=True)
    ]
    s, propensity = label(X, y, MECHANISM, random_state=0)
    model = SARClassifier([INK])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrustWarning)  # the report tells of them
        model.fit(X, s)
    result = {"rows": rows, "model": model, "X": X, "s": s, "y": y}
    result |= {"propensity": propensity, "feature_names": names}
    if console is not None:
        _show(console, rows, n_labellings, label_rate=float(s.mean()))
    return result


def _one_labelling(X, y, seed: int) -> list[list[float]]:
    s, propensity = label(X, y, MECHANISM, random_state=seed)
    train, test = train_test_split(np.arange(len(y)), random_state=seed, stratify=y)
    models = [
        LogisticRegression().fit(X[train], s[train]),
        SAREMClassifier().fit(X[train], s[train]),
        SAREMClassifier(propensity_features=[INK]).fit(X[train], s[train]),
        SARClassifier([INK], random_state=seed).fit(X[train], s[train]),
        KnownPropensityClassifier().fit(X[train], s[train], propensity=propensity[train]),
        LogisticRegression().fit(X[train], y[train]),
    ]
    estimates = [
        np.ones(len(test)),  # every positive would be labelled
        models[1].predict_propensity(X[test]),
        models[2].predict_propensity(X[test]),
        models[3].predict_propensity(X[test]),
        propensity[test],
        None,
    ]
    out = []
    for model, e in zip(models, estimates, strict=True):
        p = model.predict_proba(X[test])[:, 1]
        error = np.nan
        if e is not None:
            error = propensity_mean_absolute_error(propensity[test], e, y_true=y[test])
        prior = getattr(model, "class_prior_", None)
        if prior is None:
            prior = float(model.predict_proba(X[train])[:, 1].mean())
        truth = y[test]
        out.append(
            [
                probabilistic_f1_score(truth, p),
                f1_score(truth, p > 0.5),
                roc_auc_score(truth, p),
                prior,
                float(y[train].mean()),
                error,
            ]
        )
    return out


def _show(console, rows, n_labellings: int, label_rate: float) -> None:
    from rich.table import Table

    console.print(
        f"Half of 1,797 digits are even; {label_rate:.0%} of all rows carry a label, the more ink\n"
        "the likelier. Learners see pixels, ink and labels. Scores are on held-out rows\n"
        f"with their true class, mean of {n_labellings} labellings.\n",
        highlight=False,
    )
    table = Table(title="Is a handwritten digit even?", title_justify="left", title_style="bold")
    table.add_column("learner")
    for name in ("prob. F1", "F1", "ROC AUC", "prior", "true", "e error"):
        table.add_column(name, justify="right")
    for row in rows:
        cells = ["-" if np.isnan(row[name]) else f"{row[name]:.3f}" for name in COLUMNS]
        table.add_row(
            row["method"], *cells, style="bold" if row["method"] == "SARClassifier" else None
        )
    console.print(table)
    console.print(
        "prior: estimated share of even digits, then the true one. e error: mean absolute\n"
        "error of the chance of a label, on even digits.\n"
        "SCAR takes the labelled digits for typical ones. SAR learns that labels follow\n"
        "ink, and comes close to a learner that is told every class.",
        highlight=False,
    )
