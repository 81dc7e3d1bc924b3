"""
A survey says how many there are: what does that settle?
========================================================

Where no row is surely positive, labels alone leave the share of positives open. Often it is known
from elsewhere: a survey, a register, a paper. Learners take it as ``class_prior``, exactly,
within bounds, or with its standard error, and ``class_prior_from_labels_`` keeps what the labels
alone would have said.
"""

# %%
# Classes overlap, and clinics label more or less readily. The clinic has no place in the class
# model: ``classifier_features`` leaves it out.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit

from sarlearn import SARClassifier

rng = np.random.default_rng(7)
n = 3_000
table = pd.DataFrame(rng.normal(size=(n, 3)), columns=["age", "glucose", "bmi"])
table["rural"] = (rng.random(n) < 0.4) * 1.0
ill = rng.random(n) < expit(0.9 * table.glucose + 0.7 * table.bmi - 0.6)
diagnosed = ill & (rng.random(n) < np.where(table.rural == 1, 0.25, 0.6))

settings = {
    "propensity_features": ["rural"],
    "classifier_features": ["age", "glucose", "bmi"],
}
known = {
    "the labels alone": None,
    "between 25% and 45%": (0.25, 0.45),
    "a survey: 37% ± 2%": {"mean": 0.37, "standard_error": 0.02},
    "known: 37%": 0.37,
}
models = {
    name: SARClassifier(class_prior=share, **settings).fit(table, diagnosed)
    for name, share in known.items()
}
for name, model in models.items():
    low, high = model.class_prior_range_
    print(f"{name:<22} {model.class_prior_:.1%}, between {low:.1%} and {high:.1%}")
print(f"{'in truth':<22} {ill.mean():.1%}")

# %%
# The share moves the propensity, too: who knows how many are ill knows how many were overlooked.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
for row, model in enumerate(models.values()):
    low, high = model.class_prior_range_
    left.plot([low, high], [row, row], color="#0072b2", lw=4, alpha=0.4, solid_capstyle="butt")
    left.plot(model.class_prior_, row, "o", color="#0072b2")
left.axvline(ill.mean(), ls=":", color="#009e73", label="truth")
left.set_yticks(range(len(models)), list(models))
left.invert_yaxis()
left.set_xlabel("share that is ill, and its range")
left.legend(frameon=False)
places = pd.DataFrame({"age": 0.0, "glucose": 0.0, "bmi": 0.0, "rural": [0.0, 1.0]})
width = 0.8 / len(models)
for position, (name, model) in enumerate(models.items()):
    at = np.arange(2) + (position - 1.5) * width
    right.bar(at, model.predict_propensity(places), width, label=name)
right.plot([-0.4, 0.4], [0.6, 0.6], ":", color="#009e73")
right.plot([0.6, 1.4], [0.25, 0.25], ":", color="#009e73", label="truth")
right.set_xticks([0, 1], ["city", "rural"])
right.set_ylabel("share of the ill that is diagnosed")
right.set_ylim(0, 1)
right.legend(frameon=False, fontsize=8)
