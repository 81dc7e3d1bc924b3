"""The class prior under SCAR: positives labelled with one frequency, estimators compared."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from sarlearn import SAREMClassifier, priors
from sarlearn.labelling import ConstantLabelling, label

from ..harness.cells import Fields, seed_from
from ..harness.data import load_rows
from .learners import Setting

PAPER_METHODS = ["SAR-EM", "KM2", "TIcE", "AlphaMax_N", "AlphaMax", "KM1", "EN", "PE", "pen-L1"]
LATER_METHODS = ["DEDPUL", "BBE"]

N_FOLDS = 5
# Each is called with random_state; SAR-EM draws nothing.
ESTIMATORS = {
    "EN": priors.ElkanNoto,
    "PE": priors.PearsonDivergence,
    "pen-L1": priors.PenalizedL1,
    "KM1": partial(priors.KernelMean, "KM1"),
    "KM2": partial(priors.KernelMean, "KM2"),
    "AlphaMax": priors.AlphaMax,
    "AlphaMax_N": priors.AlphaMaxN,
    "TIcE": priors.TIcE,
    "TIcE, as published": partial(priors.TIcE, bounds_from="tree_fold"),
    "DEDPUL": priors.DEDPUL,
    "BBE": priors.BestBinEstimator,
}
SAREM_SETTINGS = {
    "SAR-EM": Setting(),
    "SAR-EM, C=10": Setting(C=10.0),
    "SAR-EM, fixed point": Setting(stop="fixed_point"),
    "SAR-EM, boosting": Setting(classifier="boosting"),
}


def cells(settings: Fields) -> Iterator[Fields]:
    """Repeats outermost and methods innermost: a run cut short has seen all methods alike.

    Settings: ``datasets``, the smallest first; ``label_frequencies``; ``repeats``, labellings;
    ``max_rows``, to which larger data sets are subsampled (0 keeps all); ``methods``.
    """
    for repeat, dataset, frequency, method in product(
        range(settings["repeats"]),
        settings["datasets"],
        settings["label_frequencies"],
        settings["methods"],
    ):
        yield {
            "dataset": dataset,
            "max_rows": settings["max_rows"],
            "label_frequency": frequency,
            "repeat": repeat,
            "method": method,
        }


def measure(
    dataset: str, max_rows: int, label_frequency: float, repeat: int, method: str
) -> dict[str, Any]:
    """Label with one frequency, estimate the class prior, and compare with the true one."""
    data = load_rows(dataset, max_rows)
    seed = seed_from("labels", dataset, label_frequency, repeat)
    s, _ = label(data.X, data.y, ConstantLabelling(label_frequency), random_state=seed)
    X = data.X
    if method in SAREM_SETTINGS:
        setting = SAREM_SETTINGS[method]
        classifier = setting.model()
        if classifier is not None and sparse.issparse(X):
            X = X.toarray()
        model = SAREMClassifier(
            C=setting.C,
            decay=setting.decay,
            stop=setting.stop,
            max_iter=setting.max_iter,
            classifier=classifier,
        )
    elif method in ESTIMATORS:
        seed = seed_from("estimator", dataset, max_rows, label_frequency, repeat, method)
        rng = np.random.RandomState(seed)
        model = ESTIMATORS[method](random_state=rng)
        if "cv" in model.get_params():
            # Dealt by place, as in the programs compared with. The library's own keep equal rows
            # together, and some of these data sets have such rows.
            model.set_params(cv=StratifiedKFold(N_FOLDS, shuffle=True, random_state=rng))
    else:
        known = ", ".join([*SAREM_SETTINGS, *ESTIMATORS])
        raise ValueError(f"method is one of {known}; got {method!r}.")
    model.fit(X, s)
    return {
        "class_prior": float(data.y.mean()),
        "estimate": model.class_prior_,
        "prior_error": model.class_prior_ - float(data.y.mean()),
        "n_rows": len(data.y),
        "n_labelled": int(s.sum()),
        "n_iter": getattr(model, "n_iter_", None),
        "converged": getattr(model, "converged_", None),
    }
