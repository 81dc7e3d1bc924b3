"""SAR-EM: classifier and propensity learned together."""

from dataclasses import replace
from numbers import Real

import numpy as np
from scipy.special import expit

from sarlearn._compat import (
    HasMethods,
    Interval,
    fit_context,
    one_blas_thread,
    with_callbacks,
)
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.em_any import EstimatorEM, EstimatorSide, LogisticSide, run_estimators
from sarlearn._engine.rows import Rows
from sarlearn._engine.sarem import fit_sar_em
from sarlearn._validation import resolve_features
from sarlearn.backends import refuse_dask
from sarlearn.classifiers._store import store_evidence, store_result
from sarlearn.classifiers.base import (
    EM_CONSTRAINTS,
    POS_LABEL,
    Input,
    LearnsPropensity,
    warn_every_column,
)
from sarlearn.classifiers.sar import with_background
from sarlearn.exceptions import DataWarning, TrustWarning, warn


class SAREMClassifier(LearnsPropensity):
    r"""The paper's method (SAR-EM): classifier and propensity by expectation maximisation.

    For results like those of Bekker and Davis (2018), and for comparisons with them.
    :class:`SARClassifier` is more accurate and says how sure it is. It models :math:`P(s=1|x) =
    f(x)\,e(x_e)` with the class probability ``f`` and the propensity ``e``, by default logistic
    regressions. Without propensity attributes every positive has the same chance of a label (SCAR).
    The user guide has the algorithm.

    Parameters
    ----------
    propensity_features : names, indices, boolean mask, "all", or callable on the names, default=()
        The columns that may decide who among the positives gets a label. Leaving one out costs
        far more than naming one too many.
    classifier_features : names, indices, boolean mask, or callable on the names, default=None
        The columns of the class model; None is all. Leave out what drives labelling and has no
        place in the class: effort, clinic, clerk.
    decay : float in (0, 1], default=0.9
        The paper's local certainty parameter d: propensities are shrunk by it in the E-step, which
        favours solutions with sure positives. 1 is plain EM, maximum likelihood.
    C, propensity_C : float > 0, default=1.0
        Inverse strength of the L2 penalties; intercepts are not penalised.
    stop : {"slope", "fixed_point"}, default="slope"
        ``"slope"`` is the paper's rule on the plain EM path: the mean absolute slope of the
        propensity scores of unlabelled rows over ``window`` iterations is below ``tol``.
        ``"fixed_point"`` accelerates EM and runs to where it no longer moves; with ``decay=1``
        that is the best maximum of the penalised likelihood from several starts. With thousands of
        columns and more than some 25,000 rows it may not get there, and warns.
    window : int, default=10
        Iterations over which the slope is taken.
    tol : float > 0, default=None
        1e-4 for ``"slope"``; 1e-8 for ``"fixed_point"``, as root mean square change of the logits.
    max_iter : int, default=500
        Iterations at most.
    single_sample : bool, default=True
        False for labelled rows and a background of the whole population, collected apart. The share
        of positives is not identified then: ``class_prior_`` and ``label_frequency_`` are NaN, and
        class probabilities are right up to a factor;
        :func:`sarlearn.inspection.relative_prevalence` compares groups.
    classifier : classifier with ``sample_weight`` and ``predict_proba``, default=None
        Model of ``f`` instead of logistic regression. It is asked about the rows it was fitted to:
        one that memorises the labels finds no hidden positives. :class:`SARClassifier` asks
        held-out rows.
    propensity_estimator : the same, default=None
        Model of ``e`` instead of logistic regression.
    pos_label : label value, default=None
        The value that means labelled. Without it 0/1, -1/1, truth values, one value beside missing
        ones, and words such as yes/no are understood; of any other two values the greater one is
        taken, with a warning.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two label values; the second one means labelled.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Of the classifier, in logits. With ``classifier``, ``classifier_`` instead.
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_propensity_features) and (1,)
        Of the propensity. With ``propensity_estimator``, ``propensity_estimator_`` instead.
    propensity_features_ : ndarray of int
        Indices of the propensity columns.
    class_prior_, label_frequency_ : float
        Mean of ``f`` over the training rows, and the share of the positives that is labelled.
    class_prior_from_labels_ : float
        What the model says; other than ``class_prior_`` where audits by design say more.
    class_prior_range_, certainty_ : tuple of float and str
        Where audits by design give a range: what it is, and how well it determines the class prior.
    n_iter_, converged_ : int and bool
        Number of iterations, and whether the stopping rule was met.
    history_ : dict of ndarray
        For each iteration ``log_likelihood`` of the labels, ``penalized_log_likelihood``, ``slope``
        and ``class_prior``.

    See Also
    --------
    SARClassifier : The learner to start with.
    KnownPropensityClassifier : Where the propensity is known.

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
    (0.46, 0.48)
    >>> bool(np.abs(model.predict_propensity(X) - e).mean() < 0.05)
    True
    """

    _parameter_constraints: dict = (
        EM_CONSTRAINTS
        | POS_LABEL
        | {
            "propensity_features": "no_validation",
            "classifier_features": "no_validation",
            "single_sample": ["boolean"],
            "classifier": [HasMethods(["fit"]), None],
            "propensity_C": [Interval(Real, 0, None, closed="neither")],
            "propensity_estimator": [HasMethods(["fit"]), None],
        }
    )

    def __init__(
        self,
        propensity_features=(),
        *,
        classifier_features=None,
        decay=0.9,
        C=1.0,
        propensity_C=1.0,
        stop="slope",
        window=10,
        tol=None,
        max_iter=500,
        single_sample=True,
        classifier=None,
        propensity_estimator=None,
        pos_label=None,
    ):
        self.propensity_features = propensity_features
        self.classifier_features = classifier_features
        self.decay = decay
        self.C = C
        self.propensity_C = propensity_C
        self.stop = stop
        self.window = window
        self.tol = tol
        self.max_iter = max_iter
        self.single_sample = single_sample
        self.classifier = classifier
        self.propensity_estimator = propensity_estimator
        self.pos_label = pos_label

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, audited=None, audit_probability=None, audit_round=None):
        """Learn ``f`` and ``e`` from labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows, labelled and unlabelled together.
        y : array-like of shape (n_rows,)
            The observed labels s: 1 labelled, 0 or missing unlabelled (or other values, see
            ``pos_label``). Named ``y`` as scikit-learn wants; the true class is not needed.
        sample_weight : array-like of shape (n_rows,), default=None
            How many rows each row counts for.
        audited : array-like of shape (n_rows,), default=None
            The true class, 1 or 0, of rows that someone has looked at; missing elsewhere. Which
            rows were looked at may depend on the columns and on the label, not otherwise on the
            class.
        audit_probability : array-like of shape (n_rows,), default=None
            The probability with which each audited row was drawn, missing elsewhere, as
            :func:`sarlearn.audit.suggest_audit` gives it. The class prior and its range then come
            from the draw and hold whatever the model; the class probabilities are shifted to it.
        audit_round : array-like of shape (n_rows,), default=None
            The round in which it was drawn, where there were several.

        Returns
        -------
        self
        """
        if self.classifier is not None or self.propensity_estimator is not None:
            given = "propensity_estimator" if self.classifier is None else "classifier"
            refuse_dask(X, f"SAREMClassifier({given}=...)")
        found = self._input(X, y, sample_weight, audited, audit_probability, audit_round)
        found = self._class_rows(found)
        if not self.single_sample:
            found = replace(found, rows=with_background(found.rows))
        if self.classifier is not None or self.propensity_estimator is not None:
            self._fit_estimators(found)
        else:
            self._fit_rows(found.rows, self.classes_)
        if store_evidence(self, found):
            self._shift_to_mean(found)
        elif not self.single_sample:
            self.class_prior_ = self.label_frequency_ = np.nan
        return self

    def _fit_rows(self, rows: Rows, classes: np.ndarray):
        """Learn from rows that know their labels, wherever they lie."""
        self.classes_, self.n_features_in_ = classes, rows.shape[1]
        with one_blas_thread():
            fit = fit_sar_em(
                rows,
                self._columns(rows.shape[1]),
                decay=self.decay,
                C=self.C,
                propensity_C=self.propensity_C,
                **self._loop(),
            )
        bare, n_strata = fit.n_strata
        if bare:
            text = (
                f"{bare} of {n_strata} configurations of the propensity features have no labelled "
                "row: what is said about them rests on the other configurations. Merge rare "
                "values, or name fewer propensity features."
            )
            warn(DataWarning("unlabelled-strata", text))
        self.coef_, self.intercept_ = fit.theta[None, :-1], fit.theta[-1:]
        self.propensity_coef_ = fit.propensity_theta[None, :-1]
        self.propensity_intercept_ = fit.propensity_theta[-1:]
        self._store(fit.result, fit.class_prior, rows.label_share())
        return self

    def _columns(self, n_columns: int) -> np.ndarray:
        names = getattr(self, "feature_names_in_", None)
        columns = resolve_features(self.propensity_features, names, n_columns)
        self.propensity_features_ = columns
        warn_every_column(columns, getattr(self, "classifier_features_", np.arange(n_columns)))
        return columns

    def _fit_estimators(self, given: Input) -> None:
        X = given.X
        f, e = self._sides(X, self._columns(X.shape[1]))
        em = EstimatorEM(given.rows, f, e, self.decay)
        with one_blas_thread():
            result = run_estimators(em, **self._loop())
        if isinstance(f, LogisticSide):
            self.coef_ = np.zeros((1, X.shape[1]))
            self.coef_[0, self.classifier_features_] = f.theta[:-1]
            self.intercept_ = f.theta[-1:]
        else:
            self.classifier_ = f.fitted
        if isinstance(e, LogisticSide):
            self.propensity_coef_, self.propensity_intercept_ = e.theta[None, :-1], e.theta[-1:]
        else:
            self.propensity_estimator_ = e.fitted
        self._store(result, em.class_prior, given.rows.label_share())

    def _sides(self, X, columns):
        if self.propensity_estimator is not None and not len(columns):
            raise ValueError(
                "propensity_estimator is given but propensity_features is empty: without "
                "propensity features the propensity is one number."
            )
        given = [
            (self._class_columns(X), self.classifier, self.C, "classifier"),
            (X[:, columns], self.propensity_estimator, self.propensity_C, "propensity_estimator"),
        ]
        return [
            LogisticSide(X, C) if estimator is None else EstimatorSide(X, estimator, what)
            for X, estimator, C, what in given
        ]

    def _store(self, result, class_prior: float, label_share: float) -> None:
        self.class_prior_from_labels_ = float(class_prior)
        store_result(self, result, class_prior, label_share)
        # Maximum likelihood approaches e = 1 slowly: it is meant long before it is reached.
        if self.label_frequency_ > (0.99 if self.decay == 1 else 0.999):
            text = (
                f"The label frequency was estimated at {self.label_frequency_:.4f}, its upper end: "
                "the fit says that no positive is hidden. That solution always exists and is often "
                "wrong; lower decay, raise C, or check the propensity features."
            )
            warn(TrustWarning("label-frequency-at-end", text))
        elif self.class_prior_ > 0.999:
            text = (
                f"The class prior was estimated at {self.class_prior_:.4f}, its upper end: nearly "
                "every row is taken for a positive. Raise decay, or name fewer propensity features."
            )
            warn(TrustWarning("class-prior-at-end", text))

    def _propensity(self, X) -> np.ndarray:
        Xe = X[:, self.propensity_features_]
        if hasattr(self, "propensity_estimator_"):
            return self.propensity_estimator_.predict_proba(Xe)[:, 1]
        return expit(RowBlocks(Xe).matvec(self.propensity_coef_[0]) + self.propensity_intercept_[0])
