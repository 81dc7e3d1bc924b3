"""Error of the class prior against the number of chances to be labelled."""

import warnings

import numpy as np
from scipy.special import expit

from sarlearn import RepeatedSARClassifier

from ..harness.cells import seed_from
from .data import rows_of

MOST_COLUMNS = 30
ROWS = 3000


def cells(settings):
    """One cell per data set, labelling and number of chances."""
    for dataset in settings["datasets"]:
        for labelling in range(settings["labellings"]):
            for chances in settings["chances"]:
                yield {"dataset": dataset, "labelling": labelling, "chances": chances}


def measure(dataset, labelling, chances):
    """Error, range, and whether the range holds the truth."""
    rng = np.random.default_rng(seed_from("chances", dataset, labelling))
    X, y = rows_of(dataset)
    if len(y) > ROWS:
        rows = rng.choice(len(y), ROWS, replace=False)
        X, y = X[rows], y[rows]
    spread = X.std(axis=0)
    X = ((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))[:, spread > 0][:, :MOST_COLUMNS]
    columns = rng.choice(X.shape[1], 2, replace=False)
    signs = rng.choice([-1.0, 1.0], 2)
    weather = rng.standard_normal((len(y), 5))
    e = expit(-0.9 + (X[:, columns] @ (0.5 * signs))[:, None] + 0.7 * weather)
    s = (y[:, None] & (rng.random(e.shape) < e)).astype(float)[:, :chances]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RepeatedSARClassifier(columns, C=10.0, propensity_C=100.0)
        model.fit(X, s, chances=weather[:, :chances])
    low, high = model.class_prior_range_
    truth = float(y.mean())
    return {
        "class_prior": truth,
        "labelled": float(s.any(axis=1).mean()),
        "deviation": model.class_prior_ - truth,
        "width": high - low,
        "covers": float(low <= truth <= high),
    }
