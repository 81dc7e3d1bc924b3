"""One dict with everything a report says; HTML, JSON and terminal text are made from it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sarlearn import __version__
from sarlearn._view.curves import convergence, posterior_by, propensity_by
from sarlearn._view.parts import Attribute, Parts, take_apart, value_text
from sarlearn.reporting import words
from sarlearn.reporting.comparison import compare, fitted_to, positives_of
from sarlearn.reporting.effects import classifier_odds, importance, propensity_odds

MAX_PROPENSITY_ATTRIBUTES = 12
MAX_IMPORTANCE = 12
MAX_STRATA = 6


def summarize(
    model,
    X,
    s,
    *,
    ids: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
    top: int = 20,
    source: str | None = None,
    label: str | None = None,
    id_name: str | None = None,
    warnings: Sequence[Warning | str] = (),
    checks: dict[str, Any] | None = None,
    whole: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Everything a report says about a fitted model on a table, as plain values.

    Parameters
    ----------
    model : fitted SAREMClassifier, or a pipeline that ends in one
    X : table or matrix
    s : array-like of shape (n_rows,)
        Observed labels.
    ids : sequence, optional
        What to call each row; by default its number, from 1.
    feature_names : sequence of str, optional
        What to call the columns of a matrix that has no names.
    top : int
        How many of the most probable hidden positives to list.
    source, label, id_name : str, optional
        Names of the file, the label column and the identifier, for the text.
    warnings : sequence of Warning or str
        What the fit warned of, shown with what is found here. Of two warnings of one class (see
        :mod:`sarlearn.exceptions`) the fit's is shown.
    checks : dict, optional
        As :func:`~sarlearn.reporting.run_checks` gives them, to be told too.
    whole : dict, optional
        ``rows``, ``labelled`` and ``positives`` (the sum of all posteriors) of the data that X is
        a sample of: they take the place of the sample's own.

    Returns
    -------
    dict
        Only dicts, lists, text, numbers, booleans and None: ``json.dumps`` takes it.
    """
    parts = take_apart(model, X, feature_names)
    labelled = parts.labelled(s)
    if ids is not None and len(ids) != parts.n_rows:
        raise ValueError(f"ids has {len(ids)} values, X has {parts.n_rows} rows.")
    f, e = parts.probability(), parts.propensity()
    posterior = parts.final.predict_posterior(parts.matrix, parts.final.classes_[labelled * 1])
    chosen = parts.propensity_attributes
    used = importance(parts)
    summary: dict[str, Any] = {
        "sarlearn": __version__,
        "source": source,
        "label": label,
        "model": _model(parts),
        "data": _data(parts, labelled),
        "estimates": _estimates(parts, labelled, f, posterior),
        "certainty": _certainty(parts, labelled, f),
        "propensity": {
            "mean": float(np.average(e, weights=np.maximum(f, 1e-300))),
            "lowest": float(e.min()),
            "highest": float(e.max()),
            "attributes": [
                {
                    **propensity_by(parts, attribute.name),
                    "groups": _groups(attribute, labelled, posterior),
                }
                for attribute in chosen[:MAX_PROPENSITY_ATTRIBUTES]
            ],
            "not_shown": [a.name for a in chosen[MAX_PROPENSITY_ATTRIBUTES:]],
            "odds": propensity_odds(parts),
        },
        "classifier": {
            "importance": used[:MAX_IMPORTANCE],
            "not_shown": max(0, len(used) - MAX_IMPORTANCE),
            "odds": classifier_odds(parts),
        },
        "comparison": compare(parts, labelled),
        "checks": checks,
        "candidates": {
            "id": id_name or "row",
            "rows": _candidates(parts, labelled, f, e, posterior, ids, top),
        },
        "posterior": posterior_by(parts, labelled),
        "convergence": {
            **(convergence(model) if hasattr(parts.final, "history_") else {}),
            "n_iter": int(getattr(parts.final, "n_iter_", 0)),
            "converged": bool(getattr(parts.final, "converged_", True)),
        },
    }
    if whole is not None:
        warnings = [*warnings, *_of_the_whole(summary, whole)]
    summary["warnings"] = words.warnings_of(summary, list(warnings))
    summary["assumptions"] = words.assumptions_of(summary)
    summary["text"] = {
        "headline": words.headline(summary),
        "sure": words.sure_sentence(summary),
        "comparison": words.comparison_sentence(summary),
        "convergence": words.convergence_sentence(summary),
    }
    return plain_values(summary)


def _model(parts: Parts) -> dict[str, Any]:
    parameters = parts.final.get_params(deep=False)
    base = parameters.get("classifier")
    return {
        "estimator": type(parts.final).__name__,
        "classifier": "logistic regression" if base is None else type(base).__name__,
        "propensity_attributes": [a.name for a in parts.propensity_attributes],
        "settings": {
            name: value
            for name, value in parameters.items()
            if isinstance(value, int | float | str | bool)
        },
    }


def _data(parts: Parts, labelled: np.ndarray) -> dict[str, Any]:
    encoder = parts.encoder
    return {
        "rows": parts.n_rows,
        "labelled": int(labelled.sum()),
        "unlabelled": int((~labelled).sum()),
        "attributes": len(parts.attributes),
        "columns": len(parts.names),
        "left_out": [] if encoder is None else list(encoder.constant_),
    }


def _estimates(parts: Parts, labelled, f, posterior) -> dict[str, Any]:
    positives = positives_of(parts.final, f, posterior, labelled)
    hidden = positives - float(labelled.sum())
    return {
        "class_prior": positives / parts.n_rows,
        "label_frequency": float(labelled.sum()) / positives,
        "hidden_positives": hidden,
        "hidden_share": hidden / max(1, int((~labelled).sum())),
        "mean_probability": float(f.mean()),
        "fitted_class_prior": float(parts.final.class_prior_),
    }


def _of_the_whole(summary: dict[str, Any], whole: dict[str, Any]) -> list[str]:
    """Put the counts of all rows in the place of a sample's; what is to be said of the others."""
    rows, labelled, positives = whole["rows"], whole["labelled"], whole["positives"]
    n_sample = summary["data"]["rows"]
    share = rows / n_sample
    summary["data"] |= {"rows": rows, "labelled": labelled, "unlabelled": rows - labelled}
    summary["estimates"] |= {
        "class_prior": positives / rows,
        "label_frequency": labelled / positives,
        "hidden_positives": positives - labelled,
        "hidden_share": (positives - labelled) / max(1, rows - labelled),
    }
    for approach in summary["comparison"]["approaches"]:
        approach["hidden_positives"] *= share
    for attribute in summary["propensity"]["attributes"]:
        for group in attribute["groups"]:
            for name in ("rows", "labelled", "positives"):
                group[name] = type(group[name])(group[name] * share)
    if n_sample == rows:
        return []
    return [
        f"Counts of groups, curves and the rows listed are those of {n_sample:,} of the {rows:,} "
        "rows, spread evenly; the numbers of all rows are sums over them."
    ]


def _certainty(parts: Parts, labelled, f) -> dict[str, Any] | None:
    """What the labels leave open of the class prior, for a model that knows (a cross-fit)."""
    if not hasattr(parts.final, "class_prior_range_"):
        return None
    low, high = parts.final.class_prior_range_
    n_labelled = float(labelled.sum())
    return {
        "class_prior": float(parts.final.class_prior_),
        "low": float(low),
        "high": float(high),
        "width": float(parts.final.identification_width_),
        # Of other rows than those of the fit the range says nothing.
        "hidden_positives": [max(end * parts.n_rows - n_labelled, 0.0) for end in (low, high)]
        if fitted_to(parts.final, f)
        else None,
    }


def _groups(attribute: Attribute, labelled: np.ndarray, posterior: np.ndarray) -> list[dict]:
    """By stratum: rows, labelled rows, estimated positives, and the chance of a label."""
    codes, names = attribute.strata(MAX_STRATA)
    count = np.bincount(codes, minlength=len(names))
    marked = np.bincount(codes, weights=labelled, minlength=len(names))
    positive = np.bincount(codes, weights=posterior, minlength=len(names))
    return [
        {
            "group": name,
            "rows": int(count[code]),
            "labelled": int(marked[code]),
            "positives": float(positive[code]),
            "label_frequency": float(marked[code] / positive[code]) if positive[code] else None,
        }
        for code, name in enumerate(names)
    ]


def _candidates(parts, labelled, f, e, posterior, ids, top: int) -> list[dict]:
    unlabelled = np.flatnonzero(~labelled)
    order = unlabelled[np.argsort(-posterior[unlabelled], kind="stable")][:top]
    shown = parts.propensity_attributes[:3]
    return [
        {
            "id": str(row + 1 if ids is None else ids[row]),
            "posterior": float(posterior[row]),
            "probability": float(f[row]),
            "propensity": float(e[row]),
            "attributes": {a.name: value_text(a.values[row]) for a in shown},
        }
        for row in order
    ]


def plain_values(value):
    """The same with lists for tuples and arrays, and None for numbers that JSON cannot write."""
    if isinstance(value, dict):
        return {str(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain_values(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
