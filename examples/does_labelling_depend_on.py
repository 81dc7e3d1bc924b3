"""
Are all positives equally likely to be labelled?
================================================

The assumption behind most programs, SCAR, can be tested. The test compares the fit with one label
frequency for all to one in which it follows the attributes, and draws labels from the former to see
how large a gain is chance.
"""

# %%
# A clinic knows some patients with a disease. The disease follows a marker and age; whether a
# patient was tested follows the distance to the clinic.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit

from sarlearn.inspection import scar_test

rng = np.random.default_rng(0)
table = pd.DataFrame(rng.normal(size=(2000, 4)), columns=["marker", "age", "distance", "pulse"])
ill = rng.random(2000) < expit(3 * table["marker"] + table["age"])
by_distance = ill & (rng.random(2000) < expit(-1.2 * table["distance"]))
at_random = ill & (rng.random(2000) < 0.5)

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
suspects = ["age", "distance", "pulse"]
for labels, name, ax in (
    (by_distance, "tested by distance", axes[0]),
    (at_random, "tested at random", axes[1]),
):
    found = scar_test(table, labels, suspects, n_draws=99, random_state=0)
    found.plot(ax=ax)
    ax.set_title(name)
    print(f"{name}: {found}\n")

# %%
# A test that does not reject is no proof: labelling that follows the class probability itself
# cannot be seen by any test of this kind.
# :ref:`sphx_glr_generated_gallery_which_attributes_to_name.py` asks which of the attributes are
# needed.
