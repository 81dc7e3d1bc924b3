"""The unlabelled rows to look at first: which, why, and what checking them should find."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from sarlearn._compat import safe_indexing
from sarlearn._engine.logistic import mean_of_sigmoids, shift_for_mean
from sarlearn._view.parts import Parts, value_text

MAX_REASONS = 3
# Rows that an attribute's value is compared with, and rows predicted at once.
N_BACKGROUND = 40
N_CURVE = 80
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
            "attributes": {a.name: value_text(a.values[row]) for a in shown},
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

    which for a logistic model is its coefficient times the distance from the mean. ``factor`` is
    the effect on the odds.
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
                    "value": value_text(parts.attributes[j].values[row]),
                    "factor": float(np.exp(min(effect[j], 700.0))),
                }
                for j in order
            ]
        )
    return found


def _effects(parts: Parts, rows: np.ndarray, random_state: int) -> np.ndarray:
    """Rows by attributes: what each attribute adds to the logit of the class."""
    own = _dense(parts, rows)
    background = parts.sample(N_BACKGROUND, random_state)
    if hasattr(parts.final, "coef_"):
        matrix = parts.matrix if sparse.issparse(parts.matrix) else np.asarray(parts.matrix)
        mean = np.asarray(matrix.mean(axis=0), dtype=np.float64).ravel()
        linear = (own - mean) * parts.final.coef_[0]
        return np.column_stack([linear[:, a.positions].sum(axis=1) for a in parts.attributes])
    before = _logit(parts, own)
    effects = np.empty((len(rows), len(parts.attributes)))
    for j, attribute in enumerate(parts.attributes):
        many = np.repeat(own, len(background), axis=0)
        many[:, attribute.positions] = np.tile(
            background[:, attribute.positions], (len(rows), 1)
        ).reshape(len(many), -1)
        effects[:, j] = before - _logit(parts, many).reshape(len(rows), -1).mean(axis=1)
    return effects


def _dense(parts: Parts, rows: np.ndarray) -> np.ndarray:
    chosen = safe_indexing(parts.matrix, rows)
    dense = chosen.toarray() if hasattr(chosen, "toarray") else np.asarray(chosen)
    return np.array(dense, dtype=np.float64)


def _logit(parts: Parts, matrix: np.ndarray) -> np.ndarray:
    f = parts.final.predict_proba(parts.like_matrix(matrix))[:, 1]
    return logit(np.clip(f, 1e-12, 1 - 1e-12))


def review(hidden: list[np.ndarray], scale: float = 1.0) -> dict[str, Any]:
    """What checking the unlabelled rows should find, most probable first.

    ``hidden`` holds the posteriors of the unlabelled rows, and the same at the two ends of the
    range where there is one; ``scale`` is how many rows each stands for. Gives ``checked``,
    ``expected``, ``low`` and ``high`` of a curve, and at round numbers as a list of ``steps``.
    """
    n_rows = len(hidden[0])
    sums = {
        name: scale * np.concatenate([[0.0], np.cumsum(np.sort(posterior)[::-1])])
        for name, posterior in zip(("expected", "low", "high"), hidden, strict=False)
    }
    depths = np.unique(np.linspace(0, n_rows, N_CURVE).round().astype(int))
    steps = [
        {"checked": round(scale * depth), **{name: float(v[depth]) for name, v in sums.items()}}
        for depth in _round_depths(n_rows)
    ]
    curve: dict[str, Any] = {name: values[depths] for name, values in sums.items()}
    return {
        "checked": scale * depths,
        **{name: curve.get(name) for name in ("expected", "low", "high")},
        "steps": steps,
    }


def shifted(posterior: np.ndarray, total: float) -> np.ndarray:
    """The posteriors with all odds times one factor, so that they add up to ``total``."""
    score = logit(np.clip(posterior, 1e-12, 1 - 1e-12))
    mean = float(np.clip(total / max(1, len(posterior)), 0, 1))
    if mean in (0.0, 1.0):
        return np.full(len(posterior), mean)
    return expit(score + shift_for_mean(mean_of_sigmoids(score), mean, tol=1e-14))


def _round_depths(n_rows: int) -> list[int]:
    """10, 20, 50, 100 and so on, and all rows."""
    series = [m * 10**k for k in range(1, 12) for m in (1, 2, 5)]
    depths = [depth for depth in series if depth < n_rows][: MAX_DEPTHS - 1]
    return [*depths, n_rows]
