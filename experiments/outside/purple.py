"""Relative prevalence on the simulation of PURPLE (Shanmugam, Hou and Pierson, 2024).

Two groups of rows, A and B, with five normal columns of variance 16 whose means differ by ``gap``,
and one rule for the class; of the positives of A one half is labelled, of those of B the share
``frequency``, at random. How many times as common are positives in A as in B? Measured by the
authors' logarithm, to the base 2, of the estimate over the truth among rows held out.

Rules: "separable" is the sign of the mean of the columns, with the rows near the border left out;
"overlap" its logistic function; "overlaid" three quarters of that, so that nobody is a sure
positive. ``difference`` adds to the class probability in A, which is what PURPLE assumes away.
"""

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import percentileofscore
from sklearn.model_selection import train_test_split

from sarlearn import SARClassifier
from sarlearn.inspection import relative_prevalence

from ..harness.cells import Fields, seed_from

N_COLUMNS, SPREAD, FREQUENCY_OF_A = 5, 4.0, 0.5
TEST_SHARE = 0.4


class Rows(NamedTuple):
    """Columns, of which the first is 1 in group A, labels and classes."""

    X: np.ndarray
    s: np.ndarray
    y: np.ndarray

    def take(self, rows) -> "Rows":
        return Rows(*(part[rows] for part in self))


def cells(settings: Fields) -> Iterator[Fields]:
    """Settings: ``variants`` (lists of rule, gap, frequency, difference, rows of B), ``repeats``,
    ``methods``."""
    for repeat in range(settings["repeats"]):
        for rule, gap, frequency, difference, rows in settings["variants"]:
            for method in settings["methods"]:
                yield {
                    "rule": rule,
                    "gap": gap,
                    "frequency": frequency,
                    "difference": difference,
                    "rows_of_b": rows,
                    "repeat": repeat,
                    "method": method,
                }


def measure(
    rule: str,
    gap: float,
    frequency: float,
    difference: float,
    rows_of_b: int,
    repeat: int,
    method: str,
) -> dict[str, Any]:
    """Simulate, learn from three fifths of the rows, and compare with the others."""
    rng = np.random.default_rng(
        seed_from("purple", rule, gap, frequency, difference, rows_of_b, repeat)
    )
    a = group(rule, 1.0, difference, 10_000, rng)
    b = group(rule, 1.0 + gap, 0.0, rows_of_b, rng)
    parts = [labelled(*a, FREQUENCY_OF_A, 1, rng), labelled(*b, frequency, 0, rng)]
    both = Rows(*map(np.concatenate, zip(*parts, strict=True)))
    train, test = train_test_split(
        np.arange(len(both.y)), test_size=TEST_SHARE, random_state=int(rng.integers(2**32))
    )
    began = time.process_time()
    found = METHODS[method](both.take(train))
    truth = ratio(both.take(test), both.y[test])
    return found | {
        "truth": truth,
        "log2_error": float(np.log2(found["ratio"] / truth)),
        "cpu_seconds": time.process_time() - began,
    }


def group(rule: str, centre: float, difference: float, n_rows: int, rng):
    """Columns and classes of one group."""
    X = rng.normal(centre, SPREAD, size=(n_rows, N_COLUMNS))
    direction = X.mean(axis=1)
    if rule == "separable":
        border = percentileofscore(direction, 0)
        ends = [max(border - 40, 10), min(border + 40, 90)]
        low, high = np.percentile(direction, ends)
        kept = (direction < low) | (direction > high)
        return X[kept], direction[kept] > 0
    scale = {"overlap": 1.0, "overlaid": 0.75}[rule]
    return X, rng.random(n_rows) < scale * expit(direction) + difference


def labelled(X, y, frequency: float, is_a: int, rng) -> Rows:
    """A share of the positives, drawn at random."""
    positives = np.flatnonzero(y)
    s = np.zeros(len(y), dtype=bool)
    s[rng.choice(positives, int(len(positives) * frequency), replace=False)] = True
    return Rows(np.column_stack([np.full(len(y), is_a), X]), s, y)


def ratio(rows: Rows, values: np.ndarray) -> float:
    """Mean of A over mean of B."""
    of_a = rows.X[:, 0] == 1
    return float(values[of_a].mean() / values[~of_a].mean())


def by_learner(rows: Rows, **parameters) -> dict[str, float]:
    """The library's answer, with its interval."""
    others = list(range(1, rows.X.shape[1]))
    model = SARClassifier([0], classifier_features=others, random_state=0, **parameters)
    model.fit(rows.X, rows.s)
    of_a = np.where(rows.X[:, 0] == 1, "A", "B")
    found = relative_prevalence(model, rows.X, rows.s, of_a, reference="B")
    return {
        "ratio": float(found.ratio[0]),
        "low": float(found.low[0]),
        "high": float(found.high[0]),
        "level_error": float(model.class_prior_ - rows.y.mean()),
    }


def purple(rows: Rows) -> dict[str, float]:
    """PURPLE by maximum likelihood: one logistic class, one label frequency per group."""
    design = np.column_stack([rows.X[:, 1:], np.ones(len(rows.s))])
    is_a = rows.X[:, 0] == 1

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        f = expit(design @ theta[:-2])
        c = expit(np.where(is_a, theta[-2], theta[-1]))
        p = np.clip(f * c, 1e-12, 1 - 1e-12)
        value = -np.where(rows.s, np.log(p), np.log1p(-p)).mean()
        slope = np.where(rows.s, -1.0, p / (1 - p)) / len(p)
        of_c = slope * (1 - c)
        gradient = [design.T @ (slope * (1 - f)), [of_c[is_a].sum(), of_c[~is_a].sum()]]
        return float(value), np.concatenate(gradient)

    theta = minimize(loss, np.zeros(design.shape[1] + 2), jac=True, method="BFGS").x
    f = expit(design @ theta[:-2])
    return {"ratio": ratio(rows, f), "level_error": float(f.mean() - rows.y.mean())}


METHODS = {
    "true classes": lambda rows: {"ratio": ratio(rows, rows.y)},
    "labels taken for classes": lambda rows: {"ratio": ratio(rows, rows.s)},
    "PURPLE": purple,
    "relative_prevalence": by_learner,
    "relative_prevalence, linear": lambda rows: by_learner(rows, class_models=("linear",)),
}
