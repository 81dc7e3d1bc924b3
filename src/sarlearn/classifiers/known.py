"""Learning with a known propensity: SAR-e and SCAR-c."""

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.metaestimators import available_if

from sarlearn._compat import (
    HasMethods,
    StrOptions,
    fit_context,
    one_blas_thread,
    reporter,
    with_callbacks,
)
from sarlearn._engine.blocks import Block
from sarlearn._engine.columns import conditioned
from sarlearn._engine.em import SAREM, run_to_slope
from sarlearn._engine.em_any import EstimatorEM, EstimatorSide, run_estimators
from sarlearn._engine.known import run_known
from sarlearn._engine.logistic import fit_logistic
from sarlearn._engine.newton import Iterate
from sarlearn._engine.propensity import KnownPropensity, watch
from sarlearn._engine.rows import Rows
from sarlearn._engine.stopping import TOLERANCE, EMResult, History, ModelSlopeRule
from sarlearn._validation import check_propensity
from sarlearn.backends import lazily, refuse_dask
from sarlearn.classifiers._store import store_evidence, store_result
from sarlearn.classifiers.base import (
    EM_CONSTRAINTS,
    POS_LABEL,
    Input,
    PUClassifier,
)
from sarlearn.exceptions import InputWarning, warn

# The paper's start takes every row for a positive where no column tells labelled rows from others.
# From there probabilities hardly move for a while, which the slope rule takes for the end: within
# so many of its tolerances of 1 the fixed point is sought.
PLATEAU = 10


def _knows_one_propensity(model) -> bool:
    return getattr(model, "propensity_", None) is not None


class KnownPropensityClassifier(PUClassifier):
    """Learn a classifier from biased labels whose propensity is known.

    For labels that were drawn by a protocol or a sampling plan, so that the probability with which
    a positive row is labelled need not be estimated: the paper's SAR-e, or SCAR-c with one number
    for all rows. ``method="em"`` maximises the likelihood of the labels. ``method="weighting"``
    minimises the inverse-propensity risk, an unbiased estimate of the risk with true classes; for
    logistic regression that is the convex fit to the targets :math:`s / e(x)`.

    Parameters
    ----------
    method : {"em", "weighting"}, default="em"
        EM, or the inverse-propensity risk.
    C : float > 0, default=1.0
        Inverse strength of the L2 penalty; the intercept is not penalised.
    stop, window, tol, max_iter : str, int, float, int
        When to stop, as in :class:`~sarlearn.SAREMClassifier`.
        The slope rule looks at the class probabilities of unlabelled rows. Of these,
        ``method="weighting"`` uses ``tol`` (default 1e-8) and ``max_iter``, for Newton's method.
    classifier : classifier with ``sample_weight`` and ``predict_proba``, default=None
        Model of ``f`` instead of logistic regression; for ``method="em"``.
    pos_label : int, str or None, default=None
        The label value that means labelled, as in :class:`~sarlearn.SAREMClassifier`.

    Attributes
    ----------
    classes_, coef_, intercept_, class_prior_, label_frequency_, n_iter_, converged_, history_
        As for :class:`SAREMClassifier`. With ``method="weighting"`` the log-likelihood in
        ``history_`` is that of the true classes, as inverse propensities estimate it.
    propensity_ : float or None
        The propensity where it is one number; None where it was given for each row.
    class_prior_from_labels_ : float
        What the model says; other than ``class_prior_`` where audits by design say more. For
        ``method="em"`` with logistic regression.

    See Also
    --------
    SAREMClassifier : The paper's method.
    SCARClassifier : Where every positive is equally likely to be labelled.

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
    (0.48, 0.5)
    """

    _parameter_constraints: dict = {
        **{name: EM_CONSTRAINTS[name] for name in ("C", "stop", "window", "tol", "max_iter")},
        "classifier": [HasMethods(["fit"]), None],
        **POS_LABEL,
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
        pos_label=None,
    ):
        self.method = method
        self.C = C
        self.stop = stop
        self.window = window
        self.tol = tol
        self.max_iter = max_iter
        self.classifier = classifier
        self.pos_label = pos_label

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X,
        y,
        propensity=None,
        sample_weight=None,
        audited=None,
        audit_probability=None,
        audit_round=None,
    ):
        """Learn ``f`` from labels and their propensity.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows, labelled and unlabelled together.
        y : array-like of shape (n_rows,)
            The observed labels s: 1 labelled, 0 or missing unlabelled (or other values, see
            ``pos_label``). Named ``y`` as scikit-learn wants; the true class is not needed.
        propensity : float or array-like of shape (n_rows,), default=None
            ``P(s=1|y=1,x)`` in (0, 1]; one number is the label frequency (SCAR). None counts as 1,
            every positive labelled, with a warning.
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
        if audited is not None and self.method == "weighting":
            raise ValueError(
                "audited is for method='em'; method='weighting' looks at labelled rows alone."
            )
        e: Any = 1.0 if propensity is None else propensity
        if self.classifier is not None:
            refuse_dask(X, "KnownPropensityClassifier(classifier=...)")
        audits = audited, audit_probability, audit_round
        given = self._input(X, y, sample_weight, *audits, propensity=e)
        if propensity is None:
            text = (
                "No propensity was given: every positive is taken to be labelled (propensity 1). "
                "Pass fit(X, s, propensity=...)."
            )
            warn(InputWarning("no-propensity", text))
        fit_known(self, given)
        self.propensity_ = float(e) if np.ndim(e) == 0 else None
        if store_evidence(self, given):
            self._shift_to_mean(given)
        return self

    def _propensity(self, X, propensity=None) -> np.ndarray:
        given = self.propensity_ if propensity is None else propensity
        if given is None:
            raise ValueError("propensity is needed: fit was given one for each row, not a model.")
        return check_propensity(given, np.zeros(X.shape[0], dtype=bool))

    @available_if(_knows_one_propensity)
    @lazily()
    def predict_propensity(self, X) -> np.ndarray:
        """``e = P(s=1|y=1)``, where ``fit`` was given one number for all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows to predict for.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._propensity(self._check_predict(X))

    def score(self, X, y, sample_weight=None, propensity=None) -> float:
        """Mean of ``log P(s|x)`` over the rows, as of every learner: see ``SAREMClassifier.score``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Observed labels, in the values that ``fit`` saw; a missing one means unlabelled.
        sample_weight : array-like of shape (n_rows,), default=None
            What each row counts.
        propensity : float or array-like of shape (n_rows,), default=None
            ``P(s=1|y=1,x)`` of these rows; needed unless ``fit`` was given one number. In
            ``cross_val_score`` metadata routing passes it on.

        Returns
        -------
        float
        """
        return self._mean_score(X, y, sample_weight, propensity=propensity)

    @lazily()
    def predict_posterior(self, X, s=None, audited=None, propensity=None) -> np.ndarray:
        """``P(y=1|x,s)``: 1 for labelled rows, ``f (1-e) / (1 - f e)`` for the others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows to predict for.
        s : array-like of shape (n_rows,), default=None
            Labels, in the values that ``fit`` saw; a missing one means unlabelled, and None that
            all rows are.
        audited : array-like of shape (n_rows,), default=None
            The true class, 1 or 0, where someone has looked: it is then the posterior.
        propensity : float or array-like of shape (n_rows,), default=None
            ``P(s=1|y=1,x)`` of these rows; needed unless ``fit`` was given one number.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        X = self._check_predict(X)
        return self._posterior(self._logit(X), s, self._propensity(X, propensity), audited)


def fit_known(model, given: Input) -> None:
    """Learn ``f`` by the method and settings of ``model``, on rows that know their propensities."""
    with one_blas_thread():
        if model.method == "weighting":
            _fit_weighting(model, conditioned(given.rows))
        elif model.classifier is None:
            _fit_em(model, conditioned(given.rows))
        else:
            _fit_estimator(model, given)


def _fit_estimator(model, given: Input) -> None:
    side = EstimatorSide(given.X, model.classifier, "classifier")
    em = EstimatorEM(given.rows, side)
    result = run_estimators(em, **model._loop())
    model.classifier_ = side.fitted
    store_result(model, result, em.class_prior, given.rows.label_share())


def _fit_em(model, rows: Rows) -> None:
    tol, report = model.tol or TOLERANCE[model.stop], reporter(model, model.max_iter)
    em = SAREM(rows, KnownPropensity(), decay=1.0, C=model.C)
    em.start()
    if model.stop == "slope":
        rule = ModelSlopeRule(*watch(rows, em.propensity), model.window, tol)
        result = run_to_slope(em, rule, model.max_iter, report)
    if model.stop != "slope" or em.class_prior > 1 - PLATEAU * tol:
        to = tol if model.stop != "slope" else TOLERANCE["fixed_point"]
        result = run_known(em, to, model.max_iter, report)
    model.class_prior_from_labels_ = float(em.class_prior)
    _store_classifier(model, em.coefficients)
    store_result(model, result, em.class_prior, rows.label_share())


def _store_classifier(model, theta: np.ndarray) -> None:
    model.coef_, model.intercept_ = theta[None, :-1], theta[-1:]


def _fit_weighting(model, rows: Rows) -> None:
    if model.classifier is not None:
        raise ValueError(
            "classifier is for method='em'; method='weighting' fits logistic regression, "
            "since other classifiers take no negative weights."
        )
    total = rows.total_weight()
    prior = rows.total(_sum_of_targets) / total
    if prior >= 1:
        raise ValueError(
            f"The mean of s/propensity, which estimates the class prior, is {prior:.3f}; it "
            "must be below 1. The propensities are too small for so many labels."
        )
    history = History(reporter(model, model.max_iter))

    def record(iterate: Iterate) -> None:
        # The last entry of the gradient is the sum of f - s/e.
        mean = prior + iterate.sums.gradient[-1] / total
        history.record(-iterate.sums.value, -iterate.value, np.nan, mean)

    fit = fit_logistic(
        rows,
        inverse_targets,
        None,
        model.C,
        tol=model.tol or 1e-8,
        max_iter=model.max_iter,
        report=record,
    )
    _store_classifier(model, rows.units.to_user(fit.theta))
    result = EMResult(fit.passes, fit.converged, history.as_dict())
    f = expit(rows.matvec(fit.theta[:-1]) + fit.theta[-1])
    mean = float(np.average(f, weights=rows.column("weights")))
    store_result(model, result, mean, rows.label_share())


def inverse_targets(block: Block) -> np.ndarray:
    """``s / e``: on average the class of a row."""
    out = np.zeros(block.n_rows)
    return np.divide(block.labelled, block.e, out=out, where=block.labelled)


def _sum_of_targets(block: Block) -> float:
    return float(block.weights @ inverse_targets(block))
