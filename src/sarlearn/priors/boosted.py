"""The class prior by boosted trees: the cross-fit's idea for classes that are not linear."""

import warnings
from numbers import Integral

import numpy as np

from sarlearn._validation import resolve_features
from sarlearn.classifiers._boosting import BOOSTING_CONSTRAINTS
from sarlearn.classifiers.boosted import BoostedSARClassifier
from sarlearn.exceptions import FewLabelsWarning
from sarlearn.priors._base import Estimate, PriorEstimator

_SETTINGS = ("propensity_features", "learning_rate", "max_leaf_nodes", "max_iter", "cv", "n_runs")


class BoostedPrior(PriorEstimator):
    """The class prior of :class:`~sarlearn.BoostedSARClassifier`.

    Held-out logits of boosted trees take the place of the linear ones of :class:`CrossFitPrior`:
    for classes that no line tells apart. It takes propensity attributes, so the labels may be
    biased; without them it assumes SCAR. Needs LightGBM: ``pip install 'sarlearn[boost]'``.

    Parameters
    ----------
    propensity_features : names, indices, boolean mask, or callable on the names, default=()
        The columns that may decide who among the positives gets a label. Empty is SCAR.
    learning_rate, max_leaf_nodes, max_iter, cv, n_runs : float, int, int, int, int
        See :class:`~sarlearn.BoostedSARClassifier`.
    single_sample : bool, default=True
        False for case-control data, the unlabelled rows drawn from the whole population: then
        `class_prior_` is the share of positives among them.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds.
    n_jobs : int or None, default=None
        Folds that are boosted at the same time; the result does not depend on it.

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
    class_prior_range_, identification_width_, slope_ : tuple, float, float
        See :class:`~sarlearn.BoostedSARClassifier`.
    model_ : BoostedSARClassifier
        The fitted model.

    See Also
    --------
    CrossFitPrior : Faster, and better where the class is linear.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.priors import BoostedPrior
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4  # half of the rows
    >>> s = y & (rng.random(2000) < 0.5)
    >>> prior = BoostedPrior(random_state=0).fit(X, s)
    >>> round(prior.class_prior_, 1)
    0.5
    """

    _parameter_constraints: dict = {
        **PriorEstimator._parameter_constraints,
        **{name: BOOSTING_CONSTRAINTS[name] for name in _SETTINGS},
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        propensity_features=(),
        *,
        learning_rate=0.1,
        max_leaf_nodes=15,
        max_iter=300,
        cv=3,
        n_runs=2,
        single_sample=True,
        random_state=None,
        n_jobs=None,
    ):
        self.propensity_features = propensity_features
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_iter = max_iter
        self.cv = cv
        self.n_runs = n_runs
        self.single_sample = single_sample
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _estimate(self, X, labelled: np.ndarray) -> Estimate:
        settings = {name: getattr(self, name) for name in (*_SETTINGS, "random_state", "n_jobs")}
        if hasattr(self, "feature_names_in_"):
            names = self.feature_names_in_
            settings["propensity_features"] = resolve_features(
                self.propensity_features, names, X.shape[1]
            )
        model = BoostedSARClassifier(**settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewLabelsWarning)  # said already
            self.model_ = model.fit(X, labelled)
        self.slope_ = model.slope_
        self.class_prior_range_ = model.class_prior_range_
        self.identification_width_ = model.identification_width_
        share = float(labelled.mean())
        return Estimate((model.class_prior_ - share) / (1 - share))
