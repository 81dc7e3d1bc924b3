"""LightGBM, and nothing else of it: binned rows, boosters per fold in lockstep, stored trees."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from sarlearn._engine.magnitudes import sizes
from sarlearn._engine.tree_text import check_text, trees_only

# Rows from which the borders of the bins are found.
BIN_ROWS = 50_000
# Gradient and hessian of the loss by the logits of some rows.
Derivatives = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


# LightGBM takes smaller values for zero. Differences of larger ones are too large for a number.
LEAST_SIZE, LARGEST_SIZE = 1e-35, 1e300
# Its gradients, which weights multiply, are of single precision.
LARGEST_WEIGHT = 1e30


def check_sizes(X, names=None, weight: np.ndarray | None = None) -> None:
    """Refuse a column whose values trees, or the linear terms beside them, cannot tell apart; and
    weights that LightGBM cannot compute with."""
    if weight is not None and weight.max() > LARGEST_WEIGHT:
        raise ValueError(
            f"The largest sample_weight is {weight.max():g}; boosted trees take weights up to "
            f"{LARGEST_WEIGHT:g}. Divide them all by their mean."
        )
    size = sizes(X)
    bad = (size > LARGEST_SIZE) | ((size > 0) & (size < LEAST_SIZE))
    if bad.any():
        column = int(np.argmax(bad))
        name = column if names is None else names[column]
        raise ValueError(
            f"The largest absolute value of column {name!r} is {size[column]:.3g}; boosted trees "
            f"take columns where it is from {LEAST_SIZE:g} to {LARGEST_SIZE:g}, or 0. Multiply the "
            "column by a power of ten: trees do not depend on scales."
        )


def lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError as error:
        raise ImportError(
            "BoostedSARClassifier needs LightGBM: pip install 'sarlearn[boost]'."
        ) from error
    return lightgbm


@dataclass(frozen=True)
class TreeSettings:
    """How trees grow. Every booster runs one thread, so that sums do not depend on their number."""

    learning_rate: float = 0.1
    max_leaf_nodes: int = 15
    min_samples_leaf: int = 20
    l2_regularization: float = 1.0
    max_bins: int = 63

    def parameters(self) -> dict[str, Any]:
        return {
            "objective": "none",
            "learning_rate": self.learning_rate,
            "num_leaves": self.max_leaf_nodes,
            "min_data_in_leaf": self.min_samples_leaf,
            "lambda_l2": self.l2_regularization,
            "max_bin": self.max_bins,
            "bin_construct_sample_cnt": BIN_ROWS,
            "feature_pre_filter": False,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "seed": 0,
            "verbosity": -1,
        }


class BinnedRows:
    """Rows as LightGBM keeps them, for all boosters of a fit.

    Parameters
    ----------
    X : ndarray or csr of shape (n_rows, n_features)
    settings : TreeSettings
    categorical : sequence of int
        Columns that hold codes of categories.
    """

    def __init__(self, X, settings: TreeSettings, categorical=()):
        self.n_rows, self.n_features = X.shape
        self.parameters = settings.parameters()
        self.bins = (
            lightgbm()
            .Dataset(
                as_input(X),
                params=self.parameters,
                categorical_feature=[int(j) for j in categorical],
            )
            .construct()
        )


class FoldBoosters:
    """One booster per fold, trained without it; all take the same number of rounds.

    What a fold trains on and is asked about are parts of the binned rows.

    Parameters
    ----------
    rows : BinnedRows
    folds : sequence of (train, test) row numbers
    n_jobs : int
        Folds that run at the same time.
    """

    def __init__(self, rows: BinnedRows, folds, n_jobs: int = 1):
        self._rows, self.folds = rows, folds
        self._times = np.zeros(rows.n_rows)
        for _, test in folds:
            self._times[test] += 1
        self._parts = [
            tuple(rows.bins.subset(np.sort(part)).construct() for part in pair) for pair in folds
        ]
        self._threads = min(n_jobs, len(folds))

    def start(self, offsets: Sequence[np.ndarray | float]) -> "Boosting":
        """New boosters, which add to the logits ``offsets``: of every row, one per fold."""
        return Boosting(self, offsets)


class Boosting:
    """Boosters that grow, from :meth:`FoldBoosters.start`."""

    def __init__(self, owner: FoldBoosters, offsets):
        self._owner = owner
        self._folds = [(np.sort(train), np.sort(test)) for train, test in owner.folds]
        n_rows = owner._rows.n_rows
        self._offsets = [np.broadcast_to(np.asarray(o, float), n_rows) for o in offsets]
        self._boosters = []
        for train, test in owner._parts:
            booster = lightgbm().Booster(owner._rows.parameters, train)
            booster.add_valid(test, "held out")
            self._boosters.append(booster)

    def advance(self, rounds: int, derivatives: Derivatives) -> None:
        """So many rounds of every fold; ``derivatives(rows, logits)`` is asked for each."""

        def grow(fold: int) -> None:
            train, offset = self._folds[fold][0], self._offsets[fold]
            base = offset[train]

            def objective(scores, _):
                return derivatives(train, scores + base)

            for _ in range(rounds):
                self._boosters[fold].update(fobj=objective)

        self._each(grow)

    def held_out(self) -> np.ndarray:
        """The logit of every row by the booster that has not seen it; their mean where several."""
        found: list[np.ndarray] = [np.empty(0)] * len(self._folds)

        def ask(fold: int) -> None:
            def keep(scores, _):
                found[fold] = np.array(scores)
                return "none", 0.0, True

            self._boosters[fold].eval_valid(keep)

        self._each(ask)
        out = np.zeros(self._owner._rows.n_rows)
        for (_, test), scores, offset in zip(self._folds, found, self._offsets, strict=True):
            out[test] += scores + offset[test]
        return out / self._owner._times

    def trees(self, rounds: int) -> list["Trees"]:
        """What the boosters were after so many rounds."""
        n_features = self._owner._rows.n_features
        if not rounds:
            return [Trees("", n_features) for _ in self._boosters]
        texts = [trees_only(b.model_to_string(num_iteration=rounds)) for b in self._boosters]
        return [Trees(text, n_features, checked=True) for text in texts]

    def _each(self, work: Callable[[int], None]) -> None:
        numbers = range(len(self._folds))
        if self._owner._threads < 2:
            for number in numbers:
                work(number)
            return
        with ThreadPoolExecutor(self._owner._threads, initializer=_hush) as pool:
            list(pool.map(work, numbers))


def _hush() -> None:
    """No messages of LightGBM in this thread: it keeps its verbosity per thread, and a data set
    sets it."""
    lightgbm().Dataset(np.zeros((2, 1)), params={"verbosity": -1}).construct()


@dataclass
class Trees:
    """Boosted trees as LightGBM's own text; no text is no trees.

    The text is checked before LightGBM reads it, unless it was written in this process.
    """

    text: str
    n_features: int
    checked: bool = field(default=False, repr=False, compare=False)
    _booster: Any = field(default=None, repr=False, compare=False)

    def predict(self, X) -> np.ndarray:
        """Sum over the trees, one number per row."""
        if not self.text:
            return np.zeros(X.shape[0])
        if self._booster is None:
            if not self.checked:
                check_text(self.text, self.n_features)
            self._booster = lightgbm().Booster(model_str=self.text)
        scores = self._booster.predict(as_input(X), raw_score=True, num_threads=1)
        return np.asarray(scores, dtype=float)

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
