"""
How many of my unlabelled rows are positive?
============================================

Estimators of the class prior on one table, where the truth is known. All of them assume here that
every positive is labelled equally often, which holds; a learner with propensity features would not
have to.
"""

# %%
# Four in ten of the ill are known to be ill, by chance; the others were not examined.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from sarlearn.priors import compare_priors

X, target = load_breast_cancer(return_X_y=True)
ill = target == 0
known = ill & (np.random.default_rng(0).random(len(ill)) < 0.4)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the comparison says it all again
    comparison = compare_priors(X, known, random_state=0)
print(comparison)

# %%
# Side by side. An estimate at a boundary is a failure that looks like an answer.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.barh([row.method for row in comparison.rows], [row.class_prior for row in comparison.rows])
ax.axvline(ill.mean(), color="black", linestyle=":", label="truth")
ax.set_xlim(0, 1)
ax.set_xlabel("class prior")
ax.invert_yaxis()
ax.legend(frameon=False)

# %%
# In numbers of patients:

best = comparison.estimators["SARClassifier"]
rest = ~known
low, high = (end * len(X) - known.sum() for end in best.learner_.class_prior_range_)
print(
    f"About {best.unlabelled_prior_ * rest.sum():.0f} of the {rest.sum()} are ill; the data are "
    f"compatible with {low:.0f} to {high:.0f}. In truth {ill[rest].sum()} are."
)
