"""Check a few rows: which ones, and what the answers say about the class prior.

Rows are sorted by posterior and cut into strata of equal measure, from each of which the same
number is drawn. The measure is half ``sqrt(q (1 - q))``, which is best where the posteriors ``q``
are right (Neyman 1934), and half uniform, which bounds the loss where they mislead. Half and at
most ten strata were chosen on seven data sets and judged on eight others
(``experiments/evidence``).
"""

from dataclasses import dataclass

import numpy as np

from sarlearn._engine.survey import Strata, rows_needed, strata_of
from sarlearn._validation import check_audit, check_weights, encode_labels, encode_new_labels
from sarlearn._view.refits import check_count, generators
from sarlearn._words import counted
from sarlearn.backends import refuse_dask

__all__ = ["class_prior_from_audit", "suggest_audit"]

UNIFORM_PART = 0.5
MAX_STRATA = 10
# A stratum that was asked this often has a score interval that holds; with half as many the
# interval of the class prior came out too narrow on one of seven data sets.
ROWS_PER_STRATUM = 10


# An audit of this size is laid out to tell how many rows to check, whatever is drawn.
PLANNED_ROWS = 100


@dataclass(frozen=True)
class AuditSuggestion:
    """Rows to check, in the order in which to check them.

    Whoever stops early has checked a smaller sample, not a biased one, as long as rows are checked
    in this order.

    Parameters
    ----------
    rows : ndarray of int of shape (n,)
        Positions in the table.
    posterior : ndarray of shape (n,)
        ``P(y=1|x, s)``, along which the strata lie.
    probability : ndarray of shape (n,)
        The chance that the draw had to include the row.
    stratum : ndarray of int of shape (n,)
        Numbered along the posterior.
    round : int
        1, or one more than the last round of the audits given.
    n_rows : int
        Rows of the table.

    See Also
    --------
    suggest_audit : Draw the rows to check.
    class_prior_from_audit : What the answers say about the class prior.
    """

    rows: np.ndarray
    posterior: np.ndarray
    probability: np.ndarray
    stratum: np.ndarray
    round: int
    n_rows: int
    _expected: Strata
    _before: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def __str__(self) -> str:
        first = ", ".join(map(str, self.rows[:5])) + (" and so on" if len(self.rows) > 5 else "")
        return (
            f"{counted(len(self.rows), 'row')} to check, in this order: {first}. If the posteriors "
            f"are right, about {self.rows_needed():,} checked rows bring the range of the class "
            "prior under 5 points."
        )

    __repr__ = __str__

    def answers(self, found) -> dict[str, np.ndarray]:
        """Answers in the form that ``fit`` takes, together with those of earlier rounds.

        Parameters
        ----------
        found : array-like of shape (n,)
            The class of each suggested row, in their order: 1, 0, or missing.

        Returns
        -------
        dict
            ``audited``, ``audit_probability`` and ``audit_round``, one value per row of the table:
            ``model.fit(X, s, **suggestion.answers(found))``.
        """
        found = np.asarray(found, dtype=np.float64)
        if found.shape != self.rows.shape:
            raise ValueError(f"{len(self.rows)} rows were suggested; got {found.size} answers.")
        gaps = np.full(self.n_rows, np.nan)
        before = (gaps, gaps, gaps) if self._before is None else self._before
        audited, probability, rounds = (column.copy() for column in before)
        audited[self.rows], probability[self.rows] = found, self.probability
        rounds[self.rows] = self.round
        return {"audited": audited, "audit_probability": probability, "audit_round": rounds}

    def rows_needed(self, width: float = 0.05) -> int:
        """About how many rows would bring the interval under a width, were the posteriors right."""
        if not 0 < width < 1:
            raise ValueError(f"width must lie between 0 and 1; got {width!r}.")
        return rows_needed(self._expected, width)


def suggest_audit(
    model,
    X,
    s,
    n: int = 50,
    *,
    audited=None,
    audit_probability=None,
    audit_round=None,
    random_state=None,
) -> AuditSuggestion:
    """Draw unlabelled rows whose true class is worth finding out.

    Rows are drawn at random, more of them where the model is undecided, and some everywhere: sorted
    by posterior ``q``, the unlabelled rows are cut into strata of equal measure, half of it
    ``sqrt(q (1-q))`` and half uniform, and the same number is drawn from each. Since every row has
    a known probability of being drawn, :func:`class_prior_from_audit` can estimate the class prior
    without trusting the model.

    Parameters
    ----------
    model : fitted classifier with ``predict_posterior``, or a pipeline that ends in one
        The model whose posteriors say where checks help most.
    X : table or matrix of shape (n_rows, n_features)
        The rows, as the model takes them.
    s : array-like of shape (n_rows,)
        Labels, in the values that ``fit`` saw.
    n : int >= 1, default=50
        Rows to draw; all unlabelled rows where there are no more.
    audited, audit_probability, audit_round : array-like of shape (n_rows,), default=None
        Earlier answers, as ``fit`` takes them; the rows are not drawn again, and the suggestion is
        a further round.
    random_state : int, Generator, RandomState or None, default=None
        Of the draw.

    Returns
    -------
    AuditSuggestion
        The rows, how they were drawn, and ``answers(found)`` for ``fit``.

    See Also
    --------
    class_prior_from_audit : What the answers say about the class prior.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SAREMClassifier
    >>> from sarlearn.audit import class_prior_from_audit, suggest_audit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> s = y & (rng.random(2000) < 1 / (1 + np.exp(-X[:, 2])))
    >>> model = SAREMClassifier([2]).fit(X, s)
    >>> suggestion = suggest_audit(model, X, s, n=100, random_state=0)
    >>> answers = suggestion.answers(y[suggestion.rows])     # here someone looks
    >>> low, high = class_prior_from_audit(s, **answers).interval
    >>> bool(low < y.mean() < high)
    True
    """
    refuse_dask(X, "suggest_audit")
    n = check_count(n, "n", 1)
    posterior = np.asarray(model.predict_posterior(X, s), dtype=np.float64)
    labelled = encode_new_labels(s, model.classes_, len(posterior))
    audit = check_audit(audited, audit_probability, audit_round, labelled)
    taken, number, before = labelled, 1, None
    if audit is not None:
        seen = ~np.isnan(audit.known)
        before, number = _earlier(audit, labelled)
        taken = labelled | seen | ~np.isnan(before[1])
    candidates = np.flatnonzero(~taken)
    if not len(candidates):
        raise ValueError("No row is left to check: every row is labelled or audited.")
    rows, stratum, chance = draw(posterior, candidates, n, generators(random_state, 1)[0])
    return AuditSuggestion(
        rows=rows,
        posterior=posterior[rows],
        probability=chance,
        stratum=stratum,
        round=number,
        n_rows=len(posterior),
        _expected=_expected(posterior, candidates, PLANNED_ROWS),
        _before=before,
    )


def _earlier(audit, labelled) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], int]:
    """Earlier answers, and the number of the round to come.

    Rows that were checked without a known probability count as sure to have been drawn: they stand
    for themselves alone.
    """
    answered = ~np.isnan(audit.known) & ~labelled
    if audit.probability is None:
        probability, rounds = np.where(answered, 1.0, np.nan), np.where(answered, 1.0, np.nan)
        return (audit.known, probability, rounds), 2
    drawn = ~np.isnan(audit.probability) & ~labelled
    rounds = np.where(drawn, 1.0 if audit.round_of is None else audit.round_of, np.nan)
    return (audit.known, audit.probability, rounds), int(np.nanmax(rounds)) + 1


def _expected(posterior, candidates, n: int) -> Strata:
    """The audit as it would turn out on average if the posteriors were right."""
    stratum = strata(posterior[candidates], n_strata(n, len(candidates)))
    size = np.bincount(stratum)
    drawn = allocate(n, size).astype(float)
    mean = np.bincount(stratum, weights=posterior[candidates]) / size
    known = 1.0 - len(candidates) / len(posterior)
    return Strata(size / len(posterior), size.astype(float), drawn, drawn * mean, known)


def draw(
    posterior: np.ndarray,
    candidates: np.ndarray,
    n: int,
    rng: np.random.Generator,
    *,
    uniform_part: float = UNIFORM_PART,
    count: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw ``n`` of the rows ``candidates`` from ``count`` strata along ``posterior``.

    Gives the rows in the order in which to check them, their strata and their chances. The order
    takes one row from each stratum in turn, so that any beginning of it is a stratified draw, too.
    """
    count = n_strata(n, len(candidates)) if count is None else count
    stratum = strata(posterior[candidates], count, uniform_part)
    size = np.bincount(stratum)
    quota = allocate(n, size)
    # A number per row: the place of its stratum's turn, then chance.
    shuffled = rng.permutation(len(candidates))
    shuffled = shuffled[np.argsort(stratum[shuffled], kind="stable")]
    place = np.arange(len(shuffled)) - (np.cumsum(size) - size)[stratum[shuffled]]
    drawn = place < quota[stratum[shuffled]]
    chosen, place = shuffled[drawn], place[drawn]
    # Shares of the quota done, so that strata with smaller quotas do not run dry first.
    order = np.lexsort((rng.random(len(chosen)), (place + 0.5) / quota[stratum[chosen]]))
    chosen = chosen[order]
    return candidates[chosen], stratum[chosen], (quota / size)[stratum[chosen]]


def n_strata(n: int, n_candidates: int) -> int:
    return int(np.clip(min(n, n_candidates) // ROWS_PER_STRATUM, 1, MAX_STRATA))


def strata(posterior: np.ndarray, count: int, uniform_part: float = UNIFORM_PART) -> np.ndarray:
    """The stratum of every row: along the posterior, of equal measure."""
    order = np.argsort(posterior, kind="stable")
    spread = np.sqrt(np.clip(posterior * (1 - posterior), 0.0, None))[order]
    uniform = np.full(len(order), 1.0 / len(order))
    neyman = spread / spread.sum() if spread.sum() > 0 else uniform
    measure = uniform_part * uniform + (1 - uniform_part) * neyman
    middle = np.cumsum(measure) - measure / 2
    out = np.empty(len(order), dtype=np.intp)
    out[order] = np.minimum((middle * count).astype(np.intp), count - 1)
    return np.unique(out, return_inverse=True)[1]


def allocate(n: int, size: np.ndarray) -> np.ndarray:
    """The same number from each stratum; what a small one cannot give comes from the others."""
    quota = np.zeros(len(size), dtype=np.intp)
    left = min(n, int(size.sum()))
    while left:
        open_ = np.flatnonzero(quota < size)
        each = np.full(len(open_), left // len(open_))
        # The odd rows go to the largest strata.
        each[np.argsort(-size[open_], kind="stable")[: left % len(open_)]] += 1
        more = np.minimum(each, (size - quota)[open_])
        quota[open_] += more
        left -= int(more.sum())
    return quota


@dataclass(frozen=True)
class AuditEstimate:
    """The share of positives by an audit, with its confidence interval.

    Parameters
    ----------
    class_prior : float
        The estimate.
    interval : tuple of float
        Ends of the confidence interval.
    level : float
        Its level.
    n_audited : int
        Unlabelled rows whose class was found.
    n_unsure : int
        Rows that were drawn and have no answer.

    See Also
    --------
    class_prior_from_audit : What the answers say about the class prior.
    suggest_audit : Draw the rows to check.
    """

    class_prior: float
    interval: tuple[float, float]
    level: float
    n_audited: int
    n_unsure: int
    _strata: Strata

    @property
    def width(self) -> float:
        """Width of the interval."""
        return self.interval[1] - self.interval[0]

    def rows_needed(self, width: float = 0.05) -> int:
        """About how many checked rows in all would bring the interval under a width.

        Parameters
        ----------
        width : float in (0, 1), default=0.05
            The width wanted of the interval.

        Returns
        -------
        int
        """
        if not 0 < width < 1:
            raise ValueError(f"width must lie between 0 and 1; got {width!r}.")
        return rows_needed(self._strata, width, self.level)

    def __str__(self) -> str:
        low, high = self.interval
        text = (
            f"Share of positives: {self.class_prior:.1%}, between {low:.1%} and {high:.1%} "
            f"({self.level:.0%} confidence, based on {self.n_audited} checked rows, whatever the "
            "model)."
        )
        if self.n_unsure:
            text += (
                f" {self.n_unsure} drawn rows have no answer; they are taken to be like the others "
                "of their stratum."
            )
        return text


def class_prior_from_audit(
    s, audited, audit_probability, *, audit_round=None, sample_weight=None, level: float = 0.95
) -> AuditEstimate:
    r"""Estimate the class prior, with a confidence interval, from rows drawn at random and checked.

    With the share :math:`W_h` of all rows that stratum :math:`h` of the unlabelled rows makes up,
    and :math:`x_h` of :math:`n_h` checked rows positive,

    .. math:: \hat\alpha = P(s=1) + \sum_h W_h x_h / n_h

    is unbiased for the share of positives among these rows, whatever the model that suggested them.
    Rows of a round with the same probability form a stratum. The interval inverts the score test
    (Wilson 1927; Miettinen and Nurminen 1985), so that it keeps its width where all rows checked in
    a stratum turn out alike.

    Parameters
    ----------
    s : array-like of shape (n_rows,)
        Labels: 1 labelled, 0 unlabelled.
    audited : array-like of shape (n_rows,)
        The class found: 1, 0, or missing.
    audit_probability : array-like of shape (n_rows,)
        The probability with which a row was drawn, missing where it was not. A row with probability
        1 stands for itself alone: so give rows that were checked for other reasons, before the draw
        and left out of it.
    audit_round : array-like of shape (n_rows,), default=None
        The round in which it was drawn; later rounds draw from what earlier ones have left.
    sample_weight : array-like of shape (n_rows,), default=None
        With weights the share is that of the weights; the interval then takes Kish's effective
        number of rows.
    level : float in (0, 1), default=0.95
        Confidence.

    Returns
    -------
    AuditEstimate
        Print it, or take its ``class_prior``, ``interval``, ``rows_needed(width)``.

    See Also
    --------
    suggest_audit : Draw the rows to check.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.audit import class_prior_from_audit
    >>> s = np.r_[np.ones(200), np.zeros(800)]
    >>> audited, probability = np.full(1000, np.nan), np.full(1000, np.nan)
    >>> audited[200:280] = [1, 0, 0, 0] * 20             # 80 of the 800 were checked
    >>> probability[200:280] = 0.1
    >>> print(class_prior_from_audit(s, audited, probability))
    Share of positives: 40.0%, between 33.7% and 47.9% (95% confidence, based on 80 checked rows,
    whatever the model).
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
    labelled, _ = encode_labels(s, warn_few=False)
    audit = check_audit(audited, audit_probability, audit_round, labelled)
    if audit is None or audit.probability is None:
        raise ValueError("audit_probability is needed: how likely was each row to be drawn?")
    weight = check_weights(sample_weight, np.empty((len(labelled), 1)))
    strata = strata_of(labelled, audit.known, audit.probability, audit.round_of, weight)
    if strata is None:
        raise ValueError(
            "Some strata have no answer yet, so nothing is known about their rows. Check the rows "
            "in the order in which they were suggested: its first rows reach every stratum."
        )
    drawn = ~labelled & ~np.isnan(audit.probability)
    return AuditEstimate(
        class_prior=strata.estimate,
        interval=strata.interval(level),
        level=level,
        n_audited=int(np.sum(drawn & ~np.isnan(audit.known))),
        n_unsure=int(np.sum(drawn & np.isnan(audit.known))),
        _strata=strata,
    )
