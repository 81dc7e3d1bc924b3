"""What each attribute does: odds ratios of the logistic models, and use by any classifier."""

import numpy as np

from sarlearn._view.parts import Attribute, Parts, value_text
from sarlearn.tables.pipeline import MISSING

MAX_IMPORTANCE_ROWS = 1000
# Of a column with more values the highest and the lowest are told.
MAX_LEVELS = 10


def propensity_odds(
    parts: Parts, coef: np.ndarray | None = None, max_levels: int = MAX_LEVELS
) -> list[dict]:
    """Odds ratios of being labelled; empty where the propensity model is not logistic.

    ``coef`` is the model's, unless given.
    """
    if coef is None:
        coef = getattr(parts.final, "propensity_coef_", None)
    if coef is None or not len(parts.propensity_positions):
        return []
    by_position = dict(zip(parts.propensity_positions.tolist(), np.ravel(coef), strict=True))
    rows = []
    for attribute in parts.propensity_attributes:
        rows += _odds_of(parts, attribute, by_position, max_levels)
    return rows


def classifier_odds(parts: Parts, n_rows: int = 12) -> list[dict]:
    """The odds ratios of being positive farthest from 1; empty without ``coef_``."""
    coef = getattr(parts.final, "coef_", None)
    if coef is None:
        return []
    by_position = dict(enumerate(np.ravel(coef)))
    rows = []
    for attribute in parts.attributes:
        rows += _odds_of(parts, attribute, by_position)
    return sorted(rows, key=lambda row: -abs(np.log(row["odds_ratio"])))[:n_rows]


def _odds_of(
    parts: Parts,
    attribute: Attribute,
    by_position: dict[int, float],
    max_levels: int = MAX_LEVELS,
) -> list[dict]:
    """One row a column of the attribute, each against what is said in ``against``."""
    positions = [int(position) for position in attribute.positions if position in by_position]
    coefs = np.array([by_position[position] for position in positions])
    if not attribute.numeric and len(positions) > 1:
        return _category_odds(parts, attribute, positions, coefs, max_levels)
    rows = []
    for position, coef in zip(positions, coefs, strict=True):
        name, against = _meaning(parts, attribute, position)
        if attribute.numeric and position == positions[0]:
            step = _step(parts, attribute)
            if parts.encoder is None:
                coef = coef * step
            name, against = attribute.name, f"{value_text(float(step))} less"
        rows.append(_odds_row(attribute.name, name, against, coef))
    return rows


def _category_odds(parts, attribute, positions, coefs, max_levels: int) -> list[dict]:
    """Several one-hot columns: each against the average row, weighted by how frequent they are."""
    share = np.array([float(np.mean(_column(parts.matrix, p))) for p in positions])
    average = share @ coefs
    order = np.argsort(-coefs, kind="stable").tolist()
    if len(order) > max_levels:
        order = order[: max_levels // 2] + order[-(max_levels // 2) :]
    return [
        _odds_row(
            attribute.name,
            _meaning(parts, attribute, positions[index])[0],
            "the average row",
            coefs[index] - average,
        )
        for index in order
    ]


def _odds_row(attribute: str, name: str, against: str, coef: float) -> dict:
    return {
        "attribute": attribute,
        "level": name,
        "against": against,
        "odds_ratio": float(np.exp(np.clip(coef, -700, 700))),
    }


def _meaning(parts: Parts, attribute: Attribute, position: int) -> tuple[str, str]:
    """What a one-hot column says, and what it is to be compared with."""
    encoder = parts.encoder
    if encoder is None:
        return attribute.name, ""
    value = encoder.category_of_output(position)
    if attribute.numeric:
        return f"{attribute.name} {MISSING}", "known"
    categories = encoder.one_hot_.categories_[encoder.categorical_.index(attribute.name)]
    others = [str(category) for category in categories if str(category) != value]
    return f"{attribute.name} = {value}", others[0] if len(others) == 1 else "all others"


def _step(parts: Parts, attribute: Attribute) -> float:
    """The difference an odds ratio is given for: one standard deviation, or 1 for 0/1 columns."""
    if parts.encoder is not None:
        return float(parts.encoder.scaler_.scale_[parts.encoder.numeric_.index(attribute.name)])
    if len(attribute.distinct) <= 2:
        return float(np.ptp(attribute.distinct)) or 1.0
    return float(np.nanstd(attribute.values)) or 1.0


def _column(matrix, position: int) -> np.ndarray:
    from sarlearn._compat import safe_indexing

    column = safe_indexing(matrix, [position], axis=1)
    return column.toarray() if hasattr(column, "toarray") else np.asarray(column)


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
