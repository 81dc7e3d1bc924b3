"""The same data under simpler assumptions: SCAR, and unlabelled = negative."""

import warnings

import numpy as np
from scipy.special import logit
from scipy.stats import spearmanr
from sklearn.base import clone

from sarlearn._compat import safe_indexing
from sarlearn._engine.likelihood import log_chance
from sarlearn._view.parts import Parts, fitted_to
from sarlearn.classifiers._trust import no_second_look
from sarlearn.classifiers.base import posterior

# Beyond this many rows the other models are fitted to a sample, and the report says so: it should
# not take longer than the fit it tells of. Other classifiers than the logistic one take far longer.
MAX_ROWS = 10_000
MAX_ROWS_OTHER = 5_000


def compare(parts: Parts, labelled: np.ndarray, estimates: dict) -> dict:
    """Class prior, hidden positives and ranking under three assumptions.

    ``estimates`` are the model's own, of all rows: other models may be fitted to a sample only.
    """
    rows = np.arange(parts.n_rows)
    max_rows = MAX_ROWS if hasattr(parts.final, "coef_") else MAX_ROWS_OTHER
    if len(rows) > max_rows:
        rows = draw_rows(labelled, max_rows)
    matrix, chosen = safe_indexing(parts.matrix, rows), labelled[rows]
    s = parts.final.classes_[chosen.astype(int)]
    sar = _predictions(parts.final, matrix)
    approaches = [("SAR", parts.final, *sar)]
    with warnings.catch_warnings():  # the report warns of the model it is about, not of these
        warnings.simplefilter("ignore")
        if "propensity_features" in parts.final.get_params(deep=False):
            with no_second_look():
                scar = _from_labels_alone(parts.final).fit(matrix, s)
            approaches.append(("SCAR", scar, *_predictions(scar, matrix)))
        naive = _naive(parts.final, matrix, s)
    approaches.append(("naive", None, naive, np.ones(len(rows))))
    everyone = posterior(logit(sar[0]), sar[1], chosen)
    hidden = everyone[~chosen]
    n_hidden = positives_of(parts.final, sar[0], everyone, chosen) - chosen.sum()
    n_top = int(np.clip(round(n_hidden), 10, max(10, len(hidden) // 2)))
    n_top = min(n_top, len(hidden))
    results = []
    for name, model, f, e in approaches:
        everyone = posterior(logit(f), e, chosen)
        found = everyone[~chosen]
        # Without hidden positives every posterior is 0; people then rank by P(s=1|x).
        score = f[~chosen] if name == "naive" else found
        positives = positives_of(model, f, everyone, chosen)
        results.append(
            {
                "assumption": name,
                "class_prior": positives / len(rows),
                "label_frequency": float(chosen.sum()) / positives,
                "hidden_positives": (positives - chosen.sum()) * parts.n_rows / len(rows),
                "agreement": _overlap(hidden, score, n_top),
                "rank_correlation": _rank_correlation(hidden, score),
                "log_loss": _log_loss(chosen, f, e),
            }
        )
    own = ("class_prior", "label_frequency", "hidden_positives")
    results[0] |= {name: estimates[name] for name in own}
    return {"rows": len(rows), "top": n_top, "approaches": results}


def _from_labels_alone(final):
    """The same learner, not fitted, without propensity attributes and without a known prior.

    Its penalty is the one that was chosen: to choose again takes most of a cross-fit's time.
    """
    own = final.get_params(deep=False)
    simpler: dict = {"propensity_features": (), "class_prior": None}
    simpler |= {"Cs": (final.C_,)} if hasattr(final, "C_") else {}
    return clone(final).set_params(**{name: simpler[name] for name in simpler if name in own})


def positives_of(final, f: np.ndarray, posterior: np.ndarray, labelled: np.ndarray) -> float:
    """Positives among the rows: the model's ``class_prior_`` of them, if they are those of its fit.

    Of other rows it is the sum of their posteriors, labelled ones counting 1.
    """
    if final is not None and fitted_to(final, f):
        return max(float(final.class_prior_) * len(f), float(labelled.sum()))
    return float(posterior.sum())


def draw_rows(labelled: np.ndarray, n_rows: int) -> np.ndarray:
    """Rows drawn at random, labelled ones in their share: a sample without any fits nothing."""
    rng = np.random.default_rng(0)
    n_labelled = int(np.clip(round(n_rows * labelled.mean()), 1, n_rows - 1))
    drawn = [
        rng.choice(np.flatnonzero(labelled), n_labelled, replace=False),
        rng.choice(np.flatnonzero(~labelled), n_rows - n_labelled, replace=False),
    ]
    return np.sort(np.concatenate(drawn))


def _predictions(model, matrix) -> tuple[np.ndarray, np.ndarray]:
    return model.predict_proba(matrix)[:, 1], model.predict_propensity(matrix)


def _naive(final, matrix, s) -> np.ndarray:
    """``P(s=1|x)`` by the same kind of classifier, fitted to the labels as if they were classes."""
    from sarlearn.classifiers import KnownPropensityClassifier

    own = final.get_params(deep=False)
    if hasattr(final, "ensembles_"):  # boosting takes a known propensity itself
        model = _from_labels_alone(final).fit(matrix, s, propensity=1.0)
        return model.predict_proba(matrix)[:, 1]
    shared = {key: own[key] for key in ("C", "classifier") if key in own}
    if shared.get("C") == "likelihood":  # the one that was chosen, if there is one
        shared["C"] = getattr(final, "C_", 1.0)
    shared = {key: clone(v) if hasattr(v, "fit") else v for key, v in shared.items()}
    model = KnownPropensityClassifier(**shared).fit(matrix, s, propensity=1.0)
    return model.predict_proba(matrix)[:, 1]


def _overlap(first: np.ndarray, second: np.ndarray, n_top: int) -> float:
    """The share of the first's ``n_top`` highest rows that are among the second's."""
    tops = [set(np.argsort(-scores, kind="stable")[:n_top].tolist()) for scores in (first, second)]
    return len(tops[0] & tops[1]) / n_top


def _rank_correlation(first: np.ndarray, second: np.ndarray) -> float | None:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(spearmanr(first, second).statistic)


def _log_loss(labelled: np.ndarray, f: np.ndarray, e: np.ndarray) -> float:
    return float(-np.mean(np.maximum(log_chance(f, e, labelled), np.log(1e-15))))
