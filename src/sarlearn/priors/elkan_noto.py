"""Elkan and Noto's estimator of the label frequency."""

import numpy as np

from sarlearn.priors._base import Estimate
from sarlearn.priors._scores import ScorePriorEstimator


class ElkanNoto(ScorePriorEstimator):
    """The estimator of Elkan and Noto: the mean score of labelled rows is the label frequency.

    With held-out scores ``g(x) ~ P(s=1 | x)`` the label frequency c is the mean of ``g`` over the
    labelled rows (e1 of [1]_), and ``alpha = P(s=1) / c``. The classical baseline: it assumes
    ``P(y=1 | x) = 1`` on every positive, so **it is biased** where the classes overlap: ``g`` is
    then smaller than c on positives, and the class prior comes out too high.

    Parameters
    ----------
    scorer : classifier with ``predict_proba``, default=None
        None is logistic regression on standardised columns. It must be calibrated: no class
        weights.
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

    See Also
    --------
    compare_priors : Several estimators side by side.
    TIcE : Bounds on the label frequency from a tree.

    References
    ----------
    .. [1] C. Elkan and K. Noto, "Learning classifiers from only positive and unlabeled data",
       KDD 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.priors import ElkanNoto
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> y = target == 0  # malignant: 0.37 of the rows
    >>> s = y & (np.random.default_rng(0).random(len(y)) < 0.5)
    >>> ElkanNoto(random_state=0).fit(X, s).class_prior_
    0.4...
    """

    def _estimate_from_scores(self, scores: np.ndarray, labelled: np.ndarray) -> Estimate:
        frequency = scores[labelled].mean()
        q = labelled.mean()
        alpha = q / max(frequency, 1e-300)
        return Estimate(float((alpha - q) / (1.0 - q)))
