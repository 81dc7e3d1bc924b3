"""What each attribute does: odds ratios of the logistic models, and use by any classifier."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sarlearn._view.parts import OTHER_VALUES, Attribute, Parts
from sarlearn._words import ENOUGH, number_text
from sarlearn.classifiers import SARClassifier
from sarlearn.tables.columns import MISSING

MAX_IMPORTANCE_ROWS = 1000
# Standard errors to either side of a 95 % interval.
Z_95 = 1.96
# Of a column with more values the highest and the lowest are shown.
MAX_LEVELS = 10


def propensity_odds(
    parts: Parts,
    labelled: np.ndarray,
    posterior: np.ndarray,
) -> list[dict]:
    """Odds ratios of being labelled; empty where the propensity model is not logistic.

    A level is compared only where both labelled rows and
    hidden positives are enough to: an odds ratio is made of the two.
    """
    final = parts.final
    by_terms = isinstance(final, SARClassifier)
    coef = getattr(final, "phi_" if by_terms else "propensity_coef_", None)
    if coef is None or not len(parts.propensity_positions):
        return []
    coef = np.ravel(coef)
    if not by_terms and len(coef) != len(parts.propensity_positions):  # a model of its own terms
        return []
    levels = _Levels(parts, labelled, labelled, np.where(labelled, 0.0, posterior))
    rows = []
    for attribute in parts.propensity_attributes:
        if by_terms:
            effect = _of_terms(final, attribute, coef)
        else:
            here = np.flatnonzero(np.isin(parts.propensity_positions, attribute.positions))
            effect = _Effect(attribute.encode, coef[here], mark=_mark(parts, attribute))
        rows += _odds_of(levels, attribute, effect)
    return rows


@dataclass
class _Effect:
    """What an attribute adds to a logit: ``columns`` of its values times ``coef``."""

    columns: Callable[[Any], np.ndarray]
    coef: np.ndarray
    covariance: np.ndarray | None = None
    mark: float = 1.0  # what the column of a number's gaps changes by

    def change(self, row: np.ndarray) -> tuple[float, float | None]:
        """Of the logit, where the columns change by ``row``; and its standard error."""
        if self.covariance is None:
            return float(row @ self.coef), None
        return float(row @ self.coef), float(np.sqrt(row @ self.covariance @ row))


def _mark(parts: Parts, attribute: Attribute) -> float:
    """How much the column of gaps is larger where there is one."""
    if parts.encoder is None or not parts.encoder.terms or not len(attribute.positions):
        return 1.0
    return float(1 / parts.encoder.terms_.scale[attribute.positions[-1]])


def _of_terms(final: SARClassifier, attribute: Attribute, phi: np.ndarray) -> _Effect:
    """The same where the attribute enters by terms; gaps and levels among them."""
    (position,) = attribute.positions
    here = np.flatnonzero(final.attributes_.column == position)
    own = final.attributes_.part(here)

    def columns(values) -> np.ndarray:
        wide = np.zeros((len(values), position + 1))
        wide[:, position] = attribute.encode(values)[:, 0]
        return own.transform(wide)

    covariance = final.phi_covariance_[np.ix_(here, here)]
    return _Effect(columns, phi[here], covariance, 1 / own.scale[-1])


class _Levels:
    """The values of attributes, and how many cases of either kind stand behind each."""

    def __init__(self, parts: Parts, labelled, cases: np.ndarray, others: np.ndarray):
        self.parts, self._labelled = parts, labelled
        self._cases, self._others = cases, others

    def row(
        self,
        attribute: Attribute,
        name: str,
        against: str,
        change: tuple[float, float | None],
        where,
    ) -> dict:
        """An odds ratio; ``where`` are the rows, one mask for each side that must be filled."""
        cells = [float(np.sum(n[rows])) for rows in where for n in (self._cases, self._others)]
        first, (logit, error) = where[0], change
        row = {
            "attribute": attribute.name,
            "level": name,
            "against": against,
            "numeric": attribute.numeric and not name.endswith(MISSING),
            "odds_ratio": _exp(logit),
            "rows": int(np.sum(first)),
            "labelled": int(np.sum(self._labelled[first])),
            "few": min(cells) < ENOUGH,
        }
        if error is not None:
            row |= {"low": _exp(logit - Z_95 * error), "high": _exp(logit + Z_95 * error)}
        return row


def _exp(logit: float) -> float:
    return float(np.exp(np.clip(logit, -700, 700)))


def _odds_of(levels: _Levels, attribute: Attribute, effect: _Effect) -> list[dict]:
    """One row per value that can be compared, each against what is said in ``against``."""
    if not len(effect.coef):
        return []
    if attribute.numeric:
        return _number_odds(levels, attribute, effect)
    values = attribute.distinct.tolist()
    columns, pool = np.unique(effect.columns(values), axis=0, return_inverse=True)
    names = [
        str(values[codes[0]]) if len(codes) == 1 else OTHER_VALUES
        for codes in (np.flatnonzero(pool == k) for k in range(len(columns)))
    ]
    where = [pool[attribute.codes] == k for k in range(len(columns))]
    if len(names) == 2:  # the second one has the larger mark
        change, other = effect.change(columns[1] - columns[0]), names[0]
        return [levels.row(attribute, f"{attribute.name} = {names[1]}", other, change, where[::-1])]
    average = np.array([rows.mean() for rows in where]) @ columns
    rows = [
        levels.row(
            attribute,
            f"{attribute.name} = {name}",
            "the average row",
            effect.change(column - average),
            (here,),
        )
        for name, column, here in zip(names, columns, where, strict=True)
    ]
    # What cannot be said comes last: few rows make the wildest ratios.
    rows.sort(key=lambda row: (row["few"], -row["odds_ratio"]))
    if len(rows) <= MAX_LEVELS:
        return rows
    known = [row for row in rows if not row["few"]]
    if len(known) > MAX_LEVELS:
        known = known[: MAX_LEVELS // 2] + known[-(MAX_LEVELS // 2) :]
    return known


def _number_odds(levels: _Levels, attribute: Attribute, effect: _Effect) -> list[dict]:
    """A typical high value against a typical low one, in the units of the table; then gaps."""
    known = ~np.isnan(attribute.values)
    low, high = typical_values(attribute.values[known])
    columns = effect.columns([low, high])
    name = f"{attribute.name} = {number_text(high)}"
    change = effect.change(columns[1] - columns[0])
    rows = [levels.row(attribute, name, number_text(low), change, (known,))]
    if len(effect.coef) > 1:  # a further column says that the number is missing
        name = f"{attribute.name} {MISSING}"
        change = effect.change(np.eye(len(effect.coef))[1] * effect.mark)
        rows.append(levels.row(attribute, name, "rows where it is known", change, (~known,)))
    return rows


def typical_values(values: np.ndarray) -> tuple[float, float]:
    """Two values to compare: the quartiles, or wider where those are the same."""
    for tail in (0.25, 0.1, 0.01, 0.0):
        low, high = np.quantile(values, [tail, 1 - tail], method="nearest")
        if high > low:
            break
    return float(low), float(high)


def importance(parts: Parts, random_state: int = 0) -> list[dict]:
    """How much the class probability of a row changes when one attribute is shuffled.

    ``mean_i |f(x_i) - f(x_i with x_ij from another row)|``, largest first. It needs no labels and
    holds for any classifier.
    """
    sample = parts.sample(MAX_IMPORTANCE_ROWS, random_state)
    rng = np.random.default_rng(random_state)
    before = parts.final.predict_proba(parts.like_matrix(sample))[:, 1]
    rows = []
    for attribute in parts.attributes:
        kept = sample[:, attribute.positions].copy()
        sample[:, attribute.positions] = kept[rng.permutation(len(sample))]
        after = parts.final.predict_proba(parts.like_matrix(sample))[:, 1]
        sample[:, attribute.positions] = kept
        rows.append({"attribute": attribute.name, "change": float(np.mean(np.abs(after - before)))})
    return sorted(rows, key=lambda row: -row["change"])
