"""Predictions for Dask input, computed when and where Dask does."""

from collections.abc import Callable

import numpy as np

from sarlearn._compat import one_blas_thread
from sarlearn.backends import is_dask
from sarlearn.backends.dask_rows import is_frame, whole_rows

# A column that carries the labels to where they are needed.
LABELS = "sarlearn:labels"


def predict_lazily(method: Callable, X, s=None, *, dtype=np.float64, columns=None):
    """A prediction of every row, to be computed by Dask: with the index and partitions of X.

    Parameters
    ----------
    method : bound method of a fitted estimator
    columns : sequence, default=None
        Names of several columns; None is one value per row.
    """
    width = None if columns is None else len(columns)
    empty = np.empty((0,) if width is None else (0, width), dtype=dtype)
    if is_frame(X):
        import pandas as pd

        index = X._meta.index
        meta = (
            pd.Series(empty, index=index)
            if width is None
            else pd.DataFrame(empty, index=index, columns=list(columns))
        )
        if s is not None:  # as a column: on their own, labels might be read in other partitions
            X = X.assign(**{LABELS: s})
        return X.map_partitions(_predict_frame, method, meta, meta=meta)
    import dask.array as da

    X = whole_rows(X)
    if s is not None and not is_dask(s):
        s = da.from_array(np.asarray(s), chunks=(X.chunks[0],))
    labels = () if s is None else (s, "i")
    return da.blockwise(
        _predict_array,
        "i" if width is None else "ik",
        X,
        "ij",
        *labels,
        new_axes=None if width is None else {"k": width},
        concatenate=True,
        align_arrays=False,
        method=method,
        empty=empty,
        dtype=dtype,
        meta=empty,
    )


def _predict_array(X, *s, method, empty):
    if X.shape[0] == 0:
        return empty
    with one_blas_thread():
        return method(X, *s)


def _predict_frame(X, method, meta):
    if len(X) == 0:
        return meta
    s = [X[LABELS].to_numpy()] if LABELS in X.columns else []
    with one_blas_thread():
        values = method(X.drop(columns=LABELS) if s else X, *s)
    return type(meta)(np.asarray(values), index=X.index, **_headers(meta))


def _headers(meta) -> dict:
    return {"columns": meta.columns} if meta.ndim == 2 else {}
