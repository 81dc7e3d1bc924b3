"""Where rows lie besides memory, and the one place that asks.

Where rows lie on Dask, or come in batches, a fit reads them there (:func:`read_rows`), a prediction
is made of their parts (:func:`lazily`), or nothing can be done (:func:`refuse_dask`).
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sarlearn._compat import get_feature_names

__all__ = ["each_part", "in_memory", "lazily", "read_rows", "refuse_dask"]


def is_dask(X) -> bool:
    """Whether ``X`` is a Dask collection, told without importing Dask."""
    return type(X).__module__.partition(".")[0] == "dask"


def is_batches(X) -> bool:
    """Whether ``X`` is a :class:`~sarlearn.Batches`, told without importing Arrow."""
    return type(X).__module__ == "sarlearn.backends.batch_source"


def in_memory(X) -> bool:
    """Whether rows lie neither on Dask nor in batches."""
    return not is_dask(X) and not is_batches(X)


def refuse_dask(X, who: str, instead: str = "") -> None:
    """Refuse Dask input, and batches, where a method needs its rows in memory.

    ``instead`` is a sentence that says what to use.
    """
    if is_batches(X):
        raise TypeError(
            f"{who} needs its rows in memory and got {X!r}. Read them, or a sample of them, into a "
            "data frame; from batches SARClassifier and SAREMClassifier learn, with "
            f"their default class models. {instead}".rstrip()
        )
    if is_dask(X):
        raise TypeError(
            f"{who} needs its rows in memory and got {type(X).__module__}.{type(X).__name__}. "
            "Compute it, X.compute(), or a part that fits: X.sample(frac=0.01).compute() of a "
            "DataFrame, X[:100_000].compute() of an Array; the same rows of the labels. On Dask "
            "itself run SARClassifier, SAREMClassifier and "
            f"KnownPropensityClassifier. {instead}".rstrip()
        )


def lazily(about: Callable[[Any], dict] = lambda model: {}) -> Callable[[Callable], Callable]:
    """Have a prediction for Dask input computed when and where Dask does; of batches, at once.

    ``about`` gives, for a fitted model, the ``columns`` or the ``dtype`` of what it predicts.
    """

    def decorate(method: Callable) -> Callable:
        @functools.wraps(method)
        def chosen(self, X, *s, **named):
            if in_memory(X):
                return method(self, X, *s, **named)
            known = dict(zip(("audited",), s[1:], strict=False)) | named
            for name, value in known.items():
                if value is not None:
                    raise ValueError(f"{name} is for rows in memory; predict parts of them.")
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self)
            one = getattr(self, method.__name__)
            if is_dask(X):
                from sarlearn.backends.dask_predict import predict_lazily

                return predict_lazily(one, X, *s, **about(self))
            if method.__name__ == "transform":
                return X.transformed(one, about(self)["columns"])
            return X.of(self.feature_names_in_).predict(one, *s)

        return chosen

    return decorate


def each_part(X, function: Callable, *arguments) -> Iterable:
    """``function(part, *arguments)`` of every partition or batch, in order."""
    if is_batches(X):
        return X.each(function, *arguments)
    from sarlearn.backends.dask_read import each_partition

    return each_partition(X, function, *arguments)


def read_rows(model, X, y, sample_weight=None, propensity=None):
    """Checked rows of Dask input, or of batches, that know labels, weights and propensities.

    Sets what ``fit`` learns from its input: ``classes_``, ``n_features_in_``,
    ``feature_names_in_``. Label and weight are columns of the batches.
    """
    about = {"pos_label": model.pos_label, "allow_nan": model._ensure_all_finite == "allow-nan"}
    if is_batches(X):
        from sarlearn.backends import batch_rows

        rows, model.classes_ = batch_rows.read_rows(X, y, sample_weight, propensity, **about)
        names = np.array(X.features(y, sample_weight), dtype=object)
    else:
        from sarlearn.backends import dask_read

        names = get_feature_names(X._meta)
        rows, model.classes_ = dask_read.read_rows(X, y, sample_weight, propensity, **about)
    model.n_features_in_ = rows.shape[1]
    if names is not None:
        model.feature_names_in_ = names
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    return rows
