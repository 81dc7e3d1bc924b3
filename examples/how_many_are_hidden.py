"""
My labels are biased: how many positives are hidden?
====================================================

Patients of three clinics. City clinics diagnose most of the ill, suburban ones few, so the
diagnosed are a biased sample of the ill. The measurements come with scikit-learn; the clinics
and diagnoses are drawn, so that the truth is known. The models do not see it.
"""

# %%
# The data
# --------
# Ten measurements of a tumour, and the clinic as a word. Only the ill are ever diagnosed, and how
# often depends on the clinic.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from sarlearn import SARClassifier
from sarlearn.exceptions import TrustWarning

FOUND = {"city": 0.9, "rural": 0.55, "suburb": 0.2}  # the probability of a diagnosis, for the ill

rng = np.random.default_rng(0)
data = load_breast_cancer(as_frame=True)
ill = data.target.to_numpy() == 0
X = data.data.iloc[:, :10].assign(clinic=rng.choice(list(FOUND), len(ill)))
diagnosed = ill & (rng.random(len(ill)) < X["clinic"].map(FOUND))
n_diagnosed = int(diagnosed.sum())
print(f"{len(X)} patients, {n_diagnosed} diagnosed, {(ill & ~diagnosed).sum()} ill and hidden.")

# %%
# Three answers
# -------------
# That all the ill are diagnosed equally often (SCAR, no column named) is the assumption of most
# programs. Naming the clinic lets the probability of a diagnosis depend on it.


def hidden(share):
    """A share of positives among all patients, as a number of hidden ones."""
    return share * len(X) - n_diagnosed


model = SARClassifier(["clinic"]).fit(X, diagnosed)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", TrustWarning)
    scar = SARClassifier(()).fit(X, diagnosed)
low, high = (hidden(end) for end in model.class_prior_range_)
print(
    f"By clinic: about {hidden(model.class_prior_):.0f} are hidden, "
    f"between {low:.0f} and {high:.0f}."
)
print(f"The labels determine this {model.certainty_}.")

# %%
# The range beside the estimate holds what the data are compatible with.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
estimates = {
    "unlabelled = healthy": 0,
    "diagnosed at random": hidden(scar.class_prior_),
    "diagnosed by clinic": hidden(model.class_prior_),
}
colours = ["#808080", "#d55e00", "#0072b2"]
left.barh(list(estimates), list(estimates.values()), color=colours, height=0.5)
left.plot([low, high], [2, 2], color="black", linewidth=2, label="compatible with the data")
left.axvline((ill & ~diagnosed).sum(), color="#009e73", linestyle=":", label="truth")
left.set_xlabel("hidden positives")
left.legend(frameon=False, loc="lower right")

one_of_each = X.iloc[:3].assign(clinic=list(FOUND))
e = model.predict_propensity(one_of_each)
right.plot(list(FOUND), list(FOUND.values()), "o", color="#009e73", label="truth")
right.plot(list(FOUND), e, "x", color="#0072b2", markersize=9, label="estimated")
right.set_ylim(0, 1)
right.set_ylabel("share of the ill that is diagnosed")
right.legend(frameon=False)

# %%
# When the labels do not say it
# -----------------------------
# Two measurements that hardly tell the ill from the healthy. The estimate is a number all the same;
# the range and the warning say what it is worth.

weak = X[["mean texture", "mean symmetry", "clinic"]]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    unsure = SARClassifier(["clinic"]).fit(weak, diagnosed)
low, high = (hidden(end) for end in unsure.class_prior_range_)
print(
    f"{hidden(unsure.class_prior_):.0f} hidden; the data are compatible with "
    f"{low:.0f} to {high:.0f}."
)
print(f"The labels determine this {unsure.certainty_}.")
for warning in caught:
    print(f"{warning.category.__name__}: {warning.message}")
