"""
What if no line tells the classes apart?
========================================

Patients fall ill at both ends of a scale, and who gets diagnosed depends on the distance to a
clinic. Four models of the class, the same model of the labels: linear, splines or a kernel
before the linear cross-fit, and boosted trees.
"""

# %%
# A table, who is ill, and who of the ill was diagnosed.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.compose import ColumnTransformer
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from sarlearn import BoostedSARClassifier, CrossFitSARClassifier
from sarlearn.inspection import ProbabilityDisplay
from sarlearn.tables import TablePipeline

DRIVERS = ["distance"]


def patients(n_rows, seed):
    rng = np.random.default_rng(seed)
    columns = ["glucose", "age", "bmi", "x", "distance"]
    table = pd.DataFrame(rng.random((n_rows, 5)), columns=columns)
    glucose, age, bmi = table["glucose"], table["age"], table["bmi"]
    eta = 60 * (glucose - 0.5) ** 2 - 6 + 8 * np.sin(np.pi * age * bmi)
    ill = rng.random(n_rows) < expit(eta.to_numpy() - 2)
    diagnosed = ill & (rng.random(n_rows) < expit(2 - 4 * table["distance"].to_numpy()))
    return table, ill, diagnosed


table, ill, diagnosed = patients(3000, seed=0)
new, new_ill, _ = patients(5000, seed=1)

# %%
# The columns that drive labelling pass through the basis expansion under their own names, so that
# ``propensity_features`` finds them.


def expanded(basis, Cs):
    columns = ColumnTransformer(
        [("basis", basis, slice(None)), ("as they are", "passthrough", DRIVERS)],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    learner = CrossFitSARClassifier(DRIVERS, Cs=Cs, random_state=0)
    return TablePipeline([("columns", columns), ("crossfit", learner)])


kernel = Nystroem(gamma=0.1, n_components=200, random_state=0)
models = {
    "linear": CrossFitSARClassifier(DRIVERS, random_state=0),
    "splines": expanded(SplineTransformer(n_knots=6), [0.01, 0.1, 1.0, 10.0]),
    "kernel": expanded(make_pipeline(StandardScaler(), kernel), [0.2, 2, 20, 200]),
    "boosted trees": BoostedSARClassifier(DRIVERS, random_state=0),
}
rows = []
for name, model in models.items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the linear model warns that it may be wrong
        model.fit(table, diagnosed)
    auc = roc_auc_score(new_ill, model.predict_proba(new)[:, 1])
    rows.append({"model": name, "class prior": model.class_prior_, "AUC, new patients": auc})
print(pd.DataFrame(rows).round(3).to_string(index=False))
print(f"In truth {ill.mean():.3f} are ill.")

# %%
# How the class follows glucose, by the linear model and by the trees.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for name, ax in zip(["linear", "boosted trees"], axes, strict=True):
    ProbabilityDisplay.from_estimator(models[name], table, feature="glucose", ax=ax)
    ax.set_title(name)
