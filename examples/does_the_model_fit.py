"""
Does my model explain the labels?
=================================

Nobody knows the true classes, but the labels themselves can be compared with what the model expects
of them. A model that fails here is wrong. One that passes may still be: how the product
:math:`f(x)\\,e(x)` splits into class and propensity cannot be seen in the labels.
"""

# %%
# The class follows a hump in one column, which a linear model cannot follow.

import warnings

import numpy as np
import pandas as pd
from scipy.special import expit

from sarlearn import CrossFitSARClassifier
from sarlearn.inspection import goodness_of_fit

rng = np.random.default_rng(0)
n = 3000
table = pd.DataFrame(rng.normal(size=(n, 4)), columns=["marker", "age", "pulse", "distance"])
risk = 3 * table["marker"] + 3 - 3 * table["age"] ** 2
ill = rng.random(n) < expit(risk)
diagnosed = ill & (rng.random(n) < expit(-table["distance"]))

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what it warns of is what is looked at here
    straight = CrossFitSARClassifier(["distance"], random_state=0).fit(table, diagnosed)
found = goodness_of_fit(straight, table, diagnosed)
print(found)
found.plot()

# %%
# The column that bends is named. With its square as a further column the model fits, and the class
# prior is nearer the truth.

better = table.assign(age_squared=table["age"] ** 2)
curved = CrossFitSARClassifier(["distance"], random_state=0).fit(better, diagnosed)
found = goodness_of_fit(curved, better, diagnosed)
print(found)
found.plot()
print(
    f"class prior: straight {straight.class_prior_:.2f}, curved {curved.class_prior_:.2f}, "
    f"truth {ill.mean():.2f}"
)
