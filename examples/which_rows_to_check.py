"""
I can check fifty rows by hand: which ones?
===========================================

A hospital table with a weak signal: from labels alone no method says how many are ill. A few rows
that someone checks do, with a confidence interval that holds whatever the model, because the rows
were drawn with known probabilities.
"""

# %%
# Column 6 decides who is tested.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from sarlearn import SARClassifier
from sarlearn.audit import class_prior_from_audit, suggest_audit
from sarlearn.exceptions import TrustWarning

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 7))
ill = rng.random(4000) < expit(0.4 * X[:, :5].sum(axis=1) - 0.3)
diagnosed = ill & (rng.random(4000) < expit(1.2 * X[:, 6] - 0.8))

model = SARClassifier(propensity_features=[6])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", TrustWarning)  # that the labels leave it open is the point
    model.fit(X, diagnosed)
steps = [("labels alone", model.class_prior_, model.class_prior_range_)]

# %%
# Suggest, check, fit again. Each round leaves out the rows that are done.

answers = {}
for round_ in (1, 2, 3):
    suggestion = suggest_audit(model, X, diagnosed, n=50, random_state=round_, **answers)
    found = ill[suggestion.rows]  # here someone examines the patients
    answers = suggestion.answers(found)
    model.fit(X, diagnosed, **answers)
    steps.append((f"{50 * round_} rows checked", model.class_prior_, model.class_prior_range_))

figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
for place, (name, estimate, (low, high)) in enumerate(steps):
    ax.plot([low, high], [place, place], color="#0072b2", linewidth=3)
    ax.plot(estimate, place, "o", color="#0072b2")
    print(f"{name}: {estimate:.1%} are ill, between {low:.1%} and {high:.1%}.")
print(f"In truth {ill.mean():.1%} are.")
ax.axvline(ill.mean(), color="#009e73", linestyle=":", label="truth")
ax.set_yticks(range(len(steps)), [name for name, *_ in steps])
ax.invert_yaxis()
ax.set_xlabel("share of the ill")
ax.legend(frameon=False)

# %%
# How many more would it take?

estimate = class_prior_from_audit(diagnosed, **answers)
print(
    f"About {estimate.rows_needed(0.05)} checked rows would bring the range under 5 percentage "
    "points."
)
