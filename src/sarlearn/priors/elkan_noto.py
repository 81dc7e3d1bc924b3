"""Elkan and Noto's three estimators of the label frequency."""

import numpy as np

from sarlearn._compat import StrOptions
from sarlearn.priors._base import Estimate
from sarlearn.priors._scores import ScorePriorEstimator


class ElkanNoto(ScorePriorEstimator):
    """The estimator of Elkan and Noto: the mean score of labelled rows is the label frequency.

    With held-out scores ``g(x) ~ P(s=1 | x)`` and P the labelled rows [1]_::

        e1:  c = mean of g over P
        e2:  c = sum of g over P / sum of g over all rows
        e3:  c = max of g over all rows

    and ``alpha = P(s=1) / c``. The classical baseline: e1 assumes ``P(y=1 | x) = 1`` on every
    positive, so **it is biased** where the classes overlap: ``g`` is then smaller than c on
    positives, and the class prior comes out too high. e3 rests on the single largest score, and
    comes out too low.

    Parameters
    ----------
    variant : {"e1", "e2", "e3"}, default="e1"
        Which of the three.
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

    _parameter_constraints: dict = {
        **ScorePriorEstimator._parameter_constraints,
        "variant": [StrOptions({"e1", "e2", "e3"})],
    }

    def __init__(self, variant="e1", *, scorer=None, cv=5, single_sample=True, random_state=None):
        super().__init__(
            scorer=scorer, cv=cv, single_sample=single_sample, random_state=random_state
        )
        self.variant = variant

    def _estimate_from_scores(self, scores: np.ndarray, labelled: np.ndarray) -> Estimate:
        if self.variant == "e1":
            frequency = scores[labelled].mean()
        elif self.variant == "e2":
            frequency = scores[labelled].sum() / max(scores.sum(), 1e-300)
        else:
            frequency = scores.max()
        q = labelled.mean()
        alpha = q / max(frequency, 1e-300)
        return Estimate(float((alpha - q) / (1.0 - q)))
