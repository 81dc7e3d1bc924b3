"""One dict with everything a report says; HTML, JSON and terminal text are made from it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sarlearn._view.curves import posterior_by, probability_by, propensity_by
from sarlearn._view.parts import Attribute, Parts, fitted_to, take_apart
from sarlearn._words import EXACT, NARROW
from sarlearn.audit import suggest_audit
from sarlearn.classifiers import CrossFitSARClassifier
from sarlearn.reporting import words
from sarlearn.reporting.candidates import candidates, review
from sarlearn.reporting.column_list import column_list
from sarlearn.reporting.comparison import compare, positives_of
from sarlearn.reporting.effects import classifier_odds, importance, propensity_odds
from sarlearn.reporting.label_fit import compared_groups, label_fit
from sarlearn.reporting.origin import origin_of

MAX_PROPENSITY_ATTRIBUTES = 12
MAX_IMPORTANCE = 12
MAX_STRATA = 6
MAX_CLASS_CURVES = 6
# An audit of this size is laid out to tell how many rows to check.
AUDIT_ROWS = 100


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
    command: str | None = None,
) -> dict[str, Any]:
    """Everything a report says about a fitted model on a table, as plain values.

    Parameters
    ----------
    model : fitted SAREMClassifier, or a pipeline that ends in one
        What to report on.
    X : table or matrix
        The rows, as the model takes them.
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
        ``rows`` and ``labelled`` of the data that the model was fitted to, where X is a sample of
        them: counts of all rows take the place of the sample's own.
    command : str, optional
        The command that made the model, to be shown with date, versions and seed.

    Returns
    -------
    dict
        Only dicts, lists, text, numbers, booleans and None: ``json.dumps`` takes it.

    See Also
    --------
    render : The page, from the dict that ``summarize`` gives.
    sarlearn.report :
        Report on a fitted model: who is positive, who gets labelled, and how sure that is.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SAREMClassifier
    >>> from sarlearn.reporting import summarize
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = rng.random(400) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> s = y & (rng.random(400) < 1 / (1 + np.exp(-X[:, 2])))
    >>> model = SAREMClassifier([2]).fit(X, s)
    >>> summary = summarize(model, X, s)
    >>> summary["data"]["rows"], summary["data"]["labelled"]
    (400, 95)
    """
    parts = take_apart(model, X, feature_names)
    labelled = parts.labelled(s)
    if ids is not None and len(ids) != parts.n_rows:
        raise ValueError(f"ids has {len(ids)} values, X has {parts.n_rows} rows.")
    f, e = parts.probability(), parts.propensity()
    posterior = parts.final.predict_posterior(parts.matrix, parts.final.classes_[labelled * 1])
    chosen = parts.propensity_attributes
    used = importance(parts)
    estimates = _estimates(parts, labelled, f, posterior)
    summary: dict[str, Any] = {
        "origin": origin_of(parts.final, command),
        "source": source,
        "label": label,
        "model": _model(parts),
        "data": _data(parts, labelled),
        "columns": column_list(parts),
        "estimates": estimates,
        "certainty": _certainty(parts, labelled, f),
        "propensity": {
            "mean": float(np.average(e, weights=np.maximum(f, 1e-300))),
            "lowest": float(e.min()),
            "highest": float(e.max()),
            "attributes": [
                {
                    **propensity_by(parts, attribute.name),
                    "groups": _groups(attribute, labelled, posterior, f * e),
                }
                for attribute in chosen[:MAX_PROPENSITY_ATTRIBUTES]
            ],
            "not_shown": [a.name for a in chosen[MAX_PROPENSITY_ATTRIBUTES:]],
            "odds": propensity_odds(parts, labelled, posterior),
        },
        "classifier": {
            "importance": used[:MAX_IMPORTANCE],
            "not_shown": max(0, len(used) - MAX_IMPORTANCE),
            "odds": classifier_odds(parts, labelled, posterior),
            "curves": _class_curves(parts, used),
        },
        "comparison": compare(parts, labelled, estimates),
        "groups": compared_groups(parts, labelled, used),
        "label_fit": label_fit(parts, labelled, f * e),
        "checks": checks,
        "candidates": {
            "id": id_name or "row",
            "rows": candidates(parts, labelled, f, e, posterior, ids, top),
        },
        "posterior": posterior_by(parts, labelled),
        "convergence": _convergence(parts.final),
    }
    ends = summary["certainty"] and summary["certainty"]["hidden_positives"]
    summary["review"] = review(posterior[~labelled], ends)
    if whole is not None:
        warnings = [*warnings, *_of_the_whole(summary, whole, float(parts.final.class_prior_))]
    summary["warnings"] = words.warnings_of(summary, list(warnings))
    summary["assumptions"] = words.assumptions_of(summary)
    summary["text"] = {
        "opening": words.opening(summary),
        "headline": words.headline(summary),
        "review": words.review_sentence(summary),
        "label_fit": words.label_fit_sentence(summary),
        "sure": words.sure_sentence(summary),
        "surer": words.surer_sentence(summary),
        "comparison": words.comparison_sentence(summary),
        "convergence": words.convergence_sentence(summary),
    }
    return plain_values(summary)


def _model(parts: Parts) -> dict[str, Any]:
    parameters = parts.final.get_params(deep=False)
    base = parameters.get("classifier")
    return {
        "estimator": type(parts.final).__name__,
        "classifier": _class_model(parts.final, base),
        "propensity_attributes": [a.name for a in parts.propensity_attributes],
        "settings": {
            name: value
            for name, value in parameters.items()
            if isinstance(value, int | float | str | bool)
        },
    }


def _class_curves(parts: Parts, used: list[dict]) -> list[dict[str, Any]]:
    """How the class probability follows the columns it uses most, where no coefficient says so."""
    if hasattr(parts.final, "coef_"):
        return []
    return [probability_by(parts, row["attribute"]) for row in used[:MAX_CLASS_CURVES]]


def _class_model(final, base) -> str:
    if hasattr(final, "ensembles_"):
        return "boosted trees"
    return "logistic regression" if base is None else type(base).__name__


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
    """Of the rows of the fit what the model says; of others what their posteriors add up to."""
    n_labelled, n_unlabelled = float(labelled.sum()), int((~labelled).sum())
    positives = positives_of(parts.final, f, posterior, labelled)
    hidden = positives - n_labelled
    return {
        "class_prior": positives / parts.n_rows,
        "label_frequency": n_labelled / positives,
        "hidden_positives": hidden,
        "hidden_share": hidden / max(1, n_unlabelled),
        "sum_of_posteriors": float(posterior.sum()),
        "mean_probability": float(f.mean()),
        "fitted_class_prior": float(parts.final.class_prior_),
        "rows_of_the_fit": fitted_to(parts.final, f),
    }


def _of_the_whole(summary: dict[str, Any], whole: dict[str, Any], prior: float) -> list[str]:
    """Put the counts of all rows in the place of a sample's; what is to be said of the others."""
    rows, labelled = whole["rows"], whole["labelled"]
    positives = max(prior * rows, labelled)
    n_sample = summary["data"]["rows"]
    share = rows / n_sample
    summary["data"] |= {"rows": rows, "labelled": labelled, "unlabelled": rows - labelled}
    summary["estimates"] |= {
        "class_prior": positives / rows,
        "label_frequency": labelled / positives,
        "hidden_positives": positives - labelled,
        "hidden_share": (positives - labelled) / max(1, rows - labelled),
        "rows_of_the_fit": True,
    }
    summary["estimates"]["sum_of_posteriors"] *= share
    certainty = summary["certainty"]
    if certainty is not None and certainty["width"] > EXACT:
        certainty |= _counts_of_range(certainty, rows, labelled)
    for approach in summary["comparison"]["approaches"]:
        approach["hidden_positives"] *= share
    own = ("class_prior", "label_frequency", "hidden_positives")
    summary["comparison"]["approaches"][0] |= {n: summary["estimates"][n] for n in own}
    for attribute in summary["propensity"]["attributes"]:
        for group in attribute["groups"]:
            for name in ("rows", "labelled", "labels_expected", "positives"):
                group[name] = type(group[name])(group[name] * share)
    for step in summary["review"]["steps"]:
        for name in step:
            step[name] = type(step[name])(step[name] * share)
    for name in ("checked", "expected", "low", "high"):
        if summary["review"][name] is not None:
            summary["review"][name] = np.multiply(summary["review"][name], share)
    summary["review"]["total"] *= share
    if n_sample == rows:
        return []
    return [
        f"Counts of groups, curves and the rows listed are those of {n_sample:,} of the {rows:,} "
        "rows, spread evenly; the numbers of all rows are those of the fit."
    ]


def _certainty(parts: Parts, labelled, f) -> dict[str, Any] | None:
    """What the labels leave open of the class prior, for a model that knows."""
    if not hasattr(parts.final, "certainty_"):
        return None
    low, high = map(float, parts.final.class_prior_range_)
    n_labelled = float(labelled.sum())
    found: dict[str, Any] = {
        "class_prior": float(parts.final.class_prior_),
        "low": low,
        "high": high,
        "width": high - low,
        "hidden_positives": None,
        "label_frequency": None,
        "by_design": bool(getattr(parts.final, "class_prior_by_design_", False)),
        "n_audited": int(getattr(parts.final, "n_audited_", 0)),
        "rows_for_5_points": getattr(parts.final, "audit_rows_needed_", None),
        "labels_only": _labels_only(parts.final),
        "word": parts.final.certainty_,
        "goodness": dict(getattr(parts.final, "goodness_", {})),
    }
    # Of other rows than those of the fit the range says nothing; nor where the share is given.
    if fitted_to(parts.final, f) and high - low > EXACT:
        found |= _counts_of_range(found, parts.n_rows, n_labelled)
        if found["rows_for_5_points"] is None and found["width"] > NARROW:
            s = parts.final.classes_[labelled.astype(int)]
            drawn = suggest_audit(parts.final, parts.matrix, s, n=AUDIT_ROWS, random_state=0)
            found["rows_for_5_points"] = drawn.rows_needed(NARROW)
    return found


def _counts_of_range(certainty: dict[str, Any], rows: int, labelled: float) -> dict[str, Any]:
    """What the ends of the class prior's range say of hidden positives and label frequency."""
    ends = [max(certainty[name] * rows, labelled) for name in ("low", "high")]
    return {
        "hidden_positives": [end - labelled for end in ends],
        "label_frequency": [labelled / end for end in ends[::-1]],
    }


def _labels_only(final) -> float | None:
    """What the labels would have said where the class prior was known from elsewhere."""
    if getattr(final, "class_prior", None) is None:
        return None
    return float(final.class_prior_from_labels_)


def _convergence(final) -> dict[str, Any]:
    """How the fit went; a cross-fit's history is that of its first step."""
    cross_fit = isinstance(final, CrossFitSARClassifier)
    found: dict[str, Any] = {
        "n_iter": int(getattr(final, "n_iter_", 0)),
        "converged": bool(getattr(final, "converged_", True)),
        "cross_fit": cross_fit,
        "held_out": hasattr(final, "mean_probability_"),
        "C": getattr(final, "C_", None),
        "falls": False,
    }
    if hasattr(final, "history_"):
        found["first_class_prior"] = float(final.history_["class_prior"][-1])
        found["falls"] = bool(np.any(np.diff(final.history_["log_likelihood"]) < 0))
    return found


def _groups(attribute: Attribute, labelled, posterior, predicted) -> list[dict]:
    """By stratum: rows, labels seen and expected, estimated positives, chance of a label."""
    codes, names = attribute.strata(MAX_STRATA)

    def total(values) -> np.ndarray:
        return np.bincount(codes, weights=values, minlength=len(names))

    count = np.bincount(codes, minlength=len(names))
    marked, positive, expected = total(labelled), total(posterior), total(predicted)
    return [
        {
            "group": name,
            "rows": int(count[code]),
            "labelled": int(marked[code]),
            "labels_expected": float(expected[code]),
            "positives": float(positive[code]),
            "label_frequency": float(marked[code] / positive[code]) if positive[code] else None,
        }
        for code, name in enumerate(names)
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
