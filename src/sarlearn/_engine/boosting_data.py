"""What joint boosting is given, and what it finds."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from sarlearn._engine.boosting_starts import LinearStart, Propensity
from sarlearn._engine.known_prior import KnownPrior, PseudoCounts
from sarlearn._engine.label_model import NO_PSEUDO_COUNTS, LabelFit, Profile
from sarlearn._engine.linear_columns import LinearColumns
from sarlearn._engine.trees import Trees, TreeSettings


@dataclass(frozen=True)
class BoostingSettings:
    """What a user may set, but for the folds."""

    trees: TreeSettings = field(default_factory=TreeSettings)
    max_iter: int = 300
    propensity_ridge: float = 3.0
    slope_penalty: tuple[float, float] | None = (0.1, 0.7)
    pseudo_counts: PseudoCounts = NO_PSEUDO_COUNTS
    n_jobs: int = 1
    prior: KnownPrior | None = None


@dataclass
class Rows:
    """The data of a fit: ``X`` for the trees, its terms for linear models, and the labels.

    ``terms`` numbers those linear terms that the propensity depends on; ``class_columns`` are the
    columns of ``X`` that the class may depend on, None for all; ``known`` is the propensity where
    it is known, ``audited`` the class, NaN where nobody has looked.
    """

    X: np.ndarray | sparse.csr_array
    categorical: Sequence[int]
    linear: LinearColumns
    terms: np.ndarray
    labelled: np.ndarray
    weight: np.ndarray | None
    known: np.ndarray | None = None
    audited: np.ndarray | None = None
    class_columns: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labelled)

    def take(self, rows: np.ndarray) -> "Rows":
        return replace(
            self,
            X=self.X[rows],
            labelled=self.labelled[rows],
            weight=None if self.weight is None else self.weight[rows],
            known=None if self.known is None else self.known[rows],
            audited=None if self.audited is None else self.audited[rows],
        )

    def for_trees(self) -> tuple[np.ndarray | sparse.csr_array, list[int]]:
        """The columns of the class, and which of them hold categories."""
        if self.class_columns is None:
            return self.X, list(self.categorical)
        categories = np.flatnonzero(np.isin(self.class_columns, list(self.categorical)))
        return self.X[:, self.class_columns], categories.tolist()

    def terms_left_out(self) -> np.ndarray:
        """Linear terms that the class may not depend on."""
        if self.class_columns is None:
            return np.empty(0, dtype=np.intp)
        return np.setdiff1d(np.arange(len(self.linear)), self.linear.of_columns(self.class_columns))

    def attributes(self) -> np.ndarray:
        """The terms of the propensity."""
        return self.linear.part(self.terms).dense(self.X)


@dataclass
class Ensemble:
    """``f`` of one run: the folds' boosters on their start, averaged, then ``a F + b``."""

    trees: list[Trees]
    start: LinearStart | float
    slope: float
    intercept: float
    columns: np.ndarray | None = None  # those of the trees; None is all

    def logit(self, X, linear: LinearColumns) -> np.ndarray:
        if isinstance(self.start, LinearStart):
            total = self.start.logits(X, linear).mean(axis=0)
        else:
            total = np.full(X.shape[0], self.start)
        chosen = X if self.columns is None else X[:, self.columns]
        for trees in self.trees:
            total += trees.predict(chosen) / len(self.trees)
        return self.slope * total + self.intercept


@dataclass
class Run:
    """What one run found; ``labels_only`` is its class prior by the labels alone.

    ``held_out`` has the logit of ``f`` of every row, by the booster that has not seen it;
    ``rounds`` is where the boosting that was kept is best; ``stopped``, whether more rounds were
    tried and did not help.
    """

    ensemble: Ensemble
    held_out: np.ndarray
    labels: LabelFit
    profile: Profile
    rounds: int
    stopped: bool
    labels_only: float


@dataclass
class BoostedFit:
    """The runs, and a record of every look."""

    runs: list[Run]
    history: dict[str, np.ndarray]

    @property
    def class_prior(self) -> float:
        return float(np.mean([run.labels.class_prior for run in self.runs]))

    @property
    def labels_only(self) -> float:
        return float(np.mean([run.labels_only for run in self.runs]))

    @property
    def class_prior_range(self) -> tuple[float, float]:
        """From the lowest prior that a run admits to the highest, and the estimate in any case:
        pseudo-counts may have drawn it out of what the labels alone prefer."""
        return (
            min(self.class_prior, *(run.profile.low for run in self.runs)),
            max(self.class_prior, *(run.profile.high for run in self.runs)),
        )

    @property
    def held_out(self) -> np.ndarray:
        """The logit of every row, the mean of the runs."""
        return np.mean([run.held_out for run in self.runs], axis=0)

    @property
    def slope(self) -> float:
        return float(np.mean([run.labels.slope for run in self.runs]))

    @property
    def propensity(self) -> Propensity:
        """The mean of the runs' logits."""
        return mean_propensity([run.labels for run in self.runs])


def mean_propensity(labels: Sequence[LabelFit]) -> Propensity:
    coef = np.mean([one.propensity_coef for one in labels], axis=0)
    return Propensity(coef, float(np.mean([one.propensity_intercept for one in labels])))
