"""
From a table to a report, without Python?
=========================================

A CSV file, the column that says who is labelled, and the columns suspected of deciding who gets
labelled. Everything below is typed into a terminal; Python only plays the terminal here.
"""

# %%
# First a table whose truth is known: breast cancer data, of which some are labelled, by clinic.

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer

from sarlearn.labelling import label

folder = Path(tempfile.mkdtemp())
table = load_breast_cancer(as_frame=True).frame.iloc[:, [0, 1, 4, 5, 7, 9, 30]]
table = table.assign(malignant=1 - table.pop("target"))
table["clinic"] = ["rural", "suburb", "urban"] * 189 + ["urban"] * 2
malignant = table.pop("malignant")
chance = {"rural": 0.2, "suburb": 0.55, "urban": 0.9}
table["diagnosed"], _ = label(
    table, malignant, lambda table: table["clinic"].map(chance), random_state=0
)
table.to_csv(folder / "pu.csv", index_label="patient")
print(f"Labelled {table['diagnosed'].sum()} of {malignant.sum()} positives.")


def terminal(command):
    """Run a command in the folder and print what it prints, as a terminal does."""
    print(f"$ sarlearn {command}")
    words = [sys.executable, "-m", "sarlearn", *command.split()]
    settings = {**os.environ, "COLUMNS": "90"}
    done = subprocess.run(words, cwd=folder, env=settings, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    print(done.stdout)


# %%
# How will the columns be read?

terminal("inspect pu.csv")

# %%
# Fit. The terminal shows what matters, the report all of it.

terminal(
    "fit pu.csv --label diagnosed --propensity clinic --id patient "
    "-o model.skops --report report.html"
)

# %%
# Score other rows, in a pipe if need be.

terminal("predict model.skops pu.csv -o scored.csv")
print("\n".join((folder / "scored.csv").read_text().splitlines()[:3]))

# %%
# The same in Python. The last expression of a notebook's cell shows the report itself; here is its
# picture of who gets labelled.

import pandas as pd

import sarlearn
from sarlearn.inspection import PropensityDisplay

pu = pd.read_csv(folder / "pu.csv")
model = sarlearn.load(folder / "model.skops")
page = sarlearn.report(model, pu, pu["diagnosed"], ids=pu["patient"])
print(page.to_dict()["estimates"]["class_prior"], "is the class prior of page and terminal alike")
PropensityDisplay.from_estimator(model, pu, feature="clinic")
