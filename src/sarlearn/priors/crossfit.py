"""The class prior by cross-fitting: SAR-EM debiased, with or without propensity attributes."""

import numpy as np
from sklearn.utils import get_tags

from sarlearn._compat import StrOptions, one_blas_thread
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.crossfit import CS
from sarlearn._validation import resolve_features
from sarlearn.classifiers._cross_fitting import CROSSFIT_CONSTRAINTS, run_cross_fit
from sarlearn.classifiers._trust import look_at_cross_fit
from sarlearn.classifiers.base import Input
from sarlearn.priors._base import Estimate, PriorEstimator
from sarlearn.priors._kernels import scale_columns


class CrossFitPrior(PriorEstimator):
    """The class prior of :class:`~sarlearn.CrossFitSARClassifier`, without its final classifier.

    With held-out logits ``g`` of the class probability, fitted under SAR-EM's propensity, the
    maximum likelihood of::

        P(s=1|x) = sigmoid(a g + b) * sigmoid(phi . x_e + phi_0),    a >= 0

    gives ``alpha = mean sigmoid(a g + b)``. Unlike the other estimators it takes propensity
    attributes ``x_e``, so the labels may be biased; without them it assumes SCAR as they do.

    Parameters
    ----------
    propensity_features : names, indices, boolean mask, "all", or callable on the names, default=()
        The columns that may decide who among the positives gets a label. Empty is SCAR.
    Cs, cv, decay, propensity_C, pseudo_counts, max_iter, classifier : as there
        See :class:`~sarlearn.CrossFitSARClassifier`.
    scaling : {"minmax", "standard", "none"}, default="minmax"
        What the columns are divided by first; the penalties ``Cs`` mean columns of size one.
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
    class_prior_range_ : tuple of float
        Class priors of the rows given, labelled and unlabelled together, that the labels leave
        open; as :class:`~sarlearn.CrossFitSARClassifier` has it.
    identification_width_, certainty_, goodness_ : float, str and dict
        Its width, how far the labels pin the class prior down in a word, and the figures behind
        it; likewise.
    slope_ : float
        ``a``.

    See Also
    --------
    sarlearn.CrossFitSARClassifier :
        Classifier and propensity from biased labels, debiased by cross-fitting.
    SAREMPrior : The class prior that SAR-EM finds: ``alpha = mean of f(x)`` over the rows.
    compare_priors : Estimate the class prior with several methods and say whether they agree.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.priors.crossfit import CrossFitPrior
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> y = target == 0  # malignant: 0.37 of the rows
    >>> s = y & (np.random.default_rng(0).random(len(y)) < 0.5)
    >>> prior = CrossFitPrior(random_state=0).fit(X, s)
    >>> round(prior.class_prior_, 2), prior.identification_width_ < 0.1
    (0.37, True)
    """

    _parameter_constraints: dict = {
        **PriorEstimator._parameter_constraints,
        **CROSSFIT_CONSTRAINTS,
        "scaling": [StrOptions({"minmax", "standard", "none"})],
    }

    def __init__(
        self,
        propensity_features=(),
        *,
        Cs=CS,
        cv=5,
        decay=0.9,
        propensity_C=1.0,
        pseudo_counts=4.0,
        max_iter=500,
        classifier=None,
        scaling="minmax",
        single_sample=True,
        random_state=None,
    ):
        self.propensity_features = propensity_features
        self.Cs = Cs
        self.cv = cv
        self.decay = decay
        self.propensity_C = propensity_C
        self.pseudo_counts = pseudo_counts
        self.max_iter = max_iter
        self.classifier = classifier
        self.scaling = scaling
        self.single_sample = single_sample
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.classifier is not None:
            tags.input_tags.sparse = get_tags(self.classifier).input_tags.sparse
        return tags

    def _estimate(self, X, labelled: np.ndarray) -> Estimate:
        names = getattr(self, "feature_names_in_", None)
        columns = resolve_features(self.propensity_features, names, X.shape[1])
        X = scale_columns(X, self.scaling)
        with one_blas_thread():
            rows = RowBlocks(X).attach(labelled=labelled)
            found = run_cross_fit(self, Input(rows, X), columns)
        self.slope_, self.class_prior_ = float(found.labels.slope), found.class_prior
        self.propensity_features_ = columns
        look_at_cross_fit(self, found)
        share = float(labelled.mean())
        return Estimate((found.class_prior - share) / (1 - share))
