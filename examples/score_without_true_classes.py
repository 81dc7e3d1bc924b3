"""
How good is my classifier, if no true class is known?
=====================================================

With propensities, known or estimated, held-out labels give honest scores of any classifier, and
scikit-learn's searches can tune on them.
"""

# %%
# Column 2 drives labelling; true propensities are known here, as where a protocol sets them.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from scipy.special import expit
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split

from sarlearn import SARClassifier
from sarlearn.exceptions import TrustWarning
from sarlearn.metrics import ipw_scorer, ipw_scores

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 4))
y = rng.random(4000) < expit(3 * X[:, 0] + X[:, 1] - 1)
e = 0.2 + 0.6 * expit(2 * X[:, 2])
s = y & (rng.random(4000) < e)
parts = train_test_split(X, s, e, y, random_state=0, stratify=s)
X_train, X_test, s_train, s_test, e_train, e_test, _, y_test = parts

# %%
# Tune on labels alone. The scorer asks for the propensity by metadata routing.

with sklearn.config_context(enable_metadata_routing=True):
    search = GridSearchCV(
        SARClassifier([2]),
        {"class_models": [("linear",), ("linear", "trees")], "pseudo_counts": [0.0, 4.0]},
        scoring=ipw_scorer("f1"),
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrustWarning)  # some of the settings are bad ones
        search.fit(X_train, s_train, propensity=e_train)
model = search.best_estimator_
print(f"Best settings: {search.best_params_}")

# %%
# Scores of held-out rows, with standard errors: by the true propensities, by the estimated
# ones, and as they would be if the classes were known.

p = model.predict_proba(X_test)[:, 1]
known = ipw_scores(s_test, p, e_test)
estimated = ipw_scores(s_test, p, model.predict_propensity(X_test))
print(known)
true_scores = {"recall": recall_score, "precision": precision_score, "f1": f1_score}
true_scores["accuracy"] = accuracy_score

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
names = list(true_scores)
for shift, (found, label) in zip(
    (-0.12, 0.12), ((known, "true propensities"), (estimated, "estimated ones")), strict=True
):
    ax.errorbar(
        np.arange(4) + shift,
        [found.scores[name] for name in names],
        yerr=[1.96 * found.standard_errors[name] for name in names],
        fmt="o",
        capsize=4,
        label=label,
    )
truth = [score(y_test, p > 0.5) for score in true_scores.values()]
ax.plot(range(4), truth, "_", color="black", markersize=28, label="with the true classes")
ax.set_xticks(range(4), names)
ax.legend(frameon=False)

# %%
# What the naive score says, which takes unlabelled for negative: a good classifier looks bad.

print(f"F1 against the labels: {f1_score(s_test, p > 0.5):.2f}, against the classes {truth[2]:.2f}")
