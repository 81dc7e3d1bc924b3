"""Selection of propensity attributes: on newsgroups with three, on tables with one or none."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit

from sarlearn.inspection import select_propensity_features
from sarlearn.labelling import ProductLabelling, label

from ..harness.cells import Fields, seed_from
from ..harness.data import TABLES, load, load_rows
from ..paper.three_attributes import attribute_order

MAX_ROWS = 3000
MAX_CANDIDATES = 10


def cells(settings: Fields) -> Iterator[Fields]:
    """Settings: ``datasets``, ``labellings`` of each, ``flexible`` (a list).

    On a table labellings take turns: one attribute drives labelling, or none (every third).
    """
    for number in range(settings["labellings"]):
        for dataset in settings["datasets"]:
            for flexible in settings.get("flexible", [False]):
                yield {"dataset": dataset, "labelling": number, "flexible": flexible}


def measure(dataset: str, labelling: int, flexible: bool) -> dict[str, Any]:
    """True and false attributes found."""
    seed = seed_from("selection", dataset, labelling)
    if dataset in TABLES:
        X, s, candidates, true = _table(dataset, labelling, np.random.default_rng(seed))
    else:
        data = load(dataset)
        order = attribute_order(dataset, 3)
        features = order[labelling % len(order)]
        true = data.columns("+".join(features))
        s, _ = label(data.X, data.y, ProductLabelling(true), random_state=seed)
        X, candidates = data.X, data.columns("+".join(data.eligible))
    found = select_propensity_features(X, s, candidates, flexible=flexible, random_state=seed)
    chosen = set(found.columns.tolist())
    first = found.path[0]
    ranked = [candidates[j] for j in np.argsort([-first.gain[name] for name in found.candidates])]
    return {
        "n_candidates": len(candidates),
        "n_true": len(true),
        "true_found": len(chosen & set(true)),
        "false_found": len(chosen - set(true)),
        "exact": chosen == set(true),
        "true_first": bool(true) and ranked[0] in true,
    }


def _table(dataset: str, labelling: int, rng):
    """Standardised rows of a table, labelled by one attribute (logistic) or by none."""
    data = load_rows(dataset, MAX_ROWS)
    X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X, dtype=np.float64)
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    usable = np.flatnonzero(spread > 0.05 * spread.max())
    candidates = np.sort(rng.permutation(usable)[:MAX_CANDIDATES]).tolist()
    if labelling % 3 == 2:
        true, e = [], np.full(len(X), 0.3)
    else:
        true = [int(rng.choice(candidates))]
        e = expit(-0.8 + 1.5 * X[:, true[0]])
    s = (data.y == 1) & (rng.random(len(X)) < e)
    return X, s, candidates, true
