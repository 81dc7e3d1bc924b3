"""Everything the package warns of: a class per kind of warning, with the numbers as fields.

Filter by class, never by text::

    import warnings
    from sarlearn.exceptions import FewLabelsWarning

    warnings.simplefilter("ignore", FewLabelsWarning)

This room lies below all others and imports none of them.
"""

from sarlearn.exceptions._base import SarlearnWarning, TrustWarning, warn
from sarlearn.exceptions._labels import GuessedLabelWarning, MostlyLabelledWarning
from sarlearn.exceptions._learning import (
    FEW_LABELS,
    BoundaryWarning,
    EqualChancesWarning,
    EveryColumnWarning,
    FewChancesWarning,
    FewerFoldsWarning,
    FewLabelsWarning,
    NoPropensityWarning,
    NotConvergedWarning,
    NotSeparatedWarning,
    SparseStrataWarning,
    UnansweredStrataWarning,
    UnlabelledStratumWarning,
)
from sarlearn.exceptions._tables import (
    ManyLevelsWarning,
    MostlyNumbersWarning,
    StrayCellsWarning,
    TableWarning,
)
from sarlearn.exceptions._tools import (
    DisagreementWarning,
    IdentifierColumnWarning,
    OtherVersionWarning,
    UnequalPropensityWarning,
)
from sarlearn.exceptions._trust import (
    LeakageWarning,
)

__all__ = [
    "FEW_LABELS",
    "BoundaryWarning",
    "DisagreementWarning",
    "EqualChancesWarning",
    "EveryColumnWarning",
    "FewChancesWarning",
    "FewLabelsWarning",
    "FewerFoldsWarning",
    "GuessedLabelWarning",
    "IdentifierColumnWarning",
    "LeakageWarning",
    "ManyLevelsWarning",
    "MostlyLabelledWarning",
    "MostlyNumbersWarning",
    "NoPropensityWarning",
    "NotConvergedWarning",
    "NotSeparatedWarning",
    "OtherVersionWarning",
    "SarlearnWarning",
    "SparseStrataWarning",
    "StrayCellsWarning",
    "TableWarning",
    "TrustWarning",
    "UnansweredStrataWarning",
    "UnequalPropensityWarning",
    "UnlabelledStratumWarning",
    "warn",
]
