"""What a fit warns of because the labels say less than it seems."""

from collections.abc import Sequence
from dataclasses import dataclass

from sarlearn.exceptions._base import TrustWarning


@dataclass(eq=False)
class LeakageWarning(TrustWarning):
    """Columns that all but determine the label.

    Parameters
    ----------
    columns : sequence of str
        Their names.
    auc : float
        How well the first of them alone tells labelled from unlabelled rows.

    See Also
    --------
    TrustWarning :
        Base of the warnings that an estimate may be wrong, or rests on less than it seems.
    sarlearn.inspection.goodness_of_fit :
        Compare the labels with what the model expects, and look for what it lacks.
    """

    columns: Sequence[str]
    auc: float

    def __str__(self) -> str:
        one = len(self.columns) == 1
        return (
            f"{_listed(self.columns)} all but determine{'s' if one else ''} the label (AUC "
            f"{self.auc:.3f}). A column that follows from the label, such as a treatment given "
            "once diagnosed, hides every positive that was not labelled. Leave it out."
        )


def _listed(names: Sequence[str]) -> str:
    shown = [str(name) for name in names[:3]]
    if len(names) > 3:
        return f"{', '.join(shown)} and {len(names) - 3} more"
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last
