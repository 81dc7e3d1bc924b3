"""
Fraud: the audit loop
=====================

An insurer knows which claims were found to be fraudulent. Large claims and those that came in
online are looked at more closely, so the frauds it knows are a biased sample. Two inspectors
can check some claims a day. Which ones, and when is the number of undetected frauds known well
enough?

The columns are drawn by scikit-learn's ``make_classification``, which follows the design of the
Madelon data (Guyon 2003); who is caught is logistic in amount and channel.
"""

# %%
# The claims
# ----------

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

from sarlearn import SARClassifier
from sarlearn.audit import class_prior_from_audit, suggest_audit
from sarlearn.exceptions import TrustWarning
from sarlearn.labelling import LogisticLabelling, label

X, fraud = make_classification(
    n_samples=6000,
    n_features=8,
    n_informative=4,
    n_redundant=2,
    n_clusters_per_class=2,
    weights=[0.85],
    flip_y=0.05,
    class_sep=0.8,
    random_state=1,
)
claims = pd.DataFrame(X, columns=[f"signal {i}" for i in range(8)])
rng = np.random.default_rng(1)
claims["log amount"] = rng.normal(size=len(claims))
claims["online"] = (rng.random(len(claims)) < 0.5).astype(int)
mechanism = LogisticLabelling(["log amount", "online"], coef=[1.2, 1.0], intercept=-1.5)
caught, _ = label(claims, fraud, mechanism, random_state=1)
print(f"{len(claims)} claims, {caught.sum()} known frauds ({caught.mean():.1%}).")

# %%
# First look
# ----------
# Labels alone, and how far they settle the number.

model = SARClassifier(["log amount", "online"])
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    model.fit(claims, caught)
low, high = model.class_prior_range_
print(
    f"{model.class_prior_:.1%} are frauds; the data are compatible with {low:.1%} to {high:.1%}. "
    f"The labels determine this {model.certainty_}."
)
for warning in seen:
    print(f"{warning.category.__name__}: {warning.message}")

# %%
# First mistake: checking the top of the list
# -------------------------------------------
# Inspectors like to check what looks worst, and rightly so where the aim is to catch. As an
# estimate of how many frauds there are the result is worthless: the top is not a sample of
# anything.

posterior = model.predict_posterior(claims, caught)
waiting = np.flatnonzero(caught == 0)
top = waiting[np.argsort(-posterior[waiting])[:60]]
share = fraud[top].mean()
wrong = caught.mean() + share * len(waiting) / len(claims)
print(f"Of the top 60 {share:.0%} are frauds. Read as a sample that would mean {wrong:.0%} of all.")

# %%
# The loop
# --------
# :func:`~sarlearn.audit.suggest_audit` draws rows with known probabilities, more of them where
# the model is undecided. Whatever the model, the class prior then has a confidence interval,
# because the draw is known. Here the answers come from the truth; in life someone looks, or
# uses the page of ``sarlearn audit --serve``.

steps = [("labels alone", model.class_prior_, (low, high))]
answers, wanted = {}, 0.06
for day in range(1, 7):
    suggestion = suggest_audit(model, claims, caught, n=60, random_state=day, **answers)
    answers = suggestion.answers(fraud[suggestion.rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrustWarning)
        model.fit(claims, caught, **answers)
    low, high = model.class_prior_range_
    steps.append((f"day {day}", model.class_prior_, (low, high)))
    print(f"day {day}: {model.class_prior_:.1%}, between {low:.1%} and {high:.1%}")
    if high - low < wanted:
        break

# %%
# Second mistake: stopping when the number pleases. The width is a fair reason to stop, fixed
# beforehand, as it is here (under six points). The value is not.

figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
for place, (_, estimate, (low, high)) in enumerate(steps):
    ax.plot([low, high], [place, place], color="#0072b2", linewidth=3)
    ax.plot(estimate, place, "o", color="#0072b2")
ax.axvline(fraud.mean(), color="#009e73", linestyle=":", label="truth")
ax.set_yticks(range(len(steps)), [name for name, *_ in steps])
ax.invert_yaxis()
ax.set_xlabel("share of frauds")
ax.legend(frameon=False)

# %%
# How many more claims would an interval of four points take?

estimate = class_prior_from_audit(caught, **answers)
print(f"About {estimate.rows_needed(0.04)} checked claims.")

# %%
# What it is for
# --------------
# Undetected fraud by channel, as a number to act on. The audited model knows the level; the
# propensity says where nobody looks.

hidden = model.predict_posterior(claims, caught)
chance = model.predict_propensity(claims)
for online, name in ((1, "online"), (0, "by post")):
    rows = claims["online"].to_numpy() == online
    unseen = rows & (caught == 0)
    print(
        f"{name}: a fraud is caught with probability {chance[rows].mean():.2f}; about "
        f"{hidden[unseen].sum():.0f} are undetected (truth {fraud[unseen].sum()})."
    )

# %%
# Third mistake: forgetting that inspectors err. An audit is only as good as its answers; answer
# *unsure* where it is (a missing value), rather than guess. :doc:`/user_guide/evidence` has the
# assumptions.
