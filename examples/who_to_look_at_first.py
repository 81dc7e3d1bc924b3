"""
Whom should we examine first?
=============================

A clinic knows which patients were diagnosed, not which are ill. Patients who come often are
diagnosed more often. Among those who were not diagnosed, who is most probably ill? The
posterior :math:`P(y=1 \\mid x, s=0)` answers: it is high where the class model sees illness
*and* where a diagnosis would easily have been missed.
"""

# %%
# Simulated patients, so that the list can be checked.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from sarlearn import SARClassifier

rng = np.random.default_rng(0)
n = 5000
X = pd.DataFrame(rng.standard_normal((n, 8)), columns=[f"symptom {i}" for i in range(8)])
X["visits"] = np.minimum(rng.poisson(2.0, n), 5)
X["insured"] = (rng.random(n) < 0.6).astype(int)
ill = rng.random(n) < expit(1.6 * X.iloc[:, :5].sum(axis=1) - 0.5)
diagnosed = ill & (rng.random(n) < expit(0.6 * X["visits"] + 0.8 * X["insured"] - 2))

model = SARClassifier(["visits", "insured"]).fit(X, diagnosed)
posterior = model.predict_posterior(X, diagnosed)

# %%
# The list by posterior against the list of a classifier that takes the undiagnosed for healthy. The
# latter looks for patients who resemble the *diagnosed*, who come often: it sends the next
# examination to those who were examined before.

naive = LogisticRegression().fit(X, diagnosed).predict_proba(X)[:, 1]
waiting = np.flatnonzero(~diagnosed)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
shown = 600
for name, score, colour in (
    ("by posterior", posterior, "#0072b2"),
    ("undiagnosed = healthy", naive, "#d55e00"),
):
    order = waiting[np.argsort(-score[waiting])][:shown]
    left.plot(np.arange(1, shown + 1), np.cumsum(ill[order]), color=colour, label=name)
    never = (X["visits"].to_numpy()[order] == 0).mean()
    print(f"{name}: {ill[order].sum()} of {shown} are ill; {never:.0%} never came to the clinic.")
left.plot([0, shown], [0, shown], ":", color="#808080", label="every one ill")
left.set_xlabel("patients examined")
left.set_ylabel("ill among them")
left.legend(loc="upper left", frameon=False)
for value, name in enumerate(("not insured", "insured")):
    rows = waiting[X["insured"].to_numpy()[waiting] == value]
    right.hist(posterior[rows], bins=40, histtype="step", label=name)
right.set_yscale("log")
right.set_xlabel("posterior probability of being ill")
right.set_ylabel("undiagnosed patients")
right.legend(loc="upper right", frameon=False)

# %%
# What to expect of the list is known beforehand: the posteriors, added up from the top.

first = waiting[np.argsort(-posterior[waiting])[:200]]
print(f"Expected among the first 200: {posterior[first].sum():.0f} ill. Found: {ill[first].sum()}.")
