"""What each attribute does: odds ratios of the logistic models, and use by any classifier."""

import numpy as np

from sarlearn._compat import safe_indexing
from sarlearn._view.parts import Attribute, Parts
from sarlearn._words import ENOUGH, number_text
from sarlearn.tables.columns import MISSING
from sarlearn.tables.encoder import TableEncoder

MAX_IMPORTANCE_ROWS = 1000
# Of a column with more values the highest and the lowest are shown.
MAX_LEVELS = 10


def propensity_odds(
    parts: Parts,
    labelled: np.ndarray,
    posterior: np.ndarray,
    *,
    coef: np.ndarray | None = None,
    max_levels: int = MAX_LEVELS,
) -> list[dict]:
    """Odds ratios of being labelled; empty where the propensity model is not logistic.

    ``coef`` is the model's, unless given. A level is compared only where both labelled rows and
    hidden positives are enough to: an odds ratio is made of the two.
    """
    if coef is None:
        coef = getattr(parts.final, "propensity_coef_", None)
    if coef is None or not len(parts.propensity_positions):
        return []
    words = parts.encoder is None and not all(a.numeric for a in parts.propensity_attributes)
    if words or np.size(coef) != len(parts.propensity_positions):  # a model with its own terms
        return []
    by_position = dict(zip(parts.propensity_positions.tolist(), np.ravel(coef), strict=True))
    levels = _Levels(parts, labelled, labelled, np.where(labelled, 0.0, posterior))
    rows = []
    for attribute in parts.propensity_attributes:
        rows += _odds_of(levels, attribute, by_position, max_levels)
    return rows


def classifier_odds(
    parts: Parts, labelled: np.ndarray, posterior: np.ndarray, n_rows: int = 12
) -> list[dict]:
    """The odds ratios of being positive farthest from 1; empty without ``coef_``."""
    coef = getattr(parts.final, "coef_", None)
    if coef is None:
        return []
    by_position = dict(enumerate(np.ravel(coef)))
    levels = _Levels(parts, labelled, posterior, 1 - posterior)
    rows = []
    for attribute in parts.attributes:
        rows += _odds_of(levels, attribute, by_position, MAX_LEVELS)
    rows = [row for row in rows if not row["few"]]
    return sorted(rows, key=lambda row: -abs(np.log(row["odds_ratio"])))[:n_rows]


class _Levels:
    """The values of attributes, and how many cases of either kind stand behind each."""

    def __init__(self, parts: Parts, labelled, cases: np.ndarray, others: np.ndarray):
        self.parts, self._labelled = parts, labelled
        self._cases, self._others = cases, others

    def row(self, attribute: Attribute, name: str, against: str, change: float, where) -> dict:
        """An odds ratio; ``where`` are the rows, one mask for each side that must be filled."""
        cells = [float(np.sum(n[rows])) for rows in where for n in (self._cases, self._others)]
        first = where[0]
        return {
            "attribute": attribute.name,
            "level": name,
            "against": against,
            "numeric": attribute.numeric and not name.endswith(MISSING),
            "odds_ratio": float(np.exp(np.clip(change, -700, 700))),
            "rows": int(np.sum(first)),
            "labelled": int(np.sum(self._labelled[first])),
            "few": min(cells) < ENOUGH,
        }

    @property
    def encoder(self) -> TableEncoder:
        """Of the table: only a table has values that are no numbers."""
        assert self.parts.encoder is not None
        return self.parts.encoder

    def column(self, position: int) -> np.ndarray:
        """Which rows have a one-hot column set."""
        column = safe_indexing(self.parts.matrix, [position], axis=1)
        dense = column.toarray() if hasattr(column, "toarray") else np.asarray(column)
        return np.ravel(dense) != 0


def _odds_of(levels: _Levels, attribute: Attribute, by_position, max_levels: int) -> list[dict]:
    """One row per value that can be compared, each against what is said in ``against``."""
    positions = [int(position) for position in attribute.positions if position in by_position]
    coefs = np.array([by_position[position] for position in positions])
    if not positions:
        return []
    if attribute.numeric:
        return _number_odds(levels, attribute, positions, coefs)
    if len(positions) > 1:
        return _category_odds(levels, attribute, positions, coefs, max_levels)
    value, other = _two_values(levels.encoder, attribute, positions[0])
    here = levels.column(positions[0])
    name = f"{attribute.name} = {value}"
    return [levels.row(attribute, name, other, coefs[0], (here, ~here))]


def _number_odds(levels: _Levels, attribute: Attribute, positions, coefs) -> list[dict]:
    """A typical high value against a typical low one, in the units of the table; then gaps."""
    known = ~np.isnan(attribute.values)
    low, high = typical_values(attribute.values[known])
    # The first column is the number's; a further one says that it is missing.
    block = attribute.encode([low, high])
    change = float((block[1, 0] - block[0, 0]) * coefs[0])
    name = f"{attribute.name} = {number_text(high)}"
    rows = [levels.row(attribute, name, number_text(low), change, (known,))]
    for position, coef in zip(positions[1:], coefs[1:], strict=True):
        gap = levels.column(position)
        name = f"{attribute.name} {MISSING}"
        rows.append(levels.row(attribute, name, "rows where it is known", coef, (gap,)))
    return rows


def typical_values(values: np.ndarray) -> tuple[float, float]:
    """Two values to compare: the quartiles, or wider where those are the same."""
    for tail in (0.25, 0.1, 0.01, 0.0):
        low, high = np.quantile(values, [tail, 1 - tail], method="nearest")
        if high > low:
            break
    return float(low), float(high)


def _category_odds(levels: _Levels, attribute: Attribute, positions, coefs, max_levels: int):
    """Several one-hot columns: each against the average row, weighted by how frequent they are."""
    encoder = levels.encoder
    here = [levels.column(position) for position in positions]
    average = np.array([rows.mean() for rows in here]) @ coefs
    rows = [
        levels.row(
            attribute,
            f"{attribute.name} = {encoder.category_of_output(position)}",
            "the average row",
            coef - average,
            (where,),
        )
        for position, coef, where in zip(positions, coefs, here, strict=True)
    ]
    # What cannot be said comes last: few rows make the wildest ratios.
    rows.sort(key=lambda row: (row["few"], -row["odds_ratio"]))
    if len(rows) <= max_levels:
        return rows
    known = [row for row in rows if not row["few"]]
    if len(known) > max_levels:
        known = known[: max_levels // 2] + known[-(max_levels // 2) :]
    return known


def _two_values(encoder: TableEncoder, attribute: Attribute, position: int) -> tuple[str, str]:
    """The value a single one-hot column stands for, and the other one."""
    value = str(encoder.category_of_output(position))
    categories = encoder.one_hot_.categories_[encoder.categorical_.index(attribute.name)]
    others = [str(category) for category in categories if str(category) != value]
    return value, others[0] if len(others) == 1 else "all other values"


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
