"""Tables with several chances to be labelled: a column of labels, or a row, per chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from sarlearn._labels import meaning
from sarlearn.tables.columns import as_frame, values_of
from sarlearn.tables.encoder import TableEncoder
from sarlearn.tables.formats import nearest
from sarlearn.tables.labels import parse_labels
from sarlearn.tables.names import origin
from sarlearn.tables.pipeline import FromColumns

__all__ = ["RepeatedTableClassifier"]


class RepeatedTableClassifier(ClassifierMixin, BaseEstimator):
    """:class:`~sarlearn.RepeatedSARClassifier` for a data frame with mixed columns.

    The table is *wide*, with a column of labels for each chance, or *long*, with a row for each
    chance of each row: then ``id_column`` says which of them belong together, and ``chance`` which
    chance each one is.

    In a column of labels with a yes and a no, an empty cell means that there was no such chance;
    in one with a single value beside empty cells, an empty cell means unlabelled.

    Parameters
    ----------
    label : str or sequence of str
        The column of labels. Several are the chances of a wide table, each with a propensity of its
        own; of a long table there is one.
    propensity_features : sequence of str, default=()
        Columns on which labelling depends. Those of a long table that change between the chances of
        a row, such as date or weather, are attributes of the chance.
    propensity_only : sequence of str, default=()
        Further ones that have no place in the class model.
    id_column, chance : str, default=None
        Of a long table. In a wide one ``id_column`` is not learned from.
    drop : sequence of str, default=()
        Columns to leave out.
    skewed : {"log", "raw"}, default="log"
        Whether strongly skewed columns, such as sums of money, enter on a logarithmic scale.
    dates : {"refuse", "days"}, default="refuse"
        Whether columns of dates become numbers: days since the first date, year and weekday.
    learner : RepeatedSARClassifier, default=None
        With settings such as ``class_prior`` or ``propensity_link``; its columns are those above.

    Attributes
    ----------
    learner_ : RepeatedSARClassifier
        Fitted to the encoded columns.
    classes_ : ndarray of shape (2,)
        0 and 1.
    rows_, n_chances_ : int
        Rows, and the most chances that one of them had.

    See Also
    --------
    sarlearn.RepeatedSARClassifier : The same for a matrix, and an array of labels.
    make_table_classifier :
        SAR-EM, or its cross-fit, for a data frame with mixed columns, as a ``Pipeline``.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sarlearn.tables import RepeatedTableClassifier
    >>> rng = np.random.default_rng(0)
    >>> forest = rng.normal(size=800)
    >>> lives = rng.random(800) < 1 / (1 + np.exp(-forest))
    >>> seen = lives[:, None] & (rng.random((800, 3)) < [0.3, 0.5, 0.7])
    >>> table = pd.DataFrame(seen * 1, columns=["may", "june", "july"]).assign(forest=forest)
    >>> model = RepeatedTableClassifier(["may", "june", "july"]).fit(table)
    >>> round(model.learner_.class_prior_, 2), round(float(lives.mean()), 2)
    (0.5, 0.5)
    """

    def __init__(
        self,
        label,
        propensity_features: Sequence[str] = (),
        *,
        propensity_only: Sequence[str] = (),
        id_column: str | None = None,
        chance: str | None = None,
        drop: Sequence[str] = (),
        skewed: str = "log",
        dates: str = "refuse",
        learner=None,
    ):
        self.label = label
        self.propensity_features = propensity_features
        self.propensity_only = propensity_only
        self.id_column = id_column
        self.chance = chance
        self.drop = drop
        self.skewed = skewed
        self.dates = dates
        self.learner = learner

    def fit(self, X, y=None, sample_weight=None, audited=None):
        """Learn from a table.

        Parameters
        ----------
        X : data frame
            With the columns of labels in it.
        y : ignored
            For scikit-learn's sake.
        sample_weight, audited : array-like, default=None
            One value per row of the table; in a long one the first of each row's chances counts.

        Returns
        -------
        self
        """
        from sarlearn.classifiers import RepeatedSARClassifier

        layout, frame = self._layout(X), as_frame(X)
        named = [*self.propensity_features, *self.propensity_only]
        self.varying_ = self._varying(frame, layout, named)
        rows = self._row_columns(frame, layout)
        settings: dict[str, Any] = {"drop": (), "skewed": self.skewed, "dates": self.dates}
        self.encoder_ = TableEncoder(**settings).fit(rows)
        self.chance_encoder_ = None
        if self.varying_:
            attributes = frame.select(self.varying_).to_native()
            self.chance_encoder_ = TableEncoder(**settings).fit(attributes)
        self.n_chances_ = layout.visits.shape[1]
        own = [name for name in named if name not in self.varying_]
        only = [name for name in self.propensity_only if name not in self.varying_]
        learner = RepeatedSARClassifier() if self.learner is None else clone(self.learner)
        learner.set_params(propensity_features=FromColumns(own) if own else ())
        if only:
            learner.set_params(classifier_features=FromColumns(only, others=True))
        first = layout.rows
        self.learner_ = learner.fit(
            self.encoder_.transform(rows),
            layout.visits,
            chances=self._attributes(frame, layout),
            sample_weight=None if sample_weight is None else np.asarray(sample_weight)[first],
            audited=None if audited is None else np.asarray(audited)[first],
        )
        terms = self._terms()
        of_rows = self.learner_.propensity_terms_[: -len(terms) or None]
        self.learner_.propensity_terms_ = [*of_rows, *terms]
        self.classes_, self.rows_ = self.learner_.classes_, len(first)
        return self

    # -- how the table lies --------------------------------------------------------------------

    def _labels(self) -> list[str]:
        return [self.label] if isinstance(self.label, str) else list(self.label)

    def _layout(self, X, *, needs_labels: bool = True) -> "Layout":
        frame, labels = as_frame(X), self._labels()
        long = self.chance is not None
        if long and (self.id_column is None or len(labels) != 1):
            raise ValueError(
                "A table with a row per chance needs the column that says which rows belong "
                "together (id_column, --id), and one column of labels."
            )
        if not long and len(labels) < 2:
            raise ValueError(
                f"One column of labels, {labels[0]!r}, is one chance per row. Name a column per "
                "chance, or the column that says which chance a row is (chance, --chance)."
            )
        id_column, chance = str(self.id_column), str(self.chance)
        wanted = [id_column, chance] if long else []
        wanted += labels if needs_labels else []
        for name in [*wanted, *self.propensity_features, *self.propensity_only, *self.drop]:
            if name not in frame.columns:
                raise ValueError(
                    f"The table has no column {name!r}." + nearest(name, list(frame.columns))
                )
        if not long:
            if not set(labels) <= set(frame.columns):
                nothing = np.full((len(frame), len(labels)), np.nan)
                return Layout(np.arange(len(frame)), None, nothing)
            visits = np.column_stack([visits_of(frame[name], name) for name in labels])
            return Layout(np.arange(len(frame)), None, visits)
        places = _places(frame, id_column, chance)
        seen = places >= 0
        visits = np.full(places.shape, np.nan)
        if labels[0] in frame.columns:
            visits[seen] = visits_of(frame[labels[0]], labels[0])[places[seen]]
        return Layout(places[:, 0], places, visits)

    def _varying(self, frame, layout: "Layout", named: list[str]) -> list[str]:
        """Propensity columns that change between the chances of a row; others may not."""
        if layout.places is None:
            return []
        found = []
        left_out = {*self._labels(), self.id_column, *self.drop}
        for name in frame.columns:
            if name in left_out or (name == self.chance and name not in named):
                continue
            values = values_of(frame[name])
            for places in layout.places:
                group = [values[place] for place in places if place >= 0]
                if any(value != group[0] for value in group):
                    if name not in named:
                        site = values_of(frame[self.id_column])[places[0]]
                        other = next(value for value in group if value != group[0])
                        raise ValueError(
                            f"The column {name!r} changes between the chances of {site!r} (from "
                            f"{group[0]!r} to {other!r}), so it can drive labelling and not the "
                            "class. Name it as a propensity column, or leave it out."
                        )
                    found.append(name)
                    break
        return found

    def _row_columns(self, frame, layout: "Layout"):
        """One row each, with the columns that belong to it."""
        left_out = {*self._labels(), self.id_column, self.chance, *self.drop, *self.varying_}
        kept = [name for name in frame.columns if name not in left_out]
        if not kept:
            raise ValueError("No column is left to tell the classes apart by.")
        return frame.select(kept)[layout.rows.tolist()].to_native()

    def _attributes(self, frame, layout: "Layout") -> np.ndarray:
        """Attributes of every chance, of shape (rows, chances, attributes)."""
        n_rows, n_chances = layout.visits.shape
        if layout.places is None:  # a level for each column of labels, the first one at 0
            return np.repeat(np.eye(n_chances)[None, :, 1:], n_rows, axis=0)
        if self.chance_encoder_ is None:
            return np.empty((n_rows, n_chances, 0))
        encoded = self.chance_encoder_.transform(frame.select(self.varying_).to_native())
        values = np.asarray(encoded, dtype=np.float64)[layout.places]
        return np.where((layout.places >= 0)[:, :, None], values, 0.0)

    def _terms(self) -> list[str]:
        """Names of the attributes of chances."""
        if self.chance is None:
            return self._labels()[1:]
        return [] if self.chance_encoder_ is None else list(self.chance_encoder_.feature_names_out_)

    # -- what it says --------------------------------------------------------------------------

    def encoded(self, X) -> tuple[Any, np.ndarray, np.ndarray]:
        """Encoded columns, labels and attributes of chances, as the learner takes them."""
        check_is_fitted(self)
        layout, frame = self._layout(X, needs_labels=False), as_frame(X)
        rows = self.encoder_.transform(self._row_columns(frame, layout))
        return rows, layout.visits, self._attributes(frame, layout)

    def first_rows(self, X) -> np.ndarray:
        """Where in the table each row, or the first of its chances, stands."""
        return self._layout(X, needs_labels=False).rows

    def predict_proba(self, X) -> np.ndarray:
        """``P(y=0|x)`` and ``P(y=1|x)``, one row each."""
        return self.learner_.predict_proba(self.encoded(X)[0])

    def predict(self, X) -> np.ndarray:
        """The more probable class."""
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]

    def predict_propensity(self, X) -> np.ndarray:
        """The chance that a positive row is labelled at one of its chances or more."""
        rows, visits, chances = self.encoded(X)
        e = self.learner_.predict_propensity(rows, chances)
        there = ~np.isnan(visits) if not np.isnan(visits).all() else np.ones(visits.shape, bool)
        return 1.0 - np.prod(np.where(there, 1.0 - e, 1.0), axis=1)

    def predict_posterior(self, X, s=None) -> np.ndarray:
        """``P(y=1|x, s)``; the labels are columns of the table, and ``s`` is not looked at."""
        rows, visits, chances = self.encoded(X)
        return self.learner_.predict_posterior(rows, visits, chances)

    def odds(self) -> list[dict]:
        """Odds ratios of being labelled at a chance, each with what it compares in words."""
        check_is_fitted(self)
        first, columns = self._labels()[0], set(self._labels()[1:] if self.chance is None else ())
        return [
            row | {"step": _step(row["level"], first, row["level"] in columns)}
            for row in self.learner_._propensity_odds()
        ]

    def summary(self) -> str:
        """What was learned, in words."""
        return self.learner_.summary(odds=self.odds())


@dataclass(frozen=True)
class Layout:
    """Where in a table the rows and their chances stand.

    ``rows`` are positions of the rows, ``places`` of their chances, of shape (rows, chances) with
    -1 where there is none; None where the chances are columns.
    """

    rows: np.ndarray
    places: np.ndarray | None
    visits: np.ndarray


def _step(term: str, first: str, is_label: bool) -> str:
    """What one more of a term is: another chance, a value, or a number."""
    if is_label:
        return f"A chance at {term}, against one at {first},"
    if origin(term) != term:
        return f"{term}, against the values not named,"
    return f"One standard deviation more of {term}"


def visits_of(column, name: str) -> np.ndarray:
    """Labels of a chance: 1, 0, or NaN where an empty cell means that there was no such chance."""
    labelled = parse_labels(column.to_native(), name).labelled
    meanings = [meaning(value) for value in values_of(column)]
    empty = np.array([one is None for one in meanings])
    return np.where(empty & (False in meanings), np.nan, labelled.astype(float))


def _places(frame, id_column: str, chance: str) -> np.ndarray:
    """Positions of the chances of each row, in the order of ``chance``."""
    ids, chances = values_of(frame[id_column]), values_of(frame[chance])
    groups: dict[Any, list[int]] = {}
    for place, name in enumerate(ids):
        if name is None or chances[place] is None:
            which = id_column if name is None else chance
            raise ValueError(f"The column {which!r} is empty in row {place + 1} after the header.")
        groups.setdefault(name, []).append(place)
    places = np.full((len(groups), max(map(len, groups.values()))), -1)
    numeric = all(isinstance(value, int | float) for value in chances)
    for row, (name, group) in enumerate(groups.items()):
        seen: dict[Any, int] = {}
        for place in group:
            if chances[place] in seen:
                raise ValueError(
                    f"{name!r} has the chance {chances[place]!r} twice, in rows "
                    f"{seen[chances[place]] + 1} and {place + 1} after the header."
                )
            seen[chances[place]] = place
        ordered = sorted(seen, key=None if numeric else str)
        places[row, : len(group)] = [seen[value] for value in ordered]
    return places
