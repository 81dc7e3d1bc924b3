"""
How sure is the share of positives?
===================================

Two questions that are often taken for one. How much would the estimate vary with other rows? And
what if every propensity were off by a factor?
"""

# %%
# Simulated rows: column 2 drives labelling. ``decay=1`` and a weak penalty make SAR-EM maximum
# likelihood, whose intervals have no shift of their own.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from sarlearn import SAREMClassifier
from sarlearn.inspection import bootstrap, sensitivity

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 3))
y = rng.random(2000) < expit(4 * X[:, 0] + X[:, 1] - 1)
s = y & (rng.random(2000) < expit(X[:, 2]))
model = SAREMClassifier([2], decay=1, C=100, propensity_C=100, stop="fixed_point").fit(X, s)
print(f"{s.mean():.1%} of the rows are labelled; in truth {y.mean():.1%} are positive.")

# %%
# Other rows
# ----------

drawn = bootstrap(model, X, s, n_resamples=60, random_state=0)
print(drawn)

# %%
# Other propensities
# ------------------

choices = sensitivity(model, X, s, propensity_bounds=(0.7, 1.4))
print(choices)
axes = choices.plot()
plt.gcf().set_size_inches(7, 4.5)
