"""
How do I fit more rows than memory holds?
=========================================

Hand Dask collections to the same classes. Rows are worked on where they lie; only sums of a few
hundred numbers travel. Predictions are lazy, and keep the index and the partitions of the table.
"""

# %%
# Patients in several files, as they come out of a database. Clinics differ in diagnosing.

import tempfile

import dask
import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit

from sarlearn import SARClassifier

COLUMNS = ["age", "clinic", "test"]
FOUND = np.array([0.2, 0.5, 0.8])

folder = tempfile.mkdtemp()
for part in range(6):
    rng = np.random.default_rng(part)
    clinic = rng.integers(0, 3, 10_000)
    table = pd.DataFrame({"age": rng.normal(size=10_000), "clinic": clinic * 1.0})
    table["test"] = rng.normal(size=10_000)
    ill = rng.random(10_000) < expit(3 * table["test"] + table["age"] - 1)
    table["diagnosed"] = (ill & (rng.random(10_000) < FOUND[clinic])).astype(int)
    table["ill"] = ill
    table.to_parquet(f"{folder}/part{part}.parquet")

# %%
# ``Client("tcp://scheduler:8786")`` would run the same lines on a cluster. This is one machine,
# with threads.

dask.config.set(scheduler="threads")
table = dd.read_parquet(folder)
model = SARClassifier(propensity_features=["clinic"]).fit(table[COLUMNS], table["diagnosed"])
share, truth = table[["diagnosed", "ill"]].mean().compute()
print(f"{table.npartitions} partitions; {share:.1%} of the rows are labelled.")
print(f"Estimated to be positive: {model.class_prior_:.1%}; in truth {truth:.1%}.")

# %%
# Predictions are columns like any other, computed when they are asked for.


def add_propensity(part, model):
    """A partition with one more column."""
    return part.assign(propensity=model.predict_propensity(part[COLUMNS]))


scored = table.map_partitions(add_propensity, model)
by_clinic = scored.groupby("clinic")["propensity"].mean().compute().sort_index()
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot(by_clinic.index, by_clinic, "o-", color="#0072b2", label="estimated")
ax.plot([0, 1, 2], FOUND, "x:", color="#009e73", label="truth")
ax.set_xticks([0, 1, 2])
ax.set_xlabel("clinic")
ax.set_ylabel("share of the ill that is diagnosed")
ax.legend(frameon=False)

# %%
# Without Dask, :class:`sarlearn.Batches` reads Parquet files, Arrow, DuckDB or polars again in
# every pass, on one machine. On the command line it is ``sarlearn fit 'data/*.parquet'
# --dask``.
