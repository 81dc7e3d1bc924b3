"""Every private scikit-learn name the package uses, in one place."""

from sklearn.base import _fit_context as fit_context
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils._param_validation import Interval, StrOptions

__all__ = ["Interval", "StrOptions", "fit_context", "n_threads"]


def n_threads() -> int:
    """Threads this process may use: OMP_NUM_THREADS, or the cores it is allowed."""
    return int(_openmp_effective_n_threads())
