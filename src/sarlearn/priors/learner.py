"""Any learner of this package under the contract of the class-prior estimators."""

import numpy as np
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import has_fit_parameter

from sarlearn._compat import HasMethods, fit_context, safe_indexing
from sarlearn._validation import encode_labels
from sarlearn.backends import refuse_dask
from sarlearn.classifiers import SARClassifier
from sarlearn.priors._base import Estimate, PriorEstimator

# Subtypes that are looked for, and labelled rows that one has at least.
MOST_SUBTYPES, LEAST_ROWS = 10, 10


class LearnerPrior(PriorEstimator):
    """The class prior that a learner of this package finds, as an estimator among the others.

    Labels may be a biased sample if the learner has propensity attributes; the other estimators
    take the labelled rows for a random sample of the positives.

    Parameters
    ----------
    learner : learner of this package, or a pipeline that ends with one, default=None
        None is :class:`~sarlearn.SARClassifier` with labels at random (SCAR).
    single_sample : bool, default=True
        False for case-control data, the unlabelled rows drawn from the whole population: then
        `class_prior_` is the share of positives among them.
    by_subtype : bool, default=False
        True where labelling follows hidden subtypes of the positives and no column. Labelled rows
        are clustered, each cluster is fitted beside all unlabelled rows as if it were all that is
        labelled, and the shares of the unlabelled rows that are found are added up. Columns must
        be numbers without gaps.

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
    learner_ : fitted learner
        It says more: :class:`~sarlearn.SARClassifier` has the range of the class prior. That of
        all rows, with ``by_subtype``, too.
    n_subtypes_ : int
        Clusters of the labelled rows; 1 unless ``by_subtype``.

    See Also
    --------
    compare_priors : Several estimators side by side.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.priors import LearnerPrior
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> y = target == 0  # malignant: 0.37 of the rows
    >>> s = y & (np.random.default_rng(0).random(len(y)) < 0.5)
    >>> prior = LearnerPrior().fit(X, s)
    >>> low, high = prior.learner_.class_prior_range_
    >>> round(prior.class_prior_, 1), bool(low < y.mean() < high)
    (0.4, True)
    """

    _parameter_constraints: dict = {
        **PriorEstimator._parameter_constraints,
        "learner": [HasMethods(["fit"]), None],
        "by_subtype": ["boolean"],
    }

    def __init__(self, learner=None, *, single_sample=True, by_subtype=False):
        self.learner = learner
        self.single_sample = single_sample
        self.by_subtype = by_subtype

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.learner or SARClassifier(())).input_tags
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, groups=None):
        """Estimate the class prior.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            The rows, labelled and unlabelled together, as the learner takes them.
        y : array-like of shape (n_samples,)
            The observed labels s: 1 for labelled positives, 0 for unlabelled rows.
        groups : array-like of shape (n_samples,), default=None
            For a learner that holds rows out: those of a group, such as visits of one patient,
            together.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        refuse_dask(X, "LearnerPrior")
        labelled, self.classes_ = encode_labels(y, warn_few=False)
        cluster = subtypes(check_array(X)[labelled]) if self.by_subtype else np.zeros(1, dtype=int)
        rows = np.arange(len(labelled))
        self.learner_, kappa = self._fitted(X, y, groups, rows, labelled)
        self.n_features_in_ = self.learner_.n_features_in_
        if hasattr(self.learner_, "feature_names_in_"):
            self.feature_names_in_ = self.learner_.feature_names_in_
        self.n_subtypes_ = int(cluster.max()) + 1
        if self.n_subtypes_ > 1:
            kappa = 0.0
            for k in range(self.n_subtypes_):
                of_one = np.sort(np.append(rows[labelled][cluster == k], rows[~labelled]))
                kappa += self._fitted(X, y, groups, of_one, labelled)[1]
        self._set_prior(Estimate(min(kappa, 1.0)), float(labelled.mean()))
        return self

    def _fitted(self, X, y, groups, rows, labelled):
        """The learner fitted on some rows, and the share of positives among the unlabelled."""
        learner = SARClassifier(()) if self.learner is None else clone(self.learner)
        name, final = learner.steps[-1] if isinstance(learner, Pipeline) else ("", learner)
        if len(rows) < len(labelled):
            X, y, groups = (None if a is None else safe_indexing(a, rows) for a in (X, y, groups))
        holds_out = groups is not None and has_fit_parameter(final, "groups")
        given = {f"{name}__groups".removeprefix("__"): groups} if holds_out else {}
        learner.fit(X, y, **given)
        share, prior = float(labelled[rows].mean()), float(final.class_prior_)
        if np.isnan(prior):
            raise ValueError(f"{final!r} finds no class prior: its rows are not one sample.")
        return learner, (prior - share) / (1 - share)


def subtypes(X: np.ndarray) -> np.ndarray:
    """The cluster of each row: normal distributions with diagonal covariances, by their BIC.

    Rows of clusters with fewer than LEAST_ROWS go to the likeliest that has more.
    """
    scale = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1)
    most = max(1, min(MOST_SUBTYPES, len(Z) // LEAST_ROWS))
    found = [
        GaussianMixture(k, covariance_type="diag", reg_covar=1e-4, random_state=0).fit(Z)
        for k in range(1, most + 1)
    ]
    best = min(found, key=lambda mixture: mixture.bic(Z))
    chance = best.predict_proba(Z)
    large = np.bincount(chance.argmax(axis=1), minlength=best.n_components) >= LEAST_ROWS
    if not large.any():
        return np.zeros(len(Z), dtype=int)
    return np.unique(chance[:, large].argmax(axis=1), return_inverse=True)[1]
