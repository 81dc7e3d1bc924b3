"""Which rows to check next."""

from dataclasses import dataclass
from html import escape

import numpy as np

from sarlearn._engine.survey import Strata, rows_needed
from sarlearn._evidence import check_audit
from sarlearn._validation import encode_new_labels
from sarlearn._view.html import table_html
from sarlearn._view.inputs import check_count, generators
from sarlearn._words import counted
from sarlearn.audit._design import allocate, draw, n_strata, strata
from sarlearn.audit._second import mean_with_trees
from sarlearn.backends import refuse_dask

__all__ = ["AuditSuggestion", "suggest_audit"]

# Rows that a notebook shows.
SHOWN = 10


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
    suggest_audit : Unlabelled rows whose true class is worth finding out.
    class_prior_from_audit :
        Class prior and confidence interval from rows drawn with known probabilities.
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

    def _repr_html_(self) -> str:
        header = ["row", "posterior", "chance of being drawn", "stratum"]
        columns = zip(self.rows, self.posterior, self.probability, self.stratum, strict=True)
        rows = [[f"{r}", f"{q:.1%}", f"{p:.2%}", f"{h + 1}"] for r, q, p, h in columns]
        return f"<p>{escape(str(self))}</p>{table_html(header, rows[:SHOWN])}"

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
    second_model: bool = True,
    audited=None,
    audit_probability=None,
    audit_round=None,
    random_state=None,
) -> AuditSuggestion:
    """Unlabelled rows whose true class is worth finding out.

    Rows are drawn by chance, more of them where the posterior is undecided, and some everywhere:
    sorted by posterior, the unlabelled rows are cut into strata of equal measure, half of it
    ``sqrt(q (1-q))`` and half uniform, and the same number is drawn from each. Every row has a
    known chance of being drawn, so the class prior can be estimated without trusting the model
    (:func:`class_prior_from_audit`).

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
    second_model : bool, default=True
        Take the mean of the model's posteriors and those of
        :class:`~sarlearn.BoostedSARClassifier` with the same propensity columns, fitted to at most
        10,000 rows: classes are rarely linear. Only where LightGBM is installed, and for models
        with ``propensity_features`` that are not such trees themselves.
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
    if second_model:
        known = None if audit is None else audit.known
        posterior = mean_with_trees(posterior, model, X, labelled, known)
    candidates = np.flatnonzero(~taken)
    if not len(candidates):
        raise ValueError("No row is left to check: every row is labelled or audited.")
    found = draw(posterior, candidates, n, generators(random_state, 1)[0])
    return AuditSuggestion(
        rows=found.rows,
        posterior=posterior[found.rows],
        probability=found.probability,
        stratum=found.stratum,
        round=number,
        n_rows=len(posterior),
        _expected=_expected(posterior, candidates, n),
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
