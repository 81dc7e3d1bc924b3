"""
Explain it to me: why can labels not always say how many there are?
===================================================================

Every row has two unknown numbers: :math:`f`, the probability that it is positive, and :math:`e`,
the probability that a positive like it gets a label. The labels show only their product. This page
draws what follows from that.
"""

# %%
# One set of labels, two stories
# ------------------------------
# People of every age; some have a diagnosis. On the left few are ill and most of them are
# diagnosed. On the right twice as many are ill and half as many of these are diagnosed. The grey
# area, the share with a diagnosis, is the same: no number of further records tells the two stories
# apart.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

ILL, DIAGNOSED, LABELS = "#0072b2", "#d55e00", "#808080"
age = np.linspace(20, 90, 200)
f, e = 0.4 * expit((age - 55) / 8), np.full(200, 0.8)

figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), sharey=True, layout="constrained")
for ax, factor, title in zip(
    axes, (1, 2), ("few ill, most found", "many ill, few found"), strict=True
):
    ax.plot(age, factor * f, color=ILL, label="f: share that is ill")
    ax.plot(age, e / factor, color=DIAGNOSED, label="e: share of the ill that is diagnosed")
    ax.fill_between(age, f * e, color=LABELS, alpha=0.4, label="f e: share with a diagnosis")
    ax.set_title(title)
    ax.set_xlabel("age")
axes[0].set_ylim(0, 1)
handles, names = axes[0].get_legend_handles_labels()
figure.legend(handles, names, frameon=False, loc="outside lower center", ncols=3)

# %%
# What settles it: somebody is surely ill
# ---------------------------------------
# Where :math:`f` reaches 1, the share with a diagnosis *is* the share of the ill that is diagnosed.
# A marker that only the ill have gives such rows. Doubling :math:`f` is then impossible, and the
# level is known, whatever the shape of the curves.

marker = np.linspace(-6, 6, 200)
sure, rate = expit(2 * marker), 0.4
figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.plot(marker, sure, color=ILL, label="f: reaches 1")
ax.fill_between(marker, rate * sure, color=LABELS, alpha=0.4, label="f e: levels off at e")
ax.axhline(rate, color=DIAGNOSED, linestyle=":", label="e")
ax.set_xlabel("marker")
ax.legend(frameon=False, loc="upper left")

# %%
# What misleads: labels that follow a column
# ------------------------------------------
# Who has insurance is diagnosed more often. Whoever takes the diagnosed for a fair sample of the
# ill believes that insurance makes people ill, and overlooks the ill without it. Naming the column
# lets its effect go where it belongs.

import pandas as pd

from sarlearn import SARClassifier

rng = np.random.default_rng(0)
table = pd.DataFrame({"marker": 2 * rng.normal(size=4000), "insured": rng.random(4000) < 0.5})
ill = rng.random(4000) < expit(2 * table["marker"])
found = ill & (rng.random(4000) < np.where(table["insured"], 0.7, 0.15))

unnamed = SARClassifier(()).fit(table, found)
named = SARClassifier(["insured"]).fit(table, found)
shares = {
    "in truth": ill,
    "nothing named": unnamed.predict_proba(table)[:, 1],
    "insurance named": named.predict_proba(table)[:, 1],
}
insured = table["insured"].to_numpy()
figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for shift, group, name, colour in (
    (-0.18, insured, "insured", ILL),
    (0.18, ~insured, "not insured", DIAGNOSED),
):
    places = np.arange(3) + shift
    ax.barh(
        places, [share[group].mean() for share in shares.values()], 0.34, color=colour, label=name
    )
ax.set_yticks(range(3), list(shares))
ax.invert_yaxis()
ax.set_xlabel("share that is ill")
ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)

# %%
# What helps where nothing settles it
# -----------------------------------
# A look at some rows (:ref:`sphx_glr_generated_gallery_which_rows_to_check.py`), a second chance to
# be labelled (:ref:`sphx_glr_generated_gallery_several_visits.py`), or a share that is known from a
# survey (:ref:`sphx_glr_generated_gallery_a_share_from_a_survey.py`). And what needs no level at
# all: the order of the rows, and how groups compare.

low, high = named.class_prior_range_
print(
    f"Ill in truth: {ill.mean():.0%}. Estimated: {named.class_prior_:.0%}, "
    f"compatible with the data: {low:.0%} to {high:.0%}."
)
