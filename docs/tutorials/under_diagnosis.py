"""
Under-diagnosis: from a table to a decision
===========================================

A health service has a table of people with some measurements, and a column that says who has
been diagnosed. It can invite sixty people to an examination. How many ill people are
undiagnosed, whom should it invite, and what may it say in public about the number?

The measurements are real: scikit-learn's breast cancer data. Age group, insurance and distance
are drawn, and the diagnoses follow the design of Bekker and Davis (2018), in which every
propensity attribute multiplies the chance of a label. The truth is known, therefore; it is put
aside until the end.
"""

# %%
# The table
# ---------

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import sarlearn
from sarlearn import SARClassifier
from sarlearn.exceptions import TrustWarning
from sarlearn.inspection import bootstrap, goodness_of_fit, scar_test, select_propensity_features
from sarlearn.labelling import ProductLabelling, label

rng = np.random.default_rng(3)
data = load_breast_cancer(as_frame=True)
table = data.data[[f"mean {name}" for name in ("radius", "texture", "smoothness", "concavity")]]
table = table.assign(
    older=(rng.random(len(table)) < 0.5).astype(int),
    insured=(rng.random(len(table)) < 0.6).astype(int),
    near=(rng.random(len(table)) < 0.5).astype(int),
)
truth = 1 - data.target.to_numpy()
mechanism = ProductLabelling(["older", "insured"], low=0.45, high=0.95)
diagnosed, _ = label(table, truth, mechanism, random_state=0)
print(table.assign(diagnosed=diagnosed).head().round(2).T)
print(f"{len(table)} people, {diagnosed.sum()} diagnosed ({diagnosed.mean():.1%}).")

# %%
# First mistake: the undiagnosed are healthy
# ------------------------------------------
# "This share of our patients has the disease" reports the share of *diagnoses*. It is a lower
# bound, and the only number here that needs no assumption.

lower_bound = diagnosed.mean()

# %%
# Second mistake: a column that knows the answer
# ----------------------------------------------
# The export also has a column ``referrals``: how often someone was sent to a specialist, which
# happens after a diagnosis. It predicts the label almost perfectly. A model with it finds
# nobody who is ill and undiagnosed, and is sure of it.

leaky = table.assign(referrals=np.where(diagnosed == 1, 1 + rng.poisson(1.0, len(table)), 0))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    wrong = SARClassifier(["older", "insured"]).fit(leaky, diagnosed)
print(f"With referrals: {wrong.class_prior_:.1%} are ill.")
for warning in caught:
    print(f"{warning.category.__name__}: {warning.message}")

# %%
# Everything that is written down *after* the label has to go. Ask of every column: could it be
# known of somebody who was never diagnosed?

# %%
# Third mistake: everybody had the same chance
# --------------------------------------------
# What could decide who is diagnosed? Age, since screening starts at fifty; insurance; the
# distance to a clinic. None of them is a symptom. Is there anything to it? The test asks the
# labels.

suspects = ["older", "insured", "near"]
print(scar_test(table, diagnosed, suspects, n_draws=99, random_state=0))

# %%
# And which of them? Fits that name different columns explain the labels better or worse. Someone
# who knows the health service may overrule the result: a name too many costs little, a missing one
# a lot.

chosen = select_propensity_features(table, diagnosed, suspects)
print(chosen)
chosen.plot()

# %%
# The fit
# -------

model = SARClassifier(suspects).fit(table, diagnosed)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", TrustWarning)
    scar = SARClassifier(()).fit(table, diagnosed)
print(f"{model.class_prior_:.1%} are ill; {model.label_frequency_:.0%} of them are diagnosed.")

# %%
# Fourth mistake: one number
# --------------------------
# The estimate has a range: the values that the data are compatible with. Other people would have
# given another estimate, by chance: the bootstrap. Neither replaces the other, and neither knows of
# a driver of diagnoses that nobody named.

low, high = model.class_prior_range_
print(
    f"The data are compatible with {low:.1%} to {high:.1%}; the labels determine the share "
    f"{model.certainty_}."
)
drawn = bootstrap(model, table, diagnosed, n_resamples=30, random_state=0)
print(drawn)
print(goodness_of_fit(model, table, diagnosed))

# %%
# The decision
# ------------
# Sixty examinations. Sort the undiagnosed by *posterior*: the probability of being ill, knowing
# that nobody found it. The sum of the posteriors is the number of cases to expect, known before
# the first examination.

posterior = model.predict_posterior(table, diagnosed)
probability = model.predict_proba(table)[:, 1]
waiting = np.flatnonzero(diagnosed == 0)
invited = waiting[np.argsort(-posterior[waiting])[:60]]
print(f"Expected among the sixty: {posterior[invited].sum():.0f} cases.")

# %%
# Fifth mistake: inviting those who look like the diagnosed. The classifier of the *labels*
# prefers people who are older and insured, who were examined anyway.

label_score = probability * model.predict_propensity(table)
look_alike = waiting[np.argsort(-label_score[waiting])[:60]]
for name, rows in (("by posterior", invited), ("by resemblance", look_alike)):
    share = table.loc[rows, "insured"].mean()
    print(f"{name}: {truth[rows].sum()} of 60 are ill; {share:.0%} of the invited are insured.")

# %%
# The truth
# ---------
# Now it may be looked at.

figure, ax = plt.subplots(figsize=(8, 2.8), layout="constrained")
names = ["diagnosed", "same chance for all", "by age, insurance, distance"]
values = [lower_bound, scar.class_prior_, model.class_prior_]
ax.barh(names, values, color=["#808080", "#d55e00", "#0072b2"], height=0.5)
ax.plot([low, high], [2, 2], color="black", linewidth=2, label="compatible with the data")
ax.axvline(truth.mean(), color="#009e73", linestyle=":", label="truth")
ax.set_xlabel("share of the ill")
ax.legend(frameon=False, loc="lower right")

# %%
# What may be said in public: "An estimated so many of our patients are ill, between the ends of
# the range, *if* age, insurance and distance are all that decides who is diagnosed." The
# condition belongs to the sentence. If it matters, examine fifty people who are drawn for it:
# :doc:`fraud_audits` shows how.
#
# The report has all of this on one page, to send on:

page = sarlearn.report(model, table, diagnosed)
print(page.to_dict()["estimates"]["class_prior"], "is the class prior on the page, too.")
