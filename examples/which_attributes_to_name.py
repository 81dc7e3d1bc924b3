"""
Which attributes drive labelling?
=================================

Someone who knows how labels come about should name them. Where that is a shortlist rather than an
answer, forward selection by BIC says which ones the labels ask for, and how often resamples agree.
"""

# %%
# Who is tested depends on the distance to the clinic and on insurance; the shortlist has four
# names.

import numpy as np
import pandas as pd
from scipy.special import expit

from sarlearn import CrossFitSARClassifier
from sarlearn.inspection import select_propensity_features, unnamed_drivers

rng = np.random.default_rng(0)
n = 3000
table = pd.DataFrame(rng.normal(size=(n, 4)), columns=["marker", "age", "distance", "pulse"])
table["insured"] = (rng.random(n) < 0.6).astype(int)
ill = rng.random(n) < expit(3 * table["marker"] + table["age"])
tested = rng.random(n) < expit(0.3 - 1.2 * table["distance"] + table["insured"])
diagnosed = ill & tested

shortlist = ["age", "distance", "pulse", "insured"]
found = select_propensity_features(table, diagnosed, shortlist, n_resamples=20, random_state=0)
print(found)
found.plot()

# %%
# What a missing name costs
# -------------------------
# The class prior with each of some choices. Leaving a driver out shifts the estimate; one name too
# many does not.

for names in (found.features, ["distance"], [], shortlist):
    model = CrossFitSARClassifier(names, random_state=0).fit(table, diagnosed)
    print(f"{', '.join(names) or 'none':32s} {model.class_prior_:.3f}   (truth {ill.mean():.3f})")

# %%
# After a fit, :func:`~sarlearn.inspection.unnamed_drivers` looks for columns that were forgotten.

print(unnamed_drivers(table, diagnosed, ["distance"]))
