"""How the share of positives compares between groups: identified where its level is not."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import logit
from scipy.stats import norm

from sarlearn._engine.likelihood import label_odds, label_residual
from sarlearn._engine.rows import moderate
from sarlearn._view.parts import Parts, take_apart
from sarlearn._view.style import BLUE, MUTED, name_rows, new_axes, plain, shorten, tidy

__all__ = ["RelativePrevalence", "relative_prevalence"]

MAX_GROUPS = 12
# Penalties in the information: on the class, and on the slopes of standardised attributes.
RIDGE, PROPENSITY_RIDGE = 1e-2, 1.0
CHUNK_ROWS = 2048


@dataclass
class RelativePrevalence:
    """What :func:`relative_prevalence` found; ``print`` gives it in words.

    Attributes
    ----------
    by : str
        What the groups are made of.
    groups : list of str
        Their names.
    ratio : ndarray of shape (n_groups,)
        Share of positives in each group, divided by that of the reference.
    low, high : ndarray of shape (n_groups,)
        Ends of the interval of each ratio.
    n_rows, n_labelled : ndarray of shape (n_groups,)
        Rows in each group, and labelled ones.
    reference : str
        The group compared with, or ``"all rows"``.
    level : float
        Of the intervals.

    See Also
    --------
    relative_prevalence : Compare groups; needs no class prior.
    """

    by: str
    groups: list[str]
    ratio: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_rows: np.ndarray = field(repr=False)
    n_labelled: np.ndarray = field(repr=False)
    reference: str
    level: float

    def __str__(self) -> str:
        lines = [
            f"Share of positives by {self.by}, divided by that of {self.reference} "
            f"({self.level:.0%} intervals; they hold whatever the class prior is):"
        ]
        for i, name in enumerate(self.groups):
            lines.append(
                f"  {name}: {self.ratio[i]:.2f} ({self.low[i]:.2f} to {self.high[i]:.2f}), "
                f"{self.n_labelled[i]} of {self.n_rows[i]} rows labelled"
            )
        return "\n".join(lines)

    __repr__ = __str__

    def plot(self, ax=None):
        """Draw each ratio with its interval, on a logarithmic scale."""
        ax, some = new_axes(ax), np.flatnonzero(self.ratio > 0)
        place = len(self.groups) - 1 - np.arange(len(self.groups))
        low = np.maximum(self.low, 1e-12)
        ax.hlines(place[some], low[some], self.high[some], color=BLUE, linewidth=2)
        ax.plot(self.ratio[some], place[some], "o", color=BLUE, markersize=5)
        ax.axvline(1, color=MUTED, linestyle="--", linewidth=1)
        ax.set_xscale("log")
        for set_formatter in (ax.xaxis.set_major_formatter, ax.xaxis.set_minor_formatter):
            set_formatter(lambda value, _: f"{value:g}")
        name_rows(ax, place, [shorten(name) for name in self.groups])
        ax.set_xlabel(f"share of positives, times that of {self.reference}")
        plain(ax.set_title(f"by {self.by}", loc="left", fontsize="medium"))
        tidy(ax, grid="x")
        return ax


def relative_prevalence(
    model, X, s, by=None, *, reference=None, level: float = 0.95
) -> RelativePrevalence:
    r"""Compare the share of positives between groups, with confidence intervals.

    Groups can be compared even where the level is not identified, since :math:`P(s=1|x) = (k
    f)\,(e/k)` holds for many ``k``: the ratio between groups of

    .. math::

        \hat\pi_G = \frac{1}{n_G} \sum_{i \in G} \frac{s_i}{\hat e_i}

    does not change with ``k``. The intervals account for chance in the labels and in the
    coefficients of the propensity (influence functions of the label model).

    **Assumption.** The propensity depends on the attributes that were named, in the form of its
    model. A driver of labelling that was left out and differs between the groups appears as a
    difference of the groups.

    Parameters
    ----------
    model : fitted learner with ``predict_propensity``, or a pipeline that ends in one
        The model to look at.
    X, s : table or matrix, and labels
        The rows to compare; those of the fit, usually.
    by : str, int or array-like of shape (n_rows,), default=None
        An attribute by name or position, numbers in quarters; or a group per row. None is the
        first propensity attribute.
    reference : str, default=None
        A group to compare with, by its name; None is all rows together.
    level : float in (0, 1), default=0.95
        Of the intervals.

    Returns
    -------
    RelativePrevalence
        Print it, or take its ``plot()``.

    See Also
    --------
    sarlearn.inspection.goodness_of_fit : Compare the labels with what the model expects.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SAREMClassifier
    >>> from sarlearn.inspection import relative_prevalence
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 3))
    >>> y = rng.random(4000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> s = y & (rng.random(4000) < 1 / (1 + np.exp(-X[:, 2])))
    >>> model = SAREMClassifier([2]).fit(X, s)
    >>> upper = np.where(X[:, 0] > 0, "upper half", "lower half")
    >>> found = relative_prevalence(model, X, s, upper, reference="lower half")
    >>> bool(found.low[1] < y[X[:, 0] > 0].mean() / y[X[:, 0] <= 0].mean() < found.high[1])
    True
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
    parts = take_apart(model, X)
    labelled = parts.labelled(s)
    name, codes, groups = _groups(parts, by)
    member = codes[:, None] == np.arange(len(groups))
    compared, reference = _reference(member, groups, reference)
    if not labelled[compared].any():
        raise ValueError(f"The reference, {reference}, has no labelled row to compare with.")
    found = Shares(parts, labelled).compared(member, compared, level)
    return RelativePrevalence(name, groups, *found, reference=reference, level=level)


def _groups(parts: Parts, by) -> tuple[str, np.ndarray, list[str]]:
    if by is None or isinstance(by, str | int | np.integer):
        attribute = parts.attribute(by)  # type: ignore[arg-type]
        codes, groups = attribute.strata(MAX_GROUPS)
        return attribute.name, codes, groups
    values = np.asarray(by)
    if values.shape != (parts.n_rows,):
        raise ValueError(
            f"by must name an attribute or hold a group for each of the {parts.n_rows} rows; got "
            f"an array of shape {values.shape}."
        )
    groups, codes = np.unique(values.astype(str), return_inverse=True)  # type: ignore[assignment]
    if len(groups) > MAX_GROUPS:
        raise ValueError(f"by holds {len(groups)} groups; at most {MAX_GROUPS} are compared.")
    return "group", codes, groups.tolist()  # type: ignore[attr-defined]


def _reference(member: np.ndarray, groups: list[str], reference) -> tuple[np.ndarray, str]:
    if reference is None:
        return np.ones(len(member), dtype=bool), "all rows"
    if str(reference) not in groups:
        raise ValueError(f"There is no group {reference!r}; there are {', '.join(groups)}.")
    return member[:, groups.index(str(reference))], str(reference)


class Compared(NamedTuple):
    """Of each group: its share over that of the reference, with its interval, and its rows."""

    ratio: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_rows: np.ndarray
    n_labelled: np.ndarray


class Shares:
    """Shares of positives among rows, by inverse propensity, and what moves them."""

    def __init__(self, parts: Parts, labelled: np.ndarray):
        f = np.clip(parts.probability(), 1e-12, 1 - 1e-12)
        self.e = np.clip(parts.propensity(), 1e-9, 1 - 1e-12)
        self.labelled = labelled
        # Where labelled rows were collected apart, the background alone shows how many rows
        # there are of each kind.
        two_samples = not getattr(parts.final, "single_sample", True)
        self.counted = ~labelled if two_samples else np.ones(len(labelled), dtype=bool)
        attributes = moderate(parts.linear.attributes())
        spread = attributes.std(axis=0)
        attributes = (attributes - attributes.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        self.propensity_design = np.hstack([attributes, np.ones((len(f), 1))])
        odds = label_odds(f, 1 - f, self.e, 1 - self.e)
        residual = label_residual(odds, labelled)
        score = logit(f)

        def design(rows: slice) -> np.ndarray:
            of_propensity = self.propensity_design[rows]
            # Not the score alone: what an attribute does to the class and to labelling is told
            # apart by the shape of the models only, and that is not certain.
            of_class = np.hstack([score[rows, None], of_propensity])
            return np.hstack(
                [of_class * (1 - f[rows, None]), of_propensity * (1 - self.e[rows, None])]
            )

        # Some rows at a time: they stay in the cache, which takes half the time.
        chunks = [slice(first, first + CHUNK_ROWS) for first in range(0, len(f), CHUNK_ROWS)]
        n_propensity = self.propensity_design.shape[1]
        information = np.zeros((2 * n_propensity + 1, 2 * n_propensity + 1))
        for rows in chunks:
            block = design(rows)
            information += (block * odds[rows, None]).T @ block
        ridge = np.full(len(information), RIDGE)
        ridge[-n_propensity:-1] = PROPENSITY_RIDGE
        inverse = np.linalg.inv(information + np.diag(ridge))[:, -n_propensity:]
        # What one row moves each parameter of the propensity by.
        self.moves = np.concatenate(
            [(design(rows) * residual[rows, None]) @ inverse for rows in chunks]
        )

    def _of(self, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of each column's rows: the share of positives, and the influence of rows on its log."""
        inverse = np.where(self.labelled, 1 / self.e, 0.0)
        count = np.maximum(self.counted @ member.astype(float), 1.0)
        share = inverse @ member / count
        safe = np.where(share > 0, share, 1.0)
        drawn = member * (inverse[:, None] - self.counted[:, None] * share) / (count * safe)
        slope = -(member * (inverse * (1 - self.e))[:, None]).T @ self.propensity_design
        slope /= (count * safe)[:, None]
        return share, drawn + self.moves @ slope.T

    def compared(
        self, member: np.ndarray, reference: np.ndarray, level: float = 0.95
    ) -> "Compared":
        """The rows of each column of ``member`` against those of the reference, some labelled."""
        share, influence = self._of(np.column_stack([member, reference]))
        ratio = share[:-1] / share[-1]
        deviation = np.sqrt(np.sum((influence[:, :-1] - influence[:, -1:]) ** 2, axis=0))
        reach = np.exp(norm.ppf((1 + level) / 2) * deviation)
        counts, marked = member.sum(axis=0), member[self.labelled].sum(axis=0)
        # Without a label the ratio is 0; at most as many positives as would stay unseen this
        # rarely.
        unseen = -np.log((1 - level) / 2) / np.maximum(member.T @ self.e, 1e-12) / share[-1]
        bare = marked == 0
        low, high = np.where(bare, 0.0, ratio / reach), np.where(bare, unseen, ratio * reach)
        return Compared(ratio, low, high, counts, marked)
