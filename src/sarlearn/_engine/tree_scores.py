"""Held-out logits of boosted trees that climb the likelihood of the labels: one booster per fold.

LightGBM grows the trees; gradient and expected information by the logit of ``f`` are ours. A
booster runs one thread, so that sums do not depend on how many there are.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from sarlearn._engine.likelihood import sigmoids
from sarlearn._engine.tree_text import check_text, trees_only

# LightGBM takes smaller values for zero. Differences of larger ones are too large for a number.
LEAST_SIZE, LARGEST_SIZE = 1e-35, 1e300
# Its gradients, which weights multiply, are of single precision.
LARGEST_WEIGHT = 1e30
LEAST_CURVATURE = 1e-6
PARAMETERS = {
    "objective": "none",
    "learning_rate": 0.2,
    "num_leaves": 8,
    "min_data_in_leaf": 20,
    "min_sum_hessian_in_leaf": 1e-3,
    "lambda_l2": 1.0,
    "max_bin": 127,
    "bin_construct_sample_cnt": 50_000,
    "feature_pre_filter": False,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "seed": 0,
    "verbosity": -1,
}


def check_sizes(size: np.ndarray, weight: float, names=None) -> None:
    """Refuse a column whose values trees, or the linear terms beside them, cannot tell apart, by
    its largest absolute value; and a largest weight that LightGBM cannot compute with."""
    if weight > LARGEST_WEIGHT:
        raise ValueError(
            f"The largest sample_weight is {weight:g}; boosted trees take weights up to "
            f"{LARGEST_WEIGHT:g}. Divide them all by their mean."
        )
    bad = (size > LARGEST_SIZE) | ((size > 0) & (size < LEAST_SIZE))
    if bad.any():
        column = int(np.argmax(bad))
        name = column if names is None else names[column]
        raise ValueError(
            f"The largest absolute value of column {name!r} is {size[column]:.3g}; boosted trees "
            f"take columns where it is from {LEAST_SIZE:g} to {LARGEST_SIZE:g}, or 0. Multiply the "
            "column by a power of ten: trees do not depend on scales."
        )


# Many rows afford larger trees, of which fewer are needed.
LARGER = PARAMETERS | {"num_leaves": 31}
# Refits are many, and fewer bins take less time.
COARSER = {"max_bin": 63}


@dataclass
class TreeRows:
    """Rows that trees learn from: in memory, with what was seen of each.

    Attributes
    ----------
    X : ndarray or csr of shape (n_rows, n_features)
        NaN where values are missing, codes in the columns ``categorical``.
    labelled, weight, audited, folds : ndarray of shape (n_rows,)
        ``audited`` is None where nobody has looked.
    """

    X: Any
    labelled: np.ndarray
    weight: np.ndarray
    folds: np.ndarray
    audited: np.ndarray | None = None
    categorical: list[int] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=PARAMETERS.copy)

    def __post_init__(self):
        numbers = range(int(self.folds.max()) + 1)
        self.rows_of = [
            (np.flatnonzero(self.folds != k), np.flatnonzero(self.folds == k)) for k in numbers
        ]

    @cached_property
    def parts(self) -> list[tuple]:
        """Rows of each fold, those that train it and those held out, as LightGBM has them."""
        import lightgbm

        data = lightgbm.Dataset(
            as_input(self.X), params=self.parameters, categorical_feature=self.categorical
        ).construct()
        return [
            tuple(data.subset(part).construct() for part in pair)  # type: ignore[arg-type]
            for pair in self.rows_of
            if all(map(len, pair))  # where all rows are copies of one, there is nothing to learn
        ]

    def boost(self, start: np.ndarray, e: np.ndarray) -> "Boosting":
        """New boosters, one per fold, that add to the logits ``start`` of shape (n_rows, K)."""
        return Boosting(self, start, e)


class Boosting:
    """Boosters that grow, all by the same number of rounds; ``held`` are held-out logits."""

    def __init__(self, rows: TreeRows, start: np.ndarray, e: np.ndarray):
        self._rows, self._start, self._e, self.rounds = rows, start, e, 0
        self.held = np.take_along_axis(start, rows.folds[:, None].astype(np.intp), axis=1)[:, 0]

    @cached_property
    def _boosters(self) -> list:
        """One per fold, when the first round is grown."""
        import lightgbm

        boosters = []
        for train, test in self._rows.parts:
            boosters.append(lightgbm.Booster(self._rows.parameters, train))
            boosters[-1].add_valid(test, "held out")
        return boosters

    def set_propensity(self, e: np.ndarray) -> None:
        """From the next round on."""
        self._e = e

    def grow(self, rounds: int) -> None:
        """So many rounds of every fold."""
        for k, booster in enumerate(self._boosters):
            train, test = self._rows.rows_of[k]
            of_loss = _objective(self._rows, train, self._e[train], self._start[train, k])
            for _ in range(rounds):
                booster.update(fobj=of_loss)
            booster.eval_valid(self._keep(test, k))
        self.rounds += rounds

    def _keep(self, test: np.ndarray, k: int) -> Callable:
        def keep(scores, _):
            self.held[test] = self._start[test, k] + scores
            return "none", 0.0, True

        return keep

    def trees(self, rounds: int) -> list["Trees"]:
        """What the boosters were after so many rounds."""
        n_features = self._rows.X.shape[1]
        if not rounds:
            return []
        texts = [trees_only(b.model_to_string(num_iteration=rounds)) for b in self._boosters]
        return [Trees(text, n_features, checked=True) for text in texts]


def _objective(rows: TreeRows, train: np.ndarray, e: np.ndarray, start: np.ndarray) -> Callable:
    """Gradient and expected information of ``-log P(seen|x)`` by the logit, of training rows."""
    labelled, weight = rows.labelled[train], rows.weight[train]
    not_e, plain = 1.0 - e, bool((weight == 1.0).all())
    audited = None if rows.audited is None else rows.audited[train]
    looked_at = None if audited is None else ~np.isnan(audited)

    def derivatives(raw, _):
        f, not_f = sigmoids(raw + start)
        hidden = f * e * not_f
        hidden /= not_f + f * not_e
        gradient, curvature = np.where(labelled, -not_f, hidden), hidden * not_f
        if looked_at is not None:
            gradient = np.where(looked_at, f - audited, gradient)
            curvature = np.where(looked_at, f * not_f, curvature)
        if not plain:
            gradient, curvature = weight * gradient, weight * curvature
        return gradient, np.maximum(curvature, LEAST_CURVATURE)

    return derivatives


@dataclass
class Trees:
    """Boosted trees as LightGBM's own text.

    The text is checked before LightGBM reads it, unless it was written in this process.
    """

    text: str
    n_features: int
    checked: bool = field(default=False, repr=False, compare=False)
    _booster: Any = field(default=None, repr=False, compare=False)

    def predict(self, X) -> np.ndarray:
        """Sum over the trees, one number per row."""
        scores = self._loaded().predict(as_input(X), raw_score=True, num_threads=1)
        return np.asarray(scores, dtype=float)

    def dump(self) -> list[dict[str, Any]]:
        """The trees, as LightGBM describes them."""
        return self._loaded().dump_model()["tree_info"]

    def _loaded(self):
        if self._booster is None:
            import lightgbm

            if not self.checked:
                check_text(self.text, self.n_features)
            self._booster = lightgbm.Booster(model_str=self.text)
        return self._booster

    def __getstate__(self):
        return {"text": self.text, "n_features": self.n_features}

    def __setstate__(self, state):
        self.text, self.n_features = state["text"], state["n_features"]
        self.checked, self._booster = False, None


def as_input(X):
    """What LightGBM reads without making it again."""
    if sparse.issparse(X):
        # It knows the matrix classes of SciPy only.
        return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
    return np.ascontiguousarray(X)
