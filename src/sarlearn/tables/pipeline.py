"""A classifier for a table as people have it: numbers, words, yes and no, gaps."""

from collections.abc import Iterable, Sequence

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sarlearn._words import nearest
from sarlearn.backends import elsewhere
from sarlearn.tables.dates import date_source
from sarlearn.tables.encoder import TableEncoder
from sarlearn.tables.learned import LearnedAttributes
from sarlearn.tables.names import origin

__all__ = ["FromColumns", "TablePipeline", "make_table_classifier"]


class FromColumns:
    """Choose every encoded column that came from the given columns of the table.

    Passed as ``propensity_features``, so that propensity attributes are named as in the user's
    table also where a column became several: one per word, or the parts of a date. With
    ``others=True`` it chooses every column that came from another one.

    Parameters
    ----------
    columns : iterable of str
        Columns of the table.
    others : bool, default=False
        Whether to choose the encoded columns that came from other columns instead.

    See Also
    --------
    TableEncoder : Turn a data frame with mixed columns into a data frame of numbers.

    Examples
    --------
    >>> from sarlearn.tables import FromColumns
    >>> FromColumns(["insurance"])(["age", "insurance=none", "insurance=private"])
    [1, 2]
    """

    others = False

    def __init__(self, columns: Iterable[str], *, others: bool = False):
        self.columns, self.others = list(columns), others

    def __call__(self, feature_names: Sequence[str]) -> list[int]:
        origins = [origin(str(name)) for name in feature_names]
        sources = [date_source(name) for name in origins]
        for column in self.columns:
            if column not in origins and column not in sources:
                known = list(dict.fromkeys(sources))
                raise ValueError(
                    f"The propensity column {column!r} is not among the table's usable columns: it "
                    "is absent, left out, holds a single value, or no value in enough rows."
                    + nearest(column, known)
                )
        pairs, named = enumerate(zip(origins, sources, strict=True)), set(self.columns)
        return [index for index, names in pairs if bool(set(names) & named) != self.others]

    def __eq__(self, other) -> bool:
        return isinstance(other, FromColumns) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"FromColumns({self.columns!r}{', others=True' if self.others else ''})"


class TablePipeline(LearnedAttributes, Pipeline):
    """A scikit-learn ``Pipeline`` whose last step also knows propensities and posteriors.

    :func:`make_table_classifier` builds one for tables; any other transformers may stand before
    the last step.

    Parameters
    ----------
    steps : list of (str, estimator)
        As in scikit-learn's ``Pipeline``; the last step is a learner of this package.
    transform_input, memory, verbose : list of str, str, bool
        As in scikit-learn's ``Pipeline``.

    See Also
    --------
    sarlearn.make_table_classifier :
        SAR-EM, or its cross-fit, for a data frame with mixed columns, as a ``Pipeline``.
    """

    def _encoded(self, X):
        check_is_fitted(self)
        return self[:-1].transform(X)

    def predict_propensity(self, X) -> np.ndarray:
        """``e(x) = P(s=1 | y=1, x)`` of every row."""
        return self[-1].predict_propensity(self._encoded(X))

    @elsewhere(dask="_posterior_on_dask")
    def predict_posterior(self, X, s, audited=None) -> np.ndarray:
        """``P(y=1 | x, s)`` of every row; 1 where labelled, the class where it was audited."""
        known = {} if audited is None else {"audited": audited}
        return self[-1].predict_posterior(self._encoded(X), s, **known)

    def _posterior_on_dask(self, X, s, audited=None):
        # Not of the encoded table: labels may be a column of the table itself.
        from sarlearn.backends.dask.predict import predict_lazily

        return predict_lazily(self.predict_posterior, X, s)


def make_table_classifier(
    propensity_features: Sequence[str] = (),
    *,
    method: str = "sar-em",
    classifier="logistic",
    propensity_only: Sequence[str] = (),
    drop: Sequence[str] = (),
    max_categories: int = 30,
    min_rows: int = 10,
    skewed: str = "log",
    dates: str = "refuse",
    **parameters,
) -> TablePipeline:
    """SAR-EM, or its cross-fit, for a data frame with mixed columns, as a ``Pipeline``.

    Parameters
    ----------
    propensity_features : sequence of str
        Columns of the table on which labelling depends. A column of text counts with all the
        columns it becomes. Empty is SCAR: every positive has the same chance to be labelled.
    method : {"sar-em", "cross-fit"}, default="sar-em"
        The paper's :class:`~sarlearn.SAREMClassifier`, or
        :class:`~sarlearn.CrossFitSARClassifier`, which is what ``sarlearn fit`` uses: about ten
        times the work, for a class prior nearer the truth and a word on how sure it is.
    classifier : {"logistic", "boosting"} or classifier, default="logistic"
        The model of ``P(y=1 | x)``: logistic regression, gradient-boosted trees, or any
        scikit-learn classifier with ``sample_weight`` and ``predict_proba``. ``"boosting"`` in a
        cross-fit is :class:`~sarlearn.BoostedSARClassifier`, which needs the extra ``boost``.
    propensity_only : sequence of str
        Further columns on which labelling depends, and which the class model does not see: effort,
        clinic, clerk.
    drop : sequence of str
        Columns to leave out, such as identifiers.
    max_categories : int >= 2, default=30
        The most columns one column of text becomes.
    min_rows : int >= 1, default=10
        Values of a column of text that fewer rows have count as one, ``(other)``.
    skewed : {"log", "raw"}, default="log"
        Whether strongly skewed columns, such as sums of money, enter on a logarithmic scale.
    dates : {"refuse", "days"}, default="refuse"
        Whether columns of dates become numbers: days since the first date, year and weekday.
    **parameters
        Passed to the learner: ``decay``, ``C``, ``max_iter`` and others.

    Returns
    -------
    TablePipeline
        Steps ``columns`` (:class:`TableEncoder`) and ``sarem``, ``crossfit`` or ``boosted``.

    See Also
    --------
    sarlearn.tables.TableEncoder :
        Turn a data frame with mixed columns into a data frame of numbers.
    report : Report on a fitted model: who is positive, who gets labelled, and how sure that is.
    CrossFitSARClassifier : Classifier and propensity from biased labels, debiased by cross-fitting.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sarlearn.tables import make_table_classifier
    >>> rng = np.random.default_rng(0)
    >>> age, plan = rng.normal(50, 10, 2000), rng.choice(["none", "basic", "full"], 2000)
    >>> ill = rng.random(2000) < 1 / (1 + np.exp(-(age - 50) / 4))
    >>> diagnosed = ill & (rng.random(2000) < np.where(plan == "none", 0.2, 0.7))
    >>> table = pd.DataFrame({"age": age, "plan": plan})
    >>> model = make_table_classifier(["plan"]).fit(table, diagnosed)
    >>> chance = pd.Series(model.predict_propensity(table)).groupby(plan).mean()
    >>> bool(chance["none"] < chance["full"])
    True
    """
    from sarlearn.classifiers import (
        BoostedSARClassifier,
        CrossFitSARClassifier,
        SAREMClassifier,
    )

    learners = {"sar-em": SAREMClassifier, "cross-fit": CrossFitSARClassifier}  # type: ignore[dict-item]
    if method not in learners:
        raise ValueError(f"method must be 'sar-em' or 'cross-fit'; got {method!r}.")
    if isinstance(propensity_features, str):
        propensity_features = [propensity_features]
    columns = TableEncoder(
        drop=tuple(drop),
        max_categories=max_categories,
        min_rows=min_rows,
        skewed=skewed,
        dates=dates,
    )
    propensity_features = [*propensity_features, *propensity_only]
    named = FromColumns(propensity_features) if len(propensity_features) else ()
    if len(propensity_only):
        parameters["classifier_features"] = FromColumns(propensity_only, others=True)
    if method == "cross-fit" and isinstance(classifier, str) and classifier == "boosting":
        boosted = BoostedSARClassifier(named, **parameters)
        return TablePipeline([("columns", columns), ("boosted", boosted)])
    learner = learners[method](named, classifier=_base_classifier(classifier), **parameters)
    return TablePipeline([("columns", columns), (method.replace("-", ""), learner)])


def _base_classifier(classifier):
    if not isinstance(classifier, str):
        return classifier
    if classifier == "logistic":
        return None
    if classifier == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        # EM fits it again every round, so it must be quick: with weights, most of the time goes
        # into finding the bins, one by one. No held-out part, whose draw would make rounds jump.
        return HistGradientBoostingClassifier(
            max_iter=30,
            learning_rate=0.2,
            max_leaf_nodes=15,
            max_bins=32,
            early_stopping=False,
            random_state=0,
        )
    raise ValueError(
        f"classifier must be 'logistic', 'boosting' or a scikit-learn classifier; got "
        f"{classifier!r}."
    )
