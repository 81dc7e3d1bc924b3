"""Three propensity attributes: ``e = 0.9^k 0.5^(3-k)``, k of the three words in the document.

Also the study of unbalanced classes, where a share of one class is left out first, and that of
settings other than the paper's.
"""

from collections.abc import Iterator
from dataclasses import asdict, fields
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np

from sarlearn.labelling import ProductLabelling, label

from ..harness.cells import Fields, seed_from
from ..harness.data import load, rebalance
from .learners import BOOSTED_METHODS, METHODS, Setting, evaluate

# Shares kept of the positives and of the negatives.
BALANCES = {
    "as is": (1.0, 1.0),
    "30% of positives": (0.3, 1.0),
    "30% of negatives": (1.0, 0.3),
}
SETTINGS = [field.name for field in fields(Setting)]


def cells(settings: Fields) -> Iterator[Fields]:
    """Repeats outermost and data sets innermost: a run cut short has seen all data sets alike.

    Settings: ``datasets``; ``combinations``, how many of a data set's combinations of three (0 is
    all); ``repeats``, labellings, each with folds of its own; ``folds``, how many of the five are
    measured; ``balances``; ``variants``, by name, each some of C, decay, stop and classifier, and
    limits of its own: ``datasets``, ``combinations``, ``folds``. With each variant goes the paper's
    setting on the same rows.
    """
    variants = list(settings.get("variants", {"paper": {}}).values())
    orders = {name: attribute_order(name, 3) for name in settings["datasets"]}
    for repeat, number, variant, balance, dataset in product(
        range(settings["repeats"]),
        range(max(len(order) for order in orders.values())),
        variants,
        settings.get("balances", ["as is"]),
        settings["datasets"],
    ):
        limits = settings | variant
        if dataset not in limits["datasets"] or number >= len(orders[dataset]):
            continue
        if limits["combinations"] and number >= limits["combinations"]:
            continue
        chosen = Setting(**{key: variant[key] for key in SETTINGS if key in variant})
        methods = METHODS if chosen.classifier == "logistic" else BOOSTED_METHODS
        for setting, method in product(dict.fromkeys([Setting(), chosen]), methods):
            supervised = method == "supervised"
            if supervised and (number or setting.stop != "slope"):
                continue  # it depends on no attributes, and does not iterate EM
            yield {
                "dataset": dataset,
                "balance": balance,
                "features": "" if supervised else "+".join(orders[dataset][number]),
                "repeat": repeat,
                "folds": limits["folds"],
                "method": method,
                **asdict(setting),
                **new_labels(repeat, supervised),
            }


def new_labels(repeat: int, supervised: bool) -> Fields:
    """The field that says which draw of the labels a cell has; none for the first.

    Repeats once shared their labels, and only the folds were new. Those of the first repeat are
    what they were, and their measurements still hold; the others have a name of their own.
    """
    return {"labelling": repeat} if repeat and not supervised else {}


def label_seed(*names: Any, labelling: int) -> int:
    """The seed of the labels of these names, in one of any number of draws."""
    return seed_from("labels", *names, *([labelling] if labelling else []))


@cache  # grids ask for it again and again, of more data sets than stay loaded
def attribute_order(dataset: str, size: int) -> tuple[tuple[str, ...], ...]:
    """All combinations of eligible attributes, shuffled: any first few are a random sample."""
    possible = list(combinations(load(dataset).eligible, size))
    order = np.random.default_rng(seed_from("order", dataset, size)).permutation(len(possible))
    return tuple(possible[i] for i in order)


def measure(
    dataset: str,
    balance: str,
    features: str,
    repeat: int,
    folds: int,
    method: str,
    C: float,
    decay: float,
    stop: str,
    classifier: str,
    labelling: int = 0,
) -> dict[str, Any]:
    """Label for a combination of attributes, anew in each repeat; fit and score on each fold."""
    data = load(dataset)
    if balance != "as is":
        data = rebalance(data, dataset, *BALANCES[balance])
    columns = data.columns(features) if features else []
    if columns:
        seed = label_seed(dataset, balance, features, labelling=labelling)
        s, propensity = label(data.X, data.y, ProductLabelling(columns), random_state=seed)
    else:
        s, propensity = data.y, np.ones(len(data.y))
    return evaluate(
        data,
        s,
        propensity,
        columns,
        dataset=dataset,
        method=method,
        repeat=repeat,
        n_folds=folds,
        setting=Setting(C, decay, stop, classifier),
    )
