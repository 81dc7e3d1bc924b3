"""The six methods of the paper's study under SAR, scored on folds held out."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from sarlearn import KnownPropensityClassifier, MultiSCARClassifier, SAREMClassifier
from sarlearn.metrics import probabilistic_f1_score, propensity_accuracy_score

from ..harness.data import Data, folds

METHODS = ["supervised", "SAR-e", "SAR", "multi-SCAR", "SCAR", "SCAR-c"]
# A classifier of one's own choice cannot be split into one model per stratum.
BOOSTED_METHODS = [method for method in METHODS if method != "multi-SCAR"]


@dataclass(frozen=True)
class Setting:
    """What the paper fixes: penalty, decay, when EM stops, and the model of the class."""

    C: float = 1.0
    decay: float = 0.9
    stop: str = "slope"
    classifier: str = "logistic"

    def model(self):
        """The classifier inside EM; None is the library's logistic regression."""
        if self.classifier == "logistic":
            return None
        if self.classifier == "boosting":
            # Few small trees: it is fitted anew in every EM iteration, and one that can tell the
            # labelled from the unlabelled rows by heart ends at a propensity of 1.
            return HistGradientBoostingClassifier(
                max_iter=20,
                learning_rate=0.2,
                max_leaf_nodes=8,
                early_stopping=False,
                random_state=0,
            )
        raise ValueError(f"classifier is 'logistic' or 'boosting'; got {self.classifier!r}.")

    @property
    def max_iter(self) -> int:
        """EM iterations at most.

        Trees jump: with a known propensity the slope rule, on the class probabilities, may not be
        met long after the scores stand still.
        """
        return 100 if self.classifier == "boosting" else 500

    def fit(self, method: str, X, y, s, propensity, columns):
        """A fitted model; only "supervised" sees ``y``, only "SAR-e" and "SCAR-c" what they say."""
        em = {"C": self.C, "stop": self.stop, "max_iter": self.max_iter}
        if method == "supervised":
            model = self.model() or LogisticRegression(C=self.C, max_iter=1000)
            return model.fit(X, y)
        if method == "SAR-e":
            return KnownPropensityClassifier(**em, classifier=self.model()).fit(
                X, s, propensity=propensity
            )
        if method == "SCAR-c":
            return KnownPropensityClassifier(**em, classifier=self.model()).fit(
                X, s, propensity=s.sum() / y.sum()
            )
        if method == "multi-SCAR":
            return MultiSCARClassifier(columns, decay=self.decay, **em).fit(X, s)
        if method not in ("SAR", "SCAR"):
            raise ValueError(f"method is one of {', '.join(METHODS)}; got {method!r}.")
        used = columns if method == "SAR" else ()
        model = SAREMClassifier(used, decay=self.decay, classifier=self.model(), **em)
        return model.fit(X, s)


def evaluate(
    data: Data,
    s: np.ndarray,
    propensity: np.ndarray,
    columns: list[int],
    *,
    dataset: str,
    method: str,
    repeat: int,
    n_folds: int,
    setting: Setting,
) -> dict[str, Any]:
    """Scores of one method, each the mean over the first ``n_folds`` of five folds."""
    X, y = data.X, data.y
    if setting.classifier != "logistic" and sparse.issparse(X):
        X = X.toarray()
    scores = []
    for train, test in islice(folds(dataset, len(y), repeat), n_folds):
        model = setting.fit(method, X[train], y[train], s[train], propensity[train], columns)
        p = model.predict_proba(X[test])[:, 1]
        found = {
            "f1": probabilistic_f1_score(y[test], p),
            "f1_at_half": f1_score(y[test], p > 0.5, zero_division=0.0),
        }
        if method != "supervised":
            e = _propensity(
                method, model, X[test], propensity[test], s[train].sum() / y[train].sum()
            )
            found |= {
                "propensity_accuracy": propensity_accuracy_score(y[test], s[test], e),
                "prior_error": model.class_prior_ - float(y[train].mean()),
                "n_iter": model.n_iter_,
                "converged": getattr(model, "converged_", _strata_converged(model)),
            }
        scores.append(found)
    means = {key: float(np.mean([row[key] for row in scores])) for key in scores[0]}
    return means | {"n_rows": len(y), "n_positive": int(y.sum()), "n_labelled": int(s.sum())}


def _propensity(method: str, model, X, true, label_frequency):
    if method == "SAR-e":
        return true
    return label_frequency if method == "SCAR-c" else model.predict_propensity(X)


def _strata_converged(model) -> float:
    fitted = [stratum for stratum in getattr(model, "estimators_", ()) if stratum is not None]
    return float(np.mean([stratum.converged_ for stratum in fitted])) if fitted else 1.0
