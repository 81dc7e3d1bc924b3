"""The base of all warnings, and how one is issued."""

import sys
import warnings
from dataclasses import fields, is_dataclass

# Frames of these modules stand between the user's line and ours: decorators around `fit`,
# pipelines, searches, parallel loops, imports.
_PASSED_OVER = frozenset(
    {"sarlearn", "sklearn", "joblib", "contextlib", "importlib", "_frozen_importlib"}
)


class SarlearnWarning(UserWarning):
    """Base of all warnings of this package.

    A subclass is a dataclass: its fields are what the warning is about, ``str`` is the sentence.
    What nobody would want to tell apart is of this class itself, with a sentence as its argument.

    See Also
    --------
    TrustWarning :
        Base of the warnings that an estimate may be wrong, or rests on less than it seems.
    warn : Issue a warning that points at the first line outside of this package and scikit-learn.
    """

    def __reduce__(self):
        # Exceptions are pickled by `args`, which dataclasses do not fill when called by keyword.
        if is_dataclass(self):
            return type(self), tuple(getattr(self, field.name) for field in fields(self))
        return super().__reduce__()


class TrustWarning(SarlearnWarning):
    """Base of the warnings that an estimate may be wrong, or rests on less than it seems.

    Silencing it silences what the second look at a fit found, and nothing about the input or
    about convergence.

    See Also
    --------
    SarlearnWarning : Base of all warnings of this package.
    sarlearn.inspection.goodness_of_fit :
        Compare the labels with what the model expects, and look for what it lacks.
    """


def warn(warning: Warning) -> None:
    """Issue a warning that points at the first line outside of this package and scikit-learn.

    Parameters
    ----------
    warning : Warning
        An instance, of a class of this module or of another.

    See Also
    --------
    SarlearnWarning : Base of all warnings of this package.

    Examples
    --------
    >>> import warnings
    >>> from sarlearn.exceptions import FewLabelsWarning, warn
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn(FewLabelsWarning(12))
    >>> caught[0].message.n_labelled
    12
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_passed_over(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    warnings.warn_explicit(
        warning,
        category=type(warning),
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        module=frame.f_globals.get("__name__") or "<unknown>",
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _is_passed_over(module: str) -> bool:
    return module.partition(".")[0] in _PASSED_OVER
