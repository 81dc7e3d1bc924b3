"""The class prior by the design of an audit: valid whatever the model."""

from dataclasses import dataclass

import numpy as np

from sarlearn._engine.survey import Strata, rows_needed, strata_of
from sarlearn._evidence import check_audit
from sarlearn._validation import check_weights, encode_labels

__all__ = ["AuditEstimate", "class_prior_from_audit"]


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
    class_prior_from_audit :
        Class prior and confidence interval from rows drawn with known probabilities.
    suggest_audit : Unlabelled rows whose true class is worth finding out.
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

    def _repr_html_(self) -> str:
        return f"<p>{self}</p>"

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
    r"""Class prior and confidence interval from rows drawn with known probabilities.

    With the share :math:`W_h` of all rows that stratum :math:`h` of the unlabelled rows makes up,
    and :math:`x_h` of :math:`n_h` checked rows positive,

    .. math:: \hat\alpha = P(s=1) + \sum_h W_h x_h / n_h

    is unbiased for the share of positives among the rows at hand, whatever the model that suggested
    the rows. Rows of a round with the same probability form a stratum. The interval inverts the
    score test (Wilson 1927; Miettinen and Nurminen 1985), so it does not collapse where all rows
    checked in a stratum turn out alike.

    Within strata by posterior the difference estimator of survey sampling, which also subtracts the
    posteriors, gained nothing measurable (``experiments/evidence``); this one needs no model.

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
    suggest_audit : Draws the rows.

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
