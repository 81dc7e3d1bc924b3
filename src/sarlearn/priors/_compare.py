"""Run several class-prior estimators on one data set and say whether they agree."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import has_fit_parameter

from sarlearn._validation import check_array, check_groups, encode_labels
from sarlearn.classifiers import SAREMClassifier
from sarlearn.exceptions import TrustWarning, warn
from sarlearn.priors._base import PriorEstimator, check_informative
from sarlearn.priors.alphamax import AlphaMax
from sarlearn.priors.best_bin import BestBinEstimator
from sarlearn.priors.dedpul import DEDPUL
from sarlearn.priors.elkan_noto import ElkanNoto
from sarlearn.priors.kernel_mean import KernelMean
from sarlearn.priors.learner import LearnerPrior
from sarlearn.priors.pearson import PearsonDivergence
from sarlearn.priors.penalized_l1 import PenalizedL1
from sarlearn.priors.tice import TIcE

NUMBERS = ("class_prior_", "unlabelled_prior_", "label_frequency_")
# A larger spread of the class priors is told.
MUCH = 0.1


def default_estimators(single_sample: bool = True, random_state=None) -> dict[str, PriorEstimator]:
    """One of each method for clean labels: our learner, then best first on reference cases."""
    both = {"single_sample": single_sample, "random_state": random_state}
    return {
        "SARClassifier": LearnerPrior(single_sample=single_sample),
        "BBE": BestBinEstimator(**both),
        "KM1": KernelMean("KM1", **both),
        "DEDPUL": DEDPUL(**both),
        "KM2": KernelMean("KM2", **both),
        "AlphaMax": AlphaMax(**both),
        "PE": PearsonDivergence(**both),
        "TIcE": TIcE(**both),
        "pen-L1": PenalizedL1(**both),
        "EN": ElkanNoto(**both),
        "SAR-EM": LearnerPrior(
            make_pipeline(MaxAbsScaler(), SAREMClassifier()), single_sample=single_sample
        ),
    }


@dataclass
class PriorRow:
    """One line of a comparison; a method that failed has NaN and its error among the notes."""

    method: str
    class_prior: float
    unlabelled_prior: float
    label_frequency: float
    clipped: bool
    notes: list[str] = field(default_factory=list)


@dataclass
class PriorComparison:
    """The estimates of several methods, and how far apart they are.

    Attributes
    ----------
    rows : list of PriorRow
        One for each method: its three numbers, and its warnings as ``notes``.
    estimators : dict of str to fitted estimator
        Methods that failed are missing.

    See Also
    --------
    compare_priors : Several estimators side by side.
    """

    rows: list[PriorRow]
    estimators: dict[str, PriorEstimator]

    @property
    def spread(self) -> float:
        """Largest minus smallest class prior."""
        values = [row.class_prior for row in self.rows if row.method in self.estimators]
        return float(max(values) - min(values))

    @property
    def disagree(self) -> bool:
        """Is the spread larger than 0.1?"""
        return self.spread > MUCH

    @property
    def verdict(self) -> str:
        """Agreement or disagreement, in a sentence."""
        done = [row for row in self.rows if row.method in self.estimators]
        low, high = (f(done, key=lambda row: row.class_prior) for f in (min, max))
        ends = (
            f"{low.class_prior:.3f} ({low.method}) to {high.class_prior:.3f} ({high.method}), "
            f"{self.spread:.3f} apart"
        )
        if not self.disagree:
            return f"The estimates agree within {MUCH:g}: {ends}."
        return (
            f"The estimates disagree by more than {MUCH:g}: {ends}. Label more "
            "rows, or check that the labelled rows are a random sample of the positives: if not, "
            "SARClassifier with propensity features is the method."
        )

    def __str__(self) -> str:
        lines = [f"{'method':<13} {'prior':>6} {'unlab.':>6} {'c':>6}  notes"]
        for row in self.rows:
            numbers = (row.class_prior, row.unlabelled_prior, row.label_frequency)
            shown = " ".join(f"{value:6.3f}" for value in numbers)
            notes = "; ".join(note if len(note) < 60 else note[:57] + "..." for note in row.notes)
            lines.append(f"{row.method:<13} {shown}  {notes}".rstrip())
        return "\n".join([*lines, self.verdict])


def compare_priors(
    X,
    s,
    estimators: Mapping | Sequence[str] | None = None,
    *,
    single_sample: bool = True,
    groups=None,
    random_state=None,
) -> PriorComparison:
    """Estimate the class prior by several methods, and say whether they agree.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        The rows, labelled and unlabelled together.
    s : array-like of shape (n_samples,)
        The observed labels.
    estimators : list of names, or dict of name to estimator, default=None
        Which methods. None runs SARClassifier, BBE, KM1, DEDPUL, KM2, AlphaMax, PE, TIcE, pen-L1,
        EN and SAR-EM; ``benchmarks/results/priors.csv`` says what each costs.
    single_sample : bool, default=True
        False for case-control data; read by the methods chosen by name.
    groups : array-like of shape (n_samples,), default=None
        Rows of a group, such as visits of one patient, share a fold; equal rows do anyway.
    random_state : int, RandomState instance or None, default=None
        Of the methods chosen by name.

    Returns
    -------
    PriorComparison
        Print it, or take its `rows`: ``pandas.DataFrame(found.rows)`` is a table of them.

    See Also
    --------
    sarlearn.SCARClassifier : Where every positive is equally likely to be labelled.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.priors import compare_priors
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> y = target == 0  # malignant: 0.37 of the rows
    >>> s = y & (np.random.default_rng(0).random(len(y)) < 0.5)
    >>> found = compare_priors(X, s, ["BBE", "DEDPUL"], random_state=0)
    >>> found.disagree
    False
    >>> [round(row.class_prior, 1) for row in found.rows]
    [0.4, 0.4]
    """
    chosen = _choose(estimators, single_sample, random_state)
    checked = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X")
    check_consistent_length(checked, s)
    labelled, _ = encode_labels(s)
    check_informative(checked)
    groups = check_groups(groups, len(labelled))
    rows, fitted = [], {}
    for name, given in chosen.items():
        estimator, failure = clone(given), []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                grouped = {"groups": groups} if has_fit_parameter(estimator, "groups") else {}
                fitted[name] = estimator.fit(X, labelled, **grouped)
            except ValueError as error:
                failure = [f"failed: {error}"]
        # Few labels are warned of once for all methods, not in the notes of each.
        notes = [str(w.message) for w in caught if getattr(w.message, "code", "") != "few-labels"]
        prior, kappa, c = (getattr(fitted.get(name), number, np.nan) for number in NUMBERS)
        clipped = getattr(fitted.get(name), "clipped_", False)
        rows.append(PriorRow(name, prior, kappa, c, clipped, notes + failure))
    if not fitted:
        raise ValueError("No method gave an estimate. " + "; ".join(r.notes[-1] for r in rows))
    comparison = PriorComparison(rows, fitted)
    if comparison.disagree:
        warn(TrustWarning("priors-disagree", comparison.verdict))
    return comparison


def _choose(estimators, single_sample: bool, random_state) -> dict[str, PriorEstimator]:
    known = default_estimators(single_sample, random_state)
    if estimators is None:
        return known
    if isinstance(estimators, str):
        estimators = [estimators]
    if not estimators:
        raise ValueError("estimators is empty: name at least one method.")
    if not isinstance(estimators, Mapping):
        unknown = [name for name in estimators if not isinstance(name, str) or name not in known]
        if unknown:
            raise ValueError(
                f"estimators holds {unknown[0]!r}; accepted are the names {', '.join(known)}, or a "
                "dict of name to estimator."
            )
        return {name: known[name] for name in estimators}
    for name, value in estimators.items():
        if not isinstance(value, PriorEstimator):
            raise ValueError(
                f"estimators[{name!r}] is {value!r}, not an estimator of sarlearn.priors."
            )
    return dict(estimators)
