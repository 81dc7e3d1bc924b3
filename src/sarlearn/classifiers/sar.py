"""Classifier and propensity learned from biased labels: one label model on several class models."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from sarlearn._compat import Interval, fit_context, one_blas_thread, reporter, with_callbacks
from sarlearn._engine.blocks import Block
from sarlearn._engine.rows import Rows
from sarlearn._engine.sar import Settings
from sarlearn._engine.sar_rows import Columns, learn, unidentified
from sarlearn._engine.tree_scores import check_sizes
from sarlearn._validation import check_groups, resolve_features, validate_data
from sarlearn.backends import refuse_dask
from sarlearn.classifiers._store import KNOWN_PRIOR, known_prior, store_fit
from sarlearn.classifiers.base import BACKGROUND, POS_LABEL, Input, LearnsPropensity
from sarlearn.exceptions import InputWarning, warn
from sarlearn.tables.columns import column_names, is_table
from sarlearn.tables.encoder import TableEncoder

CLASS_MODELS = ("linear", "trees")
# So many columns can be ranked in memory for propensity_features="auto".
MOST_CANDIDATES = 2_000


class SARClassifier(LearnsPropensity):
    r"""Learn who is positive, who gets labelled, and how many positives there are, together.

    The learner to start with where only positives carry labels and the labelled ones are a biased
    sample. It models :math:`P(s=1|x) = f(x)\,e(x_e)`: ``f`` is the probability that a row is
    positive, ``e`` the propensity, which is the probability that a positive row is labelled and
    depends on the columns :math:`x_e` that you name. ``class_prior_range_`` and ``certainty_`` say
    how far the labels determine the share of positives. The user guide explains the algorithm.

    Parameters
    ----------
    propensity_features : names, indices, mask, callable on the names, or "auto", default="auto"
        The columns that may decide who among the positives gets a label: name them if you can.
        "auto" is for tables where nobody can: it averages fits that name none, and different ones,
        by how well they explain the labels. Empty means that labels fall at random (SCAR).
    classifier_features : names, indices, boolean mask, or callable on the names, default=None
        The columns of the class model; None is all. Leave out what drives labelling and has no
        place in the class, such as effort, clinic or clerk.
    class_models : sequence of "linear", "trees" or classifiers, default=("linear", "trees")
        What scores the class. A classifier has ``predict_proba`` and takes ``sample_weight``; it is
        fitted by EM, for rows in memory.
    class_prior : float, (low, high) or dict, default=None
        What is known of ``P(y=1)`` from elsewhere: its value, bounds, or the ``mean`` and
        ``standard_error`` of a survey.
    pseudo_counts : float >= 0, default=4.0
        Pseudo-counts of positives and of negatives, fewer where labels are rare, and a quarter as
        many of labelled and of unlabelled positives, more where labels are rare. They keep class
        prior and label frequency from their ends, and the frequency from less than about 0.13,
        where the labels say little; 0 leaves both to the labels. There are none with audited
        classes.
    n_folds : int >= 2, default=5
        Folds of the held-out scores. Equal rows, and rows of one group, share a fold.
    n_runs : int >= 1, default=1
        Draws of folds whose scores are averaged. More of them steady the answer a little.
    max_iter : int >= 1, default=300
        Rounds of boosting at most; the held-out labels decide on fewer.
    categorical_features : names, indices, boolean mask, or callable on the names, default=()
        Columns of numbers that name something, such as codes. Of a matrix they hold 0, 1, 2, ...
        Columns of a table that hold words, categories or truth values need not be named.
    single_sample : bool, default=True
        Whether labelled and unlabelled rows are one sample. False for case-control data: labelled
        rows and a background of the whole population, collected apart. Then the share of positives
        is not identified: ``class_prior_`` is NaN, and class probabilities are right up to a
        factor.
    random_state : int, default=0
        Another number deals rows to other folds. The order of the rows does not matter.
    pos_label : int, str or None, default=None
        The label value that means labelled, as in :class:`~sarlearn.SAREMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two label values; the second one means labelled.
    class_prior_ : float
        ``P(y=1)``; the mean of ``predict_proba`` over the rows of the fit.
    posterior_shift_ : float
        What ``predict_posterior`` adds to the logits of ``f``, so that the posteriors of the rows
        of the fit add up to the class prior. Scores of these rows are more certain than the
        held-out ones from which the class prior comes.
    class_prior_range_ : tuple of float
        Class priors that the data are compatible with.
    certainty_ : {"well", "roughly", "not at all"}
        How well the labels determine the class prior, by the width of the range.
    range_causes_ : dict of str to float
        Shares of what makes the range wide: few labels, class models that disagree, fits that name
        different columns, and a margin for assumptions. Where class prior or audits were given it
        is that of the labels without them.
    class_prior_from_labels_ : float
        The estimate from labels and audits, without ``class_prior``.
    class_prior_by_design_, n_audited_ : bool and int
        Whether class prior and range come from the draw of audited rows and hold whatever the
        model; how many unlabelled rows were audited.
    label_frequency_ : float
        Share of the positives that is labelled.
    class_models_, score_weights_ : tuple and ndarray
        The class models that were fitted, and ``a_j`` of each. Trees are left out beside a linear
        model where the class has more columns than there are rows.
    n_tree_rows_ : int or None
        How many rows, drawn from all, the trees were grown on; None where they saw every row, as
        the rest of the fit always does.
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_terms) and (1,)
        Of the propensity, in logits, per unit of each of ``propensity_terms_``.
    propensity_coef_se_ : ndarray of shape (1, n_terms)
        Standard errors of the coefficients, from the information of the label model.
    propensity_terms_ : list of str
        A column, ``column=category`` or ``column=(missing)``.
    propensity_features_, classifier_features_ : ndarray of int
        Indices of the columns of propensity and class model.
    propensity_weights_ : ndarray of float
        Weight of the fits that name each of these columns: 1 unless they are "auto".
    averaged_fits_ : list of dict
        The fits that "auto" averages, with ``propensity_features``, ``weight`` and ``class_prior``
        each. Of columns that were named a single one.
    n_iter_, converged_, history_ : int, bool and dict of ndarray
        Rounds of boosting that were kept (1 without trees), whether more were tried, and what the
        held-out labels said at each look.

    See Also
    --------
    SAREMClassifier : The paper's method.
    KnownPropensityClassifier : Where the propensity is known.
    RepeatedSARClassifier : Where every row has several chances to be labelled.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SARClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 3))
    >>> y = X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4    # the classes are not linearly separable
    >>> e = 1 / (1 + np.exp(-X[:, 2]))           # who gets a label depends on column 2
    >>> s = y & (rng.random(3000) < e)
    >>> model = SARClassifier([2]).fit(X, s)
    >>> round(model.class_prior_, 1), round(float(y.mean()), 1)
    (0.5, 0.5)
    """

    _parameter_constraints: dict = {
        "propensity_features": "no_validation",
        "classifier_features": "no_validation",
        "class_models": ["array-like"],
        **KNOWN_PRIOR,
        "pseudo_counts": [Interval(Real, 0, None, closed="left")],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "n_runs": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "categorical_features": "no_validation",
        "single_sample": ["boolean"],
        "random_state": [Interval(Integral, 0, 2**32 - 1, closed="both")],
        **POS_LABEL,
    }
    _ensure_all_finite = "allow-nan"

    def __init__(
        self,
        propensity_features="auto",
        *,
        classifier_features=None,
        class_models=CLASS_MODELS,
        class_prior=None,
        pseudo_counts=4.0,
        n_folds=5,
        n_runs=1,
        max_iter=300,
        categorical_features=(),
        single_sample=True,
        random_state=0,
        pos_label=None,
    ):
        self.propensity_features = propensity_features
        self.classifier_features = classifier_features
        self.class_models = class_models
        self.class_prior = class_prior
        self.pseudo_counts = pseudo_counts
        self.n_folds = n_folds
        self.n_runs = n_runs
        self.max_iter = max_iter
        self.categorical_features = categorical_features
        self.single_sample = single_sample
        self.random_state = random_state
        self.pos_label = pos_label

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        own = [model for model in self.class_models if not isinstance(model, str)]
        tags.input_tags.sparse = all(get_tags(model).input_tags.sparse for model in own)
        tags.input_tags.allow_nan = all(get_tags(model).input_tags.allow_nan for model in own)
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        audited=None,
        audit_probability=None,
        audit_round=None,
        groups=None,
    ):
        """Learn ``f`` and ``e`` from labels.

        Parameters
        ----------
        X : array-like, table or sparse matrix of shape (n_rows, n_features)
            The rows, labelled and unlabelled together. NaN is a missing value. The columns of a
            data frame of pandas, polars or pyarrow may hold words, truth values, dates, gaps, and
            numbers as text; ``reader_.readings_`` says what each was read as.
        y : array-like of shape (n_rows,)
            The observed labels s: 1 labelled, 0 or missing unlabelled (or other values, see
            ``pos_label``). Named ``y`` as scikit-learn wants; the true class is not needed.
        sample_weight : array-like of shape (n_rows,), default=None
            What each row counts, in every step: a weight of 2 is the row twice.
        audited : array-like of shape (n_rows,), default=None
            The true class, 1 or 0, of rows that someone has looked at; missing elsewhere. Which
            rows were looked at may depend on the columns and on the label, not otherwise on the
            class.
        audit_probability : array-like of shape (n_rows,), default=None
            The probability with which each audited row was drawn, missing elsewhere, as
            :func:`sarlearn.audit.suggest_audit` gives it. The class prior and its range then come
            from the draw and hold whatever the model.
        audit_round : array-like of shape (n_rows,), default=None
            The round in which it was drawn, where there were several.
        groups : array-like of shape (n_rows,), default=None
            Rows of a group, such as visits of one patient, are held out together. For rows in
            memory.

        Returns
        -------
        self
        """
        models = self._checked_models(X)
        X, coded = self._learned_table(X, y, sample_weight)
        given = self._input(X, y, sample_weight, audited, audit_probability, audit_round)
        if given.X is not None:
            _refuse_sparse_gaps(given.X)
        names = getattr(self, "feature_names_in_", None)
        if "trees" in models:
            check_sizes(given.rows.sizes(), given.rows.column("weights").max(), names)
        columns, auto = self._named_columns(names, given)
        coded = self._codes(given, names) if coded is None else coded
        given = self._class_rows(given)
        models = self._affordable(models, given)
        built_in = all(isinstance(model, str) for model in models)
        unnamed = not len(columns) and built_in and self.single_sample
        before = getattr(self, "_chosen", None)  # by the fit of which this is a refit
        unnamed = unnamed and given.rows.shape[1] <= MOST_CANDIDATES and before is None
        chosen = Columns(self.classifier_features_, columns, coded, auto, unnamed)
        if not self.single_sample:
            given = replace(given, rows=with_background(given.rows))
        prior = known_prior(self.class_prior, given.rows.label_share())
        settings = Settings(
            models,
            self.n_folds,
            self.n_runs,
            0.0 if given.audit is not None or not self.single_sample else self.pseudo_counts,
            self.max_iter,
            prior,
            chosen=before,
            report=reporter(self, 100, "step"),
        )
        with one_blas_thread():
            open_ = unidentified(given.rows, chosen)
            groups = self._checked_groups(groups, given)
            task = given.rows, chosen, settings, self.random_state, groups
            found = alone = learn(*task)
            if prior is not None and before is None:  # labels are asked without it, too
                chosen = replace(chosen, unnamed=False)
                alone = learn(given.rows, chosen, replace(settings, known=None), *task[3:])
        store_fit(self, given, found, chosen, prior, open_, alone)
        return self

    def _named_columns(self, names, given: Input) -> tuple[np.ndarray, bool]:
        """Columns of the propensity; with "auto" the candidates, which are all."""
        spec, n_columns = self.propensity_features, given.rows.shape[1]
        known = [] if names is None else list(names)
        if not (isinstance(spec, str) and spec == "auto") or spec in known:
            return resolve_features(spec, names, n_columns), False
        why = ""
        if n_columns > MOST_CANDIDATES:
            why = f"ranks up to {MOST_CANDIDATES:,} columns, and X has {n_columns:,}"
        elif not self.single_sample:
            why = "needs labelled and unlabelled rows of one sample"
        if why:
            text = (
                f'propensity_features="auto" {why}: labels are taken to fall at random. Name the '
                "columns that labelling may depend on, or () where it depends on none."
            )
            warn(InputWarning("no-column-named", text))
            return np.arange(0), False
        return np.arange(n_columns), True

    def _checked_models(self, X) -> tuple:
        models = tuple(self.class_models)
        for model in models:
            known = model in CLASS_MODELS if isinstance(model, str) else True
            if not known or not (isinstance(model, str) or hasattr(model, "predict_proba")):
                raise ValueError(
                    f"class_models holds {model!r}; each of them is 'linear', 'trees', or a "
                    "classifier with predict_proba."
                )
        if not models or len({id(m) if not isinstance(m, str) else m for m in models}) < len(
            models
        ):
            raise ValueError(f"class_models names no class model, or one twice: {models!r}.")
        if any(not isinstance(model, str) for model in models):
            refuse_dask(X, "SARClassifier with a classifier in class_models")
        return models

    def _affordable(self, models: tuple, given: Input) -> tuple:
        """Without trees beside a linear model where there are more columns than rows, as in text:
        they add little there, and cost hundreds of times as much."""
        if len(self.classifier_features_) > given.rows.shape[0] and "linear" in models:
            models = tuple(model for model in models if model != "trees")
        self.class_models_ = models
        return models

    def _checked_groups(self, groups, given: Input) -> np.ndarray | None:
        n_given = given.rows.shape[0] if given.kept is None else len(given.kept)
        codes = check_groups(groups, n_given)
        if codes is None or given.kept is None:
            return codes
        return check_groups(np.asarray(groups)[given.kept], int(given.kept.sum()))

    def _learned_table(self, X, y, sample_weight) -> tuple[Any, list[int] | None]:
        """A table as columns of numbers, and which of them are codes of words; else X as it is."""
        self.reader_: TableEncoder | None = None
        self.codes_: dict[int, int] = {}
        if not is_table(X):
            return X, None
        if hasattr(X, "features"):  # of batches, where labels and weights are columns, too
            X = X.of(X.features(y, sample_weight))
        names, what = column_names(X), "categorical_features"
        columns = resolve_features(self.categorical_features, names, len(names), what=what)
        self.reader_ = TableEncoder(words=[names[j] for j in columns])
        return self.reader_.fit_transform(X), list(self.reader_.levels_by_place())

    def _codes(self, given: Input, names) -> list[int]:
        """The columns of a matrix that hold codes."""
        n_columns, what = given.rows.shape[1], "categorical_features"
        columns = resolve_features(self.categorical_features, names, n_columns, what=what)
        if len(columns) and (given.X is None or sparse.issparse(given.X)):
            raise ValueError(f"{what} are for tables, and for dense matrices in memory.")
        for j in columns:
            values = given.X[:, j]
            bad = ~(np.isnan(values) | ((values >= 0) & (values == np.floor(values))))
            if bad.any():
                raise ValueError(
                    f"{what}: codes of a matrix are 0, 1, 2, ... or NaN; column {j} holds "
                    f"{values[np.argmax(bad)]:g}. Words, and other codes, are read from tables."
                )
            self.codes_[int(j)] = int(np.nanmax(values, initial=-1)) + 1
        return columns.tolist()

    def _check_predict(self, X):
        check_is_fitted(self)
        reader, table = self.reader_, is_table(X)
        if reader is not None and table:
            # As scikit-learn asks, a table of plain numbers has its columns in the order of fit.
            if not reader.mixed() or set(column_names(X)) != set(reader.kinds_):
                validate_data(self, X, reset=False, skip_check_array=True)
            X = reader.transform(X)
        elif reader is not None and reader.mixed():
            raise ValueError(
                "The model was fitted to a table with words or dates, and takes tables: a data "
                f"frame with the columns {', '.join(reader.kinds_)}."
            )
        X = super()._check_predict(X)
        if reader is not None and not table and reader.log_units_:
            X = X.toarray() if sparse.issparse(X) else X
            X = np.column_stack([reader.scaled(n, X[:, j]) for j, n in enumerate(reader.kinds_)])
        _refuse_sparse_gaps(X)
        return X

    def _logit(self, X) -> np.ndarray:
        return self.class_logit_.logit(X[:, self.classifier_features_], self.terms_, X)

    def _propensity(self, X) -> np.ndarray:
        return expit(self.attributes_.dense(X) @ self.phi_[:-1] + self.phi_[-1])


def with_background(rows: Rows) -> Rows:
    """Rows that were sampled apart: the background counts many times the labelled rows.

    Where labelled rows and a background of all kinds of rows are two samples, the odds of a label
    among the rows given are proportional to ``f e``. With a heavy background they are so small
    that ``f e``, up to a factor, is also their probability, whatever the number of background rows
    (W. Fithian and T. Hastie, Finite-sample equivalence in statistical models for presence-only
    data, Annals of Applied Statistics 7, 2013).
    """
    labelled, background = rows.total(_two_weights)
    return rows.map(_weighted, BACKGROUND * labelled / background)


def _two_weights(block: Block) -> np.ndarray:
    weight = block.weights
    return np.array([weight[block.labelled].sum(), weight[~block.labelled].sum()])


def _weighted(block: Block, ratio: float) -> Block:
    weight = block.weights
    return block.with_columns(weight=np.where(block.labelled, weight, ratio * weight))


def _refuse_sparse_gaps(X) -> None:
    if sparse.issparse(X) and np.isnan(X.data).any():
        raise ValueError(
            "X is sparse and holds NaN. Missing values are for dense input; X.toarray() makes it."
        )
