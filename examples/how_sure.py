"""
How sure is the share of positives?
===================================

Two questions that are often taken for one. How much would the estimate vary with other rows? And
how far may it be off because the models are not the truth? A bootstrap answers the first,
``class_prior_range_`` both.
"""

# %%
# Simulated rows: column 2 drives labelling, and the class is not linear. ``SARClassifier`` has a
# range after every fit, made of its standard error and of how far its class models disagree.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from sarlearn import SARClassifier
from sarlearn.exceptions import TrustWarning
from sarlearn.inspection import bootstrap, sensitivity

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 3))
y = rng.random(2000) < expit(4 * X[:, 0] + X[:, 1] ** 2 - 1.5)
s = y & (rng.random(2000) < expit(X[:, 2]))
model = SARClassifier([2]).fit(X, s)
low, high = model.class_prior_range_
print(f"{s.mean():.1%} of the rows are labelled; in truth {y.mean():.1%} are positive.")
print(f"Estimated: {model.class_prior_:.1%}, compatible with the data: {low:.1%} to {high:.1%}.")
print(f"The labels determine this {model.certainty_}.")

# %%
# Other rows
# ----------
# The bootstrap fits the model to resampled rows. Its interval is that of chance alone: it knows
# nothing of models that are wrong, and is narrower than the range.

drawn = bootstrap(model, X, s, n_resamples=20, random_state=0)
print(drawn)
drawn.plot()

# %%
# Other propensities
# ------------------
# What if labelling were more or less diligent than the model believes, by a factor?

choices = sensitivity(model, X, s, factors=(0.7, 0.85, 1.0, 1.2, 1.4))
print(choices)
choices.plot()

# %%
# More rows, fewer rows
# ---------------------
# With more rows the range becomes narrower, and ends at a width that stands for errors of shape. A
# look at some rows (:ref:`sphx_glr_generated_gallery_which_rows_to_check.py`) has no such end.

figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for place, n in enumerate((250, 500, 1000, 2000)):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrustWarning)  # the width says it
        part = SARClassifier([2]).fit(X[:n], s[:n])
    ax.plot(part.class_prior_range_, [place, place], color="#0072b2", linewidth=3)
    ax.plot(part.class_prior_, place, "o", color="#0072b2")
ax.axvline(y.mean(), color="#009e73", linestyle=":", label="truth")
ax.set_yticks(range(4), ["250 rows", "500", "1,000", "2,000"])
ax.invert_yaxis()
ax.set_xlabel("share of positives, and its range")
ax.legend(frameon=False)
