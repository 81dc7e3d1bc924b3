"""One SCAR model for each configuration of the propensity attributes."""

import numpy as np
from scipy import sparse

from sarlearn._compat import fit_context
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.propensity import group_rows
from sarlearn._engine.stopping import History
from sarlearn._validation import FEW_LABELS, resolve_features
from sarlearn.classifiers.base import EM_CONSTRAINTS, POS_LABEL, LearnsPropensity
from sarlearn.classifiers.sarem import SAREMClassifier
from sarlearn.exceptions import DataWarning, warn


class MultiSCARClassifier(LearnsPropensity):
    """Fit a separate model to each configuration of the propensity attributes.

    Among rows that agree in these attributes labels fall completely at random, so each such group
    gets a label frequency and a classifier of its own. The paper's counter-example, for comparison:
    each model sees only a fraction of the rows.

    Parameters
    ----------
    propensity_features : names, indices, boolean mask, "all", or callable on the names, default=()
        Discrete columns; rows that agree in all of them form a stratum.
    decay, C, stop, window, tol, max_iter : float, float, str, int, float, int
        Of each of the models, as in :class:`~sarlearn.SAREMClassifier`.
    pos_label : int, str or None, default=None
        The label value that means labelled, as in :class:`~sarlearn.SAREMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two label values; the second one means labelled.
    strata_ : ndarray of shape (n_strata, n_propensity_features)
        Configurations seen in ``fit``.
    estimators_ : list of SAREMClassifier, or None for a stratum without labelled rows
        Such a stratum, like a configuration that ``fit`` has not seen, predicts 0. A stratum
        of labelled rows alone predicts 1, and has None, too.
    label_frequencies_ : ndarray of shape (n_strata,)
        Share of the positives that is labelled, by stratum.
    class_prior_, label_frequency_ : float
        Over all training rows.
    n_iter_ : int
        Most iterations any stratum took.
    converged_ : bool
        Whether all of them converged.
    history_ : dict of ndarray
        As for :class:`SAREMClassifier`, of all strata together: log-likelihoods are summed, class
        priors and slopes averaged by weight.

    See Also
    --------
    SCARClassifier : Where every positive is equally likely to be labelled.
    SAREMClassifier : The paper's method.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import MultiSCARClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=(4000, 2)), rng.random(4000) < 0.5])
    >>> y = 3 * X[:, 0] > X[:, 1]
    >>> s = y & (rng.random(4000) < np.where(X[:, 2] == 1, 0.8, 0.3))
    >>> model = MultiSCARClassifier(propensity_features=[2]).fit(X, s)
    >>> model.label_frequencies_.round(1)
    array([0.3, 0.8])
    """

    _parameter_constraints: dict = (
        EM_CONSTRAINTS | POS_LABEL | {"propensity_features": "no_validation"}
    )

    def __init__(
        self,
        propensity_features=(),
        *,
        decay=0.9,
        C=1.0,
        stop="slope",
        window=10,
        tol=None,
        max_iter=500,
        pos_label=None,
    ):
        self.propensity_features = propensity_features
        self.decay = decay
        self.C = C
        self.stop = stop
        self.window = window
        self.tol = tol
        self.max_iter = max_iter
        self.pos_label = pos_label

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit one SCAR model per stratum.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows, labelled and unlabelled together.
        y : array-like of shape (n_rows,)
            The observed labels s: 1 labelled, 0 or missing unlabelled (or other values, see
            ``pos_label``).
        sample_weight : array-like of shape (n_rows,), default=None
            How many rows each row counts for.

        Returns
        -------
        self
        """
        given = self._check_fit(X, y, sample_weight)
        X, labelled = given.X, given.rows.column("labelled")
        weight = given.rows.column("weights")
        names = getattr(self, "feature_names_in_", None)
        columns = resolve_features(self.propensity_features, names, X.shape[1])
        self.propensity_features_ = columns
        grouped = group_rows(given.rows, columns)
        if grouped is None:
            raise ValueError(
                "propensity_features take too many distinct values for one model each; "
                "MultiSCARClassifier needs discrete columns. Bin them, or use SAREMClassifier."
            )
        self.strata_, rows = grouped
        codes = rows.column("codes") if len(columns) else np.zeros(X.shape[0], dtype=np.intp)
        self.estimators_, self.label_frequencies_ = [], np.zeros(len(self.strata_))
        positives = 0.0
        for stratum in range(len(self.strata_)):
            rows = codes == stratum
            model = self._fit_stratum(X[rows], labelled[rows], weight[rows])
            self.estimators_.append(model)
            if model is not None:
                c, share = model.label_frequency_, model.class_prior_
            else:
                share = float(labelled[rows].any())  # all labelled, or none
                c = share
            self.label_frequencies_[stratum] = c
            positives += share * weight[rows].sum()
        self._warn_strata(np.bincount(codes, weights=labelled, minlength=len(self.strata_)))
        fitted = [model for model in self.estimators_ if model is not None]
        self.n_iter_ = max((model.n_iter_ for model in fitted), default=0)
        self.converged_ = all(model.converged_ for model in fitted)
        self.history_ = self._history(np.bincount(codes, weights=weight))
        self.class_prior_ = float(positives / weight.sum())
        labels = float(np.average(labelled, weights=weight))
        self.label_frequency_ = min(labels / self.class_prior_, 1.0)
        return self

    def _history(self, weight: np.ndarray) -> dict[str, np.ndarray]:
        """Of all strata together; one that has stopped keeps its last values."""
        steps = np.arange(self.n_iter_)
        strata = list(zip(self.estimators_, self.label_frequencies_, weight, strict=True))
        share = sum(w for model, _, w in strata if model is not None)
        history = {name: np.zeros(self.n_iter_) for name in History.NAMES}
        for model, c, w in strata:
            if model is None:
                history["class_prior"] += c * w / weight.sum()  # all rows positive, or none
                continue
            for name, values in model.history_.items():
                scale = {"class_prior": w / weight.sum(), "slope": w / share}.get(name, 1.0)
                history[name] += scale * values[np.minimum(steps, len(values) - 1)]
        return history

    def _fit_stratum(self, X, labelled, weight):
        if labelled.all() or not labelled.any():
            return None
        model = SAREMClassifier(**{name: getattr(self, name) for name in EM_CONSTRAINTS})
        rows = RowBlocks(X).attach(labelled=labelled, weight=weight)
        return model._fit_rows(rows, np.array([False, True]))

    def _warn_strata(self, n_labelled) -> None:
        bare, few = int((n_labelled == 0).sum()), int((n_labelled < FEW_LABELS).sum())
        if few and len(n_labelled) > 1:
            text = (
                f"{few} of {len(n_labelled)} strata have fewer than {FEW_LABELS} labelled rows, "
                f"{bare} have none and predict 0. Name fewer propensity features, or use "
                "SAREMClassifier, which learns across strata."
            )
            warn(DataWarning("sparse-strata", text))

    def _by_stratum(self, X, value) -> np.ndarray:
        """``value(stratum, rows of X)`` for each row; 0 where the configuration is new."""
        Xe = np.asarray(_dense(X[:, self.propensity_features_]), dtype=float)
        out = np.zeros(X.shape[0])
        for stratum, configuration in enumerate(self.strata_):
            rows = np.flatnonzero((Xe == configuration).all(axis=1))
            if len(rows):
                out[rows] = value(stratum, X[rows])
        return out

    def _class_probability(self, X) -> np.ndarray:
        def f(stratum, X):
            model = self.estimators_[stratum]
            if model is None:
                return self.label_frequencies_[stratum]  # 1 if all were labelled, 0 if none
            return model.predict_proba(X)[:, 1]

        return self._by_stratum(X, f)

    def _logit(self, X) -> np.ndarray:
        f = np.clip(self._class_probability(X), 1e-15, 1 - 1e-15)
        return np.log(f) - np.log1p(-f)

    def _propensity(self, X) -> np.ndarray:
        return self._by_stratum(X, lambda stratum, X: self.label_frequencies_[stratum])


def _dense(X):
    return X.toarray() if sparse.issparse(X) else X
