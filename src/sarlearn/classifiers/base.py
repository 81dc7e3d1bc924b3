"""What the learners share: input checks, predictions, fitted attributes, warnings."""

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from sarlearn._compat import CallbackSupportMixin, Interval, StrOptions, reporter
from sarlearn._engine import likelihood
from sarlearn._engine.blocks import Block, RowBlocks
from sarlearn._engine.likelihood import evidence_of_labels, mean_of_sigmoids, shift_for_mean
from sarlearn._engine.rows import Rows, excluding
from sarlearn._engine.stopping import TOLERANCE
from sarlearn._labels import fill_labels
from sarlearn._validation import (
    Audit,
    check_audit,
    check_audited,
    check_propensity,
    check_weights,
    encode_labels,
    encode_new_labels,
    pointing_to_tables,
    resolve_features,
    validate_data,
)
from sarlearn._words import checked_sentence, known_sentence, model_summary, range_sentence
from sarlearn.backends import in_memory, lazily, read_rows, refuse_dask
from sarlearn.exceptions import InputWarning, warn

EM_CONSTRAINTS: dict = {
    "decay": [Interval(Real, 0, 1, closed="right")],
    "C": [Interval(Real, 0, None, closed="neither")],
    "stop": [StrOptions(set(TOLERANCE))],
    "window": [Interval(Integral, 2, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="neither"), None],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
}
POS_LABEL: dict = {"pos_label": [Real, str, "boolean", None]}


# A propensity of 0 is taken for so near to it: one label there is no proof.
LEAST_PROPENSITY = 1e-15
# What a background sample weighs, in units of the labelled rows. Between 10 and 100 the answer
# still moves with the number of background rows; at 1,000 EM crawls.
BACKGROUND = 100.0


@dataclass
class Input:
    """Checked input of a fit.

    ``X`` is the matrix, where it is in memory; ``kept`` says which rows of the input are left, None
    where all are; ``audit`` what someone has found of some rows.
    """

    rows: Rows
    X: Any = None
    kept: np.ndarray | None = None
    audit: Audit | None = None


class PUClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """What the learners share: input checks, predictions from ``f``, scikit-learn's tags.

    Every learner has the parameter ``pos_label``: the label value that means labelled.
    """

    pos_label = None

    _ensure_all_finite: bool | str = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        # Trained on fully labelled data a PU learner rightly doubts the negatives.
        tags.classifier_tags.poor_score = True
        models = (getattr(self, name, None) for name in ("classifier", "propensity_estimator"))
        tags.input_tags.sparse = all(
            get_tags(model).input_tags.sparse for model in models if model is not None
        )
        return tags

    def _input(self, X, s, sample_weight=None, *audits, propensity=None) -> "Input":
        """Rows that know their labels, weights, propensities and audits, wherever they lie."""
        if in_memory(X):
            given = self._check_fit(X, s, sample_weight, propensity)
        else:
            given = Input(read_rows(self, X, s, sample_weight, propensity))
        return with_audits(given, *audits) if audits else given

    def _check_fit(self, X, s, sample_weight=None, propensity=None) -> "Input":
        """Rows in memory, without those of weight zero."""
        refuse_dask(X, type(self).__name__)
        s = fill_labels(s, pos_label=self.pos_label)
        with pointing_to_tables(X, type(self).__name__):
            X, s = validate_data(
                self,
                X,
                s,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order=None,
                ensure_all_finite=self._ensure_all_finite,
            )
        weight = check_weights(sample_weight, X)
        if weight is not None and not weight.all():
            # A row that counts for nothing is as good as absent; the start must not see it.
            kept = weight > 0
            X, s, weight = X[kept], s[kept], weight[kept]
        else:
            kept = None
        labelled, self.classes_ = encode_labels(s, pos_label=self.pos_label)
        rows = RowBlocks(X).attach(labelled=labelled, weight=weight)
        if propensity is not None:
            if kept is not None and np.ndim(propensity) == 1 and len(propensity) == len(kept):
                propensity = np.asarray(propensity)[kept]
            e = check_propensity(propensity, labelled)
            rows = rows.attach(e=e, not_e=1.0 - e)
        return Input(rows, X, kept)

    def _class_rows(self, given: "Input") -> "Input":
        """The input with the columns of the class model chosen; says which in an attribute."""
        n_columns = given.rows.shape[1]
        names = getattr(self, "feature_names_in_", None)
        chosen = np.arange(n_columns)
        if self.classifier_features is not None:
            chosen = resolve_features(
                self.classifier_features, names, n_columns, what="classifier_features"
            )
            if not len(chosen):
                raise ValueError(
                    "classifier_features is empty: the class model needs at least one column. "
                    "None takes all."
                )
        self.classifier_features_ = chosen
        left_out = np.setdiff1d(np.arange(n_columns), chosen)
        return replace(given, rows=excluding(given.rows, left_out))

    def _class_columns(self, X):
        """The columns that a classifier of the user's is given."""
        columns = getattr(self, "classifier_features_", None)
        return X if columns is None or len(columns) == X.shape[1] else X[:, columns]

    def _loop(self) -> dict:
        """How EM runs, and when it ends."""
        return {
            "stop": self.stop,
            "window": self.window,
            "tol": self.tol or TOLERANCE[self.stop],
            "max_iter": self.max_iter,
            "report": reporter(self, self.max_iter),
        }

    def _shift_to_mean(self, given: "Input") -> None:
        """Have ``f`` the class prior as its mean over the rows of the fit, by a shift of logits."""
        linear = hasattr(self, "coef_")
        if linear:
            eta = given.rows.matvec(self.coef_[0]) + self.intercept_[0]
        else:
            eta = self._logit(given.X)
        shift = shift_to_mean(eta, given.rows.column("weights"), self.class_prior_)
        if linear:
            self.intercept_: np.ndarray = self.intercept_ + shift
        else:
            self.classifier_shift_ = shift

    def _check_predict(self, X):
        check_is_fitted(self)
        return validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            reset=False,
            ensure_all_finite=self._ensure_all_finite,
        )

    def summary(self) -> str:
        """What was learned, in words: class prior, label frequency, and how sure they are.

        Returns
        -------
        str
            A sentence per line; ``print`` it.
        """
        check_is_fitted(self)
        rounds = None
        if hasattr(self, "n_iter_"):
            rounds = int(self.n_iter_), bool(getattr(self, "converged_", True))
        return model_summary(
            type(self).__name__,
            float(self.class_prior_),
            getattr(self, "label_frequency_", None),
            self._sure(),
            rounds,
            getattr(self, "n_tree_rows_", None),
        )

    def _sure(self) -> str | None:
        """How sure the class prior is, and what that rests on."""
        if not hasattr(self, "class_prior_range_"):
            return None
        low, high = self.class_prior_range_
        if getattr(self, "class_prior_by_design_", False):
            return checked_sentence(
                self.n_audited_, low, high, getattr(self, "class_prior_from_labels_", None)
            )
        if getattr(self, "class_prior", None) is not None:
            return known_sentence(low, high, self.class_prior_from_labels_)
        return range_sentence(low, high, self.certainty_)

    def _class_probability(self, X) -> np.ndarray:
        return expit(self._logit(X))

    def _logit(self, X) -> np.ndarray:
        """Logit of ``f`` on checked rows: of the linear model, or of any other classifier."""
        if hasattr(self, "coef_"):
            return RowBlocks(X).matvec(self.coef_[0]) + self.intercept_[0]
        f = self.classifier_.predict_proba(self._class_columns(X))[:, 1]
        return logit(np.clip(f, 1e-15, 1 - 1e-15)) + getattr(self, "classifier_shift_", 0.0)

    @lazily()
    def decision_function(self, X) -> np.ndarray:
        """Logit of ``P(y=1|x)``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows to predict for.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._logit(self._check_predict(X))

    @lazily(lambda model: {"columns": model.classes_})
    def predict_proba(self, X) -> np.ndarray:
        """``P(y=0|x)`` and ``P(y=1|x)``: the true class, not the label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows to predict for.

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        f = self._class_probability(self._check_predict(X))
        return np.column_stack([1 - f, f])

    @lazily(lambda model: {"dtype": model.classes_.dtype})
    def predict(self, X) -> np.ndarray:
        """The more probable class, in the values that ``fit`` saw as labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows to predict for.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        f = self._class_probability(self._check_predict(X))
        return self.classes_[(f > 0.5).astype(int)]

    def score(self, X, y, sample_weight=None) -> float:
        """Mean of ``log P(s|x)`` over the rows: how well the labels are explained.

        No true class is needed, and the right model has the highest expected score; accuracy
        against the labels is highest for a model that finds no hidden positive. So leave
        ``scoring`` at its default in ``cross_val_score`` and ``GridSearchCV``. Compare scores on
        the same rows only; they are negative, and 0 would be perfect. Class and propensity are
        judged together: a wrong pair with the right product scores as well.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Observed labels, in the values that ``fit`` saw; a missing one means unlabelled.
        sample_weight : array-like of shape (n_rows,), default=None
            What each row counts.

        Returns
        -------
        float
        """
        return self._mean_score(X, y, sample_weight)

    def _mean_score(self, X, y, sample_weight, **about) -> float:
        found = self._log_chance(X, y, **about)
        if isinstance(found, np.ndarray):
            weight = check_weights(sample_weight, found)
            if not getattr(self, "single_sample", True):  # as in fit
                weight = np.ones(len(found)) if weight is None else weight
                labelled = encode_new_labels(y, self.classes_, len(found))
                share = np.average(labelled, weights=weight)
                if 0 < share < 1:
                    weight = np.where(labelled, weight, BACKGROUND * share / (1 - share) * weight)
            return float(np.average(found, weights=weight))
        if sample_weight is None:
            return float(found.mean())
        return float((found * sample_weight).sum() / sample_weight.sum())

    @lazily()
    def _log_chance(self, X, s, **about) -> np.ndarray:
        """``log P(s|x)`` of each row."""
        X = self._check_predict(X)
        labelled = encode_new_labels(s, self.classes_, X.shape[0])
        e = np.maximum(self._propensity(X, **about), LEAST_PROPENSITY)
        f, not_f = likelihood.sigmoids(np.array(self._logit(X), dtype=np.float64))
        seen = evidence_of_labels(e, 1.0 - e, labelled)
        return np.log(likelihood.terms(f, not_f, seen).chance)

    def _posterior(self, eta: np.ndarray, s, e: np.ndarray, audited=None) -> np.ndarray:
        """``P(y=1|x,s)`` of rows with logits ``eta`` of the class and propensities ``e``."""
        s = np.full(len(eta), self.classes_[0]) if s is None else s
        labelled = encode_new_labels(s, self.classes_, len(eta))
        found = posterior(eta + getattr(self, "posterior_shift_", 0.0), e, labelled)
        if audited is None:
            return found
        known = check_audited(audited, labelled)
        return np.where(np.isnan(known) | labelled, found, known)


class LearnsPropensity(PUClassifier):
    """A learner that also learned the propensity of every row."""

    def _propensity(self, X) -> np.ndarray:
        raise NotImplementedError

    @lazily()
    def predict_propensity(self, X) -> np.ndarray:
        """``e(x) = P(s=1|y=1,x)``: the chance that a positive row like this is labelled.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The rows to predict for.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._propensity(self._check_predict(X))

    @lazily()
    def predict_posterior(self, X, s=None, audited=None) -> np.ndarray:
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

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        X = self._check_predict(X)
        return self._posterior(self._logit(X), s, self._propensity(X), audited)


def shift_to_mean(eta: np.ndarray, weight: np.ndarray, goal: float) -> float:
    """What to add to logits for the mean of their probabilities to be ``goal``."""
    goal = float(np.clip(goal, 1e-9, 1 - 1e-9))
    return shift_for_mean(mean_of_sigmoids(eta, weight), goal, tol=1e-14 * goal)


def posterior(eta: np.ndarray, e: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """``P(y=1|x,s)`` from logits of the class probability and propensities."""
    f, not_f = likelihood.sigmoids(np.array(eta, dtype=np.float64))
    # f = e = 1 on an unlabelled row: the model excludes what was seen; f is taken a little lower.
    return likelihood.terms(f, not_f, evidence_of_labels(e, 1.0 - e, labelled)).target


def warn_every_column(columns, class_columns) -> None:
    """Where the class model has no column of its own."""
    if len(columns) and not len(np.setdiff1d(class_columns, columns)):
        text = (
            "Every column is a propensity feature: class and propensity cannot be told apart from "
            "such data. Leave out of propensity_features what does not drive labelling."
        )
        warn(InputWarning("every-column", text))


def with_audits(given: Input, audited, probability=None, round_of=None) -> Input:
    """The input of a fit, with rows that know which classes audits have found."""
    labelled = given.rows.column("labelled")
    columns = [_in_memory(column, given.kept) for column in (audited, probability, round_of)]
    audit = check_audit(*columns, labelled)  # type: ignore[call-arg]
    if audit is None:
        return given
    rows = given.rows.attach(audited=audit.known).map(_without_empty)
    return replace(given, rows=rows, audit=audit)


def _in_memory(column, kept: np.ndarray | None):
    """A column in memory, without the rows of weight zero."""
    if column is None:
        return None
    column = column.compute() if hasattr(column, "compute") else column
    if kept is None:
        return column
    column = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    return column[kept] if len(column) == len(kept) else column


def _without_empty(block: Block) -> Block:
    """Blocks in which nobody has looked stay as they were, and compiled."""
    return block.with_columns(audited=None) if np.isnan(block.audited).all() else block
