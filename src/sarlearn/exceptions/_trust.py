"""What a fit warns of because the labels contradict the model, or say less than it seems."""

from collections.abc import Sequence
from dataclasses import dataclass

from sarlearn.exceptions._base import TrustWarning


@dataclass(eq=False)
class MisfitWarning(TrustWarning):
    """The model does not explain the labels: another one predicts them better.

    Parameters
    ----------
    statistic : float
        Standardised differences of observed and expected labels; 0 on average where the model is
        right.
    gain : float
        By how many nats per labelled row a model that knows nothing of class and propensity
        explains held-out labels better.
    columns : sequence of str
        Columns whose squares or products would help the class model, the most telling first.
    flexible : bool, default=False
        Whether the class model is flexible already.

    See Also
    --------
    TrustWarning :
        Base of the warnings that an estimate may be wrong, or rests on less than it seems.
    sarlearn.inspection.goodness_of_fit :
        Compare the labels with what the model expects, and look for what it lacks.
    sarlearn.BoostedSARClassifier :
        Boosted trees and a propensity learned together from biased labels.
    """

    statistic: float
    gain: float
    columns: Sequence[str] = ()
    flexible: bool = False

    def __str__(self) -> str:
        remedy = (
            "Add columns that tell the classes apart"
            if self.flexible
            else "Transform skewed columns, boost the class (BoostedSARClassifier)"
        )
        better = f"better, by {self.gain:.2f} nats per labelled row"
        why = (
            f"their chance is not linear in {_listed(self.columns)}"
            if self.columns
            else f"observed and expected ones differ (misfit {self.statistic:.1f})"
            + (f", and a flexible model predicts held-out ones {better}" * (self.gain > 0))
        )
        return (
            f"The model does not explain the labels: {why}. Rows may be ranked wrongly, and the "
            "class prior may be off. "
            f"{remedy}, or name a driver of labelling that is missing; goodness_of_fit shows where "
            "the model fails."
        )


@dataclass(eq=False)
class SwapWarning(TrustWarning):
    """Class and propensity seem to have changed places.

    Parameters
    ----------
    slope : float
        Of the held-out scores in the label model; near 0 the class model says nothing.
    propensity_effect : float
        Sum of the propensity's standardised effects, in logits.

    See Also
    --------
    TrustWarning :
        Base of the warnings that an estimate may be wrong, or rests on less than it seems.
    """

    slope: float
    propensity_effect: float

    def __str__(self) -> str:
        return (
            "Class and propensity may have changed places: the propensity moves by "
            f"{self.propensity_effect:.1f} logits over its attributes, and the class score counts "
            f"{self.slope:.2f} of what it should. Rows ranked highest may be the wrong ones. Name "
            "fewer propensity features, or leave out those that tell the class."
        )


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


@dataclass(eq=False)
class UnnamedDriverWarning(TrustWarning):
    """Labelling also seems to follow columns that were not named.

    Parameters
    ----------
    columns : sequence of str
        Their names, the most telling first.
    z : float
        Score statistic of the first: about 3 is rare by chance.
    class_prior : float, default=None
        What the class prior would be, were the first one named; None where this was not tried.

    See Also
    --------
    TrustWarning :
        Base of the warnings that an estimate may be wrong, or rests on less than it seems.
    sarlearn.inspection.unnamed_drivers :
        Columns that are no propensity features, and that labelling seems to follow.
    """

    columns: Sequence[str]
    z: float
    class_prior: float | None = None

    def __str__(self) -> str:
        first, many = self.columns[0], len(self.columns) > 1
        seen = f" (z = {self.z:.1f})" if self.class_prior is None else ""
        text = (
            f"Labelling also seems to follow {_listed(self.columns)}{seen}, which "
            f"propensity_features does not name. Name {'what' if many else 'it if it'} can decide "
            f"who gets labelled; a class that is not linear in {'them' if many else 'it'} looks "
            "the same."
        )
        if self.class_prior is not None:
            text += f" With {first} named, the class prior would be about {self.class_prior:.2f}."
        return text


@dataclass(eq=False)
class ShapeWarning(TrustWarning):
    """The class prior rests on the form of the models: nothing in the rows is surely positive.

    Parameters
    ----------
    class_prior : float
        The estimate.
    low, high : float
        What the labels admit without that form.

    See Also
    --------
    TrustWarning :
        Base of the warnings that an estimate may be wrong, or rests on less than it seems.
    UnidentifiedWarning : The labels admit a wide range of class priors.
    sarlearn.audit.suggest_audit : Unlabelled rows whose true class is worth finding out.
    """

    class_prior: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"The class prior of {self.class_prior:.2f} rests on the shape of the models: without "
            f"it the labels admit anything from {self.low:.2f} to {self.high:.2f}, because no row "
            "is surely positive. The ranking, and how groups compare (relative_prevalence), do not "
            "rest on it. An audit of some rows would settle it."
        )


def _listed(names: Sequence[str]) -> str:
    shown = [str(name) for name in names[:3]]
    if len(names) > 3:
        return f"{', '.join(shown)} and {len(names) - 3} more"
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last
