"""
What does biased labelling do to learners? The paper's figure in small
======================================================================

Bekker and Davis (2018) draw F1 against the difference between the propensities of two groups.
The same here on one data set that comes with scikit-learn: is a handwritten digit even, where
digits with much ink in the middle are labelled more often than others, or less.
"""

# %%
# The mean propensity stays 0.5; the difference between the groups grows from 0 (SCAR) to 0.8.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from sarlearn import KnownPropensityClassifier, SAREMClassifier
from sarlearn.labelling import ProductLabelling, label
from sarlearn.metrics import probabilistic_f1_score

digits = load_digits()
X, y = digits.data / 16, digits.target % 2 == 0
middle = X.reshape(-1, 8, 8)[:, 2:6, 3:5].mean(axis=(1, 2))
X = np.column_stack([X, middle > np.median(middle)])
driver = X.shape[1] - 1
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# %%
# Four learners, each told more than the one before it; each labelling is drawn three times.


def scores(difference, seed):
    how = ProductLabelling(driver, high=0.5 + difference / 2, low=0.5 - difference / 2)
    s, e = label(X_train, y_train, how, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SCAR is wrong here, and says so
        fitted = {
            "unlabelled = negative": LogisticRegression(max_iter=500).fit(X_train, s),
            "SCAR": SAREMClassifier().fit(X_train, s),
            "SAR": SAREMClassifier([driver]).fit(X_train, s),
            "SAR, propensity known": KnownPropensityClassifier().fit(X_train, s, propensity=e),
        }
    return {
        name: probabilistic_f1_score(y_test, model.predict_proba(X_test)[:, 1])
        for name, model in fitted.items()
    }


differences = [0.0, 0.2, 0.4, 0.6, 0.8]
found = [[scores(d, seed) for seed in range(3)] for d in differences]
supervised = LogisticRegression(max_iter=500).fit(X_train, y_train).predict_proba(X_test)[:, 1]

figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
colours = {"unlabelled = negative": "#808080", "SCAR": "#d55e00", "SAR": "#0072b2"}
colours["SAR, propensity known"] = "#009e73"
for name, colour in colours.items():
    values = np.array([[one[name] for one in repeats] for repeats in found])
    first, last = values.mean(axis=1)[[0, -1]]
    print(f"{name:22s} F1 from {first:.2f} to {last:.2f}")
    ax.errorbar(
        differences,
        values.mean(axis=1),
        yerr=values.std(axis=1),
        color=colour,
        label=name,
        capsize=3,
    )
level = probabilistic_f1_score(y_test, supervised)
ax.axhline(level, color="black", linestyle=":", label="all classes known")
ax.set_xlabel("difference between the propensities of the two groups")
ax.set_ylabel("probabilistic F1")
ax.legend(frameon=False)

# %%
# SAR holds its level as labelling becomes more biased, and SCAR falls. The whole figure, on the
# paper's eleven data sets, is in :doc:`/generated/studies/paper`.
