"""Error of the class prior and coverage of its interval against the number of checked rows."""

import numpy as np

from sarlearn._engine.survey import strata_of
from sarlearn.audit import draw

from ..harness.cells import seed_from
from .data import labelled, posterior, weak_class

# Uniform part and number of strata of the designs that were compared.
DESIGNS = {
    "neyman 10": (0.0, 10),
    "mixed 3": (0.5, 3),
    "mixed 5": (0.5, 5),
    "mixed 10": (0.5, 10),
    "proportional 10": (1.0, 10),
}


def cells(settings):
    """One cell per data set, labelling, design and number of rows; all draws within it."""
    for dataset in settings["datasets"]:
        first = settings.get("first_labelling", 0)
        for labelling in range(first, first + settings["labellings"]):
            for design in settings["designs"]:
                for rows in settings["rows"]:
                    yield {
                        "dataset": dataset,
                        "labelling": labelling,
                        "design": design,
                        "rows": rows,
                        "draws": settings["draws"],
                    }


def measure(dataset, labelling, design, rows, draws):
    """Root mean squared error, coverage, width; error of labels alone beside it."""
    data = labelled(dataset, labelling)
    q, prior = posterior(dataset, labelling)
    truth, unlabelled = float(data.y.mean()), np.flatnonzero(~data.s)
    out = {
        "n_rows": len(data.y),
        "class_prior": truth,
        "label_share": float(data.s.mean()),
        "labels_only_error": prior - truth,
        "least_error": _least_error(dataset, data, rows),
    }
    if len(unlabelled) <= rows:
        return {**out, "rmse": 0.0}
    rng = np.random.default_rng(seed_from("audits", dataset, labelling, rows))
    if design == "top-ranked":
        # Not drawn by chance, so only the model can speak for the rows that were not checked.
        checked = unlabelled[np.argsort(-q[unlabelled], kind="stable")[:rows]]
        known = np.where(np.isin(np.arange(len(q)), checked), data.y, q)
        return {**out, "rmse": abs(float(np.mean(known)) - truth)}
    found = np.array([_draw(data, q, unlabelled, design, rows, rng) for _ in range(draws)])
    estimate, low, high = found.T
    return {
        **out,
        "rmse": float(np.sqrt(np.mean((estimate - truth) ** 2))),
        "bias": float(np.mean(estimate - truth)),
        "coverage": float(np.mean((low <= truth) & (truth <= high))),
        "missed_above": float(np.mean(truth > high)),
        "width": float(np.mean(high - low)),
    }


def _least_error(dataset, data, rows):
    """The bound of Godambe and Joshi (1965): whatever design draws so many rows, and whatever
    unbiased estimate is made of them, its error is at least this on average over the classes,
    given the true posteriors. These are known where rows are simulated."""
    if not dataset.startswith("Weak"):
        return None
    f, left = weak_class(data.X), ~data.s
    q = (f * (1 - data.e) / (1 - f * data.e))[left]
    spread = q * (1 - q)
    variance = np.sum(np.sqrt(spread)) ** 2 / rows - np.sum(spread)
    return float(np.sqrt(max(variance, 0.0))) / len(data.y)


def _draw(data, q, unlabelled, design, rows, rng):
    audited, probability = np.full(len(q), np.nan), np.full(len(q), np.nan)
    if design == "uniform":
        checked = rng.choice(unlabelled, rows, replace=False)
        chance = np.full(rows, rows / len(unlabelled))
    elif design == "suggested":
        checked, _, chance = draw(q, unlabelled, rows, rng)
    else:
        part, count = DESIGNS[design]
        checked, _, chance = draw(q, unlabelled, rows, rng, uniform_part=part, count=count)
    audited[checked], probability[checked] = data.y[checked], chance
    strata = strata_of(data.s, audited, probability)
    return strata.estimate, *strata.interval()
