"""One dict with everything a report says; HTML, JSON and terminal text are made from it."""

import contextlib
import math
import platform
import warnings as python_warnings
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import clone

from sarlearn import __version__
from sarlearn._compat import safe_indexing
from sarlearn._view.parts import Attribute, Parts, fitted_to, take_apart, value_text
from sarlearn._words import EXACT, NARROW, number_text
from sarlearn.audit import suggest_audit
from sarlearn.classifiers import SARClassifier
from sarlearn.reporting import words
from sarlearn.reporting.candidates import candidates, review, shifted
from sarlearn.reporting.effects import importance, propensity_odds
from sarlearn.reporting.label_fit import compared_groups, label_fit

MAX_PROPENSITY_ATTRIBUTES = 12
MAX_IMPORTANCE = 12
MAX_STRATA = 6
# The same learner without propensity attributes is fitted to so many rows at most.
MAX_SCAR_ROWS = 10_000
PACKAGES = ("numpy", "scipy", "scikit-learn")


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
    noun: str = "rows",
    positive_noun: str = "positive",
    weight=None,
    sampled: bool = False,
    warnings: Sequence[Warning | str] = (),
    command: str | None = None,
    files: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything a report says about a fitted model on a table, as plain values.

    Parameters beyond those of :func:`sarlearn.report`:

    Parameters
    ----------
    weight : array-like of shape (n_rows,), optional
        How many rows each row stands for, as in the fit; all counts are sums of them.
    sampled : bool
        Whether X is a sample of the rows of the fit, for which ``weight`` stands.
    warnings : sequence of Warning or str
        What the fit warned of, shown with what is found here.
    command : str, optional
        The command that made the model, to be shown with date, versions and seed.
    files : sequence of str
        Model and table, for the command that is recommended; without them it is one of Python.

    Returns
    -------
    dict
        Only dicts, lists, text, numbers, booleans and None: ``json.dumps`` takes it.
    """
    parts = take_apart(model, X, feature_names)
    labelled = parts.labelled(s)
    if ids is not None and len(ids) != parts.n_rows:
        raise ValueError(f"ids has {len(ids)} values, X has {parts.n_rows} rows.")
    weight = np.ones(parts.n_rows) if weight is None else np.asarray(weight, dtype=np.float64)
    f, e = parts.probability(), parts.propensity()
    posterior = parts.posterior(labelled)
    used = importance(parts)
    of_fit = sampled or fitted_to(parts.final, f, weight)
    data = _data(parts, labelled, weight)
    estimates = _estimates(parts.final, data, np.average(posterior, weights=weight), of_fit)
    certainty = _certainty(parts, labelled, data if of_fit else None)
    totals = _totals(estimates, certainty)
    hidden = [shifted(posterior[~labelled], total, weight[~labelled]) for total in totals]
    asked = candidates(parts, labelled, f, e, posterior, ids, top)
    summary: dict[str, Any] = {
        "origin": _origin(parts.final, command),
        "source": source,
        "label": label,
        "nouns": {"rows": noun, "positive": positive_noun},
        "model": _model(parts),
        "data": data,
        "columns": _column_list(parts),
        "estimates": estimates,
        "certainty": certainty,
        "propensity": _propensity(parts, labelled, hidden, weight, e, posterior),
        "classifier": {
            "importance": used[:MAX_IMPORTANCE],
            "not_shown": len(used[MAX_IMPORTANCE:]),
        },
        "scar_class_prior": _scar_class_prior(parts, labelled, weight),
        "groups": compared_groups(parts, labelled, used),
        "label_fit": label_fit(parts, labelled, f * e),
        "candidates": {"id": id_name or "row", "rows": asked},
        "review": review(hidden, weight[~labelled]),
        "convergence": _convergence(parts.final),
    }
    if sampled:
        warnings = [*warnings, _of_a_sample(parts.n_rows, data["rows"])]
    summary["verdict"] = words.verdict_of(summary, files)
    summary["warnings"] = words.warnings_of(summary, list(warnings))
    summary["assumptions"] = words.assumptions_of(summary)
    summary["text"] = words.texts_of(summary)
    return plain_values(summary)


def _of_a_sample(n_sample: int, n_rows: int) -> str:
    return (
        f"Counts of groups, curves and the rows listed come from {n_sample:,} of the {n_rows:,} "
        "rows, spread evenly; the class prior is that of the fit to all rows."
    )


def _origin(final, command: str | None) -> dict[str, Any]:
    """Date, command, versions and seed, so that the same report can be made again."""
    seed = final.get_params(deep=False).get("random_state")
    return {
        "date": datetime.now().astimezone().isoformat(sep=" ", timespec="minutes"),
        "command": command,
        "seed": seed if isinstance(seed, int) else None,
        "versions": {
            "sarlearn": __version__,
            "Python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
    }


def _model(parts: Parts) -> dict[str, Any]:
    parameters = parts.final.get_params(deep=False)
    return {
        "estimator": type(parts.final).__name__,
        "classifier": _class_model(parts.final, parameters.get("classifier")),
        "propensity_attributes": [a.name for a in parts.propensity_attributes],
        "averaged": _averaged(parts),
        "tree_rows": getattr(parts.final, "n_tree_rows_", None),
        "settings": {
            name: value
            for name, value in parameters.items()
            if isinstance(value, int | float | str | bool)
        },
    }


def _averaged(parts: Parts) -> list[dict[str, Any]]:
    """The fits that name different columns, where nobody has named any; the heaviest first."""
    if not parts.auto:
        return []
    fits = sorted(parts.final.averaged_fits_, key=lambda one: -one["weight"])
    names = {j: a.name for a in parts.attributes for j in a.positions.tolist()}
    return [
        {
            "columns": [names[j] for j in one["propensity_features"]],
            "weight": one["weight"],
            "class_prior": one["class_prior"],
        }
        for one in fits
    ]


def _class_model(final, base) -> str:
    if isinstance(final, SARClassifier):
        named = {"linear": "a linear model", "trees": "boosted trees"}
        models = [named.get(m, type(m).__name__) for m in map(_word, final.class_models)]
        return words.listed(models)
    return "logistic regression" if base is None else type(base).__name__


def _word(model):
    return model if isinstance(model, str) else type(model).__name__


def _data(parts: Parts, labelled: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
    n_rows, n_labelled = round(weight.sum()), round(weight[labelled].sum())
    return {
        "rows": n_rows,
        "labelled": n_labelled,
        "unlabelled": n_rows - n_labelled,
        "attributes": len(parts.attributes),
        "left_out": [] if parts.encoder is None else list(parts.encoder.constant_),
    }


def _column_list(parts: Parts) -> list[dict[str, Any]]:
    """How each column was read: by the encoder in the fit, or from what the matrix holds."""
    chosen = {attribute.name for attribute in parts.propensity_attributes}
    if parts.encoder is None:
        found = [_column(attribute) for attribute in parts.attributes]
    else:
        found = [_reading(reading.to_dict()) for reading in parts.encoder.readings_]
    for row in found:
        if row["column"] in chosen:
            row["note"] = "; ".join(filter(None, ["may decide who gets labelled", row["note"]]))
    return found


def _reading(reading: dict[str, Any]) -> dict[str, Any]:
    example = reading["example"]
    with contextlib.suppress(ValueError):  # four digits say what it looks like
        example = number_text(float(example))
    return {
        "column": reading["name"],
        "kind": "left out" if reading["dropped"] else reading["kind"],
        "gaps": reading["missing"],
        "distinct": reading["levels"],
        "example": example or None,
        "note": reading["note"],
    }


def _column(attribute: Attribute) -> dict[str, Any]:
    """Of a column of a matrix, which holds numbers."""
    known = attribute.distinct
    return {
        "column": attribute.name,
        "kind": "number",
        "gaps": int(np.sum(np.isnan(attribute.values))),
        "distinct": len(known),
        "example": value_text(known[len(known) // 2]) if len(known) else None,
        "note": "",
    }


def _totals(estimates: dict[str, Any], certainty: dict[str, Any] | None) -> list[float]:
    """What is counted adds up to the one number of hidden positives, or to an end of its range."""
    ends = None if certainty is None else certainty["hidden_positives"]
    return [estimates["hidden_positives"], *(ends or [])]


def _propensity(parts: Parts, labelled, hidden, weight, e, posterior) -> dict[str, Any]:
    """Its ends, who is overlooked by group of its first attributes, and their odds ratios."""
    attributes = parts.propensity_attributes
    shown = attributes[:MAX_PROPENSITY_ATTRIBUTES]
    return {
        "lowest": float(e.min()),
        "highest": float(e.max()),
        "attributes": [
            {
                "feature": each.name,
                "ranges": each.is_curve,
                "groups": _groups(each, labelled, hidden, weight),
            }
            for each in shown
        ],
        "not_shown": [each.name for each in attributes[MAX_PROPENSITY_ATTRIBUTES:]],
        "odds": propensity_odds(parts, labelled, posterior),
    }


def _convergence(final) -> dict[str, Any]:
    found = getattr(final, "n_iter_", 0), getattr(final, "converged_", True)
    return {"n_iter": int(found[0]), "converged": bool(found[1])}


def _estimates(final, data: dict[str, Any], mean: float, of_fit: bool) -> dict[str, Any]:
    """Counts from the class prior, of the rows of the fit; of others, from their posteriors."""
    prior = float(final.class_prior_) if of_fit else float(mean)
    n_rows, n_labelled = data["rows"], data["labelled"]
    positives = max(prior * n_rows, float(n_labelled))
    hidden = positives - n_labelled
    return {
        "class_prior": positives / n_rows,
        "label_frequency": n_labelled / positives,
        "hidden_positives": hidden,
        "hidden_share": hidden / max(1, n_rows - n_labelled),
        "fitted_class_prior": float(final.class_prior_),
        "rows_of_the_fit": of_fit,
    }


def _certainty(parts: Parts, labelled, data: dict[str, Any] | None) -> dict[str, Any] | None:
    """What the labels leave open of the class prior, for a model that knows.

    ``data`` counts the rows of the fit: of others the range says nothing.
    """
    final = parts.final
    if not hasattr(final, "certainty_"):
        return None
    low, high = map(float, final.class_prior_range_)
    given = getattr(final, "class_prior", None) is not None
    by_design = bool(getattr(final, "class_prior_by_design_", False))
    found: dict[str, Any] = {
        "class_prior": float(final.class_prior_),
        "low": low,
        "high": high,
        "width": high - low,
        "hidden_positives": None,
        "label_frequency": None,
        "by_design": by_design,
        "n_audited": int(getattr(final, "n_audited_", 0)),
        "rows_for_5_points": getattr(final, "audit_rows_needed_", None),
        "labels_only": float(final.class_prior_from_labels_) if given or by_design else None,
        "word": final.certainty_,
        "causes": None if given or by_design else getattr(final, "range_causes_", None),
    }
    if data is not None and high - low > EXACT:  # else the share was given
        n_rows, n_labelled = data["rows"], data["labelled"]
        ends = [max(end * n_rows, n_labelled) for end in (low, high)]
        found["hidden_positives"] = [end - n_labelled for end in ends]
        found["label_frequency"] = [n_labelled / end for end in ends[::-1]]
        if found["rows_for_5_points"] is None and found["width"] > NARROW:
            s = final.classes_[labelled.astype(int)]
            found["rows_for_5_points"] = suggest_audit(
                final, parts.matrix, s, random_state=0
            ).rows_needed(NARROW)
    return found


def _scar_class_prior(parts: Parts, labelled, weight: np.ndarray) -> float | None:
    """The class prior if all positives were labelled equally often: by the same learner."""
    parameters = parts.final.get_params(deep=False)
    if not len(parts.propensity_positions) or "propensity_features" not in parameters:
        return None
    rows = np.arange(parts.n_rows)
    if len(rows) > MAX_SCAR_ROWS:
        rows = draw_rows(labelled, MAX_SCAR_ROWS)
    simpler = {"propensity_features": (), "class_prior": None}
    other = clone(parts.final).set_params(**{n: simpler[n] for n in simpler if n in parameters})
    s = parts.final.classes_[labelled[rows].astype(int)]
    with python_warnings.catch_warnings():  # the report warns of its own model
        python_warnings.simplefilter("ignore")
        matrix = safe_indexing(parts.matrix, rows)
        return float(other.fit(matrix, s, sample_weight=weight[rows]).class_prior_)


def draw_rows(labelled: np.ndarray, n_rows: int) -> np.ndarray:
    """Rows drawn at random, labelled ones in their share: a sample without any fits nothing."""
    rng = np.random.default_rng(0)
    n_labelled = int(np.clip(round(n_rows * labelled.mean()), 1, n_rows - 1))
    drawn = [
        rng.choice(np.flatnonzero(labelled), n_labelled, replace=False),
        rng.choice(np.flatnonzero(~labelled), n_rows - n_labelled, replace=False),
    ]
    return np.sort(np.concatenate(drawn))


def _groups(
    attribute: Attribute, labelled, hidden: list[np.ndarray], weight: np.ndarray
) -> list[dict[str, Any]]:
    """By stratum: rows, labels, positives, and those that have no label."""
    codes, names = attribute.strata(MAX_STRATA)

    def total(values, some=slice(None)) -> np.ndarray:
        return np.bincount(codes[some], weights=(values * weight[some]), minlength=len(names))

    rows, marked = total(np.ones(len(codes))), total(labelled)
    without = [total(of_rows, ~labelled) for of_rows in hidden]
    found = []
    for code, name in enumerate(names):
        positives = marked[code] + without[0][code]
        row = {
            "group": name,
            "rows": round(rows[code]),
            "labelled": round(marked[code]),
            "positives": float(positives),
            "hidden": float(without[0][code]),
            "ends": [float(end[code]) for end in without[1:]] or None,
            "label_frequency": float(marked[code] / positives) if positives else None,
        }
        found.append(row)
    return found


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
