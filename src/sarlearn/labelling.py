"""Labelling mechanisms: turn fully labelled data ``(X, y)`` into ``(s, propensity)``.

A mechanism is a callable: ``mechanism(X)`` gives the propensity ``e(x) = P(s=1 | y=1, x)`` of every
row. :func:`label` draws the observed labels from it. Columns are given by name (tables), index,
mask, or a callable on the column names; dense, sparse and table input give the same numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils import check_consistent_length, check_random_state

from sarlearn._compat import get_feature_names, num_samples, safe_indexing
from sarlearn._validation import (
    check_array,
    check_propensity,
    encode_classes,
    resolve_features,
)

__all__ = [
    "ConstantLabelling",
    "LogisticLabelling",
    "ProductLabelling",
    "label",
]


@dataclass(frozen=True)
class ConstantLabelling:
    """``e(x) = c``: every positive has the same chance (SCAR).

    Parameters
    ----------
    label_frequency : float in [0, 1]
        The chance ``c``.

    See Also
    --------
    label : Draw labels from known classes.
    LogisticLabelling : Logistic in the chosen attributes.

    Examples
    --------
    >>> from sarlearn.labelling import ConstantLabelling
    >>> ConstantLabelling(0.3)([[1.0], [2.0]])
    array([0.3, 0.3])
    """

    label_frequency: float

    def __post_init__(self):
        _check_chances(label_frequency=self.label_frequency)

    def __call__(self, X) -> np.ndarray:
        return np.full(num_samples(X), float(self.label_frequency))


@dataclass(frozen=True)
class ProductLabelling:
    """``e(x) = prod_j high^{x_j} low^{1 - x_j}``: attributes contribute independently.

    Both types of propensity in Bekker and Davis (2018): with one attribute, one chance where it is
    1 and another where it is 0; with three and the default values,
    ``0.9^{sum x_e} 0.5^{3 - sum x_e}``.

    Parameters
    ----------
    features : names, indices, mask or callable
        The columns; their values must lie in [0, 1].
    high : float in [0, 1], default=0.9
        Factor of an attribute that is 1.
    low : float in [0, 1], default=0.5
        Factor of an attribute that is 0. It may exceed ``high``: the other direction.

    See Also
    --------
    label : Draw labels from known classes.
    LogisticLabelling : Logistic in the chosen attributes.

    Examples
    --------
    >>> from sarlearn.labelling import ProductLabelling
    >>> ProductLabelling([0, 1])([[0, 0], [0, 1], [1, 1]])
    array([0.25, 0.45, 0.81])
    """

    features: Any
    high: float = 0.9
    low: float = 0.5

    def __post_init__(self):
        _check_chances(high=self.high, low=self.low)

    def __call__(self, X) -> np.ndarray:
        x = _columns(X, self.features)
        outside = (x < 0) | (x > 1)
        if outside.any():
            row, column = np.unravel_index(int(np.argmax(outside)), x.shape)
            raise ValueError(
                f"ProductLabelling needs columns with values in [0, 1]; number {column} of the "
                f"chosen columns has {x[row, column].item()!r} in row {row}. Scale it, or use "
                "LogisticLabelling."
            )
        present = x.sum(axis=1)
        return self.high**present * self.low ** (x.shape[1] - present)


@dataclass(frozen=True)
class LogisticLabelling:
    """``e(x) = 1 / (1 + exp(-(b + x_e w)))``: logistic in the chosen attributes.

    The one mechanism that SAR-EM's own propensity model can match exactly, whatever the values of
    the attributes.

    Parameters
    ----------
    features : names, indices, mask or callable
        The columns ``x_e``, of any numeric values.
    coef : float or sequence of float, default=1.0
        The weights ``w``, one for each column in the order of ``features`` (a mask or callable: the
        order of the columns); one number is used for all.
    intercept : float, default=0.0
        ``b``.

    See Also
    --------
    label : Draw labels from known classes.
    ProductLabelling : Attributes contribute independently.

    Examples
    --------
    >>> from sarlearn.labelling import LogisticLabelling
    >>> LogisticLabelling([0], coef=2.0, intercept=-1.0)([[0.5], [1.0]]).round(3)
    array([0.5  , 0.731])
    """

    features: Any
    coef: float | Sequence[float] = 1.0
    intercept: float = 0.0

    def __post_init__(self):
        for name, most in (("coef", 1), ("intercept", 0)):
            value = np.asarray(getattr(self, name), dtype=np.float64)
            if value.ndim > most or not np.isfinite(value).all():
                what = ", one number or one per column" if most else " and one number"
                raise ValueError(f"{name} must be finite{what}; got {getattr(self, name)!r}.")

    def __call__(self, X) -> np.ndarray:
        x = _columns(X, self.features)
        coef = np.asarray(self.coef, dtype=np.float64)
        if coef.ndim and len(coef) != x.shape[1]:
            raise ValueError(f"coef has {len(coef)} values for {x.shape[1]} columns.")
        return expit(self.intercept + x @ np.broadcast_to(coef, x.shape[1]))


def label(
    X, y, mechanism: Callable[[Any], np.ndarray], random_state=None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw labels for data whose classes are known.

    ``s_i = y_i [u_i < e(x_i)]`` with ``u_i`` uniform on [0, 1): only positives are labelled.

    Parameters
    ----------
    X : array-like, sparse matrix or table of shape (n_samples, n_features)
        The attributes.
    y : array-like of shape (n_samples,)
        The true classes, two values; the greater is the positive one.
    mechanism : callable
        One of this module, or any function from ``X`` to one probability per row.
    random_state : int, RandomState or None, default=None
        The same integer gives the same labels on every platform. One number is drawn for each row,
        positive or not, in row order; so with the same seed a row labelled under one mechanism is
        labelled under any other that gives it at least the same propensity.

    Returns
    -------
    s : ndarray of shape (n_samples,), int
        1 where labelled, otherwise 0; never 1 for a negative row.
    propensity : ndarray of shape (n_samples,)
        ``e(x)`` of every row, the negative ones too.

    See Also
    --------
    LogisticLabelling : Logistic in the chosen attributes.
    ProductLabelling : Attributes contribute independently.

    Examples
    --------
    >>> from sarlearn.labelling import ProductLabelling, label
    >>> X = [[1, 1], [0, 1], [1, 0], [0, 0], [1, 1]]
    >>> s, propensity = label(X, [1, 1, 1, 1, 0], ProductLabelling([0, 1]), random_state=0)
    >>> s
    array([1, 0, 0, 0, 0])
    >>> propensity
    array([0.81, 0.45, 0.45, 0.25, 0.81])
    """
    if not callable(mechanism):
        raise TypeError(
            "mechanism must be callable on X, for instance ConstantLabelling(0.3); got "
            f"{mechanism!r} ({type(mechanism).__name__})."
        )
    positive = encode_classes(y)
    check_consistent_length(X, positive)
    if not positive.any():
        raise ValueError("y holds no positive row: there is nothing to label.")
    propensity = check_propensity(mechanism(X), np.zeros(len(positive), dtype=bool))
    # RandomState and not Generator: NumPy freezes its stream, so labels stay the same for ever.
    drawn = check_random_state(random_state).random_sample(len(positive)) < propensity
    return (positive & drawn).astype(int), propensity


def _check_chances(**values) -> None:
    for name, value in values.items():
        if not (isinstance(value, Real) and 0 <= float(value) <= 1):
            raise ValueError(f"{name} must be a probability in [0, 1]; got {value!r}.")


def _columns(X, features) -> np.ndarray:
    """The chosen columns as a dense, finite float64 array; the others are not looked at."""
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    shape = getattr(X, "shape", ())
    if len(shape) != 2:
        raise ValueError(
            f"X must have two dimensions; got a {type(X).__name__} of shape {tuple(shape)}."
        )
    columns = resolve_features(features, get_feature_names(X), X.shape[1], what="features")
    if not len(columns):
        raise ValueError(
            f"features names no column: {features!r}. For a propensity without attributes use "
            "ConstantLabelling."
        )
    if sparse.issparse(X):
        X = sparse.csr_array(X)[:, columns].toarray()
    else:
        X = safe_indexing(X, columns, axis=1)
    # One memory layout: the rounding of a sum depends on it, and the same rows must give the same
    # propensities to the last digit whatever they came in.
    return check_array(X, dtype=np.float64, order="C", input_name="X")
