"""Every private scikit-learn name the package uses, and what differs between its versions."""

from collections.abc import Callable

import numpy as np
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.parallel import _get_threadpool_controller
from sklearn.utils.validation import _check_sample_weight
from sklearn.utils.validation import _get_feature_names as get_feature_names
from sklearn.utils.validation import _num_samples as num_samples

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """In the place of scikit-learn's: callbacks are refused, everything else works."""

        def set_callbacks(self, *callbacks):
            raise ImportError(
                "Callbacks, such as scikit-learn's ProgressBar, need scikit-learn 1.9 or later: "
                "pip install --upgrade scikit-learn."
            )

    def with_callbacks(fit):  # type: ignore[misc]
        """``fit`` as it is."""
        return fit


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_sample_weight",
    "fit_context",
    "get_feature_names",
    "n_threads",
    "num_samples",
    "one_blas_thread",
    "reporter",
    "safe_indexing",
    "with_callbacks",
]


def safe_indexing(X, indices, *, axis: int = 0):
    """Rows, or columns by number, of anything; of Arrow's tables by their own methods.

    scikit-learn 1.6 takes those for arrays.
    """
    if not type(X).__module__.startswith("pyarrow"):
        return _safe_indexing(X, indices, axis=axis)
    indices = np.asarray(indices)
    if indices.dtype == bool:
        indices = np.flatnonzero(indices)
    return X.take(indices) if axis == 0 else X.select(indices.tolist())


def check_sample_weight(sample_weight, X, **options):
    """Checked weights; that all of them are zero is refused since scikit-learn 1.9 only."""
    weights = _check_sample_weight(sample_weight, X, **options)
    if len(weights) and not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def n_threads() -> int:
    """Threads this process may use: OMP_NUM_THREADS, or the cores it is allowed."""
    return int(_openmp_effective_n_threads())


def one_blas_thread():
    """A context in which BLAS runs one thread: row blocks are the unit of parallel work.

    Threads inside the product of one small block only wait for each other, and on a busy machine
    for long.
    """
    return _get_threadpool_controller().limit(limits=1, user_api="blas")


def reporter(estimator, max_iter: int, task: str = "EM iteration") -> Callable[[], None]:
    """What a fit calls after each iteration, for scikit-learn's callbacks (its ProgressBar).

    ``max_iter`` is how often at most, ``task`` what an iteration is called.
    The protocol is experimental in scikit-learn 1.9. Without callbacks nothing is done.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        return lambda: None
    fit = estimator._init_callback_context(max_subtasks=max_iter)
    fit.call_on_fit_task_begin(estimator=estimator)

    def report() -> None:
        iteration = fit.subcontext(task_name=task)
        iteration.call_on_fit_task_begin(estimator=estimator)
        iteration.call_on_fit_task_end(estimator=estimator)

    return report
