"""SCAR: one label frequency, from any class-prior estimator, then a known-propensity learner."""

import warnings
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from sarlearn._compat import HasMethods, fit_context, one_blas_thread
from sarlearn.backends import refuse_dask
from sarlearn.classifiers.base import LearnsPropensity
from sarlearn.classifiers.known import KnownPropensityClassifier, fit_known
from sarlearn.exceptions import DataWarning


class SCARClassifier(LearnsPropensity):
    """Learn a classifier where every positive is equally likely to be labelled (SCAR).

    A class-prior estimator of your choice finds the label frequency, and a learner with this known
    propensity finds the class probabilities. ``SARClassifier(())`` makes the same assumption with
    its own estimate of the class prior.

    Parameters
    ----------
    prior_estimator : class-prior estimator, default=None
        Any of `sarlearn.priors`; None is ``BestBinEstimator``, with copies of a row in one fold.
    method : {"em", "weighting"}, default="em"
        See :class:`sarlearn.KnownPropensityClassifier`.
    C : float > 0, default=1.0
        Inverse strength of the L2 penalty; the intercept is not penalised.
    stop, window, tol, max_iter : str, int, float, int
        When to stop, as in :class:`~sarlearn.KnownPropensityClassifier`.
    classifier : classifier with ``sample_weight`` and ``predict_proba``, default=None
        Model of f instead of logistic regression; for ``method="em"``.
    random_state : int, RandomState instance or None, default=None
        Of the default `prior_estimator`; one that is given has its own.
    pos_label : int, str or None, default=None
        The label value that means labelled, as in :class:`~sarlearn.SAREMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two label values; the second one means labelled.
    prior_estimator_ : fitted class-prior estimator
        The one that gave the label frequency.
    label_frequency_ : float
        The label frequency c it gave, which is the propensity of every positive.
    class_prior_ : float
        ``P(y=1)`` as the prior estimator gave it.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Of the classifier, in logits. Absent with ``classifier``.
    n_iter_, converged_, history_
        As for :class:`KnownPropensityClassifier`.

    See Also
    --------
    SAREMClassifier : The paper's method.
    sarlearn.inspection.scar_test : Test whether labels fall at random (SCAR).
    sarlearn.priors.compare_priors : Several estimators side by side.

    Notes
    -----
    Class-prior estimators need their rows in memory. On Dask, and from batches,
    ``SAREMClassifier()`` learns under the same assumption, with one label frequency.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.classifiers.scar import SCARClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = 3 * X[:, 0] + X[:, 1] > 0
    >>> s = y & (rng.random(2000) < 0.3)
    >>> model = SCARClassifier(C=100, random_state=0).fit(X, s)
    >>> round(model.label_frequency_, 1), bool(np.mean(model.predict(X) == y) > 0.9)
    (0.3, True)
    """

    _parameter_constraints: dict = {
        **KnownPropensityClassifier._parameter_constraints,
        "prior_estimator": [HasMethods(["fit"]), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prior_estimator=None,
        *,
        method="em",
        C=1.0,
        stop="slope",
        window=10,
        tol=None,
        max_iter=500,
        classifier=None,
        random_state=None,
        pos_label=None,
    ):
        self.prior_estimator = prior_estimator
        self.method = method
        self.C = C
        self.stop = stop
        self.window = window
        self.tol = tol
        self.max_iter = max_iter
        self.classifier = classifier
        self.random_state = random_state
        self.pos_label = pos_label

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Estimate the label frequency, then learn ``f``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows, labelled and unlabelled together.
        y : array-like of shape (n_rows,)
            The observed labels s: 1 labelled, 0 or missing unlabelled (or other values, see
            ``pos_label``).
        sample_weight : array-like of shape (n_rows,), default=None
            How many rows each row counts for; the `prior_estimator` must take weights, too, as
            the default does.

        Returns
        -------
        self
        """
        refuse_dask(
            X, "SCARClassifier", "SAREMClassifier() learns under the same assumption there."
        )
        given = self._check_fit(X, y, sample_weight)
        rows, labels = given.rows, given.rows.column("labelled")
        if self.prior_estimator is None:
            prior = self._default_prior(given.X, labels, rows.column("weights"))
        else:
            of_table = labels
            if given.kept is not None:  # folds of the prior estimator may count all rows
                of_table = np.zeros(len(given.kept), dtype=bool)
                of_table[given.kept] = labels
            prior = self._given_prior(X, of_table, sample_weight)
        c = np.full(len(labels), float(prior.label_frequency_))
        fit_known(self, replace(given, rows=rows.attach(e=c, not_e=1.0 - c)))
        self.prior_estimator_ = prior
        self.label_frequency_, self.class_prior_ = prior.label_frequency_, prior.class_prior_
        return self

    def _default_prior(self, X, labels, weight):
        """Copies of a row share a fold, and count by their weights: neither moves the estimate."""
        # Imported here, because priors import the classifiers.
        from sarlearn.priors._base import Estimate
        from sarlearn.priors._scores import merged, out_of_fold_scores
        from sarlearn.priors.best_bin import BestBinEstimator

        seed = int(check_random_state(self.random_state).randint(2**31))
        prior = BestBinEstimator(random_state=seed)
        prior.classes_, prior.n_features_in_ = self.classes_, self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            prior.feature_names_in_ = self.feature_names_in_
        X, labels, weight = merged(X, labels, weight)
        if min(labels.sum(), (~labels).sum()) < 2:  # no held-out scores: nothing tells them apart
            found = Estimate(1.0, at_boundary=True)
        else:
            with one_blas_thread():
                scores = out_of_fold_scores(X, labels, random_state=seed, weight=weight)
                found = prior._read(scores, labels, weight)
        prior._set_prior(found, float(labels @ weight / weight.sum()))
        return prior

    def _given_prior(self, X, labels, sample_weight):
        """By its own ``fit``: the column names of the table may mean something to it."""
        prior = clone(self.prior_estimator)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if weights and not has_fit_parameter(prior, "sample_weight"):
            raise ValueError(
                f"sample_weight was given, and the prior estimator {prior!r} does not take it. Use "
                "BestBinEstimator."
            )
        with warnings.catch_warnings():  # few labelled rows, or few others, are said once
            warnings.simplefilter("ignore", DataWarning)
            return prior.fit(X, labels, **weights)

    def _propensity(self, X) -> np.ndarray:
        return np.full(X.shape[0], self.label_frequency_)
