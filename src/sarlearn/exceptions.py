"""What the package warns of: four classes for what a reader should do, and a code for each kind.

A class is silenced as any other; a kind of warning is told from the others by its ``code``::

    import warnings
    from sarlearn.exceptions import TrustWarning

    warnings.simplefilter("ignore", TrustWarning)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, s)
    codes = {getattr(one.message, "code", None) for one in caught}

This module lies below all others and imports none of them.
"""

import sys
import warnings

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "DataWarning",
    "InputWarning",
    "NotConvergedWarning",
    "SarlearnWarning",
    "TrustWarning",
]

# Frames of these modules stand between the user's line and ours: decorators around `fit`,
# pipelines, searches, parallel loops, imports.
_PASSED_OVER = frozenset(
    {"sarlearn", "sklearn", "joblib", "contextlib", "importlib", "_frozen_importlib"}
)


class SarlearnWarning(UserWarning):
    """Base of all warnings of this package.

    Parameters
    ----------
    code : str
        A short name of what the warning is about, such as "few-labels". Codes stay the same where
        sentences change.
    text : str
        The sentence, which is what ``str`` gives.

    See Also
    --------
    warn : Issue a warning that points at the first line outside of this package and scikit-learn.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)  # pickle and copy build it anew from these
        self.code = code

    def __str__(self) -> str:
        return self.args[1]


class NotConvergedWarning(SarlearnWarning, ConvergenceWarning):
    """A fit ran out of iterations; also a ``ConvergenceWarning`` of scikit-learn.

    Parameters
    ----------
    code, text : str
        As of :class:`SarlearnWarning`.

    See Also
    --------
    SarlearnWarning : Base of all warnings of this package.
    """


class DataWarning(SarlearnWarning):
    """Something looks wrong with rows, labels, columns or files.

    Parameters
    ----------
    code, text : str
        As of :class:`SarlearnWarning`.

    See Also
    --------
    SarlearnWarning : Base of all warnings of this package.
    """


class TrustWarning(SarlearnWarning):
    """An estimate may be wrong, or rests on less than it seems.

    Parameters
    ----------
    code, text : str
        As of :class:`SarlearnWarning`.

    See Also
    --------
    SarlearnWarning : Base of all warnings of this package.
    sarlearn.inspection.goodness_of_fit : Compare the labels with what the model expects.
    """


class InputWarning(SarlearnWarning):
    """An argument is unusual, or cannot be followed exactly.

    Parameters
    ----------
    code, text : str
        As of :class:`SarlearnWarning`.

    See Also
    --------
    SarlearnWarning : Base of all warnings of this package.
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
    >>> from sarlearn.exceptions import DataWarning, warn
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn(DataWarning("few-labels", "Only 12 rows are labelled."))
    >>> caught[0].message.code
    'few-labels'
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
