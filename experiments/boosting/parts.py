"""What would other class scores add? Parts that were tried on cells to choose by, and left out.

Beside the learner's held-out logits there are a kernel's and a linear model's, of labels by inverse
propensity. Each has a label model; class prior and propensity are averaged by how well they explain
the labels. Then trees are told that propensity, or their logits are averaged with a linear model's,
with the weight that held-out labels prefer.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from sarlearn import BoostedSARClassifier, KnownPropensityClassifier
from sarlearn._engine.averaging import LEAST_PROPENSITY, TEMPERATURE
from sarlearn._engine.boosting_data import BoostingSettings
from sarlearn._engine.boosting_starts import log_likelihood
from sarlearn._engine.flexible import kernel_scores, linear_scores
from sarlearn._engine.known_prior import PseudoCounts
from sarlearn._engine.label_model import LabelFit, LabelModel
from sarlearn.classifiers._trust import no_second_look

from ..harness.cells import Fields
from .data import make
from .settings import errors

# Shares of the linear model's logits that are tried.
SHARES = np.linspace(0, 1, 5)


def cells(settings: Fields) -> Iterator[Fields]:
    """Every labelling once."""
    for repeat, mechanism, dataset in product(
        settings["repeats"], settings["mechanisms"], settings["datasets"]
    ):
        yield {
            "phase": settings["phase"],
            "dataset": dataset,
            "mechanism": mechanism,
            "max_rows": settings["max_rows"],
            "repeat": repeat,
        }


def measure(**fields) -> dict[str, Any]:
    """Class priors and areas with and without each part."""
    cell = make(attributes="true", **fields)
    scaler = StandardScaler(with_mean=not hasattr(cell.X, "toarray")).fit(cell.X)
    Z, Z_test = (_dense(scaler.transform(X)) for X in (cell.X, cell.X_test))
    model = BoostedSARClassifier(cell.columns, random_state=0)
    with no_second_look():
        model.fit(cell.X, cell.s)
    found: dict[str, Any] = errors(model, cell)
    e = model.predict_propensity(cell.X)
    inverse = cell.s / np.maximum(e, LEAST_PROPENSITY)
    scores = {
        "own": model.held_out_logit_,
        "kernel": kernel_scores(Z, [inverse], order=model.held_out_logit_)[:, 0],
        "linear": linear_scores(Z, [inverse])[:, 0],
    }
    fits = {name: _labels(model, each, Z[:, cell.columns], cell.s) for name, each in scores.items()}
    for name, others in {"kernel": ["kernel"], "both": ["kernel", "linear"]}.items():
        prior, averaged = _average([fits["own"], *(fits[other] for other in others)])
        found[f"prior_error_with_{name}"] = prior - float(cell.y.mean())
        if name == "kernel":
            e_averaged = expit(Z[:, cell.columns] @ averaged[:-1] + averaged[-1])
    again = BoostedSARClassifier(random_state=0).fit(cell.X, cell.s, propensity=e_averaged)
    found["auc_again"] = float(roc_auc_score(cell.y_test, again.decision_function(cell.X_test)))
    line = KnownPropensityClassifier().fit(Z, cell.s, propensity=e)
    share = _share(model.held_out_logit_, scores["linear"], e, cell.s)
    logits = (1 - share) * model.decision_function(cell.X_test)
    logits += share * line.decision_function(Z_test)
    found["linear_share"], found["auc_stacked"] = share, float(roc_auc_score(cell.y_test, logits))
    return found


def _labels(model, scores, attributes, labelled) -> LabelFit:
    count = model.pseudo_counts
    return LabelModel(
        scores,
        attributes,
        labelled,
        propensity_ridge=model.propensity_ridge,
        slope_penalty=BoostingSettings().slope_penalty,
        pseudo_counts=PseudoCounts(count, count),
    ).fit()


def _average(fits: list[LabelFit]) -> tuple[float, np.ndarray]:
    values = np.array([fit.log_likelihood for fit in fits])
    weights = np.exp((values - values.max()) / TEMPERATURE)
    weights /= weights.sum()
    phis = [np.append(fit.propensity_coef, fit.propensity_intercept) for fit in fits]
    return float(weights @ [fit.class_prior for fit in fits]), weights @ np.array(phis)


def _share(own, linear, e, labelled) -> float:
    """Of the linear model, by the likelihood of held-out labels with each share."""
    none = np.empty((len(own), 0))
    fit = LabelModel(linear, none, labelled, known_propensity=e).fit()
    linear = fit.slope * linear + fit.intercept
    values = [log_likelihood((1 - w) * own + w * linear, e, labelled, None) for w in SHARES]
    weights = np.exp(np.array(values) - max(values))
    return float(weights @ SHARES / weights.sum())


def _dense(X) -> np.ndarray:
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)
