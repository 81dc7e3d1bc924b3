"""How do I fit more rows than fit in memory, or on several machines?

Hand Dask collections to the same classes. Rows are worked on where they lie; only sums of a few
hundred numbers travel. Predictions are lazy, and keep the index and the partitions of the table.

Run:  python examples/more_rows_than_memory.py     (needs pip install 'sarlearn[dask,tables]')
"""

import tempfile

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from scipy.special import expit

from sarlearn import SAREMClassifier

COLUMNS = ["age", "clinic", "test"]


def write_parts(folder, n_parts=8, n_rows=20_000):
    """Patients in several files, as they come out of a database; clinics differ in diagnosing."""
    for part in range(n_parts):
        rng = np.random.default_rng(part)
        clinic = rng.integers(0, 3, n_rows)
        table = pd.DataFrame({"age": rng.normal(0, 1, n_rows), "clinic": clinic * 1.0})
        table["test"] = rng.normal(0, 1, n_rows)
        ill = rng.random(n_rows) < expit(3 * table["test"] + table["age"] - 1)
        chance = np.array([0.2, 0.5, 0.8])[clinic]
        table["diagnosed"] = (ill & (rng.random(n_rows) < chance)).astype(int)
        table["ill"] = ill
        table.to_parquet(f"{folder}/part{part}.parquet")


def main():
    # Or Client("tcp://scheduler:8786"), a cluster of machines.
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        write_parts(folder)
        table = dd.read_parquet(folder)
        model = SAREMClassifier(propensity_features=["clinic"])
        model.fit(table[COLUMNS], table["diagnosed"])
        share, truth = table[["diagnosed", "ill"]].mean().compute()
        print(f"{table.npartitions} partitions; {share:.1%} of the rows are labelled.")
        print(f"Estimated to be positive: {model.class_prior_:.1%}; in truth {truth:.1%}.")
        chances = model.predict_propensity(table[COLUMNS])  # nothing is computed yet
        print(f"Mean chance of a label: {chances.mean().compute():.2f}")
        scored = table.map_partitions(add_chance, model)
        for clinic, chance in scored.groupby("clinic")["chance"].mean().compute().items():
            print(f"clinic {clinic:.0f}: a positive is labelled with probability {chance:.2f}")


def add_chance(part, model):
    """A partition with one more column; files written like this need no more memory than it."""
    return part.assign(chance=model.predict_propensity(part[COLUMNS]))


if __name__ == "__main__":
    main()
