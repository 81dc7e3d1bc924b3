"""Shared by the tests: simulated PU data, and where the real data are."""

import os
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit


def make_pu(n=600, p=6, n_propensity=2, *, discrete=False, seed=0, scale=1.5):
    """Logistic class, logistic propensity in the first columns; everything known."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    if discrete:
        X[:, :n_propensity] = X[:, :n_propensity] > 0
    coef = scale * rng.standard_normal(p)
    f = expit(X @ coef - np.median(X @ coef))
    e = expit(-0.3 + X[:, :n_propensity] @ np.resize([1.0, -1.0], n_propensity))
    y = rng.random(n) < f
    s = y & (rng.random(n) < e)
    columns = np.arange(n_propensity)
    return SimpleNamespace(X=X, y=y, s=s, f=f, e=e, columns=columns, rng=rng)


needs_data = pytest.mark.skipif(
    "SARLEARN_DATA" not in os.environ,
    reason="SARLEARN_DATA is not set: the real data sets are not here",
)
