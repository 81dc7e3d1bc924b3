"""Columns whose values are too large or too small for squares and sums of them.

A method that does not depend on the scale of a column is given such a one divided by a power of
two, which costs no digit. Others, whose penalty or coefficients are in the user's units, go by
``columns.py``.
"""

import numpy as np
from scipy import sparse

from sarlearn._engine.columns import LARGE, SMALL


def moderate(X):
    """The matrix with columns of extreme sizes brought to about 1: itself, where there are none."""
    unit = unit_of(sizes(X))
    if (unit == 1).all():
        return X
    if not sparse.issparse(X):
        return X / unit
    out = X.copy()
    out.data = X.data / unit[X.indices]
    return out


def sizes(X) -> np.ndarray:
    """The largest absolute value of each column; gaps (NaN) do not count."""
    if sparse.issparse(X):
        return np.asarray(abs(X).max(axis=0).toarray().ravel(), dtype=np.float64)
    return np.asarray(np.fmax.reduce(np.abs(X), axis=0, initial=0.0), dtype=np.float64)


def unit_of(size: np.ndarray) -> np.ndarray:
    """What to divide values of such a size by: 1 where they are neither too large nor too small."""
    extreme = (size > LARGE) | ((size > 0) & (size < SMALL))
    return np.where(extreme, np.ldexp(1.0, np.frexp(size)[1] - 1), 1.0)
