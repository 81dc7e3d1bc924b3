"""Folds, and out-of-fold scores g(x) ~ P(s=1 | x): what half of the estimators read instead of X.

Equal rows, and rows of one group, share a fold: else held-out scores have seen what they score.
Folds are dealt by a hash of the row and the seed, so that neither the order of the rows nor whether
zeros are stored changes them.
"""

import numpy as np
from scipy.stats import binom, hypergeom, norm
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from sarlearn._compat import fit_context, num_samples, one_blas_thread, safe_indexing
from sarlearn._engine.folds import deal_folds, hash_rows, joined, mixed
from sarlearn._engine.rows import moderate
from sarlearn._validation import check_array, check_probabilities, encode_labels
from sarlearn.exceptions import InputWarning, warn
from sarlearn.priors._base import Estimate, PriorEstimator

SAME_LEVEL = 0.01
# Up to so many rows a tail is summed term by term.
EXACT = 10**8


def out_of_fold_scores(
    X, labelled, *, scorer=None, cv=5, random_state=None, weight=None, groups=None
) -> np.ndarray:
    """Score every row with models that did not see it: ``g(x)``, an estimate of ``P(s=1 | x)``.

    In-sample scores of a flexible model put all labelled rows on top, and every estimator that
    reads them then finds no positives among the unlabelled. A row scored by several folds (a
    repeated splitter) gets the mean of its scores. Without a `scorer`, logistic regression on
    standardised columns does it.
    """
    rows = moderate(check_array(X, accept_sparse="csr", dtype=np.float64))
    if scorer is None:
        X = rows
        # Sparse columns are scaled, not centred.
        scaler = StandardScaler(with_mean=isinstance(rows, np.ndarray))
        scorer = make_pipeline(scaler, LogisticRegression(max_iter=1000))
    if not is_classifier(scorer) or not hasattr(scorer, "predict_proba"):
        raise ValueError(
            f"scorer must be a classifier with predict_proba; got {scorer!r}. Wrap one without it "
            "in sklearn.calibration.CalibratedClassifierCV."
        )
    target = labelled.astype(int)
    total, count = np.zeros(len(target)), np.zeros(len(target))
    for train, test in splits(rows, labelled, cv, random_state, groups):
        held_in = np.unique(target[train])
        if len(held_in) < 2:
            raise ValueError(
                f"A training fold of cv={cv!r} holds only rows with s={held_in[0]}; every fold "
                "needs labelled and unlabelled rows. Use stratified folds, or fewer."
            )
        parameters = {} if weight is None else _weights_of_fit(scorer, weight[train])
        fitted = clone(scorer).fit(safe_indexing(X, train), target[train], **parameters)
        total[test] += fitted.predict_proba(safe_indexing(X, test))[:, 1]
        count[test] += 1
    if never := int(np.sum(count == 0)):
        raise ValueError(
            f"cv={cv!r} leaves {never} rows in no test fold; each row needs a score from a model "
            "that did not see it."
        )
    return total / count


def _weights_of_fit(model, weight: np.ndarray) -> dict[str, np.ndarray]:
    """What hands weights to ``fit``: to each step of a pipeline that takes them."""
    if isinstance(model, Pipeline):
        steps = [(f"{name}__sample_weight", step) for name, step in model.steps]
    else:
        steps = [("sample_weight", model)]
    if not has_fit_parameter(steps[-1][1], "sample_weight"):
        raise ValueError(f"sample_weight was given, and the scorer {model!r} does not take it.")
    return {name: weight for name, step in steps if has_fit_parameter(step, "sample_weight")}


def splits(
    X, labelled: np.ndarray, cv, random_state, groups=None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The (train, test) pairs meant by `cv`: a number of folds, a splitter, or the pairs."""
    if not isinstance(cv, int | np.integer):
        target = labelled.astype(int)
        return list(check_cv(cv, target, classifier=True).split(X, target, groups))
    fold = _dealt(X, labelled, _fewer_folds(int(cv), labelled), random_state, groups)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(fold.max() + 1)]


def _renumbered(pairs, counting: np.ndarray) -> list[list[np.ndarray]]:
    """Folds that number all rows, of those alone that count."""
    rows, number = np.arange(len(counting)), np.cumsum(counting) - 1
    found = [[number[rows[part][counting[part]]] for part in pair] for pair in pairs]
    return [[train, test] for train, test in found if len(test)]


def _fewer_folds(cv: int, labelled: np.ndarray) -> int:
    """How many folds with either label there can be: ``cv``, or as many as rows of the rarer."""
    n_labelled = int(labelled.sum())
    n_folds = min(cv, n_labelled, len(labelled) - n_labelled)
    if n_folds < 2:
        raise ValueError(
            "Held-out scores need at least two labelled and two unlabelled rows; there are "
            f"{n_labelled} labelled of {len(labelled)}."
        )
    if n_folds < cv:
        text = (
            f"cv={cv} folds are more than there are rows with one of the labels; {n_folds} folds "
            "are used. Label more rows, or lower cv."
        )
        warn(InputWarning("fewer-folds", text))
    return n_folds


def _dealt(X, labelled: np.ndarray, most: int, random_state, groups) -> np.ndarray:
    """The fold of each row. Of few different rows there are fewer folds, each with both labels."""
    seed = int(check_random_state(random_state).randint(2**31))
    hashes = joined(hash_rows(X), groups)
    for n_folds in range(most, 1, -1):
        fold = deal_folds(hashes, labelled, n_folds, seed)
        if all(len(np.unique(fold[rows])) == n_folds for rows in (labelled, ~labelled)):
            return fold
    raise ValueError(
        f"The {len(np.unique(hashes))} different rows or groups of X do not make two folds that "
        "each hold labelled and unlabelled rows; equal rows, and those of a group, share a fold. "
        "Add columns that tell rows apart, or pass folds of your own as cv."
    )


def merged(X, labelled: np.ndarray, weight: np.ndarray | None):
    """Equal rows with equal labels as one row of their weight together, in the order of a hash."""
    key = mixed(hash_rows(X) + labelled.astype(np.uint64))
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return X[first], labelled[first], np.bincount(which, weight).astype(np.float64)


def fold_numbers(X, labelled: np.ndarray, cv, random_state, groups=None) -> np.ndarray:
    """The test fold of each row, for methods that keep sums per fold: every row in one fold."""
    folds = np.full(len(labelled), -1)
    seen = np.zeros(len(labelled), dtype=int)
    for number, (_, test) in enumerate(splits(X, labelled, cv, random_state, groups)):
        folds[test] = number
        seen[test] += 1
    if (seen != 1).any():
        raise ValueError(
            f"cv={cv!r} puts row {int(np.argmax(seen != 1))} in {seen[np.argmax(seen != 1)]} test "
            "folds; each row must be in exactly one."
        )
    n_folds = folds.max() + 1
    held = np.stack([np.bincount(folds[rows], minlength=n_folds) for rows in (labelled, ~labelled)])
    if (held == 0).any():
        raise ValueError(
            f"A test fold of cv={cv!r} lacks labelled or unlabelled rows (labelled rows per fold: "
            f"{held[0].tolist()}). Use stratified folds, or fewer."
        )
    return folds


def _separates(scores: np.ndarray, labelled: np.ndarray, weight: np.ndarray | None) -> bool:
    """Do labelled rows score higher than unlabelled ones? Two one-sided tests, level 0.01 in all.

    The rank-sum test sees a shift of the whole; where nearly all unlabelled rows are positive the
    difference is a few low scores, so the labelled rows among the lowest 8, 16, 32, ... are
    counted too. Weights are counts of rows.
    """
    if np.ptp(scores) == 0:
        return False
    _, code = np.unique(scores, return_inverse=True)
    all_rows = np.bincount(code, weights=weight).astype(float)
    of_labelled = np.bincount(code, weights=labelled if weight is None else labelled * weight)
    n_rows, n_labelled = all_rows.sum(), of_labelled.sum()
    shift = _rank_sum(of_labelled, all_rows - of_labelled)
    sizes = 2.0 ** np.arange(3, max(int(np.log2(max(n_rows, 1.0))), 4))
    up_to, labelled_up_to = np.cumsum(all_rows), np.cumsum(of_labelled)
    at = np.minimum(np.searchsorted(up_to, sizes), len(up_to) - 1)
    tails = _few_drawn(labelled_up_to[at], n_rows, n_labelled, up_to[at])
    return bool(min(shift, tails.min() * len(sizes)) <= SAME_LEVEL / 2)


def _few_drawn(found, n_rows, n_labelled, n_drawn) -> np.ndarray:
    """The probability of so few labelled rows, or fewer, among those drawn.

    SciPy takes as long as there are rows, which weights can make endless: where there are many, it
    is as good to draw with replacement.
    """
    found, n_rows, n_labelled, n_drawn = map(np.round, (found, n_rows, n_labelled, n_drawn))
    if n_rows <= EXACT:
        return hypergeom.cdf(found, n_rows, n_labelled, n_drawn)
    small, large = np.minimum(n_labelled, n_drawn), np.maximum(n_labelled, n_drawn)
    return binom.cdf(found, small, large / n_rows)


def _rank_sum(higher: np.ndarray, lower: np.ndarray) -> float:
    """P value of Mann and Whitney's test, one-sided, from two counts at each rising value.

    The normal approximation with its corrections for ties and continuity, as in SciPy, whose
    function takes no weights.
    """
    n_higher, n_lower, tied = higher.sum(), lower.sum(), higher + lower
    n = n_higher + n_lower
    above = higher @ (np.cumsum(lower) - lower / 2)
    if n <= 1 or len(tied) == 1:
        return 1.0  # weights that make less than a row, or one value: nothing to compare
    spread = n_higher * n_lower / 12 * (n + 1 - np.sum(tied**3 - tied) / (n * (n - 1)))
    return float(norm.sf((above - n_higher * n_lower / 2 - 0.5) / np.sqrt(spread)))


class FoldPriorEstimator(PriorEstimator):
    """Base of the estimators that hold rows out."""

    _parameter_constraints: dict = {
        **PriorEstimator._parameter_constraints,
        "cv": ["cv_object"],  # a number, a splitter, or an iterable of (train, test)
        "random_state": ["random_state"],
    }

    def __init__(self, *, cv=5, single_sample=True, random_state=None):
        self.cv = cv
        self.single_sample = single_sample
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, groups=None):
        """Estimate the class prior.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            The rows, labelled and unlabelled together.
        y : array-like of shape (n_samples,)
            The observed labels s: 1 for labelled positives, 0 for unlabelled rows.
        groups : array-like of shape (n_samples,), default=None
            Rows of a group, such as visits of one patient, share a fold; equal rows do anyway.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._learn(X, y, groups=groups)


class ScorePriorEstimator(FoldPriorEstimator):
    """Base of the estimators that read one out-of-fold score per row.

    Where the held-out scores of the labelled rows are no higher than those of the unlabelled
    (tests of level 0.01), nothing tells the two apart, the largest kappa the data allow is 1, and
    that is the estimate: from noise the methods gave anything from 0.3 to 1.
    """

    _parameter_constraints: dict = {
        **FoldPriorEstimator._parameter_constraints,
        "scorer": "no_validation",
    }

    def __init__(self, *, scorer=None, cv=5, single_sample=True, random_state=None):
        super().__init__(cv=cv, single_sample=single_sample, random_state=random_state)
        self.scorer = scorer

    def _estimate(self, X, labelled: np.ndarray, weight=None, groups=None) -> Estimate:
        cv = self.cv
        if weight is not None:
            counting = weight > 0
            X, labelled, weight = X[counting], labelled[counting], weight[counting]
            groups = None if groups is None else groups[counting]
            if not isinstance(cv, int | np.integer) and not hasattr(cv, "split"):
                cv = _renumbered(cv, counting)
        settings = {"scorer": self.scorer, "cv": cv, "random_state": self.random_state}
        scores = out_of_fold_scores(X, labelled, **settings, weight=weight, groups=groups)
        return self._read(scores, labelled, weight)

    def _read(
        self, scores: np.ndarray, labelled: np.ndarray, weight: np.ndarray | None = None
    ) -> Estimate:
        """The method's estimate; kappa is 1 where the scores do not tell the groups apart."""
        weighted = () if weight is None else (weight,)
        found = self._estimate_from_scores(scores, labelled, *weighted)
        return found if _separates(scores, labelled, weight) else Estimate(1.0, at_boundary=True)

    def _estimate_from_scores(self, scores: np.ndarray, labelled: np.ndarray, *weight) -> Estimate:
        """Kappa, unclipped, from held-out scores; with weights where the method takes them."""
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=False)
    def fit_scores(self, scores, y):
        """Estimate from scores at hand: out-of-fold, out-of-bag, or of another model.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            Held-out estimates of ``P(s=1 | x)``, in [0, 1].
        y : array-like of shape (n_samples,)
            The observed labels s.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        scores = check_probabilities(scores, "scores", num_samples(y))
        labelled, self.classes_ = encode_labels(y)
        with one_blas_thread():
            found = self._read(scores, labelled)
        self._set_prior(found, float(labelled.mean()))
        return self
