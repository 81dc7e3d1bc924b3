"""The 20 reference cases of the class-prior estimators, and what other implementations gave.

``data/prior_reference.csv`` holds estimates of the authors' or public Python code (BBE, DEDPUL, KM,
PE; TIcE repaired for Python 3 and with its bounds from the estimation rows, and "as published",
with the tree's own rows in their place), of transliterations of MATLAB code (AlphaMax, pen-L1), and
of the formulas on the same scores (EN).
"""

import csv
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold

from sarlearn.priors._scores import out_of_fold_scores

CASES = [
    (name, c, seed)
    for name in ("breast_cancer", "two_gaussians")
    for c in (0.1, 0.3, 0.5, 0.7, 0.9)
    for seed in (0, 1)
]


@cache
def dataset(name):
    """X scaled to [0, 1], and y."""
    if name == "breast_cancer":
        X, target = load_breast_cancer(return_X_y=True)
        y = target == 0
    else:
        rng = np.random.default_rng(12345)
        y = np.arange(2000) < 600
        X = rng.standard_normal((2000, 5)) + np.where(y, 1, -1)[:, None]
        order = rng.permutation(2000)
        X, y = X[order], y[order]
    return (X - X.min(axis=0)) / np.ptp(X, axis=0), y


@cache
def case(name, c, seed):
    """X, s and the share of positives."""
    X, y = dataset(name)
    s = y & (np.random.default_rng(1000 * seed + round(100 * c)).random(len(y)) < c)
    return X, s, float(y.mean())


def small_case(name, c, seed):
    """The rows that the kernel-mean reference used: 600 of the 2000 Gaussians."""
    X, s, alpha = case(name, c, seed)
    if name == "breast_cancer":
        return X, s, alpha
    rows = np.random.default_rng(seed).permutation(2000)[:600]
    return X[rows], s[rows], float(dataset(name)[1][rows].mean())


@cache
def scores(name, c, seed):
    """The reference's held-out logistic scores, computed once."""
    X, s, _ = case(name, c, seed)
    return out_of_fold_scores(X, s, cv=StratifiedKFold(5, shuffle=True, random_state=seed))


@cache
def reference(method):
    """Estimate of the class prior by case."""
    with open(Path(__file__).parent / "data" / "prior_reference.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == method]
    return {(r["dataset"], float(r["c"]), int(r["seed"])): float(r["alpha_hat"]) for r in rows}


def truth(key, small=False):
    return (small_case if small else case)(*key)[2]


def mean_error(found, small=False):
    """Mean absolute error over the cases."""
    return float(np.mean([abs(found[key] - truth(key, small)) for key in found]))


def by_cell(values, small=False):
    """Mean estimate and mean absolute error for each data set and label frequency."""
    cells = defaultdict(list)
    for name, c, seed in CASES:
        value = values[name, c, seed]
        cells[name, c].append((value, abs(value - truth((name, c, seed), small))))
    return {cell: np.mean(pairs, axis=0) for cell, pairs in cells.items()}


def cells_that_are_off(found, method, tol):
    """Cells further than `tol` from the reference, and no nearer to the truth than it is."""
    ours, theirs = by_cell(found), by_cell(reference(method))
    return {
        cell: (ours[cell].round(3).tolist(), theirs[cell].round(3).tolist())
        for cell in ours
        if abs(ours[cell][0] - theirs[cell][0]) > tol and ours[cell][1] > theirs[cell][1]
    }
