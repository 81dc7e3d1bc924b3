"""What a fit warns of: too few labels, a model that nothing identifies, an estimate at its end."""

from dataclasses import dataclass

from sklearn.exceptions import ConvergenceWarning

from sarlearn.exceptions._base import SarlearnWarning

# Below this number of labelled rows every estimate is very uncertain.
FEW_LABELS = 30


@dataclass(eq=False)
class FewLabelsWarning(SarlearnWarning):
    """So few rows are labelled that every estimate is very uncertain.

    Parameters
    ----------
    n_labelled : int
        Number of labelled rows.

    See Also
    --------
    FewerFoldsWarning : There are fewer rows with one of the labels than folds were asked for.
    sarlearn.audit.suggest_audit : Unlabelled rows whose true class is worth finding out.
    """

    n_labelled: int

    def __str__(self) -> str:
        return (
            f"Only {self.n_labelled} labelled rows: with fewer than {FEW_LABELS} the class prior "
            "and the propensity are very uncertain. Label more rows, or use fewer propensity "
            "features."
        )


@dataclass(eq=False)
class SparseStrataWarning(SarlearnWarning):
    """Some strata, each with a model of its own, have few labelled rows or none.

    Parameters
    ----------
    n_strata : int
        Number of strata.
    n_few : int
        How many of them have few labelled rows, or none.
    n_unlabelled : int
        How many of them have none.

    See Also
    --------
    sarlearn.MultiSCARClassifier :
        Independent SCAR models, one for each configuration of the propensity attributes.
    UnlabelledStratumWarning : Some configurations of the propensity features have no labelled row.
    """

    n_strata: int
    n_few: int
    n_unlabelled: int

    def __str__(self) -> str:
        return (
            f"{self.n_few} of {self.n_strata} strata have fewer than {FEW_LABELS} labelled rows, "
            f"{self.n_unlabelled} have none and predict 0. Name fewer propensity features, or use "
            "SAREMClassifier, which learns across strata."
        )


@dataclass(eq=False)
class UnlabelledStratumWarning(SarlearnWarning):
    """Some configurations of the propensity features have no labelled row.

    Parameters
    ----------
    n_strata : int
        Number of configurations seen.
    n_unlabelled : int
        How many of them have no labelled row.

    See Also
    --------
    SparseStrataWarning : Some strata, each with a model of its own, have few labelled rows or none.
    """

    n_strata: int
    n_unlabelled: int

    def __str__(self) -> str:
        return (
            f"{self.n_unlabelled} of {self.n_strata} configurations of the propensity features "
            "have no labelled row: what is said about them rests on the other configurations. "
            "Merge rare values, or name fewer propensity features."
        )


@dataclass(eq=False)
class EveryColumnWarning(SarlearnWarning):
    """Every column is a propensity feature, so nothing identifies the model.

    Parameters
    ----------
    n_columns : int
        Number of columns.

    See Also
    --------
    TrustWarning :
        Base of the warnings that an estimate may be wrong, or rests on less than it seems.
    sarlearn.inspection.select_propensity_features :
        Choose the attributes that drive labelling from a shortlist, forward, by BIC.
    """

    n_columns: int

    def __str__(self) -> str:
        return (
            "Every column is a propensity feature: class and propensity cannot be told apart from "
            "such data. Leave out of propensity_features what does not drive labelling."
        )


@dataclass(eq=False)
class NoPropensityWarning(SarlearnWarning):
    """A learner with known propensity was given none.

    See Also
    --------
    sarlearn.KnownPropensityClassifier :
        Classifier learned from biased labels whose propensity is known (SAR-e, SCAR-c).
    """

    def __str__(self) -> str:
        return (
            "No propensity was given: every positive is taken to be labelled (propensity 1). "
            "Pass fit(X, s, propensity=...)."
        )


@dataclass(eq=False)
class BoundaryWarning(SarlearnWarning):
    """An estimate lies at the end of its range, where a fit that failed lies, too.

    Parameters
    ----------
    quantity : {"label_frequency", "class_prior", "unlabelled_prior"}
        Which estimate.
    value : float
        The estimate.
    estimator : str, default=""
        Class of the estimator; given where ``quantity`` is "unlabelled_prior".

    See Also
    --------
    TrustWarning :
        Base of the warnings that an estimate may be wrong, or rests on less than it seems.
    """

    quantity: str
    value: float
    estimator: str = ""

    def __str__(self) -> str:
        if self.quantity == "label_frequency":
            return (
                f"The label frequency was estimated at {self.value:.4f}, its upper end: the fit "
                "says that no positive is hidden. That solution always exists and is often wrong; "
                "lower decay, raise C, or check the propensity features."
            )
        if self.quantity == "class_prior":
            return (
                f"The class prior was estimated at {self.value:.4f}, its upper end: nearly every "
                "row is taken for a positive. Raise decay, or name fewer propensity features."
            )
        return (
            f"{self.estimator}: the estimate is at the boundary of its range: the share of "
            f"positives among the unlabelled rows comes out as {self.value:.3g}. Compare it with "
            "other estimators (compare_priors) before using it."
        )


@dataclass(eq=False)
class NotConvergedWarning(SarlearnWarning, ConvergenceWarning):
    """A fit ran out of iterations. A subclass of scikit-learn's ``ConvergenceWarning``.

    Parameters
    ----------
    max_iter : int
        How many iterations were allowed.

    See Also
    --------
    BoundaryWarning : An estimate lies at the end of its range, where a fit that failed lies, too.
    """

    max_iter: int

    def __str__(self) -> str:
        return (
            f"No convergence in {self.max_iter} iterations. Raise max_iter, scale the columns to "
            "similar ranges, lower C, or loosen tol."
        )


@dataclass(eq=False)
class FewerFoldsWarning(SarlearnWarning):
    """There are fewer rows with one of the labels than folds were asked for.

    Parameters
    ----------
    cv : int
        How many folds were asked for.
    n_folds : int
        How many are used.

    See Also
    --------
    FewLabelsWarning : So few rows are labelled that every estimate is very uncertain.
    """

    cv: int
    n_folds: int

    def __str__(self) -> str:
        return (
            f"cv={self.cv} folds are more than there are rows with one of the labels; "
            f"{self.n_folds} folds are used. Label more rows, or lower cv."
        )


@dataclass(eq=False)
class NotSeparatedWarning(SarlearnWarning):
    """Labelled and unlabelled rows look like samples of one distribution.

    Parameters
    ----------
    n_labelled, n_unlabelled : int
        Numbers of rows that were compared.
    unlabelled_prior : float
        The estimated share of positives among the unlabelled rows.
    n_rows : int
        Number of rows given, of which the compared ones may be a sample.

    See Also
    --------
    TrustWarning :
        Base of the warnings that an estimate may be wrong, or rests on less than it seems.
    sarlearn.priors.compare_priors :
        Estimate the class prior with several methods and say whether they agree.
    """

    n_labelled: int
    n_unlabelled: int
    unlabelled_prior: float
    n_rows: int

    def __str__(self) -> str:
        used = self.n_labelled + self.n_unlabelled
        more = f", raise max_rows ({used} of {self.n_rows} rows were used)"
        return (
            f"KernelMean: the {self.n_labelled} labelled and {self.n_unlabelled} unlabelled rows "
            "look like samples of one distribution (their kernel means are no further apart than "
            "chance puts them, a test of level 0.01), so the share of positives among the "
            f"unlabelled, {self.unlabelled_prior:.3g}, is mostly noise, and larger ones up to 1 "
            f"agree with the rows too. Label more rows{more if used < self.n_rows else ''}, drop "
            "columns that have nothing to do with the class, or compare with estimators on scores "
            "(compare_priors)."
        )


@dataclass(eq=False)
class UnansweredStrataWarning(SarlearnWarning):
    """Some strata of an audit have no answer, so the class prior rests on the model.

    Parameters
    ----------
    n_audited : int
        Unlabelled rows whose class is known.

    See Also
    --------
    sarlearn.audit.suggest_audit : Unlabelled rows whose true class is worth finding out.
    """

    n_audited: int

    def __str__(self) -> str:
        return (
            f"Some strata of the audit have no answer yet (of {self.n_audited}), so the class "
            "prior rests on the likelihood, and on the model. Check the rows in the order "
            "suggested: its first rows reach every stratum."
        )


@dataclass(eq=False)
class FewChancesWarning(SarlearnWarning):
    """Rows have fewer than two chances to be labelled on average.

    Parameters
    ----------
    mean_chances : float
        Chances per row.

    See Also
    --------
    sarlearn.RepeatedSARClassifier :
        Classifier and propensity where every row has several chances to be labelled.
    """

    mean_chances: float

    def __str__(self) -> str:
        return (
            f"Rows have {self.mean_chances:.2f} chances on average. With fewer than two, class and "
            "propensity are told apart by the shape of the two models alone: the class prior is "
            "not reliable."
        )


@dataclass(eq=False)
class EqualChancesWarning(SarlearnWarning):
    """Chances without attributes of their own are too few to show whether they are independent.

    Parameters
    ----------
    n_chances : int
        Chances per row.

    See Also
    --------
    sarlearn.inspection.history_test :
        Compare the histories of labels with what the model expects (MacKenzie and Bailey 2004).
    """

    n_chances: int

    def __str__(self) -> str:
        return (
            f"{self.n_chances} chances per row without attributes of their own identify one "
            "propensity for all of them; whether the chances depend on each other cannot be seen "
            "from them."
        )
