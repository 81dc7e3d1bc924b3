"""
Sites were visited several times: where does the species live?
==============================================================

A species that is there is not always seen. Sites where it was seen on one visit and missed on
another say how often it is missed, and so how many of the sites without a sighting have it.
Ecologists call this occupancy with imperfect detection; here every visit is a chance to be
labelled.
"""

# %%
# Forest cover decides where it lives, wind whether it is seen. Some visits did not take place.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from sarlearn import RepeatedSARClassifier
from sarlearn.inspection import history_test

rng = np.random.default_rng(0)
n_sites, n_visits = 600, 3
forest = rng.normal(size=(n_sites, 1))
wind = rng.normal(size=(n_sites, n_visits))
lives = rng.random(n_sites) < expit(0.2 + forest[:, 0])
seen = lives[:, None] & (rng.random((n_sites, n_visits)) < expit(-0.5 - wind))
sightings = np.where(rng.random((n_sites, n_visits)) < 0.9, seen, np.nan)

model = RepeatedSARClassifier().fit(forest, sightings, chances=wind)
ever = np.nansum(sightings, axis=1) > 0
low, high = model.class_prior_range_
print(f"Seen on {ever.mean():.1%} of the sites; in truth it lives on {lives.mean():.1%}.")
print(f"By three visits: {model.class_prior_:.1%}, between {low:.1%} and {high:.1%}.")

# %%
# What drives each part.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
grid = np.linspace(-2.5, 2.5, 60)
left.plot(grid, model.predict_proba(grid[:, None])[:, 1], color="#0072b2", label="estimated")
left.plot(grid, expit(0.2 + grid), ":", color="#009e73", label="truth")
left.set_xlabel("forest")
left.set_ylabel("chance that it lives there")
e = model.predict_propensity(np.zeros((60, 1)), grid[:, None])[:, 0]
right.plot(grid, e, color="#0072b2", label="estimated")
right.plot(grid, expit(-0.5 - grid), ":", color="#009e73", label="truth")
right.set_xlabel("wind")
right.set_ylabel("chance that a visit finds it")
left.legend(frameon=False)

# %%
# Sites without a sighting, and whether visits are independent, as the model says.

hidden = model.predict_posterior(forest, sightings, wind)[~ever]
print(f"Of the {len(hidden)} sites without a sighting about {hidden.sum():.0f} have it.")
print(history_test(model, forest, sightings, wind, n_draws=39, random_state=0))

# %%
# Some searches took longer: does that matter?
# --------------------------------------------
# Effort is an attribute of the visit like any other. Its logarithm is the better one: the odds of
# finding something then grow with a power of the hours.

hours = rng.uniform(0.2, 4, size=(n_sites, n_visits))
rate = np.exp(-0.9 - 0.5 * wind)
seen = lives[:, None] & (rng.random((n_sites, n_visits)) < 1 - np.exp(-rate * hours))
model = RepeatedSARClassifier().fit(forest, seen, chances=np.stack([wind, np.log(hours)], axis=2))
low, high = model.class_prior_range_
print(f"By hours of search: {model.class_prior_:.1%}, between {low:.1%} and {high:.1%}.")
print(f"Twice the hours: {2 ** model.propensity_coef_[0, 1]:.1f} times the odds of finding it.")
