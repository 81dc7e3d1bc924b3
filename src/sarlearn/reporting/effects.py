"""What each attribute does: odds ratios of being labelled, and use by the class model."""

from dataclasses import dataclass

import numpy as np

from sarlearn._view.parts import OTHER_VALUES, Attribute, Parts
from sarlearn._words import AVERAGE, ENOUGH
from sarlearn.classifiers import SARClassifier
from sarlearn.tables.columns import MISSING

MAX_IMPORTANCE_ROWS = 1000
# Standard errors to either side of a 95% interval.
Z_95 = 1.96
# Of a column with more values the highest and the lowest are shown.
MAX_LEVELS = 10


def propensity_odds(parts: Parts, labelled: np.ndarray, posterior: np.ndarray) -> list[dict]:
    """Odds ratios of being labelled with their intervals; empty where a model has no errors.

    A level is compared only where both labelled rows and hidden positives are enough to: an odds
    ratio is made of the two.
    """
    if not isinstance(parts.final, SARClassifier):
        return []
    rows, hidden = [], np.where(labelled, 0.0, posterior)
    for attribute in parts.propensity_attributes:
        effect = _Effect(attribute, parts.final, labelled, hidden)
        rows += _number_odds(effect) if attribute.numeric else _level_odds(effect)
    return rows


@dataclass
class _Effect:
    """What an attribute adds to the logit of being labelled, and the rows behind its values."""

    attribute: Attribute
    final: SARClassifier
    labelled: np.ndarray
    hidden: np.ndarray

    def __post_init__(self):
        (self.position,) = self.attribute.positions
        here = np.flatnonzero(self.final.attributes_.column == self.position)
        self.terms = self.final.attributes_.part(here)
        self.phi = self.final.phi_[here]
        self.covariance = self.final.phi_covariance_[np.ix_(here, here)]

    def columns(self, values) -> np.ndarray:
        """The terms of values."""
        wide = np.zeros((len(values), self.position + 1))
        wide[:, self.position] = self.attribute.encode(values)[:, 0]
        return self.terms.transform(wide)

    def row(self, level: str, against: str, change: np.ndarray, *where: np.ndarray) -> dict:
        """An odds ratio, where the terms change; each of the rows ``where`` must have cases."""
        logit, error = change @ self.phi, np.sqrt(change @ self.covariance @ change)
        ends = np.exp(np.clip(logit + Z_95 * error * np.array([0, -1, 1]), -700, 700))
        cells = [each[rows].sum() for rows in where for each in (self.labelled, self.hidden)]
        return {
            "attribute": self.attribute.name,
            "level": level,
            "against": against,
            "numeric": self.attribute.numeric and not level.endswith(MISSING),
            **dict(zip(("odds_ratio", "low", "high"), map(float, ends), strict=True)),
            "rows": int(where[0].sum()),
            "labelled": int(self.labelled[where[0]].sum()),
            "few": bool(min(cells) < ENOUGH),
        }


def _level_odds(effect: _Effect) -> list[dict]:
    """One row per value that can be compared, each against what is said in ``against``."""
    attribute = effect.attribute
    values = attribute.distinct.tolist()
    columns, pool = np.unique(effect.columns(values), axis=0, return_inverse=True)
    names = [
        str(values[codes[0]]) if len(codes) == 1 else OTHER_VALUES
        for codes in (np.flatnonzero(pool == k) for k in range(len(columns)))
    ]
    where = [pool[attribute.codes] == k for k in range(len(columns))]
    levels = [f"{attribute.name} = {name}" for name in names]
    if len(names) == 2:  # the second one has the larger mark
        return [effect.row(levels[1], names[0], columns[1] - columns[0], *where[::-1])]
    average = np.array([rows.mean() for rows in where]) @ columns
    rows = [
        effect.row(level, AVERAGE, column - average, here)
        for level, column, here in zip(levels, columns, where, strict=True)
    ]
    # What cannot be said comes last: few rows make the wildest ratios.
    rows.sort(key=lambda row: (row["few"], -row["odds_ratio"]))
    if len(rows) <= MAX_LEVELS:
        return rows
    known = [row for row in rows if not row["few"]]
    if len(known) > MAX_LEVELS:
        known = known[: MAX_LEVELS // 2] + known[-(MAX_LEVELS // 2) :]
    return known


def _number_odds(effect: _Effect) -> list[dict]:
    """A typical high value against a typical low one, in the units of the table; then gaps."""
    name, known = effect.attribute.name, ~np.isnan(effect.attribute.values)
    low, high = typical_values(effect.attribute.values[known])
    columns = effect.columns([low, high])
    change = columns[1] - columns[0]
    text = effect.attribute.text
    rows = [effect.row(f"{name} = {text(high)}", text(low), change, known)]
    if len(change) > 1:  # a further column says that the number is missing
        change = np.eye(len(change))[1] / effect.terms.scale[-1]
        rows.append(effect.row(f"{name} {MISSING}", "rows where it is known", change, ~known))
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
