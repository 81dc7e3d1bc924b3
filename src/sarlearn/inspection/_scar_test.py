"""Is one label frequency for all positives tenable? A likelihood-ratio test."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from sklearn.preprocessing import StandardScaler

from sarlearn._engine.joint import JointLogistic
from sarlearn._engine.rows import moderate
from sarlearn._validation import check_groups
from sarlearn._view.draw import draw_null
from sarlearn._view.refits import check_count, check_positive, check_rows, generators, run_all
from sarlearn._view.style import new_axes
from sarlearn._words import listed
from sarlearn.inspection._selection import held_out_trees

__all__ = ["SCARTestResult", "scar_test"]

BLIND_SPOT = (
    "The test can hardly see a propensity that rises or falls with the class probability itself."
)


@dataclass
class SCARTestResult:
    """What :func:`scar_test` found; ``print`` gives it in words.

    Attributes
    ----------
    statistic : float
        Twice the gain in penalised log-likelihood of the propensity that depends on attributes.
    p_value : float
        Share of null data sets, the observed one among them, with a statistic as large.
    null_statistics : ndarray of shape (n_draws,)
        Likelihood ratios of the data sets simulated under SCAR.
    features : list of str
        Names of the attributes.

    See Also
    --------
    scar_test : Test whether labels fall at random (SCAR).
    """

    statistic: float
    p_value: float
    features: list[str]
    null_statistics: np.ndarray = field(repr=False)

    def __str__(self) -> str:
        return (
            f"{self._verdict()} that positives are labelled regardless of {listed(self.features)} "
            f"(p {self._p_text()}, likelihood ratio {self.statistic:.1f}, "
            f"{len(self.null_statistics)} simulated data sets). {BLIND_SPOT}"
        )

    __repr__ = __str__

    def _verdict(self) -> str:
        if self.p_value <= 0.01:
            return "The labels speak clearly against the assumption (SCAR)"
        if self.p_value <= 0.05:
            return "The labels speak against the assumption (SCAR)"
        return "The labels do not contradict the assumption (SCAR)"

    def _p_text(self) -> str:
        least = 1 / (len(self.null_statistics) + 1)
        return f"at most {least:.2g}" if self.p_value <= least else f"= {self.p_value:.2g}"

    def plot(self, ax=None):
        """Draw the statistics of the simulated SCAR data sets, and the observed one."""
        ax = new_axes(ax)
        draw_null(ax, self.null_statistics, self.statistic)
        return ax


def scar_test(
    X,
    s,
    propensity_features,
    *,
    n_draws: int = 199,
    C: float = 10.0,
    flexible: bool = False,
    groups=None,
    n_jobs: int | None = None,
    random_state=None,
) -> SCARTestResult:
    r"""Test whether all positives are equally likely to be labelled (SCAR).

    The statistic is the likelihood ratio of a propensity that follows the attributes and of a
    constant one,

    .. math::

        \Lambda = 2\,\Bigl(\max_{f,\,e(x_e)} \ell - \max_{f,\,e \equiv c} \ell\Bigr),\qquad
        \ell = \sum_i s_i \log f_i e_i + (1 - s_i) \log (1 - f_i e_i)

    Labels are simulated from the fitted SCAR model and both models are fitted to them; the p-value
    is the share of simulated data sets with a :math:`\Lambda` at least as large (parametric
    bootstrap).

    **Assumption.** The logit of ``f`` is linear in the columns of ``X`` (plus a boosted score with
    ``flexible=True``). Where it is not, a rejection says that this ``f`` does not fit with a
    constant propensity. **What it cannot see**: a propensity that follows the class probability
    itself, where a steeper ``f`` explains the labels as well.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        Columns are divided by their standard deviation first; their scale does not matter.
    s : array-like of shape (n_rows,)
        Labels: 1 labelled, 0 unlabelled.
    propensity_features : names, indices, boolean mask, "all", or callable on the names
        The attributes suspected of driving labelling.
    n_draws : int >= 19, default=199
        Simulated data sets. The smallest p-value is ``1 / (n_draws + 1)``.
    C : float > 0, default=10.0
        Inverse penalty of both models, on the scaled columns: weak, but not absent. With few
        labels an unpenalised class model is too steep, data simulated from it are too clear, and
        the test rejects too often.
    flexible : bool, default=False
        Whether ``f`` also gets a boosted score, see :func:`select_propensity_features`.
    groups : array-like of shape (n_rows,), default=None
        Rows of a group, such as visits of one patient, share a fold of the boosted score, as equal
        rows do. Nothing else holds rows out: only with ``flexible=True``.
    n_jobs : int or None, default=None
        Processes; -1 is one per core.
    random_state : int, Generator or None
        Seed of what is drawn.

    Returns
    -------
    SCARTestResult
        Print it, or take its ``p_value`` and ``plot()``.

    See Also
    --------
    select_propensity_features : Weigh which columns labelling may depend on.
    goodness_of_fit : Compare the labels with what the model expects.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.inspection import scar_test
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> y = rng.random(1000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> biased = y & (rng.random(1000) < 1 / (1 + np.exp(-2 * X[:, 2])))
    >>> result = scar_test(X, biased, [2], n_draws=39, random_state=0)
    >>> result.p_value
    0.025
    >>> print(result)
    The labels speak against the assumption (SCAR) that positives are labelled regardless of x2
    (p at most 0.025, ...
    """
    n_draws = check_count(n_draws, "n_draws", 19)
    C = check_positive(C, "C")
    rows = check_rows(X, s)
    groups = check_groups(groups, rows.n_rows)
    if groups is not None and not flexible:
        raise ValueError("groups say what shares a fold: they need flexible=True.")
    given = rows.given(propensity_features, "propensity_features")
    first, *draws = generators(random_state, n_draws + 1)
    moderated = moderate(rows.X)
    extra = held_out_trees(moderated, rows.labelled, first, groups) if flexible else None
    scaled = StandardScaler(with_mean=False).fit_transform(moderated)
    test = _Test(scaled, np.array(rows.made_of(given)), C, extra)
    null = test.null.fit(rows.labelled)
    statistic = test.statistic(rows.labelled, null.theta)
    simulate = partial(_simulated, test, null.theta)
    drawn = np.array(run_all(simulate, draws, n_jobs, "SCAR test"))
    return SCARTestResult(
        statistic=statistic,
        p_value=float(1 + np.sum(drawn >= statistic)) / (n_draws + 1),
        features=[rows.name(j) for j in given],
        null_statistics=drawn,
    )


class _Test:
    """Both models on the same rows."""

    def __init__(self, X, columns, C, extra):
        self.null = JointLogistic(X, columns[:0], C=C, extra=extra)
        self.alternative = JointLogistic(X, columns, C=C, extra=extra)

    def statistic(self, labelled, start) -> float:
        """The ratio, from a start of the null; the alternative starts at the null's maximum."""
        null = self.null.climb(start, labelled)
        found = self.alternative.fit_from_scar(null.theta, labelled)
        return max(2 * (null.value - found.value), 0.0)


def _simulated(test: _Test, parameters: np.ndarray, rng: np.random.Generator) -> float:
    """The statistic of labels that are drawn from the null."""
    f, e = test.null.probabilities(parameters)
    labelled = rng.random(len(f)) < f * e
    return test.statistic(labelled, parameters) if labelled.any() else 0.0
