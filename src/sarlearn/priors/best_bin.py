"""Best Bin Estimation: the ratio of two tail shares at the threshold that bounds it best."""

import numpy as np

from sarlearn._compat import fit_context
from sarlearn.priors._base import Estimate
from sarlearn.priors._scores import ScorePriorEstimator

DELTA, GAMMA = 0.1, 0.01  # one minus the confidence, and the slack: the authors' values


class BestBinEstimator(ScorePriorEstimator):
    """Best bin estimation (BBE): the share of labels among the rows with the highest scores.

    The default of :class:`~sarlearn.SCARClassifier`. With ``q_U(z)`` and ``q_P(z)`` the shares of
    unlabelled and labelled rows that score ``z`` or higher, choose the ``z`` with the smallest
    upper confidence bound [1]_::

        q_U/q_P + (1 + gamma)/q_P * (sqrt(log(4/delta) / (2 n_U)) + sqrt(log(4/delta) / (2 n_P)))

    with ``delta`` 0.1 and ``gamma`` 0.01, and return ``kappa = q_U(z)/q_P(z)``. If the rows with
    the highest scores are all positive, this ratio is exactly kappa; otherwise it is a little too
    high. Only the order of the scores counts, so they need no calibration.

    Parameters
    ----------
    scorer : classifier with ``predict_proba``, default=None
        None is logistic regression on standardised columns.
    cv : int >= 2, splitter or iterable, default=5
        Folds of the held-out scores; a repeated splitter averages the scores of each row, which
        steadies the estimate when few rows are labelled.
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
    threshold_ : float
        The score z chosen.

    See Also
    --------
    compare_priors : Several estimators side by side.
    DEDPUL : Compare densities of the scores.

    References
    ----------
    .. [1] S. Garg, Y. Wu, A. Smola, S. Balakrishnan and Z. Lipton, "Mixture proportion estimation
       and PU learning: a modern approach", NeurIPS 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.priors import BestBinEstimator
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> y = target == 0  # malignant: 0.37 of the rows
    >>> s = y & (np.random.default_rng(0).random(len(y)) < 0.5)
    >>> prior = BestBinEstimator(random_state=0).fit(X, s)
    >>> round(prior.class_prior_, 1), round(prior.label_frequency_, 1)
    (0.4, 0.5)
    """

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, groups=None):
        """Estimate the class prior.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            The rows, labelled and unlabelled together.
        y : array-like of shape (n_samples,)
            The observed labels s: 1 for labelled positives, 0 for unlabelled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            How many rows each row counts for.
        groups : array-like of shape (n_samples,), default=None
            Rows of a group, such as visits of one patient, share a fold; equal rows do anyway.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._learn(X, y, sample_weight, groups)

    def _estimate_from_scores(
        self, scores: np.ndarray, labelled: np.ndarray, weight: np.ndarray | None = None
    ) -> Estimate:
        z, code = np.unique(scores, return_inverse=True)
        weight = np.ones(len(scores)) if weight is None else weight
        # Rows scored z or higher, by weight.
        above_p, above_u = (
            np.cumsum(np.bincount(code, weights=rows * weight)[::-1])[::-1]
            for rows in (labelled, ~labelled)
        )
        n_p, n_u = above_p[0], above_u[0]
        # A bin of a single row says nothing; without two of each, the widest bin has all rows.
        enough = (above_p >= min(2, n_p)) & (above_u >= min(2, n_u))
        z, q_p, q_u = z[enough], above_p[enough] / n_p, above_u[enough] / n_u
        best = int(np.argmin(bound(q_u, q_p, n_u, n_p)))
        self.threshold_ = float(z[best])
        return Estimate(float(q_u[best] / q_p[best]))


def bound(q_u, q_p, n_u: float, n_p: float) -> np.ndarray:
    """The upper confidence bound of kappa at each threshold."""
    spread = np.sqrt(np.log(4 / DELTA) / 2) * (n_u**-0.5 + n_p**-0.5)
    return q_u / q_p + (1 + GAMMA) * spread / q_p
