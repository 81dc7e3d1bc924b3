"""Baselines that learn a propensity of every row: TM and PGlin."""

from numbers import Integral

import numpy as np
from scipy.special import expit, logit

from sarlearn._compat import Interval
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.logistic import fit_logistic
from sarlearn._validation import resolve_features
from sarlearn.baselines._base import POSITIVE, SMALLEST, Baseline, quantile, solvable
from sarlearn.classifiers.base import POS_LABEL, LearnsPropensity
from sarlearn.exceptions import warn

# The loop has come to rest where a round moves no probability by more than this.
SETTLED = 1e-4


class TwoModelsClassifier(Baseline, LearnsPropensity):
    r"""TM: classifier and propensity by turns, the latter on rows that look positive.

    Starting from the naive :math:`s(x) = P(s=1|x)` and :math:`e = (s + 1)/2`, repeat:

    - fit :math:`f` with targets 1 where labelled, else :math:`\frac{1-e}{e}\frac{s(x)}{1-s(x)}`;
    - fit :math:`e` to the labels of the labelled rows and of those with :math:`f` above the
      :math:`P(s=1)` quantile of :math:`f` among the labelled;
    - :math:`e \leftarrow \max(e, s(x))`, :math:`s(x) \leftarrow e f`.

    Parameters
    ----------
    propensity_features : names, indices, mask, callable on the names, or "all", default="all"
        Columns of the propensity model. ``"all"`` is as published: the method claims to need no
        such knowledge, but is better with it. Empty is none: one propensity for all rows.
    C : float > 0, default=1.0
        Inverse strength of the L2 penalty of both models.
    n_iter : int >= 1, default=100
        Rounds, the published number. All are made, whether or not the loop comes to rest before.
    pos_label : int, str or None, default=None
        The label value that means labelled, as in :class:`~sarlearn.SAREMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two label values; the second one means labelled.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Of the classifier, in logits.
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_propensity_features) and (1,)
        Of the propensity model, in logits.
    propensity_features_ : ndarray of int
        Indices of the propensity columns.
    n_iter_ : int
        Rounds made.
    converged_ : bool
        Whether the last round moved no class probability and no propensity by 0.0001 or more.
    history_ : dict of ndarray
        ``class_prior`` of every round.
    class_prior_, label_frequency_ : float
        Mean class probability over the rows of ``fit``, and ``P(s=1) / class_prior_``.

    See Also
    --------
    sarlearn.SAREMClassifier :
        Classifier and propensity learned together from biased labels (SAR-EM).
    SquareRootPropensityClassifier :
        The naive probability, split evenly between class and propensity.

    References
    ----------
    K. Furmańczyk, J. Mielniczuk, W. Rejchel and P. Teisseyre, Double logistic regression approach
    to biased positive-unlabeled data, ECAI 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.baselines import TwoModelsClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = 3 * X[:, 0] + X[:, 1] > 0
    >>> s = y & (rng.random(2000) < 1 / (1 + np.exp(-2 * X[:, 2])))
    >>> model = TwoModelsClassifier().fit(X, s)
    >>> round(float(np.mean(model.predict(X) == y)), 2)
    0.92
    """

    _parameter_constraints: dict = POS_LABEL | {
        "propensity_features": "no_validation",
        "C": POSITIVE,
        "n_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, propensity_features="all", *, C=1.0, n_iter=100, pos_label=None):
        self.pos_label = pos_label
        self.propensity_features = propensity_features
        self.C = C
        self.n_iter = n_iter

    def _learn(self, X, labelled, weight) -> None:
        chosen = self.propensity_features
        if chosen is None:
            message = "propensity_features=None will mean none in the next release; write 'all'."
            warn(FutureWarning(message))
            chosen = "all"
        names = getattr(self, "feature_names_in_", None)
        columns = resolve_features(chosen, names, X.shape[1])
        self.propensity_features_ = columns
        rows, rows_e = solvable(X, weight), solvable(X[:, columns], weight)
        of_row = np.ones(len(labelled)) if weight is None else weight
        share = float(np.average(labelled, weights=weight))
        theta = self._linear(rows, labelled.astype(float))
        s = expit(self._score(X))
        e, theta_e = (s + 1) / 2, np.zeros(len(columns) + 1)
        found = s, s
        priors = []
        for _ in range(self.n_iter):
            theta = self._linear(rows, self._target(labelled, e, s), theta)
            f = expit(self._score(X))
            bar = quantile(f[labelled], share, None if weight is None else weight[labelled])
            chosen = (f > bar) | labelled
            theta_e = fit_logistic(
                rows_e, labelled.astype(float), of_row * chosen, self.C, start=theta_e
            ).theta
            in_user_units = rows_e.units.to_user(theta_e)
            self.propensity_coef_ = in_user_units[None, :-1]
            self.propensity_intercept_ = in_user_units[-1:]
            before, found = found, (f, self._propensity(X))
            e = np.maximum(found[1], s)
            s = e * f
            priors.append(float(np.average(f, weights=weight)))
        moved = max(np.abs(a - b).max() for a, b in zip(found, before, strict=True))
        self.n_iter_, self.converged_ = self.n_iter, bool(moved < SETTLED)
        self.history_ = {"class_prior": np.array(priors)}
        self._linear(rows, self._target(labelled, e, s), theta)

    @staticmethod
    def _target(labelled, e, s) -> np.ndarray:
        e, s = np.maximum(e, SMALLEST), np.minimum(s, 1 - SMALLEST)
        return np.where(labelled, 1.0, np.minimum((1 - e) / e * s / (1 - s), 1.0))

    def _propensity(self, X) -> np.ndarray:
        Xe = RowBlocks(X[:, self.propensity_features_])
        return expit(Xe.matvec(self.propensity_coef_[0]) + self.propensity_intercept_[0])


class SquareRootPropensityClassifier(Baseline, LearnsPropensity):
    r"""PGlin: the naive probability, split evenly between class and propensity.

    Assumes that the propensity is linear in the class probability, and that the surest row is
    certainly positive. With the naive :math:`s(x) = P(s=1|x)` and its maximum :math:`m` over the
    training rows,

    .. math:: e(x) = \sqrt{m\,s(x)},\qquad f(x) = \sqrt{s(x) / m}.

    Parameters
    ----------
    C : float > 0, default=1.0
        Inverse strength of the L2 penalty; the intercept is not penalised.
    pos_label : int, str or None, default=None
        The label value that means labelled, as in :class:`~sarlearn.SAREMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two label values; the second one means labelled.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Of the naive model.
    highest_ : float
        ``m``.
    class_prior_, label_frequency_ : float
        Mean class probability over the rows of ``fit``, and ``P(s=1) / class_prior_``.

    See Also
    --------
    sarlearn.SAREMClassifier :
        Classifier and propensity learned together from biased labels (SAR-EM).
    TwoModelsClassifier : Classifier and propensity by turns, the latter on rows that look positive.

    References
    ----------
    W. Gerych, T. Hartvigsen, L. Buquicchio, E. Agu and E. Rundensteiner, Recovering the propensity
    score from biased positive unlabeled data, AAAI 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.baselines import SquareRootPropensityClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 1))
    >>> f = 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> s = rng.random(5000) < f * f               # a positive is labelled with probability f
    >>> model = SquareRootPropensityClassifier().fit(X, s)
    >>> bool(np.abs(model.predict_proba(X)[:, 1] - f).mean() < 0.05)
    True
    """

    _parameter_constraints: dict = POS_LABEL | {"C": POSITIVE}

    def __init__(self, *, C=1.0, pos_label=None):
        self.pos_label = pos_label
        self.C = C

    def _learn(self, X, labelled, weight) -> None:
        self._linear(solvable(X, weight), labelled.astype(float))
        self.highest_ = float(expit(self._score(X)).max())

    def _class_probability(self, X) -> np.ndarray:
        return np.sqrt(np.minimum(expit(self._score(X)) / self.highest_, 1.0))

    def _logit(self, X) -> np.ndarray:
        return logit(np.clip(self._class_probability(X), SMALLEST, 1 - SMALLEST))

    def _propensity(self, X) -> np.ndarray:
        s = expit(self._score(X))
        return np.sqrt(np.maximum(self.highest_, s) * s)
