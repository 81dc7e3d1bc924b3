"""The contract every class-prior estimator keeps: three numbers, and whether one was cut off."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags

from sarlearn._compat import fit_context, one_blas_thread
from sarlearn._labels import fill_labels
from sarlearn._validation import (
    check_groups,
    check_weights,
    encode_labels,
    validate_data,
)
from sarlearn.backends import refuse_dask
from sarlearn.exceptions import TrustWarning, warn


class Estimate(NamedTuple):
    """What a method found: kappa before clipping, and what it knows about it."""

    kappa: float
    at_boundary: bool = False
    purity: float = 1.0


class PriorEstimator(BaseEstimator):
    """Base of the class-prior estimators.

    With ``q`` the labelled share of the rows, a single training set has::

        alpha = q + (1 - q) kappa        c = q / alpha

    where ``alpha = P(y=1)``, ``kappa = P(y=1 | s=0)`` and ``c = P(s=1 | y=1)``. A subclass gives
    kappa; the conversion, the clipping to its range and the warnings are done here, once.
    """

    _parameter_constraints: dict = {"single_sample": ["boolean"]}
    single_sample: bool
    # Finds kappa from rows and who is labelled; weights and groups by name, where `fit` takes them.
    _estimate: Callable[..., Estimate]

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Estimate the class prior.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            The rows, labelled and unlabelled together.
        y : array-like of shape (n_samples,)
            The observed labels s: 1 for labelled positives, 0 for unlabelled rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._learn(X, y)

    def _learn(self, X, y, sample_weight=None, groups=None):
        """What every ``fit`` does with what it is given."""
        refuse_dask(X, type(self).__name__)
        X, y = validate_data(
            self, X, fill_labels(y), accept_sparse="csr", dtype=np.float64, ensure_min_samples=2
        )
        labelled, self.classes_ = encode_labels(y)
        check_informative(X)
        weight = check_weights(sample_weight, X)
        if weight is not None and len(np.unique(labelled[weight > 0])) < 2:
            raise ValueError(
                "The rows with a positive sample_weight are all labelled, or all unlabelled; "
                "learning needs both."
            )
        given = {"weight": weight, "groups": check_groups(groups, len(labelled))}
        given = {name: value for name, value in given.items() if value is not None}
        with one_blas_thread():
            found = self._estimate(X, labelled, **given)
        self._set_prior(found, float(np.average(labelled, weights=weight)))
        return self

    def _set_prior(self, found: Estimate, label_share: float) -> None:
        """Store the three numbers. Of the labelled rows a share `purity` is positive."""
        kappa = float(np.clip(found.kappa, 0.0, 1.0))
        q = label_share
        pooled = q * found.purity + (1.0 - q) * kappa
        self.unlabelled_prior_ = kappa
        self.class_prior_ = min(pooled, 1.0) if self.single_sample else kappa
        self.label_frequency_ = min(q * found.purity / max(pooled, 1e-300), 1.0)
        self.clipped_ = bool(found.at_boundary or not 0.0 < found.kappa < 1.0)
        if self.clipped_:
            text = (
                f"{type(self).__name__}: the estimate is at the boundary of its range: the share "
                f"of positives among the unlabelled rows comes out as {kappa:.3g}. Compare it with "
                "other estimators (compare_priors) before using it."
            )
            warn(TrustWarning("unlabelled-prior-at-end", text))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "class_prior_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.input_tags.sparse = True
        return tags


def check_informative(X) -> None:
    """Refuse a matrix whose every column holds one value: nothing tells rows apart."""
    high, low = column_ends(X)
    if not np.any(high > low):
        raise ValueError(
            f"All {X.shape[1]} features of X are constant over its {X.shape[0]} rows: nothing "
            "tells positive rows from the others. Pass at least one feature that varies."
        )


def column_ends(X) -> tuple[np.ndarray, np.ndarray]:
    """Maximum and minimum of each column, dense or sparse."""
    if sp.issparse(X):
        return X.max(axis=0).toarray().ravel(), X.min(axis=0).toarray().ravel()
    return X.max(axis=0), X.min(axis=0)
