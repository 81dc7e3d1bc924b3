"""Folds that keep labelled rows, and rows of like propensity, in proportion."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from sarlearn._compat import get_feature_names, num_samples
from sarlearn._validation import check_array, encode_labels, resolve_features

__all__ = ["PropensityStratifiedKFold"]


class PropensityStratifiedKFold(BaseCrossValidator):
    r"""Folds with equal shares of labelled rows in each stratum of the propensity attributes.

    Rows are ordered by :math:`(s, \text{stratum})`, at random within each, and dealt out in turn:
    in every fold the number of rows of a stratum differs by at most one from its share, and so
    does that of labelled rows, whatever the number of strata. scikit-learn's ``StratifiedKFold``
    keeps ``s`` in proportion, but sees no propensity attributes, and cannot deal with strata
    smaller than the number of folds.

    Parameters
    ----------
    propensity_features : names, indices, boolean mask, "all", or callable on the names, default=()
        Without any, folds are stratified by ``s`` alone.
    n_splits : int >= 2, default=5
        Number of folds.
    n_bins : int >= 2, default=4
        A column with more values than this is cut into this many parts with equal numbers of rows.
    random_state : int, RandomState or None, default=None
        Seed of what is drawn.

    See Also
    --------
    sarlearn.metrics.ipw_scorer :
        A scikit-learn scorer that gets ``propensity`` routed: tuning on labels alone.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.model_selection import PropensityStratifiedKFold
    >>> X = np.repeat([0, 1], 20)[:, None]
    >>> s = np.tile([1, 0, 0, 0], 10)
    >>> folds = PropensityStratifiedKFold([0], n_splits=5, random_state=0)
    >>> [(int(s[test].sum()), int(X[test].sum())) for _, test in folds.split(X, s)]
    [(2, 4), (2, 4), (2, 4), (2, 4), (2, 4)]
    """

    def __init__(self, propensity_features=(), *, n_splits=5, n_bins=4, random_state=None):
        self.propensity_features = propensity_features
        self.n_splits = n_splits
        self.n_bins = n_bins
        self.random_state = random_state

    def get_n_splits(self, X=None, y=None, groups=None) -> int:
        """The number of folds."""
        return self.n_splits

    def split(self, X, y, groups=None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows to train on and those held out.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows, labelled and unlabelled together.
        y : array-like of shape (n_rows,)
            Labels s.
        groups : object
            Ignored; part of scikit-learn's convention.
        """
        for name, least in (("n_splits", 2), ("n_bins", 2)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise ValueError(
                    f"{name} must be a whole number of at least {least}; got {value!r}."
                )
        labelled, _ = encode_labels(y, warn_few=False)
        n_rows = num_samples(X)
        if len(labelled) != n_rows:
            raise ValueError(f"y has {len(labelled)} rows, X has {n_rows}.")
        fewest = int(min(labelled.sum(), (~labelled).sum()))
        if fewest < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} is more than the {fewest} rows of the rarer label."
            )
        keys = [self._bins(column) for column in self._columns(X).T]
        order = check_random_state(self.random_state).permutation(n_rows)
        # The last key of lexsort counts first.
        order = order[np.lexsort([*(key[order] for key in keys), labelled[order]])]
        fold = np.empty(n_rows, dtype=np.intp)
        fold[order] = np.arange(n_rows) % self.n_splits
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)

    def _columns(self, X) -> np.ndarray:
        names = get_feature_names(X)
        n_columns = X.shape[1] if hasattr(X, "shape") else np.shape(X)[1]
        chosen = resolve_features(
            self.propensity_features, None if names is None else list(names), n_columns
        )
        if not len(chosen):
            return np.empty((num_samples(X), 0))
        X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan")
        X = X[:, chosen]
        return X.toarray() if sparse.issparse(X) else X

    def _bins(self, column: np.ndarray) -> np.ndarray:
        values = np.unique(column)
        if len(values) <= self.n_bins:
            return np.searchsorted(values, column)
        edges = np.nanquantile(column, np.linspace(0, 1, self.n_bins + 1)[1:-1])
        return np.searchsorted(edges, column, side="right")
