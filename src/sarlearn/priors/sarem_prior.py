"""SAR-EM under the contract of the class-prior estimators."""

from numbers import Integral, Real

import numpy as np

from sarlearn._compat import Interval, StrOptions
from sarlearn._validation import resolve_features
from sarlearn.classifiers import SAREMClassifier
from sarlearn.classifiers._trust import no_second_look
from sarlearn.priors._base import Estimate, PriorEstimator
from sarlearn.priors._kernels import scale_columns


class SAREMPrior(PriorEstimator):
    """The class prior that SAR-EM finds: ``alpha = mean of f(x)`` over the rows.

    Without propensity features this is the SCAR estimate of the paper's comparison [1]_. With
    them it copes with biased labels, as only :class:`CrossFitPrior` does besides: the others take
    the labelled rows for a random sample of the positives.

    Parameters
    ----------
    propensity_features : names, indices, boolean mask, "all", or callable on the names, default=()
        The columns that may decide which positives get a label.
    decay : float in (0, 1], default=0.9
        The paper's local certainty parameter.
    C : float > 0, default=1.0
        Inverse strength of the classifier's L2 penalty, on scaled columns.
    propensity_C : float > 0, default=1.0
        The same for the propensity model.
    stop : {"slope", "fixed_point"}, default="slope"
        See :class:`sarlearn.SAREMClassifier`.
    max_iter : int >= 1, default=500
        EM iterations at most.
    scaling : {"minmax", "standard", "none"}, default="minmax"
        What the columns are divided by first; the paper scales numbers to [0, 1].
    single_sample : bool, default=True
        False for case-control data, the unlabelled rows drawn from the whole population: then
        `class_prior_` is the share of positives among them.

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
    model_ : SAREMClassifier
        The fitted model, on scaled columns.

    See Also
    --------
    sarlearn.SAREMClassifier :
        Classifier and propensity learned together from biased labels (SAR-EM).
    CrossFitPrior : The class prior of ``CrossFitSARClassifier``, without its final classifier.
    compare_priors : Estimate the class prior with several methods and say whether they agree.

    References
    ----------
    .. [1] J. Bekker and J. Davis, "Learning from positive and unlabeled data under the selected at
       random assumption", LIDTA 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.priors import SAREMPrior
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> y = target == 0  # malignant: 0.37 of the rows
    >>> s = y & (np.random.default_rng(0).random(len(y)) < 0.5)
    >>> SAREMPrior().fit(X, s).class_prior_
    0.3...
    """

    _warn_few = False  # the model warns itself
    _parameter_constraints: dict = {
        **PriorEstimator._parameter_constraints,
        "propensity_features": "no_validation",
        "decay": [Interval(Real, 0, 1, closed="right")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "propensity_C": [Interval(Real, 0, None, closed="neither")],
        "stop": [StrOptions({"slope", "fixed_point"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "scaling": [StrOptions({"minmax", "standard", "none"})],
    }

    def __init__(
        self,
        propensity_features=(),
        *,
        decay=0.9,
        C=1.0,
        propensity_C=1.0,
        stop="slope",
        max_iter=500,
        scaling="minmax",
        single_sample=True,
    ):
        self.propensity_features = propensity_features
        self.decay = decay
        self.C = C
        self.propensity_C = propensity_C
        self.stop = stop
        self.max_iter = max_iter
        self.scaling = scaling
        self.single_sample = single_sample

    def _model(self, n_columns: int) -> SAREMClassifier:
        names = getattr(self, "feature_names_in_", None)
        return SAREMClassifier(
            resolve_features(self.propensity_features, names, n_columns),
            decay=self.decay,
            C=self.C,
            propensity_C=self.propensity_C,
            stop=self.stop,
            max_iter=self.max_iter,
        )

    def _estimate(self, X, labelled: np.ndarray) -> Estimate:
        with no_second_look():  # compare_priors gives others
            self.model_ = self._model(X.shape[1]).fit(scale_columns(X, self.scaling), labelled)
        q = float(labelled.mean())
        return Estimate(float((self.model_.class_prior_ - q) / (1.0 - q)))
