"""AlphaMax and its version for labelled sets that are not pure."""

import numpy as np
from scipy.stats import rankdata

from sarlearn.priors import _alphamax
from sarlearn.priors._base import Estimate, PriorCurve
from sarlearn.priors._scores import ScorePriorEstimator

LOW, HIGH = 0.05, 0.85
NEAR, NEAR_STEP = 0.1, 0.004


class AlphaMax(ScorePriorEstimator):
    """AlphaMax [1]_: the largest share of positives that costs no likelihood.

    With histograms of the score, ``w_i`` and ``p_i`` the shares of unlabelled and labelled rows in
    bin i, split the unlabelled histogram into a part ``z`` of weight a and a rest::

        LL(a) = max over z of sum p_i log(z_i/a) + sum w_i log(w_i - z_i + a p_i),
                0 <= z_i <= w_i, sum z_i = a

    LL is flat up to kappa and then falls; the estimate is its elbow, found by lines that support
    the curve from below. Each a has a closed form up to one multiplier; all are solved at once.
    Steps of 0.01 see no elbow below 0.1 or above 0.9, so log-spaced points are added below 0.1,
    and above 0.9 when the elbow is at 0.85 or higher; in between, a second search in steps of
    0.004 starts from the first. With few labelled rows (below 100) the histogram is coarse and
    the estimate erratic.

    Parameters
    ----------
    rank_scores : bool, default=True
        Read the ranks of the scores, not their values: bins of equal width then hold similar
        numbers of rows. Values instead of ranks had a larger error on the reference cases.
    scorer : classifier with ``predict_proba``, default=None
        None is logistic regression on standardised columns.
    cv : int >= 2, splitter or iterable, default=5
        Folds of the held-out scores.
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
    curve_ : PriorCurve
        The log-likelihood against the prior. Look at it: a clear elbow is a good sign.

    See Also
    --------
    compare_priors : Estimate the class prior with several methods and say whether they agree.
    AlphaMaxN : AlphaMax for noisy positives: some labelled rows are in fact negative.

    References
    ----------
    .. [1] S. Jain, M. White, M. W. Trosset and P. Radivojac, "Nonparametric semi-supervised
       learning of class proportions", arXiv:1601.01944, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.priors import AlphaMax
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> y = target == 0  # malignant: 0.37 of the rows
    >>> s = y & (np.random.default_rng(0).random(len(y)) < 0.5)
    >>> round(AlphaMax(random_state=0).fit(X, s).class_prior_, 1)
    0.4
    """

    _parameter_constraints: dict = {
        **ScorePriorEstimator._parameter_constraints,
        "rank_scores": ["boolean"],
    }

    def __init__(
        self, *, rank_scores=True, scorer=None, cv=5, single_sample=True, random_state=None
    ):
        self.rank_scores = rank_scores
        self.scorer = scorer
        self.cv = cv
        self.single_sample = single_sample
        self.random_state = random_state

    def _estimate_from_scores(self, scores: np.ndarray, labelled: np.ndarray) -> Estimate:
        scores = _ranks(scores) if self.rank_scores else scores
        kappa, at_boundary, self.curve_ = _mixture_share(scores[~labelled], scores[labelled])
        return Estimate(kappa, at_boundary)


class AlphaMaxN(ScorePriorEstimator):
    """AlphaMax for noisy positives [1]_: some labelled rows are in fact negative.

    Run AlphaMax both ways on the same scores, ``a_U`` the share of the labelled distribution in
    the unlabelled rows and ``1 - a_P`` that of the unlabelled distribution in the labelled rows::

        kappa = a_U a_P / (1 - a_U (1 - a_P))      purity = a_P / (1 - a_U (1 - a_P))

    It needs a region of positives only *and* one of negatives only. With clean labels use
    `AlphaMax`: noise in the second run lowers kappa.

    Because labelled rows may be negative, ``alpha = q purity + (1 - q) kappa`` and
    ``c = q purity / alpha``: here the class prior can be below the labelled share q.

    Parameters
    ----------
    rank_scores : bool, default=False
        Read the ranks of the scores, not their values. With wrong labels the values did better on
        simulated data.
    scorer : classifier with ``predict_proba``, default=None
        None is logistic regression on standardised columns.
    cv : int >= 2, splitter or iterable, default=5
        Folds of the held-out scores.
    single_sample : bool, default=True
        False for case-control data, the unlabelled rows drawn from the whole population: then
        `class_prior_` is the share of positives among them.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds.

    Attributes
    ----------
    class_prior_ : float
        ``P(y=1)``, in [P(s=1, y=1), 1].
    label_frequency_ : float
        ``P(s=1 | y=1)`` among the rows given.
    unlabelled_prior_ : float
        ``P(y=1 | s=0)``.
    labelled_purity_ : float
        ``P(y=1 | s=1)``, the share of the labelled rows that is positive.
    clipped_ : bool
        Whether the estimate is at the boundary of its range.
    curve_ : PriorCurve
        The log-likelihood of the first run against the prior.

    See Also
    --------
    compare_priors : Estimate the class prior with several methods and say whether they agree.
    AlphaMax : The largest share of positives that costs no likelihood.

    References
    ----------
    .. [1] S. Jain, M. White and P. Radivojac, "Estimating the class prior and posterior from
       noisy positives and unlabeled data", NeurIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.priors import AlphaMaxN
    >>> rng = np.random.default_rng(0)
    >>> s = np.arange(4000) < 1000
    >>> y = rng.random(4000) < np.where(s, 0.8, 0.3)  # a fifth of the labels is wrong
    >>> X = rng.normal(size=(4000, 2)) + np.where(y, 2, -2)[:, None]
    >>> prior = AlphaMaxN(random_state=0).fit(X, s)
    >>> round(prior.labelled_purity_, 1), round(prior.unlabelled_prior_, 1)
    (0.8, 0.3)
    """

    _parameter_constraints: dict = {
        **ScorePriorEstimator._parameter_constraints,
        "rank_scores": ["boolean"],
    }

    def __init__(
        self, *, rank_scores=False, scorer=None, cv=5, single_sample=True, random_state=None
    ):
        self.rank_scores = rank_scores
        self.scorer = scorer
        self.cv = cv
        self.single_sample = single_sample
        self.random_state = random_state

    def _estimate_from_scores(self, scores: np.ndarray, labelled: np.ndarray) -> Estimate:
        scores = _ranks(scores) if self.rank_scores else scores
        forward, at_boundary, self.curve_ = _mixture_share(scores[~labelled], scores[labelled])
        backward, _, _ = _mixture_share(scores[labelled], scores[~labelled])
        pure = 1.0 - backward
        shared = 1.0 - forward * backward
        self.labelled_purity_ = pure / shared
        return Estimate(forward * pure / shared, at_boundary, self.labelled_purity_)

    def _read(self, scores: np.ndarray, labelled: np.ndarray, weight=None) -> Estimate:
        found = super()._read(scores, labelled, weight)
        self.labelled_purity_ = found.purity
        return found


def _ranks(scores: np.ndarray) -> np.ndarray:
    return rankdata(scores) / len(scores)


def _mixture_share(mixture: np.ndarray, component: np.ndarray) -> tuple[float, bool, PriorCurve]:
    """The share of `component` in `mixture`, whether it is at an end, and the curve."""
    w, p, width = _alphamax.histogram_shares(mixture, component)
    priors = _alphamax.prior_grid()
    likelihood = _alphamax.log_likelihood(w, p, width, priors)
    elbow = _alphamax.find_elbow(priors, likelihood)
    share, at_boundary = float(priors[elbow]), elbow <= _alphamax.WINDOW
    if share >= HIGH:
        # Near one the likelihood plunges, and points there hide elbows further down: they come
        # in only now.
        priors = _alphamax.prior_grid(upper_end=True)
        likelihood = _alphamax.log_likelihood(w, p, width, priors)
        elbow = _alphamax.find_elbow(priors, likelihood)
        share = float(priors[elbow])
        at_boundary = elbow >= len(priors) - _alphamax.WINDOW - 1
    elif share >= LOW:
        # Ten steps of 0.01 on either side blur the elbow by some 0.015; look again from near.
        fine = np.arange(share - NEAR, share + NEAR, NEAR_STEP)
        fine = fine[(fine > 0) & (fine < 1)]
        elbow = _alphamax.find_elbow(fine, _alphamax.log_likelihood(w, p, width, fine))
        share = float(fine[elbow])
    cap = _alphamax.largest_unseen_share(w, p, len(mixture))
    at_boundary, share = at_boundary or cap < share, min(share, cap)
    curve = PriorCurve(
        priors,
        likelihood,
        "share of positives among the unlabelled",
        "log-likelihood",
        name="likelihood",
        marker=(share, float(np.interp(share, priors, likelihood))),
    )
    return share, at_boundary, curve
