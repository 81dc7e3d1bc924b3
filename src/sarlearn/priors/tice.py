"""TIcE: lower bounds of the label frequency from subdomains rich in labels."""

import heapq

import numpy as np
import scipy.sparse as sp

from sarlearn._compat import StrOptions
from sarlearn._engine.rows import moderate
from sarlearn.priors._base import Estimate
from sarlearn.priors._scores import FoldPriorEstimator, fold_numbers

N_BINS = 4
PROMISE = 5  # splits are chosen by the largest L / (T + 5)
MIN_ROWS = 10  # smaller subdomains are not read
MAX_SPLITS = 500
N_ROUNDS = 2  # the second round reads the variance from the first one's answer


class TIcE(FoldPriorEstimator):
    """Tree induction for c estimation (TIcE): bounds on the label frequency in parts of the data.

    In any part A of the space with T rows, L of them labelled, ``P(s=1 | A) <= c``, so with
    probability ``1 - delta`` [1]_::

        c >= L/T - sqrt(c (1 - c) (1 - delta) / (delta T))

    and the bound is tight where A holds positives only; ``delta`` is
    ``max(0.025, 1/(1 + 0.004 T))``, T here all rows that give bounds. A greedy tree on one fold
    finds parts that are rich in labels; the other folds give the bound; the best bounds of the
    folds are averaged. Every column is cut into four bins, so scaling a column changes nothing. The
    slack of the bound makes the class prior too high, and the maximum of many bounds can exceed c
    where few rows are labelled.

    Parameters
    ----------
    bounds_from : {"other_folds", "tree_fold"}, default="other_folds"
        The rows that give the bounds. "tree_fold" does what the program published by the authors
        does: below the root it reads the bounds off the rows that the tree was grown on, where
        labels are rich by selection, and not off those held out for them. They no longer bound c;
        the slack makes up for part of that. For comparison with published figures.
    cv : int >= 2, splitter or iterable, default=5
        Folds, the test part grows the tree.
    single_sample : bool, default=True
        False for case-control data, the unlabelled rows drawn from the whole population: then
        `class_prior_` is the share of positives among them.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds.

    Attributes
    ----------
    class_prior_ : float
        ``P(y=1)``, in [P(s=1), 1].
    label_frequency_ : float
        ``P(s=1 | y=1)`` among the rows given.
    unlabelled_prior_ : float
        ``P(y=1 | s=0)``.
    clipped_ : bool
        Whether the estimate is at the boundary of its range.

    See Also
    --------
    compare_priors : Several estimators side by side.
    ElkanNoto : The mean score of labelled rows.

    References
    ----------
    .. [1] J. Bekker and J. Davis, "Estimating the class prior in positive and unlabeled data
       through decision tree induction", AAAI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.priors import TIcE
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> y = target == 0  # malignant: 0.37 of the rows
    >>> s = y & (np.random.default_rng(0).random(len(y)) < 0.5)
    >>> round(TIcE(random_state=0).fit(X, s).class_prior_, 1)
    0.4
    """

    _parameter_constraints: dict = {
        **FoldPriorEstimator._parameter_constraints,
        "bounds_from": [StrOptions({"other_folds", "tree_fold"})],
    }

    def __init__(self, *, bounds_from="other_folds", cv=5, single_sample=True, random_state=None):
        super().__init__(cv=cv, single_sample=single_sample, random_state=random_state)
        self.bounds_from = bounds_from

    def _estimate(self, X, labelled: np.ndarray, groups=None) -> Estimate:
        folds = fold_numbers(X, labelled, self.cv, self.random_state, groups)
        codes = bin_columns(X)
        frequency = 0.5
        for _ in range(N_ROUNDS):
            searches = [
                _TreeSearch(codes, labelled, folds == fold, frequency, self.bounds_from)
                for fold in range(folds.max() + 1)
            ]
            frequency = float(np.mean([search.run() for search in searches]))
        q = labelled.mean()
        return Estimate(float((q / frequency - q) / (1.0 - q)))


def bin_columns(X) -> np.ndarray:
    """The bin, 0 to 3, of every value, one byte each; also of sparse input."""
    codes = np.empty(X.shape, dtype=np.int8)
    columns = X.tocsc() if sp.issparse(X) else X
    for start in range(0, X.shape[1], 256):
        block = columns[:, start : start + 256]
        block = moderate(block.toarray() if sp.issparse(block) else block)
        low, size = block.min(axis=0), np.ptp(block, axis=0)
        share = (block - low) / np.where(size > 0, size, 1.0)
        # The nudge keeps values on an edge on one side of it, whatever the unit.
        bins = np.minimum(np.floor(N_BINS * share + 1e-9), N_BINS - 1)
        codes[:, start : start + 256] = bins
    return codes


class _TreeSearch:
    """Best-first search on the rows of one fold; the bounds come from all other rows."""

    def __init__(self, codes, labelled, tree_rows, frequency: float, bounds_from: str):
        self.tree, self.tree_labels = codes[tree_rows], labelled[tree_rows]
        self.rest, self.rest_labels = codes[~tree_rows], labelled[~tree_rows]
        # A fixed probability that a bound fails, of 0.2, was far worse.
        delta = max(0.025, 1 / (1 + 0.004 * len(self.rest)))
        self.variance = frequency * (1 - frequency) * (1 - delta) / delta
        self.best = float(self.rest_labels.mean())
        self.min_labels = 1.0
        if bounds_from == "tree_fold":
            self.rest, self.rest_labels = self.tree, self.tree_labels

    def run(self) -> float:
        """The largest bound found in so many splits."""
        self.queue: list = []
        features = np.arange(self.tree.shape[1])
        self._push(np.arange(len(self.tree)), np.arange(len(self.rest)), features)
        for _ in range(MAX_SPLITS):
            if not self.queue:
                break
            *_, tree_rows, rest_rows, features = heapq.heappop(self.queue)
            self._split(tree_rows, rest_rows, features)
        return self.best

    def _bound(self, n_rows, n_labels):
        return n_labels / n_rows - np.sqrt(self.variance / n_rows)

    def _push(self, tree_rows, rest_rows, features) -> None:
        n_labels = int(self.tree_labels[tree_rows].sum())
        bound = self._bound(len(tree_rows), n_labels)
        # A growing number breaks ties before arrays would be compared.
        self._pushed = getattr(self, "_pushed", 0) + 1
        entry = (-bound, -n_labels, self._pushed, tree_rows, rest_rows, features)
        heapq.heappush(self.queue, entry)

    def _split(self, tree_rows, rest_rows, features) -> None:
        rest_sizes, rest_counts = _count(self.rest, self.rest_labels, rest_rows, features)
        usable = (rest_counts >= self.min_labels).any(axis=1)
        if not usable.any():
            return
        features, rest_sizes, rest_counts = (
            features[usable],
            rest_sizes[usable],
            rest_counts[usable],
        )
        sizes, counts = _count(self.tree, self.tree_labels, tree_rows, features)
        score = np.max(counts / (sizes + PROMISE), axis=1)
        chosen = int(np.argmax(score))
        if score[chosen] <= 0 or np.count_nonzero(rest_sizes[chosen]) <= 1:
            return
        for n_rows, n_labels in zip(rest_sizes[chosen], rest_counts[chosen], strict=True):
            if n_rows >= MIN_ROWS:
                self.best = max(self.best, float(self._bound(n_rows, n_labels)))
        # Fewer labels than this cannot beat the best bound, even in a subdomain of labels only.
        self.min_labels = self.variance / max((1 - self.best) ** 2, 1e-12)
        feature, others = features[chosen], np.delete(features, chosen)
        for bin_ in range(N_BINS):
            mixed = 0 < counts[chosen, bin_] < sizes[chosen, bin_]
            promising = rest_counts[chosen, bin_] > self.min_labels
            if mixed and promising and sizes[chosen, bin_] > MIN_ROWS and len(others):
                self._push(
                    tree_rows[self.tree[tree_rows, feature] == bin_],
                    rest_rows[self.rest[rest_rows, feature] == bin_],
                    others,
                )


def _count(codes, labels, rows, features) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labelled rows in each bin of each feature, two arrays (features, bins)."""
    inside = codes[rows] if len(features) == codes.shape[1] else codes[np.ix_(rows, features)]
    cell = inside + N_BINS * np.arange(len(features))
    n_cells = N_BINS * len(features)
    sizes = np.bincount(cell.ravel(), minlength=n_cells)
    counts = np.bincount(cell[labels[rows]].ravel(), minlength=n_cells)
    return sizes.reshape(-1, N_BINS), counts.reshape(-1, N_BINS)
