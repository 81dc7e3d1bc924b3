"""The paper's learners as scikit-learn classifiers."""

import warnings
from numbers import Integral, Real

import numpy as np
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from sarlearn._blocks import RowBlocks
from sarlearn._compat import HasMethods, Interval, StrOptions, fit_context, one_blas_thread
from sarlearn._em import LogisticEM, run_to_fixed_point, run_to_slope
from sarlearn._estimator_em import EstimatorEM, EstimatorSide, LogisticSide, run_estimators
from sarlearn._logistic import fit_logistic
from sarlearn._propensity import GroupedPropensity, KnownPropensity, choose_propensity, watch
from sarlearn._stopping import ModelSlopeRule
from sarlearn._validation import (
    check_propensity,
    check_weights,
    encode_labels,
    encode_new_labels,
    resolve_features,
)

TOLERANCE = {"slope": 1e-4, "fixed_point": 1e-8}


class PUClassifier(ClassifierMixin, BaseEstimator):
    """What the learners share: input checks, predictions from ``f``, scikit-learn's tags."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        # Trained on fully labelled data a PU learner rightly doubts the negatives.
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = True
        return tags

    def _check_fit(self, X, s, sample_weight):
        """Checked ``X, labelled, weight`` without rows of weight zero, and which were kept."""
        X, s = validate_data(
            self, X, s, accept_sparse="csr", dtype=[np.float64, np.float32], order=None
        )
        weight = check_weights(sample_weight, X)
        if weight is not None and not weight.all():
            # A row that counts for nothing is as good as absent; the start must not see it.
            kept = weight > 0
            X, s, weight = X[kept], s[kept], weight[kept]
        else:
            kept = None
        labelled, self.classes_ = encode_labels(s)
        return X, labelled, weight, kept

    def _check_predict(self, X):
        check_is_fitted(self)
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )

    def _class_probability(self, X) -> np.ndarray:
        return expit(self._logit(X))

    def _logit(self, X) -> np.ndarray:
        """Logit of ``f`` on checked rows: of the linear model, or of any other classifier."""
        if hasattr(self, "coef_"):
            return RowBlocks(X).matvec(self.coef_[0]) + self.intercept_[0]
        f = self.classifier_.predict_proba(X)[:, 1]
        return logit(np.clip(f, 1e-15, 1 - 1e-15))

    def decision_function(self, X) -> np.ndarray:
        """Logit of ``P(y=1|x)``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._logit(self._check_predict(X))

    def predict_proba(self, X) -> np.ndarray:
        """``P(y=0|x)`` and ``P(y=1|x)``: the true class, not the label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        f = self._class_probability(self._check_predict(X))
        return np.column_stack([1 - f, f])

    def predict(self, X) -> np.ndarray:
        """The more probable class, in the values that ``fit`` saw as labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        f = self._class_probability(self._check_predict(X))
        return self.classes_[(f > 0.5).astype(int)]


class PropensityMixin:
    """Predictions of learners that have learned a propensity."""

    def predict_propensity(self, X) -> np.ndarray:
        """``e(x) = P(s=1|y=1,x)``: the chance that a positive row like this is labelled.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._propensity(self._check_predict(X))

    def predict_posterior(self, X, s) -> np.ndarray:
        """``P(y=1|x,s)``: 1 for labelled rows, ``f (1-e) / (1 - f e)`` for the others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        s : array-like of shape (n_rows,)
            Labels, in the values that ``fit`` saw.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        X = self._check_predict(X)
        labelled = encode_new_labels(s, self.classes_, X.shape[0])
        return posterior(self._class_probability(X), self._propensity(X), labelled)


def posterior(f: np.ndarray, e: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """``P(y=1|x,s)`` from class probabilities and propensities."""
    missed = f * (1 - e)
    # f = e = 1 on an unlabelled row: the model excludes what was seen; even odds.
    out = np.divide(missed, missed + 1 - f, out=np.full(len(f), 0.5), where=missed + 1 - f > 0)
    return np.where(labelled, 1.0, out)


_EM_CONSTRAINTS: dict = {
    "C": [Interval(Real, 0, None, closed="neither")],
    "stop": [StrOptions({"slope", "fixed_point"})],
    "window": [Interval(Integral, 2, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="neither"), None],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "classifier": [HasMethods(["fit"]), None],
}


class SAREMClassifier(PropensityMixin, PUClassifier):
    r"""Classifier and propensity learned together from biased labels (SAR-EM).

    Rows follow :math:`P(s=1|x) = f(x)\,e(x_e)`, with the class probability
    :math:`f(x) = P(y=1|x)` and the propensity :math:`e(x_e) = P(s=1|y=1,x_e)`, a function of the
    propensity attributes :math:`x_e`. EM alternates, with decay :math:`d`,

    .. math::

        q = \frac{f\,(1 - d e)}{f\,(1 - d e) + 1 - f} \text{ where unlabelled},\quad
        q = 1 \text{ where labelled};\qquad
        f \leftarrow \operatorname{fit}(x, q),\quad
        e \leftarrow \operatorname{fit}(x_e, s; \text{weights } q).

    Without propensity attributes this is SCAR: one label frequency for all positives.

    Parameters
    ----------
    propensity_features : names, indices, boolean mask, or callable on the names, default=()
        The columns that may decide who among the positives gets a label. Leaving one out costs
        far more than naming one too many.
    decay : float in (0, 1], default=0.9
        The paper's local certainty parameter d: propensities are shrunk by it in the E-step, which
        favours solutions with sure positives. 1 is plain EM, maximum likelihood.
    C : float > 0, default=1.0
        Inverse strength of the classifier's L2 penalty; the intercept is not penalised.
    propensity_C : float > 0, default=1.0
        The same for the propensity model.
    stop : {"slope", "fixed_point"}, default="slope"
        ``"slope"`` is the paper's rule on the plain EM path: the mean absolute slope of the
        propensity scores of unlabelled rows over ``window`` iterations is below ``tol``.
        ``"fixed_point"`` accelerates EM and runs to where it no longer moves; with ``decay=1``
        that is a maximum of the penalised observed likelihood, sought from the decayed solution.
    window : int >= 2, default=10
        Iterations over which the slope is taken.
    tol : float > 0, default=None
        1e-4 for ``"slope"``; 1e-8 for ``"fixed_point"``, as root mean square change of the logits
        in one iteration.
    max_iter : int >= 1, default=500
        EM iterations at most.
    classifier : classifier with ``sample_weight`` and ``predict_proba``, default=None
        Model of ``f`` instead of logistic regression. ``C`` is then without effect.
    propensity_estimator : the same, default=None
        Model of ``e`` instead of logistic regression.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two label values; the second, greater one means labelled.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Of the classifier, in logits. Absent with ``classifier``.
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_propensity_features) and (1,)
        Of the propensity model. Absent with ``propensity_estimator``.
    propensity_features_ : ndarray of int
        Indices of the propensity columns.
    class_prior_ : float
        Mean of ``f`` over the training rows, an estimate of ``P(y=1)``.
    label_frequency_ : float
        Share of the positives that is labelled: ``P(s=1) / class_prior_``.
    n_iter_ : int
    converged_ : bool
    history_ : dict of ndarray
        For each iteration ``log_likelihood`` of the labels, ``penalized_log_likelihood``, ``slope``
        and ``class_prior``.
    classifier_, propensity_estimator_ : fitted estimators
        Where given.

    References
    ----------
    J. Bekker and J. Davis, Learning from Positive and Unlabeled Data under the Selected At Random
    Assumption, LIDTA 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SAREMClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = 3 * X[:, 0] + X[:, 1] > 0
    >>> e = 1 / (1 + np.exp(-2 * X[:, 2]))       # who gets a label depends on column 2
    >>> s = y & (rng.random(2000) < e)
    >>> model = SAREMClassifier(propensity_features=[2]).fit(X, s)
    >>> round(model.class_prior_, 2), round(float(y.mean()), 2)
    (0.5, 0.49)
    >>> bool(np.abs(model.predict_propensity(X) - e).mean() < 0.05)
    True
    """

    _parameter_constraints: dict = _EM_CONSTRAINTS | {
        "propensity_features": "no_validation",
        "decay": [Interval(Real, 0, 1, closed="right")],
        "propensity_C": [Interval(Real, 0, None, closed="neither")],
        "propensity_estimator": [HasMethods(["fit"]), None],
    }

    def __init__(
        self,
        propensity_features=(),
        *,
        decay=0.9,
        C=1.0,
        propensity_C=1.0,
        stop="slope",
        window=10,
        tol=None,
        max_iter=500,
        classifier=None,
        propensity_estimator=None,
    ):
        self.propensity_features = propensity_features
        self.decay = decay
        self.C = C
        self.propensity_C = propensity_C
        self.stop = stop
        self.window = window
        self.tol = tol
        self.max_iter = max_iter
        self.classifier = classifier
        self.propensity_estimator = propensity_estimator

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn ``f`` and ``e`` from labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The observed labels s: 1 labelled, 0 unlabelled (or any two values, the greater one
            meaning labelled). Named ``y`` as scikit-learn wants; the true class is not needed.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self
        """
        X, labelled, weight, _ = self._check_fit(X, y, sample_weight)
        names = getattr(self, "feature_names_in_", None)
        columns = resolve_features(self.propensity_features, names, X.shape[1])
        self.propensity_features_ = columns
        if len(columns) == X.shape[1]:
            warnings.warn(
                "Every column is a propensity feature: class and propensity cannot be told apart "
                "from such data. Leave out of propensity_features what does not drive labelling.",
                UserWarning,
                stacklevel=2,
            )
        with one_blas_thread():
            if self.classifier is None and self.propensity_estimator is None:
                em, result = self._fit_logistic(X, labelled, weight, columns)
            else:
                em, result = self._fit_estimators(X, labelled, weight, columns)
        self._store(em, result, labelled, weight)
        return self

    def _fit_logistic(self, X, labelled, weight, columns):
        propensity = choose_propensity(X, columns, labelled, weight, self.propensity_C)
        if isinstance(propensity, GroupedPropensity):
            _warn_unlabelled_strata(propensity)
        em = LogisticEM(RowBlocks(X), labelled, weight, propensity, decay=self.decay, C=self.C)
        tol = self.tol or TOLERANCE[self.stop]
        if self.stop == "slope":
            em.start()
            rule = ModelSlopeRule(*watch(X, propensity, labelled, weight), self.window, tol)
            result = run_to_slope(em, rule, self.max_iter)
        else:
            if self.decay == 1:
                # Undecayed EM that starts at c near 1 stays there: e = 1 is a fixed point too.
                em.decay = 0.9
                em.start()
                watched = watch(X, propensity, labelled, weight)
                rule = ModelSlopeRule(*watched, 10, TOLERANCE["slope"])
                run_to_slope(em, rule, self.max_iter)
                em.decay = 1.0
                em.move(em.parameters)
            else:
                em.start()
            result = run_to_fixed_point(em, tol, self.max_iter)
        self.coef_, self.intercept_ = em.theta[None, :-1].copy(), em.theta[-1:].copy()
        self.propensity_coef_ = propensity.theta[None, :-1].copy()
        self.propensity_intercept_ = propensity.theta[-1:].copy()
        return em, result

    def _fit_estimators(self, X, labelled, weight, columns):
        Xe = X[:, columns]
        f = (
            LogisticSide(X, self.C)
            if self.classifier is None
            else EstimatorSide(X, self.classifier, "classifier")
        )
        if self.propensity_estimator is None:
            e = LogisticSide(Xe, self.propensity_C)
        elif len(columns):
            e = EstimatorSide(Xe, self.propensity_estimator, "propensity_estimator")
        else:
            raise ValueError(
                "propensity_estimator is given but propensity_features is empty: without "
                "propensity features the propensity is one number."
            )
        em = EstimatorEM(f, e, labelled, weight, self.decay)
        em.start()
        tol = self.tol or TOLERANCE[self.stop]
        result = run_estimators(em, self.stop, self.window, tol, self.max_iter)
        if self.classifier is None:
            self.coef_, self.intercept_ = f.theta[None, :-1], f.theta[-1:]
        else:
            self.classifier_ = f.fitted
        if self.propensity_estimator is None:
            self.propensity_coef_, self.propensity_intercept_ = e.theta[None, :-1], e.theta[-1:]
        else:
            self.propensity_estimator_ = e.fitted
        return em, result

    def _store(self, em, result, labelled, weight) -> None:
        _store_result(self, em, result, labelled, weight)
        if self.label_frequency_ > 0.999:
            warnings.warn(
                f"The label frequency was estimated at {self.label_frequency_:.4f}, its upper "
                "end: the fit says that no positive is hidden. That solution always exists and "
                "is often wrong; lower decay, raise C, or check the propensity features.",
                UserWarning,
                stacklevel=3,
            )
        elif self.class_prior_ > 0.999:
            warnings.warn(
                f"The class prior was estimated at {self.class_prior_:.4f}, its upper end: nearly "
                "every row is taken for a positive. Raise decay, or name fewer propensity "
                "features.",
                UserWarning,
                stacklevel=3,
            )

    def _propensity(self, X) -> np.ndarray:
        Xe = X[:, self.propensity_features_]
        if hasattr(self, "propensity_estimator_"):
            return self.propensity_estimator_.predict_proba(Xe)[:, 1]
        return expit(RowBlocks(Xe).matvec(self.propensity_coef_[0]) + self.propensity_intercept_[0])


class KnownPropensityClassifier(PUClassifier):
    r"""Classifier learned from biased labels whose propensity is known (SAR-e, SCAR-c).

    With :math:`P(s=1|x) = f(x)\,e(x)` and :math:`e` given, ``method="em"`` iterates

    .. math::

        q = \frac{f\,(1 - e)}{f\,(1 - e) + 1 - f} \text{ where unlabelled},\quad
        q = 1 \text{ where labelled};\qquad f \leftarrow \operatorname{fit}(x, q),

    and ``method="weighting"`` minimises the inverse-propensity risk, an unbiased estimate of the
    risk with true classes. For logistic regression that is the convex fit to the targets
    :math:`s / e(x)`.

    Parameters
    ----------
    method : {"em", "weighting"}, default="em"
    C : float > 0, default=1.0
        Inverse strength of the L2 penalty; the intercept is not penalised.
    stop, window, tol, max_iter : see :class:`SAREMClassifier`
        The slope rule looks at the class probabilities of unlabelled rows. Of these,
        ``method="weighting"`` uses ``tol`` (default 1e-8) and ``max_iter``, for Newton's method.
    classifier : classifier with ``sample_weight`` and ``predict_proba``, default=None
        Model of ``f`` instead of logistic regression; for ``method="em"``.

    Attributes
    ----------
    classes_, coef_, intercept_, class_prior_, label_frequency_, n_iter_, converged_, history_
        As for :class:`SAREMClassifier`; ``history_`` for ``method="em"``.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import KnownPropensityClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> e = np.where(X[:, 0] > 0, 0.9, 0.3)
    >>> s = y & (rng.random(2000) < e)
    >>> model = KnownPropensityClassifier().fit(X, s, propensity=e)
    >>> round(model.class_prior_, 2), round(float(y.mean()), 2)
    (0.5, 0.5)
    """

    _parameter_constraints: dict = _EM_CONSTRAINTS | {
        "method": [StrOptions({"em", "weighting"})],
    }

    def __init__(
        self,
        method="em",
        *,
        C=1.0,
        stop="slope",
        window=10,
        tol=None,
        max_iter=500,
        classifier=None,
    ):
        self.method = method
        self.C = C
        self.stop = stop
        self.window = window
        self.tol = tol
        self.max_iter = max_iter
        self.classifier = classifier

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, propensity=None, sample_weight=None):
        """Learn ``f`` from labels and their propensity.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The observed labels s: 1 labelled, 0 unlabelled (or any two values, the greater one
            meaning labelled). Named ``y`` as scikit-learn wants; the true class is not needed.
        propensity : float or array-like of shape (n_rows,), default=None
            ``P(s=1|y=1,x)`` in (0, 1]; one number is the label frequency (SCAR). None counts as 1,
            every positive labelled, with a warning.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self
        """
        X, labelled, weight, kept = self._check_fit(X, y, sample_weight)
        if propensity is None:
            warnings.warn(
                "No propensity was given: every positive is taken to be labelled (propensity 1). "
                "Pass fit(X, s, propensity=...).",
                UserWarning,
                stacklevel=2,
            )
            propensity = 1.0
        elif kept is not None and np.ndim(propensity) == 1 and len(propensity) == len(kept):
            propensity = np.asarray(propensity)[kept]
        e = check_propensity(propensity, labelled)
        with one_blas_thread():
            if self.method == "em":
                self._fit_em(X, labelled, weight, e)
            else:
                self._fit_weighting(X, labelled, weight, e)
        return self

    def _fit_em(self, X, labelled, weight, e) -> None:
        tol = self.tol or TOLERANCE[self.stop]
        em: EstimatorEM | LogisticEM
        if self.classifier is not None:
            side = EstimatorSide(X, self.classifier, "classifier")
            em = EstimatorEM(side, e, labelled, weight, decay=1.0)
            em.start()
            result = run_estimators(em, self.stop, self.window, tol, self.max_iter)
            self.classifier_ = side.fitted
        else:
            propensity = KnownPropensity(e)
            em = LogisticEM(RowBlocks(X), labelled, weight, propensity, decay=1.0, C=self.C)
            em.start()
            if self.stop == "slope":
                rule = ModelSlopeRule(*watch(X, propensity, labelled, weight), self.window, tol)
                result = run_to_slope(em, rule, self.max_iter)
            else:
                result = run_to_fixed_point(em, tol, self.max_iter)
            self.coef_, self.intercept_ = em.theta[None, :-1].copy(), em.theta[-1:].copy()
        _store_result(self, em, result, labelled, weight)

    def _fit_weighting(self, X, labelled, weight, e) -> None:
        if self.classifier is not None:
            raise ValueError(
                "classifier is for method='em'; method='weighting' fits logistic regression, "
                "since other classifiers take no negative weights."
            )
        target = np.divide(labelled, e, out=np.zeros(len(e)), where=labelled)
        prior = float(np.average(target, weights=weight))
        if prior >= 1:
            raise ValueError(
                f"The mean of s/propensity, which estimates the class prior, is {prior:.3f}; it "
                "must be below 1. The propensities are too small for so many labels."
            )
        blocks = RowBlocks(X)
        tol = self.tol or 1e-8
        fit = fit_logistic(blocks, target, weight, self.C, tol=tol, max_iter=self.max_iter)
        self.coef_, self.intercept_ = fit.theta[None, :-1], fit.theta[-1:]
        self.n_iter_, self.converged_ = fit.n_iter, fit.converged
        if not fit.converged:
            _warn_not_converged(self.max_iter)
        self.class_prior_ = float(np.average(expit(self._logit(X)), weights=weight))
        labels = float(np.average(labelled, weights=weight))
        self.label_frequency_ = min(labels / self.class_prior_, 1.0)


def _store_result(model, em, result, labelled, weight) -> None:
    model.n_iter_, model.converged_, model.history_ = (
        result.n_iter,
        result.converged,
        result.history,
    )
    model.class_prior_ = em.class_prior
    labels = float(np.average(labelled, weights=weight))
    model.label_frequency_ = min(labels / model.class_prior_, 1.0)
    if not result.converged:
        _warn_not_converged(model.max_iter)


def _warn_not_converged(max_iter: int) -> None:
    warnings.warn(
        f"No convergence in {max_iter} iterations. Raise max_iter, scale the columns to "
        "similar ranges, lower C, or loosen tol.",
        ConvergenceWarning,
        stacklevel=5,
    )


def _warn_unlabelled_strata(propensity: GroupedPropensity) -> None:
    bare = int(np.sum((propensity.labelled_weight == 0) & (propensity.unlabelled_weight > 0)))
    if bare:
        warnings.warn(
            f"{bare} of {len(propensity.values)} configurations of the propensity features have "
            "no labelled row: what is said about them rests on the other configurations. Merge "
            "rare values, or name fewer propensity features.",
            UserWarning,
            stacklevel=4,
        )
