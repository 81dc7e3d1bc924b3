"""
How many of my unlabelled rows are positive?
============================================

Eleven estimators of the class prior on one table, where the truth is known. All but SAR-EM with
propensity features and the cross-fit assume that every positive is labelled equally often, which
holds here.
"""

# %%
# Four in ten of the ill are known to be ill, by chance; the others were not examined.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from sarlearn.priors import PriorCurveDisplay, compare_priors

X, target = load_breast_cancer(return_X_y=True)
ill = target == 0
known = ill & (np.random.default_rng(0).random(len(ill)) < 0.4)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the comparison says it all again
    comparison = compare_priors(X, known, random_state=0)
print(comparison)

# %%
# Side by side, and what three of the methods looked at before they decided. Where the curves
# have no clear corner or peak, an estimate is a guess.

figure, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
comparison.plot(ax=axes[0, 0])
axes[0, 0].axvline(ill.mean(), color="black", linestyle=":", label="truth")
axes[0, 0].legend(frameon=False)
axes[0, 0].set_title("eleven estimates of one number")
for method, ax in zip(["cross-fit", "BBE", "KM1"], axes.flat[1:], strict=True):
    PriorCurveDisplay.from_estimator(comparison.estimators[method], ax=ax)

# %%
# In numbers of patients:

best = comparison.estimators["cross-fit"]
rest = ~known
low, high = (end * len(X) - known.sum() for end in best.class_prior_range_)
print(
    f"About {best.unlabelled_prior_ * rest.sum():.0f} of the {rest.sum()} are ill; the labels "
    f"admit {low:.0f} to {high:.0f}. In truth {ill[rest].sum()} are."
)
