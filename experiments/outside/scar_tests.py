"""The library's test of SCAR on the data and labellings of the ECAI 2024 study.

Columns are chosen as in the study's program: of two that correlate by .95 or more the later goes,
then the 20 that share most information with the class stay, the most informative first. So x_1,
along which S1 labels, is the column that says most about the class.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from sklearn.feature_selection import mutual_info_classif

from experiments.data_sets import load_uci
from sarlearn.inspection import scar_test

from ..harness.cells import Fields, seed_from
from .labelling import departure

MOST_COLUMNS, COLLINEAR = 20, 0.95


def cells(settings: Fields) -> Iterator[Fields]:
    """Batches outermost.

    Settings: ``datasets``, ``schemes``, ``strengths``, ``label_frequencies``, ``tested`` ("x1",
    "all"), ``batches`` of ``data_sets`` each, ``draws``.
    """
    for batch, scheme, strength, frequency, dataset, tested in product(
        range(settings["batches"]),
        settings["schemes"],
        settings["strengths"],
        settings["label_frequencies"],
        settings["datasets"],
        settings["tested"],
    ):
        yield {
            "dataset": dataset,
            "scheme": scheme,
            "strength": strength,
            "label_frequency": frequency,
            "tested": tested,
            "batch": batch,
            "data_sets": settings["data_sets"],
            "draws": settings["draws"],
        }


def measure(
    dataset: str,
    scheme: str,
    strength: float,
    label_frequency: float,
    tested: str,
    batch: int,
    data_sets: int,
    draws: int,
) -> dict[str, Any]:
    """How many labellings of a batch the test rejects at the 5 % level."""
    X, y = load(dataset)
    e = departure(scheme, strength, label_frequency, X, y)
    columns = {"x1": [0], "all": list(range(X.shape[1]))}[tested]
    rejected = 0
    for number in range(data_sets):
        names = ("scar test", dataset, scheme, strength, label_frequency, batch, number)
        rng = np.random.default_rng(seed_from(*names))
        s = (y == 1) & (rng.random(len(y)) < e)
        found = scar_test(X, s, columns, n_draws=draws, random_state=int(rng.integers(2**32)))
        rejected += found.p_value <= 0.05
    return {"rejected_count": rejected, "tested_count": data_sets, "n_columns": X.shape[1]}


@lru_cache(maxsize=3)
def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The columns that the study keeps, in its order, and the true classes."""
    data = load_uci(name)
    X, y = data.X, data.y
    correlation = np.corrcoef(X, rowvar=False)
    kept = [
        j for j in range(X.shape[1]) if not any(correlation[i, j] >= COLLINEAR for i in range(j))
    ]
    shared = mutual_info_classif(X[:, kept], y, random_state=0)
    order = np.argsort(-shared, kind="stable")[:MOST_COLUMNS]
    return X[:, np.asarray(kept)[order]], y
