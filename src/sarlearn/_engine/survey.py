"""Estimates from rows that were drawn with known probabilities: right whatever the model.

Unlabelled rows are cut into strata; from stratum ``h``, with the share ``W_h`` of all rows, ``n_h``
rows are drawn at random without replacement and ``x_h`` of them turn out positive. Then

    P(y=1) = P(s=1) + sum_h W_h p_h,    p_h estimated by x_h / n_h,

is unbiased for the rows at hand. Its interval inverts the score test: a share ``P`` is kept unless

    (estimate - P)^2 > z^2 sum_h W_h^2 p_h (1 - p_h) / n_h * (1 - n_h / N_h),

with the ``p_h`` that are most likely among those with ``sum_h W_h p_h = P``. For one stratum this
is Wilson's interval (1927); for several the interval of Miettinen and Nurminen (1985) for a
weighted sum of proportions. Unlike an interval from the observed variances it does not collapse
where the rows drawn from a stratum all turn out alike.

Later rounds of checks draw from what earlier rounds have left, with strata that may depend on what
was found. Every round gives an unbiased estimate; they are averaged with weights in proportion to
the number of rows checked, and their errors are uncorrelated.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, stats

# Rows per stratum where strata have to be made of rows with probabilities of their own.
_POOLED = 10


@dataclass(frozen=True)
class Strata:
    """What was drawn from each stratum, and what each counts for.

    ``share`` is the factor of the stratum's proportion in the estimate; ``size`` the number of rows
    it was drawn from; ``known`` what is certain: labelled rows and those of earlier rounds.
    """

    share: np.ndarray
    size: np.ndarray
    drawn: np.ndarray
    positive: np.ndarray
    known: float

    @property
    def estimate(self) -> float:
        return self.known + float(self.share @ (self.positive / self.drawn))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The ends of the score interval."""
        if not len(self.share):
            return self.known, self.known
        z = float(stats.norm.ppf((1 + level) / 2))
        return self._end(1.0, z), self._end(-1.0, z)

    def _end(self, side: float, z: float) -> float:
        """Where the test begins to reject, walking from the estimate: down for ``side`` 1, else up.

        The way is the curve of most likely proportions. A Lagrange multiplier ``m`` per unit of
        share makes each the root of ``m p^2 - (n + m) p + x = 0``, and their sum falls as ``m``
        grows. The curve ends at proportions that are all 0, or all 1.
        """
        scale = float(np.max(self.drawn / self.share))

        def point(log_multiplier):
            m = side * scale * np.exp(np.atleast_1d(log_multiplier))[:, None] * self.share
            p = _root(m, self.drawn, self.positive)
            variance = p * (1 - p) @ (self.share**2 / self.drawn * self._correction)
            total = p @ self.share
            return total, (total - self.estimate + self.known) ** 2 - z**2 * variance

        grid = self._grid(scale)
        totals, surplus = point(grid)
        kept = np.flatnonzero(surplus < 0)
        if not len(kept):  # nothing is left to vary: every stratum was drawn whole
            return self.estimate
        last = kept[-1]
        if last == len(grid) - 1:
            return self.known + float(totals[-1])
        end = optimize.brentq(lambda at: point(at)[1][0], grid[last], grid[last + 1], xtol=1e-9)
        return self.known + float(point(end)[0][0])

    def _grid(self, scale: float) -> np.ndarray:
        """Logarithms of multipliers: dense where a stratum without a positive, or without a
        negative, begins to move away from it."""
        turns = np.log(self.drawn / self.share / scale)[:, None]
        near = np.log1p(np.geomspace(1e-5, 1.0, 16))
        return np.unique(np.concatenate([np.linspace(-14.0, 16.0, 61), (turns + near).ravel()]))

    @property
    def _correction(self) -> np.ndarray:
        """For drawing without replacement; in a stratum that was drawn whole nothing is left."""
        return np.maximum(self.size - self.drawn, 0) / np.maximum(self.size - 1, 1)


def _root(m, n, x):
    """The root in [0, 1] of ``m p^2 - (n + m) p + x = 0``, without cancellation."""
    b = n + m
    root = np.sqrt(np.maximum(b * b - 4 * m * x, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(b > 0, 2 * x / (b + root), (b - root) / (2 * m))
    return np.clip(p, 0.0, 1.0)


def strata_of(
    labelled: np.ndarray,
    audited: np.ndarray,
    probability: np.ndarray,
    round_of: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> Strata | None:
    """What an audit says: rows drawn in the same round with the same probability are a stratum.

    Parameters
    ----------
    labelled : boolean ndarray of shape (n_rows,)
    audited : ndarray of shape (n_rows,)
        The class found: 1, 0, or NaN where nobody looked or nobody could tell.
    probability : ndarray of shape (n_rows,)
        With which a row was drawn; NaN where it was not. A row that was drawn and not answered is
        taken to be like the others of its stratum.
    round_of : ndarray of shape (n_rows,) or None
        The round in which a row was drawn; None is one round.
    weight : ndarray of shape (n_rows,) or None

    Returns
    -------
    Strata or None
        None where a stratum has no answer: nothing is known about it yet.
    """
    weight = np.ones(len(labelled)) if weight is None else weight
    drawn = ~labelled & ~np.isnan(probability)
    rounds = np.where(drawn, 1 if round_of is None else round_of, 0)
    answered = drawn & ~np.isnan(audited)
    if not answered.any():
        return None
    # A row that was sure to be drawn stands for itself alone.
    certain = answered & (probability == 1)
    total, n_answers = float(weight.sum()), float((answered & ~certain).sum())
    if not n_answers:
        known = float(weight[labelled].sum() + weight[certain] @ audited[certain]) / total
        return Strata(*np.empty((4, 0)), known) if (labelled | certain).all() else None  # type: ignore[call-arg]
    parts = []
    for number in np.unique(rounds[answered & ~certain]):
        before = answered & ((rounds < number) | (certain & (rounds == number)))
        known = float(weight[labelled].sum() + weight[before] @ audited[before]) / total
        left = float(weight[~labelled & ~before].sum()) / total
        now = drawn & (rounds == number) & (probability < 1)
        cells = _cells(audited[now], probability[now], weight[now])
        if cells is None:
            return None
        share, size, n, x = cells
        part = float((answered & now).sum()) / n_answers
        parts.append((part * left * share / share.sum(), size, n, x, part * known))
    share, size, n, x = (np.concatenate([p[i] for p in parts]) for i in range(4))
    return Strata(share, size, n, x, float(sum(p[4] for p in parts)))


def _cells(audited, probability, weight):
    """Of each distinct probability: its weight, its size, rows answered and rows positive.

    Rows of unequal weight count as fewer rows of equal weight (Kish's effective sample size).
    """
    codes = _groups(probability)
    found = []
    for code in range(codes.max() + 1):
        rows = codes == code
        known = rows & ~np.isnan(audited)
        if not known.any():
            return None
        w = weight[known] / probability[known]
        n = float(w.sum() ** 2 / (w**2).sum())
        mass = float(np.sum(weight[rows] / probability[rows]))
        size = float(np.sum(1.0 / probability[rows]))
        found.append((mass, size, n, n * float(w @ audited[known] / w.sum())))
    return tuple(np.array(column) for column in zip(*found, strict=True))


def _groups(probability: np.ndarray) -> np.ndarray:
    """Numbers of the strata. Where nearly every row has a probability of its own, neighbours
    are put together: a stratum of one row says nothing about how rows differ."""
    _, codes = np.unique(np.round(np.log(probability), 9), return_inverse=True)
    if 2 * (codes.max() + 1) <= len(codes):
        return codes
    order = np.argsort(probability, kind="stable")
    codes = np.empty(len(order), dtype=np.intp)
    codes[order] = np.arange(len(order)) * max(len(order) // _POOLED, 1) // len(order)
    return codes


def rows_needed(strata: Strata, width: float, level: float = 0.95) -> int:
    """About how many rows must be checked in all, spread alike, for an interval of this width."""
    if not len(strata.share):
        return 0
    n = float(strata.drawn.sum())
    most = float(strata.size.max() / strata.drawn.min())

    def wide(factor: float) -> float:
        drawn = np.minimum(strata.drawn * factor, strata.size)
        more = replace(strata, drawn=drawn, positive=strata.positive / strata.drawn * drawn)
        low, high = more.interval(level)
        return high - low - width

    low, high = 1.0 / n, max(most, 1.0)
    if wide(high) > 0:
        high *= 2.0
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if wide(middle) > 0 else (low, middle)
        if high / low < 1 + 0.5 / (n * high):
            break
    return int(np.ceil(np.minimum(strata.drawn * high, strata.size).sum() - 1e-6))
