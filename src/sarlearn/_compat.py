"""Every private scikit-learn name the package uses, in one place."""

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _get_feature_names as get_feature_names
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "Interval",
    "StrOptions",
    "fit_context",
    "get_feature_names",
    "n_threads",
    "num_samples",
    "safe_indexing",
]


def n_threads() -> int:
    """Threads this process may use: OMP_NUM_THREADS, or the cores it is allowed."""
    return int(_openmp_effective_n_threads())
