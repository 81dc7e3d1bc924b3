"""Boosted trees and a logistic propensity, learned together from biased labels."""

from numbers import Integral

import numpy as np
from scipy.special import expit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sarlearn._compat import fit_context, one_blas_thread, reporter, with_callbacks
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.boosting import fit_boosted, n_looks
from sarlearn._engine.boosting_data import BoostedFit, Rows
from sarlearn._engine.crossfit import nothing_left
from sarlearn._engine.folds import make_folds
from sarlearn._engine.linear_columns import LinearColumns
from sarlearn._engine.trees import check_sizes, lightgbm
from sarlearn._validation import check_propensity, resolve_features
from sarlearn.backends import refuse_dask
from sarlearn.classifiers._audits import store_audit
from sarlearn.classifiers._boosting import (
    BOOSTING_CONSTRAINTS,
    boosting_settings,
    refuse_sparse_gaps,
)
from sarlearn.classifiers._categories import CategoryCodes
from sarlearn.classifiers._known_prior import KNOWN_PRIOR, known_prior, settle
from sarlearn.classifiers._trust import look_at_boosted, nothing_to_tell_apart, range_only
from sarlearn.classifiers.base import (
    POS_LABEL,
    Input,
    LearnsPropensity,
    warn_every_column,
    with_audits,
)
from sarlearn.exceptions import UnidentifiedWarning, warn


class BoostedSARClassifier(LearnsPropensity):
    r"""Boosted trees and a propensity learned together from biased labels.

    For classes that are not linear in the columns. Rows follow :math:`P(s=1|x) = f(x)\,e(x_e)`, as
    for :class:`SAREMClassifier`, with boosted trees for :math:`f` and a logistic :math:`e`. Trees
    climb the likelihood of the labels itself, so that a fit costs one or two fits of ordinary
    boosting, not one per EM iteration:

    1. A linear model gives a first propensity.
    2. One booster per fold, trained without it, takes Newton steps on
       :math:`-\log P(s|x)`; :math:`F` is the held-out logit of :math:`f`. Every few rounds,
       maximum likelihood of

       .. math::

           P(s=1|x) = \sigma(a F + b)\,\sigma(\phi \cdot x_e + \phi_0),\qquad a > 0,

       gives the next propensity, and says when to stop.
    3. Boost once more, with that propensity held, from a linear model of the class; keep
       what explains the held-out labels better.
    4. All of it again with other folds and another first propensity. The logits of both runs are
       averaged, as are their class priors.

    The classifier is the mean of the folds' boosters, ``2 x 3`` by default; nothing is refitted.
    With 30,000 rows or more the runs see a sample of 10,000 (more where labels are rare), and
    one boosting on all rows, with the propensity so found, follows.

    Needs LightGBM: ``pip install 'sarlearn[boost]'``.

    Parameters
    ----------
    propensity_features : names, indices, boolean mask, or callable on the names, default=()
        The columns that may decide who among the positives gets a label. Empty is SCAR.
    classifier_features : names, indices, boolean mask, or callable on the names, default=None
        The columns of the class model; None is all. Leave out what drives labelling and has no
        place in the class: effort, clinic, clerk.
    class_prior : float, (low, high), or dict, default=None
        What is known of ``P(y=1)`` from elsewhere, as for :class:`SAREMClassifier`.
    learning_rate : float > 0, default=0.1
        Share of each Newton step that is taken.
    max_leaf_nodes : int >= 2, default=15
        Leaves of a tree at most.
    min_samples_leaf : int >= 1, default=20
        Rows in a leaf at least.
    l2_regularization : float >= 0, default=1.0
        Penalty on the values of leaves.
    max_bins : int from 2 to 255, default=63
        Bins per column.
    max_iter : int >= 1, default=300
        Rounds at most; the held-out labels decide on fewer.
    cv : int >= 2, splitter or iterable of (train, test), default=3
        A number is that many shuffled folds, stratified by label, other ones for each run.
    n_runs : int >= 1, default=2
        Runs that are averaged. With 1, and a few thousand rows or fewer, the class prior moves with
        the draw of the folds.
    propensity_ridge : float > 0, default=3.0
        Penalty on the slopes of the propensity, of standardised terms, in nats of all labels: it
        weighs where rows are few, and keeps class and propensity from changing places there.
    pseudo_counts : float >= 0, default=4.0
        Pseudo-counts of positives and of negatives, and half as many of labelled and of unlabelled
        positives: a Beta prior on class prior and label frequency. Where the labels say little of
        the two, they are drawn away from the ends. 0 leaves both to the labels. There are none
        where the propensity or audited classes are given.
    categorical_features : names, indices, mask, callable or None, default="from_dtype"
        Columns that hold categories. ``"from_dtype"`` takes those columns of a table whose type
        is categorical or text.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds.
    n_jobs : int or None, default=None
        Folds that are boosted at the same time; the result does not depend on it. None is 1, -1 is
        all cores.
    pos_label : int, str or None, default=None
        The label value that means labelled, as in :class:`~sarlearn.SAREMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two label values; the second, greater one means labelled.
    class_prior_ : float
        ``P(y=1)``: the mean of the runs.
    class_prior_from_labels_ : float
        What the labels alone would have said: without pseudo-counts, and without what else is
        known.
    class_prior_range_ : tuple of float
        Class priors that the labels leave open: 1.8 standard errors to either side of what this
        fit's own score and two kernel scores say together, and ``class_prior_`` itself.
        ``experiments/honesty`` says how often it holds the truth on data that its rules had not
        seen. It holds for one sample of labelled and unlabelled rows.
    identification_width_ : float
        The width of that range.
    certainty_ : {"well", "roughly", "only by the model's shape", "not at all"}
        How far the labels pin the class prior down: the range, before it is cut at the share of
        labels and at 1, is at most 0.18 wide, or at most 0.4; no row is surely positive, or the
        labels contradict the form of the models; or neither. ``fit`` warns in the last two cases
        (:class:`~sarlearn.exceptions.TrustWarning`).
    goodness_ : dict of str to float
        What the second look at the fit found: ``misfit``, ``gain`` of a flexible score in nats
        per labelled row, ``sure`` (the 99th percentile of the class probability), the class priors
        ``shape_free_low`` and ``shape_free_high`` that the labels admit without the form of the
        models, ``propensity_effect`` and ``extreme_propensity_share``. Empty with fewer than 200
        rows or 20 labels. See :func:`sarlearn.inspection.goodness_of_fit`.
    class_priors_ : ndarray of shape (n_runs,)
        The class prior of each run. (One, where all rows were boosted after a sample.)
    profiles_ : list
        The profile likelihood of each run: ``class_prior`` and ``log_likelihood`` at the points
        that were looked at, ``low`` and ``high``.
    label_frequency_ : float
        Share of the positives that is labelled: ``P(s=1) / class_prior_``.
    mean_probability_ : float
        Mean of ``predict_proba`` over the rows of ``fit``: near ``class_prior_``, which is the
        better estimate, not equal.
    slope_ : float
        ``a``, the mean of the runs: below 1 the held-out logits were too bold, above 1 too timid.
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_terms) and (1,)
        Of the propensity, in logits. Absent where the propensity was known.
    propensity_terms_ : list of str
        What the coefficients belong to: a column, ``column=category`` or ``column=(missing)``.
    propensity_features_, classifier_features_ : ndarray of int
        Indices of the propensity columns, and of those of the class model.
    propensity_strength_ : float
        Sum over the terms of the propensity of ``|coefficient| x standard deviation``.
    sure_propensity_share_ : float
        Share of rows whose propensity is below 0.02 or above 0.98. Large values of this and of
        ``propensity_strength_``, or a ``slope_`` below 0.2, are signs that class and propensity
        have changed places.
    n_iter_ : int
        Rounds of the boosting that was kept: the larger number where runs differ, and 1 where trees
        did not help.
    converged_ : bool
        Whether more rounds than ``n_iter_`` were tried in every run, and did not help.
    history_ : dict of ndarray
        ``run``, ``round``, ``log_likelihood`` (of the held-out labels) and ``class_prior``, one
        value per look.
    held_out_logit_ : ndarray of shape (n_rows,)
        The logit of ``f`` of each row of the fit, by trees that have not seen it.
    ensembles_ : list
        The trees of each run, as text in LightGBM's format.

    See Also
    --------
    CrossFitSARClassifier : The same idea with a linear class; quicker, and easier to read.
    SAREMClassifier : The paper's method.

    Notes
    -----
    The derivatives of a row's loss by the logit of ``f``, with ``u = 1 - f e``:

    ========== ================= =====================
    ..         gradient          hessian (expected)
    ========== ================= =====================
    labelled   ``-(1-f)``        ``f e (1-f)^2 / u``
    unlabelled ``f e (1-f) / u`` ``f e (1-f)^2 / u``
    ========== ================= =====================

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import BoostedSARClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 3))
    >>> y = X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4    # no line tells the classes apart
    >>> e = 1 / (1 + np.exp(-X[:, 2]))           # who gets a label depends on column 2
    >>> s = y & (rng.random(3000) < e)
    >>> model = BoostedSARClassifier([2], random_state=0).fit(X, s)
    >>> round(model.class_prior_, 1), round(float(y.mean()), 1)
    (0.5, 0.5)
    >>> bool(np.mean(model.predict(X) == y) > 0.9)
    True
    """

    _parameter_constraints: dict = BOOSTING_CONSTRAINTS | POS_LABEL | KNOWN_PRIOR
    _ensure_all_finite = "allow-nan"

    def __init__(
        self,
        propensity_features=(),
        *,
        classifier_features=None,
        class_prior=None,
        learning_rate=0.1,
        max_leaf_nodes=15,
        min_samples_leaf=20,
        l2_regularization=1.0,
        max_bins=63,
        max_iter=300,
        cv=3,
        n_runs=2,
        propensity_ridge=3.0,
        pseudo_counts=4.0,
        categorical_features="from_dtype",
        random_state=None,
        n_jobs=None,
        pos_label=None,
    ):
        self.propensity_features = propensity_features
        self.classifier_features = classifier_features
        self.class_prior = class_prior
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_bins = max_bins
        self.max_iter = max_iter
        self.cv = cv
        self.n_runs = n_runs
        self.propensity_ridge = propensity_ridge
        self.pseudo_counts = pseudo_counts
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.pos_label = pos_label

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        propensity=None,
        audited=None,
        audit_probability=None,
        audit_round=None,
    ):
        """Learn ``f`` and ``e`` from labels; or ``f`` alone, where ``e`` is known.

        Parameters
        ----------
        X : array-like, table or sparse matrix of shape (n_rows, n_features)
            NaN is a missing value. Tables may have columns of categories or text.
        y : array-like of shape (n_rows,)
            The observed labels s: 1 labelled, 0 unlabelled (or other values, see
            ``pos_label``). Named ``y`` as scikit-learn wants; the true class is not needed.
        sample_weight : array-like of shape (n_rows,), default=None
            What each row counts, in every step. Folds are made of rows, whatever their weight.
        propensity : float or array-like of shape (n_rows,), default=None
            ``P(s=1|y=1,x)`` in (0, 1], where it is known (SAR-e); one number is the label frequency
            (SCAR). ``propensity_features`` must then be empty, and the model cannot predict
            propensities.
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
        lightgbm()  # an error that names the extra comes before any work
        refuse_dask(X, type(self).__name__)
        self.categories_ = CategoryCodes.learn(X, self.categorical_features)
        X, labelled, weight, kept = self._check_fit(self._encoded(X), y, sample_weight)
        refuse_sparse_gaps(X)
        names = getattr(self, "feature_names_in_", None)
        check_sizes(X, names, weight)
        columns = resolve_features(self.propensity_features, names, X.shape[1])
        known = None
        if propensity is not None:
            known = self._known(propensity, columns, labelled, kept)
        given = Input(RowBlocks(X).attach(labelled=labelled, weight=weight), X, kept)
        given = self._class_rows(with_audits(given, audited, audit_probability, audit_round))
        class_columns = self.classifier_features_
        self.linear_columns_ = LinearColumns.learn(X, self.categories_.columns)
        terms = self.linear_columns_.of_columns(columns)
        rows = Rows(
            X,
            self.categories_.columns,
            self.linear_columns_,
            terms,
            labelled,
            weight,
            known,
            None if given.audit is None else given.audit.known,
            class_columns if len(class_columns) < X.shape[1] else None,
        )
        if known is None:
            warn_every_column(columns, class_columns)
        prior = known_prior(self.class_prior, given.rows)
        settings = boosting_settings(self, prior)
        open_ = known is None and nothing_left(given.rows, columns)
        report = reporter(self, n_looks(settings, self.n_runs), "look")
        with one_blas_thread():
            folds = self._folds(X, labelled, kept)
            found = fit_boosted(rows, folds, settings, keep_first=open_, report=report)
        self._store(found, rows, columns)
        store_audit(self, given)
        if self.class_prior_by_design_:
            range_only(self, self.class_prior_range_)
        elif prior is not None:
            settle(self, given, prior, found.class_prior_range)
        elif open_:
            share = float(np.average(labelled, weights=weight))
            nothing_to_tell_apart(self, share)
            warn(UnidentifiedWarning(self.class_prior_, share, 1.0, debiased=False))
        elif known is None and given.audit is None:
            look_at_boosted(self, found, rows)
        else:  # audits are in the likelihood; or there is no other propensity to ask about
            range_only(self, found.class_prior_range)
            if self.certainty_ == "not at all":
                warn(UnidentifiedWarning(self.class_prior_, *self.class_prior_range_))
        return self

    def _encoded(self, X):
        return self.categories_.encode(X)

    def _known(self, propensity, columns, labelled, kept) -> np.ndarray:
        if len(columns):
            raise ValueError(
                "propensity is given, so propensity_features must be empty; it names "
                f"{len(columns)} columns. Either the propensity is known, or it is learned."
            )
        if kept is not None and np.ndim(propensity) == 1 and len(propensity) == len(kept):
            propensity = np.asarray(propensity)[kept]
        return check_propensity(propensity, labelled)

    def _folds(self, X, labelled, kept) -> list:
        """Folds of each run; what is to be said about their number is said once."""
        random = check_random_state(self.random_state)
        seeds = random.randint(2**31 - 1, size=self.n_runs)
        folds = [make_folds(X, labelled, kept, self.cv, int(seeds[0]))]
        cv = len(folds[0]) if isinstance(self.cv, Integral) else self.cv
        cv = folds[0] if hasattr(cv, "__next__") else cv  # a generator gives its folds once
        return folds + [make_folds(X, labelled, kept, cv, int(seed)) for seed in seeds[1:]]

    def _store(self, found: BoostedFit, rows: Rows, columns) -> None:
        self.ensembles_ = [run.ensemble for run in found.runs]
        self.held_out_logit_ = found.held_out
        self.class_priors_ = np.array([run.labels.class_prior for run in found.runs])
        self.profiles_ = [run.profile for run in found.runs]
        self.class_prior_, self.slope_ = found.class_prior, found.slope
        self.class_prior_from_labels_ = found.labels_only
        share = float(np.average(rows.labelled, weights=rows.weight))
        self.label_frequency_ = min(share / self.class_prior_, 1.0)
        self.n_iter_ = max(1, *(run.rounds for run in found.runs))  # at least 1 by convention
        self.converged_ = all(run.stopped for run in found.runs)
        self.history_ = found.history
        self.propensity_features_ = columns
        self._propensity_columns = self.linear_columns_.part(rows.terms).unscaled()
        for name in ("propensity_coef_", "propensity_intercept_"):
            if hasattr(self, name):
                delattr(self, name)
        if rows.known is None:
            self._store_propensity(found, rows)
        f = self._class_probability(rows.X)
        self.mean_probability_ = float(np.average(f, weights=rows.weight))

    def _store_propensity(self, found: BoostedFit, rows: Rows) -> None:
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(rows.X.shape[1])])
        propensity = found.propensity
        terms = rows.attributes()
        e = propensity.of(terms)
        weight = np.ones(len(e)) if rows.weight is None else rows.weight
        mean, square = weight @ terms / weight.sum(), weight @ terms**2 / weight.sum()
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        self.propensity_strength_ = float(np.abs(propensity.coef) @ spread)
        sure = (e < 0.02) | (e > 0.98)
        self.sure_propensity_share_ = float(np.average(sure, weights=weight))
        scaled = self.linear_columns_.part(rows.terms)
        coef, intercept = scaled.in_units(propensity.coef, propensity.intercept)
        self.propensity_terms_ = scaled.names(names, self.categories_.by_column)
        self.propensity_coef_, self.propensity_intercept_ = coef[None, :], np.array([intercept])

    def _check_predict(self, X):
        check_is_fitted(self)
        X = super()._check_predict(self._encoded(X))
        refuse_sparse_gaps(X)
        return X

    def _fitted_logit(self, given: Input) -> np.ndarray:
        return self._logit(given.X)

    def _shift_to(self, shift: float) -> None:
        for ensemble in self.ensembles_:
            ensemble.intercept += shift
        self.held_out_logit_ = self.held_out_logit_ + shift

    def _logit(self, X) -> np.ndarray:
        logits = [one.logit(X, self.linear_columns_) for one in self.ensembles_]
        return np.mean(logits, axis=0)

    def _propensity(self, X) -> np.ndarray:
        if not hasattr(self, "propensity_coef_"):
            raise ValueError(
                "This model was told the propensity of the rows it was fitted to, and knows none "
                "of others. Fit it without propensity=, with propensity_features, to learn one."
            )
        terms = self._propensity_columns.dense(X)
        return expit(terms @ self.propensity_coef_[0] + self.propensity_intercept_[0])
