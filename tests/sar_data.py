"""A table for the learner, and what it is for two of its fits to give the same answer."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit


def made(n=1000, seed=0, p=4):
    """Column 0 decides who is labelled; the class is not linear in columns 1 and 2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = rng.random(n) < expit(3 * X[:, 1] + 2 * X[:, 2] ** 2 - 2)
    e = expit(0.3 + 1.2 * X[:, 0])
    return SimpleNamespace(X=X, y=y, e=e, s=y & (rng.random(n) < e), n=n)


def same(found, expected, X, atol=1e-12):
    assert found.class_prior_ == pytest.approx(expected.class_prior_, abs=atol)
    assert found.class_prior_range_ == pytest.approx(expected.class_prior_range_, abs=10 * atol)
    for ask in ("predict_proba", "predict_propensity"):
        np.testing.assert_allclose(
            getattr(found, ask)(X), getattr(expected, ask)(X), atol=max(100 * atol, 1e-12)
        )
