"""Several chances to be labelled: visits, registries, years, annotators."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from sarlearn._compat import Interval, fit_context
from sarlearn._engine.blocks import Block, RowBlocks
from sarlearn._engine.chances import ChanceFit, Models, fit_chances, models_at, posterior_terms
from sarlearn._engine.columns import conditioned
from sarlearn._validation import (
    check_audited,
    check_weights,
    encode_labels,
    encode_new_labels,
    number_column,
    resolve_features,
    validate_data,
)
from sarlearn.backends import refuse_dask
from sarlearn.classifiers._store import (
    store_prior,
    store_range,
    warn_not_converged,
)
from sarlearn.classifiers.base import Input, PUClassifier
from sarlearn.exceptions import TrustWarning, warn

# Half the width of a 95% interval, in standard errors.
Z = 1.959963984540054


class RepeatedSARClassifier(PUClassifier):
    """Learn from rows that had several chances to be labelled, such as visits or registries.

    Rows that were labelled at one chance and not at another show how often positives are missed, so
    the share of positives is identified even if no row is surely positive. This is the occupancy
    model of ecology (MacKenzie et al. 2002; ``occu`` of R's *unmarked*), fitted by maximum
    likelihood.

    It assumes that the class of a row does not change between chances, and that chances are
    independent given the class and the attributes. :func:`sarlearn.inspection.history_test` checks
    the latter.

    Parameters
    ----------
    propensity_features : names, indices, boolean mask, or callable on the names, default=()
        Columns of ``X`` on which the propensity of every chance depends, beside the attributes of
        the chances.
    classifier_features : names, indices, boolean mask, or callable on the names, default=None
        Columns of the class model; None is all.
    C, propensity_C : float > 0 or inf, default=1e6
        Inverse strength of the L2 penalties; the default hardly penalises.
    tol : float > 0, default=1e-12
        The search ends when a step would gain less log-likelihood per row.
    max_iter : int >= 1, default=500
        Passes over the data, from each of at least six starts.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        0 and 1, or the two label values where there is one label per row.
    class_prior_ : float
        Mean of ``f`` over the rows.
    class_prior_range_ : tuple of float
        Its 95% interval by the information of the likelihood, and the class priors of other
        maxima that are about as high: it holds if the model does.
    certainty_ : {"well", "roughly", "not at all"}
        How well the labels determine the class prior, by the width of the range.
    label_frequency_ : float
        Share of the positives that is labelled at some chance.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Of the class model, in logits.
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_attributes) and (1,)
        Of the propensity: first those of ``propensity_features``, then those of ``chances``.
    propensity_terms_ : list of str
        What these coefficients belong to.
    propensity_features_, classifier_features_ : ndarray of int
        Columns of the two models.
    log_likelihood_ : float
        Of the labels, without the penalties.
    n_iter_ : int
        Passes over the data, of all starts.
    converged_ : bool
        Whether the best search converged within ``max_iter`` passes.
    history_ : dict
        ``log_likelihood``, ``penalized_log_likelihood`` and ``class_prior`` of each step of the
        best search; ``slope`` is NaN.
    n_audited_ : int
        Rows without a label whose class was given.

    See Also
    --------
    SAREMClassifier : The paper's method.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import RepeatedSARClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-X[:, 0]))
    >>> rain = rng.normal(size=(2000, 3))                    # on each of three visits
    >>> e = 1 / (1 + np.exp(0.5 + rain))
    >>> s = y[:, None] & (rng.random((2000, 3)) < e)
    >>> model = RepeatedSARClassifier().fit(X, s, chances=rain[:, :, None])
    >>> round(model.class_prior_, 2), round(float(y.mean()), 2)
    (0.5, 0.49)
    """

    _parameter_constraints: dict = {
        "propensity_features": "no_validation",
        "classifier_features": "no_validation",
        "C": [Interval(Real, 0, None, closed="right")],
        "propensity_C": [Interval(Real, 0, None, closed="right")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        propensity_features=(),
        *,
        classifier_features=None,
        C=1e6,
        propensity_C=1e6,
        tol=1e-12,
        max_iter=500,
    ):
        self.propensity_features = propensity_features
        self.classifier_features = classifier_features
        self.C = C
        self.propensity_C = propensity_C
        self.tol = tol
        self.max_iter = max_iter

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, chances=None, sample_weight=None, audited=None):
        """Learn ``f`` and ``e`` from the labels of all chances.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Columns of the class, and of the propensity where named.
        y : array-like of shape (n_rows, n_chances)
            Labels of every chance: 1 labelled, 0 not, missing where there was no such chance. One
            label per row is one chance.
        chances : array-like of shape (n_rows, n_chances, n_attributes), default=None
            Attributes of each chance, such as date, weather or observer; of shape
            (n_rows, n_chances) where there is one.
        sample_weight : array-like of shape (n_rows,), default=None
            How many rows each row stands for.
        audited : array-like of shape (n_rows,), default=None
            The true class, 1 or 0, where someone has looked; missing elsewhere.

        Returns
        -------
        self
        """
        refuse_dask(X, "RepeatedSARClassifier")
        X, y = self._checked(X, y)
        weight = check_weights(sample_weight, X)
        if weight is not None and not weight.all():  # a row of weight zero is absent
            kept = weight > 0
            X, y, weight = X[kept], y[kept], weight[kept]
            chances, audited = _part(chances, kept), _part(audited, kept)
        visits = self._visits(y, X.shape[0])
        self.n_chances_, labelled = visits.shape[1], (visits == 1).any(axis=1)
        known = None if audited is None else check_audited(audited, labelled)
        names = getattr(self, "feature_names_in_", None)
        self.propensity_features_ = resolve_features(self.propensity_features, names, X.shape[1])
        attributes = self._attributes(X, chances, visits)
        columns = self.propensity_features_
        own = attributes.shape[2] - len(columns)
        self.propensity_terms_ = [f"x{j}" if names is None else str(names[j]) for j in columns]
        self.propensity_terms_ += [f"attribute {j} of the chance" for j in range(own)]
        self._say_what_is_identified(visits, attributes)
        rows = RowBlocks(X).attach(
            visits=visits,
            chances=attributes,
            weight=weight,
            audited=known,
        )
        share = float(np.average(labelled, weights=weight))
        given = self._class_rows(Input(conditioned(rows), X))
        fit = fit_chances(
            given.rows,
            C=self.C,
            propensity_C=self.propensity_C,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self._store(fit, share)
        self.n_audited_ = 0 if known is None else int(np.sum(~np.isnan(known) & ~labelled))
        return self

    def _checked(self, X, y) -> tuple[Any, np.ndarray]:
        shape = () if y is None else np.asarray(y).shape
        if len(shape) < 2 or (shape[1] == 1 and not _has_gaps(y)):
            return validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        return X, check_visits(y, X.shape[0], needs_label=False)

    def _visits(self, y: np.ndarray, n_rows: int) -> np.ndarray:
        if y.ndim == 1:
            labelled, self.classes_ = encode_labels(y)
            return labelled[:, None].astype(float)
        self.classes_ = np.array([0, 1])
        return check_visits(y, n_rows)

    def _attributes(self, X, chances, visits) -> np.ndarray:
        """Attributes of every chance: columns of the row, then the chance's own."""
        columns = X[:, self.propensity_features_]
        columns = np.asarray(columns.toarray() if sparse.issparse(columns) else columns)
        repeated = np.repeat(columns[:, None, :], visits.shape[1], axis=1)
        own = check_chances(chances, visits)
        return np.concatenate([repeated, own], axis=2).astype(np.float64)

    def _say_what_is_identified(self, visits, attributes) -> None:
        mean = float(np.sum(~np.isnan(visits))) / len(visits)
        held = np.where(np.isnan(visits)[:, :, None], np.nan, attributes)
        first = np.take_along_axis(held, np.argmax(~np.isnan(visits), axis=1)[:, None, None], 1)
        self._chances_alike = bool(np.all(np.isnan(held) | (held == first)))
        if mean < 2:
            text = (
                f"Rows have {mean:.2f} chances on average. With fewer than two, class and "
                "propensity are told apart by the shape of the two models alone: the class prior "
                "is not reliable."
            )
            warn(TrustWarning("few-chances", text))
        elif self._chances_alike and visits.shape[1] == 2:
            text = (
                "2 chances per row without attributes of their own identify one propensity for "
                "both of them; whether the chances depend on each other cannot be seen from them."
            )
            warn(TrustWarning("equal-chances", text))

    def _sure(self) -> str:
        low, high = self.class_prior_range_
        text = (
            f"The class prior lies at {low:.1%} to {high:.1%}, a 95% interval that holds if the "
            "model does: the class does not change between chances, and chances are independent "
            "given the attributes."
        )
        if self._chances_alike and self.n_chances_ > 1:
            text += (
                " All chances of a row have the same attributes, so one propensity is identified "
                "for all of them."
            )
        return text

    def _store(self, fit: ChanceFit, share: float) -> None:
        self.coef_, self.intercept_ = fit.theta[None, :-1], fit.theta[-1:]
        self.propensity_coef_, self.propensity_intercept_ = fit.phi[None, :-1], fit.phi[-1:]
        store_prior(self, fit.class_prior, share)
        # On the scale of log odds, on which it stays between 0 and 1.
        inside = float(np.clip(fit.class_prior, 1e-12, 1 - 1e-12))
        spread = Z * fit.error / (inside * (1 - inside))
        ends = logit(inside) + np.array([-spread, spread])
        low, high = expit(ends).tolist()
        store_range(self, min(low, fit.other_maxima[0]), max(high, fit.other_maxima[1]))
        self.log_likelihood_, self.n_iter_ = fit.log_likelihood, fit.passes
        self.converged_, self.history_ = fit.converged, fit.history
        if not fit.converged:
            warn_not_converged(self.max_iter)

    def predict_propensity(self, X, chances=None) -> np.ndarray:
        """``e``: the chance that a positive row like this is labelled, at each chance.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Columns of the class, and of the propensity where named.
        chances : array-like of shape (n_rows, n_chances, n_attributes), default=None
            As in ``fit``; without attributes of chances all chances are alike.

        Returns
        -------
        ndarray of shape (n_rows, n_chances), or (n_rows,) without ``chances``
            Probabilities.
        """
        X = self._check_predict(X)
        n_chances = 1 if chances is None else np.shape(chances)[1]
        block = self._block(X, np.zeros((X.shape[0], n_chances)), chances)
        e = self._models(block).e
        return e[:, 0] if chances is None else e

    def predict_posterior(self, X, s, chances=None, audited=None) -> np.ndarray:
        """``P(y=1|x, s)``: 1 for rows labelled at some chance.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Columns of the class, and of the propensity where named.
        s : array-like of shape (n_rows, n_chances)
            Labels of every chance, as in ``fit``.
        chances : array-like of shape (n_rows, n_chances, n_attributes), default=None
            Attributes of each chance, as in ``fit``.
        audited : array-like of shape (n_rows,), default=None
            The true class, 1 or 0, where someone has looked; missing elsewhere.

        Returns
        -------
        ndarray of shape (n_rows,)
            Probabilities.
        """
        X = self._check_predict(X)
        block = self._labelled_block(X, s, chances)
        if audited is not None:
            block.audited = check_audited(audited, (block.visits == 1).any(axis=1))
        return posterior_terms(block, self._models(block))[0].target

    def score(self, X, y, sample_weight=None, chances=None) -> float:
        """Mean of ``log P(s|x)`` over the rows: the labels of all chances of a row together.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Columns of the class, and of the propensity where named.
        y : array-like of shape (n_rows, n_chances)
            Labels of every chance, as in ``fit``.
        sample_weight : array-like of shape (n_rows,), default=None
            What each row counts.
        chances : array-like of shape (n_rows, n_chances, n_attributes), default=None
            Attributes of each chance, as in ``fit``.

        Returns
        -------
        float
        """
        X = self._check_predict(X)
        block = self._labelled_block(X, y, chances)
        chance = posterior_terms(block, self._models(block))[0].chance
        return float(np.average(np.log(chance), weights=check_weights(sample_weight, chance)))

    def _labelled_block(self, X, s, chances) -> Block:
        if np.asarray(s).ndim < 2:
            s = encode_new_labels(s, self.classes_, X.shape[0])[:, None].astype(float)
        return self._block(X, check_visits(s, X.shape[0], needs_label=False), chances)

    def _block(self, X, visits, chances) -> Block:
        attributes = self._attributes(X, chances, visits)
        if attributes.shape[2] != self.propensity_coef_.shape[1]:
            raise ValueError(
                f"The propensity was fitted with {self.propensity_coef_.shape[1]} attributes, of "
                f"which {len(self.propensity_features_)} are columns of X; chances gives "
                f"{attributes.shape[2] - len(self.propensity_features_)}."
            )
        return Block(slice(0, X.shape[0]), X, visits=visits, chances=attributes)

    def _models(self, block: Block) -> Models:
        theta = np.append(self.coef_[0], self.intercept_)
        phi = np.append(self.propensity_coef_[0], self.propensity_intercept_)
        return models_at(block, theta, phi)


def _part(values, kept: np.ndarray):
    """Some rows of what was given; what has another length is refused later."""
    values = None if values is None else np.asarray(values)
    return values[kept] if values is not None and len(values) == len(kept) else values


def _has_gaps(y) -> bool:
    values = np.asarray(y, dtype=object)
    return bool(np.any(values != values)) or any(value is None for value in values.ravel())


def check_visits(s, n_rows: int, *, needs_label: bool = True) -> np.ndarray:
    """Labels of several chances as float64 of shape (n_rows, n_chances), gaps as NaN."""
    if hasattr(s, "to_numpy"):
        s = s.to_numpy()
    visits = np.asarray(s)
    if visits.ndim != 2 or len(visits) != n_rows:
        raise ValueError(
            f"The labels of several chances form a table of {n_rows} rows, one column per chance; "
            f"got shape {visits.shape}."
        )
    columns = [number_column(column, f"chance {j}", n_rows) for j, column in enumerate(visits.T)]
    visits = np.column_stack(columns)
    odd = ~(np.isnan(visits) | (visits == 0) | (visits == 1))
    if odd.any():
        row, chance = np.argwhere(odd)[0]
        raise ValueError(
            "Labels of chances must be 1 (labelled), 0 (not labelled) or missing; row "
            f"{row}, chance {chance} has {visits[row, chance]:g}."
        )
    if needs_label:
        empty = np.isnan(visits).all(axis=0)
        if empty.any():
            raise ValueError(f"Chance {int(np.argmax(empty))} is missing in every row.")
        if not (visits == 1).any():
            raise ValueError(
                f"No row is labelled at any of the {visits.shape[1]} chances: nothing can be "
                "learned about the positives."
            )
    return visits


def check_chances(chances, visits: np.ndarray) -> np.ndarray:
    """Attributes of chances as float64 of shape (n_rows, n_chances, n_attributes)."""
    if chances is None:
        return np.empty((*visits.shape, 0))
    values = np.asarray(chances, dtype=np.float64)
    values = values[:, :, None] if values.ndim == 2 else values
    if values.ndim != 3 or values.shape[:2] != visits.shape:
        raise ValueError(
            f"chances must have the shape {visits.shape} of the labels, and one more axis for "
            f"several attributes; got {np.shape(chances)}."
        )
    bad = ~np.isfinite(values) & ~np.isnan(visits)[:, :, None]
    if bad.any():
        row, chance, attribute = np.argwhere(bad)[0]
        raise ValueError(
            f"chances holds {values[row, chance, attribute]!s} in row {row}, chance {chance}, "
            f"attribute {attribute}, where there is a label."
        )
    return np.where(np.isnan(visits)[:, :, None], 0.0, values)
