"""One propensity attribute: the propensities of rows with and without it differ more and more."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from sarlearn.labelling import ProductLabelling, label

from ..harness.cells import Fields
from ..harness.data import load
from .learners import METHODS, Setting, evaluate
from .three_attributes import attribute_order, label_seed, new_labels

STEP = 0.2


def differences(mean: float) -> list[float]:
    """0, 0.2, 0.4, ... as far as both propensities stay in [0, 1].

    Examples
    --------
    >>> differences(0.3), differences(0.5)
    ([0.0, 0.2, 0.4, 0.6], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    widest = 2 * min(mean, 1 - mean)
    return [round(STEP * k, 10) for k in range(int(widest / STEP + 1e-9) + 1)]


def cells(settings: Fields) -> Iterator[Fields]:
    """Repeats outermost and data sets innermost: a run cut short has seen all data sets alike.

    Settings: ``datasets``; ``attributes``, how many of a data set's eligible ones (0 is all);
    ``directions``, 1 (which attributes take it in turn) or 2; ``means``; ``repeats``; ``folds``.
    """
    orders = {name: attribute_order(name, 1) for name in settings["datasets"]}
    most = max(len(order) for order in orders.values())
    n_attributes = min(settings["attributes"] or most, most)
    for repeat, number, sign, mean, dataset in product(
        range(settings["repeats"]),
        range(n_attributes),
        (1, -1),
        settings["means"],
        settings["datasets"],
    ):
        if number >= len(orders[dataset]):
            continue
        if settings["directions"] == 1 and sign != (-1) ** number:
            continue
        (feature,) = orders[dataset][number]
        for difference, method in product(differences(mean), METHODS):
            if difference == 0 and sign != (-1) ** number:
                continue  # both directions are one
            supervised = method == "supervised"
            if supervised and (number or difference or mean != settings["means"][0]):
                continue  # it depends on no labels
            yield {
                "dataset": dataset,
                "feature": "" if supervised else feature,
                "mean": 1.0 if supervised else mean,
                "difference": 0.0 if supervised else (sign * difference or 0.0),
                "repeat": repeat,
                "folds": settings["folds"],
                "method": method,
                **new_labels(repeat, supervised),
            }


def measure(
    dataset: str,
    feature: str,
    mean: float,
    difference: float,
    repeat: int,
    folds: int,
    method: str,
    labelling: int = 0,
) -> dict[str, Any]:
    """Label for an attribute and its two propensities, anew in each repeat; score on each fold."""
    data = load(dataset)
    if feature:
        columns = data.columns(feature)
        ends = mean + difference / 2, mean - difference / 2
        high, low = np.clip(ends, 0, 1)  # steps of 0.2 may miss the ends by a rounding
        mechanism = ProductLabelling(columns[0], high=high, low=low)
        seed = label_seed(dataset, feature, mean, difference, labelling=labelling)
        s, propensity = label(data.X, data.y, mechanism, random_state=seed)
    else:
        columns, s, propensity = [], data.y, np.ones(len(data.y))
    return evaluate(
        data,
        s,
        propensity,
        columns,
        dataset=dataset,
        method=method,
        repeat=repeat,
        n_folds=folds,
        setting=Setting(),
    )
