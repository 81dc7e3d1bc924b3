"""
Does labelling depend on anything, and which columns should I name?
===================================================================

Someone who knows how labels come about should name the columns that drive labelling. Where that is
a shortlist rather than an answer, a test asks whether labels fall at random, and fits that name
different columns say which of them the labels ask for.
"""

# %%
# Who is tested depends on the distance to the clinic and on insurance; the shortlist has four
# names. For comparison, labels that do fall at random.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit

from sarlearn import SARClassifier
from sarlearn.inspection import scar_test, select_propensity_features

rng = np.random.default_rng(0)
n = 3000
table = pd.DataFrame(rng.normal(size=(n, 4)), columns=["marker", "age", "distance", "pulse"])
table["insured"] = (rng.random(n) < 0.6).astype(int)
ill = rng.random(n) < expit(3 * table["marker"] + table["age"])
tested = rng.random(n) < expit(0.3 - 1.2 * table["distance"] + table["insured"])
diagnosed = ill & tested
at_random = ill & (rng.random(n) < 0.5)

# %%
# Does labelling depend on the shortlist at all?
# ----------------------------------------------
# The test compares the fit with one label frequency for all to one in which it follows the columns,
# and draws labels from the former to see how large a gain is chance. A test that does not reject is
# no proof: labelling that follows the class probability itself cannot be seen by any test of this
# kind.

shortlist = ["age", "distance", "pulse", "insured"]
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for labels, name, ax in ((diagnosed, "tested", axes[0]), (at_random, "at random", axes[1])):
    found = scar_test(table, labels, shortlist, n_draws=99, random_state=0)
    found.plot(ax=ax)
    ax.set_title(name)
    print(f"{name}: {found}\n")

# %%
# Which of them?
# --------------
# Fits that name none of the columns, the first, the first two and so on are weighted by how well
# they explain the labels.

found = select_propensity_features(table, diagnosed, shortlist)
print(found)
found.plot()

# %%
# What a missing name costs
# -------------------------
# The class prior with each of some choices. Leaving a driver out shifts the estimate; one name too
# many does not.

for names in (found.features, ["distance"], [], shortlist):
    model = SARClassifier(names).fit(table, diagnosed)
    low, high = model.class_prior_range_
    print(
        f"{', '.join(names) or 'none':32s} {model.class_prior_:.3f}, between {low:.2f} and "
        f"{high:.2f}   (truth {ill.mean():.3f})"
    )
