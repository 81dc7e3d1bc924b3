"""Out-of-fold scores g(x) ~ P(s=1 | x): what half of the estimators read instead of X."""

import numpy as np
import scipy.sparse as sp
from scipy.stats import hypergeom, norm
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import has_fit_parameter

from sarlearn._compat import fit_context, one_blas_thread, safe_indexing
from sarlearn._engine.folds import deal_folds, hash_rows, mixed
from sarlearn._engine.rows import moderate
from sarlearn._validation import check_array, check_weights, encode_labels, fewer_folds
from sarlearn.priors._base import Estimate, PriorEstimator

SAME_LEVEL = 0.01
# Up to so many labelled rows a tail is summed term by term.
EXACT = 100_000
CV_CONSTRAINT = ["cv_object"]  # a number, a splitter, or an iterable of (train, test)


def out_of_fold_scores(
    X, s, *, scorer=None, cv=5, random_state=None, sample_weight=None
) -> np.ndarray:
    """Score every row with models that did not see it: ``g(x)``, an estimate of ``P(s=1 | x)``.

    In-sample scores of a flexible model put all labelled rows on top, and every estimator that
    reads them then finds no positives among the unlabelled. A row scored by several folds (a
    repeated splitter) gets the mean of its scores.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows, labelled and unlabelled together.
    s : array-like of shape (n_samples,)
        Observed labels, 1 for labelled.
    scorer : classifier with ``predict_proba``, default=None
        None is logistic regression on standardised columns. Class weights spoil the calibration
        that `ElkanNoto` needs; the other methods tolerate them.
    cv : int >= 2, splitter or iterable of (train, test), default=5
        A number is that many shuffled folds, stratified by `s`; copies of a row share one.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds; used only where `cv` is a number.
    sample_weight : array-like of shape (n_samples,), default=None
        How many rows each row counts for in the fits. Folds are made of the rows with a positive
        weight; the score of another is NaN unless a given fold holds it out.

    Returns
    -------
    ndarray of shape (n_samples,)
        Scores in [0, 1].

    See Also
    --------
    BestBinEstimator : Best Bin Estimation: the suggested default.
    DEDPUL : Difference of estimated densities (DEDPUL).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.priors import out_of_fold_scores
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> scores = out_of_fold_scores(X, target == 0, random_state=0)
    >>> scores.shape, bool(scores[target == 0].mean() > 0.9)
    ((569,), True)
    """
    labelled, _ = encode_labels(s, warn_few=False)
    model = scorer
    if scorer is None:
        X = moderate(check_array(X, accept_sparse="csr", dtype=np.float64))
        model = default_scorer(sparse=sp.issparse(X))
    if not is_classifier(model) or not hasattr(model, "predict_proba"):
        raise ValueError(
            f"scorer must be a classifier with predict_proba; got {model!r}. Wrap one without it "
            "in sklearn.calibration.CalibratedClassifierCV."
        )
    target = labelled.astype(int)
    total, count = np.zeros(len(target)), np.zeros(len(target))
    check_consistent_length(X, labelled)
    weight = check_weights(sample_weight, X)
    counting = np.ones(len(target), dtype=bool) if weight is None else weight > 0
    for train, test in _splits_of(X, labelled, counting, cv, random_state):
        held_in = np.unique(target[train])
        if len(held_in) < 2:
            raise ValueError(
                f"A training fold of cv={cv!r} holds only rows with s={held_in[0]}; every fold "
                "needs labelled and unlabelled rows. Use stratified folds, or fewer."
            )
        parameters = {} if weight is None else _weights_of_fit(model, weight[train])
        fitted = clone(model).fit(safe_indexing(X, train), target[train], **parameters)
        total[test] += fitted.predict_proba(safe_indexing(X, test))[:, 1]
        count[test] += 1
    never = int(np.sum(count[counting] == 0))
    if never:
        raise ValueError(
            f"cv={cv!r} leaves {never} rows in no test fold; each row needs a score from a model "
            "that did not see it."
        )
    return np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)


def _splits_of(X, labelled, counting: np.ndarray, cv, random_state):
    """Folds of the rows that count, as numbers among all rows.

    A number or a splitter never sees the others; folds that are given number all rows.
    """
    if counting.all():
        return splits(X, labelled, cv, random_state)
    rows = np.flatnonzero(counting)
    if isinstance(cv, int | np.integer) or hasattr(cv, "split"):
        found = splits(safe_indexing(X, rows), labelled[rows], cv, random_state)
        return [(rows[train], rows[test]) for train, test in found]
    pairs = [[np.arange(len(counting))[part] for part in pair] for pair in cv]
    return [(train[counting[train]], test) for train, test in pairs]


def _weights_of_fit(model, weight: np.ndarray) -> dict[str, np.ndarray]:
    """What hands weights to ``fit``: to each step of a pipeline that takes them."""
    if isinstance(model, Pipeline):
        steps = [(f"{name}__sample_weight", step) for name, step in model.steps]
    else:
        steps = [("sample_weight", model)]
    if not has_fit_parameter(steps[-1][1], "sample_weight"):
        raise ValueError(f"sample_weight was given, and the scorer {model!r} does not take it.")
    return {name: weight for name, step in steps if has_fit_parameter(step, "sample_weight")}


def default_scorer(sparse: bool = False):
    """Logistic regression on standardised columns; sparse input is scaled, not centred."""
    return make_pipeline(StandardScaler(with_mean=not sparse), LogisticRegression(max_iter=1000))


def splits(X, labelled: np.ndarray, cv, random_state) -> list[tuple[np.ndarray, np.ndarray]]:
    """The (train, test) pairs meant by `cv`; with few rows of a label, fewer and a warning."""
    if isinstance(cv, int | np.integer):
        n_folds = fewer_folds(int(cv), labelled)
        together = _folds_of_copies(X, labelled, n_folds, random_state)
        if together is not None:
            numbers = range(n_folds)
            return [(np.flatnonzero(together != k), np.flatnonzero(together == k)) for k in numbers]
        cv = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    target = labelled.astype(int)
    return list(check_cv(cv, target, classifier=True).split(X, target))


def _folds_of_copies(X, labelled: np.ndarray, n_folds: int, random_state) -> np.ndarray | None:
    """Folds in which copies of a row lie together; None without copies, or of too few rows."""
    if not sp.issparse(X) and not (isinstance(X, np.ndarray) and X.dtype.kind in "buif"):
        return None
    hashes = hash_rows(X)
    if len(np.unique(hashes)) == len(hashes):
        return None
    seed = int(check_random_state(random_state).randint(2**31))
    fold = deal_folds(hashes, labelled, n_folds, seed)
    held = [np.bincount(fold[some], minlength=n_folds) for some in (labelled, ~labelled)]
    return fold if np.min(held) > 0 else None


class RowFolds:
    """A splitter whose folds depend on what rows hold: copies share one, in any order of rows."""

    def __init__(self, n_folds: int, seed: int):
        self.n_folds = n_folds
        self.seed = seed

    def get_n_splits(self, X=None, y=None, groups=None) -> int:
        return self.n_folds

    def split(self, X, y, groups=None):
        """Train and test rows of each fold; fewer folds where few rows are labelled."""
        labelled, hashes = np.asarray(y).astype(bool), hash_rows(X)
        n_folds = fewer_folds(self.n_folds, labelled)
        n_folds = max(min(n_folds, len(np.unique(hashes[labelled]))), 2)
        fold = deal_folds(hashes, labelled, n_folds, self.seed)
        for number in range(n_folds):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def merged(X, labelled: np.ndarray, weight: np.ndarray | None):
    """Equal rows with equal labels as one row of their weight together, in the order of a hash."""
    key = mixed(hash_rows(X) + labelled.astype(np.uint64))
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return X[first], labelled[first], np.bincount(which, weight).astype(np.float64)


def fold_numbers(X, labelled: np.ndarray, cv, random_state) -> np.ndarray:
    """The test fold of each row, for methods that keep sums per fold: every row in one fold."""
    folds = np.full(len(labelled), -1)
    seen = np.zeros(len(labelled), dtype=int)
    for number, (_, test) in enumerate(splits(X, labelled, cv, random_state)):
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
    counts = (labelled_up_to[at], n_rows, n_labelled, up_to[at])
    tails = _few_drawn(*(np.round(count) for count in np.broadcast_arrays(*counts)))
    return bool(min(shift, tails.min() * len(sizes)) <= SAME_LEVEL / 2)


def _few_drawn(found: np.ndarray, n_rows, n_labelled, n_drawn) -> np.ndarray:
    """The probability of so few labelled rows, or fewer, among those drawn.

    SciPy's tail is a sum of as many terms, which weights can make endless: where there are many,
    the normal approximation is as good.
    """
    out, few = np.empty(len(found)), found <= EXACT
    counts = [count[few] for count in (found, n_rows, n_labelled, n_drawn)]
    out[few] = hypergeom.cdf(*counts)
    found, n_rows, n_labelled, n_drawn = (
        count[~few] for count in (found, n_rows, n_labelled, n_drawn)
    )
    share = n_labelled / n_rows
    left = (n_rows - n_drawn) / np.maximum(n_rows - 1, 1)
    spread = np.sqrt(n_drawn * share * (1 - share) * left)
    above = found + 0.5 - n_drawn * share
    z = np.divide(above, spread, out=np.full(len(spread), np.inf), where=spread > 0)
    out[~few] = norm.cdf(z)
    return out


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


class ScorePriorEstimator(PriorEstimator):
    """Base of the estimators that read one out-of-fold score per row.

    Where the held-out scores of the labelled rows are no higher than those of the unlabelled
    (tests of level 0.01), nothing tells the two apart, the largest kappa the data allow is 1, and
    that is the estimate: from noise the methods gave anything from 0.3 to 1.
    """

    _parameter_constraints: dict = {
        **PriorEstimator._parameter_constraints,
        "scorer": "no_validation",
        "cv": CV_CONSTRAINT,
        "random_state": ["random_state"],
    }

    def _estimate(self, X, labelled: np.ndarray, weight: np.ndarray | None = None) -> Estimate:
        scores = out_of_fold_scores(
            X,
            labelled,
            scorer=self.scorer,
            cv=self.cv,
            random_state=self.random_state,
            sample_weight=weight,
        )
        if weight is None:
            return self._read(scores, labelled)
        kept = weight > 0
        return self._read(scores[kept], labelled[kept], weight[kept])

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
        scores = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="scores")
        if scores.ndim != 1:
            raise ValueError(f"scores must be one number per row; got shape {scores.shape}.")
        check_consistent_length(scores, y)
        outside = (scores < 0) | (scores > 1)
        if outside.any():
            row = int(np.argmax(outside))
            raise ValueError(f"scores must lie in [0, 1]; row {row} has {scores[row]!r}.")
        labelled, self.classes_ = encode_labels(y)
        with one_blas_thread():
            found = self._read(scores, labelled)
        self._set_prior(found, float(labelled.mean()))
        return self
