"""What comparisons, metrics, tables and saved models warn of."""

from dataclasses import dataclass

from sarlearn.exceptions._base import SarlearnWarning


@dataclass(eq=False)
class DisagreementWarning(SarlearnWarning):
    """Estimators of the class prior disagree.

    Parameters
    ----------
    spread : float
        Largest minus smallest class prior.
    verdict : str
        The disagreement in a sentence.

    See Also
    --------
    sarlearn.priors.compare_priors :
        Estimate the class prior with several methods and say whether they agree.
    TrustWarning :
        Base of the warnings that an estimate may be wrong, or rests on less than it seems.
    """

    spread: float
    verdict: str

    def __str__(self) -> str:
        return self.verdict


@dataclass(eq=False)
class UnequalPropensityWarning(SarlearnWarning):
    """Propensities are so unequal that few labelled rows decide a score.

    Parameters
    ----------
    n_labelled : int
        Number of labelled rows.
    n_effective : float
        How many rows of equal propensity would say as much.

    See Also
    --------
    sarlearn.metrics.ipw_scores :
        Recall, precision, F1, accuracy, Brier, ROC AUC and average precision from labels alone.
    """

    n_labelled: int
    n_effective: float

    def __str__(self) -> str:
        return (
            f"The {self.n_labelled} labelled rows are worth {self.n_effective:.0f} equally likely "
            "ones: the propensities are too unequal for these scores. Use more rows, or set clip."
        )


@dataclass(eq=False)
class IdentifierColumnWarning(SarlearnWarning):
    """A column has so many different values that it may identify rows.

    Parameters
    ----------
    column : str
        Its name.
    n_values, n_rows : int
        Number of different values, and of rows.

    See Also
    --------
    ManyLevelsWarning : A column of words has thousands of levels, most of them with few rows.
    TableWarning : Something is odd about a table: its encoding, its lines, its identifiers.
    """

    column: str
    n_values: int
    n_rows: int

    def __str__(self) -> str:
        return (
            f"Column {self.column!r} has {self.n_values:,} different values in {self.n_rows:,} "
            "rows; most of them share one column '(other)'. If it identifies rows, leave it out."
        )


@dataclass(eq=False)
class OtherVersionWarning(SarlearnWarning):
    """A model was saved with another version of a library.

    Parameters
    ----------
    path : str
        The file.
    library : str
        Name of the library.
    saved, running : str or None
        The version it was saved with, and the one that is running.

    See Also
    --------
    sarlearn.load : Load a model saved by ``save``.
    """

    path: str
    library: str
    saved: str | None
    running: str

    def __str__(self) -> str:
        return (
            f"{self.path} was saved with {self.library} {self.saved}, and this is {self.running}: "
            "check a few predictions, or fit the model again."
        )
