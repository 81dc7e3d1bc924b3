"""
Some places were searched for longer: does that matter?
=======================================================

A longer search finds more of what is there. If positives turn up at a constant rate, the chance
that a search of length :math:`t` finds one is :math:`1 - \\exp(-\\lambda t)`: the complementary
log-log link, with the logarithm of the effort as an offset, one that nobody has to estimate.
"""

# %%
# Two searches per site, of different lengths; rain lowers the rate.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from sarlearn import RepeatedSARClassifier

rng = np.random.default_rng(5)
n_sites = 1_200
forest, rain = rng.normal(size=(n_sites, 1)), rng.normal(size=(n_sites, 2))
hours = rng.uniform(0.2, 4, size=(n_sites, 2))
lives = rng.random(n_sites) < expit(forest[:, 0])
rate = np.exp(-0.9 - 0.5 * rain)
seen = lives[:, None] & (rng.random((n_sites, 2)) < 1 - np.exp(-rate * hours))

model = RepeatedSARClassifier(propensity_link="cloglog")
model.fit(forest, seen, chances=rain, propensity_offset=np.log(hours))
low, high = model.class_prior_range_
print(f"Seen on {seen.any(axis=1).mean():.1%} of the sites; it lives on {lives.mean():.1%}.")
print(f"Estimated: {model.class_prior_:.1%}, between {low:.1%} and {high:.1%}.")
print(
    f"Found per hour in average weather: {np.exp(model.propensity_intercept_[0]):.2f}, truth 0.41."
)

# %%
# What another hour of search would find, by the fitted rate.

longer = np.linspace(0.1, 6, 60)
figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for weather, name, colour in ((-1.0, "dry", "#0072b2"), (1.0, "rain", "#d55e00")):
    found = model.propensity_intercept_[0] + model.propensity_coef_[0, 0] * weather
    ax.plot(longer, -np.expm1(-np.exp(found) * longer), color=colour, label=name)
    ax.plot(longer, -np.expm1(-np.exp(-0.9 - 0.5 * weather) * longer), ":", color="#009e73")
ax.plot([], [], ":", color="#009e73", label="truth")
ax.set_xlabel("hours of search")
ax.set_ylabel("chance to find what is there")
ax.set_ylim(0, 1)
ax.legend(frameon=False)
