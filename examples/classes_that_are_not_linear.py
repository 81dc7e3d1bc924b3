"""
What if the classes are not linear, and does my model explain the labels?
=========================================================================

Patients fall ill at both ends of a scale, and who is diagnosed depends on the distance to a clinic.
A linear model of the class cannot follow, trees can; the label model decides from held-out scores
how much each counts.
"""

# %%
# A table, who is ill, and who of the ill was diagnosed.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from sarlearn import SARClassifier
from sarlearn.exceptions import TrustWarning
from sarlearn.inspection import ProbabilityDisplay, goodness_of_fit

rng = np.random.default_rng(0)
n = 3000
table = pd.DataFrame(rng.normal(size=(n, 4)), columns=["marker", "age", "pulse", "distance"])
risk = 2 * table["marker"] + 3 * table["age"] ** 2 - 3
ill = rng.random(n) < expit(risk)
diagnosed = ill & (rng.random(n) < expit(-table["distance"]))

# %%
# A linear model of the class alone, and the default, which has trees beside it.

straight = SARClassifier(["distance"], class_models=["linear"])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", TrustWarning)  # it says how unsure it is
    straight.fit(table, diagnosed)
usual = SARClassifier(["distance"]).fit(table, diagnosed)
for name, model in (("linear", straight), ("default", usual)):
    low, high = model.class_prior_range_
    auc = roc_auc_score(ill, model.predict_proba(table)[:, 1])
    print(
        f"{name}: class prior {model.class_prior_:.2f}, between {low:.2f} and {high:.2f} "
        f"(truth {ill.mean():.2f}); AUC {auc:.3f}"
    )
weights = dict(zip(("linear", "trees"), usual.score_weights_.round(2).tolist(), strict=True))
print(f"What the two scores count in the default: {weights}")

# %%
# How the class follows age, by either.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
for (name, model), ax in zip((("linear", straight), ("default", usual)), axes, strict=True):
    ProbabilityDisplay.from_estimator(model, table, feature="age", ax=ax)
    ax.set_title(name)

# %%
# Does it explain the labels?
# ---------------------------
# Nobody knows the true classes, but the labels can be compared with what a model expects of them,
# in groups of rows. A model that fails here is wrong. One that passes may still be: how the product
# :math:`f(x)\,e(x)` splits into class and propensity cannot be seen in the labels.

found = goodness_of_fit(usual, table, diagnosed)
print(found)
found.plot()
