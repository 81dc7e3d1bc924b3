"""The trust checks for a report: tests, intervals and sensitivity, as plain values and words."""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
from sklearn.base import clone

from sarlearn._compat import safe_indexing
from sarlearn._view.parts import Parts, take_apart
from sarlearn.classifiers import SARClassifier
from sarlearn.inspection import bootstrap, scar_test, sensitivity
from sarlearn.reporting.effects import propensity_odds

# Checks refit the model some two hundred times. On a sample the intervals are wider than on all
# rows, never narrower.
MAX_ROWS = 10_000
# A fit with trees takes longer, so it gets fewer rows, and resamples: its intervals are rougher.
TREE_ROWS, TREE_RESAMPLES = 4_000, 40

Watch = Callable[[str], AbstractContextManager]


def run_checks(
    model,
    X,
    s,
    *,
    n_draws: int = 99,
    n_resamples: int = 100,
    groups=None,
    n_jobs: int | None = None,
    random_state: int = 0,
    watch: Watch = nullcontext,
) -> dict[str, Any]:
    """What the checks of :mod:`sarlearn.inspection` say of a fitted model, for a report.

    Parameters
    ----------
    model : fitted SARClassifier or SAREMClassifier, or a pipeline that ends in one
        The model to check.
    X, s : the data that it was fitted to
        Rows and labels.
    n_draws : int
        Data sets simulated for the test of SCAR.
    n_resamples : int
        Resamples for the intervals.
    groups : array-like of shape (n_rows,), optional
        Rows of a group are resampled together.
    n_jobs : int or None
        Processes; -1 is one per core.
    random_state : int
        Seed of what is drawn.
    watch : callable
        Gives a context for each check, by its name: a progress display.

    Returns
    -------
    dict
        ``scar_test``, ``intervals`` and ``sensitivity``, each with a ``text``; a check
        that does not apply has nothing else. ``rows`` says how many were used.

    See Also
    --------
    sarlearn.report :
        Report on a fitted model: who is positive, who gets labelled, and how sure that is.
    sarlearn.inspection.goodness_of_fit :
        Compare the labels with what the model expects, and look for what it lacks.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SAREMClassifier
    >>> from sarlearn.reporting import run_checks
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = rng.random(400) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> s = y & (rng.random(400) < 1 / (1 + np.exp(-X[:, 2])))
    >>> model = SAREMClassifier([2]).fit(X, s)
    >>> found = run_checks(model, X, s, n_draws=19, n_resamples=20)
    >>> print(found["scar_test"]["text"])
    The labels ...
    """
    parts = take_apart(model, X)
    labelled = parts.labelled(s)
    trees = isinstance(parts.final, SARClassifier)
    most = TREE_ROWS if trees else MAX_ROWS
    if parts.n_rows > most:
        rows = draw_rows(labelled, most)
        groups = None if groups is None else np.asarray(groups)[rows]
        matrix, labelled = safe_indexing(parts.matrix, rows), labelled[rows]
        with _quietly():
            final = clone(parts.final).fit(matrix, parts.final.classes_[labelled.astype(int)])
        parts = take_apart(model, safe_indexing(X, rows))
        parts.final = final
    seen = parts.final.classes_[labelled.astype(int)]
    with watch("Testing one label frequency for all"):
        test = _test(parts, labelled, n_draws, n_jobs, random_state)
    found: dict[str, Any] = {"rows": parts.n_rows, "scar_test": test}
    if not trees and not (
        hasattr(parts.final, "propensity_coef_") and hasattr(parts.final, "coef_")
    ):
        why = "Made for SARClassifier and logistic models; refits of others would take hours."
        return found | {name: {"text": why} for name in ("intervals", "sensitivity")}
    with watch("Resampling for intervals"):
        resamples = min(n_resamples, TREE_RESAMPLES) if trees else n_resamples
        found["intervals"] = _intervals(
            parts, labelled, seen, resamples, groups, n_jobs, random_state
        )
    with watch("Trying other choices"):
        found["sensitivity"] = _sensitivity(parts, seen)
    return found


def draw_rows(labelled: np.ndarray, n_rows: int) -> np.ndarray:
    """Rows drawn at random, labelled ones in their share: a sample without any fits nothing."""
    rng = np.random.default_rng(0)
    n_labelled = int(np.clip(round(n_rows * labelled.mean()), 1, n_rows - 1))
    drawn = [
        rng.choice(np.flatnonzero(labelled), n_labelled, replace=False),
        rng.choice(np.flatnonzero(~labelled), n_rows - n_labelled, replace=False),
    ]
    return np.sort(np.concatenate(drawn))


@contextmanager
def _quietly():
    """What is tried for comparison is shown, not warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _test(parts: Parts, labelled, n_draws: int, n_jobs, random_state) -> dict[str, Any]:
    names = [attribute.name for attribute in parts.propensity_attributes]
    if not names:
        return {
            "text": "No propensity column was named, so there is nothing to test one label "
            "frequency for all against; sarlearn check tries candidates."
        }
    flexible = not hasattr(parts.final, "coef_")
    matrix, columns, _ = parts.linear
    result = scar_test(
        np.asarray(matrix, dtype=np.float64) if hasattr(matrix, "columns") else matrix,
        labelled.astype(int),
        columns.tolist(),
        n_draws=n_draws,
        flexible=flexible,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    result.features = names  # as the user knows them, not one name per value
    return {
        "p_value": result.p_value,
        "statistic": result.statistic,
        "null_statistics": result.null_statistics.tolist(),
        "text": result.finding,
        "blind_spot": result.blind_spot,
    }


def _intervals(
    parts: Parts, labelled, seen, n_resamples: int, groups, n_jobs, random_state
) -> dict[str, Any]:
    result = bootstrap(
        parts.final,
        parts.matrix,
        seen,
        n_resamples=n_resamples,
        groups=groups,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    rows = []
    for key, name in (("class_prior", "class prior"), ("label_frequency", "label frequency")):
        low, high = result.interval(key)
        rows.append(_interval(name, result.estimates[key], low, high, "share"))
    if not isinstance(parts.final, SARClassifier):  # its odds ratios have intervals of their own
        rows += _odds_intervals(parts, labelled, seen, result.resamples["propensity_coef"])
    first, second = rows[:2]
    text = (
        f"Were other rows drawn, the class prior would vary between {first['low']:.1%} and "
        f"{first['high']:.1%}, the label frequency between {second['low']:.1%} and "
        f"{second['high']:.1%} (95 % intervals from {n_resamples} resamples). An interval says how "
        "much an estimate varies, not how far a wrong assumption takes it off."
    )
    return {"resamples": n_resamples, "rows": rows, "text": text}


def _odds_intervals(parts: Parts, labelled, seen, coefs) -> list[dict[str, Any]]:
    """Odds ratios as the report tells them: of each resample, the same contrasts."""
    of_these = parts, labelled, parts.final.predict_posterior(parts.matrix, seen)
    drawn = [
        {
            row["level"]: row["odds_ratio"]
            for row in propensity_odds(*of_these, coef=coef[:-1], max_levels=len(coef))
        }
        for coef in coefs
    ]
    rows = []
    for row in propensity_odds(*of_these):
        if not row["few"]:
            low, high = np.quantile([odds[row["level"]] for odds in drawn], [0.025, 0.975])
            name = f"odds of a label: {row['level']} against {row['against']}"
            rows.append(_interval(name, row["odds_ratio"], low, high, "ratio"))
    return rows


def _interval(name: str, estimate, low, high, kind: str) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "estimate": float(estimate),
        "low": float(low),
        "high": float(high),
    }


def _sensitivity(parts: Parts, seen) -> dict[str, Any]:
    """Each propensity attribute left out, none of them; and a propensity that is off."""
    final, matrix, named = parts.final, parts.matrix, parts.propensity_attributes
    choices: dict[str, list[int]] = {}
    if named:
        for left_out in named if len(named) > 1 else []:
            others = [a.positions for a in named if a is not left_out]
            choices[f"without {left_out.name}"] = np.concatenate(others).tolist()
        choices["no propensity column (SCAR)"] = []
    rows = []
    with _quietly():
        for name, columns in choices.items():
            other = clone(final).set_params(propensity_features=columns).fit(matrix, seen)
            rows.append({"name": name, "class_prior": float(other.class_prior_)})
    scaled = [
        {"factor": row.factor, "class_prior": row.class_prior, "precision": row.precision}
        for row in sensitivity(final, matrix, seen).scaled
        if abs(row.factor - 1) > 0.01  # the model itself, but for a refit
    ]
    prior = float(final.class_prior_)
    text = _sensitivity_words(prior, rows, scaled)
    return {"class_prior": prior, "choices": rows, "scaled": scaled, "text": text}


def _sensitivity_words(prior: float, rows: list[dict], scaled: list[dict]) -> str:
    text = ""
    if rows:
        priors = [row["class_prior"] for row in rows]
        farthest = max(rows, key=lambda row: abs(row["class_prior"] - prior))
        moved = abs(farthest["class_prior"] - prior)
        text = f"Other choices would give a class prior of {min(priors):.1%} to {max(priors):.1%}"
        if moved > 0.02:
            text += f"; it moves most with: {farthest['name']} ({farthest['class_prior']:.1%}). "
        else:
            text += ": hardly another answer. "
    low, high = scaled[0], scaled[-1]
    return text + (
        f"Were every propensity {low['factor']:g} to {high['factor']:g} times what is estimated, "
        f"the class prior would be {high['class_prior']:.1%} to {low['class_prior']:.1%}."
    )


def check_sentences(checks: dict[str, Any]) -> list[str]:
    """The results for a terminal, a paragraph a check."""
    return [
        checks[name]["text"] for name in ("scar_test", "intervals", "sensitivity") if name in checks
    ]
