"""The unlabelled rows to look at first: which, why, and what checking them should find."""

from typing import Any

import numpy as np
from scipy.special import expit, logit

from sarlearn._engine.likelihood import mean_of_sigmoids, shift_for_mean
from sarlearn._view.parts import Parts
from sarlearn.reporting.effects import Z_95

MAX_REASONS = 3
# Rows that an attribute's value is compared with.
N_BACKGROUND = 40
MAX_DEPTHS = 9


def candidates(parts: Parts, labelled, f, e, posterior, ids, top: int) -> list[dict[str, Any]]:
    """The unlabelled rows of highest posterior, with the columns that put them there."""
    unlabelled = np.flatnonzero(~labelled)
    order = unlabelled[np.argsort(-posterior[unlabelled], kind="stable")][:top]
    shown = parts.propensity_attributes[:3]
    why = reasons(parts, order)
    return [
        {
            "id": str(row + 1 if ids is None else ids[row]),
            "posterior": float(posterior[row]),
            "probability": float(f[row]),
            "propensity": float(e[row]),
            "attributes": {a.name: a.text(a.values[row]) for a in shown},
            "reasons": because,
        }
        for row, because in zip(order, why, strict=True)
    ]


def reasons(parts: Parts, rows: np.ndarray, random_state: int = 0) -> list[list[dict[str, Any]]]:
    r"""For each row the attributes that raise its odds of being positive most.

    The effect of attribute j on row i is the change of the logit against rows b of the table,

    .. math::

        \operatorname{logit} f(x_i) - \operatorname{mean}_b
        \operatorname{logit} f(x_i \text{ with } x_{ij} = x_{bj}),

    with rows b drawn at random. ``factor`` is the effect on the odds.
    """
    if not len(rows):
        return []
    effects = _effects(parts, rows, random_state)
    found = []
    for row, effect in zip(rows, effects, strict=True):
        order = [j for j in np.argsort(-effect, kind="stable")[:MAX_REASONS] if effect[j] > 0.05]
        found.append(
            [
                {
                    "attribute": parts.attributes[j].name,
                    "value": parts.attributes[j].text(parts.attributes[j].values[row]),
                    "factor": float(np.exp(min(effect[j], 700.0))),
                }
                for j in order
            ]
        )
    return found


def _effects(parts: Parts, rows: np.ndarray, random_state: int) -> np.ndarray:
    """Rows by attributes: what each attribute adds to the logit of the class."""
    own = parts.rows(rows)
    background = parts.sample(N_BACKGROUND, random_state)
    before = _logit(parts, own)
    effects = np.empty((len(rows), len(parts.attributes)))
    for j, attribute in enumerate(parts.attributes):
        many = np.repeat(own, len(background), axis=0)
        many[:, attribute.positions] = np.tile(
            background[:, attribute.positions], (len(rows), 1)
        ).reshape(len(many), -1)
        effects[:, j] = before - _logit(parts, many).reshape(len(rows), -1).mean(axis=1)
    return effects


def _logit(parts: Parts, matrix: np.ndarray) -> np.ndarray:
    f = parts.final.predict_proba(parts.like_matrix(matrix))[:, 1]
    return logit(np.clip(f, 1e-12, 1 - 1e-12))


def review(hidden: list[np.ndarray], weight: np.ndarray) -> list[dict[str, Any]]:
    """What checking the unlabelled rows should find, most probable first, at round numbers.

    ``hidden`` holds the posteriors of the unlabelled rows, and the same at the two ends of the
    range where there is one; ``weight`` is how many rows each stands for. Gives ``checked``,
    ``expected``, and ``low`` and ``high`` where there is a range.
    """
    order = np.argsort(-hidden[0], kind="stable")
    checked = np.concatenate([[0.0], np.cumsum(weight[order])])
    depths = _round_depths(round(checked[-1]))
    expected, *ends, variance = (
        np.interp(depths, checked, np.concatenate([[0.0], np.cumsum((weight * each)[order])]))
        for each in [*hidden, hidden[0] * (1 - hidden[0])]
    )
    found = {"checked": depths, "expected": expected}
    if ends:
        # Which of the rows checked are positive is chance, too; of all rows the range is known.
        unseen = np.maximum(1 - depths / max(checked[-1], 1.0), 0.0)  # weights may not be whole
        noise = Z_95 * np.sqrt(variance * unseen)
        below, above = (np.hypot(end - expected, noise) for end in ends)
        found["low"] = np.clip(expected - below, 0.0, depths)
        found["high"] = np.clip(expected + above, 0.0, depths)
    rows = zip(*(values.tolist() for values in found.values()), strict=True)
    return [dict(zip(found, row, strict=True)) for row in rows]


def shifted(posterior: np.ndarray, total: float, weight: np.ndarray) -> np.ndarray:
    """The posteriors with all odds times one factor, so that they add up to ``total``."""
    score = logit(np.clip(posterior, 1e-12, 1 - 1e-12))
    mean = float(np.clip(total / max(1.0, weight.sum()), 0, 1))
    if mean in (0.0, 1.0):
        return np.full(len(posterior), mean)
    return expit(score + shift_for_mean(mean_of_sigmoids(score, weight), mean, tol=1e-14))


def _round_depths(n_rows: int) -> np.ndarray:
    """10, 20, 50, 100 and so on, and all rows."""
    series = [m * 10**k for k in range(1, 12) for m in (1, 2, 5)]
    depths = [depth for depth in series if depth < n_rows][: MAX_DEPTHS - 1]
    return np.array([*depths, n_rows])
